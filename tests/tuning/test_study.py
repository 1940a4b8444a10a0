"""Studies that continue, that several processes share, and that survive a killed process."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from optuna.storages._rdb.models import StudyModel
from optuna.trial import BaseTrial, FrozenTrial
from sqlalchemy import Engine
from sqlalchemy.schema import CreateTable

from learnedgec.errors import ConfigError, FormatError, OutputError
from learnedgec.tuning.space import Number, Space
from learnedgec.tuning.trials import finished_trials, next_trial, open_study, quiet

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
            with next_trial(study, SPACE, sampler, 3, storage) as trial:  # type: ignore[arg-type]
                done += 1
                if done == last:
                    end()
                x, y = trial.params["x"], trial.params["y"]
                study.tell(trial, -((x - 0.3) ** 2) - (y - 0.6) ** 2)
        return finished_trials(study)


def points(trials: list[FrozenTrial]) -> list[tuple[float, float]]:
    return [(trial.params["x"], trial.params["y"]) for trial in trials]


def start(storage: Path, last: int) -> subprocess.Popen[bytes]:
    program = WORKER.format(folder=str(Path(__file__).parent))
    return subprocess.Popen([sys.executable, "-c", program, str(storage), str(last)])


@pytest.mark.parametrize("last", [1, 9])
@pytest.mark.parametrize("file", FILES)
def test_the_trial_of_a_killed_process_is_repeated(tmp_path: Path, file: str, last: int) -> None:
    with start(tmp_path / file, last) as doomed:
        assert doomed.wait() == -signal.SIGKILL
    trials = work(str(tmp_path / file), 18)
    # Trial 1 has the given parameters, which must not be lost, and trial 9 has drawn ones.
    assert points(trials) == points(work(None, 18))
    assert [trial.number for trial in trials] == list(range(18))
    assert not list(tmp_path.glob("*.[0-9]*.lock"))


def test_a_trial_that_was_left_while_it_drew_its_point_draws_the_rest(tmp_path: Path) -> None:
    class Killed(Number):
        def suggest(self, name: str, trial: BaseTrial) -> float:
            raise KeyboardInterrupt

    storage = str(tmp_path / "study.journal")
    work(storage, 6)
    study = open_study("x@test", {"metric": "x"}, SPACE.starts(), storage=storage)
    partly = Space({"x": Number(0, 1), "y": Killed(0, 1)}, SPACE.given)
    with pytest.raises(KeyboardInterrupt), next_trial(study, partly, "tpe", 3, storage):
        pass
    *others, left = points(work(storage, 7))
    *whole, undisturbed = points(work(None, 7))
    assert (others, left[0]) == (whole, undisturbed[0])
    # It is another number than the one that became x.
    assert left[1] != left[0]


def test_a_trial_that_is_worked_on_is_left_alone(tmp_path: Path) -> None:
    storage = str(tmp_path / "study.journal")
    with quiet():
        study = open_study("x@test", {}, SPACE.starts(), storage=storage)
        with next_trial(study, SPACE, "tpe", 3, storage) as first:
            with next_trial(study, SPACE, "tpe", 3, storage) as second:
                study.tell(second, 2.0)
            study.tell(first, 1.0)
    assert [trial.values for trial in finished_trials(study)] == [[1.0], [2.0]]


def test_in_a_database_on_a_server_a_trial_is_repeated_after_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"sqlite:///{tmp_path / 'study.db'}"
    study = open_study("x@test", {}, SPACE.starts(), storage=address)
    for longest, number in ((timedelta(days=1), 0), (timedelta(days=1), 1), (timedelta(0), 0)):
        monkeypatch.setattr("learnedgec.tuning.trials._LONGEST", longest)
        with next_trial(study, SPACE, "tpe", 3, address) as trial:
            assert trial.number == number


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


def test_a_kill_while_a_storage_is_created_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(engine: Engine) -> None:
        with engine.begin() as connection:
            connection.execute(CreateTable(StudyModel.__table__))  # without its unique index
        raise KeyboardInterrupt

    storage = tmp_path / "study.db"
    with monkeypatch.context() as patched:
        patched.setattr(StudyModel.metadata, "create_all", killed)
        with pytest.raises(KeyboardInterrupt):
            work(str(storage), 1)
    assert not storage.exists()
    work(str(storage), 1)
    assert len(work(str(storage), 2)) == 2


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
