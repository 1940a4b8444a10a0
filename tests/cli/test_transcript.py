"""Exact output of each command in each format, over the embedded sample."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from embedded import SAMPLE_FOLDER

from learnedgec.cli.main import main

README = Path(__file__).parents[2] / "README.md"
TRANSCRIPT = Path(__file__).with_name("transcript.txt")
COMMANDS = dict(re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", TRANSCRIPT.read_text("utf-8"), re.M))


def printed(command: str) -> str:
    """Return what a command prints, without the version in signatures; lines of stderr have `! ` before."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*shlex.split(command)])
    # A slow machine also shows progress.
    notices = [line for line in err.getvalue().splitlines() if "(h:mm:ss) left" not in line]
    notices += [f"exit code {code}"] if code else []
    text = out.getvalue() + "".join(f"! {line}\n" for line in notices)
    # The last digits depend on the processor.
    text = re.sub(r"\d+\.\d{13,}", lambda number: f"{float(number[0]):.12g}", text)
    return re.sub(r"learnedgec:[^|\s\"]+", "learnedgec:VERSION", text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the sample, in `two` its first two sentences, and in `texts` texts of every kind."""
    folder = tmp_path_factory.mktemp("sample")
    shutil.copytree(SAMPLE_FOLDER, folder, dirs_exist_ok=True)
    shutil.copytree(TRANSCRIPT.with_name("texts"), folder / "texts")
    (folder / "two").mkdir()
    for path in (*folder.glob("*.txt"), *folder.glob("systems/*.txt")):
        lines = path.read_text("utf-8").splitlines(keepends=True)
        (folder / "two" / path.name).write_text("".join(lines[:2]), "utf-8")
    blocks = (folder / "gold.m2").read_text("utf-8").split("\n\n")
    (folder / "two" / "gold.m2").write_text("\n\n".join(blocks[:2]) + "\n", "utf-8")
    return folder


@pytest.mark.parametrize("command", COMMANDS, ids=list(COMMANDS))
def test_output(
    command: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    shows: Callable[[Path, str, str], None],
) -> None:
    monkeypatch.chdir(folder)
    begin = f"$ {command}\n"
    shows(TRANSCRIPT, begin + COMMANDS[command], begin + printed(command))


def test_readme_shows_what_rank_prints(
    folder: Path, monkeypatch: pytest.MonkeyPatch, shows: Callable[[Path, str, str], None]
) -> None:
    monkeypatch.chdir(folder)
    text = README.read_text("utf-8")
    ((command, shown),) = re.findall(
        r"^    learnedgec (rank .*)\n\n```text\n([^`]*)```", text, re.M
    )
    # No shell is here to expand the pattern.
    shows(README, shown, printed(command.replace("/*.txt", "")).partition("! ")[0])
