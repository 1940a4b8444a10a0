"""Every tutorial shows what it prints, and is a notebook that a kernel runs."""

from __future__ import annotations

import gc
import glob
import io
import os
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from learnedgec.cli.main import main

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "scripts" / "tutorials.py"
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*-*.md"))


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the module of the script."""
    spec = spec_from_file_location("tutorials", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # Dataclasses look up their module.
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def run_command(code: str) -> str:
    """Run `learnedgec …`, perhaps with `2>&1` or `| head -N` behind it, and return what it prints.

    It runs in this process, which has imported its packages and keeps what evaluators compute.
    """
    command, _, lines = code.partition("| head -")
    program, *words = shlex.split(command)
    assert program == "learnedgec"
    both = "2>&1" in words
    given = [sorted(glob.glob(word)) or [word] for word in words if word != "2>&1"]  # noqa: PTH207
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out if both else sys.stderr):
        assert main([word for matching in given for word in matching]) == 0
    return "".join(out.getvalue().splitlines(keepends=True)[: int(lines) if lines else None])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_it_shows_what_it_prints(
    path: Path,
    script: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(script, "run_shell", run_command)
    assert script.run_page(path, update=False, everything=False), capsys.readouterr().err[-4000:]
    gc.collect()  # Metric must forget the classes of the page


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_it_is_a_notebook_without_outputs(path: Path, script: ModuleType) -> None:
    notebook = pytest.importorskip("jupytext").read(path)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    cells = script.read_cells(path.read_text(encoding="utf-8"))
    assert [text.removeprefix("%%bash\n").strip() for text in code] == [
        cell.code.strip() for cell in cells
    ]
    assert notebook.metadata["kernelspec"]["name"] == "python3"
    assert not any(cell.get("outputs") for cell in notebook.cells)


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


def test_outputs_are_compared_by_words_and_numbers(script: ModuleType) -> None:
    same = script.same
    assert same("a  0.500 b\n", "a 0.501   b", 0.002)
    assert not same("a 0.500 b", "a 0.504 b", 0.002)
    assert not same("a 0.5 b", "a 0.5 c", 0.002)
    assert not same("a 0.5", "a 0.5 0.5", 0.002)
    assert same("sha256:12ab 1", "sha256:12ab 1", 0.0)
    assert not same("sha256:12ab 1", "sha256:13ab 1", 1.0)


def test_cells_marked_as_not_run_run_on_request(tmp_path: Path, script: ModuleType) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nx = 2\n```\n\n<!-- not run (minutes) -->\n\n```python\nx\n```\n\n```text\n3\n```\n",
        encoding="utf-8",
    )
    assert script.run_page(page, update=False, everything=False)
    assert not script.run_page(page, update=False, everything=True)


def test_a_page_that_shows_something_else_is_refused(tmp_path: Path, script: ModuleType) -> None:
    page = tmp_path / "page.md"
    shown = "```python\nx = 2\nprint(x)\nx + 1\n```\n\n```bash\necho a\n```\n\n```text\nb\n```\n"
    page.write_text(
        shown.replace("```\n\n```bash", "```\n\n```text\n2\n4\n```\n\n```bash"), "utf-8"
    )
    assert not script.run_page(page, update=False, everything=False)
    assert script.run_page(page, update=True, everything=False)
    text = page.read_text(encoding="utf-8")
    assert "```text\n2\n3\n```" in text
    assert text.endswith("```text\na\n```\n")
    assert script.run_page(page, update=False, everything=False)


def test_the_script_ends_with_1_where_a_page_is_wrong(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\n1\n```\n\n```text\n2\n```\n", encoding="utf-8")
    done = run(SCRIPT, page)
    assert done.returncode == 1
    assert done.stderr == "page.md shows\n2\n\nand prints\n1\n\n"
    assert run(SCRIPT, page, "--update").returncode == 0
