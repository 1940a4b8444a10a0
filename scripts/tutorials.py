"""Run the code of tutorials, and compare what it prints with what the page shows.

    python scripts/tutorials.py docs/tutorials/*-*.md             # exit code 1 where something differs
    python scripts/tutorials.py docs/tutorials/*-*.md --update    # write what is printed into the pages
    python scripts/tutorials.py docs/tutorials/*-*.md --all       # with the cells that take minutes

A tutorial is Markdown that jupytext reads as a notebook: its `python` and `bash` blocks are the cells. A
`text` block after a cell shows what the cell prints. Numbers may differ by 0.002, or by what
`text tolerance=NUMBER` says. The cells of a page run in one process and in an empty folder. A cell after the
comment `<!-- not run (REASON) -->` runs only with --all.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

_FENCED = re.compile(
    r"(<!-- not run \([^)]+\) -->\n\n)?^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]\d+)?(?!\w)")
_TOLERANCE = 0.002


@dataclass(frozen=True)
class Cell:
    """A block of code, and the block after it that shows what it prints.

    Attributes:
        language: `python` or `bash`.
        code: its lines.
        shown: what the page shows; `None` where it shows nothing.
        place: where that is in the page's text.
        tolerance: by how much numbers may differ.
        slow: whether it runs only on request.
    """

    language: str
    code: str
    shown: str | None = None
    place: tuple[int, int] = (0, 0)
    tolerance: float = _TOLERANCE
    slow: bool = False


def read_cells(text: str) -> list[Cell]:
    """Return the cells of a page in order."""
    cells: list[Cell] = []
    for block in _FENCED.finditer(text):
        mark, language, options, content = block.groups()
        if language in ("python", "bash"):
            cells.append(Cell(language, content, slow=mark is not None))
        elif language == "text":
            match = re.search(r"tolerance=([\d.]+)", options)
            tolerance = float(match[1]) if match else _TOLERANCE
            last = cells.pop()
            cells.append(replace(last, shown=content, place=block.span(4), tolerance=tolerance))
    return cells


def run_shell(code: str) -> str:
    """Run lines of shell, and return what they print."""
    words = ["bash", "-euo", "pipefail", "-c", code]
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout


def run_cells(cells: list[Cell]) -> Iterator[str]:
    """Yield what each cell prints; the value of a last expression is printed, as in a notebook."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cells, 1):
        if cell.language == "bash":
            yield run_shell(cell.code)
            continue
        out = io.StringIO()
        tree = ast.parse(cell.code)
        last = tree.body[-1]
        value = None
        with contextlib.redirect_stdout(out):
            if isinstance(last, ast.Expr) and not cell.code.rstrip().endswith(";"):
                tree.body.pop()
                exec(compile(tree, f"<cell {number}>", "exec"), names)
                value = eval(compile(ast.Expression(last.value), f"<cell {number}>", "eval"), names)
            else:
                exec(compile(tree, f"<cell {number}>", "exec"), names)
            if value is not None:
                print(repr(value))
        yield out.getvalue()


def same(shown: str, printed: str, tolerance: float) -> bool:
    """Return whether two outputs have the same words, and numbers that differ by no more than `tolerance`."""
    words = [" ".join(_NUMBER.sub("#", text).split()) for text in (shown, printed)]
    numbers = [[float(number) for number in _NUMBER.findall(text)] for text in (shown, printed)]
    return words[0] == words[1] and all(
        math.isclose(a, b, rel_tol=0, abs_tol=tolerance) for a, b in zip(*numbers, strict=True)
    )


def run_page(path: Path, *, update: bool, everything: bool) -> bool:
    """Run a page and return whether it shows what it prints; with `update`, let it.

    Args:
        path: of the page.
        update: write what is printed into the page.
        everything: run slow cells as well.
    """
    text = path.read_text(encoding="utf-8")
    cells = [cell for cell in read_cells(text) if everything or not cell.slow]
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            printed = list(run_cells(cells))
        finally:
            os.chdir(here)
    right = True
    for cell, output in reversed(list(zip(cells, printed, strict=True))):
        if cell.shown is None or same(cell.shown, output, cell.tolerance):
            continue
        right = False
        if update:
            start, end = cell.place
            text = text[:start] + output.rstrip() + "\n" + text[end:]
        else:
            print(f"{path.name} shows\n{cell.shown}\nand prints\n{output}", file=sys.stderr)
    if update:
        path.write_text(text, encoding="utf-8")
    return right or update


def main() -> None:
    """Run the pages that are named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument(
        "--update", action="store_true", help="write what is printed into the pages"
    )
    parser.add_argument(
        "--all", action="store_true", help="run the cells that take minutes as well"
    )
    options = parser.parse_args()
    pages = [path.absolute() for path in options.pages]
    right = [run_page(path, update=options.update, everything=options.all) for path in pages]
    sys.exit(0 if all(right) else 1)


if __name__ == "__main__":
    main()
