"""What a training run refuses: to replace a user's folder, to mix runs, to learn from nothing or leaks."""

from __future__ import annotations

import csv
import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from embedded import SAMPLE_FOLDER
from training_files import arguments, pairs_file, trained

from learnedgec.data.catalog.leakage import fingerprint, hashes_of
from learnedgec.errors import ConfigError, LeakageError, ModelError
from learnedgec.evaluators.evaluator import Evaluator, HeadConfig
from learnedgec.evaluators.loading import load_pretrained
from learnedgec.training import data as training_data_module
from learnedgec.training.data import DataSettings, TrainingData
from learnedgec.training.module import EvaluatorModule, HeadOptions
from learnedgec.training.pairs import RankedPair
from learnedgec.training.pairs.corrections import ImpactPairs
from learnedgec.training.start import ModelSettings


@pytest.fixture
def words(tmp_path: Path, tiny_encoder: Path) -> list[str]:
    """Return the arguments of a run that learns from thirty pairs."""
    pairs = [RankedPair(f"dog {n}", f"the dog {n}", f"dog the {n}") for n in range(30)]
    data = {"pairs": {"quality": [pairs_file(tmp_path, pairs)]}}
    heads = {"quality": {"objective": "logistic"}}
    return arguments(tmp_path, data, "--overwrite", encoder=tiny_encoder, heads=heads)


def test_a_folder_that_is_no_package_is_not_replaced(tmp_path: Path, words: list[str]) -> None:
    notes = tmp_path / "out" / "tiny" / "notes.txt"
    notes.parent.mkdir(parents=True)
    notes.write_text("mine")
    with pytest.raises(ConfigError, match="exists and is not an evaluator package"):
        trained(words)
    assert notes.read_text() == "mine"


