"""How much agreement with people does a more robust sum of heads cost?

    LEARNEDGEC_MIRROR=… python scripts/lab/trade_off.py PACKAGE

Sums of the heads that read whole texts are drawn at random, with weights per standard deviation of the heads'
differences. Agreement is Kendall's τ over the pairs of outputs of 400 sources of `gmeg:fce` that people rated
differently. CRS is the share of the cases of `robustgec:bea19/dev` with errors in which the sum prefers the
correction in every context or in none. The first table is the Pareto front. For the second, sources and cases
are halved 60 times. Of the sums whose τ on the first half is at most `slack` below the best, the one with the
highest CRS there is measured on the second half. docs/lab/robustness.md has both tables.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from learnedgec import Runtime
from learnedgec.data.catalog.sentences import Pair, load_cases
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.training.pairs.judged import iterate_rated
from learnedgec.types import Floats, Indices

_SOURCES, _SUMS, _HALVES = 400, 4000, 60
_SLACKS = (0.0, 0.005, 0.01, 0.02)


def main() -> None:
    evaluator = Evaluator.load(sys.argv[1])
    config = evaluator.model.config
    heads = [head for head in config.heads if config.heads[head]["reads"] != "tokens"]
    by_source = defaultdict(list)
    for rating in iterate_rated("gmeg:fce"):
        by_source[rating.source].append((rating.hypothesis, rating.values["quality"]))
    chosen = sorted(by_source)
    random.Random(0).shuffle(chosen)
    rated = [(source, *row) for source in chosen[:_SOURCES] for row in by_source[source]]
    cases = [case for case in load_cases("robustgec:bea19/dev") if _has_errors(case.original)]
    contexts = [pair for case in cases for pair in case.pairs]
    rows = [(source, text) for source, text, _ in rated]
    rows += [(pair.source, text) for pair in contexts for text in (pair.target, pair.source)]
    sources, texts = zip(*rows, strict=True)
    predicted = evaluator.predict(sources, texts, heads, runtime=Runtime(dtype="auto"))
    values = np.array([predicted[head] for head in heads])

    ratings = np.array([rating for _, _, rating in rated])
    numbers = np.unique([source for source, _, _ in rated], return_inverse=True)[1]
    first, second = np.triu_indices(len(rated), 1)
    compared = (numbers[first] == numbers[second]) & (ratings[first] != ratings[second])
    first, second = first[compared], second[compared]
    outcome = np.sign(ratings[first] - ratings[second])
    differences = (values[:, first] - values[:, second]) * outcome
    units = differences.std(axis=1)
    preferences = np.subtract(*values[:, len(rated) :].reshape(len(heads), -1, 2).T).T
    starts = np.cumsum([0, *(len(case.pairs) for case in cases[:-1])])
    weights = np.random.default_rng(0).dirichlet(np.full(len(heads), 0.6), _SUMS)
    if "preference" in config.sums:
        own = np.array([config.sums["preference"].get(head, 0.0) for head in heads]) * units
        weights = np.vstack([own / own.sum(), weights])
    agree = np.empty((len(weights), len(first)), dtype=np.float32)
    robust = np.empty((len(weights), len(cases)), dtype=bool)
    for place, row in enumerate(weights / units):
        agree[place] = np.sign(np.round(row @ differences, 9))
        right = np.round(row @ preferences, 9) > 0
        robust[place] = np.logical_and.reduceat(right, starts) == np.logical_or.reduceat(
            right, starts
        )

    tau, crs = agree.mean(axis=1), robust.mean(axis=1)
    print(f"| τ | CRS | {' | '.join(heads)} |")
    for place in [0, *_front(tau, crs)]:
        print(f"| {tau[place]:.3f} | {crs[place]:.3f} |", *(f"{w:.2f} |" for w in weights[place]))
    _held_out(agree, robust, numbers[first])


def _has_errors(pair: Pair) -> bool:
    return pair.source.split() != pair.target.split()


def _front(tau: Floats, crs: Floats) -> list[int]:
    """Return the sums of which no other has both more agreement and more robustness."""
    front: list[int] = []
    for place in np.lexsort((-crs, -tau)).tolist():
        if not front or crs[place] > crs[front[-1]]:
            front.append(place)
    return front


def _held_out(agree: NDArray[np.float32], robust: NDArray[np.bool_], sources: Indices) -> None:
    """Print what robust sums, chosen on halves, are worth on the others."""
    generator = np.random.default_rng(1)
    found = []
    for _ in range(_HALVES):
        ours = np.isin(sources, generator.permutation(_SOURCES)[: _SOURCES // 2])
        cases = np.arange(robust.shape[1]) < robust.shape[1] // 2
        generator.shuffle(cases)
        tau, crs = agree[:, ours].mean(axis=1), robust[:, cases].mean(axis=1)
        picks = [np.where(tau >= tau.max() - slack, crs, -1.0).argmax() for slack in _SLACKS]
        found.append([(agree[n, ~ours].mean(), robust[n, ~cases].mean()) for n in picks])
    values = np.array(found)
    gains = values - values[:, :1]
    print("\n| slack | τ | CRS | difference of τ | of CRS |")
    for place, slack in enumerate(_SLACKS):
        (tau, crs), own = values[:, place].mean(axis=0), gains[:, place]
        spread = (f"{m:+.3f} ± {s:.3f}" for m, s in zip(own.mean(0), own.std(0), strict=True))
        print(f"| {slack} | {tau:.3f} | {crs:.3f} | {' | '.join(spread)} |")


if __name__ == "__main__":
    main()
