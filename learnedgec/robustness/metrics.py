"""Robustness of a metric: whether it prefers corrections in every context, and to attacks.

**Cases.** Each sentence of a case has a margin, score(target) − score(source), and a preference, the sign of
the margin. A variant is consistent if it has the preference of the original. CRS is the share of cases in
which every variant is consistent. P-CRS is the share of consistent variants among all variants. A metric that
is always wrong is consistent too, so accuracy is reported as well. A metric with references gets the target
as its only reference, so the target is best by construction, and only the variation of the margin is
informative.

**Attacks.** The output of an attack scores high and corrects little; a metric that can be trusted prefers a
system's output for the same sentence. The catalog has outputs against SOME, IMPARA, Scribendi and LLM-S for
CoNLL-2014 and the development set of BEA-2019. They are for reports only: CoNLL-2014 is never trained on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from learnedgec.data.catalog.cases import Case
from learnedgec.data.catalog.outputs import load_outputs
from learnedgec.data.corpus import Corpus
from learnedgec.data.references import References
from learnedgec.errors import InputError
from learnedgec.metrics.contract import Score
from learnedgec.robustness.cases import CaseSet, Dimension, arrange_cases
from learnedgec.scoring import AnyMetric, bind, score_metrics
from learnedgec.stats.resampling import Bootstrap, Estimate, Resampling, quotient
from learnedgec.stats.significance import outcomes
from learnedgec.types import Floats, Texts

# -- preferences on cases ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PreferenceGroup:
    """A metric's preferences on the variants of one kind.

    Attributes:
        dimension: `action`, `distance`, `nearest` or `frequency`: see `learnedgec.robustness.cases`.
        group: the group within the dimension.
        count: number of variants.
        consistent: the share of variants with the preference of the original.
        accuracy: the share of variants whose target is preferred.
    """

    dimension: Dimension
    group: str
    count: int
    consistent: Estimate
    accuracy: Estimate


@dataclass(frozen=True, slots=True)
class PreferenceRobustness:
    """The robustness of one metric on one set of cases.

    Attributes:
        cases: the name of the set.
        metric: the label of the metric.
        count: number of cases.
        left_out: number of further cases that are left out because some target equals its source.
        accuracy: the share of sentences, originals and variants, whose target is preferred.
        ties: the share of sentences whose target and source have the same score; these count as wrong.
        always: the share of cases in which the target is preferred in every sentence.
        crs: the share of cases with the same preference in every sentence.
        p_crs: the share of variants with the preference of the original.
        margin: the mean margin, in the metric's units.
        spread: the mean over cases of the standard deviation of the margin within a case.
        within: the share of the margin's variance that lies within cases: 0 if context does not matter, near
            1 if context alone decides. Unlike the spread, it has no unit.
        groups: the results by kind of variant.
        signature: the signature of the metric.
    """

    cases: str
    metric: str
    count: int
    left_out: int
    accuracy: Estimate
    ties: Estimate
    always: Estimate
    crs: Estimate
    p_crs: Estimate
    margin: Estimate
    spread: Estimate
    within: Estimate
    groups: tuple[PreferenceGroup, ...]
    signature: str


def evaluate_preferences(
    metric: AnyMetric | Sequence[AnyMetric],
    parts: Mapping[str, Sequence[Case]],
    *,
    occurrences: Mapping[str, float] | None = None,
    resampling: Resampling = Resampling(),
) -> list[PreferenceRobustness]:
    """Evaluate the robustness of metrics' preferences.

    Args:
        metric: a metric, its name, or a list of them; bound ones (`learnedgec.bind`) have a runtime.
        parts: sets of cases by name; with several, their total is evaluated too. Cases in which some target
            equals its source are left out.
        occurrences: how often words occur in a text: see `arrange_cases`.
        resampling: how the cases are drawn for intervals.

    Returns:
        For each set and the total, in order, every metric's robustness.

    Raises:
        InputError: no case has targets that differ from their sources, or a case has no variants.

    Example:
        >>> from learnedgec import Resampling
        >>> from learnedgec.data.catalog import Pair
        >>> case = Case(Pair("He go .", "He goes ."), (Pair("She go .", "She goes so ."),))
        >>> result, = evaluate_preferences("length", {"mine": [case]}, resampling=Resampling(10))
        >>> result.accuracy.value, result.ties.value, result.p_crs.value
        (0.5, 0.5, 0.0)
    """
    usable = {
        name: [case for case in cases if all(p.source != p.target for p in case.pairs)]
        for name, cases in parts.items()
    }
    left_out = [len(cases) - len(usable[name]) for name, cases in parts.items()]
    sets = arrange_cases(usable, occurrences)
    pairs = [pair for cases in usable.values() for case in cases for pair in case.pairs]
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    metrics = bind(metric)
    systems, references = {"target": targets, "source": sources}, References.from_texts(targets)
    corpus = Corpus.of(sources, systems, references).tokenised(metrics[0].runtime.tokenise)
    scores = score_metrics(metrics, corpus)
    return [
        _evaluate(label, by_side["target"], by_side["source"], case_set, skipped, bootstrap)
        for case_set, skipped in zip(sets, [*left_out, sum(left_out)], strict=False)
        for bootstrap in [Bootstrap(len(case_set.sizes), resampling)]
        for label, by_side in scores.items()
    ]


def _evaluate(
    label: str, target: Score, source: Score, cases: CaseSet, left_out: int, bootstrap: Bootstrap
) -> PreferenceRobustness:
    """Evaluate one metric on one set of cases, from its scores of both sides of every pair."""
    margins = (target.sentences - source.sentences)[cases.rows]
    preferences = outcomes(target.sentences, source.sentences)[cases.rows]
    real, sizes = cases.real, cases.sizes.astype(np.float64)
    same = (preferences == preferences[:, :1]) & real
    right = (preferences > 0) & real

    def share(values: npt.NDArray[np.bool_]) -> Estimate:
        return bootstrap.share((values & real).sum(axis=1), sizes)

    means = (margins * real).sum(axis=1) / sizes
    variances = (((margins - means[:, None]) ** 2) * real).sum(axis=1) / sizes
    return PreferenceRobustness(
        cases=cases.name,
        metric=label,
        count=len(sizes),
        left_out=left_out,
        accuracy=share(right),
        ties=share(preferences == 0),
        always=bootstrap.share(right.sum(axis=1) == sizes),
        crs=bootstrap.share(same.sum(axis=1) == sizes),
        p_crs=bootstrap.share(same.sum(axis=1) - 1.0, sizes - 1),
        margin=bootstrap.ratio((margins * real).sum(axis=1), sizes),
        spread=bootstrap.mean(np.sqrt(variances)),
        within=_within(sizes, means, variances, bootstrap),
        groups=tuple(
            PreferenceGroup(
                *kind,
                count=len(members),
                consistent=bootstrap.share_of_rows(same[numbers, places], numbers),
                accuracy=bootstrap.share_of_rows(right[numbers, places], numbers),
            )
            for kind, members in cases.groups.items()
            for numbers, places in [np.array(members).T]
        ),
        signature=target.signature,
    )


def _within(sizes: Floats, means: Floats, variances: Floats, bootstrap: Bootstrap) -> Estimate:
    """Return the variance within cases as a share of the variance of all margins; sentences count alike."""
    # Deviations from the overall mean keep their precision even if the mean is large.
    centred = means - np.average(means, weights=sizes)
    columns = [sizes, sizes * centred, sizes * centred**2, sizes * variances]

    def share(count: Floats, first: Floats, second: Floats, inner: Floats) -> Floats:
        whole = inner + second - first**2 / count
        return quotient(inner, np.where(whole > 1e-12 * count, whole, 0.0))

    value = share(*(column.sum(keepdims=True) for column in columns))
    return bootstrap.estimate(float(value[0]), share(*map(bootstrap.sums, columns)))


# -- preferences for attacks ------------------------------------------------------------------------


ALL = "all"
# Entries of SEEDA that are not outputs of systems.
_NO_SYSTEMS = ("INPUT", "REF-F", "REF-M")


@dataclass(frozen=True, slots=True)
class AttackResult:
    """The comparison of an attack with one honest system, or with all of them, by one metric.

    Attributes:
        metric: the label of the metric.
        attack: the name of the attack.
        honest: the name of the system, or `all`.
        count: number of pairs of outputs.
        preferred: the share of pairs in which the attack scores higher.
        ties: the share of pairs with equal scores, whether or not the texts are equal.
        attack_score: the attack's corpus score.
        honest_score: the system's corpus score; for `all`, the mean.
        rank: the rank of the attack by corpus score when it is added to the honest systems; equal scores
            share a rank.
        signature: the signature of the metric.
    """

    metric: str
    attack: str
    honest: str
    count: int
    preferred: Estimate
    ties: Estimate
    attack_score: float
    honest_score: float
    rank: int
    signature: str


def honest_outputs() -> dict[str, tuple[str, ...]]:
    """Return the outputs of SEEDA's 12 systems for CoNLL-2014, without its input and references.

    Raises:
        DataError: the dataset is not available.
    """
    outputs = load_outputs("seeda")
    return {name: texts for name, texts in outputs.items() if name not in _NO_SYSTEMS}


def evaluate_attacks(
    metric: AnyMetric | Sequence[AnyMetric],
    sources: Texts,
    attacks: Mapping[str, Texts],
    honest: Mapping[str, Texts],
    references: References | None = None,
    *,
    resampling: Resampling = Resampling(),
) -> list[AttackResult]:
    """Compare metrics' scores of attacks and of honest systems, sentence by sentence.

    Args:
        metric: a metric, its name, or a list of them; bound ones (`learnedgec.bind`) have a runtime.
        sources: N sentences.
        attacks: N outputs of each of one or more attacks.
        honest: N outputs of each of one or more honest systems.
        references: references of the N sentences, for metrics that need them.
        resampling: how the sentences are drawn for intervals.

    Returns:
        For each metric and attack, the results for `all` systems and then for each one.

    Raises:
        LengthError: outputs or references differ in number from the sources.
        InputError: an attack and a system share a name, there is none of either, or a metric needs references
            that are missing.

    Example:
        >>> from learnedgec import Resampling
        >>> attacks, honest = {"long": ["He go there now ."]}, {"ours": ["He goes ."]}
        >>> ten = Resampling(10)
        >>> results = evaluate_attacks("length", ["He go ."], attacks, honest, resampling=ten)
        >>> results[0].preferred.value, results[0].rank
        (1.0, 1)
    """
    if not (attacks and honest):
        raise InputError("no attack or no honest system was given; give one or more of each.")
    if both := {*attacks, ALL} & set(honest):
        raise InputError(
            f"an honest system is named {min(both)!r}, as an attack or all systems together; rename it."
        )
    metrics, systems = bind(metric), {**attacks, **honest}
    tokeniser = metrics[0].runtime.tokenise
    corpus = Corpus.of(sources, systems, references).tokenised(tokeniser)
    scores = score_metrics(metrics, corpus)
    bootstrap = Bootstrap(len(sources), resampling)
    groups = {ALL: list(honest)} | {name: [name] for name in honest}
    return [
        AttackResult(
            metric=label,
            attack=attack,
            honest=group,
            count=signs.size,
            preferred=bootstrap.share((signs > 0).sum(axis=0), systems),
            ties=bootstrap.share((signs == 0).sum(axis=0), systems),
            attack_score=by_system[attack].value,
            honest_score=float(np.mean([by_system[name].value for name in names])),
            rank=1 + sum(by_system[name].value > by_system[attack].value for name in honest),
            signature=by_system[attack].signature,
        )
        for label, by_system in scores.items()
        for attack in attacks
        for group, names in groups.items()
        for signs in [_signs(by_system[attack], [by_system[name] for name in names])]
        for systems in [np.full(len(sources), len(names))]
    ]


def _signs(attacked: Score, honest: Sequence[Score]) -> Floats:
    """Return whether an attack scores above (1), as much as (0) or below (-1) each system, (S, N)."""
    return np.stack([outcomes(attacked.sentences, score.sentences) for score in honest])
