"""CLEME and CLEME2.0 against their definition, and the cases that the definition leaves open."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chunk_oracle import kinds, length_weight, pieces, sentences
from embedded import Sample
from hypothesis import given, settings
from hypothesis import strategies as st

from learnedgec.data.m2 import AnnotatedSentence, Edit, apply_edits
from learnedgec.data.references import Reference, References
from learnedgec.errors import InputError
from learnedgec.metrics.chunk_overlap import CLASSES, ChunkOverlap
from learnedgec.metrics.cleme import Cleme, Cleme2
from learnedgec.metrics.contract import Statistics
from learnedgec.metrics.registry import load_metric
from learnedgec.scoring import bind_one

Targets = tuple[list[str], list[tuple[Edit, ...]]]
Counts = dict[str, float]
SCALES = {
    ("corpus", "dependent"): [(2, 0.75, 1.25)] * 3,
    ("corpus", "independent"): [(2, 0.75, 1.25)] * 3,
    ("sentence", "dependent"): [(10, 1, 10), (10, 0.25, 1), (10, 1, 1)],
    ("sentence", "independent"): [(10, 2.5, 10), (10, 0.25, 1), (10, 1, 1)],
}
FACTORS = {"corpus": (0.45, 0.35, 0.15, 0.05), "sentence": (0.35, 0.25, 0.2, 0.2)}


def compare(metric: ChunkOverlap, corpus: Sequence[Targets], **options: Any) -> Statistics:
    blocks = [
        AnnotatedSentence(" ".join(tokens), dict(enumerate(targets[1:])))
        for tokens, targets in corpus
    ]
    return metric.compare(
        [block.source for block in blocks],
        [targets[0] for _, targets in corpus],
        References.from_annotated(blocks),
        **options,
    )


# -- the definition ----------------------------------------------------------------------------


def with_text(tokens: Sequence[str], targets: Sequence[tuple[Edit, ...]]) -> list[tuple[Edit, ...]]:
    """Return the hypothesis and the references that have a text, or the first."""
    hypothesis, *others = targets
    filled = [edits for edits in others if apply_edits(" ".join(tokens), edits)]
    return [hypothesis, *(filled or others[:1])]


def literal_counts(
    corpus: Sequence[Targets], level: str, assumption: str, weights: str
) -> list[list[Counts]]:
    """Return the counts of each sentence with each reference."""
    cut = [pieces(tokens, with_text(tokens, targets)) for tokens, targets in corpus]
    lengths = [
        max(chunk.end - chunk.start, len(tokens))
        for chunks in cut
        for chunk in chunks
        for tokens, changed in chunk.targets[1:]
        if changed
    ]
    mean = sum(lengths) / len(lengths) if lengths else math.nan
    scales = SCALES["corpus" if weights == "released" else level, assumption]
    counts_of_sentences = []
    for (tokens, targets), chunks in zip(corpus, cut, strict=True):
        rows = kinds(chunks, assumption) if chunks else [[]] * (len(with_text(tokens, targets)) - 1)
        counts_of_sentences.append([dict.fromkeys(CLASSES, 0.0) for _ in rows])
        for row, counts in zip(rows, counts_of_sentences[-1], strict=True):
            for kind, chunk in zip(row, chunks, strict=True):
                length = max(chunk.end - chunk.start, len(chunk.targets[0][0]))
                one = weights == "none"
                counts[kind] += 1.0 if one else length_weight(kind, length, mean, scales)
    return counts_of_sentences


def prf(counts: Counts, beta: float) -> tuple[float, float, float, float]:
    """Return F, P, R and accuracy, rounded."""
    tp, fp, fn, tn = counts["tp"], counts["fp_ne"] + counts["fp_un"], counts["fn"], counts["tn"]
    precision = tp / (tp + fp) if tp + fp else 1.0
    recall = tp / (tp + fn) if tp + fn else 1.0
    below = beta**2 * precision + recall
    f = (1 + beta**2) * precision * recall / below if below else 0.0
    accuracy = (tp + tn) / (tp + fp + fn + tn) if tp + fp + fn + tn else 0.0
    return round(f, 4), round(precision, 4), round(recall, 4), round(accuracy, 4)


def cleme2_values(counts: Counts, factors: Sequence[float]) -> tuple[float, ...]:
    """Return CLEME2.0's score, hit, wrong, under and over."""
    tp, wrong, over, fn = (counts[kind] for kind in CLASSES[:4])
    needed, made = tp + wrong + fn, tp + wrong + over
    shares = [part / needed if needed else 0.0 for part in (tp, wrong, fn)]
    shares.append(over / made if made else 0.0)
    terms = [shares[0], *(1 - share for share in shares[1:])]
    return sum(f * term for f, term in zip(factors, terms, strict=True)), *shares


