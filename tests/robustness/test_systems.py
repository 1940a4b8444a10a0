"""Robustness of systems: values worked out by hand, and the official command's rule as a slow oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from embedded import SAMPLE_FOLDER
from hypothesis import given, settings
from hypothesis import strategies as st

from learnedgec import Resampling, Statistics, load_metric, read_lines
from learnedgec.data.catalog import Case, Pair
from learnedgec.data.catalog.cases import read_cases
from learnedgec.errors import InputError, LengthError
from learnedgec.metrics.contract import Metric
from learnedgec.metrics.edit_overlap import overlap_statistics
from learnedgec.metrics.errant import Errant
from learnedgec.robustness.systems import SystemRobustness, evaluate_systems

ERRANT = "errant(annotator='en-ewt-sm')"
Counts = tuple[int, int, int]


@pytest.fixture(scope="module")
def sample_cases() -> list[Case]:
    return read_cases(SAMPLE_FOLDER / "robust" / "para.txt")


@pytest.fixture(scope="module")
def system_outputs() -> list[str]:
    return read_lines(SAMPLE_FOLDER / "robust" / "system.txt")


def evaluate(cases: list[Case], outputs: list[str], metric: Metric) -> SystemRobustness:
    (result,) = evaluate_systems(
        metric, {"mine": cases}, {"ours": {"mine": outputs}}, resampling=Resampling(5)
    )
    return result


@pytest.fixture(scope="module")
def system(sample_cases: list[Case], system_outputs: list[str]) -> SystemRobustness:
    parts, systems = {"sample": sample_cases}, {"system": {"sample": system_outputs}}
    (result,) = evaluate_systems(load_metric(ERRANT), parts, systems, resampling=Resampling(40))
    return result


def test_six_cases_worked_out_by_hand(system: SystemRobustness) -> None:
    # What `system` does in each case, as (tp, fp, fn), and what the bounds choose:
    #
    #   case  original   variants                                best       worst      official  edits
    #   1     (1, 0, 0)  all the same                            original   original   5/5       5/5
    #   2     (1, 0, 0)  A3 corrects nothing: (0, 0, 1)          original   A3         4/5       4/5
    #   3     (0, 0, 1)  all the same                            original   original   5/5       5/5
    #   4     (1, 0, 0)  A2 inserts another word: (0, 1, 1)      original   A2         4/5       4/5
    #   5     (0, 0, 0)  A4 changes what is right: (0, 1, 0)     original   A4         4/5       4/5
    #   6     (1, 0, 1)  A5 corrects the other of two errors:    original   original   5/5       4/5
    #                    (1, 0, 1) too, so the score is the same
    #
    #   original and upper: tp 4, fp 0, fn 2;  P 1    R 2/3  F 1.25·(2/3)/(1/4 + 2/3) = 10/11
    #   lower:              tp 2, fp 2, fn 4;  P 1/2  R 1/3  F 1.25·(1/6)/(1/8 + 1/3) = 5/11
    #   CRS   official 3/6 (1, 3, 6), edits 2/6 (1, 3)
    #   P-CRS official 27/30, edits 26/30
    assert (system.cases, system.count, system.variants) == ("sample", 6, 30)
    best, worst = (1, 2 / 3, 10 / 11), (1 / 2, 1 / 3, 5 / 11)
    for performance, expected in (
        (system.original, best),
        (system.upper, best),
        (system.lower, worst),
    ):
        figures = (performance.precision, performance.recall, performance.f)
        assert [figure.value for figure in figures] == pytest.approx(expected)
        # Every resample has a precision of 1, which does not mean that other cases have it.
        unknown = [figure for figure in figures if np.isnan([figure.low, figure.high]).all()]
        assert unknown == [figure for figure in figures if figure.value == 1]
        for figure in figures:
            assert figure in unknown or figure.low <= figure.value <= figure.high
    assert system.lower.precision.low < system.lower.precision.high
    assert system.delta.value == pytest.approx(5 / 11)
    assert system.crs["official"].value == pytest.approx(3 / 6)
    assert system.crs["edits"].value == pytest.approx(2 / 6)
    assert system.p_crs["official"].value == pytest.approx(27 / 30)
    assert system.p_crs["edits"].value == pytest.approx(26 / 30)
    assert system.signature.startswith("errant(")


def test_kinds_of_variants_worked_out_by_hand(system: SystemRobustness) -> None:
    # The four variants with a difference are substitutions: 3 of 17 change the score, 4 the corrections.
    groups = {(group.dimension, group.group): group for group in system.groups}
    counts = {kind[1]: group.count for kind, group in groups.items() if kind[0] == "action"}
    assert counts == {"substitute": 17, "insert": 7, "delete": 6}
    substituted = groups["action", "substitute"]
    assert substituted.consistent["official"].value == pytest.approx(14 / 17)
    assert substituted.consistent["edits"].value == pytest.approx(13 / 17)
    inserted = groups["action", "insert"].consistent["edits"]
    assert (inserted.value, inserted.high) == (1, 1)
    assert inserted.low < 0.6  # seven variants of few cases
    sizes: Counter[str] = Counter()
    for (dimension, _), group in groups.items():
        sizes[dimension] += group.count
    # Case 5 has no error, and six variants have several changes or errors.
    assert sizes == {"action": 30, "distance": 19, "nearest": 25, "frequency": 17}
    assert groups["distance", "0-1"].f < groups["distance", "0-1"].original_f


# -- the official rule --------------------------------------------------------------------------


def f_score(tp: int, fp: int, fn: int) -> float:
    precision = tp / (tp + fp) if fp else 1.0
    recall = tp / (tp + fn) if fn else 1.0
    if not precision + recall:
        return 0.0
    return round(1.25 * precision * recall / (0.25 * precision + recall), 4)


def official(cases: Sequence[Sequence[Counts]]) -> dict[str, float]:
    """Do what the official command does, step by step, with counts of each case's sentences."""
    sums = {"original": [0, 0, 0], "upper": [0, 0, 0], "lower": [0, 0, 0]}
    robust, pairs = 0, 0.0
    for sentences in cases:
        chosen = {"upper": 0, "lower": 0}
        for number, (tp, fp, fn) in enumerate(sentences):
            for bound, sign in (("upper", 1), ("lower", -1)):
                total, old = sums[bound], sentences[chosen[bound]]
                new_f = f_score(total[0] + tp, total[1] + fp, total[2] + fn)
                old_f = f_score(total[0] + old[0], total[1] + old[1], total[2] + old[2])
                new_key = [sign * value for value in (new_f, tp, -fp, -fn)]
                old_key = [sign * value for value in (old_f, old[0], -old[1], -old[2])]
                if new_key > old_key:
                    chosen[bound] = number
        for bound in chosen:
            sums[bound] = [
                a + b for a, b in zip(sums[bound], sentences[chosen[bound]], strict=True)
            ]
        sums["original"] = [a + b for a, b in zip(sums["original"], sentences[0], strict=True)]
        robust += chosen["upper"] == chosen["lower"]
        same = [f_score(*variant) == f_score(*sentences[0]) for variant in sentences[1:]]
        pairs += sum(same) / len(same)
    scores = {name: f_score(*counts) for name, counts in sums.items()}
    return {**scores, "crs": robust / len(cases), "p_crs": pairs / len(cases)}


