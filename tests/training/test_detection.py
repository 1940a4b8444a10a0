"""Heads that read single tokens: they detect wrong words, or learn capitals on a frozen encoder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch.nn.functional import softplus
from training_files import WORDS, arguments, batch_of, pairs_file, ranked_pairs, trained

from learnedgec.applications.confidence import word_log_odds
from learnedgec.data.catalog import Labelled
from learnedgec.errors import ConfigError, InputError
from learnedgec.evaluators.evaluator import Evaluator, HeadConfig
from learnedgec.evaluators.inference import TruncationWarning
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.batches import wrong_tokens
from learnedgec.training.examples import Example, labelled_examples, pair_examples
from learnedgec.training.module import EvaluatorModule, HeadOptions
from learnedgec.training.pairs import CapitalPairs, RankedPair
from learnedgec.training.pairs.referenced import wrong_words
from learnedgec.training.start import Lora, ModelSettings

words = st.lists(st.sampled_from(WORDS[:5]), max_size=8)


@given(words, words)
def test_words_that_are_right_are_in_the_correct_text_in_order(
    hypothesis: list[str], correct: list[str]
) -> None:
    wrong = wrong_words(hypothesis, correct)
    assert len(wrong) == len(hypothesis) + 1
    rest = iter(correct)
    right = [word for word, bad in zip(hypothesis, wrong, strict=False) if not bad]
    assert all(any(word == other for other in rest) for word in right)
    assert any(wrong) == (hypothesis != correct)


@pytest.mark.parametrize(
    ("hypothesis", "correct", "wrong", "end"),
    [
        ("He goes .", "He goes .", "", 0),
        ("He go .", "He goes .", "go", 0),
        ("He the goes .", "He goes .", "the", 0),
        ("He goes school .", "He goes to school .", "school", 0),
        ("He goes", "He goes .", "", 1),
        ("  He   go .", "He goes .", "go", 0),
        ("", "He goes .", "", 1),
    ],
)
def test_tokens_of_wrong_words(hypothesis: str, correct: str, wrong: str, end: int) -> None:
    encoded = tiny.tokenizer()(hypothesis, return_offsets_mapping=True)
    places = encoded["offset_mapping"]
    assert len(places) == len(encoded["input_ids"])
    begin = hypothesis.index(wrong)
    expected = [int(begin <= start < stop <= begin + len(wrong)) for start, stop in places]
    expected[-1] = end
    assert any(expected) == (hypothesis != correct)
    wrong_places = wrong_words(hypothesis.split(), correct.split())
    assert wrong_tokens(hypothesis, wrong_places, places) == expected


def test_a_space_before_a_word_may_belong_to_its_token() -> None:
    assert wrong_tokens("He go", [False, True, False], [(0, 2), (2, 5), (0, 0)]) == [0, 1, 0]


def test_labels_of_people_are_those_of_their_words(tiny_encoder: Path) -> None:
    module = EvaluatorModule(
        ModelSettings({"wrong": HeadOptions(objective="detection")}, encoder=str(tiny_encoder))
    )
    rows = labelled_examples({"wrong": [Labelled("He go .", (False, True, False))]})
    wrong = batch_of(module, rows)["targets"]["wrong"].wrong[0].tolist()
    assert wrong == pytest.approx([0, 0, 1, 0, 0])


def test_loss_is_the_mean_over_known_tokens(tiny_encoder: Path) -> None:
    heads = {
        "wrong": HeadOptions(objective="detection"),
        "fluency": HeadOptions(),
    }
    module = EvaluatorModule(ModelSettings(heads, encoder=str(tiny_encoder), dropout=0.0)).eval()
    torch.nn.init.normal_(module.model.heads["wrong"].weight)
    pair = RankedPair("s", "He goes .", "He go dog .", correct="He goes .")
    unknown = RankedPair("t", "She went .", "She go .")
    examples = [
        *pair_examples({"wrong": [pair, unknown]}),
        Example([("r", "They went .")], "ratings", ["fluency"], [3.5], [[]]),
    ]
    batch = batch_of(module, examples)
    with torch.inference_mode():
        logits = module._outputs(batch)[1]["wrong"]
        loss = module.objectives["wrong"].loss(logits, batch["targets"]["wrong"])
        terms, values = [], []
        for text, wrong in ((pair.better, ""), (pair.worse, "go dog")):
            inputs = module.tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
            begin = text.index(wrong)
            places = inputs.pop("offset_mapping")[0].tolist()
            bad = [begin <= start < stop <= begin + len(wrong) for start, stop in places]
            encoded = module.model.encode(inputs, "hypothesis")
            (logits,) = module.model.token_logits(encoded, "wrong")
            terms.append(softplus(torch.where(torch.tensor(bad), -logits, logits)))
            values.append(-softplus(logits).sum())
        outputs = module._outputs(batch, measured=True)[0]["wrong"]
    assert loss.item() == pytest.approx(torch.cat(terms).mean().item(), abs=1e-4)
    assert outputs[:2].tolist() == pytest.approx(torch.stack(values).tolist(), abs=1e-4)


def test_detection_is_learned_and_continued(tmp_path: Path, tiny_encoder: Path) -> None:
    pairs = ranked_pairs()
    file = pairs_file(tmp_path, pairs)
    heads = {
        "wrong": {"objective": "detection"},
        "compared": {"objective": "detection", "input": "pair"},
        "quality": {"objective": "logistic"},
    }
    data = {"pairs": {name: [file] for name in heads}}
    words = arguments(tmp_path, data, encoder=tiny_encoder, learning_rate=5e-3, heads=heads)
    result = trained([*words, "--name", "detecting", "--trainer.max_epochs", "6"])
    assert result.results["test"]["wrong"]["accuracy"] > 0.9
    assert result.results["test"]["compared"]["accuracy"] > 0.9
    first = Evaluator.load(str(result.package))
    check_words_of_the_hypothesis(first, pairs)
    check_log_odds_of_words(first, pairs)
    texts = [text for pair in pairs for text in (pair.better, pair.worse)]
    values, again = (
        first.predict(texts, texts, ["wrong"], runtime=Runtime(batch_tokens=size))["wrong"]
        for size in (16, 4096)
    )
    assert values == pytest.approx(again, abs=1e-5)
    assert np.all(values < 0)

    module = EvaluatorModule(
        ModelSettings(
            {"quality": HeadOptions(objective="logistic"), "new": HeadOptions()},
            encoder=str(result.package),
        )
    ).eval()
    with torch.inference_mode():
        inputs = module.tokenizer(texts[:1], return_tensors="pt")
        start = module.model(inputs, ["quality"])["quality"].tolist()
    assert start == pytest.approx(
        first.predict(texts[:1], texts[:1], ["quality"])["quality"].tolist(), abs=1e-6
    )
    # The loaded evaluator must not be what is trained.
    assert not any(weight.requires_grad for weight in first.model.parameters())
    assert all(weight.requires_grad for weight in module.parameters())

    other = trained([*words, "--name", "second", "--model.encoder", str(result.package)])
    manifest = json.loads((other.package / "manifest.json").read_text())
    assert manifest["encoder"] == str(tiny_encoder)
    assert manifest["continued"]["name"] == "detecting"
    assert manifest["continued"]["datasets"] == [str(file)]
    assert "Continued from `detecting`" in (other.package / "README.md").read_text()


def check_words_of_the_hypothesis(evaluator: Evaluator, pairs: list[RankedPair]) -> None:
    """Check that a value is the log-probability that no token of the hypothesis, or its end, is wrong."""
    sources, worse = [pair.source for pair in pairs], [pair.worse for pair in pairs]
    values = evaluator.predict(sources, worse, ["compared"])["compared"]
    for pair, value in zip(pairs[:5], values, strict=False):
        inputs = evaluator.tokenizer([pair.source], [pair.worse], return_tensors="pt")
        with torch.inference_mode():
            output = evaluator.model.encode(inputs, "pair")
            logits = evaluator.model.token_logits(output, "compared")[0]
        begin = inputs.encodings[0].sequence_ids.index(1)
        assert value == pytest.approx(float(-softplus(logits[begin:]).sum()), abs=1e-4)
    with pytest.raises(InputError, match="the head compared reads the marks 'hypothesis'"):
        evaluator.model(inputs, ["compared"])


def check_log_odds_of_words(evaluator: Evaluator, pairs: list[RankedPair]) -> None:
    """Check each word's log-odds against the logits of its tokens, one text at a time."""
    sources, worse = [pair.source for pair in pairs], [pair.worse for pair in pairs]
    for head, kind in (("compared", "pair"), ("wrong", "hypothesis")):
        log_odds = word_log_odds(evaluator, sources, worse, head)
        assert [len(row) for row in log_odds] == [len(text.split()) + 1 for text in worse]
        for source, text, row in zip(sources[:5], worse, log_odds, strict=False):
            texts = [text] if kind == "hypothesis" else [source, text]
            inputs = evaluator.tokenizer(*texts, return_tensors="pt")
            with torch.inference_mode():
                output = evaluator.model.encode(inputs, kind)
                logits = evaluator.model.token_logits(output, head)[0].tolist()
            (encoding,) = inputs.encodings
            expected: list[list[float]] = [[] for _ in row]
            for word, side, logit in zip(
                encoding.word_ids, encoding.sequence_ids, logits, strict=True
            ):
                if side == len(texts) - 1:
                    expected[word].append(logit)
            expected[-1].append(logits[-1])
            assert row == pytest.approx([np.mean(values) for values in expected], abs=1e-4)
    assert word_log_odds(evaluator, [], [], "wrong") == []
    assert len(word_log_odds(evaluator, ["x"], [""], "wrong")[0]) == 1
    for name in ("quality", "other"):
        with pytest.raises(InputError, match=f"has no head '{name}' that reads single words"):
            word_log_odds(evaluator, ["x"], ["y"], name)
    with pytest.warns(TruncationWarning, match="1 of 1 inputs were longer than 128 tokens"):
        (row,) = word_log_odds(evaluator, ["x"], ["dog " * 200], "wrong")
    assert np.isnan(row).tolist() == [False] * 63 + [True] * 138  # of two tokens each