def add(one: Counts, other: Counts) -> Counts:
    return {kind: one[kind] + other[kind] for kind in CLASSES}


def tie_keys(counts: Counts) -> tuple[float, ...]:
    return counts["tp"], -counts["fp_ne"] - counts["fp_un"], -counts["fn"], counts["tn"]


options = {
    "level": st.sampled_from(["corpus", "sentence"]),
    "assumption": st.sampled_from(["dependent", "independent"]),
    "edits": st.just("aligned"),
}
metrics: st.SearchStrategy[Cleme | Cleme2] = st.one_of(
    st.builds(
        Cleme,
        **options,
        weights=st.sampled_from(["length", "released", "none"]),
        beta=st.sampled_from([0.5, 1.0]),
    ),
    st.builds(Cleme2, **options, weights=st.sampled_from(["length", "none"])),
)


@given(st.lists(sentences(), min_size=1, max_size=6), metrics)
@settings(max_examples=150, deadline=None)
def test_is_its_definition(corpus: list[Targets], metric: Cleme | Cleme2) -> None:
    statistics = compare(metric, corpus)
    score = bind_one(metric).score_of(statistics)
    rows = literal_counts(corpus, metric.level, metric.assumption, metric.weights)
    # The fourth decimal may be rounded in another way; sums of weights depend on their order.
    slack = 1.1e-4 if isinstance(metric, Cleme) else 1e-8
    whole = metric.weights == "none"

    def values(counts: Counts) -> tuple[float, ...]:
        if isinstance(metric, Cleme):
            return prf(counts, metric.beta)
        return cleme2_values(counts, FACTORS[metric.level])

    def keys(before: Counts, own: Counts) -> tuple[float, ...]:
        if metric.level == "corpus":
            return values(add(before, own))[0], *tie_keys(own)
        better = (1, 1, 1, 1) if isinstance(metric, Cleme) else (1, 1, -1, -1, -1)
        return tuple(sign * value for sign, value in zip(better, values(own), strict=True))

    total: Counts = dict.fromkeys(CLASSES, 0.0)
    chosen = []
    for row, choice in zip(rows, metric.chosen(statistics), strict=True):
        ranked = [keys(total, own) for own in row]
        if whole:
            assert choice == ranked.index(max(ranked))
        else:
            assert ranked[choice][0] >= max(ranked)[0] - slack
        chosen.append(row[choice])
        total = add(total, row[choice])
    best = [max(values(own)[0] for own in row) for row in rows]
    assert score.sentences == pytest.approx(best, abs=slack)
    sums = total | {"fp": total["fp_ne"] + total["fp_un"]}
    assert {name: score.details[name] for name in metric.counted} == pytest.approx(
        {name: sums[name] for name in metric.counted}
    )
    expected = values(total)
    if metric.level == "sentence":
        expected = tuple(np.mean([values(counts) for counts in chosen], axis=0))
    _, *names = metric.figures(np.zeros(5))
    figures = [score.value, *(score.details[name] for name in names)]
    exact = metric.level == "sentence" and whole
    assert figures == pytest.approx(expected, abs=1e-9 if exact else slack)


