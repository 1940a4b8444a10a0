"""`learnedgec sweep`: trials that are pruned, killed and continued, and what is said of the best one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from learnedgec.evaluators.package import check_package
from learnedgec.training.module import EvaluatorModule

SWEEP = "sweep --config mine.yaml --space 'learning_rate=log(1e-4,1e-2)' model.pooling=mean,cls"


@pytest.fixture
def sweep(train: Any) -> Any:
    """Return `run`, in a folder with mine.yaml and 40 ratings, of which an epoch has one step."""
    rows = [f"he go {n} .,he goes {n} .,{n % 4}" for n in range(40)]
    Path("mine.csv").write_text("\n".join(["source,hypothesis,fluency", *rows]) + "\n")
    text = Path("mine.yaml").read_text()
    Path("mine.yaml").write_text(text.replace("[mine.csv]", "[mine.csv]\n  batch_size: 32"))
    return train


class Killed(BaseException):
    """What ends a process before it can do anything more."""


def test_a_killed_sweep_continues_its_trial_and_keeps_the_best(
    sweep: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = EvaluatorModule.training_step
    rates: list[float] = []

    def killed(self: EvaluatorModule, batch: Any, index: int) -> torch.Tensor:
        rates.append(self.settings.learning_rate)
        if len(rates) == 5:
            raise Killed
        return step(self, batch, index)

    # The fifth step lies in the second epoch of the second trial, if nothing is pruned.
    monkeypatch.setattr(EvaluatorModule, "training_step", killed)
    command = f"{SWEEP} --trials 3 --pruner none --format json"
    with pytest.raises(Killed):
        sweep(command)
    assert not Path("checkpoints/mine").exists()
    assert "with --resume, or replace both" in sweep(command, code=2).err
    result = sweep(f"{command} --overwrite --resume").json
    # The step that was killed is repeated, and none before it.
    assert len(rates) == 3 * 3 + 1
    assert rates[3] == rates[4] == rates[5] == rates[6]
    assert [trial["epochs"] for trial in result["rows"]] == [3, 3, 3]
    (best,) = (trial for trial in result["rows"] if trial["state"] == "best")
    assert best["dev_score"] == max(trial["dev_score"] for trial in result["rows"])
    manifest = check_package(Path("checkpoints/mine"))
    assert (manifest["name"], manifest["results"]) == ("mine", result["results"])
    packages = [path.parent.name for path in Path("runs/mine").glob("trial-*/mine")]
    assert packages == [f"trial-{best['trial'] - 1}"]
    assert not list(Path("runs").rglob("*.ckpt"))
    configuration = Path("checkpoints/mine/training.yaml").read_text()
    assert f"pooling: {best['pooling']}" in configuration
    assert "trial-" not in configuration

    # More trials are added to those that there are.
    out, _ = sweep(f"{SWEEP} --trials 4 --pruner none --resume --plot figures")
    assert len(rates) == 4 * 3 + 1
    assert re.search(r"^ *4 ", out, re.MULTILINE)
    assert "which had no part in the choice: fluency pearson" in " ".join(out.split())
    assert {path.name for path in Path("figures").glob("*.pdf")} == {
        "mine.trials.pdf",
        "mine.importance.pdf",
    }
    assert "with another pruner" in sweep(f"{SWEEP} --trials 4 --resume", code=2).err


def test_low_trials_are_pruned(sweep: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    epochs = []

    def score(self: EvaluatorModule) -> None:
        """Give each later trial a lower score."""
        if not self.trainer.sanity_checking:
            epochs.append(self.current_epoch)
            self.log("dev/score", 1 / len(epochs))

    monkeypatch.setattr(EvaluatorModule, "on_validation_epoch_end", score)
    out, _ = sweep(f"{SWEEP} --trials 3 --pruner asha --overwrite")
    assert epochs == [0, 1, 2, 0, 0]
    assert [line.split()[-1] for line in out.splitlines()[2:5]] == ["best", "pruned", "pruned"]
    assert "took 5 epochs. Pruning ended 2 of them and saved up to 4 epochs." in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--space lerning_rate=1,2", "no key of a configuration is named 'lerning_rate'"),
        ("--space 'learning_rate=log(1,2'", "'log(1,2' is no range; write log(1e-5,1e-4)"),
        ("--seeds 2", "a sweep trains one seed on one device in each trial"),
    ],
)
def test_what_cannot_be_tried(sweep: Any, words: str, message: str) -> None:
    assert message in sweep(f"{SWEEP} {words}", code=2).err


def test_a_refused_setting_ends_its_trial_and_others_go_on(sweep: Any) -> None:
    command = "sweep --config mine.yaml --space model.pooling=mean,nonsense --trials 2 --overwrite"
    message = sweep(command, code=2).err
    assert re.search("trial 2: .*nonsense.*give --resume", message)
    result = sweep(f"{command} --resume --format json").json
    assert [trial["state"] for trial in result["rows"]] == ["best", "failed"]


def test_settings_whose_names_end_alike_have_columns_of_their_own(sweep: Any) -> None:
    keys = ["model.heads.fluency.weight", "model.heads.meaning.weight"]
    Path("mine.csv").write_text(
        "source,hypothesis,fluency,meaning\n"
        + "".join(f"he go {n} .,he goes {n} .,{n % 4},{n % 3}\n" for n in range(40))
    )
    Path("mine.yaml").write_text(
        Path("mine.yaml").read_text().replace("{fluency: {}}", "{fluency: {}, meaning: {}}")
    )
    space = f"{keys[0]}=1,2 {keys[1]}=3,4 dropout=0.1,0.2"
    (trial,) = sweep(
        f"sweep --config mine.yaml --space {space} --trials 1 --overwrite --format json"
    ).json["rows"]
    assert (trial[keys[0]], trial[keys[1]], trial["dropout"]) == (1, 3, 0.1)


def test_help_all_has_the_options_of_training_too(
    sweep: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        sweep("sweep --help-all")
    assert ended.value.code == 0
    whole = capsys.readouterr().out
    assert (
        whole.index("--space")
        < whole.index("--model.learning_rate")
        < whole.index("--trainer.max_epochs")
    )
