"""Pairs in the order of metrics, with references or as teachers, and pairs that differ in one edit."""

from __future__ import annotations

import json
import shutil
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from embedded import Sample
from training_files import arguments, pairs_file, trained

from learnedgec import References, load_metric
from learnedgec.data.m2 import apply_edits
from learnedgec.data.references import Reference
from learnedgec.edits.annotator import extract_edits
from learnedgec.errors import LeakageError
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.evaluators.locations import open_package
from learnedgec.metrics.sentinels import Length
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.objectives import Difference, Targets
from learnedgec.training.pairs import (
    DistilledPairs,
    EditPairs,
    PairFile,
    RankedPair,
    ReferencedPairs,
    referenced,
)
from learnedgec.training.pairs.base import nearness
from learnedgec.training.pairs.referenced import pooled_references


def made(**options: object) -> list[RankedPair]:
    source = ReferencedPairs(["sample"], ["sample"], **options)  # type: ignore[arg-type]
    return source.make(Path(), Runtime())


def test_all_metrics_prefer_the_better_side_by_the_margin(sample: Sample) -> None:
    metrics = [load_metric("gleu"), load_metric("green")]
    expected = {}
    for number, source in enumerate(sample.sources):
        texts = list(dict.fromkeys(outputs[number] for outputs in sample.systems.values()))
        references = References((sample.references[number],))
        scores = {
            text: [metric.score([source], [text], references).sentences[0] for metric in metrics]
            for text in texts
        }
        for first, second in combinations(texts, 2):
            differences = [a - b for a, b in zip(scores[first], scores[second], strict=True)]
            if min(differences) >= 0.05 - 1e-9:
                expected[source, first, second] = sum(differences) / 2
            elif max(differences) <= -0.05 + 1e-9:
                expected[source, second, first] = -sum(differences) / 2
    margins = {(pair.source, pair.better, pair.worse): pair.margin for pair in made(margin=0.05)}
    assert margins == pytest.approx(expected)
    assert len(margins) > 100


def test_balance_takes_each_kind_its_share() -> None:
    everything = made()
    counts = {kind: [nearness(p) for p in everything].count(kind) for kind in ("nearer", "farther")}
    assert counts["farther"] > counts["nearer"] > 0
    even = made(balance={"nearer": 1, "farther": 1})
    kinds = [nearness(pair) for pair in even]
    assert kinds.count("nearer") == kinds.count("farther") == len(even) / 2
    assert len(even) == 2 * counts["nearer"]
    assert set(even) <= set(everything)
    few = made(balance={"nearer": 1, "farther": 3}, number=8)
    assert [nearness(pair) for pair in few].count("farther") == 6
    assert len(few) == 8


def test_references_of_several_datasets_are_pooled(sample: Sample) -> None:
    pooled = pooled_references(["sample", "sample"])
    for source, references in zip(sample.sources, sample.references, strict=True):
        texts = {" ".join(reference.text.split()) for reference in references}
        row = pooled[" ".join(source.split())]
        assert {reference.text for reference in row} == texts
        assert [reference.annotator for reference in row] == list(range(len(texts)))
        assert all(
            isinstance(reference, Reference) and reference.edits is not None for reference in row
        )


def test_a_teacher_with_references_teaches(tmp_path: Path) -> None:
    pairs = ReferencedPairs(["sample"], ["sample"], number=30)
    source = DistilledPairs([pairs], "gleu", references=["sample"])
    kept_pairs, summary = source.load(tmp_path, Runtime())
    gleu = load_metric("gleu")
    pooled = pooled_references(["sample"])
    assert summary["pairs"] == len(kept_pairs) > 20
    for pair in kept_pairs:
        references = References((pooled[pair.source],))
        better, worse = (
            gleu.score([pair.source], [text], references).sentences[0]
            for text in (pair.better, pair.worse)
        )
        assert pair.margin == pytest.approx(better - worse)
    assert source.datasets() == ["sample"]
    assert len(list(source.material())) > 72
    (described,) = source.describe()["pairs"]
    assert described["metrics"][0].startswith("gleu(n=4")


def test_a_pair_is_in_the_order_of_the_references(sample: Sample) -> None:
    pairs = EditPairs(["sample"], ["sample"], annotator="en-ewt-sm").make(Path(), Runtime())
    expected = set()
    for number, source in enumerate(sample.sources):
        texts = [reference.text for reference in sample.references[number]]
        outputs = [hypotheses[number] for hypotheses in sample.systems.values()]
        references = extract_edits([(source, text) for text in texts], "en-ewt-sm")
        valid = {edit[:3] for row in references for edit in map(_plain, row)}
        for row in extract_edits([(source, text) for text in outputs], "en-ewt-sm"):
            for place, edit in enumerate(row):
                without = apply_edits(source, row[:place] + row[place + 1 :])
                sides = (apply_edits(source, row), without)
                expected.add((source, *(sides if _plain(edit) in valid else sides[::-1])))
    assert {(pair.source, pair.better, pair.worse) for pair in pairs} == expected
    assert len(pairs) == len(expected) > 50
    kinds = [nearness(pair) for pair in pairs]
    assert kinds.count("farther") > kinds.count("nearer") > 0


def _plain(edit: object) -> tuple[int, int, str]:
    return edit.start, edit.end, edit.correction  # type: ignore[attr-defined]


PAIRS = [
    RankedPair("a b", "a b c d", "a b", 7.0, "g", "o", "a b c"),
    RankedPair("a b", "a", "a b c", 7.0, "g"),
    RankedPair("a b", "b c", "a b", 7.0, "g"),
]


def test_order_and_margins_are_the_teachers(tmp_path: Path) -> None:
    source = DistilledPairs([PairFile(str(pairs_file(tmp_path, PAIRS)))], "length")
    pairs, _ = source.load(tmp_path, Runtime())
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
    first, _ = DistilledPairs(source.pairs, "length", number=1).load(tmp_path, Runtime())
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

    monkeypatch.setattr(referenced, "_BLOCK", 2)
    monkeypatch.setattr(Length, "compute", counting)
    source = DistilledPairs([PairFile(str(pairs_file(tmp_path, PAIRS)))], "length")
    with pytest.raises(KeyboardInterrupt):
        source.load(tmp_path, Runtime())
    pairs, _ = source.load(tmp_path, Runtime())
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
    assert source.datasets() == [source.pairs[0].path, *open_package(str(unchecked)).datasets]
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
    model = {"encoder": tiny_encoder, "learning_rate": 2e-3, "dropout": 0.0, "heads": heads}
    data = {"pairs": {"quality": [taught]}}
    result = trained(arguments(tmp_path, data, trainer={"max_epochs": 20}, **model))
    evaluator = Evaluator.load(str(result.package))
    teacher = load_metric("length")
    texts = [text for pair in pairs for text in (pair.better, pair.worse)]
    expected = teacher.score(texts, texts).sentences.reshape(-1, 2) @ [1, -1]
    learned = evaluator.predict(texts, texts)["quality"].reshape(-1, 2) @ [1, -1]
    # Not only the order: the margins themselves, in the teacher's units.
    assert np.corrcoef(expected, learned)[0, 1] > 0.9
    assert np.abs(expected - learned).mean() < 0.5 * np.abs(expected).mean()
