"""NaN is never the best: what diverges ends, and what has no result is not 0."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from training_files import arguments, pairs_file, ranked_pairs, trained, training_data

from learnedgec.errors import ConfigError, DivergedError
from learnedgec.training.module import EvaluatorModule
from learnedgec.training.objectives import find_objective, measurable_heads
from learnedgec.training.run import read_history
from learnedgec.training.settings import read_settings
from learnedgec.tuning.sweep import SweepPlan, sweep


def rated(folder: Path, ratings: Any = lambda n: n % 4) -> Path:
    """Write forty ratings of as many sources."""
    rows = [f"he go {n} .,he goes {n} .,{ratings(n)}" for n in range(40)]
    (folder / "ratings.csv").write_text("\n".join(["source,hypothesis,fluency", *rows]) + "\n")
    return folder / "ratings.csv"


@pytest.fixture
def words(tmp_path: Path, tiny_encoder: Path) -> list[str]:
    """Return the arguments of a run of three epochs on ratings."""
    three = ["--trainer.max_epochs=3", "--trainer.num_sanity_val_steps=0"]
    model = {"encoder": tiny_encoder, "heads": {"fluency": {}}, "learning_rate": 1e-3}
    return arguments(tmp_path, {"ratings": [rated(tmp_path)]}, *three, **model)


def learned_number(words: list[str]) -> int:
    """Return the number of a source in the training part."""
    return int(next(iter(training_data(words).load()["train"])).source.split()[2])


@pytest.mark.parametrize("kind", ["ratings", "pairs"])
def test_a_run_that_diverges_at_once_writes_no_package(
    tmp_path: Path, tiny_encoder: Path, words: list[str], kind: str
) -> None:
    if kind == "pairs":
        heads = {"quality": {"objective": "logistic"}}
        data = {"pairs": {"quality": [pairs_file(tmp_path, ranked_pairs(60))]}}
        words = arguments(tmp_path, data, encoder=tiny_encoder, heads=heads)
    far = ["--model.learning_rate=1e30", "--trainer.gradient_clip_val=null"]
    with pytest.raises(
        DivergedError, match=r"NaN or infinite at step \d+, .* lower model.learning_rate"
    ):
        trained([*words, *far])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("chosen_by", ["score", "loss"])
def test_what_diverges_later_leaves_its_best_epoch(
    tmp_path: Path, words: list[str], monkeypatch: pytest.MonkeyPatch, chosen_by: str
) -> None:
    one = trained([*words, "--name=one", "--model.schedule=constant", "--trainer.max_epochs=1"])
    step = EvaluatorModule.training_step

    def diverging(self: EvaluatorModule, batch: Any, index: int) -> torch.Tensor:
        if self.current_epoch:
            torch.nn.init.constant_(self.model.heads["fluency"].weight, torch.nan)
        return step(self, batch, index)

    monkeypatch.setattr(EvaluatorModule, "training_step", diverging)
    by = {"score": [], "loss": ["--best.monitor=dev/loss", "--best.mode=min"]}[chosen_by]
    result = trained([*words, "--name=late", "--model.schedule=constant", *by])
    assert re.match(
        r"The loss .* at step \d+, .* The best checkpoint before is packaged\.$", result.warnings[0]
    )
    first, late = (load_file(each.package / "model.safetensors") for each in (one, result))
    # The warm-up of three epochs is longer.
    assert first.keys() == late.keys()
    assert all(tensor.isfinite().all() for tensor in late.values())


def test_a_measure_without_a_result_is_not_zero(tmp_path: Path, words: list[str]) -> None:
    other = learned_number(words)
    rated(tmp_path, lambda n: 1 if n == other else 4)
    result = trained(words)
    assert result.results["dev"]["fluency"]["pearson"] is None
    assert result.warnings[0].startswith("fluency has no result on the dev part")
    assert result.folder is not None
    assert not any("dev/score" in row for row in read_history(result.folder))
    settings = read_settings([*words, "--name=swept"])
    with pytest.raises(ConfigError, match="the dev part can measure none of the heads fluency"):
        sweep(settings, {"learning_rate": "1e-3,2e-3"}, SweepPlan(2), progress=False)


def test_a_head_that_the_dev_part_cannot_measure_leaves_the_score_to_others(
    tmp_path: Path, words: list[str]
) -> None:
    other = learned_number(words)
    rows = [f"he go {n} .,he goes {n} .,{n % 4},{1 + (n == other)}" for n in range(40)]
    text = "\n".join(["source,hypothesis,fluency,style", *rows]) + "\n"
    (tmp_path / "ratings.csv").write_text(text)
    result = trained([*words, "--model.heads={fluency: {}, style: {}}"])
    assert result.folder is not None
    scores = [row for row in read_history(result.folder) if "dev/score" in row]
    assert scores
    assert all(row["dev/score"] == pytest.approx(row["dev/fluency/pearson"]) for row in scores)


def test_a_sweep_goes_on_without_the_trial_that_diverges(tmp_path: Path, words: list[str]) -> None:
    words += ["--trainer.gradient_clip_val=null", "--trainer.max_epochs=1"]
    space = {"learning_rate": "1e30,2e-3"}
    plan = SweepPlan(3, pruner="none")
    result = sweep(read_settings(words), space, plan, progress=False)
    states = {
        float(trial.parameters["model.learning_rate"]): trial.state for trial in result.trials
    }
    assert states[1e30] == "failed"
    assert float(result.best.parameters["model.learning_rate"]) == 2e-3
    again = sweep(read_settings([*words, "--resume"]), space, plan, progress=False)
    assert again.best == result.best


def test_which_heads_some_examples_can_measure(tmp_path: Path, words: list[str]) -> None:
    dev = training_data(words).load()["dev"]
    goals = {
        "fluency": find_objective("regression")(),
        "style": find_objective("regression")(),
        "quality": find_objective("logistic")(),
    }
    assert measurable_heads(goals, dev) == {"fluency"}
