"""The result of a training run: its package, results, history and evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from learnedgec.data.tables import read_table
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.training.evaluate import Verdict, main_figure


@dataclass(frozen=True, slots=True, repr=False)
class TrainingResult:
    """The result of a training run.

    Attributes:
        package: the evaluator's folder.
        results: part -> head -> correlations, or share of pairs in the right order.
        notices: remarks about the run, such as that it stopped early.
        warnings: about heads that predict the dev part no better than chance, or are not to be trusted.
        seed: the run's seed; of several, the one with the median dev score, which all the above is about, or
            `None` for the mean of their weights.
        seeds: seed -> results, if several were trained.
        folder: folder of the logs of the run with this seed.
        verdicts: head -> what the test part says of it.

    Example: `train(frame, output="mine", heads={"fluency": "hypothesis"}).history`: the losses of each epoch.
    """

    package: Path
    results: dict[str, Any]
    notices: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    seed: int | None = 1
    seeds: Mapping[int, dict[str, Any]] = field(default_factory=dict)
    folder: Path | None = None
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)

    @property
    def evaluator(self) -> Evaluator:
        """The trained evaluator, loaded from its package."""
        return Evaluator.load(str(self.package))

    @property
    def history(self) -> list[dict[str, float]]:
        """The values that the run logged, by step: losses, learning rates and results on the dev part.

        Empty for the mean of several runs, each of which has its own log.
        """
        return read_history(self.folder) if self.folder else []

    def __repr__(self) -> str:
        figures = (
            (part, head, *main_figure(values), values["n"])
            for part, heads in self.results.items()
            for head, values in heads.items()
        )
        lines = (
            f"  {part} {head}: {measure} {'-' if value is None else f'{value:.3f}'} (n = {number:,})"
            for part, head, measure, value, number in figures
        )
        return "\n".join([f"Evaluator in {self.package}", *lines])


def read_history(folder: Path) -> list[dict[str, float]]:
    """Return the values that a run logged, by step; a run that was continued has several files of them.

    Args:
        folder: the run's folder.
    """
    logs = sorted(
        (folder / "log").glob("version_*/metrics.csv"), key=lambda file: int(file.parent.name[8:])
    )
    logged: list[dict[str, float]] = []
    for log in reversed(logs):
        cells = (record for _, record in read_table(log))
        rows = [{name: float(cell) for name, cell in row.items() if cell} for row in cells]
        # An earlier run that did not lead to this one may have logged the same steps.
        if logged and rows and rows[0]["step"] >= logged[0]["step"]:
            break
        logged = [row for row in rows if not logged or row["step"] < logged[0]["step"]] + logged
    return logged
