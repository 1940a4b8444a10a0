"""GRPO with TRL on a tiny policy: in 20 steps, rewarded by a tiny evaluator, it improves."""

from __future__ import annotations

import warnings
from pathlib import Path
from statistics import fmean

import pytest

from learnedgec.applications.reward import reward

trl = pytest.importorskip("trl", reason="TRL is not installed (make test-trl)")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_grpo_learns_from_a_reward_although_nothing_is_a_correction_yet(
    tmp_path: Path, tiny_evaluator: Path, tiny_causal: Path
) -> None:
    from datasets import Dataset
    from transformers import AutoTokenizer

    judge = reward(
        f"some(model={str(tiny_evaluator)!r})", centre=True, floor=-1.0, watch="edit-count"
    )
    source = "He go to school ."
    data = Dataset.from_dict({"prompt": [f"Correct: {source}\n"] * 64, "source": [source] * 64})
    tokenizer = AutoTokenizer.from_pretrained(tiny_causal, padding_side="left")
    tokenizer.pad_token = tokenizer.eos_token
    trainer = trl.GRPOTrainer(
        model=str(tiny_causal),
        processing_class=tokenizer,
        reward_funcs=judge,
        args=trl.GRPOConfig(
            output_dir=str(tmp_path / "policy"),
            max_steps=20,
            per_device_train_batch_size=32,
            num_generations=32,
            num_iterations=2,  # in the first pass over fresh completions the loss is 0 by definition
            max_completion_length=12,
            learning_rate=3e-2,
            seed=1,
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            bf16=False,
            disable_tqdm=True,
        ),
        train_dataset=data,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer.train()
    assert trainer.state.global_step == 20
    # The metric that the policy is not trained on stands beside the reward in the trainer's log.
    steps = [entry for entry in trainer.state.log_history if "reward" in entry]
    assert len(steps) == len(judge.history) == 10
    assert all(
        {f"{judge.__name__}/score", f"{judge.__name__}/floored", "edit-count/watched"}
        <= entry.keys()
        for entry in steps
    )
    # Random words are no corrections, so every completion gets the floor minus its distance, from which the
    # policy learns.
    assert all(entry[f"{judge.__name__}/floored"] == 1.0 for entry in steps)
    for value in ("reward_std", "loss", "grad_norm"):
        assert all(abs(entry[value]) > 0.01 for entry in steps), value
    earned = [entry["reward"] for entry in steps]
    # With three seeds it earned .04 to .10 more; steps at the beginning differ by .02.
    assert fmean(earned[-3:]) > fmean(earned[:3]) + 0.02
