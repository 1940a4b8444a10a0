"""Statistics on disk: same numbers, only what is new is computed, damage and races do no harm."""

from __future__ import annotations

import io
import multiprocessing
import tracemalloc
import zipfile
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
from learnedgec.metrics.base import Metric
from learnedgec.metrics.statistics import Statistics


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
    with pytest.raises(TypeError, match="holds object"):
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
    assert len(list(tmp_path.rglob("*.npz"))) == 1
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


def entry_of(folder: Path) -> Path:
    """Write an entry with arrays of many kinds and return its file."""
    arrays = {
        "x": np.arange(12.0).reshape(3, 4).T,
        "empty": np.zeros((0, 3), np.int8),
        "text": np.array(["a", "ü"]),
    }
    cache.store(folder, "ab" * 32, arrays, [{"a": [1, "ü"]}, None])
    (entry,) = folder.rglob("*.npz")
    return entry


def test_any_byte_may_be_damaged(tmp_path: Path) -> None:
    entry = entry_of(tmp_path)
    whole = cache.load(tmp_path, "ab" * 32)
    assert whole is not None
    content = entry.read_bytes()
    absent = 0
    for place in range(len(content)):
        entry.write_bytes(content[:place] + bytes([content[place] ^ 0x15]) + content[place + 1 :])
        found = cache.load(tmp_path, "ab" * 32)
        absent += found is None
        # What nothing depends on, such as a date, may differ.
        if found is not None:
            assert found[1] == whole[1]
            assert found[0].keys() == whole[0].keys()
            for name, array in found[0].items():
                assert (array.dtype, array.shape) == (whole[0][name].dtype, whole[0][name].shape)
                assert (array == whole[0][name]).all()
    assert absent > len(content) / 2


def rewrite(entry: Path, name: str, content: bytes) -> None:
    """Replace a member of an entry, its checksum too."""
    with zipfile.ZipFile(entry) as file:
        members = {member: file.read(member) for member in file.namelist()}
    assert name in members
    with zipfile.ZipFile(entry, "w", zipfile.ZIP_DEFLATED) as file:
        for member, old in members.items():
            file.writestr(member, content if member == name else old)


def test_a_shape_beyond_the_content_takes_no_memory(tmp_path: Path) -> None:
    entry = entry_of(tmp_path)
    header = io.BytesIO()
    description = {"descr": "<f8", "fortran_order": False, "shape": (10**11,)}
    np.lib.format.write_array_header_1_0(header, description)
    rewrite(entry, "array_x.npy", header.getvalue() + bytes(8))
    tracemalloc.start()
    assert cache.load(tmp_path, "ab" * 32) is None
    assert tracemalloc.get_traced_memory()[1] < 1 << 22
    tracemalloc.stop()


def test_an_entry_is_that_of_its_key_and_table(tmp_path: Path) -> None:
    entry = entry_of(tmp_path)
    other = io.BytesIO()
    np.save(other, np.arange(11.0))
    copy = tmp_path / "cd" / entry.name
    copy.parent.mkdir()
    copy.write_bytes(entry.read_bytes())
    assert cache.load(tmp_path, "cd" + "ab" * 31) is None
    rewrite(entry, "array_x.npy", other.getvalue())
    assert cache.load(tmp_path, "ab" * 32) is None


def test_objects_are_never_read(tmp_path: Path) -> None:
    entry = entry_of(tmp_path)
    pickled = io.BytesIO()
    np.save(pickled, np.array([{}], dtype=object), allow_pickle=True)
    rewrite(entry, "array_x.npy", pickled.getvalue())
    assert cache.load(tmp_path, "ab" * 32) is None


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
