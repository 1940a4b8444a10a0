"""Exact output of each command in each format, over the embedded sample.

`PYTHONPATH=tests python tests/cli/test_transcript.py` writes `transcript.txt` anew after an intended change.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import tempfile
from pathlib import Path

import pytest
from embedded import SAMPLE_FOLDER

from learnedgec.cli.main import main
from learnedgec.data.catalog.files import CACHE_VARIABLE

TRANSCRIPT = Path(__file__).with_name("transcript.txt")
COMMANDS = dict(re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", TRANSCRIPT.read_text("utf-8"), re.M))


def copy_sample(folder: Path) -> None:
    """Copy the sample, in `two` its first two sentences, and in `texts` texts of every kind."""
    shutil.copytree(SAMPLE_FOLDER, folder, dirs_exist_ok=True)
    shutil.copytree(TRANSCRIPT.with_name("texts"), folder / "texts")
    (folder / "two").mkdir()
    for path in (*folder.glob("*.txt"), *folder.glob("systems/*.txt")):
        lines = path.read_text("utf-8").splitlines(keepends=True)
        (folder / "two" / path.name).write_text("".join(lines[:2]), "utf-8")
    blocks = (folder / "gold.m2").read_text("utf-8").split("\n\n")
    (folder / "two" / "gold.m2").write_text("\n\n".join(blocks[:2]) + "\n", "utf-8")


def printed(command: str) -> str:
    """Return what a command prints, without the version in signatures; lines of stderr have `! ` before."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*shlex.split(command)])
    # A slow machine also shows progress.
    notices = [line for line in err.getvalue().splitlines() if "(h:mm:ss) left" not in line]
    notices += [f"exit code {code}"] if code else []
    text = out.getvalue() + "".join(f"! {line}\n" for line in notices)
    return re.sub(r"learnedgec:[^|\s\"]+", "learnedgec:VERSION", text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sample")
    copy_sample(place)
    return place


@pytest.mark.parametrize("command", COMMANDS)
def test_output(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert printed(command) == COMMANDS[command]


if __name__ == "__main__":
    text = ""
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        copy_sample(Path(place))
        for number, command in enumerate(COMMANDS):
            # A notice is printed once a day.
            os.environ[CACHE_VARIABLE] = f"cache-{number}"
            text += f"$ {command}\n{printed(command)}"
    TRANSCRIPT.write_text(text, "utf-8")
