"""A corpus in blocks has the scores of all sentences at once, whatever is stopped, killed or wrong."""

from __future__ import annotations

import dataclasses
import json
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
import tiny
from embedded import Sample
from failing_metrics import Fragile

from learnedgec.applications.corpus import Blocks, BlockScorer, score_corpus
from learnedgec.applications.corpus.reading import CorpusFiles, open_lines, open_records
from learnedgec.data.references import References
from learnedgec.data.text import write_jsonl, write_lines
from learnedgec.errors import ConfigError, InputError, LengthError
from learnedgec.metrics.registry import load_metric
from learnedgec.scoring import score

NAMES = ("gleu", "green", "m2", "sentm2", "hter", "length", "ensemble(gleu=0.5, edit-count=0.5)")


def records(sample: Sample, system: str, rows: References) -> list[dict[str, Any]]:
    return [
        {"id": f"s{n}", "source": source, "hypothesis": text, "references": [r.text for r in row]}
        for n, (source, text, row) in enumerate(
            zip(sample.sources, sample.systems[system], rows, strict=True)
        )
    ]


def values(scores: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], Any]:
    """Return the value, details and signature of each metric's score of each system."""
    return {
        (label, system): (score.value, score.details, score.signature)
        for label, systems in scores.items()
        for system, score in systems.items()
    }


