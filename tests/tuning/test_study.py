"""Shared studies: exactly the trials asked for, reproducible, whoever is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import optuna
import pytest
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from learnedgec.errors import ConfigError, FormatError, OutputError
from learnedgec.tuning.space import Number, Space
from learnedgec.tuning.study import SharedStudy, Tried

FILES = ["study.journal", "study.db"]
SPACE = Space({"x": Number(0, 1), "y": Number(0, 1)}, {"x": 0.5, "y": 0.5})

# A worker that minimises a square. At its trial number `last` it kills itself, or waits for a line.
WORKER = """
import signal, sys
sys.path[:0] = [{folder!r}]
from test_study import open_study, work
storage, last, end = sys.argv[1], int(sys.argv[2]), sys.argv[3]
ends = {{"killed": lambda: signal.raise_signal(signal.SIGKILL), "waiting": sys.stdin.readline}}
work(open_study(storage), 40, last, ends[end])
"""


def open_study(storage: str | None, **task: object) -> SharedStudy:
    return SharedStudy(
        "x@test",
        task or {"metric": "x"},
        SPACE.distributions(),
        SPACE.starts(),
        storage=storage,
        seed=3,
    )


def work(
    study: SharedStudy, limit: int, last: int = 0, end: Callable[[], object] = bool
) -> list[Tried]:
    done = 0
    with study:
        while True:
            trial = study.claim(limit)
            if trial is None:
                if not study.running:
                    return study.finished()
                continue
            done += 1
            if done == last:
                end()
            study.tell(trial, -((trial.params["x"] - 0.3) ** 2) - (trial.params["y"] - 0.6) ** 2)


def points(trials: list[Tried]) -> list[tuple[float, float]]:
    return [(trial.point["x"], trial.point["y"]) for trial in trials]


def start(storage: Path, last: int, end: str) -> subprocess.Popen[bytes]:
    program = WORKER.format(folder=str(Path(__file__).parent))
    command = [sys.executable, "-c", program, str(storage), str(last), end]
    return subprocess.Popen(command, stdin=subprocess.PIPE)


@pytest.mark.parametrize("file", FILES)
def test_two_workers_and_one_is_killed(tmp_path: Path, file: str) -> None:
    storage = tmp_path / file
    # They work side by side; the one that survives leaves enough trials for the other to reach its end.
    with start(storage, 7, "killed") as doomed, start(storage, 20, "waiting") as other:
        assert doomed.wait() == -signal.SIGKILL
        other.communicate(b"go on\n")
        assert other.returncode == 0
    trials = work(open_study(str(storage)), 40)
    assert len(trials) == 40
    assert len(set(points(trials))) == 40
    starts = [(point["x"], point["y"]) for point in SPACE.starts()]
    assert set(starts) <= set(points(trials))
    assert len({trial.worker for trial in trials}) == 2
    assert not (tmp_path / f"{file}.workers").exists()


@pytest.mark.parametrize("file", FILES)
def test_the_trial_of_a_killed_worker_is_run_again_at_its_point(tmp_path: Path, file: str) -> None:
    storage = tmp_path / file
    for last in (3, 9):
        # The first is killed at a planned point, the second at a sampled one.
        with start(storage, last, "killed") as doomed:
            assert doomed.wait() == -signal.SIGKILL
    trials = work(open_study(str(storage)), 40)
    assert len(trials) == 40
    assert len(set(points(trials))) == 40
    kept: optuna.storages.BaseStorage = (
        optuna.storages.RDBStorage(f"sqlite:///{storage}")
        if storage.suffix == ".db"
        else optuna.storages.JournalStorage(JournalFileBackend(str(storage)))
    )
    stored = optuna.load_study(study_name="x@test", storage=kept)
    abandoned = [trial for trial in stored.trials if trial.state == TrialState.FAIL]
    assert len(abandoned) == 2
    assert {(trial.params["x"], trial.params["y"]) for trial in abandoned} <= set(points(trials))
    assert len({trial.worker for trial in trials}) == 3


@pytest.mark.parametrize("file", FILES)
def test_a_stopped_study_goes_on_as_if_it_had_not(tmp_path: Path, file: str) -> None:
    whole = work(open_study(None), 20)
    storage = str(tmp_path / file)
    assert points(work(open_study(storage), 12)) == points(whole)[:12]
    assert points(work(open_study(storage), 20)) == points(whole)
    assert len(work(open_study(storage), 20)) == 20


@pytest.mark.parametrize("sampler", ["tpe", "cma-es", "gp"])
def test_samplers_come_near_the_best(sampler: str) -> None:
    study = SharedStudy(
        "x",
        {},
        SPACE.distributions(),
        SPACE.starts(),
        sampler=sampler,
        seed=1,  # type: ignore[arg-type]
    )
    # A Gaussian process knows a square after few points; each costs it a fit.
    best = max(work(study, 14 if sampler == "gp" else 70), key=lambda trial: trial.value)
    assert (best.point["x"], best.point["y"]) == pytest.approx((0.3, 0.6), abs=0.08)


def test_another_task_is_refused(tmp_path: Path) -> None:
    storage = str(tmp_path / "study.journal")
    open_study(storage, metric="x", seed=1)
    open_study(storage, metric="x", seed=1)
    with pytest.raises(ConfigError, match=r"holds a study x@test with another metric and seed"):
        open_study(storage, metric="y", seed=2)


def test_what_is_no_storage_is_refused(tmp_path: Path) -> None:
    journal = tmp_path / "text.journal"
    journal.write_text("not a journal\nat all\n")
    with pytest.raises(FormatError, match="not a storage of studies"):
        open_study(str(journal))
    database = tmp_path / "text.db"
    database.write_text("not a database, though long enough to look like one" * 100)
    with pytest.raises(FormatError, match="not a storage of studies"):
        open_study(str(database))
    with pytest.raises(ConfigError, match=r"is the address of a database; .* study\.journal"):
        open_study("postgresql://host/studies")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        open_study(str(tmp_path / "file" / "study.journal"))
