"""Sentinels: exact values, and chance that is chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnedgec.metrics.registry import load_metric


def token_distance(source: str, hypothesis: str) -> int:
    """The textbook's dynamic programme."""
    before = list(range(len(hypothesis.split()) + 1))
    for row, left in enumerate(source.split(), 1):
        now = [row]
        for column, right in enumerate(hypothesis.split(), 1):
            now.append(min(before[column] + 1, now[-1] + 1, before[column - 1] + (left != right)))
        before = now
    return before[-1]


texts = st.lists(st.sampled_from(["a", "b", "c", "ab"]), max_size=8).map(" ".join)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5))
def test_edit_count_is_the_token_distance(pairs: list[tuple[str, str]]) -> None:
    sources, hypotheses = map(list, zip(*pairs, strict=True))
    score = load_metric("edit-count").score(sources, hypotheses)
    expected = [token_distance(source, hypothesis) for source, hypothesis in pairs]
    assert score.sentences == pytest.approx(expected)
    assert score.value == pytest.approx(np.mean(expected))


def test_random_depends_on_seed_source_and_hypothesis_alone() -> None:
    metric = load_metric("random")
    score = metric.score(["s", "t", "s", "s"], ["h", "h", "i", "h"]).sentences
    assert score[0] == score[3]
    assert len(set(score)) == 3
    assert score[1] == metric.score(["t"], ["h"]).sentences[0]
    assert score[0] != load_metric("random(seed=1)").score(["s"], ["h"]).sentences[0]


def test_random_is_uniform() -> None:
    numbers = load_metric("random").score(["s"] * 4000, [str(n) for n in range(4000)]).sentences
    counts, _ = np.histogram(numbers, bins=10, range=(0, 1))
    assert counts.sum() == 4000
    # Each of 10 bins has 400 ± 19.
    assert abs(counts - 400).max() < 100
