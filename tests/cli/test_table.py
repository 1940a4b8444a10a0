"""Tables on a terminal of 80 columns: whole lines, nothing lost; files by suffix; LaTeX as papers have it."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from embedded import SAMPLE_FOLDER
from hypothesis import given
from hypothesis import strategies as st

from learnedgec.cli.main import main
from learnedgec.cli.table import Layout, Strong, format_table
from learnedgec.formats.rows import cell

SYSTEMS = str(SAMPLE_FOLDER / "systems")
INPUT = [
    *("--src", str(SAMPLE_FOLDER / "source.txt"), "--hyp", SYSTEMS),
    *("--gold", str(SAMPLE_FOLDER / "gold.m2"), "--quiet"),
]
LONG = "m2(beta=2.0, ignore_whitespace_casing=True)"
METRICS = ["--metric", "gleu(iterations=5)", "green", "m2", LONG, "length", "edit-count"]
ROBUST = [str(SAMPLE_FOLDER / "robust" / "system.txt"), "--metric", "m2", "--resamples", "9"]
HONEST = ["--resamples", "9", "--hyp", f"{SYSTEMS}/strong.txt"]
BASELINE = ["--baseline", f"{SYSTEMS}/weak.txt", "--resamples", "99"]

Terminal = Callable[..., str]


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return a function that runs a command on a terminal of 80 columns and returns what it prints."""

    def call(*words: str, columns: int = 80) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        assert main(list(words)) == 0
        return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)

    return call


@pytest.mark.parametrize(
    "words",
    [
        ["score", *INPUT, *METRICS],
        ["score", *INPUT, "--metric", "gleu(iterations=5)"],
        ["score", *INPUT, "--metric", "m2", LONG, "--by", "category"],
        ["score", *INPUT, *METRICS, "--level", "sentence"],
        ["rank", *INPUT, *METRICS, "--resamples", "9"],
        ["rank", *INPUT, "--metric", LONG, "--resamples", "9", "--show", "wins"],
        ["compare", *INPUT, *BASELINE, *METRICS],
        ["meta", "--benchmark", "sample", "--metric", LONG, "--resamples", "9"],
        ["meta", "--benchmark", "sample", "--metric", LONG, "--resamples", "9", "--show", "scores"],
        ["robust", "systems", "--case", "sample", "--hyp", *ROBUST],
        ["robust", "systems", "--case", "sample", "--hyp", *ROBUST, "--show", "variants"],
        ["robust", "metrics", "--case", "sample", "--metric", LONG, "length", "--resamples", "9"],
        ["robust", "attack", "--attack", f"{SYSTEMS}/weak.txt", *INPUT, "--metric", LONG, *HONEST],
        ["data", "list"],
        ["metrics"],
    ],
    ids=lambda words: " ".join(
        word for word in words if "/" not in word and not word.startswith("--")
    )[:60],
)
@pytest.mark.filterwarnings("ignore:the spaCy package")
def test_no_line_is_longer_than_the_terminal(words: list[str], terminal: Terminal) -> None:
    lines = terminal(*words).splitlines()
    assert len(lines) > 2
    assert [line for line in lines if len(line) > 80] == []


