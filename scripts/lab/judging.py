"""How many judgements a ranking needs, asked for at random or informatively; and raters who answer at random.

usage: python scripts/lab/judging.py [--runs 200] [--raters 1000] (the mirror of public data is read)

The judgements of SEEDA-S (15 systems) and of GJG15 are the raters: a cell is a sentence with two different
texts that somebody compared, and a judgement of it is drawn from those that it has. A run draws cells in
the order `random` or `informative` (`learnedgec.judging.sampling`) and ranks the systems after every 25
judgements. It is done when Spearman's correlation with the ranking by all judgements stays at .95 (and .90,
.80) or more. Then as many cells as the study has are drawn many times, to see whether either order favours
a system.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.stats import rankdata

from learnedgec import load_benchmark
from learnedgec.judging.records import Answer, Judgement, StudySettings
from learnedgec.judging.sampling import Cells, group_equal
from learnedgec.judging.status import CHANCE, above_chance, values_of
from learnedgec.stats.correlation import pearson
from learnedgec.stats.skills import bradley_terry, expected_win_rates
from learnedgec.types import Floats, Indices

STEP = 25
LEVELS = (0.8, 0.9, 0.95)


class Judged:
    """The judged cells of a benchmark, with the outcomes of each."""

    def __init__(self, name: str) -> None:
        benchmark = load_benchmark(name)
        names = list(benchmark.systems)
        texts = list(benchmark.systems.values())
        groups = [group_equal([column[n] for column in texts]) for n in range(len(texts[0]))]
        cells = Cells(groups, len(names))
        place = {
            (n, *pair): c
            for c, (n, pair) in enumerate(zip(cells.sentence.tolist(), cells.pairs, strict=True))
        }
        group_of = [{system: group for group in row for system in group} for row in groups]
        outcomes: dict[int, list[int]] = {}
        for ranking in benchmark.rankings:
            ranks = {
                group_of[ranking.sentence][names.index(s)]: r
                for s, r in ranking.ranks.items()
                if s in names
            }
            for first, second in combinations(sorted(ranks), 2):
                outcome = (ranks[first] < ranks[second]) - (ranks[first] > ranks[second])
                outcomes.setdefault(place[ranking.sentence, first, second], []).append(outcome)
        kept = sorted(outcomes)
        self.size, self.names = len(names), names
        self.first, self.second = cells.first[kept], cells.second[kept]
        self.counts = np.array([len(outcomes[cell]) for cell in kept])
        self.outcomes = np.zeros((len(kept), self.counts.max()))
        for row, cell in zip(self.outcomes, kept, strict=True):
            row[: len(outcomes[cell])] = outcomes[cell]
        mean_win = (
            np.array([np.mean([(1 + o) / 2 for o in outcomes[cell]]) for cell in kept])
            * self.counts
        )
        over = np.einsum("c,ca,cb->ab", mean_win, self.first, self.second)
        under = np.einsum("c,ca,cb->ab", self.counts - mean_win, self.first, self.second)
        self.wins = over + under.T
        self.skills = bradley_terry(self.wins)[0]

    def shares(self, wins: Floats, informative: bool) -> Floats:
        """Return the probability of each cell in each run, (R, C); as `Cells.probabilities`."""
        plain = self.counts / self.counts.sum()
        if not informative:
            return np.broadcast_to(plain, (len(wins), len(plain)))
        skills, covariance = bradley_terry(wins)
        own = np.diagonal(covariance, axis1=1, axis2=2)
        variance = own[:, :, None] + own[:, None] - 2 * covariance + np.eye(self.size)
        worth = variance * np.exp(-((skills[:, :, None] - skills[:, None]) ** 2) / (2 * variance))
        among = (self.first * self.counts[:, None]).T @ self.second
        among = among + among.T
        share = np.where(among > 0, worth * (1 - np.eye(self.size)) / np.maximum(among, 1), 0)
        told = np.stack([((self.first @ s) * self.second).sum(axis=1) for s in share]) * self.counts
        shares: Floats = 0.3 * plain + 0.7 * told / told.sum(axis=1, keepdims=True)
        return shares

    def run(
        self, runs: int, judgements: int, informative: bool, seed: int
    ) -> tuple[Floats, Floats]:
        """Return the skills after every step, (T, R, S), and the shares of plain wins at the end, (R, S)."""
        random = np.random.default_rng(seed)
        wins = np.zeros((runs, self.size, self.size))
        plain_wins = np.zeros_like(wins)
        after = []
        plain = self.counts / self.counts.sum()
        for _ in range(judgements // STEP):
            shares = self.shares(wins, informative)
            for number, share in enumerate(shares):
                cells = random.choice(len(share), STEP, p=share)
                said = self.outcomes[cells, random.integers(self.counts[cells])]
                weight = np.sqrt(plain[cells] / share[cells])
                for target, w in ((wins, weight), (plain_wins, np.ones(STEP))):
                    target[number] += (
                        self.first[cells] * (w * (1 + said) / 2)[:, None]
                    ).T @ self.second[cells]
                    target[number] += (
                        self.second[cells] * (w * (1 - said) / 2)[:, None]
                    ).T @ self.first[cells]
            after.append(bradley_terry(wins)[0])
        games = plain_wins + plain_wins.swapaxes(1, 2)
        rates = np.where(games > 0, plain_wins / np.maximum(games, 1e-9), np.nan)
        return np.array(after), np.nanmean(rates, axis=2)


def spearman(skills: Floats, truth: Floats) -> Floats:
    """Return Spearman's correlation of each row with the truth."""
    return np.asarray(pearson(rankdata(skills, axis=-1), rankdata(truth)), float)


