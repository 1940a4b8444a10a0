"""The settings of a meta-evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field

from learnedgec.analysis.meta.agreement import Ties
from learnedgec.analysis.ranking import Aggregation
from learnedgec.errors import InputError
from learnedgec.stats.trueskill import TrueSkillModel

__all__ = ["Protocol"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """The settings of a meta-evaluation.

    Attributes:
        aggregation: how a metric's sentences become a system's score.
        ties: how a metric's tie between two outputs of a sentence counts.
        window: systems in a window of neighbours; no window analysis if there are fewer systems.
        resamples: bootstrap resamples of the sentences, and of the systems; permutations.
        level: of the intervals.
        seed: of the random generator.
        model: TrueSkill's parameters, for `aggregation="trueskill"`.
    """

    aggregation: Aggregation = "mean"
    ties: Ties = "symmetric"
    window: int = 8
    resamples: int = 1000
    level: float = 0.95
    seed: int = 0
    model: TrueSkillModel = field(default_factory=TrueSkillModel)

    def __post_init__(self) -> None:
        if self.resamples < 1 or not 0 < self.level < 1 or self.window < 2:
            raise InputError(
                f"resamples {self.resamples}, level {self.level:g}, window {self.window}: give at least "
                "one resample, a level between 0 and 1 and a window of two systems or more."
            )

    def __str__(self) -> str:
        parts = [f"aggregation:{self.aggregation}"]
        if self.aggregation == "trueskill":
            parts.append(f"model:{self.model}|order:sentences, then pairs of systems as listed")
        parts += [f"ties:{self.ties}", f"resamples:{self.resamples}"]
        return "|".join([*parts, f"level:{self.level:g}", f"seed:{self.seed}"])
