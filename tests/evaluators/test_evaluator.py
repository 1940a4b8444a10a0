"""Packages: found by name, checked, loaded alone; SOME from a package or from three models."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import tiny
import torch
from safetensors.torch import load_file
from transformers import BertForSequenceClassification

from learnedgec.errors import (
    InputError,
    LengthError,
    ModelError,
    PackageError,
    UnknownNameError,
)
from learnedgec.evaluators import evaluator as evaluator_module
from learnedgec.evaluators import inference
from learnedgec.evaluators.evaluator import Evaluator, EvaluatorModel
from learnedgec.evaluators.inference import TruncationWarning
from learnedgec.evaluators.locations import find_evaluator, list_evaluators, open_package
from learnedgec.evaluators.package import check_package
from learnedgec.evaluators.precision import unpack
from learnedgec.metrics.preference import Preference
from learnedgec.metrics.some import Some
from learnedgec.runtime.runtime import Runtime

SOURCES = ["He go home .", "She have a dog ."]
HYPOTHESES = ["He goes home .", "She has a dog ."]
NEEDED = ("config.json", "model.safetensors", "tokenizer_config.json")


@pytest.fixture
def copy(tiny_evaluator: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny package that a test may damage."""
    return Path(shutil.copytree(tiny_evaluator, tmp_path / "copy"))


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list to which each input is added that is encoded."""
    encoded: list[object] = []

    def counting(forward: Any, tokenizer: Any, items: Any, *rest: Any, **options: Any) -> Any:
        encoded.extend(items)
        return original(forward, tokenizer, items, *rest, **options)

    original = inference.run_distinct
    monkeypatch.setattr(inference, "run_distinct", counting)
    return encoded


@pytest.fixture
def fresh(tiny_evaluator: Path) -> Callable[[], Evaluator]:
    """Return a function that returns the evaluator as another process has it: with nothing in memory."""
    loaded = Evaluator.load(str(tiny_evaluator))
    return lambda: Evaluator(loaded.model, loaded.tokenizer, loaded.digest)


def test_found_by_name_and_by_directory(
    tiny_evaluator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_evaluator(str(tiny_evaluator)) == tiny_evaluator
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", str(tiny_evaluator.parent))
    assert find_evaluator("tiny") == tiny_evaluator
    assert list_evaluators()["tiny"] == tiny_evaluator
    with pytest.raises(
        UnknownNameError, match="no evaluator is named 'tinny'; did you mean 'tiny'"
    ):
        find_evaluator("tinny")


def test_a_package_of_4_bits_scores_what_its_rounded_model_scores(tmp_path: Path) -> None:
    folder = tiny.save_evaluator(tmp_path / "small", bits=4, width=128)
    manifest = check_package(folder)
    assert manifest["bits"] == 4
    assert "- Weights: 4 bits each in the encoder's matrices" in (folder / "README.md").read_text()
    evaluator = Evaluator.load(str(folder))
    torch.manual_seed(0)
    model = EvaluatorModel(evaluator.model.config)
    model.load_state_dict(unpack(load_file(folder / "model.safetensors")))
    expected = Evaluator(model.eval(), evaluator.tokenizer).predict(SOURCES, HYPOTHESES)
    for head, values in evaluator.predict(SOURCES, HYPOTHESES).items():
        assert values == pytest.approx(expected[head], abs=1e-6)


def test_a_package_is_loaded_as_transformers_loads_it(tmp_path: Path) -> None:
    folder = tiny.save_evaluator(tmp_path / "small", bits=4, width=128)
    before = torch.get_rng_state()
    loaded = Evaluator.load(str(folder)).model
    assert torch.equal(torch.get_rng_state(), before)
    slowly = EvaluatorModel.from_pretrained(folder)
    for kind in ("named_parameters", "named_buffers"):
        expected, tensors = dict(getattr(slowly, kind)()), dict(getattr(loaded, kind)())
        assert expected.keys() == tensors.keys()
        assert all(torch.equal(tensors[name], expected[name]) for name in expected)


def test_predictions_are_of_sequences_of_texts(tiny_evaluator: Path) -> None:
    evaluator = Evaluator.load(str(tiny_evaluator))
    expected = evaluator.predict(SOURCES, HYPOTHESES)
    columns = pandas.Series(SOURCES, index=range(1, 1 + len(SOURCES))), np.array(HYPOTHESES)
    for head, values in evaluator.predict(*columns).items():
        assert values.tolist() == expected[head].tolist()
    with pytest.raises(InputError, match="sources is the text 'He go"):
        evaluator.predict("He go .", "He goes .")
    with pytest.raises(InputError, match=r"hypotheses\[0\] is None; a text was expected"):
        evaluator.predict(["He go ."], [None])  # type: ignore[list-item]
    with pytest.raises(LengthError, match="sources has 1 sentence but hypotheses has 2"):
        evaluator.predict(["He go ."], ["He goes .", "He ."], ["fluency"])


def test_heads_read_what_they_say(tiny_evaluator: Path) -> None:
    evaluator = Evaluator.load(str(tiny_evaluator))
    first = evaluator.predict(SOURCES, HYPOTHESES)
    other = evaluator.predict(["Quite another source", ""], HYPOTHESES)
    assert first["fluency"] == pytest.approx(other["fluency"], abs=1e-6)
    assert np.abs(first["meaning"] - other["meaning"]).min() > 1e-4
    assert set(evaluator.predict(SOURCES, HYPOTHESES, ["meaning"])) == {"meaning"}
    assert set(evaluator.predict(SOURCES, HYPOTHESES, "meaning")) == {"meaning"}
    with pytest.raises(UnknownNameError, match="named 'meanin'; did you mean 'meaning'"):
        evaluator.predict(SOURCES, HYPOTHESES, ["meanin"])


def signed(**changes: Any) -> Callable[[Path], object]:
    """Return a function that changes a package's manifest."""
    return lambda package: tiny.sign(package, **changes)


