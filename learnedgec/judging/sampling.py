"""The choice of the next question: the two outputs of a sentence that tell most about the ranking.

A cell is a sentence with two different texts, each written by one system or several. One judgement of a cell
compares every system of one text with every system of the other.

The informative order draws a cell with probability

    0.3 / open cells  +  0.7 · Σ_(a,b) of the cell  p(a,b) / n(a,b)

where n(a,b) is the number of open cells that compare the systems a and b, and p(a,b) ∝ v·exp(−d²/2v) grows
with the variance v of the difference of their skills and with its closeness to 0 (d is its mean), as
TrueSkill's choice of opponents does. `bradley_terry` gives the skills. The first term keeps every
sentence possible, so that no kind of sentence disappears from the comparison of two systems. A judgement's
weight in the study's own ranking is the square root of the cell's probability in a plain sample over that
with which it was drawn. It takes out most of the draw's preference for sentences on which many systems
agree, at little cost in variance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from learnedgec.stats.skills import bradley_terry
from learnedgec.types import Floats, Indices, Texts

# The share of questions that the informative order draws as the random one does.
_PLAIN = 0.3

Group = tuple[int, ...]


def group_equal(texts: Texts) -> list[Group]:
    """Return the numbers of the texts that are equal but for spaces, in groups, by their first number.

    Example:
        >>> group_equal(["a b", "c", "a  b"])
        [(0, 2), (1,)]
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, text in enumerate(texts):
        groups.setdefault(tuple(text.split()), []).append(number)
    return [tuple(group) for group in groups.values()]


class Cells:
    """The C cells of a study, and which of them are open.

    Cells with the same two groups are of one kind, so that what depends on the systems is computed once a
    kind.

    Args:
        groups: the systems, by number, that wrote each different text of each sentence.
        systems: how many systems there are.

    Attributes:
        sentence: int (C,), number of the sentence.
        pairs: (C,), the groups of the two texts.
        open: bool (C,), whether nobody was asked about the cell.

    Example:
        >>> cells = Cells([[(0, 1), (2,)], [(0,), (1,), (2,)]], systems=3)
        >>> len(cells), cells.pairs[0]
        (4, ((0, 1), (2,)))
        >>> cells.probabilities(np.zeros((3, 3)), informative=False).tolist()
        [0.25, 0.25, 0.25, 0.25]
    """

    def __init__(self, groups: Sequence[Sequence[Group]], systems: int) -> None:
        rows = [(n, pair) for n, row in enumerate(groups) for pair in combinations(row, 2)]
        self.sentence: Indices = np.array([number for number, _ in rows], dtype=np.int64)
        self.pairs = [pair for _, pair in rows]
        self.open = np.ones(len(rows), dtype=bool)
        self._place = {(number, *pair): cell for cell, (number, pair) in enumerate(rows)}
        kinds = {pair: kind for kind, pair in enumerate(dict.fromkeys(self.pairs))}
        self._kind: Indices = np.array([kinds[pair] for pair in self.pairs], dtype=np.int64)
        self._first, self._second = (
            _membership([pair[side] for pair in kinds], systems) for side in (0, 1)
        )
        # The number of open cells of each kind.
        self._left = np.bincount(self._kind, minlength=len(kinds)).astype(float)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def first(self) -> Floats:
        """Which systems wrote the first text of each cell, float64 (C, S), 1 or 0."""
        return self._first[self._kind]

    @property
    def second(self) -> Floats:
        """Which systems wrote the second text of each cell, float64 (C, S), 1 or 0."""
        return self._second[self._kind]

    def close(self, sentence: int, groups: Sequence[Group]) -> None:
        """Close the cells of each two of these texts of a sentence."""
        for pair in combinations(sorted(groups), 2):
            cell = self._place.get((sentence, *pair))
            if cell is not None and self.open[cell]:
                self.open[cell] = False
                self._left[self._kind[cell]] -= 1

    def probabilities(self, wins: Floats, *, informative: bool) -> Floats:
        """Return the probability of each cell to be asked next, float64 (C,); one or more are open.

        Args:
            wins: (S, S), how often the row's system beat the column's so far; a tie is half a win for both.
            informative: whether to prefer cells that tell much about the ranking.
        """
        plain: Floats = self.open / self.open.sum()
        if not informative:
            return plain
        counts = (self._first * self._left[:, None]).T @ self._second
        counts = counts + counts.T
        information = pair_information(wins) * (counts > 0)
        share = np.divide(information, counts, out=np.zeros_like(information), where=counts > 0)
        by_kind = ((self._first @ share) * self._second).sum(axis=1)
        by_cell = by_kind[self._kind] * self.open
        shares: Floats = _PLAIN * plain + (1 - _PLAIN) * by_cell / by_cell.sum()
        return shares

    def draw(
        self, wins: Floats, random: np.random.Generator, *, informative: bool
    ) -> tuple[int, float] | None:
        """Return the number of a cell drawn by `probabilities`, and the weight of its judgement.

        `None` says that no cell is open.
        """
        if not self.open.any():
            return None
        shares = self.probabilities(wins, informative=informative)
        cell = int(random.choice(len(self), p=shares))
        return cell, float(1 / np.sqrt(self.open.sum() * shares[cell]))