def test_resamples_weigh_with_their_own_mean_length(sample: Sample) -> None:
    draws = np.random.default_rng(0).integers(0, len(sample.sources), (4, 50))
    for level in ("corpus", "sentence"):
        metric = Cleme(edits="aligned", level=level)  # type: ignore[arg-type]
        statistics = metric.statistics(sample.sources, sample.systems["eager"], sample.references)
        expected = [metric.aggregate(statistics.take(draw)) for draw in draws]
        assert metric.aggregate_many(statistics, draws) == pytest.approx(expected, abs=1e-12)
        # Blocks of a single resample.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("learnedgec.metrics.reference_choice._BLOCK", 1)
            many = metric.aggregate_many(statistics, draws)
        assert many == pytest.approx(expected, abs=1e-12)
        fixed = dataclasses.replace(metric, mean_length=5.0)
        assert abs(fixed.aggregate(statistics) - metric.aggregate(statistics)) > 1e-3
        assert "mean_length" in fixed.details(statistics)
        assert fixed.for_statistics == metric.for_statistics


# -- similarity -----------------------------------------------------------------------------------


def test_a_chunk_that_leaves_no_text_weighs_nothing(tiny_encoder: Path) -> None:
    metric = Cleme2(edits="aligned", encoder=str(tiny_encoder), layer=2)
    corpus = [(["a", "b"], [(Edit(0, 2, ""),), (Edit(0, 1, "c"),)])]
    statistics = compare(metric, corpus)
    (chunk,) = statistics.records[0]["chunks"]
    assert (chunk["counts"], chunk["weights"]) == (["fp_ne"], [0.0])
    # 0 remains 0, also in CLEME's F.
    cleme = Cleme(edits="aligned", encoder=str(tiny_encoder), layer=2, weights="similarity")
    assert bind_one(cleme).score_of(compare(cleme, corpus)).details["fp"] == 0.0


# -- cases -----------------------------------------------------------------------------------------


def test_records_say_what_every_chunk_counts_as() -> None:
    corpus = [(["a", "b"], [(Edit(0, 1, "x"),), (Edit(0, 1, "x"), Edit(2, 2, "c")), ()])]
    metric = Cleme(edits="aligned")
    (record,) = compare(metric, corpus).records
    assert record["annotators"] == [0, 1]
    assert [tuple(chunk.values()) for chunk in record["chunks"]] == [
        (0, 1, "a", "x", ["x", "a"], ["tp", "fp_un"]),
        (1, 2, "b", "b", ["b", "b"], ["tn", "tn"]),
        (2, 2, "", "", ["c", ""], ["fn", "tn"]),
    ]


def test_cleme2_warns_of_blank_outputs() -> None:
    metric = load_metric("cleme2(edits='aligned', weights='none')")
    references = References.from_texts(["He goes .", ""])
    systems = {"kept": ["He go .", ""], "lost": [" ", ""]}
    with pytest.warns(UserWarning, match="lost has blank outputs, which by the rule of CLEME2.0"):
        metric.score(["He go .", ""], systems, references)


def test_plain_references_and_the_signature(sample: Sample) -> None:
    sources, hypothesis = ["He go to school ."], ["He went to school ."]
    references = References.from_texts(["He goes to school ."], ["He went to the school ."])
    scores = {}
    for edits in ("errant", "aligned"):
        metric = Cleme(edits=edits, annotator="en-ewt-sm")  # type: ignore[arg-type]
        scores[edits] = metric.score(sources, hypothesis, references)
        signature = bind_one(metric).signature(references)
        assert signature.endswith("|gold:aligned")
        assert ("annotator-version:" in signature) == (edits == "errant")
    assert scores["errant"].details == pytest.approx(scores["aligned"].details)
    assert "gold:aligned" not in bind_one(Cleme(edits="aligned")).signature(sample.references)


def test_references_without_edits_are_refused() -> None:
    with pytest.raises(InputError, match="reference without edits"):
        Cleme(edits="aligned").compare(["a"], [()], References(((Reference("b"),),)))


def test_what_is_counted_once_is_shared() -> None:
    def keys(*names: str) -> set[str]:
        return {str(load_metric(name, edits="aligned").for_statistics) for name in names}

    shared = "cleme", "sentcleme", "cleme(weights='none')", "cleme(weights='released', beta=1.0)"
    apart = "cleme", "cleme(weights='similarity')", "cleme(assumption='independent')", "cleme2"
    assert (len(keys(*shared)), len(keys(*apart))) == (1, 4)
