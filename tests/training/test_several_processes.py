"""Two processes train one model: each has half of the examples, and one package comes of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from learnedgec.cli.main import main
from learnedgec.models.packages import check_package

CONFIG = """
name: shared
seed_everything: 3
model:
  encoder: {encoder}
  learning_rate: 5.0e-3
  heads:
    grammaticality: {{input: hypothesis}}
data:
  ratings: [sample]
  batch_size: 16
trainer:
  max_epochs: 1
  accelerator: cpu
"""
# Lightning starts the second process by the command of the first.
PROGRAM = "from learnedgec.cli.main import run\n\nif __name__ == '__main__':\n    run()\n"


@pytest.mark.slow
def test_two_processes_train_one_evaluator(
    tmp_path: Path,
    tiny_encoder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "config.yaml").write_text(CONFIG.format(encoder=tiny_encoder))
    (tmp_path / "program.py").write_text(PROGRAM)
    words = ["train", "--config", str(tmp_path / "config.yaml"), "--quiet"]
    alone, together = tmp_path / "1", tmp_path / "2"
    for folder in (alone, together):
        folder.mkdir()
    monkeypatch.chdir(alone)
    assert main(words) == 0
    assert capsys.readouterr().out.count("grammaticality") == 2
    shared = ["--trainer.devices", "2", "--trainer.strategy", "ddp"]
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py"), *words, *shared],
        cwd=together,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # The first process alone prints.
    assert done.stdout.count("grammaticality") == 2
    steps = {
        devices: torch.load(folder / "runs" / "shared" / "best.ckpt", weights_only=True)[
            "global_step"
        ]
        for devices, folder in ((1, alone), (2, together))
    }
    # 285 examples in batches of 16: 18 steps, or 9 of each of two processes.
    assert steps == {1: 18, 2: 9}
    check_package(together / "checkpoints" / "shared")
