"""The M2 format: source sentences with the gold edits of one or more annotators.

    S This are a sentence .
    A 1 2|||R:VERB:SVA|||is|||REQUIRED|||-NONE-|||0
    A 0 2|||R:OTHER|||This is||That is|||REQUIRED|||-NONE-|||1

Spans count source tokens. A correction may list alternatives after `||`; `-NONE-` or nothing is a
deletion. A `noop` line gives its annotator no edits, which means "this sentence is correct"; an annotator
without any line has not annotated the sentence and is not a reference for it. A block without any `A` line
has one annotator, 0, with no edits (the official scorer's convention).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from learnedgec.data.text import read_lines, write_lines
from learnedgec.errors import FormatError, InputError
from learnedgec.runtime.files import PathLike

_ANNOTATION = re.compile(r"A -?\d+ -?\d+\|\|\|")

# M2 cannot hold corrections that contain its separators or equal its word for a deletion.
_UNWRITABLE = re.compile(r"\|\||^\||\|$|^-NONE-$")


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement of source tokens.

    Attributes:
        start: index of the first source token replaced.
        end: index after the last one; equal to `start` for an insertion.
        correction: the new tokens, joined by single spaces; `""` deletes.
        type: the error type, such as `R:VERB:SVA` (ERRANT) or `ArtOrDet` (CoNLL), `""` if unknown.
        alternatives: further corrections, as good as `correction` (gold edits only).

    Example:
        >>> Edit(1, 2, "goes", alternatives=("went",)).corrections
        ('goes', 'went')
    """

    start: int
    end: int
    correction: str
    type: str = ""
    alternatives: tuple[str, ...] = ()

    @property
    def corrections(self) -> tuple[str, ...]:
        """All accepted corrections, the first one first."""
        return (self.correction, *self.alternatives)


@dataclass(frozen=True, slots=True)
class AnnotatedSentence:
    """A block of an M2 file: a source sentence and the gold edits of each annotator.

    Attributes:
        source: the sentence, tokens separated by spaces.
        annotations: annotator -> gold edits in file order, `()` for a sentence without errors; an
            annotator who did not annotate the sentence is absent.

    Example:
        >>> block = AnnotatedSentence("He go .", {0: (Edit(1, 2, "goes", "R:VERB:SVA"),)})
        >>> apply_edits(block.source, block.annotations[0])
        'He goes .'
    """

    source: str
    annotations: Mapping[int, tuple[Edit, ...]] = field(default_factory=dict)


def edit_cells(source: str, edit: Edit) -> dict[str, Any]:
    """Return the cells of a row that say where an edit is, and what it changes."""
    return {
        "start": edit.start,
        "end": edit.end,
        "original": " ".join(source.split()[edit.start : edit.end]),
        "correction": edit.correction,
        "type": edit.type,
    }


def apply_edits(source: str, edits: Iterable[Edit]) -> str:
    """Return the source with every edit applied, tokens joined by single spaces.

    Each edit's first correction is used. Edits are applied by position; insertions at one place go
    left to right in the order given, before a replacement that starts there.

    Args:
        source: tokens separated by spaces.
        edits: edits of the source's tokens.

    Raises:
        InputError: an edit lies outside the sentence, or two edits overlap.

    Example:
        >>> apply_edits("This are a sentence", [Edit(1, 2, "is"), Edit(4, 4, ".")])
        'This is a sentence .'
    """
    tokens = source.split()
    output: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if not 0 <= edit.start <= edit.end <= len(tokens):
            raise InputError(
                f"the edit {edit.start}:{edit.end} lies outside the {len(tokens)} tokens of {source!r}."
            )
        if edit.start < position:
            raise InputError(
                f"the edit {edit.start}:{edit.end} overlaps the one before it, in {source!r}."
            )
        output += tokens[position : edit.start]
        output += edit.correction.split()
        position = edit.end
    return " ".join(output + tokens[position:])


def without_overlaps(edits: Iterable[Edit]) -> list[Edit]:
    """Return the edits by position, leaving out those that overlap an earlier one.

    Some gold edits of one annotator overlap (in CoNLL-13 and -14, for example) and cannot be applied
    together.
    """
    applicable: list[Edit] = []
    end = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start >= end:
            applicable.append(edit)
            end = edit.end
    return applicable


def is_m2(lines: Sequence[str]) -> bool:
    """Return whether these are the lines of an M2 file with at least one annotation.

    Example:
        >>> is_m2(["S He go .", "A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0"]), is_m2(["A dog ."])
        (True, False)
    """
    # In a file of plain sentences, `all` usually stops at the first line.
    return all(
        not line or line.startswith("S ") or _ANNOTATION.match(line) for line in lines
    ) and any(map(_ANNOTATION.match, lines))


