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
from training_files import arguments, pairs_file
from transformers import BertModel

from learnedgec.cli.main import main
from learnedgec.evaluators.package import check_package
from learnedgec.training.pairs import RankedPair


def train_as(rank: int, port: int, folder: Path, words: list[str]) -> None:
    """Train as the process of this number of two, as a cluster starts them."""
    torch.set_num_threads(1)  # OpenMP's other threads are not in a copy of a process
    os.chdir(folder)
    os.environ |= {"LOCAL_RANK": str(rank), "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    raise SystemExit(main([*words, "--trainer.devices", "2", "--trainer.strategy", "ddp"]))


# In one batch, which both processes have, and in four, of which one process takes two for each step.
@pytest.mark.slow
@pytest.mark.parametrize(("batch_size", "batches"), [(128, 1), (24, 2)])
def test_two_processes_train_what_one_trains(
    batch_size: int,
    batches: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    rows = [
        f"he go {n} .,he {verb} {n} .,{n % 7 + better},{better}"
        for n in range(40)
        for better, verb in enumerate(("going", "goes"))
    ]
    pairs = []
    for n in range(40):
        right, wrong = f"He goes {n} .", f"he going {n} ."
        pairs.append(RankedPair(f"he go {n} .", right, wrong, n % 5, correct=right))
    # Without dropout, which every process draws on its own.
    encoder = tiny.save_encoder(tmp_path / "encoder")
    dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = tiny.configuration(len(tiny.tokenizer()), **dropout)
    BertModel(config).save_pretrained(encoder)
    ranking = ["sigmoid", "logistic", "difference", "detection", "capitals"]
    heads = {name: {"objective": name} for name in ranking}
    heads["logistic"]["input"] = "pair"
    heads |= {"grammaticality": {}, "fluency": {}}
    data = {
        "ratings": ["ratings.csv"],
        "pairs": {name: ["pairs.jsonl"] for name in ranking},
        "batch_size": batch_size,
    }
    model = {"encoder": encoder, "learning_rate": 1e-3, "dropout": 0.0, "heads": heads}
    epochs = {"max_epochs": 2, "log_every_n_steps": 1}
    places = ["--output", "checkpoints", "--runs", "runs", "--quiet"]
    words = ["train", *arguments(tmp_path, data, *places, trainer=epochs, **model)]
    alone, together = tmp_path / "1", tmp_path / "2"
    for folder in (alone, together):
        folder.mkdir()
        columns = "source,hypothesis,grammaticality,fluency"
        (folder / "ratings.csv").write_text("\n".join([columns, *rows]))
        pairs_file(folder, pairs)
    monkeypatch.chdir(alone)
    assert main([*words, "--trainer.accumulate_grad_batches", str(batches)]) == 0
    out = capfd.readouterr().out
    assert out.count(" dev ") == 7
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
    assert printed.out.count(" test ") == out.count(" test ") >= 7
    check_package(together / "checkpoints" / "tiny")
    logs = []
    for folder in (alone, together):
        (log,) = folder.rglob("metrics.csv")
        logs.append([*csv.DictReader(log.read_text().splitlines())])
    measured = [[row for row in log if row["dev/score"]] for log in logs]
    assert [len(rows) for rows in measured] == [2, 2]
    for row, other in zip(*measured, strict=True):
        keys = [key for key in row if key.startswith("dev/")]
        assert len(keys) == 2 + 2 * 7
        expected = [float(row[key]) for key in keys]
        assert [float(other[key]) for key in keys] == pytest.approx(expected, rel=1e-5, abs=1e-5)
