"""Skills of systems from pairwise outcomes: TrueSkill and the model of Bradley and Terry.

**TrueSkill** for games of two players is equal to the `trueskill` package, without its factor graph. With two
players, TrueSkill's message passing has a closed form (Herbrich et al. 2006). For a game that a wins against
b, with c² = 2β² + σa² + σb², t = (μa − μb)/c and the draw margin ε,

    μa += σa²/c · v(t, ε/c)          σa² *= 1 − σa²/c² · w(t, ε/c)
    μb −= σb²/c · v(t, ε/c)          σb² *= 1 − σb²/c² · w(t, ε/c)

where v and w are the moments of the normal distribution truncated at the margin. The package builds a graph
of 11 objects for each game. This is the same arithmetic, and equal to 1e-9 after any number of games:

- `rate_scores` makes one pass over all games of sentence scores (Goto et al. 2025 rank systems by it), and
  `rate_orders` one in each of several random orders;
- `rate_resamples` does the same on many resamples of the sentences at once, for intervals;
- `rate_judgements` makes many runs over sampled human judgements (Sakaguchi et al. 2014), as for the
  published system scores of GJG15 and SEEDA.

**Bradley and Terry's model** (1952) gives the skills of systems with their uncertainty: `bradley_terry`.
"""

from __future__ import annotations

import math
from itertools import combinations, permutations
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from learnedgec.errors import InputError
from learnedgec.runtime.runtime import track
from learnedgec.stats.significance import outcomes
from learnedgec.types import Floats, Indices

# -- TrueSkill --------------------------------------------------------------------------------------


# The parameters of Goto et al. (2025). _SIGMA is the standard deviation of a skill (mean 0) before the first
# game, _BETA that of a performance around the skill, and _DRAW the share of draws between equals.
_SIGMA, _BETA, _DRAW = 0.5, 0.25, 0.25

MODEL = f"mu=0,sigma={_SIGMA},beta={_BETA},tau=0,draw={_DRAW}"
"""The parameters, for signatures."""

Games: TypeAlias = Literal["unordered", "ordered"]
"""The games on a sentence: each pair of systems meets once, or twice as ordered pairs."""


def rate_scores(scores: Floats, comparisons: Games = "unordered") -> tuple[Floats, Floats]:
    """Return the skills after one pass over every sentence's pairs of systems, in order of the rows.

    The order matters. Goto et al. write of N(N − 1) comparisons of N systems, which are the ordered pairs,
    but their published figures have each pair i < j once. Ordered pairs count every outcome twice, so sigma
    is smaller and later sentences change mu less. The skills equal what `trueskill.TrueSkill(…).rate` gives
    with its default backend, game by game.

    Source: Goto et al., "Rethinking Evaluation Metrics for Grammatical Error Correction" (ACL 2025).

    Args:
        scores: (S, N), each system's score of each sentence; higher wins, equal is a draw.
        comparisons: `unordered` for pairs i < j, or `ordered` for all pairs i ≠ j.

    Returns:
        mu and sigma, each float64 (S,).

    Example:
        >>> mu, sigma = rate_scores(np.array([[1.0], [0.5], [0.5]]))
        >>> mu.round(3).tolist()
        [0.444, -0.259, -0.243]
    """
    import trueskill

    # The package's own normal distribution (accurate to 1e-7), so that ratings are equal to the package's.
    environment = trueskill.TrueSkill(0.0, _SIGMA, _BETA, 0.0, _DRAW)
    margin = trueskill.calc_draw_margin(_DRAW, 2, environment)
    mu = [0.0] * len(scores)
    variance = [_SIGMA**2] * len(scores)
    pairs = _pairs(len(scores), comparisons)
    for row in _outcomes(scores, pairs).tolist():
        for (a, b), outcome in zip(pairs, row, strict=True):
            if outcome < 0:
                a, b = b, a
            square = 2 * _BETA**2 + variance[a] + variance[b]
            c = math.sqrt(square)
            t, epsilon = (mu[a] - mu[b]) / c, margin / c
            if outcome:
                v = environment.v_win(t, epsilon)
                w = v * (v + (t - epsilon))
            else:
                v, w = environment.v_draw(t, epsilon), environment.w_draw(t, epsilon)
            mu[a] += variance[a] / c * v
            mu[b] -= variance[b] / c * v
            variance[a] *= 1 - variance[a] / square * w
            variance[b] *= 1 - variance[b] / square * w
    return np.array(mu), np.sqrt(np.array(variance))


ORDERS = 20
"""The number of random orders of the games over which `rate_orders` averages."""


