"""The items that raters see, their answers, and the judgements that count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from learnedgec.data.m2 import Edit
from learnedgec.errors import InputError
from learnedgec.judging.settings import Dimension, StudySettings


@dataclass(frozen=True)
class Answer:
    """A rater's answer to an item; which fields are given depends on the task.

    Attributes:
        ranks: the ranks of the texts, in the order shown; 1 is the best, equal ranks are a tie.
        bad: whether neither of two texts is acceptable; their ranks are then equal.
        values: dimension -> rating.
        edits: the answer for each edit, from left to right: 1 to accept, -1 to reject, 0 for unsure.
        skip: why the item is not answered; the other fields but the comment are empty.
        comment: what else the rater says.

    Example:
        >>> Answer(ranks=[1, 2]).ranks
        [1, 2]
    """

    ranks: list[int] = field(default_factory=list)
    bad: bool = False
    values: dict[str, float] = field(default_factory=dict)
    edits: list[int] = field(default_factory=list)
    skip: str = ""
    comment: str = ""

    def check(self, settings: StudySettings, texts: int, edits: int) -> None:
        """Raise `InputError` unless this answers an item with so many texts and edits."""
        if max(len(self.skip), len(self.comment)) > 4000:
            raise InputError("a reason or comment is longer than 4,000 characters; shorten it.")
        given = bool(self.ranks or self.bad or self.values or self.edits)
        if self.skip:
            if given:
                raise InputError("the item is skipped and answered; do one of them.")
            return
        if settings.task in ("pairs", "ranking"):
            if len(self.ranks) != texts or not all(1 <= rank <= texts for rank in self.ranks):
                raise InputError(
                    f"ranks is {self.ranks}; one rank from 1 to {texts} for each of {texts} texts was "
                    "expected."
                )
            if self.bad and (settings.task != "pairs" or len(set(self.ranks)) > 1):
                raise InputError("bad says that two texts are equally bad; give them equal ranks.")
        elif settings.task == "ratings":
            _check_values(self.values, settings.dimensions)
        elif len(self.edits) != edits or not set(self.edits) <= {-1, 0, 1}:
            raise InputError(
                f"edits is {self.edits}; 1, 0 or -1 for each of {edits} edits was expected."
            )


def _check_values(values: Mapping[str, Any], dimensions: Mapping[str, Dimension]) -> None:
    """Raise `InputError` unless every dimension has a rating on its scale."""
    if values.keys() != dimensions.keys():
        raise InputError(
            f"ratings of {', '.join(values) or 'nothing'} were given; {', '.join(dimensions)} were expected."
        )
    for name, dimension in dimensions.items():
        if not dimension.low <= values[name] <= dimension.high:
            raise InputError(
                f"{name} is {values[name]}; a rating from {dimension.low} to {dimension.high} was expected."
            )


class AnsweredError(InputError):
    """An answer to an item that has been answered since it was shown."""


@dataclass(frozen=True, slots=True)
class Item:
    """The content of an item as a rater sees it.

    Attributes:
        number: number of the item in the study.
        source: the sentence.
        texts: outputs in the order shown; equal outputs are one text.
        edits: with the task `edits`, those of the only text.
        position: how many items the rater has before this one.
        total: how many items the rater has in all.
        version: how often the item was answered.
        answer: the latest answer, in the order shown; `None` if there is none.
        previous: number of the item before this one; `None` for the first.
    """

    number: int
    source: str
    texts: tuple[str, ...]
    edits: tuple[Edit, ...]
    position: int
    total: int
    version: int
    answer: Answer | None
    previous: int | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer that counts for an item, or one that was collected elsewhere.

    Attributes:
        rater: name of the rater.
        sentence: number of the sentence, from 0.
        groups: the systems that wrote each text.
        answer: the answer, in the order of `groups`.
        edits: with the task `edits`, what was judged.
        seconds: from showing the item to the answer, as the page measured it.
        at: when it was given, in UTC.
        item: number of the item; this and the following are of a study.
        question: number of the question.
        weight: the weight of the judgement in the study's own ranking (`Cells.draw`).
        repeats: number of the rater's earlier item with the same question, or `None`.
    """

    rater: str
    sentence: int
    groups: tuple[tuple[str, ...], ...]
    answer: Answer
    edits: tuple[Edit, ...] = ()
    seconds: float = 0.0
    at: str = ""
    item: int = 0
    question: int = 0
    weight: float = 1.0
    repeats: int | None = None
