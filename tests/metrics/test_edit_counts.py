from __future__ import annotations

import numpy as np
import pytest

from learnedgec.metrics.edit_overlap import EditCounts


def test_numbers() -> None:
    counts = EditCounts(2, 5, 4)
    assert (counts.fp, counts.fn) == (3, 2)
    assert (counts.precision, counts.recall) == (0.4, 0.5)
    assert counts.f(beta=1) == pytest.approx(4 / 9)
    assert counts.f(beta=0.5) == pytest.approx(1.25 * 0.2 / 0.6)
    assert tuple(counts) == (2, 5, 4)


def test_nothing_to_divide_by() -> None:
    counts = EditCounts(np.array([0, 0, 0]), np.array([0, 0, 3]), np.array([0, 2, 0]))
    assert counts.precision.tolist() == [1, 1, 0]
    assert counts.recall.tolist() == [1, 0, 1]
    assert counts.f(beta=0.5).tolist() == [1, 0, 0]


def test_arrays_are_taken_and_summed() -> None:
    counts = EditCounts(*np.arange(12.0).reshape(3, 2, 2))
    assert counts.stack().tolist() == np.arange(12.0).reshape(3, 2, 2).tolist()
    assert [each.tolist() for each in counts[[1, 0], 1]] == [[3, 1], [7, 5], [11, 9]]
    assert [each.tolist() for each in counts.sum()] == [[1, 5], [9, 13], [17, 21]]
