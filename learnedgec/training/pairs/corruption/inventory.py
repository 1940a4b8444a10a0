"""An inventory of mistakes that are learnt from real edits and repeated in correct text.

An observed edit is a rule: words with their tags become other words, between two tags. A rule is applied as
    it is (a correction where nothing is wrong) or reversed (a learner's error in correct text). Wrong
    inflections are other forms of a lemma in parsed text.

Many such changes leave a text as good as before ("a" for "the"). N-grams of correct text decide whether a
change makes it worse (`Naturalness`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from learnedgec.formats.m2 import Edit
from learnedgec.training.pairs.corruption.observations import (
    Change,
    Observation,
    Parsed,
    function_word,
)

__all__ = [
    "Replacement",
    "Inventory",
]

# Longer edits are rewrites, which fit only their own sentence.
_LONGEST = 3

# The weight of a rule that was seen in half of a context.
_PARTLY = 0.2

_NONE: Counter[int] = Counter()

# Words that begin with a vowel, as far as their letters tell.
_VOWEL = re.compile(r"(?!uni|us[aeu]|eu|one|once)[aeiou]|hour|honest|hono", re.IGNORECASE)

# -- rules -----------------------------------------------------------------------------------------


Key: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]


class Inventory:
    """Rules, indexed by the tagged words that they apply to.

    Args:
        observations: observed edits; equal edits are counted separately.
        origin: the origin recorded in the resulting changes.
        least: minimum number of observations of an edit, unless it changes only a word's form.
    """

    def __init__(self, observations: Iterable[Observation], origin: str, least: int = 1) -> None:
        self.origin = origin
        counts: Counter[tuple[Key, Parsed]] = Counter()
        contexts: dict[tuple[Key, Parsed], Counter[tuple[str, str]]] = defaultdict(Counter)
        for seen in observations:
            if max(len(seen.original), len(seen.correction)) > _LONGEST:
                continue
            rule = (seen.original.words, seen.original.tags), _uncapitalised(seen)
            counts[rule] += 1
            contexts[rule][seen.around] += 1
            if seen.original.lemmas == seen.correction.lemmas:
                counts[rule] = max(counts[rule], least)
        self._results: list[Parsed] = []
        # Numbers of results, with how often they were seen, by ever less of the context.
        self._between: dict[tuple[Key, str, str], Counter[int]] = defaultdict(Counter)
        self._after: dict[tuple[Key, str], Counter[int]] = defaultdict(Counter)
        self._before: dict[tuple[Key, str], Counter[int]] = defaultdict(Counter)
        self._anywhere: dict[Key, Counter[int]] = defaultdict(Counter)
        for (key, result), count in counts.items():
            if count < least:
                continue
            number = len(self._results)
            self._results.append(result)
            self._anywhere[key][number] += count
            for (before, after), times in contexts[key, result].items():
                self._between[key, before, after][number] += times
                self._after[key, before][number] += times
                self._before[key, after][number] += times
        self._longest = max((len(key[0]) for key in self._anywhere), default=0)

    def at(
        self, sentence: Parsed, start: int, end: int, anywhere: bool = False
    ) -> Iterator[Replacement]:
        """Yield the replacements of a span that were observed in its context, or `anywhere`.

        Insertions and deletions always need the same context, and an insertion must have been observed there
        more than once.

        Args:
            sentence: parsed sentence.
            start: start of the span.
            end: end of the span.
            anywhere: whether to ignore the context.
        """
        key = sentence.words[start:end], sentence.tags[start:end]
        if key not in self._anywhere:
            return
        before, after = sentence.around(start, end)
        exact = self._between.get((key, before, after), _NONE)
        if start == end:
            exact = Counter({number: times for number, times in exact.items() if times > 1})
        weights: dict[int, float] = dict(exact)
        if start != end:
            for partly in (self._after.get((key, before)), self._before.get((key, after))):
                for number, count in (partly or _NONE).items():
                    weights[number] = weights.get(number, 0.0) + _PARTLY * count
            if anywhere:
                weights = dict(self._anywhere[key])
        for number, weight in weights.items():
            result = self._results[number]
            if result or number in exact:
                yield Replacement(start, end, result, weight, self.origin)

    def candidates(self, sentence: Parsed, free: Sequence[bool]) -> Iterator[Replacement]:
        """Yield the possible changes of a sentence whose tokens, and their neighbours, are free.

        The first word is never deleted, because the next word would need its capital.
        """
        size = len(sentence)
        for start in range(size):
            if start and free[start] and free[start - 1]:
                yield from self.at(sentence, start, start)
            for end in range(start + 1, min(start + self._longest, size) + 1):
                if not free[end - 1]:
                    break
                for candidate in self.at(sentence, start, end):
                    if start or candidate.text:
                        yield candidate


def _uncapitalised(seen: Observation) -> Parsed:
    """Return the correction without a capital that it has only because it begins a sentence."""
    text = seen.correction
    if seen.around[0] or not text or text.tags[0].startswith("NNP"):
        return text
    first = text.tokens[0]
    if first == "I" or not first.istitle():
        return text
    return replace(text, tokens=(first.lower(), *text.tokens[1:]))


class Replacement(NamedTuple):
    """A candidate change at a position. Most candidates are never tried, so it is cheap to create.

    Attributes:
        start: start of the span.
        end: end of the span.
        text: the new text, before its capital and article are adapted.
        weight: frequency of the change.
        origin: origin of the change.
    """

    start: int
    end: int
    text: Parsed
    weight: float
    origin: str

    def fitted(self, sentence: Parsed) -> Change | None:
        """Return the change with capital and article adapted to its position, or `None` if it does not fit.

        A change does not fit if it repeats a neighbour or follows the wrong article.
        """
        start, end = self.start, self.end
        tokens = list(self.text.tokens)
        following = sentence.tokens[end] if end < len(sentence) else ""
        before = sentence.tokens[start - 1].lower() if start else ""
        if tokens and tokens[-1].lower() in ("a", "an") and following:
            tokens[-1] = "an" if _VOWEL.match(following) else "a"
        first = tokens[0] if tokens else following
        if before == first.lower() or (tokens and tokens[-1].lower() == following.lower()):
            return None
        if before in ("a", "an") and (before == "an") != bool(_VOWEL.match(first)):
            return None
        here = sentence.tokens[start] if start < end else ""
        if tokens and start == 0 and here[:1].isupper():
            tokens[0] = first[:1].upper() + first[1:]
        elif tokens and function_word(self.text.tags[0], self.text.lemmas[0]) and first != "I":
            tokens[0] = first if here.istitle() else first.lower()
        text = replace(self.text, tokens=tuple(tokens))
        return Change(Edit(start, end, " ".join(tokens)), text, self.origin)
