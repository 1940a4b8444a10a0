"""Statistics on disk: same numbers, only what is new is computed, damage and races do no harm."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from learnedgec.data.references import References
from learnedgec.metrics.contract import Metric, Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import bind_one
from learnedgec.types import Floats


@dataclass(frozen=True)
class Counting(Metric):
    """Counts the rows that it is asked to compute."""

    name: ClassVar[str] = "counting"
    needs_references: ClassVar[bool] = False
    scale: float = 1.0
    rows: ClassVar[list[str]] = []

    def compute(self, sources: Any, hypotheses: Any, *_: Any) -> Statistics:
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
    first = bind_one(Counting(), runtime).statistics(sources, {"x": ["u", "vv"]})
    assert rows == ["u", "vv"]
    systems = {"y": ["www", "vv"], "x": ["u", "vv"]}
    second = bind_one(Counting(), runtime).statistics(sources, systems)
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
