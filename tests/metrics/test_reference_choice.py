"""The choice of references along a corpus against going from sentence to sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learnedgec.metrics.edit_overlap import EditOverlap
from learnedgec.metrics.reference_choice import best_along
from learnedgec.metrics.registry import load_metric
from learnedgec.types import Array, Floats


def swayed(after: Floats, counts: Floats) -> tuple[Array, ...]:
    """Prefer by the sums so far in a way that changes with every choice."""
    return (after[0] * 7 + after[1] * 3) % 5, counts[1]


def steady(after: Floats, counts: Floats) -> tuple[Array, ...]:
    return after[0] / (after[0] + after[1] + 1), counts[0]


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 40), st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_is_the_choice_from_sentence_to_sentence(
    seed: int, samples: int, sentences: int, references: int
) -> None:
    generator = np.random.default_rng(seed)
    counts = generator.integers(0, 4, (2, samples, sentences, references)).astype(float)
    filled = generator.integers(1, references + 1, (samples, sentences))
    real = np.arange(references) < filled[..., None]
    for preference in (swayed, steady):
        choices, sums = best_along(counts, real, preference)
        for sample in range(samples):
            total = np.zeros(2)
            for place in range(sentences):
                chosen_counts = counts[:, sample, place]
                after = total[:, None] + chosen_counts
                keys = preference(after, chosen_counts)
                best = max(
                    range(filled[sample, place]),
                    key=lambda choice: tuple(key[choice] for key in keys),
                )
                assert choices[sample, place] == best
                total = after[:, best]
            assert sums[:, sample] == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize(
    "name",
    ["m2", "errant(annotator='plain')", "errant(annotator='plain', beta=2.0)", "m2(beta=0.0)"],
)
def test_a_reference_that_is_best_in_every_count_is_chosen_at_once(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    metric: Any = load_metric(name)
    random = np.random.default_rng(0)
    for alternatives in (1, 2, 4):
        proposed, gold = random.integers(0, 4, (2, 1, 40, alternatives))
        correct = random.integers(0, 4, (1, 40, alternatives)).clip(max=np.minimum(proposed, gold))
        counts = np.stack([correct, proposed, gold]).astype(float)
        real = np.arange(alternatives) < random.integers(1, alternatives + 1, (40, 1))
        samples = random.integers(0, 40, (9, 40))
        for sampled in (None, samples):
            quick = metric.choose(counts, real, sampled)
            with monkeypatch.context() as plainly:
                plainly.setattr(EditOverlap, "directions", ())
                slow = metric.choose(counts, real, sampled)
            assert quick.references.tolist() == slow.references.tolist()
            assert quick.sums.tolist() == slow.sums.tolist()