def test_pairs_differ_in_the_case_of_one_to_three_words(tmp_path: Path) -> None:
    source = CapitalPairs(["sample"])
    pairs = source.make(tmp_path, Runtime())
    assert len(pairs) > 50
    for pair in pairs:
        words = zip(pair.better.split(" "), pair.worse.split(" "), strict=True)
        changed = [(first, other) for first, other in words if first != other]
        assert 1 <= len(changed) <= 3
        assert all(first[0].swapcase() + first[1:] == other for first, other in changed)
    with pytest.raises(ConfigError, match="CapitalPairs finds no pair in no data"):
        CapitalPairs([]).load(tmp_path, Runtime())


def test_capitals_are_learned_and_other_heads_stay(tmp_path: Path) -> None:
    start = tiny.save_evaluator(tmp_path / "start", heads=tiny.SOME_HEADS, width=64)
    source = {"class_path": "CapitalPairs", "init_args": {"corrections": ["sample"]}}
    model = {
        "encoder": start,
        "frozen_layers": 2,
        "learning_rate": 3e-2,
        "dropout": 0.0,
        "heads": {"capitals": {"objective": "capitals", "layer": 1}},
        "sums": {"fluency": {"fluency": 1, "capitals": 0.5}},
    }
    data = {"pairs": {"capitals": [source]}}
    result = trained(arguments(tmp_path, data, trainer={"max_epochs": 8}, **model))
    assert result.results["dev"]["capitals"]["accuracy"] > 0.8
    assert not result.verdicts
    before, after = (load_file(p / "model.safetensors") for p in (start, result.package))
    assert {name for name in after if name not in before} == {
        "heads.capitals.weight",
        "heads.capitals.bias",
    }
    assert all((after[name] == before[name]).all() for name in before)
    first, second = Evaluator.load(str(start)), Evaluator.load(str(result.package))
    assert set(second.outputs) == {*tiny.SOME_HEADS, "capitals"}
    texts = ["The cat is here .", "the Cat is here ."]
    old, new = first.predict(texts, texts), second.predict(texts, texts)
    for name in ("grammaticality", "meaning"):
        assert new[name].tolist() == pytest.approx(old[name].tolist())
    assert new["fluency"].tolist() == pytest.approx(
        (old["fluency"] + 0.5 * new["capitals"]).tolist(), abs=1e-6
    )
    assert new["capitals"][0] > new["capitals"][1]


