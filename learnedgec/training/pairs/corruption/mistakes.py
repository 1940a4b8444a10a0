"""Plausible mistakes in a sentence: wrong edits elsewhere than in any reference, or wrong corrections."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from learnedgec.formats.m2 import Edit
from learnedgec.training.pairs.corruption.inflections import Inflections
from learnedgec.training.pairs.corruption.inventory import Inventory, Replacement
from learnedgec.training.pairs.corruption.naturalness import Naturalness
from learnedgec.training.pairs.corruption.observations import (
    Change,
    Observation,
    Parsed,
    alike,
    function_word,
    plain,
    related,
)

__all__ = [
    "Material",
    "Mistakes",
    "choose",
    "edit_key",
    "spoilt",
]

_Choice = TypeVar("_Choice")

# How much less natural (in nats) a wrong edit makes a text: enough to be wrong, not enough to be nonsense.
_LEAST, _MOST = 1.5, 8.0

# The share of changes that are taken falls by this in each nat above the least.
_DECAY = 0.3

# Errors in a clean sentence have no upper limit: a misspelt word is very unnatural.
_ERROR = 0.7

_MISSPELT = 0.5

# Where wrong edits come from, each with how often it is tried first.
_ORIGINS = {"system": 20.0, "misapplied": 1.5, "reversed": 1.5, "inflected": 1.0, "confused": 0.5}

# How many changes of one origin are tried.
_TRIES = 8


@dataclass(frozen=True, slots=True)
class Material:
    """A source with one of its corrections, and the edits of all its references.

    Attributes:
        source: the sentence.
        gold: the edits of the correction.
        spans: start and end of every gold edit of every reference.
        keys: start, end and correction (in lower case) of these edits.
        accepted: the texts of all references.
        mistakes: edits of systems that no reference has.
        group: group of the sentence.
        origin: the dataset.
    """

    source: Parsed
    gold: tuple[Observation, ...]
    spans: tuple[tuple[int, int], ...]
    keys: frozenset[tuple[int, int, str]]
    accepted: frozenset[str]
    mistakes: tuple[Replacement, ...] = ()
    group: str = ""
    origin: str = ""

    def free(self, taken: Iterable[Change] = ()) -> list[bool]:
        """Return for each token whether no gold edit of any reference and no taken change touches it."""
        spans = [*self.spans, *((change.edit.start, change.edit.end) for change in taken)]
        return [
            not any(start <= token + 1 and token <= end for start, end in spans)
            for token in range(len(self.source))
        ]


def spoilt(clean: Parsed, errors: Sequence[Change], origin: str = "") -> Material:
    """Return the material whose source is a clean sentence with errors and whose correction is that sentence.

    Args:
        clean: parsed sentence that is correct.
        errors: changes that insert the errors; they must not touch.
        origin: dataset of the sentence.

    Example:
        >>> clean = Parsed(("They", "go"), ("PRP", "VBP"), ("they", "go"))
        >>> wrong = Change(Edit(1, 2, "goes"), Parsed(("goes",), ("VBZ",), ("go",)))
        >>> spoilt(clean, [wrong]).gold[0].edit.correction
        'go'
    """
    source = clean.changed(errors)
    gold, shift = [], 0
    for error in sorted(errors, key=lambda change: change.edit.start):
        start, end = error.edit.start, error.edit.end
        original = clean.piece(start, end)
        size = len(error.text)
        edit = Edit(start + shift, start + shift + size, " ".join(original.tokens))
        gold.append(
            Observation(
                edit,
                error.text,
                original,
                source.around(edit.start, edit.end),
                clean.around(start, end),
            )
        )
        shift += size - (end - start)
    text = " ".join(clean.tokens)
    return Material(
        source,
        tuple(gold),
        tuple((seen.edit.start, seen.edit.end) for seen in gold),
        frozenset(edit_key(seen.edit) for seen in gold),
        frozenset([text]),
        group=text,
        origin=origin,
    )


class Mistakes:
    """Draw wrong edits for corrections, and errors for clean sentences.

    Args:
        observations: observed gold edits.
        wrong: edits of systems that no reference has.
        correct: parsed correct texts, in groups.
    """

    def __init__(
        self,
        observations: Sequence[Observation],
        wrong: Sequence[Observation],
        correct: Sequence[Sequence[Parsed]],
    ) -> None:
        of_words = [seen for seen in observations if plain(seen.original, seen.correction)]
        wrong_words = [seen for seen in wrong if plain(seen.original, seen.correction)]
        backwards = [seen.reversed() for seen in observations]
        rules = [
            seen for seen in (*of_words, *wrong_words) if related(seen.original, seen.correction)
        ]
        self._forward = Inventory(rules, "misapplied", least=2)
        self._backward = Inventory([seen.reversed() for seen in rules], "reversed", least=2)
        # A learner's word may be misspelt, or of another kind, but looks somewhat like the right one.
        errors = [
            seen
            for seen in backwards
            if related(seen.original, seen.correction)
            or (seen.correction and alike(seen.original, seen.correction) >= _MISSPELT)
        ]
        self._errors = Inventory(errors, "error")
        self._classes = Counter(_class(seen.original, seen.correction) for seen in backwards)
        self._inflections = Inflections((text for group in correct for text in group), of_words)
        self._naturalness = Naturalness(correct)

    def elsewhere(
        self, material: Material, taken: Sequence[Change], generator: random.Random
    ) -> Change | None:
        """Return a wrong edit that touches neither a gold edit of any reference nor a taken change.

        Args:
            material: the source with its gold edits.
            taken: changes that both or one side already have.
            generator: random generator.
        """
        source, free = material.source, material.free(taken)
        for origin in _order(_ORIGINS, generator):
            found = list(self._candidates(origin, material, free))
            for candidate in _draws(found, generator):
                change = candidate.fitted(source)
                old = source.piece(candidate.start, candidate.end)
                if change and self._wrong(source, change, old, generator):
                    return change
        return None

    def instead(
        self, material: Material, gold: Observation, generator: random.Random
    ) -> Change | None:
        """Return a wrong correction of the words that a gold edit corrects.

        Args:
            material: the source with its gold edits.
            gold: the gold edit that is replaced.
            generator: random generator.
        """
        source, edit = material.source, gold.edit
        # Another reference's correction of one of these words may be right here as well.
        others = {key[2] for key in material.keys if key[0] <= edit.end and edit.start <= key[1]}
        found = [
            candidate
            for candidate in self._alternatives(material, gold)
            if related(gold.correction, candidate.text)
        ]
        for candidate in _draws(found, generator):
            change = candidate.fitted(source)
            if (
                change
                and change.text.words != gold.original.words
                and " ".join(change.text.words) not in others
                and self._wrong(source, change, gold.correction, generator)
            ):
                return change
        return None

    def errors(self, clean: Parsed, count: int, generator: random.Random) -> list[Change]:
        """Return up to `count` errors that a learner might make in a clean sentence; no two touch.

        Args:
            clean: parsed sentence that is correct.
            count: maximum number of errors.
            generator: random generator.
        """
        classes: dict[tuple[str, ...], list[Replacement]] = defaultdict(list)
        for candidate in self._errors.candidates(clean, [True] * len(clean)):
            old = clean.piece(candidate.start, candidate.end)
            classes[_class(old, candidate.text)].append(candidate)
        chosen: list[Change] = []
        for _ in range(_TRIES * count):
            if len(chosen) == count or not classes:
                break
            kind = choose({key: self._classes[key] for key in classes}, generator)
            candidate = _take(classes[kind], generator)
            if not classes[kind]:
                del classes[kind]
            start, end = candidate.start, candidate.end
            if any(start <= c.edit.end and c.edit.start <= end for c in chosen):
                continue
            change = candidate.fitted(clean)
            old = clean.piece(start, end)
            if change and self._naturalness.loss(clean, start, end, old, change.text) > _ERROR:
                chosen.append(change)
        return chosen

    def _candidates(
        self, origin: str, material: Material, free: Sequence[bool]
    ) -> Iterator[Replacement]:
        """Yield the edits of one origin that touch no other edit."""
        source = material.source
        if origin == "system":
            for candidate in material.mistakes:
                start, end = candidate.start, candidate.end
                neighbours = free[start:end] if start < end else free[max(start - 1, 0) : start + 1]
                if all(neighbours) and (start or (end and candidate.text)):
                    yield candidate
        elif origin == "misapplied":
            yield from self._forward.candidates(source, free)
        elif origin == "reversed":
            yield from self._backward.candidates(source, free)
        else:
            for place in range(len(source)):
                if not free[place]:
                    continue
                if origin == "inflected":
                    yield from self._inflections.at(source, place)
                elif not function_word(source.tags[place], source.lemmas[place]):
                    yield from self._confused(source, place)

    def _confused(self, sentence: Parsed, place: int) -> Iterator[Replacement]:
        """Yield the words that a word was corrected to, or from, in any context."""
        for inventory in (self._forward, self._backward):
            for candidate in inventory.at(sentence, place, place + 1, anywhere=True):
                if len(candidate.text) == 1:
                    yield candidate._replace(origin="confused")

    def _alternatives(self, material: Material, gold: Observation) -> Iterator[Replacement]:
        """Yield other corrections of the words that a gold edit corrects."""
        source, start, end = material.source, gold.edit.start, gold.edit.end
        yield from (c for c in material.mistakes if (c.start, c.end) == (start, end))
        yield from self._forward.at(source, start, end, anywhere=True)
        if len(gold.correction) == 1:
            corrected = source.changed([Change(gold.edit, gold.correction)])
            for candidate in (
                *self._inflections.at(corrected, start),
                *self._confused(corrected, start),
            ):
                yield candidate._replace(start=start, end=end)

    def _wrong(self, source: Parsed, change: Change, old: Parsed, generator: random.Random) -> bool:
        """Return whether a change makes the text worse without making it implausible.

        The worse the text, the less often the change is accepted.
        """
        if not plain(old, change.text):
            return False
        edit, system = change.edit, change.origin == "system"
        if not system and not self._naturalness.knows(change.text):
            return False
        loss = self._naturalness.loss(source, edit.start, edit.end, old, change.text)
        if system:
            return loss > 0
        return _LEAST < loss < _MOST and generator.random() < math.exp(_DECAY * (_LEAST - loss))


def _class(original: Parsed, correction: Parsed) -> tuple[str, ...]:
    """Return a coarse class of an edit: operation, parts of speech, and whether only the form changes."""
    if not original or not correction:
        side = original or correction
        return ("delete" if original else "insert", side.tags[0][:2])
    kind = "form" if original.lemmas == correction.lemmas else "word"
    return ("replace", original.tags[0][:2], kind)


def edit_key(edit: Edit) -> tuple[int, int, str]:
    """Return the key of an edit within its sentence: start, end, and correction in lower case."""
    return edit.start, edit.end, edit.correction.lower()


def _order(weights: Mapping[str, float], generator: random.Random) -> list[str]:
    """Return the keys in random order; keys of larger weight tend to come first."""
    return sorted(weights, key=lambda key: generator.random() ** (1 / weights[key]), reverse=True)


def _draws(candidates: list[Replacement], generator: random.Random) -> Iterator[Replacement]:
    """Draw candidates by weight, remove them from the list and yield them."""
    for _ in range(min(_TRIES, len(candidates))):
        yield _take(candidates, generator)


def _take(candidates: list[Replacement], generator: random.Random) -> Replacement:
    """Draw one candidate by weight, remove it from the list and return it."""
    weights = [max(candidate.weight, 0.1) for candidate in candidates]
    return candidates.pop(generator.choices(range(len(weights)), weights)[0])


def choose(shares: Mapping[_Choice, float], generator: random.Random) -> _Choice:
    """Draw one of the keys."""
    return generator.choices(list(shares), list(shares.values()))[0]
