from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnedgec.metrics.asano import meteor


def score(matches: int, hypothesis: int, reference: int, chunks: int) -> float:
    """The formula, from counts found by hand."""
    precision, recall = matches / hypothesis, matches / reference
    f = 10 * precision * recall / (recall + 9 * precision)
    return f * (1 - 0.5 * (chunks / matches) ** 3)


@pytest.mark.parametrize(
    ("hypothesis", "reference", "counts"),
    [
        ("a b c d", "a b c d", (4, 4, 4, 1)),
        ("A b C d", "a B c D", (4, 4, 4, 1)),
        # Stems: "walks" and "walked" are one word, "runs" and "ran" are two.
        ("he walks home", "he walked home", (3, 3, 3, 1)),
        ("he runs home", "he ran home", (2, 3, 3, 2)),
        # The common subsequence first, then what is left: c moves to the front.
        ("a b c", "c a b", (3, 3, 3, 2)),
        # Exact matches come before stems: "walk" goes to "walk".
        ("walks walk", "walk x", (1, 2, 2, 1)),
        ("a x b", "a b", (2, 3, 2, 2)),
        ("a", "a b c", (1, 1, 3, 1)),
        # A token matches once.
        ("the the the", "the", (1, 3, 1, 1)),
    ],
)
def test_worked_out_by_hand(
    hypothesis: str, reference: str, counts: tuple[int, int, int, int]
) -> None:
    assert meteor(hypothesis, reference) == pytest.approx(score(*counts))


@pytest.mark.parametrize(("hypothesis", "reference"), [("", ""), ("a", ""), ("", "a"), ("a", "b")])
def test_nothing_in_common(hypothesis: str, reference: str) -> None:
    assert meteor(hypothesis, reference) == 0.0


tokens = st.lists(st.sampled_from(["a", "b", "walk", "walks", "walked"]), max_size=8)


@given(tokens, tokens)
def test_bounds(first: list[str], second: list[str]) -> None:
    value = meteor(" ".join(first), " ".join(second))
    assert 0 <= value <= 1
    if first and first == second:
        assert value == pytest.approx(1 - 0.5 / len(first) ** 3)
