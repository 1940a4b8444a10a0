"""GRPO with TRL on a tiny policy: 20 steps, rewarded by a tiny evaluator."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from embedded import Sample

from learnedgec.applications.reward import reward

trl = pytest.importorskip("trl", reason="TRL is not installed (make test-trl)")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_grpo_runs_on_a_learned_reward(
    tmp_path: Path, tiny_evaluator: Path, tiny_causal: Path, sample: Sample
) -> None:
    from datasets import Dataset
    from transformers import AutoTokenizer

    judge = reward(f"some(model={str(tiny_evaluator)!r})", floor=-1.0, watch="edit-count")
    calls: list[list[float]] = []

    def rewards(completions: list[str], source: list[str], **columns: Any) -> list[float]:
        values = judge(completions=completions, source=source, **columns)
        calls.append(values)
        return values

    data = Dataset.from_dict(
        {
            "prompt": [f"Correct: {source}\n" for source in sample.sources],
            "source": list(sample.sources),
        }
    )
    tokenizer = AutoTokenizer.from_pretrained(tiny_causal, padding_side="left")
    tokenizer.pad_token = tokenizer.eos_token
    trainer = trl.GRPOTrainer(
        model=str(tiny_causal),
        processing_class=tokenizer,
        reward_funcs=rewards,
        args=trl.GRPOConfig(
            output_dir=str(tmp_path / "policy"),
            max_steps=20,
            per_device_train_batch_size=8,
            num_generations=4,
            max_completion_length=24,
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
    assert len(judge.history) == len(calls) >= 20
    # The metric that the policy is not trained on stands beside the reward in the trainer's log.
    steps = [entry for entry in trainer.state.log_history if "reward" in entry]
    assert len(steps) == 20
    assert all(
        {"some/score", "some/floored", "edit-count/watched"} <= entry.keys() for entry in steps
    )
    assert any(len(set(values)) > 1 for values in calls)
