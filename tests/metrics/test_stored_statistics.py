"""Statistics on disk: same numbers, only what is new is computed, damage and races do no harm."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from learnedgec.data.references import References
from learnedgec.errors import OutputError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.notices import InputWarning, warn_of_inputs
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats


@dataclass(frozen=True)
class Counting(Metric):
    """Counts the rows that it is asked to compute."""

    name: ClassVar[str] = "counting"
    needs_references: ClassVar[bool] = False
    scale: float = 1.0
    rows: ClassVar[list[str]] = []

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        self.rows.extend(hypotheses)
        lengths = np.array([self.scale * len(text) for text in hypotheses])
        return Statistics({"length": lengths}, tuple({"text": text} for text in hypotheses))

    def sentence_scores(self, statistics: Statistics) -> Floats:
        return statistics["length"]


@pytest.fixture
def rows() -> list[str]:
    Counting.rows.clear()
    return Counting.rows


def test_second_run_computes_only_new_systems(tmp_path: Path, rows: list[str]) -> None:
    runtime = Runtime(cache_dir=str(tmp_path))
    sources = ["a", "b"]
    first = Counting().statistics_of_systems(sources, {"x": ["u", "vv"]}, runtime=runtime)
    assert rows == ["u", "vv"]
    systems = {"y": ["www", "vv"], "x": ["u", "vv"]}
    second = Counting().statistics_of_systems(sources, systems, runtime=runtime)
    assert rows == ["u", "vv", "www", "vv"]
    assert list(second) == ["y", "x"]
    assert second["x"]["length"] == pytest.approx(first["x"]["length"])
    assert second["x"].records == first["x"].records
    assert second["y"]["length"] == pytest.approx([3.0, 2.0])


def test_other_parameters_sources_or_none_compute_anew(tmp_path: Path, rows: list[str]) -> None:
    runtime = Runtime(cache_dir=str(tmp_path))
    Counting().statistics(["a"], ["u"], runtime=runtime)
    assert Counting(scale=2.0).statistics(["a"], ["u"], runtime=runtime)["length"] == (
        pytest.approx([2.0])
    )
    Counting().statistics(["b"], ["u"], runtime=runtime)
    Counting().statistics(["a"], ["u"])
    assert len(rows) == 4


@dataclass(frozen=True)
class Replaced(Metric):
    """Scores with a number in a file, which another takes the place of while it scores."""

    name: ClassVar[str] = "replaced"
    needs_references: ClassVar[bool] = False
    file: str = ""
    following: ClassVar[list[str]] = []

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        factor = float(Path(self.file).read_text())
        if self.following:
            Path(self.file).write_text(self.following.pop())
        return Statistics({"length": np.array([factor * len(text) for text in hypotheses])})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        return statistics["length"]

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        return {"number": Path(self.file).read_text()}


def test_nothing_is_kept_under_the_name_of_a_model_that_was_replaced(tmp_path: Path) -> None:
    runtime = Runtime(cache_dir=str(tmp_path / "cache"))
    model = tmp_path / "model"
    metric = Replaced(str(model))

    def scores(**systems: str) -> dict[str, float]:
        found = metric.score_systems(
            ["a"], {name: [text] for name, text in systems.items()}, runtime=runtime
        )
        return {name: score.value for name, score in found.items()}

    model.write_text("1")
    assert scores(x="u") == {"x": pytest.approx(1.0)}
    # One system is kept, and the other's model replaced while it is scored: both are of the new one.
    Replaced.following.append("10")
    assert scores(x="u", y="vv") == {"x": pytest.approx(10.0), "y": pytest.approx(20.0)}
    for number, factor in {"1": 1.0, "10": 10.0}.items():
        model.write_text(number)
        assert scores(x="u", y="vv") == {
            "x": pytest.approx(factor),
            "y": pytest.approx(2 * factor),
        }


def test_references_are_part_of_the_key(tmp_path: Path) -> None:
    from learnedgec.metrics.registry import load_metric

    runtime = Runtime(cache_dir=str(tmp_path))
    gleu = load_metric("gleu(iterations=1)")
    scores = [
        gleu.score(
            ["A b c d ."], ["A b e d ."], References.from_texts([text]), runtime=runtime
        ).value
        for text in ("A b e d .", "A x c d .", "A b e d .")
    ]
    assert scores[0] == scores[2] != scores[1]


def test_damaged_entries_are_computed_again(tmp_path: Path, rows: list[str]) -> None:
    runtime = Runtime(cache_dir=str(tmp_path))
    Counting().statistics(["a"], ["u"], runtime=runtime)
    (tmp_path / "store.sqlite").write_bytes(b"torn")
    for _ in range(2):
        statistics = Counting().statistics(["a"], ["u"], runtime=runtime)
        assert statistics["length"] == pytest.approx([1.0])
        assert len(rows) == 2


def test_a_place_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(OutputError):
        Counting().statistics(["a"], ["u"], runtime=Runtime(cache_dir=str(blocked)))


@dataclass(frozen=True)
class Cautious(Counting):
    """Warns of each input that is too long in the same words."""

    name: ClassVar[str] = "cautious"

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        for _ in hypotheses:
            warn_of_inputs(InputWarning("an input is too long."))
        return super().compute(sources, hypotheses, references, runtime)


def notices(systems: dict[str, list[str]], folder: Path) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Cautious().score_systems(["a"], systems, runtime=Runtime(cache_dir=str(folder)))
    return [str(each.message) for each in caught]


def test_a_notice_of_stored_and_of_new_statistics_is_given_once(tmp_path: Path) -> None:
    assert notices({"x": ["u"]}, tmp_path) == ["an input is too long."]
    assert notices({"x": ["u"], "y": ["v"]}, tmp_path) == ["an input is too long."]
    assert notices({"x": ["u"], "y": ["v"]}, tmp_path) == [
        "when cached statistics were computed, an input is too long."
    ]
