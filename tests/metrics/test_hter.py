from __future__ import annotations

import numpy as np
import pytest

from learnedgec.metrics.contract import Score
from learnedgec.metrics.registry import load_metric


def score(hypotheses: list[str], references: list[list[str]], **parameters: object) -> Score:
    return load_metric("hter", **parameters).score(hypotheses, hypotheses, references)


def test_edits_of_a_corpus_are_summed() -> None:
    result = score(["a b c d", "x"], [["a c d"], ["y z"]])
    assert result.sentences == pytest.approx([1 - 1 / 3, 1 - 2 / 2])
    assert result.value == pytest.approx(1 - 3 / 5)
    assert result.details == {"edits": 3.0, "length": 5.0}


def test_the_nearest_reference_counts_and_the_mean_length() -> None:
    result = score(["a b c"], [["a b", "v w x y"]])
    assert result.sentences == pytest.approx([1 - 1 / 3])


def test_a_moved_word_is_two_edits() -> None:
    assert score(["b a c d"], [["a c d b"]]).details["edits"] == 2.0


def test_an_empty_reference_has_length_one() -> None:
    assert score(["", "a b"], [[""], [""]]).sentences == pytest.approx([1.0, 0.0])


def test_a_looping_output_is_worth_nothing_and_does_not_outweigh_the_others() -> None:
    good, loop = "a b c d", "a " * 600
    looping = score([good, loop], [[good], ["e f g h"]])
    assert looping.sentences == pytest.approx([1.0, 0.0])
    assert looping.value == pytest.approx(0.5)
    metric = load_metric("hter")
    resamples = metric.aggregate_many(looping.statistics, np.array([[0, 1], [1, 1]]))
    assert resamples == pytest.approx([0.5, 0.0])
    assert looping.details["edits"] == 600
