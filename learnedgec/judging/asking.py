"""What a study can ask, and what comes next, from what was asked and answered so far."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from learnedgec.data.m2 import Edit
from learnedgec.edits.annotator import available_annotator, extract_edits
from learnedgec.judging.records import RANKED, Answer, Judgement, StudySettings, comparisons
from learnedgec.judging.sampling import Cells, Group, Singles, count_wins, group_equal
from learnedgec.types import Floats, Texts

# The number of items between a question and its repetition, if there are enough.
_APART = 8


@dataclass(frozen=True, slots=True)
class Question:
    """A sentence with the texts to judge.

    Attributes:
        sentence: number of the sentence.
        groups: the systems that wrote each text.
        edits: with the task `edits`, the edits of the only text.
        weight: the weight of a judgement in the study's own ranking (`Cells.draw`).
    """

    sentence: int
    groups: list[list[str]]
    edits: tuple[Edit, ...] = ()
    weight: float = 1.0


class Questions:
    """The questions of a study.

    Args:
        settings: the settings of the study.
        sources: N sentences.
        systems: system -> N outputs, also of the candidate `source`.
    """

    def __init__(
        self, settings: StudySettings, sources: Texts, systems: Mapping[str, Texts]
    ) -> None:
        self.settings = settings
        self.sources = sources
        self.systems = systems
        self._numbers = {name: number for number, name in enumerate(systems)}
        self._compares = settings.task in ("pairs", "ranking")
        self._informative = settings.order == "informative"
        self._wins: Floats = np.zeros((len(systems), len(systems)))

    # -- what can be asked -------------------------------------------------------------------------

    @cached_property
    def _groups(self) -> list[list[Group]]:
        """The systems, by number, that wrote each text of a possible question, for each sentence."""
        columns = list(self.systems.values())
        groups = [group_equal([column[n] for column in columns]) for n in range(len(self.sources))]
        if self.settings.task != "edits":
            return groups
        return [
            [group for group in sentence_groups if columns[group[0]][n].split() != source.split()]
            for n, (source, sentence_groups) in enumerate(zip(self.sources, groups, strict=True))
        ]

    def count(self, sentence: int) -> int:
        """Return how many different questions can be asked about a sentence."""
        texts = len(self._groups[sentence])
        pairs = texts * (texts - 1) // 2
        return {"pairs": pairs, "ranking": min(pairs, 1)}.get(self.settings.task, texts)

    def texts(self, sentence: int, groups: Sequence[Sequence[str]]) -> list[str]:
        """Return the texts that these systems wrote."""
        return [self.systems[group[0]][sentence] for group in groups]

    def digest(self, sentence: int, groups: Sequence[Sequence[str]]) -> str:
        """Return a digest of the source and the texts, which tells whether they have changed."""
        texts = [self.sources[sentence], *self.texts(sentence, groups)]
        return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]

    def canonical(self, each: Judgement) -> tuple[list[list[str]], Answer]:
        """Return the texts of a judgement by all systems that wrote them, in order, and the answer to that.

        There is no text where all that were judged are one text, or none that the study asks about.
        """
        names = list(self.systems)
        groups = [[names[n] for n in group] for group in self._groups[each.sentence]]
        place = {name: number for number, group in enumerate(groups) for name in group}
        placed = {place[group[0]]: n for n, group in enumerate(each.groups) if group[0] in place}
        chosen = sorted(placed)
        answer = each.answer
        if answer.ranks:
            ranks = [answer.ranks[placed[number]] for number in chosen]
            dense = [1 + sorted(ranks).index(rank) for rank in ranks]
            answer = replace(answer, ranks=dense)
            chosen = chosen if len(chosen) > 1 else []
        return [groups[number] for number in chosen], answer

    # -- what comes next ---------------------------------------------------------------------------

    @cached_property
    def _open(self) -> Cells | Singles:
        return Cells(self._groups, len(self.systems)) if self._compares else Singles(self._groups)

    def close(self, sentence: int, groups: Sequence[Sequence[str]]) -> None:
        """Note that somebody was asked about these texts of a sentence."""
        numbered = [tuple(self._numbers[name] for name in group) for group in groups]
        self._open.close(sentence, numbered)

    @property
    def learns(self) -> bool:
        """Whether answers decide what comes next."""
        return self._compares and self._informative

    def weigh(self, judgement: Judgement, times: int = 1) -> None:
        """Note an answer to two texts or more; −1 times takes it back."""
        wins = count_wins(comparisons([judgement], self._numbers), len(self.systems))
        self._wins += times * wins

    def draw(self, random: np.random.Generator) -> Question | None:
        """Draw a question that nobody was asked; `None` if there is none left."""
        names, informative, weight = list(self.systems), self._informative, 1.0
        if isinstance(self._open, Singles):
            if (single := self._open.draw(random, informative=informative)) is None:
                return None
            sentence, chosen = single[0], [single[1]]
        else:
            if (drawn := self._open.draw(self._wins, random, informative=informative)) is None:
                return None
            cell, weight = drawn
            sentence, chosen = int(self._open.sentence[cell]), list(self._open.pairs[cell])
            if self.settings.task == "ranking":
                others = [group for group in self._groups[sentence] if group not in chosen]
                chosen += [others[n] for n in random.permutation(len(others))][: RANKED - 2]
                chosen.sort()
        groups = [[names[system] for system in group] for group in chosen]
        edits: tuple[Edit, ...] = ()
        if self.settings.task == "edits":
            pair = (self.sources[sentence], self.texts(sentence, groups)[0])
            edits = extract_edits([pair], self.settings.annotator or available_annotator())[0]
        return Question(sentence, groups, edits, weight)


@dataclass(frozen=True, slots=True)
class Given:
    """An item that a rater was given.

    Attributes:
        item: number of the item.
        question: number of its question.
        slot: place of the question among those that all raters answer, or `None`.
        repeats: number of the rater's earlier item with the same question, or `None`.
    """

    item: int
    question: int
    slot: int | None
    repeats: int | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a rater gets next: a repetition, a question for all raters, or one of the rater's own.

    Attributes:
        repeats: the item to repeat.
        shared: how many questions for all raters the rater has.
        for_all: whether the next question is for all raters.
    """

    repeats: Given | None = None
    shared: int = 0
    for_all: bool = False


def plan_next(
    settings: StudySettings, given: Sequence[Given], random: np.random.Generator
) -> Plan | None:
    """Return what kind of item a rater gets next; `None` if all are answered.

    Args:
        settings: the settings of the study.
        given: the items that the rater has got.
        random: draws which earlier item is repeated.
    """
    repeated = {each.repeats for each in given} - {None}
    shared = sum(each.slot is not None and each.repeats is None for each in given)
    own = len(given) - shared - len(repeated)
    done = shared >= settings.shared and own >= settings.own
    due = settings.repeated * (len(given) + 1) // settings.total
    if len(repeated) < (settings.repeated if done else due):
        apart = min(_APART, settings.total // 3)
        earlier = [
            each
            for each in given[: len(given) + 1 - apart]
            if each.repeats is None and each.item not in repeated
        ]
        if earlier:
            return Plan(repeats=earlier[random.integers(len(earlier))])
    if done:
        return None
    for_all = shared < settings.shared and (shared <= own or own >= settings.own)
    return Plan(shared=shared, for_all=for_all)
