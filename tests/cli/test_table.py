"""Tables on a terminal, files by suffix, and LaTeX as papers have it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from learnedgec.cli.output import notice
from learnedgec.table import Column, For, Table

INPUT = "--src embedded/source.txt --hyp embedded/systems --quiet"
LONG = "m2(beta=2.0, ignore_whitespace_casing=True)"


@pytest.fixture
def terminal(run: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Return a function that runs a command on a terminal and returns the lines it prints."""

    def call(command: str, *words: str, columns: int = 80) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        return re.sub(r"\x1b\[[0-9;]*m", "", run(command, *words).out).splitlines()

    return call


def test_long_names_are_short_with_a_legend_and_whole_where_there_is_room(terminal: Any) -> None:
    metrics = ["gleu(iterations=5)", "green", "m2", LONG, "length", "edit-count"]
    command = f"score {INPUT} --gold embedded/gold.m2 --metric"
    lines = terminal(command, *metrics)
    assert lines[0].split() == ["system", "gleu", "green", "m2", "m2#2", "length", "edit-count"]
    assert lines[-5:-3] == [" gleu: gleu(iterations=5)", f" m2#2: {LONG}"]
    # The sentence below is as narrow, and on a wide terminal at most 100 columns wide.
    assert max(map(len, lines)) <= 80
    assert LONG in terminal(command, *metrics, "--wide")[0]
    assert LONG in terminal(command, *metrics, columns=200)[0]


def test_no_table_is_wider_than_asked_for() -> None:
    rows = [
        {"metric": name, **{f"long_name_{n}": f"0.{n}00 [-1.00, 1.00]" for n in range(9)}}
        for name in ("gleu", "m2")
    ]
    lines = Table.of(rows).text(60).splitlines()
    assert max(map(len, lines)) <= 60
    assert sum(line.startswith(" gleu") for line in lines) > 1
    text = " ".join(" ".join(lines).split())
    assert text.count("[-1.00, 1.00]") == 2 * 9
    for number in range(9):
        assert text.count(f"0.{number}00") == 2
    assert Table.of(rows).text().count("\n") == 4


def test_letters_that_take_two_columns_keep_the_table_in_order() -> None:
    rows = [{"first": "系统 一", "n": 1, "name": "a 系统"}, {"first": "m2", "n": 2, "name": "é"}]
    assert Table.of(rows).text().splitlines() == [
        " first     n   name",
        " ────────────────────",
        " 系统 一   1   a 系统",
        " m2        2   é",
    ]
    assert Table.of(rows).text(16).splitlines() == [
        " first  n  name",
        " ──────────────",
        " 系统   1  a",
        " 一        系统",
        " m2     2  é",
    ]


def test_programs_get_a_row_for_each_value_and_readers_see_values_side_by_side() -> None:
    columns = [
        Column("system"),
        Column("metric", audience=For.DATA),
        Column("score", lambda row: row["metric"]),
        Column("rank", lambda row: f"rank by {row['metric']}" if row["metric"] == "m2" else None),
        Column("note"),
    ]
    rows = [
        {"system": system, "metric": metric, "score": score, "rank": 1, "note": f"about {system}"}
        for system, metric, score in (("a", "m2", 0.5), ("b", "m2", 0.25), ("a", "gleu", 1.0))
    ]
    table = Table(columns, rows, totals=[{"system": "sum", "metric": "gleu", "score": 2.0}])
    assert table.records() == rows
    assert table.separated().splitlines()[1:] == [
        "a,m2,0.5,1,about a",
        "b,m2,0.25,1,about b",
        "a,gleu,1.0,1,about a",
    ]
    assert len(table.to_frame()) == 3
    assert table.text().splitlines() == [
        " system       m2   rank by m2     gleu   note",
        " ───────────────────────────────────────────────",
        " a        0.5000            1   1.0000   about a",
        " b        0.2500            1            about b",
        " sum                            2.0000",
    ]
    assert table.records(table.totals) == [{"system": "sum", "metric": "gleu", "score": 2.0}]


@pytest.mark.parametrize(
    ("words", "start"),
    [
        ("--out scores.json", "{\n"),
        ("--out scores.csv", "system,metric,score,"),
        ("--out scores.tsv", "system\tmetric\tscore\t"),
        ("--out scores.tex", "% \\usepackage{booktabs}\n"),
        ("--out scores.txt", " system     "),
        ("--out scores.json --format csv", "system,metric,score,"),
    ],
)
def test_the_suffix_says_the_format(run: Any, words: str, start: str) -> None:
    run(f"score {INPUT} --metric length {words}")
    text = Path(words.split()[1]).read_text(encoding="utf-8")
    assert text.startswith(start)
    if start == "{\n":
        assert len(json.loads(text)["rows"]) == 4


@pytest.mark.parametrize("command", ["score", "rank", "compare --baseline weak"])
def test_files_for_people_have_the_signature(run: Any, command: str) -> None:
    for name, mark in (("result.txt", ""), ("result.tex", "% ")):
        run(f"{command} {INPUT} --metric length edit-count --out {name}")
        lines = Path(name).read_text(encoding="utf-8").splitlines()
        for metric in ("length(unit='word')|", "edit-count(unit='word')|"):
            assert sum(line.startswith(mark + metric) for line in lines) == 1


@pytest.mark.parametrize("terminal", [True, False])
def test_notices_are_wrapped_on_a_terminal_alone(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("COLUMNS", "20")
    notice("one two three four five six")
    lines = capsys.readouterr().err.splitlines()
    assert lines == (
        ["one two three four", "five six"] if terminal else ["one two three four five six"]
    )
