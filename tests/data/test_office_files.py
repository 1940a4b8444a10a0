"""Tables as offices and programs write them: what is read of each, or the sentence that is said."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import pytest

from learnedgec.applications.corpus.reading import open_lines
from learnedgec.cli.main import main
from learnedgec.data.benchmarks.base import read_benchmark
from learnedgec.data.catalog import load_ratings
from learnedgec.data.catalog.outputs import read_pairs
from learnedgec.data.text import read_lines
from learnedgec.errors import FormatError, InputError
from learnedgec.training.pairs.judged import read_ranked_pairs

Read = Callable[[str], list[Any]]

# The rows of most files below.
GOES = ("He go .", "He goes .", {"fluency": 3.5})
HAVE = ("I has .", "I have .", {"fluency": 4.0})
ROWS = "He go .,He goes .,3.5\nI has .,I have .,4\n"
HEAD = "source,hypothesis,fluency\n"


def rated(path: str, **columns: str | list[str]) -> list[Any]:
    ratings = load_ratings(path, columns or None)
    return [(rating.source, rating.hypothesis, rating.values) for rating in ratings]


def judged(path: str) -> list[Any]:
    return [(pair.better, pair.worse, pair.margin) for pair in read_ranked_pairs(path)]


def ranked(path: str) -> list[Any]:
    return [dict(ranking.ranks) for ranking in read_pairs(path, 9)]


SEMICOLONS = "cells are separated by semicolons, not commas; 3,5 is read as 3.5."
TABS = "cells are separated by tabs, not commas."
NO_NAME = "columns that are not read: number 1 (no name)."

READ: dict[str, tuple[Read, str, bytes, list[Any], str]] = {
    "plain": (rated, "r.csv", f"{HEAD}{ROWS}".encode(), [GOES, HAVE], ""),
    "Excel's CSV UTF-8": (
        rated,
        "r.csv",
        b"\xef\xbb\xbf" + f"{HEAD}{ROWS}".replace("\n", "\r\n").encode(),
        [GOES, HAVE],
        "",
    ),
    "lines of an old Macintosh": (
        rated,
        "r.csv",
        f"{HEAD}{ROWS}".replace("\n", "\r").encode(),
        [GOES, HAVE],
        "",
    ),
    "semicolons and decimal commas": (
        rated,
        "r.csv",
        b"source;hypothesis;fluency\nHe go .;He goes .;3,5\nI has .;I have .;4\n",
        [GOES, HAVE],
        SEMICOLONS,
    ),
    "a text that looks like a number": (
        rated,
        "r.csv",
        b"source;hypothesis;fluency\n3,5;3,6;-0,5\n",
        [("3,5", "3,6", {"fluency": -0.5})],
        SEMICOLONS,
    ),
    "the separator named for Excel": (
        rated,
        "r.csv",
        b"sep=;\r\nsource;hypothesis;fluency\r\nHe go .;He goes .;3,5\r\n",
        [GOES],
        SEMICOLONS,
    ),
    "tabs in CSV": (
        rated,
        "r.csv",
        f"{HEAD}{ROWS}".replace(",", "\t").encode(),
        [GOES, HAVE],
        TABS,
    ),
    "commas in TSV": (
        rated,
        "r.tsv",
        f"{HEAD}{ROWS}".encode(),
        [GOES, HAVE],
        "separated by commas, not tabs.",
    ),
    "all cells quoted": (
        rated,
        "r.csv",
        b'"source","hypothesis","fluency"\n"He go .","He goes .","3.5"\n',
        [GOES],
        "",
    ),
    "R's table, quoted by tabs": (
        rated,
        "r.tsv",
        b'"source"\t"hypothesis"\t"fluency"\n"He go ."\t"He goes ."\t3.5\nNA\t"Yes"\t1\n',
        [GOES, ("NA", "Yes", {"fluency": 1.0})],
        "",
    ),
    "texts quoted below a plain header": (
        rated,
        "r.tsv",
        b'source\thypothesis\tfluency\n"He go ."\t"He goes ."\t3.5\n',
        [GOES],
        "",
    ),
    "doubled quotation marks": (
        rated,
        "r.tsv",
        b'hypothesis\tfluency\n"""Hi"", he says."\t1\nHi\t2\n',
        [("", '"Hi", he says.', {"fluency": 1.0}), ("", "Hi", {"fluency": 2.0})],
        "",
    ),
    "tokenised quotations": (
        rated,
        "r.tsv",
        b'source\thypothesis\tfluency\n" Hi , " he say .\t" Hi , " he says .\t1\n" Yes . "\tYes\t2\n',
        [
            ('" Hi , " he say .', '" Hi , " he says .', {"fluency": 1.0}),
            ('" Yes . "', "Yes", {"fluency": 2.0}),
        ],
        "",
    ),
    "a quotation alone in a row": (
        rated,
        "r.csv",
        b'source,hypothesis,fluency\n" Yes . "," Yes ! ",1\n',
        [('" Yes . "', '" Yes ! "', {"fluency": 1.0})],
        "",
    ),
    "quotations that tabs separate": (
        rated,
        "r.tsv",
        b'hypothesis\tfluency\n"Yes."\t1\nNo.\t2\n',
        [("", '"Yes."', {"fluency": 1.0}), ("", "No.", {"fluency": 2.0})],
        "",
    ),
    "ways to say that nothing is there": (
        rated,
        "r.csv",
        f"{HEAD}a,b,NA\na,c,n/a\na,d,\na,e,NaN\na,f, \na,g,#N/A\nHe go .,He goes .,3.5\n".encode(),
        [GOES],
        "",
    ),
    "a line feed in a comment": (
        rated,
        "r.csv",
        b'source,hypothesis,fluency,comment\nHe go .,He goes .,3.5,"good,\nthough"\n',
        [GOES],
        "",
    ),
    "empty rows of a spreadsheet": (
        judged,
        "p.csv",
        b"source,better,worse,margin\ns,x,y,2\n,,,\n\n,,,\n",
        [("x", "y", 2.0)],
        "",
    ),
    "empty columns of a spreadsheet": (
        rated,
        "r.csv",
        b"source,hypothesis,fluency,,\nHe go .,He goes .,3.5,,\n",
        [GOES],
        "columns that are not read: number 4 (no name), number 5 (no name).",
    ),
    "the index of pandas": (
        rated,
        "r.csv",
        b",source,hypothesis,fluency\n7,He go .,He goes .,3.5\n",
        [GOES],
        NO_NAME,
    ),
    "the index of pandas, read and written": (
        judged,
        "p.csv",
        b"Unnamed: 0,source,better,worse\n7,s,x,y\n",
        [("x", "y", 1.0)],
        "columns that are not read: Unnamed: 0.",
    ),
    "spaces around names": (
        rated,
        "r.csv",
        b"source , hypothesis, fluency\nHe go .,He goes .,3.5\n",
        [GOES],
        "",
    ),
    "a rating that happens to count the rows": (
        rated,
        "r.csv",
        b"hypothesis,fluency\n" + b"".join(b"a,%d\n" % row for row in range(8)),
        [("", "a", {"fluency": float(row)}) for row in range(8)],
        "",
    ),
    "compressed": (rated, "r.csv.gz", gzip.compress(f"{HEAD}{ROWS}".encode()), [GOES, HAVE], ""),
    "several raters": (
        partial(rated, fluency=["one", "two", "three"]),
        "r.csv",
        b"source,hypothesis,one,two,three\nHe go .,He goes .,3,4,NA\n",
        [GOES],
        "",
    ),
    "a blank rank": (
        judged,
        "p.jsonl",
        b'{"source": "s", "outputs": ["x", "y", "z"], "ranks": [2, 1, -1]}\n',
        [("y", "x", 1.0)],
        "",
    ),
    "a misspelt column": (
        ranked,
        "rankings.csv",
        b"id,better,worse,tei\n0,X,Y,1\n",
        [{"X": 1, "Y": 2}],
        "columns that are not read: tei.",
    ),
}


