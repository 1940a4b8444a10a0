"""Skills of systems from pairwise outcomes, with their uncertainty (Bradley and Terry 1952)."""

from __future__ import annotations

import numpy as np

from learnedgec.types import Floats

_STEPS = 25
_ENOUGH = 1e-8


def bradley_terry(wins: Floats, *, deviation: float = 1.0) -> tuple[Floats, Floats]:
    """Return the skills of S systems and their covariance.

    A system beats another with probability `1 / (1 + exp(-d))`, where d is the difference of their skills.
    The skills are the mode of the posterior under independent normal priors with mean 0, found by Newton's
    method. Their covariance is the inverse of the curvature there. The prior keeps the skills finite where
    a system has won every game or none.

    Source: Bradley and Terry, "Rank Analysis of Incomplete Block Designs" (Biometrika 1952).

    Args:
        wins: (..., S, S), how often the row's system beat the column's; a tie is half a win for both.
        deviation: the standard deviation of the prior.

    Returns:
        The skills, float64 (..., S), and their covariance, float64 (..., S, S).

    Example:
        >>> skills, covariance = bradley_terry(np.array([[0.0, 30.0], [10.0, 0.0]]))
        >>> skills.round(3).tolist(), covariance.diagonal().round(3).tolist()
        ([0.516, -0.516], [0.53, 0.53])
    """
    games = wins + wins.swapaxes(-1, -2)
    skills: Floats = np.zeros(wins.shape[:-1])
    identity: Floats = np.eye(wins.shape[-1])
    curvature: Floats = identity
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(skills[..., None, :] - skills[..., :, None]))
        slope = (wins - games * chance).sum(axis=-1) - skills / deviation**2
        information = games * chance * (1 - chance)
        total = information.sum(axis=-1) + 1 / deviation**2
        curvature = total[..., None] * identity - information
        step = np.linalg.solve(curvature, slope[..., None])[..., 0]
        skills = skills + step
        if np.abs(step).max(initial=0.0) < _ENOUGH:
            break
    return skills, np.asarray(np.linalg.inv(curvature), np.float64)


def expected_win_rates(skills: Floats) -> Floats:
    """Return the mean probability of beating each of the other systems, float64 (..., S).

    Unlike a share of the games played, it compares systems that met different opponents.

    Example:
        >>> expected_win_rates(np.array([1.0, 0.0, -1.0])).round(3).tolist()
        [0.806, 0.5, 0.194]
    """
    size = skills.shape[-1]
    chance = 1 / (1 + np.exp(skills[..., None, :] - skills[..., :, None]))
    rates: Floats = (chance.sum(axis=-1) - 0.5) / max(size - 1, 1)
    return rates
