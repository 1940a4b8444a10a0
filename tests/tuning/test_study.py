"""Studies that continue, that several processes share, and that survive a killed process."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from optuna.trial import FrozenTrial

from learnedgec.errors import ConfigError, FormatError, OutputError
from learnedgec.tuning.space import Number, Space
from learnedgec.tuning.study import ask, finished_trials, open_study, quiet

FILES = ["study.journal", "study.db"]
SPACE = Space({"x": Number(0, 1), "y": Number(0, 1)}, {"x": 0.5, "y": 0.5})

# A process that minimises a square. At its trial number `last` it kills itself.
WORKER = """
import signal, sys
sys.path[:0] = [{folder!r}]
from test_study import work
work(sys.argv[1], 18, last=int(sys.argv[2]), end=lambda: signal.raise_signal(signal.SIGKILL))
"""


def work(
    storage: str | None,
    limit: int,
    sampler: str = "tpe",
    last: int = 0,
    end: Callable[[], object] = bool,
    task: str = "x",
) -> list[FrozenTrial]:
    with quiet():
        study = open_study("x@test", {"metric": task}, SPACE.starts(), storage=storage)
        done = 0
        while len(finished_trials(study)) < limit:
            trial = ask(study, SPACE, sampler, 3, storage)  # type: ignore[arg-type]
            done += 1
            if done == last:
                end()
            study.tell(trial, -((trial.params["x"] - 0.3) ** 2) - (trial.params["y"] - 0.6) ** 2)
        return finished_trials(study)


def points(trials: list[FrozenTrial]) -> list[tuple[float, float]]:
    return [(trial.params["x"], trial.params["y"]) for trial in trials]


def start(storage: Path, last: int) -> subprocess.Popen[bytes]:
    program = WORKER.format(folder=str(Path(__file__).parent))
    return subprocess.Popen([sys.executable, "-c", program, str(storage), str(last)])


def test_a_killed_process_loses_one_trial(tmp_path: Path) -> None:
    with start(tmp_path / "study.journal", 9) as doomed:
        assert doomed.wait() == -signal.SIGKILL
    trials = work(str(tmp_path / "study.journal"), 18)
    assert len(trials) == len(set(points(trials))) == 18
    starts = [(point["x"], point["y"]) for point in SPACE.starts()]
    assert set(starts) <= set(points(trials))


def test_two_processes_share_the_trials(tmp_path: Path) -> None:
    storage = tmp_path / "study.journal"
    work(str(storage), 1)
    with start(storage, 0) as first, start(storage, 0) as second:
        assert (first.wait(), second.wait()) == (0, 0)
    trials = work(str(storage), 18)
    # Each process may end one more trial than was asked for.
    assert 18 <= len(trials) <= 20
    assert len(set(points(trials))) == len(trials)


@pytest.mark.parametrize("file", FILES)
def test_a_stopped_study_goes_on_as_if_it_had_not(tmp_path: Path, file: str) -> None:
    whole = work(None, 14)
    storage = str(tmp_path / file)
    assert points(work(storage, 10)) == points(whole)[:10]
    assert points(work(storage, 14)) == points(whole)
    assert len(work(storage, 14)) == 14


@pytest.mark.parametrize("sampler", ["tpe", "cma-es", "gp"])
def test_samplers_come_near_the_best(sampler: str) -> None:
    if sampler == "cma-es":
        pytest.importorskip("cmaes")
    # A Gaussian process knows a square after few points; each costs it a fit.
    best = max(work(None, 14 if sampler == "gp" else 70, sampler), key=lambda trial: trial.value)
    assert points([best])[0] == pytest.approx((0.3, 0.6), abs=0.08)


def test_another_task_is_refused(tmp_path: Path) -> None:
    storage = str(tmp_path / "study.journal")
    work(storage, 1)
    with pytest.raises(ConfigError, match=r"holds a study x@test with another metric"):
        work(storage, 1, task="y")


def test_what_is_no_storage_is_refused(tmp_path: Path) -> None:
    journal = tmp_path / "text.journal"
    journal.write_text("not a journal\nat all\n")
    database = tmp_path / "text.db"
    database.write_text("not a database, though long enough to look like one" * 100)
    for storage in (str(journal), str(database), "nothing://host/studies"):
        with pytest.raises(FormatError, match="not a storage of studies"):
            work(storage, 1)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        work(str(tmp_path / "file" / "study.journal"), 1)
