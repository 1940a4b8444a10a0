"""The choice of the next question: the two outputs of a sentence that tell most about the ranking.

A cell is a sentence with two different texts, each written by one system or several. One judgement of a cell
compares every system of one text with every system of the other.

The informative order draws a cell with probability

    0.3 / open cells  +  0.7 · Σ_(a,b) of the cell  p(a,b) / n(a,b)

where n(a,b) is the number of open cells that compare the systems a and b, and p(a,b) ∝ v·exp(−d²/2v) grows
with the variance v of the difference of their skills and with its closeness to 0 (d is its mean), as
TrueSkill's choice of opponents does. The skills are those of `bradley_terry`. The first term keeps every
sentence possible, so that no kind of sentence disappears from the comparison of two systems. A judgement's
weight in the study's own ranking is the square root of the cell's probability in a plain sample over that
with which it was drawn. It takes out most of the draw's preference for sentences on which many systems
agree, at little cost in variance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import combinations

import numpy as np
import numpy.typing as npt

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
    """The C cells of a study.

    Args:
        groups: the systems, by number, that wrote each different text of each sentence.
        systems: how many systems there are.

    Attributes:
        sentence: int (C,), number of the sentence.
        pairs: (C,), the groups of the two texts.

    Example:
        >>> cells = Cells([[(0, 1), (2,)], [(0,), (1,), (2,)]], systems=3)
        >>> len(cells), cells.pairs[0]
        (4, ((0, 1), (2,)))
        >>> open_cells = np.ones(4, dtype=bool)
        >>> cells.probabilities(np.zeros((3, 3)), open_cells, informative=False).tolist()
        [0.25, 0.25, 0.25, 0.25]
    """

    def __init__(self, groups: Sequence[Sequence[Group]], systems: int) -> None:
        rows = [(n, pair) for n, row in enumerate(groups) for pair in combinations(row, 2)]
        self.sentence: Indices = np.array([number for number, _ in rows], dtype=np.int64)
        self.pairs = [pair for _, pair in rows]
        self.first, self.second = (
            _membership([pair[side] for pair in self.pairs], systems) for side in (0, 1)
        )

    def __len__(self) -> int:
        return len(self.pairs)

    def probabilities(
        self, wins: Floats, unasked: npt.NDArray[np.bool_], *, informative: bool
    ) -> Floats:
        """Return the probability of each cell to be asked next, float64 (C,).

        Args:
            wins: (S, S), how often the row's system beat the column's so far; a tie is half a win for both.
            unasked: bool (C,), the cells that are open, one or more.
            informative: whether to prefer cells that tell much about the ranking.
        """
        plain: Floats = unasked / unasked.sum()
        if not informative:
            return plain
        counts = self.first[unasked].T @ self.second[unasked]
        counts = counts + counts.T
        information = pair_information(wins) * (counts > 0)
        share = np.divide(information, counts, out=np.zeros_like(information), where=counts > 0)
        by_cell = ((self.first @ share) * self.second).sum(axis=1) * unasked
        shares: Floats = _PLAIN * plain + (1 - _PLAIN) * by_cell / by_cell.sum()
        return shares

    def unasked(self, closed: Set[tuple[int, Group, Group]]) -> npt.NDArray[np.bool_]:
        """Return whether each cell is not among the closed ones, bool (C,)."""
        cells = zip(self.sentence.tolist(), self.pairs, strict=True)
        return np.array([(number, *pair) not in closed for number, pair in cells], dtype=bool)

    def draw(
        self,
        wins: Floats,
        unasked: npt.NDArray[np.bool_],
        random: np.random.Generator,
        *,
        informative: bool,
    ) -> tuple[int, float]:
        """Return the number of a cell drawn by `probabilities`, and the weight of its judgement."""
        shares = self.probabilities(wins, unasked, informative=informative)
        cell = int(random.choice(len(self), p=shares))
        return cell, float(1 / np.sqrt(unasked.sum() * shares[cell]))


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


def draw_single(
    groups: Sequence[Sequence[Group]],
    done: Set[tuple[int, Group]],
    random: np.random.Generator,
    *,
    informative: bool,
) -> tuple[int, Group] | None:
    """Return a sentence and the systems of one text that nobody was asked about; `None` if there is none.

    The informative order asks about all texts of a sentence before the next sentence, because ratings of the
    same sentence tell two systems apart best.

    Args:
        groups: for each sentence, the systems of each text.
        done: sentences with the systems of a text that were asked about.
        random: generator of the draw.
        informative: whether the order is informative.
    """
    cells = ((number, group) for number, row in enumerate(groups) for group in row)
    left = [cell for cell in cells if cell not in done]
    if informative:
        begun = {sentence for sentence, _ in done}
        left = [cell for cell in left if cell[0] in begun] or left
    return left[random.integers(len(left))] if left else None


def _membership(groups: Sequence[Group], systems: int) -> Floats:
    """Return float64 (C, S): 1 where the system is in the group."""
    members = np.zeros((len(groups), systems))
    for row, group in zip(members, groups, strict=True):
        row[list(group)] = 1.0
    return members
