"""What commands that score systems share: metrics and inputs, their statistics, rows of scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jsonargparse import ArgumentParser, Namespace

from learnedgec.applications.corpus.scoring import CorpusScore
from learnedgec.cli.inputs import Inputs, add_input_arguments, read_inputs
from learnedgec.cli.options import add_metric_argument, read_metrics, read_runtime
from learnedgec.metrics.base import Metric
from learnedgec.metrics.labels import short_labels
from learnedgec.metrics.needs import check_metrics
from learnedgec.metrics.scores import Score
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import shared_statistics

__all__ = ["Scoring", "add_scoring_arguments", "flat_row", "read_scoring", "system_row"]


@dataclass(frozen=True, slots=True)
class Scoring:
    """Metrics, what they score, and how."""

    metrics: list[Metric]
    inputs: Inputs
    runtime: Runtime

    @property
    def labels(self) -> list[str]:
        """The metrics' labels."""
        return [metric.label for metric in self.metrics]

    @property
    def short_names(self) -> dict[str, str]:
        """A short name for each label."""
        return short_labels(self.labels)

    def statistics(self) -> Iterator[tuple[Metric, Mapping[str, Statistics]]]:
        """Yield each metric with the statistics of each system, after checking that its models are there."""
        inputs, runtime = self.inputs, self.runtime
        check_metrics(self.metrics, runtime)
        return shared_statistics(
            self.metrics,
            lambda metric: metric.statistics_of_systems(
                inputs.sources, inputs.systems, inputs.references, runtime=runtime
            ),
        )

    @property
    def signatures(self) -> dict[str, str]:
        """The signature of each metric's scores, by label."""
        references, runtime = self.inputs.references, self.runtime
        return {m.label: m.signature(references, runtime=runtime) for m in self.metrics}


def add_scoring_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that name metrics and inputs."""
    add_metric_argument(parser, reannotate=True)
    add_input_arguments(parser)


def read_scoring(options: Namespace) -> Scoring:
    """Read what the arguments name."""
    metrics, runtime = read_metrics(options), read_runtime(options)
    return Scoring(metrics, read_inputs(options, metrics), runtime)


def flat_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a metric's corpus score of a system, for programs.

    Args:
        record: `system`, `metric`, `score`, `details` and `signature`, as in JSON.
    """
    head = {name: record[name] for name in ("system", "metric", "score")}
    return {**head, **record["details"], "signature": record["signature"]}


def system_row(
    system: str,
    scores: Mapping[Metric, Mapping[str, Score | CorpusScore]],
    *,
    everything: bool,
) -> dict[str, Any]:
    """Return a row of a system with a column for each metric, for readers; details if there is one metric.

    Args:
        system: its name.
        scores: of each metric, by system.
        everything: whether details that tables leave out are shown, too.
    """
    row: dict[str, Any] = {"system": system}
    for metric, systems in scores.items():
        row[metric.label] = systems[system].value
        if len(scores) == 1:
            aside = frozenset() if everything else metric.side_details
            details = systems[system].details
            row |= {key: details[key] for key in details if key not in aside}
    return row
