from __future__ import annotations

import bz2
from pathlib import Path

import datasets
import pyarrow
import pyarrow.parquet
import pytest

from learnedgec.data.catalog import Rating, load_ratings
from learnedgec.data.catalog.patches import apply_patch
from learnedgec.errors import DataError, FormatError, InputError


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def test_csv_has_a_column_per_dimension_and_groups_by_source(tmp_path: Path) -> None:
    file = write(
        tmp_path / "mine.csv",
        "source,hypothesis,grammaticality,fluency,system\r\n"
        # A row of empty cells has no rating.
        'A b .,"A, b .",3.5,2,one\r\nA b .,,1,,two\r\nA b .,c,,,two\r\n',
    )
    assert load_ratings(str(file)) == [
        Rating("A b .", "A, b .", {"grammaticality": 3.5, "fluency": 2.0}, "one", "A b ."),
        Rating("A b .", "", {"grammaticality": 1.0}, "two", "A b ."),
    ]


def test_tsv_without_source_groups_by_hypothesis(tmp_path: Path) -> None:
    file = write(tmp_path / "mine.tsv", "hypothesis\tscore\nC d .\t0\n")
    assert load_ratings(str(file)) == [Rating("", "C d .", {"score": 0.0}, group="C d .")]


def test_jsonl(tmp_path: Path) -> None:
    file = write(
        tmp_path / "mine.jsonl",
        '{"hypothesis": "C .", "source": "D .", "group": "g", "fluency": 4}\n',
    )
    assert load_ratings(str(file)) == [Rating("D .", "C .", {"fluency": 4.0}, group="g")]


RECORDS = {"source": ["A .", "B ."], "hypothesis": ["A !", "B !"], "fluency": [4.0, None]}


def test_parquet(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table(RECORDS), tmp_path / "mine.parquet")
    expected = [Rating("A .", "A !", {"fluency": 4.0}, group="A .")]
    assert load_ratings(str(tmp_path / "mine.parquet")) == expected
    pyarrow.parquet.write_table(pyarrow.table({"fluency": [1.0]}), tmp_path / "none.parquet")
    with pytest.raises(FormatError, match="no column 'hypothesis'; found fluency"):
        load_ratings(str(tmp_path / "none.parquet"))


def test_a_dataset_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str, split: str) -> datasets.Dataset:
        if split != "train":
            raise ValueError(f"Unknown split {split!r}.\nMore.")
        return datasets.Dataset.from_dict(RECORDS)

    monkeypatch.setattr(datasets, "load_dataset", load)
    assert load_ratings("hf:me/mine") == [Rating("A .", "A !", {"fluency": 4.0}, group="A .")]
    with pytest.raises(
        DataError, match=r"^hf:me/mine:dev cannot be read .*\(Unknown split 'dev'.\)"
    ):
        load_ratings("hf:me/mine:dev")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "source,fluency\nA,1\n", "a.csv:1: no column 'hypothesis'"),
        ("a.csv", "hypothesis,fluency\nA,1\nB,good\n", "a.csv:3: the column 'fluency'"),
        ("a.csv", "hypothesis,fluency\nA,1,2\n", "a.csv:2: 2 columns"),
        ("a.csv", "hypothesis\nA\n", "a.csv:2: no rating"),
        ("a.csv", "hypothesis,fluency\nA,\n", "a.csv: no row has a rating"),
        ("a.csv", 'hypothesis,fluency\n"A\nB",1\n', "a.csv:3: 'hypothesis' must be one line"),
        ("a.jsonl", '{"fluency": 1}\n', "a.jsonl:1: the key 'hypothesis'"),
        ("a.parquet", "no table", "a.parquet: not a Parquet file"),
        ("a.jsonl", '{"hypothesis": "A", "fluency": [[1]]}\n', "a.jsonl:1: the column 'fluency'"),
    ],
)
def test_bad_file_names_the_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        load_ratings(str(write(tmp_path / name, text)))
    assert message in str(caught.value)


def test_folder_reads_the_rated_lines(tmp_path: Path) -> None:
    write(tmp_path / "source.txt", "A .\nB .\n")
    write(tmp_path / "systems/x.txt", "A !\nB !\n")
    write(tmp_path / "ratings.csv", "id,system,meaning\n1,x,3\n0,source,4\n")
    assert load_ratings(str(tmp_path)) == [
        Rating("B .", "B !", {"meaning": 3.0}, "x", "B ."),
        Rating("A .", "A .", {"meaning": 4.0}, "source", "A ."),
    ]


def test_a_patch_adds_copies_and_moves() -> None:
    def number(value: int) -> bytes:
        return (abs(value) | (value < 0) << 63).to_bytes(8, "little")

    # Three old bytes with 0, 1 and 0 added, "!!", five bytes back and forth, and one old byte again.
    instructions = b"".join(map(number, (3, 2, -3, 1, 0, 0)))
    blocks = [bz2.compress(block) for block in (instructions, bytes([0, 1, 0, 0]), b"!!")]
    head = b"BSDIFF40" + number(len(blocks[0])) + number(len(blocks[1])) + number(6)
    assert apply_patch(b"abcd", head + b"".join(blocks)) == b"acc!!a"


@pytest.mark.parametrize("row", ["2,x,3", "-1,x,3", "one,x,3", "0,y,3"])
def test_folder_with_a_row_that_points_nowhere(tmp_path: Path, row: str) -> None:
    write(tmp_path / "source.txt", "A .\nB .\n")
    write(tmp_path / "systems/x.txt", "A !\nB !\n")
    with pytest.raises(InputError):
        load_ratings(str(write(tmp_path / "ratings.csv", f"id,system,meaning\n{row}\n").parent))
