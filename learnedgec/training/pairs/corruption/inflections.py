"""Wrong inflections: the other forms of a lemma in parsed text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from learnedgec.training.pairs.corruption.inventory import Replacement
from learnedgec.training.pairs.corruption.observations import Observation, Parsed, tense_differs

__all__ = [
    "Inflections",
]

# Parts of contractions.
_PARTS = frozenset(("ai", "ca", "wo", "sha", "na"))

# -- forms -------------------------------------------------------------------------------------------


class Inflections:
    """The forms of each lemma in parsed text, and which forms learners confuse.

    Args:
        sentences: correct text.
        observations: observed edits, of which those that change a word's form are used.
    """

    def __init__(self, sentences: Iterable[Parsed], observations: Iterable[Observation]) -> None:
        counts: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
        for sentence in sentences:
            for word, tag, lemma in zip(
                sentence.words, sentence.tags, sentence.lemmas, strict=True
            ):
                if word.isalpha() and word not in _PARTS:
                    counts[lemma.lower(), tag[:2]][tag, word] += 1
        # A form that occurs once may be a mistake of the parser.
        self._forms = {
            key: [form for form, count in forms.items() if count > 1]
            for key, forms in counts.items()
            if key[1] in ("VB", "NN", "JJ", "RB")
        }
        self._shifts: Counter[tuple[str, str]] = Counter()
        for seen in observations:
            if len(seen.original) == len(seen.correction) == 1:
                (before,), (after,) = seen.original.lemmas, seen.correction.lemmas
                tags = seen.original.tags[0], seen.correction.tags[0]
                if before.lower() == after.lower() and tags[0][:2] == tags[1][:2]:
                    self._shifts[tags] += 1
                    self._shifts[tags[::-1]] += 1

    def at(self, sentence: Parsed, start: int) -> Iterator[Replacement]:
        """Yield the other forms of a word."""
        word = sentence.piece(start, start + 1)
        for tag, form in self.of(word):
            weight = float(self._shifts[word.tags[0], tag])
            text = Parsed((form,), (tag,), word.lemmas)
            yield Replacement(start, start + 1, text, weight, "inflected")

    def of(self, word: Parsed) -> list[tuple[str, str]]:
        """Return tag and form of the other forms of a word that were observed in its place."""
        (token,), (tag,), (lemma,) = word.words, word.tags, word.lemmas
        forms = self._forms.get((lemma.lower(), tag[:2]), ())
        # "had" is also a participle, but the form does not show it.
        other_tense = {form for other, form in forms if tense_differs(tag, other)}
        return [
            (other, form)
            for other, form in forms
            if form != token and self._shifts[tag, other] > 1 and form not in other_tense
        ]
