"""Parsed texts, and the edits observed in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rapidfuzz.distance import Indel

from learnedgec.edits.parsing import Sentence, find_annotator, load_pipeline, parse_sentences
from learnedgec.execution.pool import parallel_map
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.m2 import Edit

__all__ = [
    "Change",
    "Observation",
    "Parsed",
    "alike",
    "observe",
    "parse_corrections",
    "function_word",
    "plain",
    "related",
]

BLOCK = 256

# Short forms and their full forms; the choice between them is a matter of style.
_SHORT = {
    "n't": ("not",),
    "'s": ("is", "has"),
    "'re": ("are",),
    "'m": ("am",),
    "'ll": ("will", "shall"),
    "'d": ("would", "had"),
    "'ve": ("have",),
}

# How alike in letters words are that can be mixed up.
_ALIKE = 0.7

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
    """Return the kind of a function word; empty for other words.

    Example:
        >>> function_word("VBZ", "have"), function_word("VBZ", "see")
        ('auxiliary', '')
    """
    if tag.startswith("VB") and lemma.lower() in ("be", "have", "do"):
        return "auxiliary"
    return _FUNCTION.get(tag, "")


@dataclass(frozen=True, slots=True)
class Parsed:
    """Tokens with their tags and lemmas, of a sentence or a part of one; `words` are in lower case.

    Attributes:
        tokens: the tokens.
        tags: their Penn Treebank tags.
        lemmas: their lemmas.
    """

    tokens: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    lemmas: tuple[str, ...] = ()
    words: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple([token.lower() for token in self.tokens]))

    def __len__(self) -> int:
        return len(self.tokens)

    def piece(self, start: int, end: int) -> Parsed:
        """Return the part of the sentence between two positions."""
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
        """Return the context around a span: function words, tags of other words, `""` at the ends."""
        return (
            self._shape(start - 1) if start else "",
            self._shape(end) if end < len(self.tags) else "",
        )

    def _shape(self, place: int) -> str:
        tag = self.tags[place]
        return self.tokens[place].lower() if function_word(tag, self.lemmas[place]) else tag

    def changed(self, changes: Iterable[Change]) -> Parsed:
        """Return the sentence with changes applied; they must not overlap."""
        rows = list(zip(self.tokens, self.tags, self.lemmas, strict=True))
        for change in sorted(changes, key=lambda change: change.edit.start, reverse=True):
            words, edit = change.text, change.edit
            rows[edit.start : edit.end] = zip(words.tokens, words.tags, words.lemmas, strict=True)
        return Parsed(*map(tuple, zip(*rows, strict=True))) if rows else Parsed()


@dataclass(frozen=True, slots=True)
class Change:
    """An edit that could be made in a sentence.

    Attributes:
        edit: the edit of the sentence's tokens.
        text: the new text.
        origin: origin of the change.
    """

    edit: Edit
    text: Parsed
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """An observed edit: `original` became `correction`.

    Attributes:
        edit: the edit of the source's tokens.
        original, correction: both sides, parsed in their sentences.
        around: the context before and after the original; see `Parsed.around`.
        target_around: the context before and after the correction.
    """

    edit: Edit
    original: Parsed
    correction: Parsed
    around: tuple[str, str]
    target_around: tuple[str, str]

    def reversed(self) -> Observation:
        """Return the reverse edit, which puts the error back into the target."""
        return Observation(
            self.edit, self.correction, self.original, self.target_around, self.around
        )


def observe(source: Parsed, target: Parsed, edits: Sequence[Edit]) -> list[Observation]:
    """Return an observation for each edit from one sentence to the other.

    Args:
        source: parsed source.
        target: parsed target.
        edits: edits of the source that lead to the target.
    """
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

    Each distinct pair is processed once; a text is parsed once for neighbouring pairs of a source.

    Args:
        pairs: sources and targets.
        annotator: name of the spaCy pipeline.
        runtime: number of processes and progress bar.

    Raises:
        UnknownNameError, ModelError: the annotator does not exist or cannot be loaded.
    """
    path = find_annotator(annotator).resolve()
    ordered: dict[str, dict[str, None]] = {}
    for source, target in pairs:
        ordered.setdefault(source, {})[target] = None
    distinct = [(source, target) for source, targets in ordered.items() for target in targets]
    blocks = [distinct[start : start + BLOCK] for start in range(0, len(distinct), BLOCK)]
    results = parallel_map(partial(_parse_block, path), blocks, "edits", runtime, chunk_size=1)
    rows = [row for block in results for row in block]
    found = dict(zip(distinct, rows, strict=True))
    return [found[pair] for pair in pairs]


def _parse_block(
    path: Path, pairs: Sequence[tuple[str, str]]
) -> list[tuple[Parsed, Parsed, tuple[Edit, ...]]]:
    # This loads spaCy.
    from learnedgec.edits.alignment import annotate

    parsed = parse_sentences(load_pipeline(path, False), (text for pair in pairs for text in pair))
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


def plain(original: Parsed, correction: Parsed) -> bool:
    """Return whether an edit corrects words, and changes more than case, spacing, style or meaning.

    A change of tense, or between modal verbs or conjunctions, is taken to change only the meaning, because
    one sentence does not show which is right.
    """
    if len(original) == len(correction) == 1:
        tags = original.tags[0], correction.tags[0]
        if tags in (("MD", "MD"), ("CC", "CC")) or (
            original.lemmas == correction.lemmas and tense_differs(*tags)
        ):
            return False
    words = original.words + correction.words
    # A system's mark for an unknown word is not a word.
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
    """Return the similarity of two texts by their letters, from 0 to 1; "there" resembles "their"."""
    return Indel.normalized_similarity(" ".join(original.words), " ".join(correction.words))


def related(original: Parsed, correction: Parsed) -> bool:
    """Return whether two texts differ only in function words, or are one word each of the same kind.

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


def tense_differs(tag: str, other: str) -> bool:
    """Return whether two tags differ only in tense, which one sentence cannot decide."""
    present = ("VBZ", "VBP")
    return (tag == "VBD" and other in present) or (other == "VBD" and tag in present)


def join_pieces(*pieces: Parsed) -> Parsed:
    return Parsed(
        tuple(token for piece in pieces for token in piece.tokens),
        tuple(tag for piece in pieces for tag in piece.tags),
        tuple(lemma for piece in pieces for lemma in piece.lemmas),
    )
