"""Ranges: every point is a legal value, and every value is reached exactly."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.trial import FixedTrial

from learnedgec.metrics.registry import load_metric
from learnedgec.tuning.space import Choice, Number, Simplex, Space, read_space


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_every_point_of_a_simplex_is_weights(coordinates: list[float]) -> None:
    simplex = Simplex(len(coordinates) + 1)
    point = {f"w.{k}": u for k, u in enumerate(coordinates)}
    weights = simplex.suggest("w", FixedTrial(point))
    assert len(weights) == simplex.size
    assert all(0 <= weight <= 1 for weight in weights)
    assert math.fsum(weights) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_simplex_reaches_starts_and_lattice(size: int) -> None:
    simplex = Simplex(size)
    fifths = [w for w in itertools.product(range(6), repeat=size) if sum(w) == 5]
    for weights in [*simplex.starts(), *([n / 5 for n in w] for w in fifths)]:
        assert simplex.suggest("w", FixedTrial(simplex.encode("w", weights))) == pytest.approx(
            weights, abs=1e-9
        )
    # Weights are divided by their sum.
    equal = simplex.encode("w", (3.0,) * size)
    assert simplex.suggest("w", FixedTrial(equal)) == simplex.starts()[0]
    corners = simplex.starts()[1:]
    assert sorted(corners) == sorted(tuple(float(k == n) for k in range(size)) for n in range(size))


def test_uniform_coordinates_give_uniform_weights() -> None:
    # Of a uniform simplex of three, each weight has mean 1/3 and exceeds 1/2 with probability 1/4.
    simplex = Simplex(3)
    steps = [(k + 0.5) / 60 for k in range(60)]
    drawn = [simplex.suggest("w", FixedTrial({"w.0": a, "w.1": b})) for a in steps for b in steps]
    for k in range(3):
        assert sum(w[k] for w in drawn) / len(drawn) == pytest.approx(1 / 3, abs=0.002)
        assert sum(w[k] > 0.5 for w in drawn) / len(drawn) == pytest.approx(1 / 4, abs=0.01)


def test_numbers() -> None:
    assert Number(0.25, 4, log=True).starts() == pytest.approx([0.25, 1, 4])
    assert Number(1, 2, whole=True).starts() == [1, 2]
    assert Number(0, 1).encode("x", None) == {"x": 0.0}
    assert Number(0, 1).encode("x", 7.0) == {"x": 1.0}
    assert Number(0, 1).suggest("x", FixedTrial({"x": 0.123456})) == 0.1235
    assert Number(0, 0.33333).suggest("x", FixedTrial({"x": 0.33333})) == 0.3333


def test_choices() -> None:
    assert Choice((1, 2)).encode("c", 2.0) == {"c": "2"}
    choice = Choice(("word", None, 3))
    assert [
        choice.suggest("x", FixedTrial(choice.encode("x", value))) for value in choice.values
    ] == [
        "word",
        None,
        3,
    ]
    assert choice.encode("x", "other") == {"x": "'word'"}


def test_starts_are_the_given_point_then_each_range_by_itself() -> None:
    space = Space({"w": Simplex(2), "b": Number(0, 1)}, {"w": (0.3, 0.7), "b": 0.25})
    points = [space.suggest(FixedTrial(point)) for point in space.starts()]
    assert [(row["w"], row["b"]) for row in points] == [
        ((0.3, 0.7), 0.25),
        ((0.5, 0.5), 0.25),
        ((1.0, 0.0), 0.25),
        ((0.0, 1.0), 0.25),
        ((0.3, 0.7), 0.0),
        ((0.3, 0.7), 0.5),
        ((0.3, 0.7), 1.0),
    ]


def test_a_whole_parameter_stays_whole() -> None:
    space = read_space(load_metric("gleu"), {"n": {"low": 1, "high": 6}})
    assert [space.suggest(FixedTrial(point))["n"] for point in space.starts()] == [4, 1, 6]
    assert str(space) == "n: 1 to 6"
