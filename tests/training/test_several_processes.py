"""Several processes train one model; there may be fewer batches than processes."""

from __future__ import annotations

import csv
import multiprocessing
import os
import socket
from pathlib import Path

import pytest
import tiny
import torch
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


def train_as(rank: int, port: int, folder: Path, words: list[str]) -> None:
    """Train as the process of this number of two, as a cluster starts them."""
    torch.set_num_threads(1)  # OpenMP's other threads are not in a copy of a process
    os.chdir(folder)
    os.environ |= {"LOCAL_RANK": str(rank), "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    raise SystemExit(main([*words, "--trainer.devices", "2", "--trainer.strategy", "ddp"]))


@pytest.mark.slow
def test_two_processes_with_one_batch_train_what_one_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
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
    assert capfd.readouterr().out.count("grammaticality") == 2
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    # Copies of this process need not import torch again, but may not use a GPU.
    context = multiprocessing.get_context("spawn" if torch.cuda.is_available() else "fork")
    processes = [
        context.Process(target=train_as, args=(rank, port, together, words)) for rank in (0, 1)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=300)
    printed = capfd.readouterr()
    assert [process.exitcode for process in processes] == [0, 0], printed.err
    # The first process alone prints.
    assert printed.out.count("grammaticality") == 2
    check_package(together / "checkpoints" / "shared")
    logs = []
    for folder in (alone, together):
        (log,) = folder.rglob("metrics.csv")
        logs.append([*csv.DictReader(log.read_text().splitlines())])
    assert len(logs[0]) == len(logs[1]) == 4  # two epochs, each with a step and an evaluation
    for row, other in zip(*logs, strict=True):
        assert row.keys() == other.keys()
        for key in filter(row.get, row.keys() - {"train/tokens_per_second"}):
            assert float(other[key]) == pytest.approx(float(row[key]), abs=1e-4), key
