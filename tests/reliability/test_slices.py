"""A slice of each trial of scripts/reliability with a fixed seed; `make reliability` runs them in full."""

from __future__ import annotations

import importlib
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="limits and signals are POSIX's")

SCRIPTS = Path(__file__).parents[2] / "scripts" / "reliability"


@pytest.fixture(scope="module")
def scripts() -> Iterator[Any]:
    """Return a function that imports a script, with what scripts share on the path."""
    path, modules = sys.path.copy(), set(sys.modules)
    sys.path.insert(0, str(SCRIPTS))

    def load(name: str) -> ModuleType:
        return importlib.import_module(name)

    yield load
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if str(SCRIPTS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def failures(
    scripts: Any, name: str, count: int, folder: Path, *, without: str = "none"
) -> list[str]:
    """Run the first trials of a script and return what failed."""
    trials = (
        trial for trial in scripts(name).trials(1, folder) if not trial.label.startswith(without)
    )
    tally = scripts("trial").run(name, trials, count=count, seconds=0, longest=60)
    assert tally.tried == count
    return list(tally.failures)


@pytest.mark.parametrize(
    ("name", "count"),
    [("fuzz_text", 600), ("fuzz_stores", 200), ("invariance", 60)],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_nothing_is_broken(scripts: Any, name: str, count: int, tmp_path: Path) -> None:
    assert failures(scripts, name, count, tmp_path) == []


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_names(scripts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEARNEDGEC_MIRROR", str(tmp_path))
    assert failures(scripts, "fuzz_names", 200, tmp_path, without="command") == []


def test_use_at_once(scripts: Any, tmp_path: Path) -> None:
    # Forking a process of many threads is a warning in later versions of Python.
    assert failures(scripts, "concurrent_use", 5, tmp_path, without="fork") == []


@pytest.mark.parametrize("name", ["gleu(iterations=5)", "green", "length", "edit-count"])
def test_odd_sentences(scripts: Any, name: str) -> None:
    from learnedgec.metrics.registry import load_metric

    odd = scripts("adversarial")
    for sentence in odd.SENTENCES.values():
        odd.score(load_metric(name), sentence)


def test_a_kill(scripts: Any, tmp_path: Path) -> None:
    from random import Random

    kill9 = scripts("kill9")
    job = kill9.jobs(tmp_path)[0]
    kill9.Attempts(job, tmp_path / job.name, Random(1)).run()
    assert kill9.TALLY[job.name] > 0


def test_hostile_places() -> None:
    """The script ends with 0, whether namespaces are permitted or not."""
    script = str(SCRIPTS / "hostile_os.py")
    done = subprocess.run(
        [sys.executable, script, "--count", "8"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "8 tried, 0 failed" in done.stdout or "skipped" in done.stdout


def test_every_past_crash_is_tried(scripts: Any, tmp_path: Path) -> None:
    corpus = scripts("trial").CORPUS
    for kind in ("text", "names", "stores"):
        trials = scripts(f"fuzz_{kind}").trials(1, tmp_path / kind)
        (tmp_path / kind).mkdir()
        files = sorted(file.name for file in (corpus / kind).iterdir())
        tried = [trial.label for trial in itertools.islice(trials, len(files))]
        assert tried == [f"corpus/{name}" for name in files]


def test_mutations_undo_what_is_there(scripts: Any, tmp_path: Path) -> None:
    """`mutations.py` runs the programs themselves, for minutes; here the copies alone are made."""
    mutations = scripts("mutations")
    for number, mutation in enumerate(mutations.MUTATIONS):
        place = tmp_path / str(number) / mutation.file
        place.parent.mkdir(parents=True)
        place.write_bytes((SCRIPTS.parents[1] / mutation.file).read_bytes())
        mutations.undo(mutation, tmp_path / str(number))
        assert mutation.before in place.read_text()
        assert mutation.mended not in place.read_text()
        with pytest.raises(SystemExit, match="stands 0 times"):
            mutations.undo(mutation, tmp_path / str(number))
