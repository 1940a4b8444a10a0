"""Optional abilities of metrics, each of which a metric has if it has certain methods.

The command line checks for abilities, never for classes, so a new metric supports a flag by defining a
method:

    ShowsEdits      `score --show edits`
    CountsByType    `score --by TIER`
    Reannotates     `--reannotate`
    PlansRequests   `score --dry-run`
    LearnsWeights   `score --save-weights FILE`
    Gated           `report` marks rejected outputs
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from learnedgec.data.references import References
from learnedgec.edits.annotator import Tier
from learnedgec.metrics.base import Metric, Statistics
from learnedgec.metrics.llm import RequestPlan
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.writing import PathLike


@runtime_checkable
class ShowsEdits(Protocol):
    """A metric that can list the edits that it counted.

    Attributes:
        counted: the keys of `sentence_details` that count edits, in the order of tables.
    """

    counted: ClassVar[tuple[str, ...]]

    def edit_rows(self, statistics: Statistics) -> list[dict[str, Any]]:
        """Return one row per edit, or per chunk of the source, sentence by sentence from left to right.

        Args:
            statistics: the metric's own, which must have `records`.

        Returns:
            Rows of `sentence` (from 1), `annotator`, `edit` (`matched`; `unmatched`, only the system's;
            `missed`, only the annotator's; or `unchanged`), `start`, `end`, `original`, `correction` and
            `type` (empty if unknown). A metric that weights edits adds `weight`, and perhaps `change`, which
            is above 0 if an edit helps and below 0 if it harms. Its own columns come last.
        """


@runtime_checkable
class CountsByType(Protocol):
    """A metric that can tell error types apart."""

    def typed(self) -> Metric:
        """Return the metric with error types in its statistics, so that `by_type` works."""

    def by_type(self, statistics: Statistics, tier: Tier = "type") -> dict[str, dict[str, float]]:
        """Return numbers by name for each error type, the most frequent first."""


@runtime_checkable
class Reannotates(Protocol):
    """A metric that can extract the edits of references again, ignoring their gold edits."""

    def reannotated(self) -> Metric:
        """Return the metric that extracts the edits of references again."""


@runtime_checkable
class PlansRequests(Protocol):
    """A metric that sends requests to a language model, which cost time or money."""

    def plan(
        self,
        sources: Sequence[str],
        systems: Mapping[str, Sequence[str]],
        *,
        runtime: Runtime = Runtime(),
    ) -> RequestPlan:
        """Return the requests that scoring these systems would send, without sending them.

        Args:
            sources: N sentences.
            systems: system -> N hypotheses.
            runtime: how to run.
        """


class SavedWeights(Protocol):
    """Weights that can be written to a file."""

    def save(self, path: PathLike) -> None:
        """Write the weights atomically."""


@runtime_checkable
class LearnsWeights(Protocol):
    """A metric that learns weights from systems; saved to a file, they can be used to score other systems."""

    def learn(
        self,
        sources: Sequence[str],
        systems: Mapping[str, Sequence[str]],
        references: References,
        *,
        runtime: Runtime = Runtime(),
    ) -> SavedWeights:
        """Return the weights learned from these systems.

        Args:
            sources: N sentences.
            systems: system -> N hypotheses.
            references: references of the N sentences.
            runtime: how to run.
        """


@runtime_checkable
class Gated(Protocol):
    """A metric that gives low scores to hypotheses that are too different from their source."""

    def accepted(self, statistics: Statistics) -> npt.NDArray[np.bool_]:
        """Return which hypotheses pass the gate, bool (N,)."""