def first_lasting(good: np.ndarray) -> Indices:
    """Return after how many judgements each run is good and stays so, (R,); beyond the end if never."""
    bad = ~good
    last = np.where(bad.any(axis=0), len(bad) - np.argmax(bad[::-1], axis=0), 0)
    return (last + 1) * STEP


def ratio_of_medians(both: Indices, drawn: Indices) -> float:
    """Return the median of the first row over that of the second, of the runs drawn."""
    return float(np.median(both[0, drawn]) / np.median(both[1, drawn]))


def interval(statistic: Callable[[Indices], float], runs: int) -> tuple[float, float]:
    """Return a 95 % interval of a statistic by bootstrap over the runs."""
    random = np.random.default_rng(0)
    values = [statistic(random.integers(runs, size=runs)) for _ in range(1000)]
    return float(np.quantile(values, 0.025)), float(np.quantile(values, 0.975))


def report(name: str, runs: int, judgements: int) -> None:
    """Print how many judgements each order needs on a benchmark, and the difference of the mean win rates."""
    judged = Judged(name)
    print(
        f"\n{name}: {judged.size} systems, {len(judged.counts)} cells, "
        f"{judged.counts.sum()} judgements, {runs} runs"
    )
    truth = expected_win_rates(judged.skills)
    done: dict[str, dict[float, Indices]] = {}
    ends: dict[str, Floats] = {}
    for order in ("random", "informative"):
        after, ends[order] = judged.run(runs, judgements, order == "informative", seed=1)
        rho = spearman(after, judged.skills)
        curve = ", ".join(
            f"{(t + 1) * STEP}: {rho[t].mean():.3f}"
            for t in (1, 3, 7, 15, 31, 63, 127, 255)
            if t < len(rho)
        )
        print(f"  {order}: mean rho {curve}")
        done[order] = {level: first_lasting(rho >= level) for level in LEVELS}
        top = np.argsort(-judged.skills)[:5]
        ordered = np.asarray((np.diff(after[:, :, top], axis=2) < 0).all(axis=2))
        done[order][5] = first_lasting(ordered)
        rates = expected_win_rates(after[-1])
        print(
            f"    weighted: largest bias {np.abs(rates.mean(axis=0) - truth).max():.4f}, "
            f"root mean square error {np.sqrt(((rates - truth) ** 2).mean()):.4f}; top five in "
            f"order at the end {ordered[-1].mean():.2f}"
        )
    shift = ends["informative"].mean(axis=0) - ends["random"].mean(axis=0)
    print(
        f"    win rates in rankings.csv, informative - random: largest {np.abs(shift).max():.4f}, "
        f"rho of the means {spearman(ends['informative'].mean(axis=0), ends['random'].mean(axis=0)):.3f}"
    )
    for level in (*LEVELS, 5):
        one, two = done["random"][level], done["informative"][level]
        medians = []
        for needed in (one, two):
            low, high = interval(
                partial(ratio_of_medians, np.stack([needed, np.ones_like(needed)])), runs
            )
            medians.append(f"{np.median(needed):.0f} [{low:.0f}, {high:.0f}]")
        both = np.stack([two, one])
        low, high = interval(partial(ratio_of_medians, both), runs)
        what = "the top five in order" if level == 5 else f"rho stays at {level}"
        reached = [f"{(x <= judgements // STEP * STEP).mean():.2f}" for x in (one, two)]
        print(
            f"  {what}: random {medians[0]}, informative {medians[1]}, ratio "
            f"{np.median(two) / np.median(one):.2f} "
            f"[{low:.2f}, {high:.2f}]; reached in {reached[0]} and {reached[1]} of runs"
        )


