"""How much agreement with people does a more robust sum of heads cost?

    LEARNEDGEC_MIRROR=… python scripts/lab/trade_off.py PACKAGE [PICTURE]

A study of Optuna with two objectives draws sums of the heads that read whole texts at random, with weights
per standard deviation of the heads' differences; a sampler that learns would fit the held-out halves, too.
Agreement is Kendall's τ over the pairs of outputs of 400 sources of `gmeg:fce` that people rated
differently. CRS is the share of the cases of `robustgec:bea19/dev` with errors in which the sum prefers the
correction in every context or in none. The first table is the Pareto front, which PICTURE shows. For the
second, sources and cases are halved 60 times. Of the sums whose τ on the first half is at most `slack`
below the best, the one with the highest CRS there is measured on the second half. docs/lab/robustness.md
has both tables and the picture.
"""

from __future__ import annotations

import math
import random
import sys
from collections import defaultdict

import matplotlib.pyplot as plt
import numpy as np
import optuna
from numpy.typing import NDArray

from learnedgec import Runtime
from learnedgec.data.catalog.cases import Pair, load_cases
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.training.pairs.judged import grouped_ratings
from learnedgec.types import Indices

_SOURCES, _SUMS, _HALVES = 400, 4000, 60
_SLACKS = (0.0, 0.005, 0.01, 0.02)


def main() -> None:
    evaluator = Evaluator.load(sys.argv[1])
    config = evaluator.model.config
    heads = [head for head in config.heads if config.heads[head]["reads"] != "tokens"]
    by_source = defaultdict(list)
    for rating in grouped_ratings("gmeg:fce"):
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
    agree: list[NDArray[np.float32]] = []
    robust: list[NDArray[np.bool_]] = []

    def measure(trial: optuna.Trial) -> tuple[float, float]:
        """Return the agreement and the robustness of one sum."""
        # Exponential draws divided by their sum are uniform on the simplex.
        draws = [-math.log(trial.suggest_float(head, 1e-9, 1)) for head in heads]
        weights = np.array(draws) / sum(draws)
        trial.set_user_attr("weights", weights.tolist())
        agree.append(np.sign(np.round(weights / units @ differences, 9)).astype(np.float32))
        right = np.round(weights / units @ preferences, 9) > 0
        robust.append(
            np.logical_and.reduceat(right, starts) == np.logical_or.reduceat(right, starts)
        )
        return float(agree[-1].mean()), float(robust[-1].mean())

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(directions=["maximize", "maximize"], sampler=sampler)
    own = np.array([config.sums["preference"].get(head, 0.0) for head in heads]) * units
    study.enqueue_trial(dict(zip(heads, np.exp(-own / own.sum()).tolist(), strict=True)))
    study.optimize(measure, _SUMS)
    print(f"| τ | CRS | {' | '.join(heads)} |")
    for trial in [study.trials[0], *sorted(study.best_trials, key=lambda t: -t.values[0])]:
        measured = (f"{value:.3f}" for value in trial.values)
        shares = (f"{weight:.2f}" for weight in trial.user_attrs["weights"])
        print(f"| {' | '.join([*measured, *shares])} |")
    if len(sys.argv) > 2:
        optuna.visualization.matplotlib.plot_pareto_front(study, target_names=["τ", "CRS"])
        plt.savefig(sys.argv[2])
    _held_out(np.array(agree), np.array(robust), numbers[first])


def _has_errors(pair: Pair) -> bool:
    return pair.source.split() != pair.target.split()


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