def rate_orders(scores: Floats, orders: int = ORDERS) -> Floats:
    """Return mu float64 (orders, S) after one pass over all games, in each of several random orders.

    An order shuffles the sentences, and the pairs of systems on each of them.

    One pass in the order of the rows depends on that order and on the order of the systems, as far as a later
    game changes a skill less (`rate_scores`). The mean over the orders hardly does, and their deviation is
    what an order is worth. The games are drawn from an order that the scores themselves give, so that neither
    the names of files nor the order of their lines matter, unless systems have the same scores on other
    sentences.

    Args:
        scores: (S, N), as for `rate_scores`.
        orders: the number of orders.

    Example:
        >>> mu = rate_orders(np.array([[1.0, 0.5], [0.5, 0.25], [0.5, 0.75]]))
        >>> mu.mean(axis=0).round(2).tolist()
        [0.29, -0.32, 0.0]
    """
    systems = np.lexsort(np.sort(scores, axis=1).T)
    by_system = scores[systems]
    pairs = _pairs(len(scores), "unordered")
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    results = _outcomes(by_system[:, np.lexsort(by_system)], pairs)
    random, run = np.random.default_rng(0), np.arange(orders)
    sentences = np.array([random.permutation(len(results)) for _ in run])
    mu = np.zeros((len(scores), orders))
    variance = np.full(mu.shape, _SIGMA**2)
    for sentence in sentences.T:
        for pair in random.random((len(pairs), orders)).argsort(axis=0):
            a, b = first[pair], second[pair]
            mu[a, run], mu[b, run], variance[a, run], variance[b, run] = _update(
                *(mu[a, run], mu[b, run], variance[a, run], variance[b, run]),
                results[sentence, pair],
                _BETA,
            )
    skills = np.empty(mu.T.shape)
    skills[:, systems] = mu.T
    return skills


def rate_resamples(scores: Floats, samples: Indices, comparisons: Games = "unordered") -> Floats:
    """Return mu float64 (B, S) of `rate_scores` on each of B resamples of the sentences.

    All resamples advance together, one game at a time; the exact normal distribution is used, which
    moves mu by about 1e-8 from `rate_scores`.

    Args:
        scores: (S, N), as for `rate_scores`.
        samples: int (B, M), each row the sentence numbers of one resample.
        comparisons: as for `rate_scores`.
    """
    pairs = _pairs(len(scores), comparisons)
    results = _outcomes(scores, pairs)
    mu = np.zeros((len(scores), len(samples)))
    variance = np.full(mu.shape, _SIGMA**2)
    for sentence in samples.T:
        pair_results = results[sentence].T
        for (a, b), outcome in zip(pairs, pair_results, strict=True):
            mu[a], mu[b], variance[a], variance[b] = _update(
                mu[a], mu[b], variance[a], variance[b], outcome, _BETA
            )
    return np.ascontiguousarray(mu.T)


def rate_judgements(
    wins: Floats,
    ties: Floats,
    *,
    runs: int = 1000,
    seed: int = 0,
    progress: bool = False,
) -> Floats:
    """Return mu float64 (runs, S) of TrueSkill over sampled human judgements.

    Each run plays as many games as there are judgements: the system whose variance is largest (the
    last such) meets one drawn with probability ∝ exp(−|Δμ|), and the outcome is that of a judgement
    of the two drawn at random. β = σ·n/40 with n games and σ = .5, μ0 = 0 and τ = 0. The published scores are
    means over 1,000 runs; 200 runs are within .004 of SEEDA's.

    Source: Sakaguchi et al., "Efficient Elicitation of Annotations for Human Evaluation of Machine
    Translation" (WMT 2014), as run by Grundkiewicz et al. (2015) and Kobayashi et al. (2024).

    Args:
        wins: (S, S), how often the row's system was judged better than the column's; or (runs, S, S)
            with counts for each run, such as counts of resampled sentences.
        ties: (S, S) or (runs, S, S), symmetric, how often the two were judged equal.
        runs: number of runs.
        seed: seed of the random generator.
        progress: show a bar on stderr; 1,000 runs of 33,000 games take some 15 seconds.

    Raises:
        InputError: a system was never compared with another.
    """
    size = wins.shape[-1]
    wins = np.broadcast_to(wins, (runs, size, size))
    ties = np.broadcast_to(ties, (runs, size, size))
    met = wins + ties + wins.swapaxes(1, 2)
    if not (met.sum(axis=2) > 0).all():
        raise InputError(
            "a system was never compared with another, so TrueSkill cannot rate it; leave it out."
        )
    # One game more than there are judgements, as in the published procedure.
    games = int(np.rint((wins.sum(axis=(1, 2)) + ties.sum(axis=(1, 2)) / 2).mean())) + 1
    beta = _SIGMA * games / 40
    played = met > 0
    share = np.where(played, met, 1.0)
    tie_share, decided_share = ties / share, (ties + wins) / share
    random = np.random.default_rng(seed)
    run = np.arange(runs)
    # With one column per run, sums and maxima over systems run along contiguous rows.
    mu = np.zeros((size, runs))
    variance = np.full((size, runs), _SIGMA**2)
    for _ in track(range(games), "TrueSkill of human judgements", show=progress):
        a = size - 1 - variance[::-1].argmax(axis=0)
        mu_a = mu[a, run]
        bounds = np.cumsum(np.exp(-np.abs(mu - mu_a)) * played[run, a].T, axis=0)
        draws = random.random((2, runs))
        b = np.count_nonzero(bounds <= draws[0] * bounds[-1], axis=0)
        outcome = np.where(
            draws[1] < tie_share[run, a, b],
            0,
            np.where(draws[1] < decided_share[run, a, b], 1, -1),
        )
        mu[a, run], mu[b, run], variance[a, run], variance[b, run] = _update(
            mu_a, mu[b, run], variance[a, run], variance[b, run], outcome, beta
        )
    return np.ascontiguousarray(mu.T)


