"""Several processes train one model; there may be fewer batches than processes."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiny
from transformers import BertModel

from learnedgec.cli.main import main
from learnedgec.evaluators.packages import check_package

CONFIG = """
name: shared
seed_everything: 3
model:
  encoder: {encoder}
  learning_rate: 1.0e-3
  dropout: 0.0
  heads:
    grammaticality: {{input: hypothesis}}
data:
  ratings: [ratings.csv]
  batch_size: 64
trainer:
  max_epochs: 2
  log_every_n_steps: 1
  accelerator: cpu
"""
# Lightning starts the other processes by the command of the first.
PROGRAM = "from learnedgec.cli.main import run\n\nif __name__ == '__main__':\n    run()\n"


@pytest.mark.slow
def test_two_processes_with_one_batch_train_what_one_trains(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    rows = [f"he go {n} .,he goes {n} .,{n % 7}" for n in range(60)]
    alone, together = tmp_path / "1", tmp_path / "2"
    for folder in (alone, together):
        folder.mkdir()
        (folder / "ratings.csv").write_text("\n".join(["source,hypothesis,grammaticality", *rows]))
    # Without dropout, which every process draws on its own.
    encoder = tiny.save_encoder(tmp_path / "encoder")
    dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = tiny.configuration(len(tiny.tokenizer()), **dropout)
    BertModel(config).save_pretrained(encoder)
    (tmp_path / "config.yaml").write_text(CONFIG.format(encoder=encoder))
    words = ["train", "--config", str(tmp_path / "config.yaml"), "--quiet"]
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
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    # The first process alone prints.
    assert done.stdout.count("grammaticality") == 2
    check_package(together / "checkpoints" / "shared")
    logs = []
    for folder in (alone, together):
        (log,) = folder.rglob("metrics.csv")
        logs.append([*csv.DictReader(log.read_text().splitlines())])
    assert len(logs[0]) == len(logs[1]) == 4  # two epochs, each with a step and an evaluation
    for row, other in zip(*logs, strict=True):
        assert row.keys() == other.keys()
        for key in filter(row.get, row):
            assert float(other[key]) == pytest.approx(float(row[key]), abs=1e-4), key
