"""How natural a text is after a change, estimated with n-grams of correct text."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from learnedgec.training.pairs.corruption.observations import Parsed, join_pieces

__all__ = [
    "Naturalness",
]

# -- whether a change is for the worse ------------------------------------------------------------------


class Naturalness:
    """Estimate how much less natural a change makes a text, with n-grams of correct text.

    The estimate is the mean of two trigram models with "stupid backoff" (Brants et al. 2007): one of words,
    and one in which tags replace all but the most frequent words. An n-gram counts once per group of texts.
    When a text is judged, the n-grams of its own group do not count.

    Args:
        groups: parsed correct texts, one sequence per group.
        frequent: number of words that are not replaced by their tags.
    """

    def __init__(self, groups: Iterable[Sequence[Parsed]], frequent: int = 150) -> None:
        groups = list(groups)
        words: Counter[str] = Counter()
        tags: dict[str, Counter[str]] = defaultdict(Counter)
        for group in groups:
            for sentence in group[:1]:
                words.update(sentence.words)
                for word, tag in zip(sentence.words, sentence.tags, strict=True):
                    tags[word][tag] += 1
        self._frequent = {word for word, _ in words.most_common(frequent)}
        self._tags = {
            word: tuple(tag for tag, count in found.items() if count >= 0.1 * found.total())
            for word, found in tags.items()
        }
        self._counts: Counter[tuple[str, ...]] = Counter()
        for group in groups:
            seen: set[tuple[str, ...]] = set()
            for sentence in group:
                for view in self._views(sentence):
                    seen.update(_ngrams(view))
            self._counts.update(seen)
        self._total = sum(count for key, count in self._counts.items() if len(key) == 2) / 2 or 1.0

    def knows(self, text: Parsed) -> bool:
        """Return whether all words occur in correct texts of more than one group."""
        return all(self._counts["w", word] > 1 for word in text.words)

    def loss(self, sentence: Parsed, start: int, end: int, old: Parsed, new: Parsed) -> float:
        """Return the natural logarithm of P(old text) / P(new text) for a span.

        Args:
            sentence: the sentence with the span.
            start: start of the span.
            end: end of the span.
            old: the text of the span in the sentence.
            new: the text to compare it with.
        """
        before, after = sentence.piece(max(start - 2, 0), start), sentence.piece(end, end + 2)
        edges = start < 2, end + 2 > len(sentence)
        window = join_pieces(before, old, after)
        own = {ngram for view in self._views(window, *edges) for ngram in _ngrams(view)}
        # The tag of a changed word is not known: it gets the best it can have.
        others = [new]
        if len(new) == 1:
            known = dict.fromkeys((*new.tags, *self._tags.get(new.words[0], ())))
            others = [replace(new, tags=(tag,)) for tag in known]
        score = self._score(window, len(before), own, edges)
        return score - max(
            self._score(join_pieces(before, other, after), len(before), own, edges)
            for other in others
        )

    def _views(
        self, sentence: Parsed, first: bool = True, last: bool = True
    ) -> tuple[list[str], list[str]]:
        """Return two views, words and words with tags, each with its mark and with marks for both ends."""
        words = sentence.words
        shapes = [
            word if word in self._frequent else tag
            for word, tag in zip(words, sentence.tags, strict=True)
        ]
        edge = ["<s>", "<s>"] if first else []
        end = ["</s>"] if last else []
        return ["w", *edge, *words, *end], ["t", *edge, *shapes, *end]

    def _score(
        self, window: Parsed, begin: int, own: set[tuple[str, ...]], edges: tuple[bool, bool]
    ) -> float:
        """Return the log-probability of a window from `begin`, the mean of both models."""
        first = 1 + begin + 2 * edges[0]
        views = self._views(window, *edges)
        return (
            sum(self._logarithm(v, place, own) for v in views for place in range(first, len(v))) / 2
        )

    def _logarithm(self, view: Sequence[str], place: int, own: set[tuple[str, ...]]) -> float:
        factor = 1.0
        for start in range(max(place - 2, 1), place):
            ngram = (view[0], *view[start : place + 1])
            count = self._counts.get(ngram, 0) - (ngram in own)
            if count > 0:
                context = ngram[:-1]
                return math.log(
                    factor * count / max(self._counts[context] - (context in own), count)
                )
            factor *= 0.4
        ngram = (view[0], view[place])
        count = self._counts.get(ngram, 0) - (ngram in own)
        return math.log(factor * max(count, 0.3) / self._total)


def _ngrams(view: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the n-grams up to three of a view, each after the view's mark."""
    mark = view[0]
    for place in range(1, len(view)):
        for start in range(max(place - 2, 1), place + 1):
            yield (mark, *view[start : place + 1])
