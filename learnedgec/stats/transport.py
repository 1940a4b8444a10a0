"""Unbalanced optimal transport: plans that need not transport all of the mass."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from learnedgec.types import Floats

# The largest relative error of a plan.
_TOLERANCE = 1e-9


def unbalanced_plans(
    first: Floats, second: Floats, costs: Floats, *, entropy: float, marginal: float
) -> Floats:
    """Return the plans that solve B problems of entropic unbalanced optimal transport.

    Each plan P minimises ⟨P, M⟩ + ε·KL(P | a·bᵀ) + ρ·KL(P·1 | a) + ρ·KL(Pᵀ·1 | b). It has the form
    P = aᵢ·bⱼ·exp(fᵢ + gⱼ − Mᵢⱼ/ε), and the scaling algorithm finds f and g in turns, here as
    logarithms, so that nothing underflows:

        fᵢ = −φ·log Σⱼ bⱼ·exp(gⱼ − Mᵢⱼ/ε),   gⱼ = −φ·log Σᵢ aᵢ·exp(fᵢ − Mᵢⱼ/ε),   φ = ρ/(ρ + ε)

    Each turn multiplies their distance to the solution by at most φ², so the algorithm always ends.

    Source: Chizat et al., "Scaling Algorithms for Unbalanced Optimal Transport Problems" (2018).

    Args:
        first: the masses a, above 0, float (B, n).
        second: the masses b, above 0, float (B, m).
        costs: M, float (B, n, m).
        entropy: ε, above 0.
        marginal: ρ, above 0.

    Returns:
        float64 (B, n, m).

    Example:
        >>> one = np.ones((1, 1))
        >>> plan = unbalanced_plans(one, one, np.full((1, 1, 1), 0.3), entropy=0.1, marginal=0.1)
        >>> round(float(plan[0, 0, 0]), 4), round(float(np.exp(-1)), 4)
        (0.3679, 0.3679)
    """
    share = marginal / (marginal + entropy)
    log_first, log_second = np.log(first), np.log(second)
    scaled = -costs / entropy
    f, g = np.zeros_like(log_first), np.zeros_like(log_second)
    bound = _TOLERANCE * (1 - share * share)
    change = np.inf
    while change > bound:
        before = f
        f = -share * logsumexp(scaled + (log_second + g)[:, None, :], axis=2)
        g = -share * logsumexp(scaled + (log_first + f)[:, :, None], axis=1)
        change = float(np.abs(f - before).max(initial=0.0))
    plans: Floats = np.exp((log_first + f)[:, :, None] + (log_second + g)[:, None, :] + scaled)
    return plans
