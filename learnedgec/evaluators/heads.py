"""The input, the training target and the scale of an evaluator's head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class HeadConfig:
    """One output of an evaluator.

    Attributes:
        input: the input of the encoder: the `hypothesis` alone, or the `pair` (source, hypothesis).
        offset: the head's value is `offset` + `scale` · output of the linear layer. So training uses
            standardised targets, and values have the units of the ratings.
        scale: see `offset`.
        reads: the `pooled` states, or the states of all tokens. For `tokens` the value is the logarithm of
            the probability that no token of the hypothesis is wrong, the sum over tokens of log(1 − p). For
            `capitals` it is the log-probability of the words' capitals (`capitals_likelihood`).
        layer: the encoder's layer whose states are read, counted from 1; the last one if it is `None`.
        objective: what it was trained for, as in the training configuration (`regression`, `sigmoid`, …);
            `None` in packages that do not say, and then a head with an offset counts as `regression`.
        range: the lowest and the highest rating of the scale that it was trained on; `None` for a head that
            ranks pairs, and in packages that do not say.

    Example:
        >>> HeadConfig(objective="regression", range=(0, 100)).rated, HeadConfig(offset=2.8).rated
        (True, True)
    """

    input: Literal["hypothesis", "pair"] = "hypothesis"
    offset: float = 0.0
    scale: float = 1.0
    reads: Literal["pooled", "tokens", "capitals"] = "pooled"
    layer: int | None = None
    objective: str | None = None
    range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.range is not None:
            # JSON has no tuples.
            low, high = self.range
            object.__setattr__(self, "range", (float(low), float(high)))

    @property
    def rated(self) -> bool:
        """Whether it learned from ratings rather than from ranked pairs."""
        if self.objective is None:
            # The offset of a rated head is the mean rating; a head that ranks pairs has none.
            return self.offset != 0
        return self.objective == "regression"

    @property
    def residual(self) -> bool:
        """Whether it learned what another score leaves wrong, to which its values are added."""
        return self.objective == "residual"
