"""What mistakes look like: learnt from real edits, and made again where a text is right.

An edit that was seen is a rule: words with their tags become other words, between two tags. Rules are used
as they are (a correction where there is nothing to correct) or turned round (a learner's error in a text that
is right). Words are inflected wrongly by the forms that parsed text has of their lemma.

Whether a change makes a text worse is judged by n-grams of correct text (`Naturalness`): many a change
of the same words is as good as what was there ("a" for "the").
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from rapidfuzz.distance import Indel

# The parse itself, which edits alone do not show.
from learnedgec.edits.annotator import Sentence, _load, _parse, find_annotator
from learnedgec.m2 import Edit
from learnedgec.parallel import parallel_map
from learnedgec.runtime import Runtime

__all__ = [
    "Candidate",
    "Change",
    "Inflections",
    "Inventory",
    "Naturalness",
    "Observation",
    "Parsed",
    "alike",
    "observe",
    "parse_corrections",
    "function_word",
    "plain",
    "related",
]

_BLOCK = 256
# Longer edits are rewritings, which belong to their sentence.
_LONGEST = 3
# Short forms and what they stand for; which one is written is a matter of style.
_SHORT = {
    "n't": ("not",),
    "'s": ("is", "has"),
    "'re": ("are",),
    "'m": ("am",),
    "'ll": ("will", "shall"),
    "'d": ("would", "had"),
    "'ve": ("have",),
}
# Of contractions.
_PARTS = frozenset(("ai", "ca", "wo", "sha", "na"))
# How alike in letters words are that can be mixed up.
_ALIKE = 0.7
# What a rule counts that was seen in half of a context.
_PARTLY = 0.2
_NONE: Counter[int] = Counter()
# As far as letters tell that a word begins with a vowel.
_VOWEL = re.compile(r"(?!uni|us[aeu]|eu|one|once)[aeiou]|hour|honest|hono", re.IGNORECASE)
_FUNCTION = {
    **dict.fromkeys(("DT", "PDT", "PRP$"), "determiner"),
    **dict.fromkeys(("IN", "TO", "RP"), "preposition"),
    **dict.fromkeys(("WDT", "WP", "WP$", "WRB"), "relative"),
    **dict.fromkeys((".", ",", ":", "HYPH", "``", "''", "-LRB-", "-RRB-"), "mark"),
    "PRP": "pronoun",
    "MD": "auxiliary",
    "CC": "conjunction",
    "POS": "ending",
}
_STYLE = {frozenset((short, full)) for short, row in _SHORT.items() for full in row}


# -- parsed sentences and what was seen in them -------------------------------------------------------


def function_word(tag: str, lemma: str) -> str:
    """Return which kind of function word a word is, or nothing for others.

    Example:
        >>> function_word("VBZ", "have"), function_word("VBZ", "see")
        ('auxiliary', '')
    """
    if tag.startswith("VB") and lemma.lower() in ("be", "have", "do"):
        return "auxiliary"
    return _FUNCTION.get(tag, "")


@dataclass(frozen=True, slots=True)
class Parsed:
    """Tokens with their tags and lemmas: of a sentence, or of a piece of one; `words` in lower case."""

    tokens: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    lemmas: tuple[str, ...] = ()
    words: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple([token.lower() for token in self.tokens]))

    def __len__(self) -> int:
        return len(self.tokens)

    def piece(self, start: int, end: int) -> Parsed:
        """Return a part of the sentence."""
        return Parsed(self.tokens[start:end], self.tags[start:end], self.lemmas[start:end])

    @property
    def content(self) -> Counter[str]:
        """The lemmas of the content words."""
        return Counter(
            lemma.lower()
            for tag, lemma in zip(self.tags, self.lemmas, strict=True)
            if not function_word(tag, lemma)
        )

    def around(self, start: int, end: int) -> tuple[str, str]:
        """Return what stands before and after a span: function words, tags of others, `""` at the ends."""
        return (
            self._shape(start - 1) if start else "",
            self._shape(end) if end < len(self.tags) else "",
        )

    def _shape(self, place: int) -> str:
        tag = self.tags[place]
        return self.tokens[place].lower() if function_word(tag, self.lemmas[place]) else tag

    def changed(self, changes: Iterable[Change]) -> Parsed:
        """Return the sentence with changes applied, none of which overlap."""
        rows = list(zip(self.tokens, self.tags, self.lemmas, strict=True))
        for change in sorted(changes, key=lambda change: change.edit.start, reverse=True):
            words, edit = change.text, change.edit
            rows[edit.start : edit.end] = zip(words.tokens, words.tags, words.lemmas, strict=True)
        return Parsed(*map(tuple, zip(*rows, strict=True))) if rows else Parsed()


@dataclass(frozen=True, slots=True)
class Change:
    """An edit that could be made in a sentence.

    Attributes:
        edit: of the sentence's tokens.
        text: what is put there.
        origin: where it comes from.
    """

    edit: Edit
    text: Parsed
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """An edit as it was seen: `original` became `correction`.

    Attributes:
        edit: of the source's tokens.
        original, correction: both sides, parsed in their sentences.
        around: what stands before and after the original; see `Parsed.around`.
        target_around: the same of the correction.
    """

    edit: Edit
    original: Parsed
    correction: Parsed
    around: tuple[str, str]
    target_around: tuple[str, str]

    def reversed(self) -> Observation:
        """Return the error that the edit has corrected, as an edit of the target."""
        return Observation(
            self.edit, self.correction, self.original, self.target_around, self.around
        )


def observe(source: Parsed, target: Parsed, edits: Sequence[Edit]) -> list[Observation]:
    """Return both sides of each edit that leads from one sentence to the other."""
    found, shift = [], 0
    for edit in edits:
        size = len(edit.correction.split())
        start = edit.start + shift
        shift += size - (edit.end - edit.start)
        found.append(
            Observation(
                edit,
                source.piece(edit.start, edit.end),
                target.piece(start, start + size),
                source.around(edit.start, edit.end),
                target.around(start, start + size),
            )
        )
    return found


def parse_corrections(
    pairs: Sequence[tuple[str, str]], annotator: str, runtime: Runtime = Runtime()
) -> list[tuple[Parsed, Parsed, tuple[Edit, ...]]]:
    """Return both sides of each pair parsed, and the untyped edits of `extract_edits` between them.

    Each distinct pair is worked on once; a text is parsed once for neighbouring pairs of a source.

    Raises:
        UnknownNameError, ModelError: the annotator is not there or cannot be loaded.
    """
    path = find_annotator(annotator).resolve()
    ordered: dict[str, dict[str, None]] = {}
    for source, target in pairs:
        ordered.setdefault(source, {})[target] = None
    distinct = [(source, target) for source, targets in ordered.items() for target in targets]
    blocks = [distinct[start : start + _BLOCK] for start in range(0, len(distinct), _BLOCK)]
    results = parallel_map(partial(_parse_block, path), blocks, "edits", runtime, chunk_size=1)
    rows = [row for block in results for row in block]
    found = dict(zip(distinct, rows, strict=True))
    return [found[pair] for pair in pairs]


def _parse_block(
    path: Path, pairs: Sequence[tuple[str, str]]
) -> list[tuple[Parsed, Parsed, tuple[Edit, ...]]]:
    # This loads spaCy.
    from learnedgec.edits.alignment import annotate

    parsed = _parse(_load(path, False), (text for pair in pairs for text in pair))
    plain = {text: _plain_parse(sentence) for text, sentence in parsed.items()}
    return [
        (
            plain[source],
            plain[target],
            ()
            if plain[source].tokens == plain[target].tokens
            else annotate(parsed[source], parsed[target], False),
        )
        for source, target in pairs
    ]


def _plain_parse(sentence: Sentence) -> Parsed:
    return Parsed(
        tuple(token.text for token in sentence),
        tuple(token.tag_ for token in sentence),
        tuple(token.lemma for token in sentence),
    )


# -- rules -----------------------------------------------------------------------------------------


Key: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]


def plain(original: Parsed, correction: Parsed) -> bool:
    """Return whether an edit is of words, and more than a matter of case, spacing, style or sense.

    The sense alone, as far as a sentence tells, changes with tense and between modal verbs or conjunctions.
    """
    if len(original) == len(correction) == 1:
        tags = original.tags[0], correction.tags[0]
        if tags in (("MD", "MD"), ("CC", "CC")) or (
            original.lemmas == correction.lemmas and _tense(*tags)
        ):
            return False
    words = original.words + correction.words
    # A system's mark for a word that it does not know is no word.
    if not all("<" not in word and any(letter.isalpha() for letter in word) for word in words):
        return False
    bare = [
        "".join(letter for word in side.words for letter in word if letter.isalpha())
        for side in (original, correction)
    ]
    return bare[0] != bare[1] and (
        len(words) != 2 or not original or frozenset(words) not in _STYLE
    )


def alike(original: Parsed, correction: Parsed) -> float:
    """Return how alike two texts are in letters, from 0 to 1: "there" is much like "their"."""
    return Indel.normalized_similarity(" ".join(original.words), " ".join(correction.words))


def related(original: Parsed, correction: Parsed) -> bool:
    """Return whether two texts differ in function words alone, or are a word of the same kind each.

    Example:
        >>> of = lambda word, tag: Parsed((word,), (tag,), (word,))
        >>> related(of("in", "IN"), of("on", "IN")), related(of("in", "IN"), of("red", "JJ"))
        (True, False)
    """
    if len(original) == len(correction) == 1:
        kinds = [
            function_word(side.tags[0], side.lemmas[0]) or side.tags[0][:2]
            for side in (original, correction)
        ]
        if kinds[0] == kinds[1]:
            return True
        if alike(original, correction) >= _ALIKE:
            return True
    elif original.content == correction.content:
        return True
    return original.lemmas == correction.lemmas


class Inventory:
    """Rules by the words, with their tags, that they apply to.

    Args:
        observations: edits that were seen; of several equal ones each counts.
        origin: what the changes are called that come of it.
        least: how often an edit must have been seen, unless it changes a word's form alone.
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
    ) -> Iterator[Candidate]:
        """Yield what may become of a span in the context in which it was seen, or `anywhere`.

        What is inserted or deleted, is so in the same context in any case, and an insertion must have been
        seen there more than once.
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
                yield Candidate(start, end, result, weight, self.origin)

    def candidates(self, sentence: Parsed, free: Sequence[bool]) -> Iterator[Candidate]:
        """Yield what may be changed in a sentence where each token of it, and each neighbour, is free.

        A first word stays where it is: its neighbour would need its capital.
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
    """Return the correction without a capital that it has for its place: the beginning."""
    text = seen.correction
    if seen.around[0] or not text or text.tags[0].startswith("NNP"):
        return text
    first = text.tokens[0]
    if first == "I" or not first.istitle():
        return text
    return replace(text, tokens=(first.lower(), *text.tokens[1:]))


