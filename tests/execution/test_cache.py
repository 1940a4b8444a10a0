"""Statistics on disk: same numbers, only what is new is computed, damage and races do no harm."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from learnedgec.arrays import Floats
from learnedgec.errors import OutputError
from learnedgec.execution import cache
from learnedgec.execution.digests import key_of
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.references import References
from learnedgec.metrics.base import Metric, Statistics


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


def test_key_depends_on_texts_order_and_grouping() -> None:
    keys = [
        key_of("m", ["a", "b"], ["c"]),
        key_of("m", ["b", "a"], ["c"]),
        key_of("m", ["a"], ["b", "c"]),
        key_of("m", ["ab"], ["c"]),
        key_of("n", ["a", "b"], ["c"]),
    ]
    assert len(set(keys)) == len(keys)
    assert key_of("m", ["a", "b"], ["c"]) == keys[0]


def test_round_trip_of_arrays_and_records(tmp_path: Path) -> None:
    arrays = {"file": np.array([[1, 2]], dtype=np.int16), "names": np.array(["é", "b"])}
    cache.store(tmp_path, "ab" * 32, arrays, [{"edit": [0, 1, "x"]}, None])
    loaded = cache.load(tmp_path, "ab" * 32)
    assert loaded is not None
    found, records = loaded
    assert {name: array.tolist() for name, array in found.items()} == {
        "file": [[1, 2]],
        "names": ["é", "b"],
    }
    assert found["file"].dtype == np.int16
    assert records == [{"edit": [0, 1, "x"]}, None]
    assert cache.load(tmp_path, "cd" * 32) is None


def test_objects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="holds objects"):
        cache.store(tmp_path, "ab" * 32, {"bad": np.array([{}, []], dtype=object)})


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


@pytest.mark.parametrize("content", [b"", b"not a zip file", b"PK\x03\x04 torn"])
def test_damaged_entries_are_computed_again(
    tmp_path: Path, rows: list[str], content: bytes
) -> None:
    runtime = Runtime(cache_dir=str(tmp_path))
    Counting().statistics(["a"], ["u"], runtime=runtime)
    (entry,) = tmp_path.rglob("*.npz")
    entry.write_bytes(content)
    assert Counting().statistics(["a"], ["u"], runtime=runtime)["length"] == pytest.approx([1.0])
    assert len(rows) == 2
    assert Counting().statistics(["a"], ["u"], runtime=runtime)["length"] == pytest.approx([1.0])
    assert len(rows) == 2


def test_truncated_entries_are_computed_again(tmp_path: Path, rows: list[str]) -> None:
    runtime = Runtime(cache_dir=str(tmp_path))
    Counting().statistics(["a"], ["u"], runtime=runtime)
    (entry,) = tmp_path.rglob("*.npz")
    entry.write_bytes(entry.read_bytes()[:-40])
    Counting().statistics(["a"], ["u"], runtime=runtime)
    assert len(rows) == 2


def test_a_place_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(OutputError):
        Counting().statistics(["a"], ["u"], runtime=Runtime(cache_dir=str(blocked)))


def write_often(folder: str, value: float) -> None:
    for _ in range(30):
        cache.store(folder, "ab" * 32, {"x": np.full(1000, value)})


def test_two_processes_leave_a_whole_entry(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [
        context.Process(target=write_often, args=(str(tmp_path), value)) for value in (1.0, 2.0)
    ]
    for writer in writers:
        writer.start()
    seen = []
    while any(writer.is_alive() for writer in writers):
        loaded = cache.load(tmp_path, "ab" * 32)
        if loaded is not None:
            seen.append(loaded[0]["x"])
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    loaded = cache.load(tmp_path, "ab" * 32)
    assert loaded is not None
    for array in [*seen, loaded[0]["x"]]:
        assert array.shape == (1000,)
        assert array[0] in (1.0, 2.0)
        assert (array == array[0]).all()
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".npz"]
