"""`learnedgec score`, `metrics` and `evaluators`: what the transcript of tables does not show."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import tiny

from learnedgec import score
from learnedgec.data.documents import align_documents, read_documents
from learnedgec.data.text import read_lines, write_jsonl, write_lines
from learnedgec.metrics.registry import METRICS

REFERENCE = "--src src.txt --ref good.txt"


@pytest.fixture(autouse=True)
def texts(run: Any) -> None:
    """Copy the texts of `texts` into the folder of `run`."""
    shutil.copytree(Path(__file__).with_name("texts"), ".", dirs_exist_ok=True)


@pytest.mark.filterwarnings("ignore:the spaCy package")
def test_every_metric_explains_itself(run: Any) -> None:
    # A metric with required parameters is explained under its bare name.
    assert "\nensemble\n\nA weighted sum of other metrics" in run("metrics", *METRICS).out


def test_evaluators_lists_and_explains(
    run: Any, tiny_evaluator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", str(tiny_evaluator.parent))
    assert "tiny,grammaticality fluency meaning,tiny,none" in run("evaluators --format csv").out
    # A hub reads the top of the file.
    assert (tiny_evaluator / "README.md").read_text().startswith("---\n")
    assert run("evaluators tiny").out.startswith("# tiny\n")
    assert [row["evaluator"] for row in run("evaluators tiny --format json").json["rows"]] == [
        "tiny"
    ]


def test_untokenised_text_is_tokenised(run: Any) -> None:
    out, err = run(f"score {REFERENCE} --hyp llm.txt --metric gleu --format csv --tokenise spacy")
    assert out.splitlines()[1].startswith("llm,gleu,1.0,")
    assert "|tokens:spacy-en-" in out
    assert err == ""


GOLD = """S He go home .
A 1 2|||{kind}|||goes|||REQUIRED|||-NONE-|||0