@pytest.mark.parametrize("block_size", [1, 7, 1000])
def test_records_in_blocks_score_as_all_at_once(
    sample: Sample, tmp_path: Path, block_size: int
) -> None:
    # The number of references varies within blocks and between them.
    rows = References(tuple(row[: 1 + (i // 9) % 2] for i, row in enumerate(sample.references)))
    metrics = [load_metric(name) for name in NAMES]
    paths = {}
    for system in ("careful", "weak"):
        paths[system] = str(tmp_path / f"{system}.jsonl")
        write_jsonl(Path(paths[system]), records(sample, system, rows))
    with open_records(paths, block_size, tmp_path) as corpus:
        scores = score_corpus(metrics, corpus, tmp_path / "run")
    systems = {name: sample.systems[name] for name in paths}
    expected = score(metrics, sample.sources, systems, rows.without_edits())
    assert values(scores.scores) == values(expected)
    assert scores.size == 72


def test_a_learned_metric_agrees_to_1e_6_and_its_warnings_are_named_with_their_lines(
    sample: Sample, corpus_files: dict[str, str], tmp_path: Path, tiny_evaluator: Path
) -> None:
    hypotheses = list(sample.systems["weak"])
    hypotheses[12] = "the " * 300
    write_lines(tmp_path / "long.txt", hypotheses)
    metric = load_metric("some", model=str(tiny_evaluator))
    text = "10 inputs were longer than 256 tokens and were truncated."
    with pytest.warns(UserWarning, match="were truncated"):
        score = metric.score(sample.sources, hypotheses)
    systems = {"long": str(tmp_path / "long.txt")}
    with open_lines(corpus_files["source"], systems, [], 10, tmp_path) as corpus:
        # The second run scores no block.
        for _ in range(2):
            scores = score_corpus([metric], corpus, tmp_path / "run")
            blank = "1 of 10 hypotheses is blank where the source is not (line 66)."
            assert scores.notices == (
                f"lines 11 to 20: 1 of {text}",
                f"lines 61 to 70: long: {blank}",
            )
            assert scores.scores[metric.label]["long"].value == pytest.approx(score.value, abs=1e-6)
            assert scores.scores[metric.label]["long"].signature == score.signature


def test_all_blocks_are_scored_by_the_package_that_was_opened(
    sample: Sample, corpus: CorpusFiles, tmp_path: Path
) -> None:
    package = tiny.save_evaluator(tmp_path / "mine", seed=1)
    metric = load_metric("some", model=str(package))
    expected = metric.score(sample.sources, sample.systems["weak"])

    def replace_after_the_first(scorer: BlockScorer, blocks: Sequence[int]) -> Any:
        for block in blocks:
            yield scorer(block)
            tiny.save_evaluator(package, seed=2)

    scores = score_corpus(
        [metric], corpus, tmp_path / "run", Blocks(runner=replace_after_the_first)
    )
    score = scores.scores[metric.label]["weak"]
    assert score.value == pytest.approx(expected.value, abs=1e-6)
    assert score.signature == expected.signature
    assert metric.score(sample.sources, sample.systems["weak"]).value != score.value


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_scores_of_sentences_are_in_order_with_ids(
    sample: Sample, corpus: CorpusFiles, tmp_path: Path, kind: Any
) -> None:
    metric = load_metric("length")
    score_corpus([metric], corpus, tmp_path / "run", Blocks(sentences=kind))
    files = sorted((tmp_path / "run" / "sentences").iterdir())
    assert [path.name for path in files[:2]] == [f"000000000.{kind}", f"000000001.{kind}"]
    if kind == "parquet":
        rows = pyarrow.parquet.read_table(files[0].parent).to_pylist()
    else:
        rows = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    scores = metric.score(sample.sources, sample.systems["weak"]).sentences
    assert rows == [
        {"sentence": n, "id": n, "system": "weak", "metric": "length", "score": score}
        for n, score in enumerate(scores, 1)
    ]


def test_a_failed_block_is_tried_again_and_named(
    sample: Sample, corpus: CorpusFiles, tmp_path: Path
) -> None:
    metric = Fragile(at=sample.sources[25], count=str(tmp_path / "count"))
    with pytest.raises(
        InputError, match="lines 21 to 30 were not scored: RuntimeError: too hard; 10 of 72 "
    ):
        score_corpus([metric], corpus, tmp_path / "run", Blocks(retries=2))
    assert not (tmp_path / "run" / "scores.json").exists()
    attempts = (tmp_path / "count").read_text().splitlines()
    assert len(attempts) == 8 + 2
    with pytest.raises(InputError, match="RuntimeError: too hard; 10 of 72 "):
        score_corpus([metric], corpus, tmp_path / "run", Blocks(retries=0))
    # The second run tried this block alone.
    again = (tmp_path / "count").read_text().splitlines()[len(attempts) :]
    assert again == [sample.sources[20]]


def test_finished_blocks_are_not_scored_again_unless_damaged(
    sample: Sample, corpus: CorpusFiles, tmp_path: Path
) -> None:
    metric = Fragile(at="nothing", count=str(tmp_path / "count"))
    scores = score_corpus([metric], corpus, tmp_path / "run")
    blocks = tmp_path / "run" / "blocks"
    damaged = blocks / "000000003.npz"
    damaged.write_bytes(damaged.read_bytes()[:-9])
    (blocks / "000000005.npz").unlink()
    (tmp_path / "count").unlink()
    # The folder may be given as text.
    assert score_corpus([metric], corpus, str(tmp_path / "run")).scores == scores.scores
    assert (tmp_path / "count").read_text().splitlines() == [
        sample.sources[30],
        sample.sources[50],
    ]
    content = bytearray(damaged.read_bytes())
    content[70:90] = bytes(20)
    damaged.write_bytes(content)
    with pytest.raises(InputError, match=r"000000003\.npz is damaged; delete it and run again"):
        score_corpus([metric], corpus, tmp_path / "run")


def test_a_folder_is_of_one_run(
    corpus: CorpusFiles, corpus_files: dict[str, str], tmp_path: Path
) -> None:
    metric = load_metric("length")
    score_corpus([metric], corpus, tmp_path / "run")
    with pytest.raises(ConfigError, match="holds a run with other metrics"):
        score_corpus([load_metric("edit-count")], corpus, tmp_path / "run")
    systems = {"weak": corpus_files["reference"]}
    with (
        open_lines(corpus_files["source"], systems, [], 10, tmp_path) as other,
        pytest.raises(ConfigError, match="holds a run with other input"),
    ):
        score_corpus([metric], other, tmp_path / "run")
    with pytest.raises(ConfigError, match="sentences is 'csv'; one of jsonl, parquet was expected"):
        score_corpus([metric], corpus, tmp_path / "run", Blocks(sentences="csv"))  # type: ignore[arg-type]


def test_bad_input_is_refused_before_any_block(
    corpus: CorpusFiles, corpus_files: dict[str, str], tmp_path: Path, sample: Sample
) -> None:
    bare = dataclasses.replace(corpus, references=())
    with pytest.raises(InputError, match="gleu needs references"):
        score_corpus([load_metric("gleu")], bare, tmp_path / "run")
    with pytest.raises(InputError, match="gotoscorer: it learns its weights from all sentences"):
        score_corpus([load_metric("gotoscorer")], corpus, tmp_path / "run")
    cleme = load_metric("cleme(edits='aligned')")
    with pytest.raises(InputError, match="depends on the mean length"):
        score_corpus([cleme], corpus, tmp_path / "run", Blocks(sentences="jsonl"))
    assert not (tmp_path / "run").exists()
    write_lines(tmp_path / "short.txt", sample.sources[:-1])
    with (
        pytest.raises(LengthError, match=r"source\.txt has 72 sentences but .*short\.txt has 71"),
        open_lines(corpus_files["source"], {"s": str(tmp_path / "short.txt")}, [], 10, tmp_path),
    ):
        pass


@pytest.mark.parametrize("kind", ["lines", "jsonl", "parquet"])
def test_blocks_are_read_from_any_folder(
    kind: str, sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = records(sample, "weak", sample.references)
    write_jsonl(Path("weak.jsonl"), rows)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), "weak.parquet")
    write_lines(Path("source.txt"), sample.sources)
    write_lines(Path("weak.txt"), sample.systems["weak"])
    opened = (
        open_lines("source.txt", {"weak": "weak.txt"}, [], 10, Path("run"))
        if kind == "lines"
        else open_records({"weak": f"weak.{kind}"}, 10, Path("run"))
    )
    with opened as corpus:
        assert corpus.files[-1].path == f"weak.{'txt' if kind == 'lines' else kind}"
        sent = pickle.dumps(corpus)
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir("elsewhere")
        block, _ = pickle.loads(sent).read(1)
    assert (block.sources, block.first) == (sample.sources[10:20], 11)


def test_systems_must_correct_the_same_sentences(sample: Sample, tmp_path: Path) -> None:
    rows = records(sample, "weak", sample.references)
    write_jsonl(tmp_path / "a.jsonl", rows)
    rows[12] = {**rows[12], "source": "Another ."}
    write_jsonl(tmp_path / "b.jsonl", rows)
    paths = {name: str(tmp_path / f"{name}.jsonl") for name in "ab"}
    with (
        open_records(paths, 10, tmp_path) as corpus,
        pytest.raises(InputError, match=r"b\.jsonl:13: the source or the references differ"),
    ):
        score_corpus([load_metric("length")], corpus, tmp_path / "run")
