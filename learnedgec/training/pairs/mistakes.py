"""Mistakes learnt from real edits, and n-grams that tell whether a change is for the worse."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from rapidfuzz.distance import Indel

from learnedgec.data.m2 import Edit

Words: TypeAlias = tuple[str, ...]

# Longest side of a rule, in words.
_LONGEST = 3


class Rules:
    """Replacements of words that were observed, with the words beside them.

    Args:
        observed: sentences, each with an edit of it.
        least: how often a replacement must have been observed.
    """

    def __init__(self, observed: Iterable[tuple[Words, Edit]], least: int = 1) -> None:
        beside: dict[tuple[Words, Words], Counter[tuple[str, str]]] = defaultdict(Counter)
        for tokens, edit in observed:
            old = lower(tokens[edit.start : edit.end])
            new = lower(edit.correction.split())
            if max(len(old), len(new)) <= _LONGEST and is_plain(old, new):
                beside[old, new][_neighbours(tokens, edit.start, edit.end)] += 1
        self.rules: dict[Words, dict[Words, Counter[tuple[str, str]]]] = defaultdict(dict)
        for (old, new), places in beside.items():
            if places.total() >= least:
                self.rules[old][new] = places

    def at(self, tokens: Words, start: int, end: int, anywhere: bool = False) -> Iterator[Edit]:
        """Yield the replacements of a span that were observed beside one of its neighbours, or `anywhere`.

        Words are inserted or removed only between the same two neighbours.

        Args:
            tokens: a sentence.
            start: index of the span's first token.
            end: index behind its last token; `start` for an insertion.
            anywhere: whether other neighbours than the observed ones will do.
        """
        before, after = _neighbours(tokens, start, end)
        for new, places in self.rules.get(lower(tokens[start:end]), {}).items():
            if not new or start == end:
                fits = (before, after) in places and (start > 0 or bool(new))
            else:
                fits = anywhere or any(before == b or after == a for b, a in places)
            if fits:
                first = [new[0].capitalize()] if new and start == 0 else list(new[:1])
                yield Edit(start, end, " ".join([*first, *new[1:]]))

    def candidates(self, tokens: Words) -> Iterator[Edit]:
        """Yield all replacements in a sentence that were observed beside one of their neighbours."""
        for start in range(len(tokens)):
            for end in range(start, min(start + _LONGEST, len(tokens)) + 1):
                yield from self.at(tokens, start, end)

    def swaps(self, tokens: Words) -> Iterator[Edit]:
        """Yield all replacements of one word of a sentence, beside any neighbours."""
        for start in range(len(tokens)):
            yield from self.at(tokens, start, start + 1, anywhere=True)


class Ngrams:
    """How natural a text is, by trigrams of correct text with "stupid backoff" (Brants et al. 2007).

    Args:
        texts: correct texts.
    """

    def __init__(self, texts: Iterable[Words]) -> None:
        self.counts: Counter[Words] = Counter()
        for tokens in texts:
            self.counts.update(_ngrams(["<s>", "<s>", *lower(tokens), "</s>"]))
        self.total = sum(n for key, n in self.counts.items() if len(key) == 1) or 1

    def loss(self, tokens: Words, edit: Edit, instead: str | None = None) -> float:
        """Return ln P(text) − ln P(text with the edit), near the edit.

        Args:
            tokens: the sentence; its own n-grams do not count.
            edit: the edit.
            instead: a correction of the same words, with which the edit is compared; by default none.
        """
        padded = ["<s>", "<s>", *lower(tokens), "</s>", "</s>"]
        before, after = padded[edit.start : edit.start + 2], padded[edit.end + 2 : edit.end + 4]
        old = padded[edit.start + 2 : edit.end + 2] if instead is None else instead.lower().split()
        texts = [[*before, *new, *after] for new in (old, edit.correction.lower().split())]
        own_ngrams = set(_ngrams(texts[0]))
        natural, changed = (
            sum(self._logarithm(text, place, own_ngrams) for place in range(2, len(text)))
            for text in texts
        )
        return natural - changed

    def _logarithm(self, text: Sequence[str], place: int, own_ngrams: set[Words]) -> float:
        """Return the log-probability of a word after the two before it."""
        for start in range(place - 2, place):
            ngram = tuple(text[start : place + 1])
            if (count := self.counts[ngram] - (ngram in own_ngrams)) > 0:
                context = self.counts[ngram[:-1]] - (ngram[:-1] in own_ngrams)
                return math.log(0.4 ** (start - place + 2) * count / max(context, count))
        word = (text[place],)
        return math.log(0.16 * max(self.counts[word] - (word in own_ngrams), 0.3) / self.total)


def undone(tokens: Words, edits: Sequence[Edit]) -> tuple[Words, list[Edit]]:
    """Return the sentence with the edits applied, and the edits of it that undo them.

    Example:
        >>> undone(("He", "go"), [Edit(1, 2, "goes")])
        (('He', 'goes'), [Edit(start=1, end=2, correction='go', type='', alternatives=())])
    """
    words, back, shift = list(tokens), [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        new = edit.correction.split()
        start = edit.start + shift
        words[start : edit.end + shift] = new
        back.append(Edit(start, start + len(new), " ".join(tokens[edit.start : edit.end])))
        shift += len(new) - (edit.end - edit.start)
    return tuple(words), back


def touch(edit: Edit, other: Edit) -> bool:
    """Return whether two edits overlap or are neighbours."""
    return edit.start <= other.end and other.start <= edit.end


def lower(words: Sequence[str]) -> Words:
    """Return words in lower case."""
    return tuple(word.lower() for word in words)


def _neighbours(tokens: Words, start: int, end: int) -> tuple[str, str]:
    """Return the words before and after a span, `""` at the ends."""
    before = tokens[start - 1] if start else ""
    return before.lower(), tokens[end].lower() if end < len(tokens) else ""


def is_plain(old: Words, new: Words) -> bool:
    """Return whether words become other words that look somewhat like them, or short words are concerned."""
    if not all(any(letter.isalpha() for letter in word) and "<" not in word for word in old + new):
        return False
    texts = ["".join(filter(str.isalpha, "".join(words))) for words in (old, new)]
    short = all(len(word) <= 5 for word in old + new)
    return texts[0] != texts[1] and (short or Indel.normalized_similarity(*texts) >= 0.5)


def _ngrams(text: Sequence[str]) -> Iterator[Words]:
    """Yield the n-grams of a text, up to trigrams."""
    for end in range(1, len(text) + 1):
        yield from (tuple(text[start:end]) for start in range(max(end - 3, 0), end))