def unlisted(name: str) -> Callable[[Path], object]:
    """Return a function that puts a file into a package, or takes one that is there out of its manifest."""

    def change(package: Path) -> None:
        listed = {path.name for path in package.glob("[!.]*")} - {"manifest.json", name}
        (package / name).touch()
        tiny.sign(package, *listed, files={})

    return change


def cut_weights(package: Path) -> None:
    os.truncate(package / "model.safetensors", 1000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda package: (package / "training.yaml").write_text("x"), "training.yaml was altered or"),
        (cut_weights, "model.safetensors was altered or truncated"),
        (lambda package: (package / "model.safetensors").unlink(), "lacks the file model.safetensors"),
        # With a right sum.
        (lambda package: (cut_weights(package), tiny.sign(package, "model.safetensors")), "cannot be loaded"),
        *(
            (lambda package, text=text: (package / "manifest.json").write_text(text), "n is damaged")
            for text in ("{", "null", '"text"')
        ),
        (signed(name=1), "'name' is missing, or is not"),
        (signed(data={}), "is damaged .'datasets'"),
        (signed(format=2), "of format 2.*update learnedgec"),
        *(
            (signed(files={file: "0" * 64 for file in NEEDED if file != name}), f"{name!r} is missing")
            for name in NEEDED
        ),
        *(
            (signed(files=dict.fromkeys([*NEEDED, name], "0" * 64)), f"{name!r} is missing, or is not")
            for name in ("../outside", "/etc/hostname", "..", "", "a/b", ".x")
        ),
        *(
            (unlisted(name), f"holds {name}, which its manifest does not list")
            for name in ("tokenizer.json", "modeling.py")
        ),
    ],
)  # fmt: skip
def test_what_is_not_the_package_that_was_written_is_refused(
    copy: Path, change: Callable[[Path], object], message: str
) -> None:
    # The card may be edited, and hidden files may be added; no score depends on them.
    (copy / "README.md").write_text("!")
    (copy / ".gitattributes").touch()
    check_package(copy)
    change(copy)
    with pytest.raises(PackageError, match=message):
        Evaluator.load(str(copy))


def test_the_digest_covers_configuration_weights_and_tokenizer(copy: Path) -> None:
    seen = {open_package(str(copy)).digest}
    (copy / "README.md").write_text("another card")
    tiny.sign(copy, "README.md", results={"dev": {}})
    assert {open_package(str(copy)).digest} == seen
    for name, before, after in (
        ("config.json", '"scale": 0.5', '"scale": 0.6'),
        ("tokenizer.json", '"lowercase":true', '"lowercase":false'),
        ("tokenizer_config.json", '"model_max_length": 256', '"model_max_length": 255'),
    ):
        text = (copy / name).read_text()
        assert before in text
        (copy / name).write_text(text.replace(before, after))
        with pytest.raises(PackageError, match=f"{name} was altered"):
            open_package(str(copy))
        tiny.sign(copy, name)
        seen.add(open_package(str(copy)).digest)
    weights = (copy / "model.safetensors").read_bytes()
    (copy / "model.safetensors").write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
    tiny.sign(copy, "model.safetensors")
    seen.add(open_package(str(copy)).digest)
    assert len(seen) == 5
    assert all(len(digest) == 12 for digest in seen)


