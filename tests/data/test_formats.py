"""Files of ratings, rankings, cases, edits and records: what is read, and which line cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import datasets
import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
import pytest

from learnedgec.data.benchmarks import load_benchmark
from learnedgec.data.catalog import Case, Pair, Ranking, Rating, load_ratings
from learnedgec.data.catalog.cases import read_cases, write_cases
from learnedgec.data.catalog.outputs import read_appraise, read_pairs
from learnedgec.data.m2 import read_m2
from learnedgec.data.text import read_jsonl
from learnedgec.errors import DataError, FormatError, InputError

LABELS = ("O", "A1", "A2", "A3", "A4", "A5")
BLOCK = "".join(f"{label}-S {label} go .\n{label}-T\n" for label in LABELS)
CASE = Case(Pair("O go .", ""), tuple(Pair(f"A{n} go .", "") for n in range(1, 6)))
APPRAISE = (
    '<a><b><ranking-item src-id="12" user="u"><translation rank="2" system="T5 PIE"/>'
    '<translation system="BART" rank="1"/></ranking-item></b></a>'
)
PAIRS = "id,better,worse,tie,annotator\n"
RATED = [Rating("A .", "A !", {"fluency": 4.0}, group="A .")]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    ("read", "name", "text", "expected"),
    [
        # A row of empty cells has no rating; without a group, sources are the groups.
        (load_ratings, "a.csv", "source,hypothesis,grammaticality,fluency,system\r\n"
         'A b .,"A, b .",3.5,2,one\r\nA b .,,1,,two\r\nA b .,c,,,two\r\n',
         [Rating("A b .", "A, b .", {"grammaticality": 3.5, "fluency": 2.0}, "one", "A b ."),
          Rating("A b .", "", {"grammaticality": 1.0}, "two", "A b .")]),
        (load_ratings, "a.tsv", "hypothesis\tscore\nC d .\t0\n",
         [Rating("", "C d .", {"score": 0.0})]),
        (load_ratings, "a.jsonl", '{"hypothesis": "C .", "source": "D .", "group": "g", "fluency": 4}\n',
         [Rating("D .", "C .", {"fluency": 4.0}, group="g")]),
        (read_cases, "para.txt", f"{BLOCK}\n{BLOCK}\n", [CASE, CASE]),
        (read_cases, "para.txt", BLOCK + BLOCK, [CASE, CASE]),
        (partial(read_pairs, sentences=2), "p.csv", f"{PAIRS}1,X,Y,0,me\n0,Y,X,1,\n",
         [Ranking(1, {"X": 1, "Y": 2}, "me"), Ranking(0, {"Y": 1, "X": 1})]),
        # Systems with the same output share it.
        (partial(read_appraise, first=1), "j.xml", APPRAISE,
         [Ranking(11, {"T5": 2, "PIE": 2, "BART": 1}, "u")]),
        # A blank rank is none.
        (read_appraise, "j.xml", APPRAISE.replace('"2"', '"-1"'), [Ranking(12, {"BART": 1}, "u")]),
    ],
)  # fmt: skip
def test_what_is_read(
    tmp_path: Path, read: Callable[[str], object], name: str, text: str, expected: object
) -> None:
    assert read(str(write(tmp_path / name, text))) == expected


@pytest.mark.parametrize(
    ("read", "name", "text", "message"),
    [
        (load_ratings, "a.csv", "source,fluency\nA,1\n", "a.csv:1: no column 'hypothesis'"),
        (load_ratings, "a.csv", "hypothesis,fluency\nA,1\nB,good\n", "a.csv:3: the column 'fluency'"),
        (load_ratings, "a.csv", "hypothesis,fluency\nA,1,2\n", "a.csv:2: 2 columns"),
        (load_ratings, "a.csv", "hypothesis\nA\n", "a.csv:2: no rating"),
        (load_ratings, "a.csv", "hypothesis,fluency\nA,\n", "a.csv: no row has a rating"),
        (load_ratings, "a.csv", 'hypothesis,fluency\n"A\nB",1\n', "a.csv:2: 'hypothesis' must be one line"),
        (load_ratings, "a.jsonl", '{"fluency": 1}\n', "a.jsonl:1: no column 'hypothesis'; found fluency"),
        (load_ratings, "a.parquet", "no table", "a.parquet: not a Parquet file"),
        (load_ratings, "a.jsonl", '{"hypothesis": "A", "fluency": [[1]]}', "a.jsonl:1: the column 'fluency'"),
        (read_appraise, "j.xml", "<a>\n<b></a>", "j.xml:2: not XML"),
        (read_appraise, "j.xml", "<a/>", "no ranking-item"),
        (read_appraise, "j.xml", '<a><ranking-item user="u"/></a>', "ranking-item 1 cannot be read"),
        *(
            (read_appraise, "j.xml", APPRAISE.replace('"2"', f'"{rank}"'), f"(a rank of {rank}, and ranks")
            for rank in (0, -2)
        ),
        *(
            (partial(read_pairs, sentences=2), "p.csv", f"{PAIRS}{row}\n", "p.csv:2: ")
            for row in ("2,X,Y,0,", "-1,X,Y,0,", "0,X,X,0,", "0,X,Y,2,", "0,X,Y")
        ),
        (read_cases, "a.jsonl", '{"source": "a", "target": "b"}', "1: no column 'variants'; found source"),
        (read_cases, "a.jsonl", '{"source": "a", "target": "b", "variants": []}', "with a variant or more"),
        (read_cases, "a.jsonl", '{"source": "a", "target": "b", "variants": ["a"]}', "1: each variant must"),
        (read_cases, "a.jsonl", r'{"source": "a\n", "target": "b", "variants": [{"source": "a"}]}',
         "1: 'source' must be one line"),
        (read_cases, "a.txt", BLOCK.replace("A2-S", "A3-S"), "a.txt:5: a line starting with 'A2-S'"),
        (read_cases, "a.txt", BLOCK.replace("A5-T\n", "") + BLOCK, "a.txt:12: a line starting with 'A5-T'"),
        (read_cases, "a.txt", BLOCK[: BLOCK.index("A1-S")] + BLOCK, "a.txt:3: a line starting with 'A1-S'"),
        (read_cases, "a.txt", BLOCK.replace("A5-T\n", ""), "a.txt: the last block is incomplete"),
        (read_cases, "a.txt", "\n", "a.txt: the last block is incomplete"),
        (read_m2, "a.m2", "T a", "a.m2:1: a line starting with 'S ' or 'A '"),
        (read_m2, "a.m2", "A 0 1|||R|||x|||REQUIRED|||-NONE-|||0", "1: an 'A' line precedes the first 'S'"),
        (read_m2, "a.m2", "S a\nA 0 2|||R|||x|||REQUIRED|||-NONE-|||0", "2: the span 0 2 lies outside the 1"),
        (read_m2, "a.m2", "S a\nA 0|||R|||x|||0", "a.m2:2: an annotation line"),
        (read_m2, "a.m2", "S a\nA 0 1|||R|||x|||REQUIRED|||-NONE-|||b", "a.m2:2: an annotation line"),
        (read_m2, "a.m2", "\n", "a.m2:1: no 'S' line"),
        (read_jsonl, "a.txt", "{}\n{\n", "a.txt:2: not JSON"),
        (read_jsonl, "a.txt", "{}\n[]\n", "a.txt:2: a JSON object was expected, not list"),
        (read_jsonl, "a.txt", r'{"source": "\ud800"}', "a.txt:1: JSON that cannot be read"),
    ],
)  # fmt: skip
def test_the_line_that_cannot_be_used_is_named(
    tmp_path: Path, read: Callable[[str], object], name: str, text: str, message: str
) -> None:
    with pytest.raises(FormatError) as caught:
        read(str(write(tmp_path / name, text)))
    assert message in str(caught.value)


def test_a_ranking_keeps_the_order_of_its_file(tmp_path: Path) -> None:
    (ranking,) = read_appraise(write(tmp_path / "j.xml", APPRAISE))
    assert list(ranking.ranks) == ["T5", "PIE", "BART"]


def test_cases_are_read_as_they_were_written(tmp_path: Path) -> None:
    pair = Pair("He go “ home ” .", "He goes “ home ” .")
    cases = [Case(pair, (Pair("", "She goes ."), pair)), Case(pair, (pair,))]
    write_cases(tmp_path / "cases.jsonl.gz", cases)
    assert read_cases(tmp_path / "cases.jsonl.gz") == cases


# -- ratings in tables and folders ----------------------------------------------------------------

RECORDS = {"source": ["A .", "B ."], "hypothesis": ["A !", "B !"], "fluency": [4.0, None]}


def test_parquet(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table(RECORDS), tmp_path / "mine.parquet")
    assert load_ratings(str(tmp_path / "mine.parquet")) == RATED
    pyarrow.parquet.write_table(pyarrow.table({"fluency": [1.0]}), tmp_path / "none.parquet")
    with pytest.raises(FormatError, match="no column 'hypothesis'; found fluency"):
        load_ratings(str(tmp_path / "none.parquet"))


def test_a_dataset_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str, split: str) -> datasets.Dataset:
        if split != "train":
            raise ValueError(f"Unknown split {split!r}.\nMore.")
        return datasets.Dataset.from_dict(RECORDS)

    monkeypatch.setattr(datasets, "load_dataset", load)
    assert load_ratings("hf:me/mine") == RATED
    with pytest.raises(
        DataError, match=r"^hf:me/mine:dev cannot be read .*\(Unknown split 'dev'.\)"
    ):
        load_ratings("hf:me/mine:dev")


def test_a_folder_has_the_rated_lines(tmp_path: Path) -> None:
    write(tmp_path / "source.txt", "A .\nB .\n")
    write(tmp_path / "systems/x.txt", "A !\nB !\n")
    write(tmp_path / "ratings.csv", "id,system,meaning\n1,x,3\n0,source,4\n")
    assert load_ratings(str(tmp_path)) == [
        Rating("B .", "B !", {"meaning": 3.0}, "x", "B ."),
        Rating("A .", "A .", {"meaning": 4.0}, "source", "A ."),
    ]
    for row in ("2,x,3", "-1,x,3", "one,x,3", "0,y,3"):
        write(tmp_path / "ratings.csv", f"id,system,meaning\n{row}\n")
        with pytest.raises(InputError):
            load_ratings(str(tmp_path))


def test_a_table_is_the_same_benchmark_in_a_file_and_in_memory(tmp_path: Path) -> None:
    rows = [
        {"source": f"He go {n} .", "hypothesis": f"{text} {n} .", "system": name, "fluency": value}
        for n in range(4)
        for name, text, value in (("a", "He goes", n % 3), ("b", "He going", None if n == 1 else 1))
    ]
    pandas.DataFrame(rows).to_csv(tmp_path / "rated.csv", index=False)
    of_file = load_benchmark(str(tmp_path / "rated.csv"))
    in_memory = load_benchmark(row for row in rows)
    # An output that nobody rated is still an output.
    assert of_file.sources == in_memory.sources == tuple(f"He go {n} ." for n in range(4))
    assert of_file.systems == in_memory.systems
    for benchmark in (of_file, in_memory):
        np.testing.assert_array_equal(benchmark.ratings["fluency"]["b"], [1, np.nan, 1, 1])
    with pytest.raises(InputError, match=r"^DataFrame is empty; a table with rows was expected"):
        load_benchmark(pandas.DataFrame(rows)[:0])
    for number, row in enumerate(rows):
        row["number"] = number
    with pytest.raises(FormatError, match=r"^list: the column 'number' counts the rows"):
        load_benchmark(rows)
