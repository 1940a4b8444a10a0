"""Every tutorial shows what it prints, and is a notebook that a kernel runs."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "scripts" / "tutorials.py"
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*-*.md"))


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def run(*words: str | Path, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PATH": programs, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_it_shows_what_it_prints(path: Path) -> None:
    done = run(SCRIPT, path)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_it_is_a_notebook_without_outputs(path: Path, script: dict[str, Any]) -> None:
    notebook = pytest.importorskip("jupytext").read(path)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    cells = script["read_cells"](path.read_text(encoding="utf-8"))
    assert [text.removeprefix("%%bash\n").strip() for text in code] == [
        cell.code.strip() for cell in cells
    ]
    assert notebook.metadata["kernelspec"]["name"] == "python3"
    assert not any(cell.get("outputs") for cell in notebook.cells)


@pytest.mark.slow
def test_a_kernel_runs_it(tmp_path: Path) -> None:
    """The first cells are enough: `test_it_shows_what_it_prints` runs the code of all."""
    jupytext = pytest.importorskip("jupytext")
    page = ROOT / "docs" / "tutorials" / "rerank-and-reward.md"
    (tmp_path / "page.ipynb").write_text(jupytext.writes(jupytext.read(page), fmt="ipynb"))
    program = (
        "import nbclient, nbformat\n"
        "notebook = nbformat.read('page.ipynb', as_version=4)\n"
        "notebook.cells = notebook.cells[:2]\n"
        "nbclient.NotebookClient(notebook, timeout=600).execute()\n"
        "print(notebook.cells[1].outputs[0].text)\n"
    )
    done = run("-c", program, folder=tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.startswith("My grandmother lives")


def test_outputs_are_compared_by_words_and_numbers(script: dict[str, Any]) -> None:
    same = script["same"]
    assert same("a  0.500 b\n", "a 0.501   b", 0.002)
    assert not same("a 0.500 b", "a 0.504 b", 0.002)
    assert not same("a 0.5 b", "a 0.5 c", 0.002)
    assert not same("a 0.5", "a 0.5 0.5", 0.002)
    assert same("sha256:12ab 1", "sha256:12ab 1", 0.0)
    assert not same("sha256:12ab 1", "sha256:13ab 1", 1.0)


def test_cells_marked_as_not_run_run_on_request(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nx = 2\n```\n\n<!-- not run (minutes) -->\n\n```python\nx\n```\n\n```text\n3\n```\n",
        encoding="utf-8",
    )
    assert run(SCRIPT, page).returncode == 0
    assert run(SCRIPT, page, "--all").returncode == 1


def test_a_page_that_shows_something_else_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nx = 2\nprint(x)\nx + 1\n```\n\n```text\n2\n4\n```\n", encoding="utf-8"
    )
    assert run(SCRIPT, page).returncode == 1
    assert run(SCRIPT, page, "--update").returncode == 0
    assert page.read_text(encoding="utf-8").endswith("```text\n2\n3\n```\n")
    assert run(SCRIPT, page).returncode == 0
