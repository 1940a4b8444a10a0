"""An interrupted run keeps its steps, continues to the same evaluator, and removes nothing of another."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from training_files import arguments, pairs_file, trained

from learnedgec.errors import ConfigError
from learnedgec.training.module import EvaluatorModule
from learnedgec.training.pairs import RankedPair

# An epoch has three steps and is evaluated in one.
EPOCH = 3


@pytest.fixture
def words(tmp_path: Path, tiny_encoder: Path) -> list[str]:
    """Return the arguments of a run of two epochs on pairs."""
    pairs = [RankedPair(f"dog {n}", f"the dog {n}", f"dog the {n}") for n in range(30)]
    data = {"pairs": {"quality": [pairs_file(tmp_path, pairs)]}, "batch_size": 8}
    heads = {"quality": {"objective": "logistic"}}
    two = ["--trainer.max_epochs=2", "--trainer.num_sanity_val_steps=0"]
    model = {"encoder": tiny_encoder, "heads": heads, "learning_rate": 5e-3}
    return arguments(tmp_path, data, *two, **model)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that makes something happen once, in a step of a method of the module."""

    def interrupt(method: str, number: int, happens: Any) -> None:
        real = getattr(EvaluatorModule, method)
        calls = iter(range(10**6))

        def step(module: EvaluatorModule, *rest: Any) -> Any:
            if next(calls) == number:
                happens()
            return real(module, *rest)

        monkeypatch.setattr(EvaluatorModule, method, step)

    return interrupt


def fails() -> None:
    raise MemoryError


def steps(folder: Path) -> int:
    """Return the steps of the last checkpoint."""
    return int(torch.load(folder / "last.ckpt", weights_only=True)["global_step"])


def same_weights(first: Path, second: Path) -> bool:
    left, right = (load_file(folder / "model.safetensors") for folder in (first, second))
    return left.keys() == right.keys() and all(
        torch.equal(tensor, right[name]) for name, tensor in left.items()
    )


@pytest.mark.parametrize("length", ["epochs", "steps"])
def test_a_signal_costs_no_step_and_changes_no_weight(
    tmp_path: Path, words: list[str], at: Any, length: str
) -> None:
    if length == "steps":
        words += ["--trainer.max_epochs=-1", f"--trainer.max_steps={2 * EPOCH}"]
    whole = trained([*words, "--name=whole"]).package
    moments = {
        "within an epoch": ("training_step", 1, signal.SIGINT, 2),
        # The evaluation after it comes first.
        "at its last step": ("training_step", 2, signal.SIGTERM, 3 + (length == "steps")),
        "in an evaluation": ("validation_step", 0, signal.SIGINT, 3 + (length == "steps")),
        "within the last epoch": ("training_step", 4, signal.SIGTERM, 5),
        "in the last evaluation": ("validation_step", 1, signal.SIGINT, 6),
    }
    if length == "steps":
        # Otherwise it is as with epochs.
        moments = {moment: moments[moment] for moment in ("at its last step", "in an evaluation")}
    for method, number, sent, kept in moments.values():
        name = f"--name={method}-{number}"
        at(method, number, lambda sent=sent: signal.raise_signal(sent))
        before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        with pytest.raises(KeyboardInterrupt, match="--resume continues from the last checkpoint"):
            trained([*words, name])
        after = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        assert after == before
        assert steps(tmp_path / "runs" / name[7:]) == kept
        assert same_weights(trained([*words, name, "--resume"]).package, whole), name


def test_a_second_signal_ends_a_run_at_once(words: list[str], at: Any) -> None:
    def twice() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    at("training_step", 0, twice)
    with pytest.raises(KeyboardInterrupt, match=r"^interrupted before the first checkpoint; noth"):
        trained(words)


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ([], EPOCH),
        (["--last.train_time_interval=0:00:00"], 5),
        (["--last.every_n_train_steps=4"], 4),
    ],
)
def test_what_ends_without_a_signal_has_the_last_epoch_or_interval(
    tmp_path: Path, words: list[str], at: Any, options: list[str], kept: int
) -> None:
    whole = trained([*words, "--name=whole"]).package
    at("training_step", 5, fails)
    with pytest.raises(MemoryError):
        trained([*words, *options])
    assert steps(tmp_path / "runs" / "tiny") == kept
    assert same_weights(trained([*words, "--resume"]).package, whole)


def test_an_earlier_run_stands_until_another_has_a_checkpoint(
    tmp_path: Path, words: list[str], at: Any
) -> None:
    trained(words)
    folder = tmp_path / "runs" / "tiny"
    files = {file: file.read_bytes() for file in folder.glob("*.*")}
    assert {"best.ckpt", "last.ckpt", "finished.json"} <= {file.name for file in files}
    again = [*words, "--overwrite", "--seed_everything=5"]
    at("training_step", 0, fails)
    with pytest.raises(MemoryError):
        trained(again)
    assert {file: file.read_bytes() for file in folder.glob("*.*")} == files
    with pytest.raises(ConfigError, match=r"tiny is finished, and there is nothing to resume"):
        trained([*words, "--resume"])
    at("training_step", 4, fails)
    with pytest.raises(MemoryError):
        trained(again)
    assert steps(folder) == EPOCH
    assert not (folder / "finished.json").exists()
    with pytest.raises(ConfigError, match="was started with other values of seed_everything"):
        trained([*words, "--resume"])


def test_earlier_seeds_stand_until_another_training_has_a_checkpoint(
    tmp_path: Path, words: list[str], at: Any
) -> None:
    words += ["--seeds=2", "--trainer.max_epochs=1"]
    trained(words)
    runs = tmp_path / "runs" / "tiny"
    files = {file: file.read_bytes() for file in runs.glob("seed-*/*.*")}
    assert sum(file.suffix == ".ckpt" for file in files) == 4
    at("training_step", 0, fails)
    with pytest.raises(MemoryError):
        trained([*words, "--overwrite"])
    assert {file: file.read_bytes() for file in runs.glob("seed-*/*.*")} == files
    # The second seed fails before its first checkpoint; the earlier one is not resumed in its place.
    at("training_step", EPOCH, fails)
    with pytest.raises(MemoryError):
        trained([*words, "--overwrite"])
    first, second = sorted(runs.glob("seed-*"))
    assert {file.name for file in first.glob("*.ckpt")} == {"best.ckpt", "last.ckpt"}
    assert not list(second.glob("*.ckpt"))


def test_a_finished_run_goes_on_for_more_epochs(tmp_path: Path, words: list[str]) -> None:
    trained(words)
    folder = tmp_path / "runs" / "tiny"
    (folder / ".0123.partial").touch()  # of a process that was killed
    longer = [*words, "--resume", "--trainer.max_epochs=3"]
    trained(longer)
    assert steps(folder) == 3 * EPOCH
    assert not list(folder.glob(".*"))
    with pytest.raises(ConfigError, match=r"give more epochs \(trainer.max_epochs\)"):
        trained(longer)