class Singles:
    """The single texts that a study asks about, and which of them are open.

    Args:
        groups: the systems, by number, that wrote each text of each sentence.

    Example:
        >>> singles = Singles([[(0, 1)], [(0,), (1,)]])
        >>> singles.close(0, [(0, 1)])
        >>> singles.draw(np.random.default_rng(0), informative=False)
        (1, (1,))
    """

    def __init__(self, groups: Sequence[Sequence[Group]]) -> None:
        self._texts = [(number, group) for number, row in enumerate(groups) for group in row]
        self._place = {text: place for place, text in enumerate(self._texts)}
        self._sentence: Indices = np.array([number for number, _ in self._texts], dtype=np.int64)
        self._open = np.ones(len(self._texts), dtype=bool)
        self._begun = np.zeros(len(groups), dtype=bool)

    def close(self, sentence: int, groups: Sequence[Group]) -> None:
        """Close the only text of a question."""
        self._begun[sentence] = True
        if (place := self._place.get((sentence, groups[0]))) is not None:
            self._open[place] = False

    def draw(self, random: np.random.Generator, *, informative: bool) -> tuple[int, Group] | None:
        """Return a sentence and the systems of a text that nobody was asked about; `None` if there is none.

        The informative order asks about all texts of a sentence before the next sentence, because ratings of
        the same sentence tell two systems apart best.
        """
        left = np.flatnonzero(self._open)
        if informative and (begun := left[self._begun[self._sentence[left]]]).size:
            left = begun
        return self._texts[left[random.integers(len(left))]] if left.size else None


def pair_information(wins: Floats) -> Floats:
    """Return how much one more comparison of two systems tells, float64 (S, S), symmetric with zeros."""
    skills, covariance = bradley_terry(wins)
    own = covariance.diagonal()
    variance = own[:, None] + own - 2 * covariance
    np.fill_diagonal(variance, 1.0)
    worth: Floats = variance * np.exp(-((skills[:, None] - skills) ** 2) / (2 * variance))
    np.fill_diagonal(worth, 0.0)
    return worth


def count_wins(comparisons: Iterable[tuple[Group, Group, int, float]], systems: int) -> Floats:
    """Return float64 (S, S): how often the row's system beat the column's; a tie is half a win for both.

    Args:
        comparisons: two groups of systems, 1 where the first is better, -1 the second, 0 for a tie, and the
            weight.
        systems: how many systems there are.
    """
    wins = np.zeros((systems, systems))
    for first, second, outcome, weight in comparisons:
        rows, columns = np.ix_(first, second)
        wins[rows, columns] += weight * (1 + outcome) / 2
        wins[columns.T, rows.T] += weight * (1 - outcome) / 2
    return wins


def spread(kinds: Mapping[int, str], count: int, random: np.random.Generator) -> list[int]:
    """Return a sample of the keys in which every kind has its share, give or take one, in ascending order.

    Every key has the same probability: the keys are sorted by kind, at random within a kind, and taken at
    equal steps from a random start.

    Args:
        kinds: key -> its kind.
        count: the number of keys in the sample.
        random: generator of the draw.

    Example:
        >>> kinds = {number: "ab"[number % 2] for number in range(100)}
        >>> chosen = spread(kinds, 10, np.random.default_rng(0))
        >>> sum(kinds[number] == "a" for number in chosen)
        5
    """
    keys = random.permutation(list(kinds)).tolist()
    keys.sort(key=kinds.__getitem__)
    steps = (np.arange(count) + random.random()) * len(keys) / count
    return sorted(keys[place] for place in steps.astype(int))


def _membership(groups: Sequence[Group], systems: int) -> Floats:
    """Return float64 (C, S): 1 where the system is in the group."""
    members = np.zeros((len(groups), systems))
    for row, group in zip(members, groups, strict=True):
        row[list(group)] = 1.0
    return members
