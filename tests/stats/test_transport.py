"""Unbalanced transport: optimal, and finite at costs at which numbers underflow.

`tests/metrics/test_uot_errant.py` compares with the package POT.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learnedgec.metrics.uot_errant import unbalanced_plans
from learnedgec.types import Floats


def problem(seed: int, rows: int, columns: int, farthest: float) -> tuple[Floats, Floats, Floats]:
    generator = np.random.default_rng(seed)
    return (
        generator.uniform(0.05, 3, rows),
        generator.uniform(0.05, 3, columns),
        generator.uniform(0, farthest, (rows, columns)),
    )


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 6))
@settings(max_examples=100, deadline=None)
def test_no_step_from_the_plan_is_better(seed: int, rows: int, columns: int) -> None:
    first, second, costs = problem(seed, rows, columns, 3.0)
    (plan,) = unbalanced_plans(first[None], second[None], costs[None], entropy=0.1, marginal=0.2)
    # The objective's gradient is 0: M + ε·log(P / ab) + ρ·log(P1 / a) + ρ·log(P'1 / b).
    gradient = costs + 0.1 * np.log(plan / np.outer(first, second))
    gradient += 0.2 * np.log(plan.sum(axis=1) / first)[:, None]
    gradient += 0.2 * np.log(plan.sum(axis=0) / second)
    assert gradient == pytest.approx(np.zeros_like(gradient), abs=1e-7)


def test_problems_together_are_solved_as_alone() -> None:
    problems = [problem(seed, 3, 2, farthest) for seed, farthest in enumerate((0.1, 2.0, 300.0))]
    together = unbalanced_plans(
        *(np.stack(parts) for parts in zip(*problems, strict=True)), entropy=0.1, marginal=0.1
    )
    for plan, (first, second, costs) in zip(together, problems, strict=True):
        (alone,) = unbalanced_plans(
            first[None], second[None], costs[None], entropy=0.1, marginal=0.1
        )
        assert plan == pytest.approx(alone, rel=1e-7, abs=0)
    assert np.isfinite(together).all()
    assert (together >= 0).all()