def _pairs(size: int, comparisons: Games) -> list[tuple[int, int]]:
    """Return the games of a sentence, in order."""
    return list((combinations if comparisons == "unordered" else permutations)(range(size), 2))


def _outcomes(scores: Floats, pairs: list[tuple[int, int]]) -> npt.NDArray[np.int8]:
    """Return int8 (N, pairs): 1 where the first system of a pair scores higher, -1 lower, 0 equal."""
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    signs: npt.NDArray[np.int8] = outcomes(scores[first], scores[second]).T.astype(np.int8)
    return signs


def _update(
    mu_a: Floats,
    mu_b: Floats,
    var_a: Floats,
    var_b: Floats,
    outcome: npt.NDArray[np.integer],
    beta: float,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return new means and variances of a and b after one game in each of many runs."""
    from scipy.special import log_ndtr, ndtr, ndtri

    square = 2 * beta**2 + var_a + var_b
    c = np.sqrt(square)
    # The difference of performances below which a game is a draw.
    epsilon = ndtri((_DRAW + 1) / 2) * math.sqrt(2) * beta / c
    draw = outcome == 0
    sign = np.where(draw, 1.0, outcome)
    t = sign * (mu_a - mu_b) / c
    x = t - epsilon
    v = np.exp(-(x**2) / 2 - log_ndtr(x)) / math.sqrt(2 * math.pi)
    w = v * (v + x)
    if draw.any():
        low, high = -epsilon - np.abs(t), epsilon - np.abs(t)
        mass = ndtr(high) - ndtr(low)
        safe = np.where(mass > 0, mass, 1.0)
        at_low, at_high = (np.exp(-(end**2) / 2) / math.sqrt(2 * math.pi) for end in (low, high))
        v_draw = np.where(mass > 0, (at_low - at_high) / safe, high)
        w_draw = np.where(mass > 0, v_draw**2 + (high * at_high - low * at_low) / safe, 1.0)
        v = np.where(draw, np.where(t < 0, -v_draw, v_draw), v)
        w = np.where(draw, w_draw, w)
    step = sign * v / c
    shrink = w / square
    return (
        mu_a + var_a * step,
        mu_b - var_b * step,
        var_a * (1 - var_a * shrink),
        var_b * (1 - var_b * shrink),
    )


# -- Bradley and Terry ------------------------------------------------------------------------------


# Newton's method ends after _MAX_STEPS, or when no skill changes by as much as _TOLERANCE.
_MAX_STEPS, _TOLERANCE = 25, 1e-8


def bradley_terry(wins: Floats, *, deviation: float = 1.0) -> tuple[Floats, Floats]:
    """Return the skills of S systems and their covariance.

    A system beats another with probability `1 / (1 + exp(-d))`, where d is the difference of their skills.
    The skills are the mode of the posterior under independent normal priors with mean 0, found by Newton's
    method. Their covariance is the inverse of the curvature there. The prior keeps the skills finite if a
    system has won every game or none.

    Source: Bradley and Terry, "Rank Analysis of Incomplete Block Designs" (Biometrika 1952).

    Args:
        wins: (..., S, S), the number of times that the row's system beat the column's; a tie is half a win
            for both.
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
    for _ in range(_MAX_STEPS):
        chance = 1 / (1 + np.exp(skills[..., None, :] - skills[..., :, None]))
        slope = (wins - games * chance).sum(axis=-1) - skills / deviation**2
        information = games * chance * (1 - chance)
        total = information.sum(axis=-1) + 1 / deviation**2
        curvature = total[..., None] * identity - information
        step = np.linalg.solve(curvature, slope[..., None])[..., 0]
        skills = skills + step
        if np.abs(step).max(initial=0.0) < _TOLERANCE:
            break
    return skills, np.asarray(np.linalg.inv(curvature), np.float64)


def expected_win_rates(skills: Floats) -> Floats:
    """Return each system's mean probability of beating another system, float64 (..., S).

    Unlike a share of the games played, it compares systems that met different opponents.

    Example:
        >>> expected_win_rates(np.array([1.0, 0.0, -1.0])).round(3).tolist()
        [0.806, 0.5, 0.194]
    """
    size = skills.shape[-1]
    chance = 1 / (1 + np.exp(skills[..., None, :] - skills[..., :, None]))
    rates: Floats = (chance.sum(axis=-1) - 0.5) / max(size - 1, 1)
    return rates