def test_an_evaluator_continues_with_fewer_layers(tmp_path: Path) -> None:
    heads = {"fluency": HeadConfig("hypothesis", 2.8, 0.5), "meaning": HeadConfig("pair")}
    folder = str(tiny.save_evaluator(tmp_path / "first", heads=heads))
    module = EvaluatorModule(
        ModelSettings({"fluency": HeadOptions()}, folder, layer=1, frozen_layers=1)
    )
    # The head that is not named would read other states than it has learned.
    assert set(module.model.config.heads) == {"fluency"}
    inputs = module.tokenizer(["The cat is here ."], return_tensors="pt")
    first = Evaluator.load(folder).model
    with torch.no_grad():
        states = first.encoder(**inputs, output_hidden_states=True).hidden_states
        lower = module.model.eval().encoder(**inputs).last_hidden_state
    assert torch.allclose(lower, states[1])
    assert torch.equal(module.model.heads["fluency"].weight, first.heads["fluency"].weight)
    module.model.save_pretrained(tmp_path / "fewer")
    assert not any("layer.1." in name for name in load_file(tmp_path / "fewer/model.safetensors"))
    with pytest.raises(ConfigError, match=r"model\.layer is 3, but the encoder has 2 layers"):
        EvaluatorModule(ModelSettings({"fluency": HeadOptions()}, folder, layer=3))


