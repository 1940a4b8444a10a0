from __future__ import annotations

import math
from collections import Counter
from contextlib import nullcontext

import numpy as np
import pytest
from annotated import toy
from hypothesis import given, settings
from hypothesis import strategies as st

from learnedgec import References, rank, score
from learnedgec.errors import TextWarning
from learnedgec.metrics import gleu, ngrams
from learnedgec.metrics.gleu import Gleu
from learnedgec.metrics.green import Green


def grams(text: str, unit: str, order: int) -> Counter[tuple[str, ...]]:
    tokens = text.split() if unit == "word" else list(text)
    return Counter(tuple(tokens[i : i + order]) for i in range(len(tokens) + 1 - order))


def literal_regions(s: str, r: str, h: str, unit: str, order: int) -> tuple[int, int, int]:
    source, reference, hypothesis = (grams(text, unit, order) for text in (s, r, h))
    right = over = under = 0
    for gram in source.keys() | reference.keys() | hypothesis.keys():
        a, b, c = source[gram], reference[gram], hypothesis[gram]
        right += min(a, b, c) + max(0, a - max(b, c)) + max(0, min(b, c) - a)
        over += max(0, min(a, b) - c) + max(0, c - max(a, b))
        under += max(0, min(a, c) - b) + max(0, b - max(a, c))
    return right, over, under


def literal_green(regions: list[tuple[int, int, int]], beta: float) -> list[float]:
    scores = []
    for n in range(1, len(regions) + 1):
        precisions = [t / (t + o) if t + o else 1.0 for t, o, _ in regions[:n]]
        recalls = [t / (t + u) if t + u else 0.0 for t, _, u in regions[:n]]
        p, r = math.prod(precisions) ** (1 / n), math.prod(recalls) ** (1 / n)
        alpha = 1 / (beta**2 + 1)
        scores.append(1 / (alpha / p + (1 - alpha) / r) if p and r else 0.0)
    return scores


sentence = st.lists(st.sampled_from(["a", "b", "c", "dd"]), max_size=7).map(" ".join)
row = st.tuples(sentence, sentence, st.lists(sentence, min_size=1, max_size=3))
rows = st.lists(row, min_size=1, max_size=5)
Rows = list[tuple[str, str, list[str]]]


def columns(rows: Rows) -> tuple[list[str], list[str], References]:
    texts = [[choices[k] if k < len(choices) else None for _, _, choices in rows] for k in range(3)]
    return [s for s, _, _ in rows], [h for _, h, _ in rows], References.from_texts(*texts)


@settings(max_examples=60, deadline=None)
@given(rows, st.sampled_from(["word", "char"]), st.sampled_from([1.0, 2.0]))
def test_green_equals_a_literal_count(rows: Rows, unit: str, beta: float) -> None:
    metric = Green(n=3, beta=beta, unit=unit)  # type: ignore[arg-type]
    statistics = metric.statistics(*columns(rows))
    for number, (source, hypothesis, choices) in enumerate(rows):
        values = []
        for column, reference in enumerate(choices):
            regions = [literal_regions(source, reference, hypothesis, unit, k) for k in (1, 2, 3)]
            assert statistics["counts"][number, column].tolist() == [list(x) for x in regions]
            values.append(literal_green(regions, beta)[-1])
        assert metric.sentence_scores(statistics)[number] == pytest.approx(max(values), abs=1e-12)
    assert statistics["references"].tolist() == [len(choices) for _, _, choices in rows]


@settings(max_examples=60, deadline=None)
@given(rows, st.sampled_from(["word", "char"]), st.booleans())
def test_gleu_equals_a_literal_count(rows: Rows, unit: str, official: bool) -> None:
    form = "official" if official else "reformulated"
    metric = Gleu(n=3, unit=unit, form=form)  # type: ignore[arg-type]
    statistics = metric.statistics(*columns(rows))
    for number, (source, hypothesis, choices) in enumerate(rows):
        for column, reference in enumerate(choices):
            for order in (1, 2, 3):
                s, r, h = (grams(text, unit, order) for text in (source, reference, hypothesis))
                if official:
                    matches = (h & r).total() - sum(min(h[g], s[g]) for g in h if g not in r)
                    matches = max(matches, 0)
                else:
                    matches = (h & r).total() - ((h & s) - r).total()
                assert statistics["reference"][number, column, order] == matches
                assert statistics["hypothesis"][number, order] == h.total()


def test_green_breaks_ties_by_shorter_ngrams_then_by_order() -> None:
    # No reference shares a 2-gram, so F over orders 1 to 2 is 0 for all; the third shares a word.
    references = References.from_texts(["x y z"], ["u v w"], ["c y z"], ["c v w"])
    score = Green(n=2).score([""], ["c d e"], references)
    assert score.value == 0
    assert score.sentence_details["reference"].tolist() == [2]
    same = References.from_texts(["c d"], ["c d"])
    assert Green().score(["a b"], ["c d"], same).sentence_details["reference"].tolist() == [0]


