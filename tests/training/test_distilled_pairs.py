"""A metric as the teacher of another: its order and margins, kept blocks, what it learned from, refusals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from training_files import arguments, pairs_file, trained

from learnedgec import load_metric
from learnedgec.errors import LeakageError
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.evaluators.packages import learned_from
from learnedgec.metrics.sentinels import Length
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.objectives import Difference, Targets
from learnedgec.training.pairs import PairFile, RankedPair, distilled
from learnedgec.training.pairs.distilled import DistilledPairs

PAIRS = [
    RankedPair("a b", "a b c d", "a b", 7.0, "g", "o", "a b c"),
    RankedPair("a b", "a", "a b c", 7.0, "g"),
    RankedPair("a b", "b c", "a b", 7.0, "g"),
]


def test_order_and_margins_are_the_teachers(tmp_path: Path) -> None:
    source = DistilledPairs([PairFile(str(pairs_file(tmp_path, PAIRS)))], "length")
    pairs, _ = source.made(tmp_path, Runtime())
    values = {
        text: float(load_metric("length").score(["a b"], [text]).value)
        for pair in PAIRS
        for text in (pair.better, pair.worse)
    }
    assert values["a"] < values["a b"] < values["a b c"] < values["a b c d"]
    # The third pair is as long on both sides and teaches nothing.
    assert [(p.better, p.worse) for p in pairs] == [("a b c d", "a b"), ("a b c", "a")]
    for pair in pairs:
        assert pair.margin == pytest.approx(values[pair.better] - values[pair.worse])
    assert (pairs[0].group, pairs[0].origin, pairs[0].correct) == ("g", "o", "a b c")
    assert source.summary(pairs)["pairs"] == 2
    first, _ = DistilledPairs(source.pairs, "length", number=1).made(tmp_path, Runtime())
    assert len(first) == 1
    # A source beside it that asks for the same pairs finds them made.
    assert (source.pairs[0].place(tmp_path) / "pairs.jsonl").is_file()


def test_blocks_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[int] = []
    original = Length.compute

    def counting(self: Length, sources: Any, hypotheses: Any, *rest: Any) -> Any:
        computed.append(len(hypotheses))
        if len(computed) == 2:
            raise KeyboardInterrupt
        return original(self, sources, hypotheses, *rest)

    monkeypatch.setattr(distilled, "_BLOCK", 2)
    monkeypatch.setattr(Length, "compute", counting)
    source = DistilledPairs([PairFile(str(pairs_file(tmp_path, PAIRS)))], "length")
    with pytest.raises(KeyboardInterrupt):
        source.made(tmp_path, Runtime())
    pairs, _ = source.made(tmp_path, Runtime())
    # Five distinct texts in blocks of two; the first block was not scored again.
    assert computed == [2, 2, 2, 1]
    assert len(pairs) == 2


def test_an_unchecked_teacher_is_a_leak(tmp_path: Path, tiny_evaluator: Path) -> None:
    unchecked = Path(shutil.copytree(tiny_evaluator, tmp_path / "unchecked"))
    manifest = unchecked / "manifest.json"
    content = json.loads(manifest.read_text())
    content["data"]["check_leakage"] = False
    manifest.write_text(json.dumps(content))
    source = DistilledPairs(
        [PairFile(str(pairs_file(tmp_path, PAIRS)))], f"some(model='{unchecked}')"
    )
    assert source.datasets() == [source.pairs[0].path, *learned_from(str(unchecked))]
    with pytest.raises(LeakageError, match=r"the teacher .* was not checked"):
        list(source.material())


def test_the_loss_is_the_error_of_the_difference() -> None:
    objective = Difference()
    objective.scale = 2.0
    pairs, margins = torch.tensor([[0, 1], [2, 3]]), torch.tensor([3.0, 1.0])
    targets = Targets(torch.full((4,), torch.nan), pairs, margins, torch.zeros((0, 4)))
    # ((4 − 3)/2)² and ((−1 − 1)/2)²
    loss = objective.loss(torch.tensor([5.0, 1.0, 2.0, 3.0]), targets)
    assert float(loss) == pytest.approx((0.25 + 1.0) / 2)


def test_a_student_learns_its_teachers_margins(tmp_path: Path, tiny_encoder: Path) -> None:
    generator = np.random.default_rng(0)
    words = ["dog", "cat", "house", "school", "the", "big"]
    pairs = []
    for number in range(150):
        first, second = (
            " ".join(generator.choice(words, size)) for size in generator.integers(2, 9, 2)
        )
        if first != second:
            pairs.append(RankedPair(f"source {number}", first, second))
    source = {"class_path": "PairFile", "init_args": {"path": str(pairs_file(tmp_path, pairs))}}
    taught = {
        "class_path": "learnedgec.training.pairs.DistilledPairs",
        "init_args": {"teacher": "length", "pairs": [source]},
    }
    heads = {"quality": {"objective": "difference"}}
    model = {"encoder": tiny_encoder, "learning_rate": 5e-3, "dropout": 0.0, "heads": heads}
    data = {"pairs": {"quality": [taught]}}
    settings = {"model": model, "data": data, "trainer": {"max_epochs": 12}}
    result = trained(arguments(tmp_path, settings))
    evaluator = Evaluator.load(str(result.package))
    teacher = load_metric("length")
    texts = [text for pair in pairs for text in (pair.better, pair.worse)]
    expected = teacher.score(texts, texts).sentences.reshape(-1, 2) @ [1, -1]
    learned = evaluator.predict(texts, texts)["quality"].reshape(-1, 2) @ [1, -1]
    # Not only the order: the margins themselves, in the teacher's units.
    assert np.corrcoef(expected, learned)[0, 1] > 0.95
    assert np.abs(expected - learned).mean() < 0.5 * np.abs(expected).mean()
