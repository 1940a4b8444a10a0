"""Flags that are made from the fields of a dataclass."""

from __future__ import annotations

from pathlib import Path

import pytest

from learnedgec.cli import tune
from learnedgec.cli.flags import read_fields, read_runtime
from learnedgec.cli.main import main
from learnedgec.data.text import write_lines
from learnedgec.runtime.runtime import Runtime
from learnedgec.tuning.objective import Goal
from learnedgec.tuning.trials import SearchPlan


def test_tune_has_the_defaults_of_its_plan_and_goal() -> None:
    options = tune.build_parser().parse_args([])
    assert read_fields(SearchPlan, options) == SearchPlan()
    assert read_fields(Goal, options) == Goal()
    assert read_runtime(options) == Runtime(progress=True)
    words = ["--validation", "none", "--storage", "s.db", "--seed", "3"]
    plan = read_fields(SearchPlan, tune.build_parser().parse_args(words))
    assert plan == SearchPlan(validation="none", storage="s.db", seed=3)


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """Return a folder with the outputs of two systems, beside what is no system's."""
    for name in ("b.txt", "a.txt", ".hidden", "README.md"):
        write_lines(tmp_path / "outputs" / name, ["He goes ."])
    (tmp_path / "outputs" / "more").mkdir()
    write_lines(tmp_path / "source.txt", ["He go ."])
    return tmp_path / "outputs"


def score(outputs: Path, *hyp: str) -> int:
    source = str(outputs.parent / "source.txt")
    words = ["--src", source, "--metric", "length", "--format", "csv", "--hyp", *hyp]
    return main(["score", *words])


def test_a_folder_stands_for_its_files(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert score(outputs, str(outputs)) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split(",")[0] for row in rows] == ["system", "a", "b"]
    words = ["--src", str(outputs.parent / "source.txt"), "--metric", "length", "--quiet"]
    baseline = ["--baseline", str(outputs / "b.txt"), "--hyp", str(outputs), "--format", "csv"]
    assert main(["compare", *words, *baseline]) == 0
    assert capsys.readouterr().out.splitlines()[1].split(",")[1:3] == ["b", "a"]
    # The baseline by its file and by its name.
    assert main(["compare", *words, "--baseline", "b", *baseline[2:]]) == 0
    assert capsys.readouterr().out.splitlines()[1].split(",")[1:3] == ["b", "a"]


def test_what_is_no_output_in_a_folder_is_named(
    outputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (outputs / "README.txt").write_text("about\n")
    assert score(outputs, str(outputs)) == 0
    out, err = capsys.readouterr()
    assert "README" not in out
    assert (
        f"{outputs}: .hidden, README.md, README.txt left out, because these are not system outputs."
        in err
    )
