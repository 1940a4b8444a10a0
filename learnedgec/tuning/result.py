"""The result of a tuning: the tuned metric, its gain, and what to say about it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import optuna

from learnedgec._version import __version__
from learnedgec.data.tables import as_html, plain
from learnedgec.metrics.base import Metric
from learnedgec.metrics.ensemble import about_scale
from learnedgec.metrics.tuned import TunedMetric
from learnedgec.scoring import count_shared
from learnedgec.stats.resampling import Estimate
from learnedgec.tuning.search import Comparison, Fold, Task, TriedMetric
from learnedgec.tuning.space import Space


@dataclass(frozen=True, repr=False)
class TuningResult:
    """A tuned metric with its gain, and the search that found it.

    Attributes:
        task: what was tuned on which data.
        candidates: `tuned`, the best metric, of equals the one tried first, so the given metric if none is
            better; `given`, the metric before tuning; and `uniform`, the metric with equal weights, if
            weights were tuned.
        trials: every finished trial by number.
        folds: the same search on parts of the judgements, each evaluated on the others.
        gain: the gain over the given metric on the held-out judgements of the folds; without an interval if
            they are too few or no resample differs.
        held_out_sentences: the number of held-out sentences whose judgements count.
        judgements: how many judgements of the benchmark count, in words.
        caveats: sentences about the benchmark as tuning data.
        space: the ranges of the tuned parameters.
        signature: the signature of the tuned metric.
        sentences: hashes of the tuning data's sentences, as `tuned_on` returns them.
        comparisons: benchmark -> the results of the tuned metric and of the other candidates there.

    Example: `tune("ensemble(gleu=0.5, length=0.5)", "mine").metric.score(sources, hypotheses, references)`
    """

    task: Task
    candidates: Mapping[str, TriedMetric]
    trials: Sequence[TriedMetric]
    folds: Sequence[Fold]
    gain: Estimate
    held_out_sentences: int
    judgements: str
    caveats: Sequence[str]
    space: Space
    signature: str
    sentences: frozenset[bytes]
    comparisons: Mapping[str, Sequence[Comparison]]

    @property
    def name(self) -> str:
        """The name under which every command and `load_metric` find the tuned metric in `checkpoints`."""
        return self.task.name

    @property
    def file(self) -> Path | None:
        """The file of the tuned metric; `None` if it was not written."""
        return self.task.file

    @property
    def best(self) -> TriedMetric:
        """The tuned metric with its parameters and its value on the tuning data."""
        return self.candidates["tuned"]

    @property
    def metric(self) -> Metric:
        """The tuned metric."""
        return self.best.metric

    @property
    def history(self) -> list[dict[str, Any]]:
        """The number, value and parameters of each trial."""
        return [
            {"number": trial.number, "value": trial.value, **trial.parameters}
            for trial in self.trials
        ]

    @property
    def held_out(self) -> tuple[float, float]:
        """The mean and the standard deviation of the folds' held-out values; NaN without folds."""
        return _mean_and_deviation([fold.held_out for fold in self.folds])

    @property
    def given_held_out(self) -> tuple[float, float]:
        """The mean and the standard deviation of the given metric's values on the same judgements."""
        return _mean_and_deviation([fold.given for fold in self.folds])

    @cached_property
    def shared(self) -> dict[str, int]:
        """Benchmark -> number of its sentences that are among the tuning data."""
        tested = {self.task.benchmark.name: self.task.benchmark, **self.task.others}
        return {
            name: count_shared(self.sentences, benchmark.sources)
            for name, benchmark in tested.items()
        }

    @property
    def record(self) -> TunedMetric:
        """The content of the tuned metric's file."""
        task, (held_out, deviation) = self.task, self.held_out
        given_held_out, given_deviation = self.given_held_out
        study = {
            "benchmark": task.benchmark.name,
            "objective": task.goal.objective,
            "aggregation": task.goal.aggregation,
            "human": task.goal.human_on(task.benchmark),
            "sampler": "tpe",
            "seed": task.plan.seed,
            "space": {parameter: str(range_) for parameter, range_ in self.space.ranges.items()},
            "validation": task.plan.validation,
            "signature": self.signature,
            "value": self.best.value,
            "parameters": self.best.parameters,
            "references": {
                label: {"value": candidate.value, "parameters": candidate.parameters}
                for label, candidate in self.candidates.items()
                if label != "tuned"
            },
            "held_out": held_out,
            "held_out_deviation": deviation,
            "given_held_out": given_held_out,
            "given_held_out_deviation": given_deviation,
            "gain": asdict(self.gain),
            "folds": [asdict(fold) for fold in self.folds],
            "comparisons": {
                name: [asdict(row) for row in rows] for name, rows in self.comparisons.items()
            },
            "sentences": sorted(key.hex() for key in self.sentences),
            "versions": {"learnedgec": __version__, "optuna": optuna.__version__},
            "trials": [
                {"number": trial.number, "value": trial.value, "parameters": trial.parameters}
                for trial in self.trials
            ],
        }
        return TunedMetric(str(self.metric), plain(study), task.tuned_on_test)

    @property
    def conclusions(self) -> list[str]:
        """Sentences about the expected gain of the tuned metric and the scale of its scores.

        The gain is that on other data, if it was compared on sentences that had no part in the search.
        """
        name, plan = self.task.benchmark.name, self.task.plan
        what = "the tuned metric's gain over the given one is"
        count, needed = self.held_out_sentences, plan.sentences_needed
        gains = []
        if unseen := [other for other in self.comparisons if not self.shared[other]]:
            for other in unseen:
                gain = self._gain_on(other)
                follows = "" if gain.low > 0 else f": expect no gain on data like {other}"
                gains.append(
                    f"On {other}, which had no part in the search, {what} {gain_cell(gain)}{follows}."
                )
        elif plan.validation != "none" and count < needed:
            gains.append(
                f"The judgements of {name} are too few to tell whether the tuned metric is better: {count} "
                f"held-out sentences have judgements that count, and {needed} are needed."
            )
        elif plan.validation != "none":
            elsewhere = f" on data like {name}" if self.comparisons else ""
            follows = "" if self.gain.low > 0 else f": expect no gain{elsewhere}"
            gains.append(
                f"On held-out judgements of {name}, {what} {gain_cell(self.gain)}{follows}."
            )
        return [*gains, *about_scale(self.name, self.metric)]

    def _gain_on(self, benchmark: str) -> Estimate:
        """Return the gain over the given metric on a benchmark of `comparisons`."""
        return next(row.gain for row in self.comparisons[benchmark] if row.label == "given")

    @property
    def notices(self) -> list[str]:
        """Caveats about the result, one sentence each."""
        notices = [f"{self.task.benchmark.name}: {caveat}" for caveat in self.caveats]
        if self.task.tuned_on_test:
            notices.append(
                f"{self.name} was tuned on test data: its held-out folds are sound evidence there, its other "
                "results are not."
            )
        return notices

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per metric and benchmark: value, held-out value or interval, gain, parameters."""
        held_out = {"tuned": self.held_out, "given": self.given_held_out}
        rows: list[dict[str, Any]] = []
        for label, candidate in self.candidates.items():
            mean, deviation = held_out.get(label, (None, None))
            row: dict[str, Any] = {"benchmark": self.task.benchmark.name, "metric": label}
            row |= {"value": candidate.value, "held_out": mean, "held_out_deviation": deviation}
            gain = _gain_columns(self.gain) if label == "given" else {}
            rows.append({**row, **gain, **candidate.parameters})
        for benchmark, comparisons in self.comparisons.items():
            for comparison in comparisons:
                row = {"benchmark": benchmark, "metric": comparison.label}
                rows.append({**row, **asdict(comparison.value), **_gain_columns(comparison.gain)})
        return [
            {"name": self.name, **row, "tuned_here": self.shared[row["benchmark"]]} for row in rows
        ]

    def __repr__(self) -> str:
        task, held_out, given = self.task, self.held_out[0], self.given_held_out[0]
        lines = [
            f"{self.name}: {self.metric.label}",
            f"  {task.goal.objective} on held-out judgements of {task.benchmark.name}: "
            f"{held_out:.4f}, given metric {given:.4f}, gain {gain_cell(self.gain)}",
        ]
        for benchmark, comparisons in self.comparisons.items():
            value = {comparison.label: comparison.value.value for comparison in comparisons}
            lines.append(
                f"  on {benchmark}: {value['tuned']:.4f}, given metric {value['given']:.4f}, gain "
                f"{gain_cell(self._gain_on(benchmark))}"
            )
        return "\n".join([*lines, *(f"  {sentence}" for sentence in self.conclusions)])

    def _repr_html_(self) -> str:
        return as_html(
            self.rows(), caption=self.name, note=" ".join([*self.conclusions, *self.notices])
        )


def gain_cell(gain: Estimate) -> str:
    """Return a gain with its interval, if it has one, in brackets."""
    bounds = "" if math.isnan(gain.low) else f" [{gain.low:+.4f}, {gain.high:+.4f}]"
    return f"{gain.value:+.4f}{bounds}"


def _gain_columns(gain: Estimate) -> dict[str, float]:
    return {"gain": gain.value, "gain_low": gain.low, "gain_high": gain.high}


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    values = [value for value in values if not math.isnan(value)]
    return (float(np.mean(values)), float(np.std(values))) if values else (math.nan, math.nan)