def test_sums_of_heads_that_stay_are_passed_on(tmp_path: Path) -> None:
    heads = {
        "fluency": HeadConfig("hypothesis"),
        "meaning": HeadConfig("pair"),
        "capitals": HeadConfig("hypothesis", reads="capitals", layer=1),
    }
    sums = {"fluency": {"fluency": 1.0, "capitals": 0.5}, "all": {"fluency": 1.0, "meaning": 2.0}}
    folder = str(tiny.save_evaluator(tmp_path / "first", heads=heads, sums=sums))
    relative = {"relative": HeadOptions("pair", "logistic")}
    extended = EvaluatorModule(ModelSettings(relative, encoder=folder, lora=Lora(1)))
    assert extended.model.config.sums == {"fluency": sums["fluency"]}
    assert extended.start.notice == (
        "Continuing first; heads that start untrained: relative; heads that stay as they are: capitals, "
        "fluency; sums that are not passed on (name them in model.sums): all."
    )
    frozen = EvaluatorModule(
        ModelSettings(relative, encoder=folder, frozen_layers=2, sums={"all": {"meaning": 1}})
    )
    assert frozen.model.config.sums == {"fluency": sums["fluency"], "all": {"meaning": 1}}
    # A new head is not hidden by a sum of its name.
    renewed = EvaluatorModule(
        ModelSettings({"all": HeadOptions("pair", "logistic")}, encoder=folder, frozen_layers=2)
    )
    assert renewed.model.config.sums == {"fluency": sums["fluency"]}
    whole = EvaluatorModule(ModelSettings({"fluency": HeadOptions()}, encoder=folder))
    assert whole.model.config.sums == {}
    assert whole.start.notice is not None
    assert "(name them in model.sums): all, fluency." in whole.start.notice
    with pytest.raises(ConfigError, match=r"read mean; set model\.pooling to mean"):
        EvaluatorModule(ModelSettings(relative, encoder=folder, lora=Lora(1), pooling="cls"))
