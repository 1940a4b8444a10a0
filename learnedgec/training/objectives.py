"""Training objectives by name: the loss of a head, the data that it learns from, and its measure.

Other packages add objectives under the entry point group `learnedgec.objectives` (name -> `module:Class`). A
configuration also accepts the import path of a class in the current folder, such as `mymodule.MyObjective`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar, Literal

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, softplus
from torchmetrics import MeanMetric, Metric, PearsonCorrCoef

from learnedgec.errors import ConfigError
from learnedgec.evaluators.inference import CAPITAL, UNMARKED
from learnedgec.runtime.plugins import Registry, import_class
from learnedgec.training.examples import Example, Examples


@dataclass
class HeadOptions:
    """Training options of one head.

    Attributes:
        input: the `hypothesis` alone or the `pair` (source, hypothesis).
        objective: `regression` on ratings; on ranked pairs `sigmoid` (IMPARA's loss) or `logistic`, which
            learn only the order, or `difference`, which also learns their margins; `detection` of the wrong
            words in ranked pairs; the `capitals` of the better texts, for encoders that do not see case; or
            the import path of an `Objective`, such as `mymodule.MyObjective`.
        margin: required difference between the better and the worse text of a ranked pair, in the head's
            units; not for `difference`, where each pair has its own.
        weight: weight of its loss in the sum.
        layer: for `detection` and `capitals`, the encoder's layer whose states are read, counted from 1; by
            default the last. States of lower layers depend more on the word and less on its context.
    """

    input: Literal["hypothesis", "pair"] = "hypothesis"
    objective: str = "regression"
    margin: float = 0.0
    weight: float = 1.0
    layer: int | None = None


@dataclass
class Targets:
    """The targets of one head in a batch with M texts that are the head's input.

    Attributes:
        ratings: (M,), NaN where unrated.
        pairs: (P, 2), the rows of the better and the worse text of each ranked pair.
        margins: (P,), the margins of the pairs.
        cases: (C, 4), rows of each case: correction and source of the original, then those of its variant.
        details: (M, D), the `Objective.details` of each text's example, NaN beyond their end.
        wrong: (M, T), 1 for a token of a wrong word, NaN where unknown; for objectives that read tokens.
        capitals: (M, T), the marks of `evaluators.capitals`; for objectives that read capitals.
        aligned: (K, 2, 2), row and column of each token of a case's original source, and of the same token in
            its variant; for objectives that read tokens.
    """

    ratings: torch.Tensor
    pairs: torch.Tensor
    margins: torch.Tensor
    cases: torch.Tensor
    details: torch.Tensor | None = None
    wrong: torch.Tensor | None = None
    capitals: torch.Tensor | None = None
    aligned: torch.Tensor | None = None


class Objective(torch.nn.Module, ABC):
    """The objective of a head: a loss, a measure on the dev part, and what both need of the data.

    Parameters of an objective are trained with the model; they do not belong to the package.

    Attributes:
        reads: the encoder's states that the head reads, as in `HeadConfig`. The loss gets the value of each
            text, (M,), or, where the head does not read pooled states, the logit of each token, (M, T).
        rated: whether the head learns from ratings, so that its values agree with them; otherwise it learns
            from ranked pairs, and the better text gets the higher value.
        margin: the head's option.
        scale: the unit of the head's values, 1 or the scale that `standardise` returned; a loss divided by it
            does not depend on the unit of the ratings.
    """

    reads: ClassVar[Literal["pooled", "tokens", "capitals"]] = "pooled"
    rated: ClassVar[bool] = False

    def __init__(self, margin: float = 0.0) -> None:
        super().__init__()
        self.margin = margin
        self.scale = 1.0

    def recorded_as(self, name: str) -> str:
        """Return the objective that a manifest names: `regression` for every one that learns from ratings."""
        return "regression" if self.rated else name

    @abstractmethod
    def terms(self, values: torch.Tensor, targets: Targets) -> torch.Tensor:
        """Return the terms whose mean is the loss, one for each rating, pair or token that is learned from.

        Args:
            values: the head's values, (M,), or logits, (M, T), in any precision.
            targets: the targets of the same texts.
        """

    def standardise(self, head: str, examples: Examples) -> tuple[float, float] | None:
        """Return the offset and the scale that turn a head's output into the units of its training examples.

        The head's values are `offset + scale · output`; `None`, the default, leaves the output as it is.
        In training, the attribute `scale` is the returned scale.

        Args:
            head: its name.
            examples: the training examples; `examples.numbers["ratings", head]` are the ratings that the head
                learns from, and `examples.numbers["pairs", head]` the margins of its pairs.

        Raises:
            ConfigError: the examples lack what the objective needs.
        """
        return None

    def details(self, head: str, example: Example) -> Sequence[float]:
        """Return numbers of an example that `terms` gets as `Targets.details`; none by default."""
        return ()

    def loss(self, values: torch.Tensor, targets: Targets) -> torch.Tensor:
        """Return the mean of the terms, 0 if there are none."""
        terms = self.terms(values, targets)
        # The sum of nothing is 0 and keeps the graph; the mean would not be a number.
        return terms.sum() / max(len(terms), 1)

    @property
    def measure(self) -> Literal["pearson", "accuracy"]:
        """The name of its measure on the dev part."""
        return "pearson" if self.rated else "accuracy"

    def new_measure(self) -> Metric:
        """Return the measure, which collects what `update` gives it."""
        return PearsonCorrCoef() if self.measure == "pearson" else MeanMetric()

    def update(self, measure: Metric, values: torch.Tensor, targets: Targets) -> None:
        """Give the measure the head's values with the ratings, or whether pairs are in order.

        Args:
            measure: the measure from `new_measure`.
            values: the head's values, (M,).
            targets: the ratings and pairs of the same texts.
        """
        if self.rated:
            known = ~targets.ratings.isnan()
            if known.any():
                measure.update(values[known].float(), targets.ratings[known])
        elif len(targets.pairs):
            high, low = values[targets.pairs].unbind(dim=1)
            measure.update((high > low).float())


class Regression(Objective):
    """The squared error on standardised ratings."""

    rated = True

    def terms(self, values: torch.Tensor, targets: Targets) -> torch.Tensor:
        """Return ((value − rating) / scale)² for each rating."""
        rated = ~targets.ratings.isnan()
        return ((values[rated] - targets.ratings[rated]) / self.scale).square()

    def standardise(self, head: str, examples: Examples) -> tuple[float, float] | None:
        """Return the mean and the standard deviation of the ratings."""
        ratings = examples.numbers["ratings", head]
        if len(ratings) < 2:
            rated = ", ".join(sorted({name for example in examples for name in example.values}))
            raise ConfigError(
                f"model.heads.{head}: the training data rates {rated or 'nothing'}, not {head!r}; name a "
                "rated dimension or add data for it."
            )
        if np.ptp(ratings) == 0:
            raise ConfigError(
                f"model.heads.{head}: all {len(ratings)} training ratings of {head} are {ratings[0]:g}, so "
                "that there is nothing to learn; give ratings that differ, or leave the head out."
            )
        return float(np.mean(ratings)), float(np.std(ratings))


class Order(Objective):
    """An objective for the order of pairs: its terms are a function of low − high + margin."""

    def deficits(self, values: torch.Tensor, targets: Targets) -> torch.Tensor:
        """Return low − high + margin for each ranked pair and for both contexts of each case."""
        pairs = torch.cat((targets.pairs, targets.cases.view(-1, 2)))
        high, low = values[pairs].float().unbind(dim=1)
        return low - high + self.margin


class Sigmoid(Order):
    """IMPARA's loss: σ(low − high + margin) (Maeda et al. 2022, equation 2, with margin 0)."""

    def terms(self, values: torch.Tensor, targets: Targets) -> torch.Tensor:
        """Return the sigmoid of each pair's deficit."""
        return self.deficits(values, targets).sigmoid()


class Logistic(Order):
    """The cross entropy log(1 + exp(low − high + margin)): the likelihood of the Bradley-Terry model."""

    def terms(self, values: torch.Tensor, targets: Targets) -> torch.Tensor:
        """Return the softplus of each pair's deficit."""
        return softplus(self.deficits(values, targets))


class Difference(Objective):
    """The squared error ((high − low − m)/s)², where m is the pair's own margin.

    s is the root mean square of all margins that the head is trained on, so that its values have their units.
    """

    def terms(self, values: torch.Tensor, targets: Targets) -> torch.Tensor:
        """Return the squared error of each pair's difference."""
        high, low = values[targets.pairs].float().unbind(dim=1)
        return ((high - low - targets.margins) / self.scale).square()

    def standardise(self, head: str, examples: Examples) -> tuple[float, float] | None:
        """Return 0 and the root mean square of the margins, 1 where all are 0."""
        margins = examples.numbers["pairs", head]
        return 0.0, math.sqrt(fmean(m**2 for m in margins or (1.0,))) or 1.0


class Detection(Objective):
    """The binary cross entropy of whether each token is part of a wrong word, if the correct text is known.

    The head's value is the log-probability that no token is wrong, so the head also ranks. It learns from
    corrections and sources of cases, too, in both contexts.
    """

    reads = "tokens"

    def terms(self, values: torch.Tensor, targets: Targets) -> torch.Tensor:
        """Return the cross entropy of each token whose label is known."""
        assert targets.wrong is not None
        labelled = ~targets.wrong.isnan()
        return binary_cross_entropy_with_logits(
            values[labelled].float(), targets.wrong[labelled], reduction="none"
        )

    def standardise(self, head: str, examples: Examples) -> tuple[float, float] | None:
        """Check that a pair has a correct text, or that words are labelled."""
        if not any(
            (example.correct or example.kind == "labelled") and head in example.heads
            for example in examples
        ):
            raise ConfigError(
                f"model.heads.{head}: no pair of data.pairs.{head} has a correct text, so there is no wrong "
                "word to detect; use pairs made from corrections, or files of pairs with `correct`."
            )
        return None


class Capitals(Objective):
    """The binary cross entropy of whether each word of the better text begins with a capital.

    An uncased encoder does not see capitals, so the head learns which words need one. Its value is the
    log-probability of the capitals that a text has.
    """

    reads = "capitals"

    def terms(self, values: torch.Tensor, targets: Targets) -> torch.Tensor:
        """Return the cross entropy of the first token of each word."""
        assert targets.capitals is not None
        better = targets.pairs[:, 0]
        marks = targets.capitals[better]
        marked = marks != UNMARKED
        capital = (marks[marked] == CAPITAL).float()
        return binary_cross_entropy_with_logits(
            values[better][marked].float(), capital, reduction="none"
        )


def measurable_heads(objectives: Mapping[str, Objective], examples: Examples) -> set[str]:
    """Return the heads whose measure exists on some examples: their ratings differ, or there are pairs."""
    numbers = examples.numbers
    return {
        head
        for head, goal in objectives.items()
        if (len(set(numbers["ratings", head])) > 1 if goal.rated else numbers["pairs", head])
    }


OBJECTIVES: Mapping[str, type[Objective]] = {
    "regression": Regression,
    "sigmoid": Sigmoid,
    "logistic": Logistic,
    "difference": Difference,
    "detection": Detection,
    "capitals": Capitals,
}


REGISTRY: Registry[type[Objective]] = Registry(
    "training objective",
    "learnedgec.objectives",
    OBJECTIVES,
    lambda plugin: plugin.load_class(Objective),  # type: ignore[type-abstract]
    hint="The import path of a class is also accepted.",
)


def find_objective(name: str) -> type[Objective]:
    """Return the objective with a name or an import path, `module.Class` or `module:Class`.

    Raises:
        UnknownNameError, PluginError: as for `Registry.find`.
        BadNameError: the import path leads to no objective.

    Example:
        >>> find_objective("sigmoid") is find_objective("learnedgec.training.objectives.Sigmoid")
        True
    """
    if name in REGISTRY or not ("." in name or ":" in name):
        return REGISTRY.find(name)
    path = name if ":" in name else ":".join(name.rsplit(".", 1))
    return import_class(path, Objective)  # type: ignore[type-abstract]
