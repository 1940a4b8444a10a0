"""Run commands and Python examples one after the other, as a user of an installed wheel would in one folder.

A program of its own: steps come as JSON on stdin, and what became of each goes as JSON lines to the file that
is named. Commands are split and expanded by a shell, and share one process, so that models are loaded once.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import time
import traceback
from pathlib import Path


def words_of(command: str) -> list[str]:
    """Return the words of a command, as a shell in this folder makes them."""
    done = subprocess.run(
        ["sh", "-c", f"printf '%s\\0' {command}"], capture_output=True, text=True, check=True
    )
    return done.stdout.split("\0")[:-1]


def run(step: dict[str, str], names: dict[str, object]) -> int:
    """Run a step and return its exit code."""
    from learnedgec.cli.main import main

    if "python" in step:
        try:
            exec(compile(step["python"], step["place"], "exec"), names)
        except Exception:
            traceback.print_exc()
            return 1
        return 0
    try:
        return main(words_of(step["command"])[1:])
    except SystemExit as ended:
        return int(ended.code or 0)


def everything(results: Path) -> None:
    """Run all steps."""
    steps = json.load(sys.stdin)
    # A console script finds what is installed, not what is in this folder.
    sys.path.remove("")
    names: dict[str, object] = {"__name__": "example"}
    with results.open("w", encoding="utf-8") as file:
        for step in steps:
            out, err = io.StringIO(), io.StringIO()
            start = time.process_time()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = run(step, names)
            seconds = time.process_time() - start
            found = {**step, "code": code, "out": out.getvalue(), "err": err.getvalue()}
            found["seconds"] = round(seconds, 1)
            print(json.dumps(found), file=file, flush=True)


if __name__ == "__main__":
    everything(Path(sys.argv[1]))
