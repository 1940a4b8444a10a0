"""Robustness of a system: how it corrects sentences and their variants, which differ only in context.

`original` is the score on the original sentences. The upper bound is the score on the best sentence of each
case (the original and its variants), and the lower bound is the score on the worst one. The best sentence is
chosen as the metric chooses among references: the largest F so far, then the largest tp, and so on. The worst
sentence is chosen by the reverse order.

A variant is consistent with its original by one of two rules:

    official   the score: both have the same sentence F, to four decimals. A case is robust if the upper
               and the lower bound chose the same of its sentences.
    edits      the paper's words, "consistent corrections": the system makes the same corrections (original
               text → correction) in both. A case is robust if all of its variants are.

CRS is the share of cases that are robust. P-CRS is the share of consistent variants.

Source: Zhang et al., "RobustGEC: Robust Grammatical Error Correction Against Subtle Context Perturbation"
(EMNLP 2023). With the same annotator, results equal the official `errant_robustgec`'s on sentences
that are tokenised in the same way (the official conversion tokenises everything with spaCy first).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from learnedgec.data.catalog.cases import Case
from learnedgec.data.references import References
from learnedgec.data.text import check_lengths
from learnedgec.errors import InputError
from learnedgec.metrics.contract import Statistics
from learnedgec.metrics.edit_overlap import EditOverlap
from learnedgec.robustness.cases import CaseSet, Dimension, arrange_cases
from learnedgec.scoring import AnyMetric, bind_one
from learnedgec.stats.resampling import Bootstrap, Estimate, Resampling
from learnedgec.types import Floats, Indices

Consistency: TypeAlias = Literal["official", "edits"]


@dataclass(frozen=True, slots=True)
class Performance:
    """Precision, recall and F.

    Attributes:
        precision: precision with its interval.
        recall: recall with its interval.
        f: F with its interval.
    """

    precision: Estimate
    recall: Estimate
    f: Estimate


@dataclass(frozen=True, slots=True)
class VariantGroup:
    """A system's results on the variants of one kind.

    Attributes:
        dimension: `action`, `distance`, `nearest` or `frequency`: see `learnedgec.robustness.cases`.
        group: the group within the dimension.
        count: number of variants.
        consistent: rule -> the share of variants that are consistent with the original.
        f: F on the variants.
        original_f: F on their originals, each counted once for each such variant.
    """

    dimension: Dimension
    group: str
    count: int
    consistent: Mapping[Consistency, Estimate]
    f: float
    original_f: float


@dataclass(frozen=True, slots=True)
class SystemRobustness:
    """The robustness of one system on one set of cases.

    Attributes:
        cases: the name of the set.
        system: the name of the system.
        metric: the label of the metric.
        count: number of cases.
        variants: number of their variants.
        original: performance on the originals.
        upper: performance on the best sentence of each case.
        lower: performance on the worst sentence of each case.
        delta: upper minus lower F.
        crs: rule -> the share of robust cases; the interval of the official rule resamples the choices made
            in the order given.
        p_crs: rule -> the share of consistent variants. By `official`, it is the mean of the shares of all
            cases, as the official command computes it; by `edits`, the share of all variants, as the paper
            defines it.
        groups: the results by kind of variant.
        signature: the signature of the metric.
    """

    cases: str
    system: str
    metric: str
    count: int
    variants: int
    original: Performance
    upper: Performance
    lower: Performance
    delta: Estimate
    crs: Mapping[Consistency, Estimate]
    p_crs: Mapping[Consistency, Estimate]
    groups: tuple[VariantGroup, ...]
    signature: str


def evaluate_systems(
    metric: AnyMetric,
    parts: Mapping[str, Sequence[Case]],
    systems: Mapping[str, Mapping[str, Sequence[str]]],
    *,
    occurrences: Mapping[str, float] | None = None,
    resampling: Resampling = Resampling(),
) -> list[SystemRobustness]:
    """Evaluate the robustness of systems.

    Args:
        metric: a metric that compares edits, or its name, such as `errant` or `m2`. The target of a sentence
            is its only reference.
        parts: sets of cases by name; with several, their total is evaluated too.
        systems: system -> set -> hypotheses in the order of `Case.pairs`: for every case, that of the
            original and then those of the variants.
        occurrences: how often words occur in a text: see `arrange_cases`.
        resampling: how the cases are drawn for intervals.

    Returns:
        For each set and the total, in order, every system's robustness.

    Raises:
        InputError: the metric does not compare edits, a set has no case, or a case has no variants.
        LengthError: a system does not have one hypothesis for each sentence.

    Example:
        >>> from learnedgec import Resampling
        >>> from learnedgec.data.catalog import Case, Pair
        >>> case = Case(Pair("He go .", "He goes ."), (Pair("She go .", "She goes ."),))
        >>> outputs, metric = {"ours": {"mine": ["He goes .", "She go ."]}}, "errant(annotator='en-ewt-sm')"
        >>> result, = evaluate_systems(metric, {"mine": [case]}, outputs, resampling=Resampling(10))
        >>> result.original.f.value, result.lower.f.value, result.p_crs["edits"].value
        (1.0, 0.0, 0.0)
    """
    bound = bind_one(metric)
    compared = bound.metric
    if not isinstance(compared, EditOverlap):
        raise InputError(
            f"{bound.label} does not compare edits; the robustness of systems is measured with errant, m2 "
            "and similar metrics."
        )
    sets = arrange_cases(parts, occurrences)
    pairs = {name: [pair for case in cases for pair in case.pairs] for name, cases in parts.items()}
    for system, outputs in systems.items():
        for name, expected in pairs.items():
            sources = [pair.source for pair in expected]
            check_lengths((name, sources), (f"{system} on {name}", outputs.get(name, ())))
    all_pairs = list(chain.from_iterable(pairs.values()))
    references = References.from_texts([pair.target for pair in all_pairs])
    statistics = bound.statistics(
        [pair.source for pair in all_pairs],
        {
            system: [text for name in parts for text in outputs[name]]
            for system, outputs in systems.items()
        },
        references,
    )
    names = {"metric": bound.label, "signature": bound.signature(references)}
    return [
        _evaluate(compared, rows, cases, bootstrap, system=system, **names)
        for cases in sets
        for bootstrap in [Bootstrap(len(cases.sizes), resampling)]
        for system, rows in statistics.items()
    ]


def _evaluate(
    metric: EditOverlap,
    statistics: Statistics,
    cases: CaseSet,
    bootstrap: Bootstrap,
    /,
    **names: str,
) -> SystemRobustness:
    """Evaluate one system on one set of cases, from its statistics of the sentences of all sets."""
    # Each sentence has one reference, its target.
    counts, real = metric.counts(statistics)[..., 0][..., cases.rows], cases.real
    upper, upper_f, best = _performance(metric, counts, real, bootstrap)
    lower, lower_f, worst = _performance(metric, counts, real, bootstrap, worst=True)
    original, *_ = _performance(metric, counts[..., :1], real[:, :1], bootstrap)
    consistent = {
        rule: (result[cases.rows[:, 1:]] == result[cases.rows[:, :1]]) & real[:, 1:]
        for rule, result in _results(metric, statistics).items()
    }
    agreeing = {rule: same.sum(axis=1) for rule, same in consistent.items()}
    variants = cases.sizes - 1
    return SystemRobustness(
        cases=cases.name,
        count=len(cases.sizes),
        variants=int(variants.sum()),
        original=original,
        upper=upper,
        lower=lower,
        delta=bootstrap.estimate(upper.f.value - lower.f.value, upper_f - lower_f),
        crs={
            "official": bootstrap.share(best == worst),
            "edits": bootstrap.share(agreeing["edits"] == variants),
        },
        # The official command averages over cases; the paper's formula is over variants.
        p_crs={
            "official": bootstrap.mean_share(agreeing["official"], variants),
            "edits": bootstrap.share(agreeing["edits"], variants),
        },
        groups=tuple(_groups(metric, counts, consistent, cases, bootstrap)),
        **names,
    )


def _groups(
    metric: EditOverlap,
    counts: Floats,
    consistent: Mapping[Consistency, npt.NDArray[np.bool_]],
    cases: CaseSet,
    bootstrap: Bootstrap,
) -> Iterator[VariantGroup]:
    """Yield the results by kind of variant."""

    def f_alone(counts: Floats) -> float:
        """Return F of sentences of which each stands alone, from counts (3, 1, M, 1)."""
        choice = metric.choose(counts, np.ones(counts.shape[-2:], dtype=bool))
        return float(choice.figures[metric.score_name][0])

    for kind, members in cases.groups.items():
        numbers, places = np.array(members).T
        yield VariantGroup(
            *kind,
            count=len(members),
            consistent={
                rule: bootstrap.share_of_rows(same[numbers, places - 1], numbers)
                for rule, same in consistent.items()
            },
            f=f_alone(counts[..., numbers, places, None]),
            original_f=f_alone(counts[..., numbers, :1]),
        )


def _results(
    metric: EditOverlap, statistics: Statistics
) -> dict[Consistency, npt.NDArray[np.generic]]:
    """Return one value per sentence for each rule; two sentences are consistent if their values are equal."""
    numbers: dict[frozenset[tuple[tuple[str, str], int]], int] = {}
    corrections = []
    for record in statistics.records:
        made = Counter((edit["original"], edit["correction"]) for edit in record[0]["edits"])
        corrections.append(numbers.setdefault(frozenset(made.items()), len(numbers)))
    scores = np.round(metric.sentence_scores(statistics), 4)
    return {"official": scores, "edits": np.array(corrections)}


def _performance(
    metric: EditOverlap,
    counts: Floats,
    real: npt.NDArray[np.bool_],
    bootstrap: Bootstrap,
    *,
    worst: bool = False,
) -> tuple[Performance, Floats, Indices]:
    """Return the performance on the best, or worst, sentence of each case, F on resamples, and the choices.

    Counts are float (3, 1, C, R). `real`, bool (C, R), says which sentences a case has. Choices are int (C,).
    """
    resampled = metric.resample(lambda _: counts, real, bootstrap.samples, worst=worst)
    choice = metric.choose(counts, real, worst=worst)
    precision, recall, f = (
        bootstrap.estimate(float(value[0]), resampled[name])
        for name, value in choice.figures.items()
    )
    return Performance(precision, recall, f), resampled[metric.score_name], choice.references[0]
