"""`learnedgec sweep`: trials that are pruned, killed and continued, and what is said of the best one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from learnedgec.cli.main import main
from learnedgec.evaluators.packages import check_package
from learnedgec.training.module import EvaluatorModule

CONFIG = """
name: mine
model:
  encoder: {encoder}
  heads:
    fluency: {{input: hypothesis}}
data:
  ratings: [mine.csv]
  batch_size: 32
trainer: {{max_epochs: 3, accelerator: cpu}}
last: {{every_n_train_steps: 1}}
"""
SPACE = ["--space", "learning_rate=log(1e-4,1e-2)", "model.pooling=mean,cls"]


@pytest.fixture
def sweep(
    tmp_path: Path,
    tiny_encoder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs `learnedgec sweep` in a folder with mine.yaml and 40 ratings."""
    monkeypatch.chdir(tmp_path)
    rows = [f"he go {n} .,he goes {n} .,{n % 4}" for n in range(40)]
    Path("mine.csv").write_text("\n".join(["source,hypothesis,fluency", *rows]) + "\n")
    Path("mine.yaml").write_text(CONFIG.format(encoder=tiny_encoder))

    def command(*words: str) -> tuple[int, str, str]:
        code = main(["sweep", "--config", "mine.yaml", *SPACE, *words])
        return code, *capsys.readouterr()

    return command


class Killed(BaseException):
    """What ends a process before it can do anything more."""


def test_a_killed_sweep_continues_its_trial_and_keeps_the_best(
    sweep: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    step = EvaluatorModule.training_step
    rates: list[float] = []

    def killed(self: EvaluatorModule, batch: Any, index: int) -> torch.Tensor:
        rates.append(self.learning_rate)
        if len(rates) == 5:
            raise Killed
        return step(self, batch, index)

    # An epoch has one step; the fifth lies in the second epoch of the second trial, if nothing is pruned.
    monkeypatch.setattr(EvaluatorModule, "training_step", killed)
    words = ["--trials", "3", "--pruner", "none", "--format", "json"]
    with pytest.raises(Killed):
        sweep(*words)
    assert not Path("checkpoints/mine").exists()
    code, _, err = sweep(*words)
    assert code == 2
    assert "with --resume, or replace both" in err
    code, out, err = sweep(*words, "--resume")
    assert code == 0, err
    # The step that was killed is repeated, and none before it.
    assert len(rates) == 3 * 3 + 1
    assert rates[3] == rates[4] == rates[5] == rates[6]
    found = json.loads(out)
    assert [trial["epochs"] for trial in found["trials"]] == [3, 3, 3]
    assert [trial["state"] for trial in found["trials"]].count("best") == 1
    best = next(trial for trial in found["trials"] if trial["state"] == "best")
    assert best["dev score"] == max(trial["dev score"] for trial in found["trials"])
    manifest = check_package(Path("checkpoints/mine"))
    assert (manifest["name"], manifest["results"]) == ("mine", found["results"])
    kept = [path.parent.name for path in Path("runs/mine").glob("trial-*/mine")]
    assert kept == [f"trial-{best['trial'] - 1}"]
    assert not list(Path("runs").rglob("*.ckpt"))
    configuration = (Path("checkpoints/mine") / "training.yaml").read_text()
    assert f"pooling: {best['pooling']}" in configuration
    assert "trial-" not in configuration

    # More trials are added to those that there are.
    code, out, err = sweep("--trials", "4", "--pruner", "none", "--resume", "--plot", "figures")
    assert code == 0, err
    assert len(rates) == 4 * 3 + 1
    assert len(out.splitlines()) == 2 + 4
    assert "which chose nothing: fluency pearson" in err
    assert {path.name for path in Path("figures").glob("*.pdf")} == {
        "mine.trials.pdf",
        "mine.importance.pdf",
    }
    assert "with another pruner" in sweep("--trials", "4", "--resume")[2]


def test_low_trials_are_pruned(
    sweep: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    epochs = []

    def score(self: EvaluatorModule) -> None:
        """Give each later trial a lower score."""
        if not self.trainer.sanity_checking:
            epochs.append(self.current_epoch)
            self.log("dev/score", 1 / len(epochs))

    monkeypatch.setattr(EvaluatorModule, "on_validation_epoch_end", score)
    code, out, err = sweep("--trials", "3", "--pruner", "asha", "--overwrite")
    assert code == 0, err
    assert epochs == [0, 1, 2, 0, 0]
    assert [line.split()[-1] for line in out.splitlines()[2:]] == ["best", "pruned", "pruned"]
    assert "took 5 epochs. Pruning ended 2 of them and saved up to 4 epochs." in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--space", "lerning_rate=1,2"], "no key of a configuration is named 'lerning_rate'"),
        (["--space", "learning_rate=log(1,2"], "'log(1,2' is no range; write log(1e-5,1e-4)"),
        (["--seeds", "2"], "a sweep trains one seed on one device in each trial"),
    ],
)
def test_what_cannot_be_tried(
    sweep: Callable[..., tuple[int, str, str]], words: list[str], message: str
) -> None:
    code, _, err = sweep(*words)
    assert code == 2
    assert message in err
