"""Pairs in the order of metrics with references: a literal loop, the balance, a teacher with references."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from embedded import Sample

from learnedgec import References, load_metric
from learnedgec.data.references import Reference
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs import DistilledPairs, RankedPair, ReferencedPairs
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


def test_what_is_learned_from_is_said() -> None:
    source = ReferencedPairs(["sample"], ["sample"])
    assert source.datasets() == ["sample"]
    assert len(list(source.material())) > 72
    described = source.describe()
    assert described["margin"] == 0.02
    assert described["metrics"][0].startswith("gleu(n=4")


def test_a_teacher_with_references_teaches(tmp_path: Path) -> None:
    pairs = ReferencedPairs(["sample"], ["sample"], number=30)
    source = DistilledPairs([pairs], "gleu", references=["sample"])
    kept_pairs, summary = source.made(tmp_path, Runtime())
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
    assert source.describe()["references"] == ["sample"]


@pytest.mark.realdata
def test_pairs_of_strong_systems(mirror: Path) -> None:
    source = ReferencedPairs(["pillars:dev"], ["pillars:dev", "jelv:dev"])
    pairs = source.make(Path(), Runtime())
    summary = source.summary(pairs)
    assert summary["pairs"] > 1000
    assert summary["nearer"] > 0.1
    assert {pair.origin for pair in pairs} == {"pillars:dev"}