def test_no_input_is_encoded_twice(
    fresh: Callable[[], Evaluator], encoded: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluator = fresh()
    first = evaluator.predict(SOURCES, HYPOTHESES, ["fluency"])
    assert encoded == HYPOTHESES
    again = evaluator.predict(SOURCES, [*HYPOTHESES[::-1]], ["grammaticality", "fluency"])
    assert encoded == HYPOTHESES
    assert again["fluency"][::-1] == pytest.approx(first["fluency"], abs=0)
    evaluator.predict(SOURCES, HYPOTHESES, ["meaning"])
    assert encoded == [*HYPOTHESES, *zip(SOURCES, HYPOTHESES, strict=True)]
    # Another precision is another value; and what is remembered has a limit.
    evaluator.predict(SOURCES, HYPOTHESES, ["fluency"], runtime=Runtime(dtype="bfloat16"))
    assert encoded[4:] == HYPOTHESES
    monkeypatch.setattr(evaluator_module, "_MAX_REMEMBERED", 3)
    evaluator.predict(["a", "b"], ["c", "d"], ["fluency"])
    assert encoded[6:] == ["c", "d"]
    evaluator.predict(SOURCES, HYPOTHESES, ["fluency"])
    assert encoded[8:] == HYPOTHESES
    assert evaluator.predict([], [], ["fluency"])["fluency"].shape == (0,)


def test_a_replaced_package_scores_as_in_a_new_process(copy: Path, tmp_path: Path) -> None:
    first = Evaluator.load(str(copy)).predict(SOURCES, HYPOTHESES)["fluency"]
    other = tiny.save_evaluator(tmp_path / "other", seed=1)
    text = (other / "tokenizer.json").read_text()
    (other / "tokenizer.json").write_text(text.replace('"lowercase":true', '"lowercase":false'))
    tiny.sign(other, "tokenizer.json")
    expected = Evaluator.load(str(other)).predict(SOURCES, HYPOTHESES)["fluency"]
    shutil.rmtree(copy)
    shutil.copytree(other, copy)
    values = Evaluator.load(str(copy)).predict(SOURCES, HYPOTHESES)["fluency"]
    assert values == pytest.approx(expected, abs=1e-6)
    assert np.abs(values - first).min() > 1e-3


def test_a_metric_reads_a_sum_of_heads_like_a_head(tmp_path: Path) -> None:
    sums = {"preference": {"fluency": 2.0, "meaning": -0.5}}
    folder = tiny.save_evaluator(tmp_path / "summed", sums=sums)
    evaluator = Evaluator.load(str(folder))
    assert set(evaluator.outputs) == {"grammaticality", "fluency", "meaning", "preference"}
    alone, predicted = (evaluator.predict(SOURCES, texts) for texts in (SOURCES, HYPOTHESES))
    expected = sum(weight * (predicted[h] - alone[h]) for h, weight in sums["preference"].items())
    score = Preference(model=str(folder)).score(SOURCES, HYPOTHESES)
    assert score.sentences == pytest.approx(expected, abs=1e-6)
    assert "|sum-preference:2*fluency+-0.5*meaning|" in score.signature
    card = (folder / "README.md").read_text()
    assert "- the output `preference` is 2 `fluency` + -0.5 `meaning`" in card
    assert '"preference[summed]"' in card


def test_a_guard_charges_below_its_floor_and_pays_nothing_above(tmp_path: Path) -> None:
    plain = Evaluator.load(str(tiny.save_evaluator(tmp_path / "plain")))
    heads = plain.predict(SOURCES, HYPOTHESES)
    floor = float(np.median(heads["meaning"]))
    guard = {"weight": 0.5, "below": floor}
    folder = tiny.save_evaluator(
        tmp_path / "guarded", sums={"preference": {"fluency": 2.0, "meaning": guard}}
    )
    expected = 2 * heads["fluency"] + 0.5 * np.minimum(heads["meaning"] - floor, 0)
    assert (expected < 2 * heads["fluency"]).any()
    assert (expected == 2 * heads["fluency"]).any()
    copy = Evaluator.load(str(folder)).save_pretrained(tmp_path / "copy")
    for place in (folder, copy):
        values = Evaluator.load(str(place)).predict(SOURCES, HYPOTHESES, ["preference"])
        assert values["preference"].tolist() == expected.tolist()
    package = pickle.loads(pickle.dumps(open_package(str(folder))))
    formula = f"2*fluency+0.5*min(meaning{-floor:+g},0)"
    assert package.sums(["preference"]) == {"preference": formula}
    assert (
        f"|sum-preference:{formula}|"
        in Preference(model=str(folder)).score(SOURCES, HYPOTHESES).signature
    )
    card = (folder / "README.md").read_text()
    assert f"is 2 `fluency` + 0.5 · min(`meaning` {-floor:+g}, 0)" in card


def test_some_is_the_weighted_mean_of_scaled_heads(tiny_evaluator: Path) -> None:
    predicted = Evaluator.load(str(tiny_evaluator)).predict(SOURCES, HYPOTHESES)
    score = Some(model=str(tiny_evaluator)).score(SOURCES, HYPOTHESES)
    expected = sum(
        weight * (predicted[head] - 1) / 3
        for weight, head in ((0.55, "grammaticality"), (0.43, "fluency"), (0.02, "meaning"))
    )
    assert score.sentences == pytest.approx(expected, abs=1e-9)
    assert score.value == pytest.approx(np.mean(expected), abs=1e-9)
    assert score.details["fluency"] == pytest.approx(np.mean((predicted["fluency"] - 1) / 3))
    digest = Evaluator.load(str(tiny_evaluator)).digest
    assert f"|sha256:{digest}|gate:characters>0.25|dtype:float32|" in score.signature


def test_some_mixes_a_package_with_a_classifier(tiny_evaluator: Path, tmp_path: Path) -> None:
    folder = str(tiny.save_regressor(tmp_path / "m"))
    mixed = Some(model=str(tiny_evaluator), meaning=folder).score(SOURCES, HYPOTHESES)
    whole = Some(model=str(tiny_evaluator)).score(SOURCES, HYPOTHESES)
    assert mixed.sentence_details["fluency"] == pytest.approx(whole.sentence_details["fluency"])
    assert (
        np.abs(mixed.sentence_details["meaning"] - whole.sentence_details["meaning"]).min() > 0.01
    )


def test_models_that_cannot_serve_are_refused(tmp_path: Path) -> None:
    tokenizer = tiny.tokenizer()
    model = BertForSequenceClassification(tiny.configuration(len(tokenizer), num_labels=2))
    model.save_pretrained(tmp_path / "two")
    tokenizer.save_pretrained(tmp_path / "two")
    with pytest.raises(ModelError, match="has 2 labels; a regressor with one was expected"):
        Some(*[str(tmp_path / "two")] * 4).score(SOURCES, HYPOTHESES)


def test_inputs_that_were_cut_are_warned_of_wherever_their_rows_are(
    fresh: Callable[[], Evaluator], tmp_path: Path
) -> None:
    runtime = Runtime(device="cpu", cache_dir=str(tmp_path))
    texts = ["He go .", "the " * 300]
    first, second = fresh(), fresh()
    # Encoded, from memory, and from disk.
    for evaluator in (first, first, second):
        with pytest.warns(TruncationWarning) as caught:
            evaluator.predict(texts, texts, ["fluency"], runtime=runtime)
        assert [str(warning.message) for warning in caught] == [
            "1 of 2 inputs were longer than 256 tokens and were truncated."
        ]
    # Rows of inputs that are whole are read without a word.
    second.predict(texts[:1], texts[:1], ["fluency"], runtime=runtime)


def test_rows_are_kept_on_disk_by_input(
    fresh: Callable[[], Evaluator], tmp_path: Path, encoded: list[object]
) -> None:
    runtime = Runtime(device="cpu", cache_dir=str(tmp_path))
    first = fresh().predict(SOURCES, HYPOTHESES, runtime=runtime)
    assert encoded == [*HYPOTHESES, *zip(SOURCES, HYPOTHESES, strict=True)]
    encoded.clear()
    # Of another system only what is new is encoded.
    others = [HYPOTHESES[0], "a new one"]
    again = fresh().predict(SOURCES[:2], others, runtime=runtime)
    assert encoded == ["a new one", (SOURCES[1], "a new one")]
    for name, values in again.items():
        assert values[0] == first[name][0]
    encoded.clear()
    # Another precision is another value, and what has no digest is kept nowhere.
    fresh().predict(SOURCES, HYPOTHESES, ["fluency"], runtime=replace(runtime, dtype="bfloat16"))
    assert encoded == HYPOTHESES
    encoded.clear()
    without_package = Evaluator(fresh().model, fresh().tokenizer)
    without_package.predict(SOURCES, HYPOTHESES, ["fluency"], runtime=runtime)
    assert encoded == HYPOTHESES
