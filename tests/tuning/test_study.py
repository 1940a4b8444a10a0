"""Studies of sweeps that continue, that several processes share, and that survive a killed process."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import optuna
import pytest
from optuna.pruners import NopPruner
from optuna.trial import BaseTrial, FrozenTrial, TrialState

from learnedgec.errors import ConfigError, FormatError, OutputError
from learnedgec.tuning.search import quiet, sampler_of
from learnedgec.tuning.space import Number, Space
from learnedgec.tuning.study import next_trial, open_study

SPACE = Space({"x": Number(0, 1), "y": Number(0, 1)}, {"x": 0.5, "y": 0.5})

# A process that minimises a square. At its trial number `last` it kills itself.
WORKER = """
import signal, sys
from pathlib import Path
sys.path[:0] = [{folder!r}]
from test_study import work
end = lambda: signal.raise_signal(signal.SIGKILL)
work(Path(sys.argv[1]), 18, last=int(sys.argv[2]), end=end, alone=False)
"""


def opened(journal: Path, task: str = "x") -> optuna.Study:
    return open_study(journal, {"metric": task}, SPACE.encode(SPACE.given), NopPruner())


def ended(study: optuna.Study) -> list[FrozenTrial]:
    return study.get_trials(states=(TrialState.COMPLETE,))


def work(
    journal: Path,
    limit: int,
    last: int = 0,
    end: Callable[[], object] = bool,
    task: str = "x",
    alone: bool = True,
) -> list[FrozenTrial]:
    with quiet():
        study = opened(journal, task)
        running = study.get_trials(states=(TrialState.RUNNING,)) if alone else []
        left = [trial.number for trial in running]
        done = 0
        while len(ended(study)) < limit:
            trial = next_trial(study, SPACE, 3, journal, left.pop(0) if left else None)
            done += 1
            if done == last:
                end()
            x, y = trial.params["x"], trial.params["y"]
            study.tell(trial, -((x - 0.3) ** 2) - (y - 0.6) ** 2)
        return ended(study)


def points(trials: list[FrozenTrial]) -> list[tuple[float, float]]:
    return [(trial.params["x"], trial.params["y"]) for trial in trials]


def start(storage: Path, last: int) -> subprocess.Popen[bytes]:
    program = WORKER.format(folder=str(Path(__file__).parent))
    return subprocess.Popen([sys.executable, "-c", program, str(storage), str(last)])


@pytest.mark.parametrize("last", [1, 9])
def test_the_trial_of_a_killed_process_is_repeated(tmp_path: Path, last: int) -> None:
    with start(tmp_path / "killed", last) as doomed:
        assert doomed.wait() == -signal.SIGKILL
    trials = work(tmp_path / "killed", 18)
    # Trial 1 has the given parameters, which must not be lost, and trial 9 has drawn ones.
    assert points(trials) == points(work(tmp_path / "whole", 18))
    assert [trial.number for trial in trials] == list(range(18))


def test_a_trial_that_was_left_while_it_drew_its_point_draws_the_rest(tmp_path: Path) -> None:
    class Killed(Number):
        def suggest(self, name: str, trial: BaseTrial) -> float:
            raise KeyboardInterrupt

    journal = tmp_path / "study.journal"
    work(journal, 6)
    study = opened(journal)
    partly = Space({"x": Number(0, 1), "y": Killed(0, 1)}, SPACE.given)
    with pytest.raises(KeyboardInterrupt):
        next_trial(study, partly, 3, journal)
    *others, left = points(work(journal, 7))
    *whole, undisturbed = points(work(tmp_path / "whole", 7))
    assert (others, left[0]) == (whole, undisturbed[0])
    # It is another number than the one that became x.
    assert left[1] != left[0]


def test_two_processes_share_the_trials(tmp_path: Path) -> None:
    journal = tmp_path / "study.journal"
    work(journal, 1)
    with start(journal, 0) as first, start(journal, 0) as second:
        assert (first.wait(), second.wait()) == (0, 0)
    trials = work(journal, 18)
    # Each process may end one more trial than was asked for.
    assert 18 <= len(trials) <= 20
    assert len(set(points(trials))) == len(trials)


def test_a_stopped_study_goes_on_as_if_it_had_not(tmp_path: Path) -> None:
    whole = work(tmp_path / "whole", 14)
    journal = tmp_path / "study.journal"
    assert points(work(journal, 10)) == points(whole)[:10]
    assert points(work(journal, 14)) == points(whole)
    assert len(work(journal, 14)) == 14


def test_parameters_are_drawn_together(tmp_path: Path) -> None:
    study = opened(tmp_path / "study.journal")
    work(tmp_path / "study.journal", 14)
    trial = ended(study)[-1]
    together = sampler_of(0, 14).infer_relative_search_space(study, trial)
    assert set(together) == {"x", "y"}


def test_trials_come_near_the_best(tmp_path: Path) -> None:
    best = max(work(tmp_path / "study.journal", 70), key=lambda trial: trial.value)
    assert points([best])[0] == pytest.approx((0.3, 0.6), abs=0.08)


def test_another_task_is_refused(tmp_path: Path) -> None:
    work(tmp_path / "study.journal", 1)
    with pytest.raises(ConfigError, match=r"holds a sweep with another metric"):
        work(tmp_path / "study.journal", 1, task="y")


def test_what_is_no_journal_is_refused(tmp_path: Path) -> None:
    journal = tmp_path / "text.journal"
    journal.write_text("not a journal\nat all\n")
    with pytest.raises(FormatError, match="not the journal of a sweep"):
        work(journal, 1)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        work(tmp_path / "file" / "study.journal", 1)