def test_evaluators_have_a_narrow_table_and_all_columns_on_demand(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", "checkpoints")
    lines = terminal("evaluators").splitlines()
    assert lines[0].split() == ["evaluator", "heads", "where"]
    assert "joint-mpnet-3" in " ".join(lines)
    assert max(map(len, lines)) <= 80
    columns = ["evaluator", "heads", "encoder", "trained", "on", "licence", "where"]
    assert terminal("evaluators", "--wide").splitlines()[0].split() == columns
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert main(["evaluators"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) < 160
    assert main(["data", "list", "--format", "csv"]) == 0
    assert "licence" in next(csv.reader([capsys.readouterr().out.splitlines()[0]]))


def test_long_names_are_short_with_a_legend_and_whole_where_there_is_room(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["score", *INPUT, *METRICS]
    lines = terminal(*words).splitlines()
    assert lines[0].split() == ["system", "gleu", "green", "m2", "m2#2", "length", "edit-count"]
    assert lines[-2:] == [" gleu: gleu(iterations=5)", f" m2#2: {LONG}"]
    assert LONG in terminal(*words, "--wide").splitlines()[0]
    assert LONG in terminal(*words, columns=200).splitlines()[0]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert main(words) == 0
    assert LONG in capsys.readouterr().out.splitlines()[0]


def test_a_meta_evaluation_has_headings_and_parts(terminal: Terminal) -> None:
    words = ["--benchmark", "sample", "--metric", "green", "--resamples", "9"]
    lines = terminal("meta", *words, "--human", "EW", "fluency").splitlines()
    headings = [line for line in lines if line.startswith("benchmark")]
    assert headings == [
        "benchmark sample, human EW, systems 4, comparisons 313",
        "benchmark sample, human fluency, systems 5, comparisons 313, outputs 360",
    ]
    # Two parts and three, each of which begins with the metric's name.
    assert sum(line.split()[:1] == ["edit-count"] for line in lines) == 5


words = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=12)
names = st.lists(words, min_size=1, max_size=3).map("_".join)
values = st.one_of(words, st.integers(0, 10**6), st.floats(-5, 5), st.none())


@given(
    st.lists(names, min_size=1, max_size=9, unique=True).flatmap(
        lambda columns: st.lists(
            st.fixed_dictionaries({"system": words} | dict.fromkeys(columns, values)),
            min_size=1,
            max_size=4,
        )
    ),
    st.integers(40, 120),
)
def test_a_folded_table_fits_and_loses_nothing(rows: list[dict[str, object]], width: int) -> None:
    text = format_table(rows, Layout(), width)
    assert max(map(len, text.splitlines())) <= width
    shown = text.split()
    for row in rows:
        assert all(cell(value) in shown for value in row.values() if value is not None)
    letters = "".join(shown)
    assert all(part in letters for row in rows for name in row for part in name.split("_"))


def test_prose_is_folded_at_words_and_values_may_be_bold() -> None:
    rows = [{"metric": "m2", "about": "F over edits " * 6, "F": Strong(0.5)}]
    lines = format_table(rows, Layout(prose=["about"]), 40, colour=True).splitlines()
    assert len(lines) > 4
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines) <= 40
    assert "\x1b[1m0.5000\x1b[0m" in lines[2]
    assert " ".join(lines).count("over") == 6


@pytest.mark.parametrize(
    ("suffix", "words", "start"),
    [
        (".json", [], "{\n"),
        (".csv", [], "system,metric,score,"),
        (".tsv", [], "system\tmetric\tscore\t"),
        (".tex", [], "% \\usepackage{booktabs}\n"),
        (".txt", [], " system     "),
        (".json", ["--format", "csv"], "system,metric,score,"),
    ],
)
def test_the_suffix_says_the_format(
    suffix: str, words: list[str], start: str, tmp_path: Path
) -> None:
    place = tmp_path / f"scores{suffix}"
    assert main(["score", *INPUT, "--metric", "length", "--out", str(place), *words]) == 0
    text = place.read_text(encoding="utf-8")
    assert text.startswith(start)
    if start == "{\n":
        assert len(json.loads(text)["scores"]) == 4


def test_latex_of_a_ranking_has_intervals_a_caption_and_the_best_in_bold(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--metric", "gleu(iterations=5)", "--resamples", "200", "--format", "latex"]
    assert main(["rank", *INPUT, *words]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[3:6] == [
        r"  \begin{tabular}{lrlrlr}",
        r"    \toprule",
        r"    system & score & 95\% interval & cluster & ranks & beats \\",
    ]
    bold = re.findall(r"^    (\w+) & \\textbf\{[\d.]+\} & \[[\d.]+, [\d.]+\] & ", out, re.MULTILINE)
    assert bold == ["strong"]
    assert r"\caption{Systems by gleu, with 95\% bootstrap intervals. Bold: the best" in out


def test_latex_of_a_comparison_has_the_baseline_and_mathematics(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--baseline", f"{SYSTEMS}/strong.txt", "--resamples", "9", "--metric", "green"]
    assert main(["compare", *INPUT, *words, "--format", "latex"]) == 0
    out = capsys.readouterr().out
    assert r"system & score & $\Delta$ & interval & p & win/tie/loss \\" in out
    assert re.search(r"eager & \\textbf\{0\.6879\} & \$-\$0\.2554 & \[\$-\$", out)
    assert r"\textbf{0.9433} & -- & -- & -- & --" in out
    assert (
        "p: of the difference from strong, after Holm's correction for 3 tests. Each interval is for a "
        "single difference, without that correction: if it excludes 0 but p is not below 0.05, the "
        "difference is not significant after the correction. Bold: the best" in out
    )
    assert "from it, after Holm's correction for 3 tests against the best. All by paired" in out


@pytest.mark.parametrize("command", [["rank"], ["compare", *BASELINE]])
def test_no_score_of_a_sentinel_is_the_best(
    command: list[str], capsys: pytest.CaptureFixture[str], terminal: Terminal
) -> None:
    words = [*command, *INPUT, "--resamples", "200", "--metric", "length(unit='char')"]
    assert main([*words, "--format", "latex"]) == 0
    out = capsys.readouterr().out
    assert r"\textbf" not in out
    assert "Bold" not in out
    assert main([*words, "green", "--format", "latex"]) == 0
    out = capsys.readouterr().out
    bold = [line for line in out.splitlines() if r"\textbf" in line]
    assert bold
    assert all(line.startswith("    green ") for line in bold)
    assert "Bold: the best score" in out
    assert "None for the sentinels (length(unit='char'))." in out


@pytest.mark.parametrize("command", [["rank"], ["score"], ["compare", *BASELINE]])
def test_latex_has_short_names_and_the_whole_ones_in_a_note(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["length(unit='char')", "length"]
    resamples = [] if command == ["score"] else ["--resamples", "200"]
    assert main([*command, *INPUT, "--metric", *names, *resamples, "--format", "latex"]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if names[0] in line and line[0] != "%"] == [
        r"  \par\smallskip{\footnotesize length: \texttt{length(unit='char')}}"
    ]
    assert r"  \par\smallskip{\footnotesize length\#2: \texttt{length}}" in out
    assert r"by length, length\#2" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["rank", "--resamples", "100"],
            "With 100 resamples, no p-value of 6 comparisons can be below 0.059 after Holm's correction, so "
            "no difference can be significant: give 120 or more, or no number for enough.",
        ),
        (["rank", "--resamples", "120"], ""),
        (["compare", "--baseline", f"{SYSTEMS}/weak.txt", "--resamples", "59"], "give 60 or more"),
        (["compare", "--baseline", f"{SYSTEMS}/weak.txt", "--resamples", "60"], ""),
    ],
)
def test_too_few_resamples_are_told(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, *INPUT, "--metric", "length", "--quiet"]) == 0
    err = capsys.readouterr().err
    assert message in err
    assert ("no difference can be significant" in err) is bool(message)


@pytest.mark.parametrize("command", [["score"], ["rank"], ["compare", *BASELINE[:2]]])
def test_files_for_people_have_the_signature(command: list[str], tmp_path: Path) -> None:
    words = [*command, *INPUT, "--metric", "length", "edit-count"]
    for suffix, mark in ((".txt", ""), (".tex", "% ")):
        place = tmp_path / f"result{suffix}"
        assert main([*words, "--out", str(place)]) == 0
        lines = place.read_text(encoding="utf-8").splitlines()
        for name in ("length(unit='word')|", "edit-count(unit='word')|"):
            assert sum(line.startswith(mark + name) for line in lines) == 1
    csv = tmp_path / "result.csv"
    assert main([*words, "--out", str(csv)]) == 0
    assert "signature" in csv.read_text(encoding="utf-8").splitlines()[0].split(",")


def test_a_pipe_is_as_wide_as_columns_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["score", *INPUT, *METRICS]
    monkeypatch.setenv("COLUMNS", "80")
    assert main(words) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
    monkeypatch.delenv("COLUMNS")
    assert main(words) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) > 80
