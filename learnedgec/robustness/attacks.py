"""Outputs made to fool a metric, and how often a metric prefers them to honest outputs.

An attack's output scores high and corrects little; a metric that can be trusted prefers a system's
output for the same sentence. The catalog has outputs against SOME, IMPARA, Scribendi and LLM-S for
CoNLL-2014 and the development set of BEA-2019. They are for reports only: CoNLL-2014 is never trained on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from learnedgec.data.catalog.outputs import load_outputs
from learnedgec.data.references import References
from learnedgec.errors import InputError
from learnedgec.metrics.inputs import as_inputs
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import AnyMetric, bind, score_metrics
from learnedgec.stats.outcomes import outcomes
from learnedgec.stats.resampling import Bootstrap, Estimate

ALL = "all"
# Entries of the collection that are not outputs of systems.
_NO_SYSTEMS = ("INPUT", "REF-F", "REF-M")


@dataclass(frozen=True, slots=True)
class AttackResult:
    """One metric, one attack, and one honest system, or all of them.

    Attributes:
        metric: its label.
        attack: the name of the attack.
        honest: the name of the system, or `all`.
        count: number of pairs of outputs.
        preferred: the share of them in which the attack scores higher.
        ties: the share in which both have the same score, for the same text or not.
        attack_score: the attack's corpus score.
        honest_score: the system's corpus score; for `all`, the mean.
        rank: the rank of the attack among all honest systems and itself, by corpus score; equal scores share
            a rank.
        signature: of the metric.
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
    sources: Sequence[str],
    attacks: Mapping[str, Sequence[str]],
    honest: Mapping[str, Sequence[str]],
    references: References | None = None,
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    runtime: Runtime = Runtime(),
) -> list[AttackResult]:
    """Compare metrics' scores of attacks with those of honest systems, sentence by sentence.

    Args:
        metric: a metric, its name, or a list of them.
        sources: N sentences.
        attacks: N outputs of each of one or more attacks.
        honest: N outputs of each of one or more honest systems.
        references: of the N sentences, for metrics that need them.
        resamples: bootstrap resamples of the sentences.
        level: of the intervals.
        seed: of the random generator.
        runtime: how to run the metrics.

    Returns:
        For each metric and attack, the results for `all` systems and then for each one.

    Raises:
        LengthError: outputs or references differ in number from the sources.
        InputError: an attack and a system share a name, or a metric needs references that are missing.

    Example:
        >>> attacks, honest = {"long": ["He go there now ."]}, {"ours": ["He goes ."]}
        >>> results = evaluate_attacks("length", ["He go ."], attacks, honest, resamples=10)
        >>> results[0].preferred.value, results[0].rank
        (1.0, 1)
    """
    if both := {*attacks, ALL} & set(honest):
        raise InputError(
            f"an honest system is named {min(both)!r}, as an attack or all systems together; rename it."
        )
    metrics = bind(metric, runtime)
    inputs = as_inputs(metrics, sources, {**attacks, **honest}, references, runtime)
    scores = score_metrics(metrics, inputs)
    bootstrap = Bootstrap(len(sources), resamples, level, seed)
    results = []
    for label, by_system in scores.items():
        values = {name: by_system[name].value for name in honest}
        for attack in attacks:
            attacked = by_system[attack]
            compared = {
                name: outcomes(attacked.sentences, by_system[name].sentences) for name in honest
            }
            mean = float(np.mean(list(values.values())))
            rank = 1 + sum(value > attacked.value for value in values.values())
            for name, rows, value in (
                (ALL, [*compared.values()], mean),
                *((name, [compared[name]], values[name]) for name in honest),
            ):
                results.append(
                    AttackResult(
                        metric=label,
                        attack=attack,
                        honest=name,
                        count=len(rows) * len(sources),
                        preferred=bootstrap.mean((np.stack(rows) > 0).mean(axis=0)),
                        ties=bootstrap.mean((np.stack(rows) == 0).mean(axis=0)),
                        attack_score=attacked.value,
                        honest_score=value,
                        rank=rank,
                        signature=attacked.signature,
                    )
                )
    return results
