"""Rows on disk: what was stored comes back, what is damaged or another model's does not."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from learnedgec.errors import OutputError
from learnedgec.execution.kept import KeptRows

ROWS = {
    "a": np.array([1.0, np.pi]),
    ("a", "b"): np.array([-np.inf, 0.1]),
    "ab": np.array([3.0, 4.0]),
}


def same(found: dict[object, object], expected: dict[object, object]) -> bool:
    return found.keys() == expected.keys() and all(
        np.array_equal(found[key], expected[key])  # type: ignore[arg-type]
        for key in expected
    )


def test_rows_come_back_for_their_own_input_and_model(tmp_path: Path) -> None:
    kept = KeptRows(tmp_path, ["m", "1"], 2)
    assert kept.load(list(ROWS)) == {}
    kept.store(ROWS)
    assert same(kept.load([*ROWS, "b", ("b", "a")]), ROWS)
    assert KeptRows(tmp_path, ["m1"], 2).load(list(ROWS)) == {}
    assert KeptRows(tmp_path, ["m", "1"], 3).load(list(ROWS)) == {}
    kept.store({"a": np.array([5.0, 6.0])})
    assert kept.load(["a"])["a"].tolist() == [5.0, 6.0]


def test_more_rows_than_one_question_takes(tmp_path: Path) -> None:
    kept = KeptRows(tmp_path, ["m"], 1)
    kept.store({str(number): np.array([float(number)]) for number in range(1201)})
    found = kept.load([str(number) for number in range(1300)])
    assert {key: row.item() for key, row in found.items()} == {str(n): n for n in range(1201)}


def test_a_damaged_row_counts_as_absent(tmp_path: Path) -> None:
    kept = KeptRows(tmp_path, ["m"], 2)
    kept.store(ROWS)
    with sqlite3.connect(tmp_path / "rows.sqlite") as database:
        key, row = database.execute("SELECT key, row FROM rows").fetchone()
        changed = row[:-1] + bytes([row[-1] ^ 1])
        database.execute("UPDATE rows SET row = ? WHERE key = ?", (changed, key))
    database.close()
    assert len(kept.load(list(ROWS))) == len(ROWS) - 1
    kept.store(ROWS)
    assert same(kept.load(list(ROWS)), ROWS)


@pytest.mark.parametrize("content", [b"no database at all" * 99, b""])
def test_a_damaged_file_counts_as_absent_and_is_replaced(tmp_path: Path, content: bytes) -> None:
    kept = KeptRows(tmp_path, ["m"], 2)
    (tmp_path / "rows.sqlite").write_bytes(content)
    assert kept.load(list(ROWS)) == {}
    kept.store(ROWS)
    assert same(kept.load(list(ROWS)), ROWS)


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kept = KeptRows(tmp_path / "file", ["m"], 2)
    with pytest.raises(OutputError, match=r"the cache .*file/rows.sqlite cannot be written"):
        kept.store(ROWS)


def test_writers_share_a_file(tmp_path: Path) -> None:
    def write(number: int) -> None:
        KeptRows(tmp_path, ["m"], 1).store({f"{number} {i}": np.ones(1) for i in range(20)})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(8)))
    asked = [f"{number} {i}" for number in range(8) for i in range(20)]
    assert len(KeptRows(tmp_path, ["m"], 1).load(asked)) == 160