def _parse_annotation(line: str, place: str, length: int) -> tuple[int, Edit | None]:
    """Return the annotator and the edit (`None` for noop) of an `A` line."""
    fields = line[2:].split("|||")
    try:
        start_text, end_text = fields[0].split()
        start, end, annotator = map(int, (start_text, end_text, fields[-1]))
        kind, corrections = fields[1], fields[2]
        if len(fields) < 4:
            raise ValueError
    except (ValueError, IndexError):
        raise FormatError(
            f"{place}: an annotation line 'A start end|||type|||correction|||…|||annotator' was "
            f"expected, not {line[:60]!r}."
        ) from None
    if len(fields) > 6 or not fields[3] or fields[3].startswith("|"):
        raise FormatError(
            f"{place}: a correction holds `|` where M2 separates fields, so its text is lost; write that "
            f"token differently and extract the edits again: {line[:60]!r}."
        )
    if kind == "noop" or start == -1:
        return annotator, None
    if not 0 <= start <= end <= length:
        raise FormatError(
            f"{place}: the span {start} {end} lies outside the {length} source tokens."
        )
    first, *others = (
        "" if text == "-NONE-" else " ".join(text.split()) for text in corrections.split("||")
    )
    return annotator, Edit(start, end, first, kind, tuple(others))


def parse_m2(lines: Sequence[str], name: str = "M2") -> list[AnnotatedSentence]:
    """Parse the lines of an M2 file.

    Args:
        lines: the lines without line ends.
        name: the name of the file in an error message.

    Raises:
        FormatError: a line is neither `S`, `A` nor blank, or an annotation cannot be used.

    Example:
        >>> block, = parse_m2(["S a b", "A 1 2|||R:NOUN|||c||d|||REQUIRED|||-NONE-|||0", ""])
        >>> block.annotations[0][0].corrections
        ('c', 'd')
    """
    blocks: list[tuple[str, dict[int, list[Edit]]]] = []
    for number, line in enumerate(lines, 1):
        place = f"{name}:{number}"
        if line.startswith("S ") or line == "S":
            blocks.append((line[2:], {}))
        elif line.startswith("A "):
            if not blocks:
                raise FormatError(f"{place}: an 'A' line precedes the first 'S' line.")
            source, annotations = blocks[-1]
            annotator, edit = _parse_annotation(line, place, len(source.split()))
            annotations.setdefault(annotator, []).extend([] if edit is None else [edit])
        elif line.strip():
            raise FormatError(
                f"{place}: a line starting with 'S ' or 'A ' was expected: {line[:60]!r}."
            )
    if not blocks:
        raise FormatError(f"{name}:1: no 'S' line; an M2 file was expected.")
    return [
        AnnotatedSentence(
            source,
            {annotator: tuple(edits) for annotator, edits in sorted(annotations.items())}
            or {0: ()},
        )
        for source, annotations in blocks
    ]


def read_m2(path: PathLike) -> list[AnnotatedSentence]:
    """Read an M2 file.

    Args:
        path: a UTF-8 file, a `.gz` file or `-` for standard input.

    Returns:
        One block per sentence, in file order.

    Raises:
        InputError: the file is missing, a directory, unreadable or empty.
        FormatError: the file is not UTF-8 or a line cannot be used; the message names the line.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "gold.m2"
        >>> write_m2(path, [AnnotatedSentence("He go .", {0: (Edit(1, 2, "goes", "R:VERB:SVA"),)})])
        >>> read_m2(path)[0].annotations[0][0].correction
        'goes'
    """
    return parse_m2(read_lines(path), os.fspath(path))


def format_m2(blocks: Iterable[AnnotatedSentence]) -> list[str]:
    """Return the lines of an M2 file; an edit without a type is written as `NA`.

    Raises:
        InputError: M2 cannot hold a correction; the message names the sentence, counted from 1.
    """
    lines: list[str] = []
    for number, block in enumerate(blocks, 1):
        lines.append(f"S {block.source}")
        for annotator, edits in block.annotations.items():
            if not edits:
                lines.append(f"A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||{annotator}")
            for edit in edits:
                if unwritable := list(filter(_UNWRITABLE.search, edit.corrections)):
                    raise InputError(
                        f"line {number}, annotator {annotator}: M2 cannot hold the correction "
                        f"{unwritable[0][:60]!r}, because `||` separates corrections, `|||` separates fields "
                        "and `-NONE-` means a deletion; write these tokens differently in the text."
                    )
                # Official files leave a deletion empty, but among alternatives it needs its word.
                corrections = "||".join(text or "-NONE-" for text in edit.corrections)
                corrections = corrections if edit.alternatives else edit.correction
                lines.append(
                    f"A {edit.start} {edit.end}|||{edit.type or 'NA'}|||{corrections}"
                    f"|||REQUIRED|||-NONE-|||{annotator}"
                )
        lines.append("")
    return lines


def write_m2(path: PathLike, blocks: Iterable[AnnotatedSentence]) -> None:
    """Write an M2 file, atomically.

    Args:
        path: a file, a `.gz` file or `-` for standard output.
        blocks: one per sentence; an edit without a type is written with the type `NA`.

    Raises:
        InputError: M2 cannot hold a correction, such as `||` or `-NONE-`; nothing is written.
        OutputError: the file cannot be written.

    Example:
        >>> write_m2("-", [AnnotatedSentence("He go .", {0: (Edit(1, 2, "goes", "R:VERB:SVA"),)})])
        S He go .
        A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0
        <BLANKLINE>
    """
    write_lines(path, format_m2(blocks))