def report_random_raters(name: str, runs: int) -> None:
    """Print how often a rater who answers at random, and a careful one, is pointed at.

    Three raters answer half of their items together. The careful ones give what an annotator said about the
    same texts, each drawn anew, so that they agree as annotators do. No item is repeated.
    """
    judged = Judged(name)
    random = np.random.default_rng(3)
    members = [
        [tuple(judged.names[n] for n in np.flatnonzero(row)) for row in side]
        for side in (judged.first, judged.second)
    ]
    study: Any = SimpleNamespace(systems=dict.fromkeys(judged.names), settings=StudySettings())
    for items in (40, 60, 100):
        found: list[tuple[bool, bool]] = []
        for _ in range(runs):
            shared = random.choice(
                len(judged.counts), items // 2, p=judged.counts / judged.counts.sum()
            )
            judgements: list[Judgement] = []
            for rater in ("careful", "other", "random"):
                own = random.choice(
                    len(judged.counts), items // 2, p=judged.counts / judged.counts.sum()
                )
                for cell in (*shared, *own):
                    said = int(judged.outcomes[cell, random.integers(judged.counts[cell])])
                    if rater == "random":
                        said = int(random.integers(-1, 2))
                    ranks = {1: [1, 2], -1: [2, 1], 0: [1, 1]}[said]
                    groups = (members[0][cell], members[1][cell])
                    question = int(cell) if cell in shared else -len(judgements) - 1
                    judgements.append(
                        Judgement(
                            rater,
                            0,
                            groups,
                            Answer(ranks),
                            item=len(judgements),
                            question=question,
                        )
                    )
            values = values_of(judgements)
            z = {
                name: above_chance(study, name, judgements, values) or 0.0
                for name in ("careful", "random")
            }
            found.append((z["careful"] < CHANCE, z["random"] < CHANCE))
        shares = np.mean(found, axis=0)
        print(
            f"  {items} items: the random rater is pointed at in {shares[1]:.3f} of {runs} runs, "
            f"a careful one in {shares[0]:.3f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--judgements", type=int, nargs=2, default=(2000, 4000))
    parser.add_argument("--raters", type=int, default=1000, help="runs with a random rater")
    options = parser.parse_args()
    for benchmark in ("seeda-s:all", "gjg15"):
        print(f"{benchmark}: raters who answer at random")
        report_random_raters(benchmark, options.raters)
    for benchmark, number in zip(("seeda-s:all", "gjg15"), options.judgements, strict=True):
        report(benchmark, options.runs, number)