class Candidate(NamedTuple):
    """A change that may be tried at a place; cheap, as most are not.

    Attributes:
        start: of the span.
        end: of the span.
        text: what is put there, before it is made to fit.
        weight: how usual it is.
        origin: where it comes from.
    """

    start: int
    end: int
    text: Parsed
    weight: float
    origin: str

    def fitted(self, sentence: Parsed) -> Change | None:
        """Return the change with a capital and an article as the place wants, if it fits there at all.

        It does not if it repeats a neighbour or follows the wrong article.
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


# -- forms -------------------------------------------------------------------------------------------


class Inflections:
    """The forms of lemmas in parsed text, and which form is written for which by mistake.

    Args:
        sentences: correct text.
        observations: edits; those that change the form of a word count.
    """

    def __init__(self, sentences: Iterable[Parsed], observations: Iterable[Observation]) -> None:
        counts: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
        for sentence in sentences:
            for word, tag, lemma in zip(
                sentence.words, sentence.tags, sentence.lemmas, strict=True
            ):
                if word.isalpha() and word not in _PARTS:
                    counts[lemma.lower(), tag[:2]][tag, word] += 1
        # What occurs once may be a mistake of the parser's.
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

    def at(self, sentence: Parsed, start: int) -> Iterator[Candidate]:
        """Yield the other forms of a word."""
        word = sentence.piece(start, start + 1)
        for tag, form in self.of(word):
            weight = float(self._shifts[word.tags[0], tag])
            text = Parsed((form,), (tag,), word.lemmas)
            yield Candidate(start, start + 1, text, weight, "inflected")

    def of(self, word: Parsed) -> list[tuple[str, str]]:
        """Return tag and form of the other forms of a word that were seen in its stead."""
        (token,), (tag,), (lemma,) = word.words, word.tags, word.lemmas
        forms = self._forms.get((lemma.lower(), tag[:2]), ())
        # "had" is a participle too, but nobody can tell.
        other_tense = {form for other, form in forms if _tense(tag, other)}
        return [
            (other, form)
            for other, form in forms
            if form != token and self._shifts[tag, other] > 1 and form not in other_tense
        ]


def _tense(tag: str, other: str) -> bool:
    """Return whether two tags differ in tense alone, which only the context of a sentence can judge."""
    present = ("VBZ", "VBP")
    return (tag == "VBD" and other in present) or (other == "VBD" and tag in present)


# -- whether a change is for the worse ------------------------------------------------------------------


class Naturalness:
    """How much less natural a text becomes by a change, by n-grams of correct text.

    The mean of two trigram models by "stupid backoff" (Brants et al. 2007): one of words, and one in which
    all but the most frequent words are their tags. An n-gram counts once in a group of texts, and not at all
    when a text of the group is judged.

    Args:
        groups: parsed correct texts, those of one group together.
        frequent: how many words are not replaced by their tags.
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
        """Return the natural logarithm of how much less probable a span's new text is than its old one.

        Args:
            sentence: around the span.
            start: of the span.
            end: of the span.
            old: the text that belongs to the sentence.
            new: the other text.
        """
        before, after = sentence.piece(max(start - 2, 0), start), sentence.piece(end, end + 2)
        edges = start < 2, end + 2 > len(sentence)
        window = _join(before, old, after)
        own = {ngram for view in self._views(window, *edges) for ngram in _ngrams(view)}
        # The tag of a changed word is not known: it gets the best it can have.
        others = [new]
        if len(new) == 1:
            known = dict.fromkeys((*new.tags, *self._tags.get(new.words[0], ())))
            others = [replace(new, tags=(tag,)) for tag in known]
        score = self._score(window, len(before), own, edges)
        return score - max(
            self._score(_join(before, other, after), len(before), own, edges) for other in others
        )

    def _views(
        self, sentence: Parsed, first: bool = True, last: bool = True
    ) -> tuple[list[str], list[str]]:
        """Return the words, and the words and tags, each with its mark and with marks of the ends."""
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
        """Return the logarithm of the probability of a window from `begin` on, the mean of both models."""
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


def _join(*pieces: Parsed) -> Parsed:
    return Parsed(
        tuple(token for piece in pieces for token in piece.tokens),
        tuple(tag for piece in pieces for tag in piece.tags),
        tuple(lemma for piece in pieces for lemma in piece.lemmas),
    )


def _ngrams(view: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the n-grams up to three of a view, each after the view's mark."""
    mark = view[0]
    for place in range(1, len(view)):
        for start in range(max(place - 2, 1), place + 1):
            yield (mark, *view[start : place + 1])
