"""The choice of references along a corpus against going from sentence to sentence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learnedgec.metrics.reference_choice import best_along
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
