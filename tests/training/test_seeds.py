"""Several seeds side by side, and the mean of their weights."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from embedded import SAMPLE_FOLDER
from training_files import arguments, trained

from learnedgec.cli.train import _rows
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.evaluators.packages import check_package
from learnedgec.training import seeds


def words(folder: Path, encoder: Path, *extra: str) -> list[str]:
    model = {"encoder": encoder, "learning_rate": 5e-3, "heads": {"fluency": {}}}
    settings = {"model": model, "data": {"ratings": [SAMPLE_FOLDER]}, "trainer": {"max_steps": 3}}
    return arguments(folder, settings, "--average", *extra)


def as_a_pool(function: Any, items: Sequence[int], *rest: Any, **options: Any) -> list[Any]:
    """Send what a pool would send to its processes, and work here: a process takes seconds to start."""
    sent = pickle.loads(pickle.dumps(function))
    threads = torch.get_num_threads()
    results = [pickle.loads(pickle.dumps(sent(item))) for item in items]
    torch.set_num_threads(threads)
    return results


def test_the_mean_of_seeds_that_were_trained_side_by_side(
    tmp_path: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seeds, "parallel_map", as_a_pool)
    result = trained(words(tmp_path, tiny_encoder, "--seeds", "2", "--jobs", "2"))
    folders = [tmp_path / "runs" / "tiny" / f"seed-{seed}" / "tiny" for seed in (2, 3)]
    first, second, mean = (
        Evaluator.load(str(name)).model.state_dict() for name in (*folders, result.package)
    )
    assert any(not torch.equal(first[key], second[key]) for key in first)
    for key, tensor in mean.items():
        assert torch.equal(tensor, ((first[key] + second[key]) / 2).half().float())
    manifest, members = check_package(result.package), [check_package(path) for path in folders]
    assert manifest["seed"] == [2, 3]
    assert manifest["results"] == result.results
    assert result.seeds == {member["seed"]: member["results"] for member in members}
    digests = [member["files"]["model.safetensors"] for member in members]
    assert [row["sha256"] for row in manifest["averaged"]] == digests
    card = (result.package / "README.md").read_text()
    assert f"- Mean of the weights of `seed 2` ({digests[0][:12]}…), `seed 3` (" in card
    assert "- Seed: 2, 3\n" in card
    assert "seeds: 2" in (result.package / "training.yaml").read_text()
    for row in _rows(result):
        assert row["average"] == result.results[row["part"]]["fluency"]["pearson"]
