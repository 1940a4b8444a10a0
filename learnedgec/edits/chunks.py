"""Chunks: a sentence and all its corrections, divided at the same positions.

Annotators divide the same correction into edits in different ways, so edits of two annotators are hard to
compare. Chunks are the same for the source, the hypothesis and all references. Edits of any of them that
overlap or touch are in one chunk, and unedited tokens between two of these are another chunk. In each chunk
every target has some tokens, and has either edited the chunk or not.

Source: Ye et al., "CLEME: Debiasing Multi-reference Evaluation for Grammatical Error Correction"
(EMNLP 2023), section 3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from learnedgec.data.m2 import Edit

CLASSES = ("tp", "fp_ne", "fp_un", "fn", "tn")
"""What a chunk of a hypothesis may count as; see `learnedgec.metrics.cleme`."""


class Chunk(NamedTuple):
    """Source tokens `start` to `end` (none for a place to insert), and what each target makes of them.

    Attributes:
        start: first source token, from 0.
        end: source token after the last.
        texts: the tokens of each target.
        changed: whether each target edits the chunk.
    """

    start: int
    end: int
    texts: list[list[str]]
    changed: list[bool]

    @property
    def lengths(self) -> list[int]:
        """The larger number of tokens, of the source or of each target."""
        return [max(self.end - self.start, len(text)) for text in self.texts]


def shared_chunks(tokens: Sequence[str], targets: Sequence[Sequence[Edit]]) -> Iterator[Chunk]:
    """Yield the chunks of a source and its targets, from left to right.

    Edits that overlap or touch are joined: an edit belongs to the previous chunk if it starts at its end or
    earlier. One token between two edits separates them.

    Args:
        tokens: source tokens.
        targets: edits of the hypothesis and of each reference, each sorted by position and without overlaps;
            the first correction of each edit is applied.

    Example:
        >>> targets = [Edit(1, 2, "x y")], [Edit(2, 2, "z")]
        >>> [chunk.texts for chunk in shared_chunks(["a", "b", "c"], targets)]
        [[['a'], ['a']], [['x', 'y'], ['b', 'z']], [['c'], ['c']]]
    """
    for start, end, edited in _spans(len(tokens), targets):
        texts, changed = [], []
        for edits in targets:
            within = (edit for edit in edits if start <= edit.start and edit.end <= end)
            inside = list(within) if edited else []
            text: list[str] = []
            position = start
            for edit in inside:
                text += [*tokens[position : edit.start], *edit.correction.split()]
                position = edit.end
            texts.append([*text, *tokens[position:end]])
            changed.append(bool(inside))
        yield Chunk(start, end, texts, changed)


def _spans(length: int, targets: Iterable[Iterable[Edit]]) -> list[tuple[int, int, bool]]:
    """Return the spans of a source of so many tokens, and whether any target edits them."""
    spans: list[tuple[int, int, bool]] = []
    start = end = -1
    covered = 0
    for first, last in sorted({(edit.start, edit.end) for edits in targets for edit in edits}):
        if first <= end:
            end = max(end, last)
            spans[-1] = start, end, True
        else:
            if covered < first:
                spans.append((covered, first, False))
            start, end = first, last
            spans.append((start, end, True))
        covered = end
    if covered < length:
        spans.append((covered, length, False))
    return spans


def classify(assumption: str, chunk: Chunk) -> list[str]:
    """Return what a chunk of the hypothesis, the first target, counts as with each other; see `CLASSES`.

    Args:
        assumption: `dependent`: one reference at a time; `independent`: the chunk against all references.
        chunk: the chunk of the hypothesis and the references.

    Example:
        >>> classify("dependent", Chunk(0, 1, [["x"], ["a"]], [True, False]))
        ['fp_un']
    """
    (text, *references), (changed, *edited) = chunk.texts, chunk.changed

    def kind(same: bool, necessary: bool, missed: bool) -> str:
        if not changed:
            return "fn" if missed else "tn"
        if same:
            return "tp"
        return "fp_ne" if necessary else "fp_un"

    same = [text == reference for reference in references]
    if assumption == "independent":
        return [kind(any(same), any(edited), all(edited))] * len(references)
    return [kind(one, other, not one) for one, other in zip(same, edited, strict=True)]