def test_a_name_of_the_installation_is_refused_where_it_would_hide_it(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [*words, "--name=joint-mpnet-3", "--trainer.limit_train_batches=1"]
    with pytest.raises(ConfigError, match="joint-mpnet-3 is an evaluator of the installation"):
        trained([*words, "--output=checkpoints"])
    assert trained([*words, "--output=elsewhere"]).package == Path("elsewhere/joint-mpnet-3")


def test_a_refused_run_removes_no_checkpoint(words: list[str], tmp_path: Path) -> None:
    before = tmp_path / "runs" / "tiny" / "best.ckpt"
    before.parent.mkdir(parents=True)
    before.touch()
    with pytest.raises(ConfigError, match="ended before an evaluation"):
        trained([*words, "--trainer.max_epochs=0"])
    assert before.exists()


@pytest.mark.parametrize("length", ["max_steps=1", "max_epochs=1"])
@pytest.mark.parametrize("interval", ["epoch", "batches", "a share"])
def test_the_end_of_training_is_evaluated_whatever_the_interval(
    words: list[str], length: str, interval: str
) -> None:
    never = {
        "epoch": ["--trainer.check_val_every_n_epoch=50"],
        "batches": [
            "--trainer.check_val_every_n_epoch=null",
            "--trainer.val_check_interval=1000",
        ],
        "a share": ["--trainer.val_check_interval=0.7"],
    }[interval]
    result = trained([*words, f"--trainer.{length}", *never])
    assert set(result.results) == {"dev", "test"}


def test_what_a_run_may_choose_by_is_logged_also_by_the_users_logger(
    words: list[str], tmp_path: Path, tiny_encoder: Path
) -> None:
    logger = ["--trainer.logger", "CSVLogger", "--trainer.logger.save_dir", str(tmp_path / "mine")]
    trained([*words, "--trainer.log_every_n_steps", "1", *logger])
    (log,) = (tmp_path / "runs").rglob("metrics.csv")
    (mine,) = (tmp_path / "mine").rglob("metrics.csv")
    assert mine.read_text() == log.read_text()
    (row,) = (row for row in csv.DictReader(log.read_text().splitlines()) if row["dev/loss"])
    assert float(row["dev/loss"]) == pytest.approx(float(row["dev/quality/loss"]))
    module = EvaluatorModule(
        ModelSettings({"quality": HeadOptions(objective="logistic")}, str(tiny_encoder))
    )
    assert set(module.logged) == {name for name in row if name.startswith("dev/")}
    # Only the checkpoint that a run continues from has what the optimizer needs.
    best = torch.load(tmp_path / "runs" / "tiny" / "best.ckpt", weights_only=True)
    assert "optimizer_states" not in best


def test_a_checkpoint_that_could_run_code_is_refused(words: list[str], tmp_path: Path) -> None:
    class Code:
        def __reduce__(self) -> tuple[Any, ...]:
            return open, (str(tmp_path / "ran"), "w")

    words += ["--last.every_n_train_steps", "1"]
    trained(words)
    last = tmp_path / "runs" / "tiny" / "last.ckpt"
    torch.save(torch.load(last, weights_only=True) | {"code": Code()}, last)
    more = [*words, "--resume", "--trainer.max_epochs", "2"]
    with pytest.raises(ConfigError, match=r"last\.ckpt is damaged, or holds more than tensors"):
        trained(more)
    assert not (tmp_path / "ran").exists()
    last.write_bytes(last.read_bytes()[:5000])
    with pytest.raises(ConfigError, match=r"last\.ckpt is damaged"):
        trained(more)


@pytest.mark.parametrize(
    ("kind", "method", "message"),
    [
        # Pairs are made before Lightning looks at signals, and that may take hours.
        (TrainingData, "prepare_data", "^interrupted before the first checkpoint; nothing was"),
        (EvaluatorModule, "training_step", "^interrupted before the first checkpoint"),
        # There is a checkpoint.
        (EvaluatorModule, "on_validation_epoch_end", "with --resume continues"),
    ],
)
def test_an_interruption_is_the_callers_and_leaves_ctrl_c_as_it_was(
    words: list[str], monkeypatch: pytest.MonkeyPatch, kind: type, method: str, message: str
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, method, interrupt)
    before = signal.getsignal(signal.SIGINT)
    more = ["--last.every_n_train_steps", "1", "--trainer.num_sanity_val_steps", "0"]
    with pytest.raises(KeyboardInterrupt, match=message):
        trained([*words, *more])
    assert signal.getsignal(signal.SIGINT) is before


def test_a_tokenizer_in_python_serves_all_but_detection(words: list[str], tmp_path: Path) -> None:
    encoder = str(tiny.save_encoder_of_bytes(tmp_path / "bytes"))
    result = trained([*words, "--model.encoder", encoder])
    predicted = Evaluator.load(str(result.package)).predict(["a"], ["the dog"])["quality"]
    assert np.isfinite(predicted).all()
    heads = ["--model.heads", "{quality: {objective: detection}}"]
    with pytest.raises(ConfigError, match="does not give the positions of its tokens"):
        trained([*words, "--model.encoder", encoder, *heads])


def test_what_mistakes_are_learnt_from_is_checked_before_pairs_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = ImpactPairs([str(SAMPLE_FOLDER / "gold.m2")], encoder="unused", annotator="en-ewt-sm")
    checked: list[str] = []

    def refuse(texts: Any, name: str) -> None:
        checked.extend(texts)
        raise LeakageError(f"{name} leaks")

    monkeypatch.setattr(training_data_module, "check_leakage", refuse)
    # The encoder does not exist: nothing may be measured before.
    with pytest.raises(LeakageError, match=r"data\.pairs \(.*gold\.m2\) leaks"):
        TrainingData(DataSettings(pairs={"quality": [source]}), str(tmp_path)).load()
    assert len(checked) > 72


def test_pairs_that_were_cut_short_are_made_again(tmp_path: Path, tiny_encoder: Path) -> None:
    from learnedgec.runtime.runtime import Runtime

    source = ImpactPairs(
        [str(SAMPLE_FOLDER / "gold.m2")], encoder=str(tiny_encoder), edits="m2", number=60
    )
    first, _ = source.load(tmp_path, Runtime())
    place = source.place(tmp_path)
    for name in ("pairs.jsonl", "store.sqlite"):
        file = place / name
        file.write_bytes(file.read_bytes()[:2000])
    with pytest.warns(UserWarning, match=r"renamed to store\.damaged-1\.sqlite"):
        again, _ = source.load(tmp_path, Runtime())
    assert again == first


def test_another_kind_of_model_is_refused(tiny_encoder: Path) -> None:
    with pytest.raises(ModelError, match=r"lacks the weights .* another kind of model"):
        load_pretrained(str(tiny_encoder), "AutoModelForMaskedLM")


def test_layers_are_left_out(tiny_encoder: Path, tiny_evaluator: Path) -> None:
    heads = {"a": HeadOptions()}
    for encoder in (tiny_encoder, tiny_evaluator):
        for layer, depth in ((None, 2), (1, 1)):
            module = EvaluatorModule(ModelSettings(heads, str(encoder), layer=layer))
            assert len(module.model.encoder.encoder.layer) == depth
    with pytest.raises(ConfigError, match=r"model\.pooling: .* has no pooler; name mean\."):
        EvaluatorModule(ModelSettings(heads, str(tiny_evaluator), pooling="pooler"))


def test_only_heads_of_the_same_kind_are_continued(tmp_path: Path) -> None:
    ranks, capitals = HeadOptions(objective="logistic"), HeadOptions(objective="capitals", layer=1)
    # What each head was, and what it is to be.
    table = {
        "rated": (HeadConfig("hypothesis", 2.8, 0.5), HeadOptions()),
        "ranking": (HeadConfig("pair"), HeadOptions(input="pair", objective="sigmoid")),
        "other-input": (HeadConfig("pair", 2.8, 0.5), HeadOptions()),
        "now-rated": (HeadConfig("hypothesis"), HeadOptions()),
        "now-ranking": (HeadConfig("hypothesis", 2.8, 0.5), ranks),
        "detecting": (HeadConfig("hypothesis", reads="tokens"), ranks),
        "capitals": (HeadConfig("hypothesis", reads="capitals", layer=1), capitals),
        "other-layer": (HeadConfig("hypothesis", reads="capitals", layer=2), capitals),
    }
    heads = {name: head for name, (head, _) in table.items()}
    folder = tiny.save_evaluator(tmp_path / "first", seed=1, heads=heads)
    options = {name: wanted for name, (_, wanted) in table.items()} | {"new": HeadOptions()}
    module = EvaluatorModule(ModelSettings(options, encoder=str(folder)))
    earlier = Evaluator.load(str(folder)).model
    for name, head in heads.items():
        now = replace(module.model.config.head(name), objective=None)
        continues = name in ("rated", "ranking", "capitals")
        weights = [model.heads[name].weight for model in (module.model, earlier)]
        assert torch.equal(*weights) == continues
        assert now == head if continues else (now.offset, now.scale) == (0, 1)
    assert module.start.notice == (
        "Continuing first; heads that continue: rated, ranking, capitals; heads that start untrained: "
        "other-input, now-rated, now-ranking, detecting, other-layer, new."
    )


def test_a_head_named_as_a_sum_begins_as_its_heaviest_part(tmp_path: Path) -> None:
    heads = {"likelihood": HeadConfig(scale=0.2), "meaning": HeadConfig("pair")}
    sums: Any = {
        "quality": {"likelihood": 4.0, "meaning": {"weight": 9.0, "below": 1.0}},
        "preference": {"likelihood": 4.0, "meaning": 0.1},
    }
    folder = tiny.save_evaluator(tmp_path / "first", seed=1, heads=heads, sums=sums)
    ranks = {"quality": "hypothesis", "preference": "pair"}
    options: Any = {
        name: HeadOptions(input=side, objective="logistic") for name, side in ranks.items()
    }
    module = EvaluatorModule(ModelSettings(options, encoder=str(folder)))
    texts = ["He go home .", "He goes home ."]
    earlier, now = (
        Evaluator(model.eval(), module.tokenizer).predict(texts, texts, [head])[head]
        for model, head in (
            (Evaluator.load(str(folder)).model, "likelihood"),
            (module.model, "quality"),
        )
    )
    assert now == pytest.approx(4 * earlier, rel=1e-5)
    assert "heads that continue: quality; heads that start untrained: preference" in str(
        module.start.notice
    )


def test_what_was_not_checked_for_leaks_cannot_be_continued_unnoticed(
    words: list[str], tmp_path: Path
) -> None:
    first = trained([*words, "--data.check_leakage", "false"])
    manifest = json.loads((first.package / "manifest.json").read_text())
    assert manifest["data"]["check_leakage"] is False
    assert "**not** checked" in (first.package / "README.md").read_text()
    again = [*words, "--name", "again", "--model.encoder", str(first.package)]
    with pytest.raises(LeakageError, match="was not checked against SEEDA"):
        trained(again)
    trained([*again, "--data.check_leakage", "false"])


@pytest.mark.parametrize("tokenise", [None, "spacy"])
def test_raw_text_is_tokenised_or_told(tokenise: str | None, tmp_path: Path) -> None:
    rows = [f"He go to {n} homes.,He goes to {n} homes.,{n % 5}" for n in range(1, 31)]
    file = tmp_path / "raw.csv"
    file.write_text("\n".join(["source,hypothesis,fluency", *rows]) + "\n")
    data = TrainingData(DataSettings(ratings=[str(file)], tokenise=tokenise))  # type: ignore[arg-type]
    texts = {text for row in data.load()["train"] for text in row.texts[0]}
    assert all(text.endswith(" .") for text in texts) == (tokenise is not None)
    assert [("set data.tokenise to spacy" in notice) for notice in data.notices()] == (
        [] if tokenise else [True]
    )


def test_ratings_without_a_source_teach_heads_that_read_none(
    tmp_path: Path, tiny_encoder: Path
) -> None:
    rows = [f"he goes {n} .,{n % 4},text {n}" for n in range(30)]
    (tmp_path / "mine.csv").write_text("\n".join(["hypothesis,adequacy,group", *rows, ""]))
    data = {"ratings": [tmp_path / "mine.csv"]}
    words = arguments(tmp_path, data, encoder=tiny_encoder)
    head = "{adequacy: {input: %s}}"
    with pytest.raises(ConfigError, match=r"model\.heads\.adequacy reads pairs .* have no source"):
        trained([*words, "--model.heads", head % "pair"])
    result = trained([*words, "--model.heads", head % "hypothesis", "--name", "other"])
    assert list(result.results["dev"]) == ["adequacy"]


def test_the_sentences_of_a_run_are_known_but_for_its_test_part() -> None:
    data = TrainingData(DataSettings(ratings=[str(SAMPLE_FOLDER)]))
    learned = hashes_of(data.hashes())
    for part, examples in data.load().items():
        sources = {source for example in examples for source, _ in example.texts}
        prints = set(filter(None, map(fingerprint, sources)))
        assert prints
        assert prints.isdisjoint(learned) if part == "test" else prints <= learned