@pytest.mark.parametrize("case", READ)
def test_an_office_file_is_read(case: str, tmp_path: Path) -> None:
    read, name, content, expected, notice = READ[case]
    path = tmp_path / name
    path.write_bytes(content)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert read(str(path)) == expected
    notices = [str(warning.message) for warning in caught]
    assert len(notices) == bool(notice)
    assert all(text.startswith(str(path)) and text.endswith(notice) for text in notices)


DUPLICATE = ":1: 3 columns are named 'fluency'; give each a name of its own."
SHEET = " is a workbook of a spreadsheet; save the sheet as 'CSV UTF-8'"

REFUSED: dict[str, tuple[Read, str, bytes, str]] = {
    "columns of one name": (
        rated,
        "r.csv",
        b"source,hypothesis,fluency,fluency,fluency\na,b,1,2,4\n",
        DUPLICATE,
    ),
    "columns of one name in pairs": (
        judged,
        "p.csv",
        b"source,better,worse,worse\na,b,c,d\n",
        ":1: 2 columns are named 'worse'",
    ),
    "columns of one name in rankings": (
        ranked,
        "p.csv",
        b"id,better,worse,tie,tie\n0,X,Y,0,1\n",
        ":1: 2 columns are named 'tie'",
    ),
    "keys of one name": (
        rated,
        "r.jsonl",
        b'{"hypothesis": "a", "fluency": 1, "fluency": 2}\n',
        ":1: JSON that cannot be read (2 keys",
    ),
    "other names": (
        rated,
        "r.csv",
        b"Satz;Korrektur;Note\na;b;1\n",
        ":1: no column 'hypothesis'; found Satz, Korrektur, Note. Rename a column, or say what it is called",
    ),
    "a workbook": (rated, "r.xlsx", b"PK\x03\x04", SHEET),
    "a workbook of pairs": (judged, "p.ods", b"PK\x03\x04", SHEET),
    "a workbook of sentences": (read_lines, "hyp.XLSX", b"PK\x03\x04", SHEET),
    "Excel's Unicode text": (
        rated,
        "r.txt",
        HEAD.replace(",", "\t").encode("utf-16"),
        ":1: not UTF-8 (byte 0xff); convert the file",
    ),
    "Excel's CSV of Western Europe": (
        rated,
        "r.csv",
        f"{HEAD}Er ging über,Er,3\n".encode("cp1252"),
        ":2: not UTF-8 (byte 0xfc); convert the",
    ),
    "decimal commas between tabs": (
        rated,
        "r.tsv",
        b"hypothesis\tfluency\na\t3,5\n",
        ":2: the column 'fluency' must hold a number, not '3,5'",
    ),
    "a word for a number": (
        rated,
        "r.csv",
        b"hypothesis;fluency\na;3,5\nb;gut\n",
        ":3: the column 'fluency' must hold a number, not 'gut'",
    ),
    "a line feed in a sentence": (
        rated,
        "r.csv",
        b'hypothesis,fluency\na,1\n"He\r\ngoes",1\n',
        ":3: 'hypothesis' must be one line",
    ),
    "a mark that is not closed": (
        rated,
        "r.csv",
        b'source,hypothesis,fluency\na,b,1\n"Hi, he say,Hi,1\nc,d,2\n',
        ":3: a quotation mark breaks the rules of CSV",
    ),
    "a cell that is too long": (
        rated,
        "r.csv",
        b"hypothesis,fluency\nb,2\n" + b"a" * 131_073 + b",1\n",
        ":3: a cell has more than 131,072 characters; split it, or look for a quotation mark",
    ),
    "an array of JSON": (
        rated,
        "r.csv",
        b'[{"hypothesis": "a", "fluency": 1}]\n',
        ":1: JSON, and a table or JSON Lines was expected; write one object on each line",
    ),
    "an array of JSON in lines": (
        rated,
        "r.jsonl",
        b'[\n{"hypothesis": "a", "fluency": 1}\n]\n',
        ":1: JSON, and a table or JSON Lines was expected; write one object on each line",
    ),
    "marks that are not doubled": (
        rated,
        "r.tsv",
        b'hypothesis\tfluency\n"He said "hi"."\t1\n"Yes"\t2\n',
        ":2: a quotation mark breaks the rules of CSV",
    ),
    "a comma in a sentence": (
        rated,
        "r.csv",
        b"source,hypothesis,fluency\nYes, he go,Yes,1\n",
        ":2: 3 columns were expected, as in the",
    ),
    "a column that counts the rows": (
        rated,
        "r.csv",
        b"nr,hypothesis,fluency\n" + b"".join(b"%d,a,3\n" % row for row in range(1, 8)),
        ": the column 'nr' counts the rows, so it is no rating",
    ),
    "ranks from 0": (
        judged,
        "p.jsonl",
        b'{"source": "s", "outputs": ["x", "y"], "ranks": [0, 1]}\n',
        ":1: the column 'ranks' must hold a rank of at least 1, not '0'",
    ),
    "a rating that is a rank": (
        rated,
        "r.csv",
        b"hypothesis,rank\na,1\nb,-2\n",
        ":3: the column 'rank' must hold a rank of at least 1",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.filterwarnings("ignore:.*cells are separated by semicolons")
def test_an_office_file_is_refused_in_one_sentence(case: str, tmp_path: Path) -> None:
    read, name, content, message = REFUSED[case]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(str(path))
    assert str(caught.value).startswith(f"{path}{message}")


def test_the_ratings_of_a_benchmark_follow_the_same_rules(tmp_path: Path) -> None:
    (tmp_path / "source.txt").write_text("a\nb\n")
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems/x.txt").write_text("c\nd\n")
    (tmp_path / "ratings.csv").write_text(";id;system;q\n0;0;x;3,5\n1;1;x;NA\n")
    (tmp_path / "scores.csv").write_text(",system,EW\n0,x,0.5\n")
    with pytest.warns() as caught:
        benchmark = read_benchmark(tmp_path)
    assert [str(warning.message).rpartition("/")[2] for warning in caught] == [
        f"ratings.csv: {SEMICOLONS}",
        f"ratings.csv:1: {NO_NAME}",
        f"scores.csv:1: {NO_NAME}",
    ]
    assert benchmark.ratings["q"]["x"] == pytest.approx([3.5, float("nan")], nan_ok=True)
    assert (list(benchmark.ratings), benchmark.official) == (["q"], {"EW": {"x": 0.5}})
    (tmp_path / "ratings.csv").write_text("id,system,q,q\n0,x,1,2\n")
    with pytest.raises(FormatError, match="2 columns are named 'q'"):
        read_benchmark(tmp_path)


def test_the_index_of_pandas_in_parquet_is_no_rating(tmp_path: Path) -> None:
    record = {"hypothesis": "a", "fluency": 1.0, "__index_level_0__": 5}
    datasets.Dataset.from_list([record]).to_parquet(tmp_path / "r.parquet")
    with pytest.warns(match="columns that are not read: __index_level_0__"):
        assert rated(str(tmp_path / "r.parquet")) == [("", "a", {"fluency": 1.0})]


def test_a_workbook_is_neither_read_nor_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.txt").write_text("He go .\n")
    assert (
        main(
            ["score", "--src", "s.txt", "--hyp", "s.txt", "--metric", "length", "--out", "res.xlsx"]
        )
        == 2
    )
    assert capsys.readouterr().err == (
        "learnedgec score: res.xlsx would be a workbook, which cannot be written; name a .csv file, which "
        "spreadsheets open.\n"
    )
    assert not Path("res.xlsx").exists()
    Path("h.xlsx").write_bytes(b"PK\x03\x04")
    assert main(["score", "--src", "s.txt", "--hyp", "h.xlsx", "--metric", "length"]) == 2
    assert f"h.xlsx{SHEET}" in capsys.readouterr().err
    with (
        pytest.raises(InputError, match=r"h\.xlsx is a workbook"),
        open_lines("s.txt", {"h": "h.xlsx"}, [], 8, tmp_path),
    ):
        pass
