"""ERRANT's edits between sentences that a spaCy pipeline has parsed, with a faster alignment.

`errant` merges and types the edits. Importing it loads spaCy, so this module is imported only where sentences
are parsed. It passes `errant` plain Python tokens (`Token`) instead of spaCy's, whose attributes are slow to
access.

An alignment is a cheapest path (`learnedgec.edits.alignment`), on which a substitution costs up to 2,
depending on lemma, part of speech and characters. Two things make it faster: the costs of all substitutions
are computed at once, and reordering is searched for only where it is possible. Tokens that both sentences
share at their ends are aligned directly. Unlike in ERRANT, no edit joins more than 600 neighbouring changes
or 100 substitutions.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from errant.alignment import Alignment
from errant.en.classifier import classify
from errant.en.merger import get_rule_edits
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from learnedgec.data.m2 import Edit
from learnedgec.edits.alignment import alignment_tables, break_long_runs
from learnedgec.errors import ModelError
from learnedgec.runtime.files import folder_state
from learnedgec.types import Floats, Mask

# The number of sentences that a pipeline reads at once: enough to keep matrices busy.
_BATCH = 256


def load_pipeline(path: Path, types: bool) -> Any:
    """Return the spaCy pipeline without unused components (cached while its files stay the same).

    Dependencies are parsed only for types, or if a later component needs them.
    """
    return _load_pipeline(path, types, folder_state(path))


@lru_cache(maxsize=4)
def _load_pipeline(path: Path, types: bool, state: object) -> Any:
    import spacy

    try:
        pipeline = spacy.load(path, exclude=["ner", "senter"])
    except Exception as error:
        raise ModelError(
            f"the annotator {path} cannot be loaded ({error}); name another or install it again."
        ) from None
    # The requirements that components declare; an attribute ruler declares none, but has patterns.
    read = [
        str((*pipeline.get_pipe_meta(name).requires, getattr(component, "patterns", ()))).lower()
        for name, component in pipeline.pipeline
    ]
    needed = types or any("dep" in text or "head" in text for text in read)
    if not needed and "parser" in pipeline.pipe_names:
        pipeline.remove_pipe("parser")
    return pipeline


def parsed_sources(path: Path, types: bool) -> dict[str, Sentence]:
    """Return the parses of sources that a pipeline remembers, because other targets of these may follow."""
    return _parsed_sources(path, types, folder_state(path))


@lru_cache(maxsize=4)
def _parsed_sources(path: Path, types: bool, state: object) -> dict[str, Sentence]:
    return {}


@dataclass(eq=False, slots=True)
class Token:
    """A parsed token, with the attributes of spaCy's tokens that ERRANT reads, under the same names.

    Attributes:
        text: the token.
        lower_: the token in lower case.
        lemma: its lemma.
        pos: spaCy's ID of its universal part of speech.
        tag_: its Penn Treebank tag.
        dep_: its relation to its head.
        head: the token that it depends on; a root depends on itself.
        dependents: the tokens that depend on it, from left to right.
    """

    text: str
    lower_: str
    lemma: str
    pos: int
    tag_: str
    dep_: str
    head: Token = field(init=False, repr=False)
    dependents: list[Token] = field(default_factory=list, repr=False)

    @property
    def orth(self) -> str:
        """The identity of a token's form."""
        return self.text

    @property
    def lower(self) -> str:
        """The same as `lower_`, because ERRANT only compares these values."""
        return self.lower_

    @property
    def children(self) -> Iterator[Token]:
        """An iterator over the dependents, as in spaCy."""
        return iter(self.dependents)


class Sentence(list[Token]):
    """Parsed tokens; a slice is also a `Sentence` and has a `text`."""

    @property
    def text(self) -> str:
        """The tokens, joined by spaces."""
        return " ".join(token.text for token in self)

    def __getitem__(self, index: Any) -> Any:
        item = super().__getitem__(index)
        return Sentence(item) if isinstance(index, slice) else item


def parse_sentences(pipeline: Any, texts: Iterable[str]) -> dict[str, Sentence]:
    """Return the parse of each distinct text, whose tokens are separated by spaces."""
    from spacy.tokens import Doc

    distinct = list(dict.fromkeys(texts))
    words = [text.split() for text in distinct]
    parsed = {text: Sentence() for text in distinct}
    wordy = [text for text, cut in zip(distinct, words, strict=True) if cut]
    documents = (Doc(pipeline.vocab, cut) for cut in words if cut)
    for text, document in zip(wordy, pipeline.pipe(documents, batch_size=_BATCH), strict=True):
        sentence = Sentence(
            Token(t.text, t.lower_, t.lemma_, t.pos, t.tag_, t.dep_) for t in document
        )
        for token, spacy_token in zip(sentence, document, strict=True):
            token.head = sentence[spacy_token.head.i]
            if token.head is not token:
                token.head.dependents.append(token)
        parsed[text] = sentence
    return parsed


# -- alignment --------------------------------------------------------------------------------


def annotate(source: Sentence, target: Sentence, types: bool) -> tuple[Edit, ...]:
    """Return the edits from one parsed sentence to another, with or without types.

    Args:
        source: parsed source.
        target: parsed target.
        types: whether edits have types.
    """
    # Every cell of the table depends only on cells before it, so equal ends can be left out. Equal beginnings
    # cannot: they decide beside which of two equal tokens a token is inserted.
    common = 0
    for left, right in zip(reversed(source), reversed(target), strict=False):
        if left.text != right.text:
            break
        common += 1
    source, target = source[: len(source) - common], target[: len(target) - common]
    alignment = _Alignment(source, target)
    alignment.align_seq = list(break_long_runs(alignment.align_seq))
    edits = []
    for edit in get_rule_edits(alignment):
        if types:
            classify(edit)
        edits.append(Edit(edit.o_start, edit.o_end, edit.c_str, edit.type if types else ""))
    return tuple(edits)


class _Alignment(Alignment):  # type: ignore[misc]
    """ERRANT's alignment, which fills the table faster."""

    def align(self, lev: bool) -> tuple[list[array[float]], list[list[str]]]:
        """Return the tables of costs and of operations."""
        source, target = self.orig, self.cor
        return alignment_tables(
            [token.text for token in source],
            [token.text for token in target],
            [token.lower_ for token in source],
            [token.lower_ for token in target],
            _substitution_costs(source, target, self._open_pos),
        )


def _substitution_costs(source: Sentence, target: Sentence, open_pos: set[int]) -> Floats:
    """Return the cost of every substitution, equal to `Alignment.get_sub_cost`."""

    def unlike(attribute: str) -> Mask:
        """Return which tokens differ in an attribute."""
        numbers: dict[object, int] = {}  # Numbers are faster to compare than strings.
        left, right = (
            np.array([numbers.setdefault(getattr(t, attribute), len(numbers)) for t in tokens], int)
            for tokens in (source, target)
        )
        different: Mask = left[:, None] != right
        return different

    both_open = np.logical_and.outer(
        *(np.array([t.pos in open_pos for t in tokens], bool) for tokens in (source, target))
    )
    lemma = 0.499 * unlike("lemma")
    pos = np.where(both_open, 0.25, 0.5) * unlike("pos")
    characters = cdist(
        [t.text for t in source],
        [t.text for t in target],
        scorer=Indel.normalized_distance,
        dtype=np.float64,
    )
    return np.where(unlike("lower_"), lemma + pos + characters, 0.0)
