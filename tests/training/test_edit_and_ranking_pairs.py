"""Pairs that differ in one edit, and pairs from rankings: literal loops over the sample."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from embedded import Sample

from learnedgec.data.catalog.judgements import load_rankings
from learnedgec.data.m2 import apply_edits
from learnedgec.edits.annotator import extract_edits
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs import EditPairs, RankingPairs
from learnedgec.training.pairs.base import nearness


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


def test_the_better_rank_is_the_better_side(sample: Sample) -> None:
    expected = [
        (sample.sources[ranking.sentence], texts[0][0], texts[1][0])
        for ranking in load_rankings("sample")
        for pair in combinations(ranking.ranks.items(), 2)
        if (texts := _ordered(sample, ranking.sentence, pair))
    ]
    pairs = RankingPairs(["sample"]).make(Path(), Runtime())
    assert [(pair.source, pair.better, pair.worse) for pair in pairs] == expected


def _ordered(
    sample: Sample, number: int, pair: tuple[tuple[str, int], ...]
) -> list[tuple[str, int]]:
    """Return two texts with their ranks, the better first, or nothing for equal texts or ranks."""
    texts = {sample.systems[system][number]: rank for system, rank in pair}
    return sorted(texts.items(), key=lambda item: item[1]) if len(set(texts.values())) == 2 else []