S Fine .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
"""


def test_gold_edits_of_a_tokenised_file_serve_untokenised_sources(run: Any) -> None:
    Path("gold.m2").write_text(GOLD.format(kind="R:VERB:SVA"))
    write_lines("raw.txt", ["He go home.", "Fine."])
    write_lines("llm.txt", ["He goes home.", "Fine."])
    command = "score --src raw.txt --hyp llm.txt --gold gold.m2 --metric m2 --format csv"
    assert "sentence 1 of" in run(command, code=2).err
    command += " --tokenise spacy"
    out, err = run(command)
    assert out.splitlines()[1].startswith("llm,m2,1.0,1.0,1.0,1,1,1,")
    assert "gold:aligned" not in out
    assert err == ""
    assert ",go,goes," in run(f"{command} --show edits").out
    write_lines("raw.txt", ["She go home.", "Fine."])
    assert "gold.m2 differs from the source: 'He go home .'" in run(command, code=2).err


@pytest.mark.filterwarnings("default")
def test_gold_edits_that_are_not_errants_are_noticed_and_extracted_again(run: Any) -> None:
    Path("gold.m2").write_text(GOLD.format(kind="UNK"))
    metric = "errant(annotator='plain')"
    command = f'score --src src.txt --hyp good.txt --gold gold.m2 --metric "{metric}" --format csv'
    out, err = run(command)
    assert out.splitlines()[1].startswith(f"good,{metric},0.0,")
    assert err == (
        "errant: every gold edit has the type UNK, which counts in detection only, so no "
        "correction can be right; extract the references' edits again with errant(reannotate=True).\n"
    )
    out, err = run(f"{command} --reannotate")
    assert out.splitlines()[1].startswith(
        "good,\"errant(annotator='plain', reannotate=True)\",1.0,"
    )
    assert (err, out.strip()[-13:]) == ("", 'gold:aligned"')


def test_equal_scores_are_called_equal(run: Any) -> None:
    shutil.copy("good.txt", "copy.txt")
    out = run(f"score {REFERENCE} --hyp good.txt copy.txt --metric m2").out
    assert out.splitlines()[-1] == "all systems score the same by m2."
    out = run(f"score {REFERENCE} --hyp good.txt copy.txt src.txt --metric m2").out
    assert "\ngood, copy score highest by m2. Whether" in out


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet"])
def test_a_table_scores_as_its_texts_do(run: Any, form: str) -> None:
    names = ("strong", "weak")
    files = [f"embedded/{name}.txt" for name in ("source", "ref0", "ref1")]
    files += [f"embedded/systems/{name}.txt" for name in names]
    columns = dict(zip(("learner", "first", "second", *names), map(read_lines, files), strict=True))
    frame, table = pd.DataFrame(columns), f"outputs.{form}"
    if form == "jsonl":
        write_jsonl(table, frame.to_dict("records"))
    elif form == "parquet":
        frame.to_parquet(table)
    else:
        frame.to_csv(table, index=False, sep="," if form == "csv" else "\t")
    rest = "--metric gleu --baseline weak --format csv"
    references = "--ref embedded/ref0.txt embedded/ref1.txt"
    systems = "--hyp embedded/systems/strong.txt embedded/systems/weak.txt"
    texts = run(f"compare --src embedded/source.txt {systems} {references} {rest}")
    called = "{source: learner, outputs: [strong, weak], references: [first, second]}"
    assert run(f"compare --table {table} --columns '{called}' {rest}").out == texts.out
    one = called.replace("[strong, weak]", "weak")
    (row,) = run(f"score --table {table} --columns '{one}' --metric gleu --format csv").rows
    assert (row["system"], row["score"]) == ("weak", texts.rows[0]["score"])


def test_an_output_may_come_from_standard_input(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(Path("good.txt").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    command = f"score {REFERENCE} --metric gleu --format csv --hyp"
    assert run(f"{command} -").out.replace("stdin", "good") == run(f"{command} good.txt").out


def test_standard_input_is_one_file(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(Path("good.txt").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    result = run(f"score {REFERENCE} --metric gleu --hyp - --src -", code=2)
    assert "- was given twice, and standard input can be read once" in result.err


def test_a_stream_prints_what_a_whole_corpus_prints(run: Any) -> None:
    command = f"score {REFERENCE} --hyp good.txt bad.txt"
    for options in ("--metric gleu", "--metric m2", "--metric gleu --format csv"):
        folder = options.replace(" ", "")
        stream = f"{command} {options} --stream --block-size 1 --out-dir ./{folder}"
        out, err = run(stream)
        assert out == run(f"{command} {options}").out
        *signature, blank = err.splitlines()
        assert blank == "line 2: bad: 1 of 1 hypotheses is blank where the source is not (line 2)."
        assert len(signature) == ("csv" not in options)


def test_a_stream_names_what_it_could_not_score(run: Any) -> None:
    Path("bad.txt").write_bytes(b"He go home .\n\xff\n")
    command = f"score {REFERENCE} --metric gleu --hyp bad.txt --stream --block-size 1 --out-dir run"
    err = run(f"{command} --format json", code=2).err
    assert err == (
        "learnedgec score: line 2 was not scored: bad.txt:2: not UTF-8 (byte 0xff); convert the file to "
        "UTF-8; 1 of 2 sentences were not scored, so there are no scores; run the same command again to try "
        "only these.\n"
    )
    Path("bad.txt").write_bytes(b"He go home .\nFine .\n")
    err = run(command, code=2).err
    assert "run holds a run with other input; choose another folder, or delete this one." in err


def test_the_released_evaluator_introduces_itself_once(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEARNEDGEC_CACHE", str(tmp_path / "cache"))
    # The output is missing, so that no model is loaded.
    command = "score --src src.txt --metric gleu quality"
    assert "own evaluator" not in run(f"{command} --quiet", code=2).err
    # Another evaluator, whose name only contains that of the released one.
    Path("checkpoints").mkdir()
    tiny.save_evaluator(Path("checkpoints/not-open-mpnet"))
    other = "score --src src.txt --metric 'some(model=\"not-open-mpnet\")'"
    assert "own evaluator" not in run(other, code=2).err
    first, *_ = run(command, code=2).err.splitlines()
    assert first == (
        "open-mpnet is learnedgec's own evaluator, so write quality[open-mpnet] in a paper. It is for "
        "research only: its licence is Apache-2.0 AND CC-BY-SA-4.0 AND LicenseRef-robustgec AND MIT "
        "(learnedgec evaluators open-mpnet). You read this once."
    )
    assert "own evaluator" not in run(command, code=2).err
    first, *_ = run("score --src src.txt --metric quality some", code=2).err.splitlines()
    assert first.startswith(
        "joint-mpnet-3 is learnedgec's own evaluator, not the published checkpoint of SOME, so write "
        "some[joint-mpnet-3] in a paper. It is for research only: its licence is CC-BY-NC-SA-4.0 AND"
    )


def test_essays_are_scored_by_the_units_of_their_documents(run: Any) -> None:
    source, ours, reference = (
        f"embedded/essays/de-sample-{n}-dev.md" for n in ("orig", "hypo1", "ref1")
    )
    metrics = "gleu m2 \"errant(annotator='plain')\""
    files = f"--documents --src {source} --hyp {ours} --ref {reference}"
    gleu, m2, errant = run(f"score {files} --metric {metrics} --format json").json["rows"]
    # Word order, "einem kleinen", the join of two sentences (". Weil"), the division of one, "Grüße"; the
    # output lacks the join alone.
    assert (m2["tp"], m2["proposed"], m2["gold"]) == (4, 4, 5)
    # Without merging, "ich habe" and "habe ich" are two edits.
    assert (errant["precision"], errant["recall"]) == pytest.approx((1, 5 / 6))
    documents = [read_documents(path, "de") for path in (source, ours, reference)]
    corpus = align_documents(documents[0], {"ours": documents[1]}, documents[2:])
    expected = score("gleu", corpus.sources, corpus.systems, corpus.references)
    assert gleu["score"] == pytest.approx(expected["ours"].value)


def test_lines_of_another_number_are_aligned_with_documents(run: Any) -> None:
    write_lines("two.txt", ["He go .", "It rain and it snow .", "", "Fine ."])
    write_lines("more.txt", ["He goes .", "It rains .", "It snows .", "", "Fine ."])
    files = "--src two.txt --hyp more.txt --metric length --level sentence --format csv"
    rows = run(f"score --documents {files}").rows
    assert [row["score"] for row in rows] == ["3.0", "6.0", "2.0"]
