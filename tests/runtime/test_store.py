"""The store: what was stored comes back, what is damaged or another's does not, and races do no harm."""

from __future__ import annotations

import multiprocessing
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from learnedgec.errors import OutputError
from learnedgec.runtime.files import key_of
from learnedgec.runtime.store import RowStore, Store

KEY = key_of("a")

ARRAYS = {
    "x": np.arange(12.0).reshape(3, 4).T,
    "small": np.array([[1, 2]], dtype=np.int16),
    "file": np.zeros((0, 3), np.int8),
    "records": np.array(["a", "ü"]),
}
RECORDS = [{"edit": [0, 1, "ü"]}, None]


def check_whole(folder: Path) -> None:
    stored = Store(folder).load(KEY)
    assert stored is not None
    arrays, records = stored
    assert records == RECORDS
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        assert (arrays[name] == array).all()


def test_round_trip_of_arrays_and_records(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    assert Store(folder).load(KEY) is None
    Store(folder).save(KEY, ARRAYS, RECORDS)
    check_whole(folder)
    assert Store(folder).load(key_of("b")) is None
    with pytest.raises(TypeError, match="holds object"):
        Store(folder).save(KEY, {"bad": np.array([{}, []], dtype=object)})


def test_more_values_than_one_query_takes(tmp_path: Path) -> None:
    values = {key_of(str(number)): str(number).encode() for number in range(1201)}
    Store(tmp_path).write(values)
    assert Store(tmp_path).read([*values, key_of("absent")]) == values


def test_any_byte_may_be_damaged(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(KEY, ARRAYS, RECORDS)
    file = tmp_path / "store.sqlite"
    content = file.read_bytes()
    absent = 0
    for place in range(0, len(content), 131):
        file.write_bytes(content[:place] + bytes([content[place] ^ 0x15]) + content[place + 1 :])
        if store.load(KEY) is None:
            absent += 1
        else:
            check_whole(tmp_path)
    assert absent


@pytest.mark.parametrize("content", [b"no database at all" * 99, None])
def test_a_damaged_file_counts_as_absent_and_is_renamed(
    tmp_path: Path, content: bytes | None
) -> None:
    store, file = Store(tmp_path), tmp_path / "store.sqlite"
    for number in (1, 2):
        store.save(KEY, ARRAYS, RECORDS)
        # Without content of its own: the file, torn in the middle.
        damaged = file.read_bytes()[:3000] if content is None else content
        file.write_bytes(damaged)
        assert store.load(KEY) is None
        with pytest.warns(UserWarning, match=rf"renamed to store\.damaged-{number}\.sqlite, and a"):
            store.save(KEY, ARRAYS, RECORDS)
        check_whole(tmp_path)
        assert (tmp_path / f"store.damaged-{number}.sqlite").read_bytes() == damaged


def test_an_empty_file_is_filled(tmp_path: Path) -> None:
    (tmp_path / "store.sqlite").touch()
    Store(tmp_path).save(KEY, ARRAYS, RECORDS)
    check_whole(tmp_path)


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    store, file = Store(tmp_path), tmp_path / "store.sqlite"
    store.save(KEY, ARRAYS, RECORDS)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size, limits[1]))
    try:
        with pytest.raises(OutputError, match=r"cannot be written .*; make room"):
            store.write({key_of("b"): bytes(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    check_whole(tmp_path)
    store.write({key_of("b"): bytes(100_000)})


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "store.sqlite") as database:
        database.execute("CREATE TABLE entries (answer TEXT)")
    database.close()
    content = (tmp_path / "store.sqlite").read_bytes()
    with pytest.raises(OutputError, match="cannot be written"):
        Store(tmp_path).write({KEY: b"value"})
    assert (tmp_path / "store.sqlite").read_bytes() == content


def test_a_value_of_another_key_is_not_taken(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write({KEY: b"value"})
    with sqlite3.connect(tmp_path / "store.sqlite") as database:
        database.execute("UPDATE entries SET key = ?", (bytes.fromhex(key_of("b")),))
    database.close()
    assert store.read([key_of("b")]) == {}


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        OutputError, match=r"^the cache .*file/store\.sqlite cannot be written .*\.$"
    ):
        Store(tmp_path / "file").write({KEY: b"value"})


def write_often(folder: str, value: float) -> None:
    for _ in range(30):
        Store(folder).save(KEY, {"x": np.full(1000, value)})


def test_processes_share_a_store(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [
        context.Process(target=write_often, args=(str(tmp_path), value)) for value in (1.0, 2.0)
    ]
    for writer in writers:
        writer.start()
    values = []
    while any(writer.is_alive() for writer in writers):
        stored = Store(tmp_path).load(KEY)
        if stored is not None:
            values.append(stored[0]["x"].tolist())
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert values
    assert all(value in ([1.0] * 1000, [2.0] * 1000) for value in values)
    assert [path.name for path in tmp_path.iterdir()] == ["store.sqlite"]


def test_rows_come_back_for_their_own_input_and_model(tmp_path: Path) -> None:
    rows = {
        "a": np.array([1.0, np.pi]),
        ("a", "b"): np.array([-np.inf, 0.1]),
        "ab": np.array([3.0, 4.0]),
    }
    store = RowStore(tmp_path, ["m", "1"], 2)
    assert store.load(list(rows)) == {}
    store.save(rows)
    stored = store.load([*rows, "b", ("b", "a")])
    assert {item: row.tolist() for item, row in stored.items()} == {
        item: row.tolist() for item, row in rows.items()
    }
    assert RowStore(tmp_path, ["m1"], 2).load(list(rows)) == {}
    assert RowStore(tmp_path, ["m", "1"], 3).load(list(rows)) == {}
    store.save({"a": np.array([5.0, 6.0])})
    assert store.load(["a"])["a"].tolist() == [5.0, 6.0]
