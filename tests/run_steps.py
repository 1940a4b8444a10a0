"""Run commands and Python examples as a user of an installed wheel would.

A program of its own, which imports once what takes seconds to import. Each line on stdin is an order: a
folder, the steps to run there one after the other, and the file for their results. A process of its own
carries out each order; a line on stdout says when it has ended.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

IMPORTED = ("learnedgec.cli.main", "learnedgec.training.fit", "spacy", "scipy.stats", "rich.table")


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


def carry_out(steps: list[dict[str, str]], results: str) -> None:
    """Run the steps in this folder, and write what became of each as a line of JSON."""
    names: dict[str, object] = {"__name__": "example"}
    with Path(results).open("w", encoding="utf-8") as file:
        for step in steps:
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = run(step, names)
            result = {**step, "code": code, "out": out.getvalue(), "err": err.getvalue()}
            print(json.dumps(result), file=file, flush=True)


def main() -> None:
    """Carry out orders until stdin ends."""
    # A console script finds what is installed, not what is in this folder.
    sys.path.remove("")
    for module in IMPORTED:
        importlib.import_module(module)
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            os.chdir(order["folder"])
            carry_out(order["steps"], order["results"])
            os._exit(0)
        os.waitpid(child, 0)
        print("done", flush=True)


if __name__ == "__main__":
    main()