@dataclass(frozen=True)
class GivenCounts(Errant):
    """ERRANT with given counts: a hypothesis is its tp, fp and fn."""

    name: ClassVar[str] = "given-counts"
    annotator: str = "en-ewt-sm"

    def compute(self, sources: Any, hypotheses: Any, references: Any, *_: Any) -> Statistics:
        assert references is not None
        counts = [[int(word) for word in text.split()] for text in hypotheses]
        return overlap_statistics(
            [[((tp, tp + fp, tp + fn), {"edits": []})] for tp, fp, fn in counts],
            references,
        )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=2, max_size=4),
        min_size=1,
        max_size=6,
    )
)
def test_any_counts_as_the_official_rule(counts: list[list[Counts]]) -> None:
    cases = [
        Case(Pair(f"{n}", "a"), tuple(Pair(f"{n} {k}", "a") for k in range(len(case) - 1)))
        for n, case in enumerate(counts)
    ]
    outputs = [f"{tp} {fp} {fn}" for case in counts for tp, fp, fn in case]
    result = evaluate(cases, outputs, GivenCounts())
    expected = official(counts)
    for name in ("original", "upper", "lower"):
        assert getattr(result, name).f.value == pytest.approx(expected[name], abs=5.1e-5)
    assert result.crs["official"].value == pytest.approx(expected["crs"])
    assert result.p_crs["official"].value == pytest.approx(expected["p_crs"])
    assert result.variants == sum(len(case) - 1 for case in counts)


def test_p_crs_by_edits_is_over_variants_as_in_the_paper() -> None:
    # Five variants of which four are consistent, and one that is: 5 of 6 variants, by cases (4/5 + 1)/2.
    cases = [
        Case(Pair("a b", "a c"), tuple(Pair(f"a b {n}", f"a c {n}") for n in range(5))),
        Case(Pair("a b", "a c"), (Pair("d b", "d c"),)),
    ]
    outputs = [pair.target for case in cases for pair in case.pairs]
    outputs[1] = cases[0].variants[0].source
    result = evaluate(cases, outputs, load_metric(ERRANT))
    assert result.p_crs["edits"].value == pytest.approx(5 / 6)
    assert result.p_crs["official"].value == pytest.approx(0.9)


# -- parts, other metrics, what cannot be -----------------------------------------------------------


def test_sentence_level(sample_cases: list[Case], system_outputs: list[str]) -> None:
    metric = load_metric("senterrant(annotator='en-ewt-sm')")
    result = evaluate(sample_cases, system_outputs, metric)
    # Case by case the best and the worst F: 1 1 0 1 1 5/6, and 1 0 0 0 0 5/6 (P 1, R 1/2).
    assert result.upper.f.value == pytest.approx((4 + 5 / 6) / 6)
    assert result.lower.f.value == pytest.approx((1 + 5 / 6) / 6)


def test_what_cannot_be(sample_cases: list[Case]) -> None:
    m2 = load_metric("m2")
    with pytest.raises(InputError, match="mine has no case"):
        evaluate([], [], m2)
    with pytest.raises(InputError, match="case 7 of mine has no variant"):
        evaluate([*sample_cases, Case(Pair("a", "b"), ())], [], m2)
    with pytest.raises(LengthError, match="mine has 36 sentences but ours on mine has 0"):
        evaluate_systems(m2, {"mine": sample_cases}, {"ours": {}})