@pytest.mark.parametrize("beta", [0.0, math.inf])
def test_green_accepts_the_extremes_of_beta(beta: float) -> None:
    score = Green(n=1, beta=beta).score(
        ["a b", ""], ["a c", ""], References.from_texts(["a d", ""])
    )
    expected = score.details["precision" if beta == 0 else "recall"]
    assert score.value == pytest.approx(expected)
    assert score.sentences == pytest.approx([expected, 0.0])


@pytest.mark.parametrize("metric", [Gleu(), Gleu(iterations=7), Green(), Green(unit="char")])
@pytest.mark.parametrize("jagged", [False, True])
def test_resamples_equal_one_by_one(
    metric: Gleu | Green, jagged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (gleu, ngrams):
        monkeypatch.setattr(module, "RESAMPLES_AT_ONCE", 2)
    source, hypotheses, references = toy("A", 2)
    if jagged:
        references = References(
            tuple(row[: 1 + number % 2] for number, row in enumerate(references))
        )
    statistics = metric.statistics(source, hypotheses, references)
    samples = np.random.default_rng(1).integers(0, len(source), (5, len(source)))
    expected = [metric.aggregate(statistics.take(sample)) for sample in samples]
    assert metric.aggregate_many(statistics, samples) == pytest.approx(expected, abs=1e-15)
    assert len(set(expected)) == 5


@pytest.mark.parametrize("metric", [Gleu(), Green()])
def test_counting_in_parts_changes_nothing(
    metric: Gleu | Green, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = toy("B", 2)
    whole = metric.statistics(*inputs)
    monkeypatch.setattr(ngrams, "SENTENCES_AT_ONCE", 5)
    parts = metric.statistics(*inputs)
    for name, array in whole.arrays.items():
        assert np.array_equal(array, parts[name])


def test_gleu_details_give_the_interval() -> None:
    details = Gleu().score(*toy("A", 2)).details
    middle = (details["reference_low"] + details["reference_high"]) / 2
    assert middle == pytest.approx(Gleu().score(*toy("A", 2)).value)
    width = details["reference_high"] - details["reference_low"]
    assert width == pytest.approx(2 * 1.959963984540054 * details["reference_deviation"])


def test_gleu_at_the_sentence_level_is_the_mean_of_sentences() -> None:
    inputs = toy("A", 2)
    score = Gleu(level="sentence").score(*inputs)
    assert score.value == pytest.approx(Gleu().score(*inputs).sentences.mean())
    assert score.details == {}
    # Without smoothing, an order without a match makes the sentence 0, as in Gong et al. (2022).
    references = References.from_texts(["a b c d", "a x y z"])
    plain = Gleu(n=2, level="sentence", smooth=False).score(
        [""] * 2, ["a b c e", "a u v w"], references
    )
    assert plain.sentences == pytest.approx([(3 / 4 * 2 / 3) ** (1 / 4), 0.0])
    assert plain.value == pytest.approx((3 / 4 * 2 / 3) ** (1 / 4) / 2)


def test_reformulated_gleu_smooths_nothing() -> None:
    references = References.from_texts(["a b c d", "a x", "a b", "a"])
    hypotheses = ["a b c e", "a y", "a b", ""]
    scores = Gleu(n=2, form="reformulated").score([""] * 4, hypotheses, references).sentences
    # 3 of 4 words and 2 of 3 pairs; no common pair; all; no hypothesis.
    assert scores == pytest.approx([(3 / 4 * 2 / 3) ** (1 / 4), 0.0, 1.0, 0.0])


@pytest.mark.filterwarnings("error::learnedgec.errors.TextWarning")
@pytest.mark.parametrize(
    ("hypotheses", "metric", "notice"),
    [
        (
            ["He goes .", "Yes ."],
            "gleu",
            "gleu: texts without any 4-gram have the corpus score 0; score",
        ),
        (["He goes a b c .", "Yes ."], "gleu", "without any 3-gram that counts as right have"),
        (["He goes home .", "Yes ."], "gleu", None),
        (["He goes .", "Yes ."], "gleu(level='sentence')", None),
        (["He goes .", "Yes ."], "gleu(n=2)", None),
    ],
)
def test_a_gleu_of_0_by_short_texts_is_explained(
    hypotheses: list[str], metric: str, notice: str | None
) -> None:
    sources, ours = ["He go home .", "Yes ."], hypotheses
    references = [["He goes home ."], ["Yes ."]]
    with pytest.warns(TextWarning, match=notice) if notice else nullcontext():
        scored = score(metric, sources, ours, references)
    assert (scored.value == 0) == (notice is not None)
    with pytest.warns(TextWarning, match=notice) if notice else nullcontext():
        rank(metric, sources, {"ours": ours}, references)
