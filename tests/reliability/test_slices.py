"""A slice of each trial of scripts/reliability with a fixed seed; `make reliability` runs them in full."""

from __future__ import annotations

import importlib
import os
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


# Forking a process of many threads is a warning in later versions of Python.
@pytest.mark.parametrize(("name", "count"), [("invariance", 12), ("concurrent_use", 5)])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_nothing_is_broken(scripts: Any, name: str, count: int, tmp_path: Path) -> None:
    trials = (
        trial for trial in scripts(name).trials(1, tmp_path) if not trial.label.startswith("fork")
    )
    tally = scripts("trial").run(name, trials, count=count, seconds=0, longest=60)
    assert tally.tried == count
    assert tally.failures == []


def test_a_kill(scripts: Any, tmp_path: Path) -> None:
    from random import Random

    kill9 = scripts("kill9")
    job = kill9.jobs(tmp_path)[0]
    kill9.Attempts(job, tmp_path / job.name, Random(1)).run()
    assert kill9.TALLY[job.name]
