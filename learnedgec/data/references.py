"""References: for each sentence any number of corrected texts, with gold edits where known."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from learnedgec.data.m2 import (
    AnnotatedSentence,
    Edit,
    apply_edits,
    is_m2,
    read_m2,
    without_overlaps,
)
from learnedgec.data.sentences import (
    Items,
    Sentences,
    as_items,
    as_optional_sentences,
    as_sentences,
    check_length,
    shared_words,
    words_of,
)
from learnedgec.data.text import check_lengths, check_sources, read_lines
from learnedgec.errors import InputError, LengthError, TextWarning, warn_of_inputs
from learnedgec.runtime.files import PathLike
from learnedgec.table import Table
from learnedgec.types import Texts


@dataclass(frozen=True, slots=True)
class Reference:
    """One annotator's correction of one sentence.

    Attributes:
        text: the corrected sentence; `""` is a reference that deletes everything.
        edits: the annotator's gold edits in file order, or `None` where only the text is known.
        annotator: the number of the M2 annotator, or of the reference file.

    Example:
        >>> References.from_texts(["He goes ."])[0][0].text
        'He goes .'
    """

    text: str
    edits: tuple[Edit, ...] | None = None
    annotator: int = 0


@dataclass(frozen=True, slots=True)
class References(Sequence[tuple[Reference, ...]]):
    """The references of N sentences; sentence i has `len(references[i])` of them, 0 allowed.

    A missing reference is absent, never an empty text: an M2 block may lack an annotator, and a
    JSONL record may hold `null`. An empty *line* of a reference file
    is a reference: the annotator deleted the sentence (CoNLL-14 has three).

    Attributes:
        rows: references of each sentence.

    Raises:
        InputError: the rows hold texts, which `from_rows` and `from_texts` read.

    Example:
        >>> references = References.from_texts(["A b .", "C ."], ["A c .", None])
        >>> [len(row) for row in references]
        [2, 1]
    """

    rows: tuple[tuple[Reference, ...], ...]

    def __post_init__(self) -> None:
        first = next((reference for row in self.rows for reference in row), None)
        if isinstance(first, str):
            raise InputError(
                f"the references are texts, such as {first[:60]!r}; give them to References.from_rows, one "
                "row for each sentence, or to References.from_texts, one list for each annotator."
            )

    @classmethod
    def from_texts(cls, *annotators: Items[str | None]) -> References:
        """Build from R parallel sequences of N texts; `None` (or a table's NaN) where an annotator has none.

        Raises:
            LengthError: the sequences differ in length.
            InputError: an argument is not a sequence, or an item is neither a text nor missing.
        """
        columns = [
            as_optional_sentences(texts, f"annotators[{number}]")
            for number, texts in enumerate(annotators)
        ]
        check_lengths(*((f"reference {n}", texts) for n, texts in enumerate(columns)))
        return cls.from_lists(zip(*columns, strict=True))

    @classmethod
    def from_rows(cls, rows: ReferenceRows) -> References:
        """Build from the texts of each sentence, `[[references of a sentence], …]`; their number may vary.

        A list of texts, `[reference of a sentence, …]`, has one reference for each sentence.

        Raises:
            InputError: a row is not a sequence of texts; the message names it as an item of `references`.

        Example:
            >>> [len(row) for row in References.from_rows([["A b .", "A c ."], ["C ."], []])]
            [2, 1, 0]
            >>> References.from_rows(["A b .", "C ."]).texts()
            [['A b .'], ['C .']]
        """
        if isinstance(rows, References):
            return rows
        items = as_items(rows, "references", "a sequence of each sentence's references")
        if items and all(isinstance(item, str) for item in items):
            return cls.from_lists([text] for text in as_sentences(items, "references"))
        return cls.from_lists(
            as_sentences(row, f"references[{index}]") for index, row in enumerate(items)
        )

    @classmethod
    def from_lists(cls, rows: Iterable[Sequence[str | None] | None]) -> References:
        """Build from each sentence's texts as records hold them: `None` for a text or a row that is absent.

        Example:
            >>> References.from_lists([["A b .", None, "A c ."], None]).texts()
            [['A b .', 'A c .'], []]
        """
        return cls(
            tuple(
                tuple(
                    Reference(text, annotator=number)
                    for number, text in enumerate(row or ())
                    if text is not None
                )
                for row in rows
            )
        )

    @classmethod
    def from_files(cls, *paths: PathLike) -> References:
        """Read R parallel text files with one reference per line.

        Raises:
            LengthError: the files differ in length.
            InputError: one is an M2 file.
        """
        texts = [(os.fspath(path), read_lines(path)) for path in paths]
        for name, lines in texts:
            if is_m2(lines):
                raise InputError(
                    f"{name} is an M2 file, and texts were expected; ",
                    hint="read it with References.from_m2.",
                    flag="name it with --gold.",
                )
        check_lengths(*texts)
        return cls.from_texts(*(lines for _, lines in texts))

    @classmethod
    def from_annotated(cls, blocks: Iterable[AnnotatedSentence]) -> References:
        """Build from parsed M2 blocks; each text is the source with that annotator's edits applied.

        Gold edits that overlap cannot be applied together; only the first of them is applied.
        """
        return cls(
            tuple(
                tuple(
                    Reference(apply_edits(block.source, without_overlaps(edits)), edits, annotator)
                    for annotator, edits in block.annotations.items()
                )
                for block in blocks
            )
        )

    @classmethod
    def from_m2(cls, path: PathLike, sources: Texts | None = None) -> References:
        """Read an M2 file, checking its sentences against `sources` where given.

        Of gold edits of one annotator that overlap, only the first is applied; a warning counts the others.

        Raises:
            LengthError: the file has more or fewer sentences than `sources`.
            InputError: a sentence differs from its source in tokens.
        """
        blocks = read_m2(path)
        if sources is not None:
            name, gold_sources = os.fspath(path), [block.source for block in blocks]
            check_lengths(("the source", sources), (name, gold_sources))
            check_sources(name, sources, gold_sources)
        left_out = {
            number: count
            for number, block in enumerate(blocks, 1)
            if (count := sum(len(e) - len(without_overlaps(e)) for e in block.annotations.values()))
        }
        if left_out:
            warn_of_inputs(
                TextWarning(
                    f"{os.fspath(path)}: gold edits left out of the references' texts, because they overlap "
                    f"an earlier one of their annotator: {sum(left_out.values())}, the first in sentence "
                    f"{next(iter(left_out))}; metrics that compare edits, such as m2 and errant, count them."
                )
            )
        return cls.from_annotated(blocks)

    def __repr__(self) -> str:
        total = sum(map(len, self.rows))
        edits = ", with gold edits" if total and self.annotated else ""
        return f"References(sentences={len(self):,}, references={total:,}{edits})"

    def _repr_html_(self) -> str:
        rows = [
            {"sentence": number, **{str(r.annotator): r.text for r in row}}
            for number, row in enumerate(self.rows)
        ]
        return Table.of(rows).html()

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> tuple[Reference, ...]:  # type: ignore[override]
        return self.rows[index]

    def __iter__(self) -> Iterator[tuple[Reference, ...]]:
        return iter(self.rows)

    @property
    def most(self) -> int:
        """The largest number of references that a sentence has."""
        return max((len(row) for row in self.rows), default=0)

    @property
    def annotated(self) -> bool:
        """Whether every reference has gold edits."""
        return all(reference.edits is not None for row in self.rows for reference in row)

    def corrects(self, sources: Texts) -> bool:
        """Return whether any reference has a gold edit, or a text other than its source.

        Example:
            >>> References.from_texts(["He goes ."]).corrects(["He goes ."])
            False
        """
        return any(
            reference.edits or reference.text.split() != source.split()
            for source, row in zip(sources, self.rows, strict=True)
            for reference in row
        )

    def select(self, indices: Iterable[int]) -> References:
        """Return the references of the given sentences, in that order, repeats allowed."""
        return References(tuple(self.rows[index] for index in indices))

    def without(self, annotators: Collection[int]) -> References:
        """Return the references of all other annotators."""
        rows = (tuple(r for r in row if r.annotator not in annotators) for row in self.rows)
        return References(tuple(rows))

    def map(self, change: Callable[[str, Reference], Reference], sources: Texts) -> References:
        """Return the references as a function of their source and themselves returns them."""
        rows = zip(sources, self.rows, strict=True)
        return References(tuple(tuple(change(source, r) for r in row) for source, row in rows))

    def pairs_without_edits(self, sources: Texts) -> list[tuple[str, str]]:
        """Return the source and the text of each reference that has no edits."""
        rows = zip(sources, self.rows, strict=True)
        return [(source, r.text) for source, row in rows for r in row if r.edits is None]

    def with_edits(
        self, sources: Texts, edits: Mapping[tuple[str, str], tuple[Edit, ...]]
    ) -> References:
        """Return the references with the edits of source and text for those that have none."""

        def edited(source: str, reference: Reference) -> Reference:
            known = reference.edits is not None
            return reference if known else replace(reference, edits=edits[source, reference.text])

        return self.map(edited, sources)

    def without_edits(self) -> References:
        """Return the texts without gold edits, so that edits are extracted as for hypotheses."""
        return References(
            tuple(tuple(replace(reference, edits=None) for reference in row) for row in self.rows)
        )

    def texts(self) -> list[list[str]]:
        """Return the reference texts of each sentence."""
        return [[reference.text for reference in row] for row in self.rows]


ReferenceRows: TypeAlias = References | Items[Sentences] | Sentences
"""`References`, each sentence's texts (`[[references of a sentence], …]`), or one text for each sentence."""


def references_of_record(value: object, place: str) -> list[str]:
    """Return the references in a field of a record: a text, or a list of texts of which some may be absent.

    Args:
        value: the content of the field.
        place: the field and the record, for the message.

    Raises:
        InputError: the field holds something else, such as `None`.

    Example:
        >>> references_of_record(["He goes .", None], "the column 'target' of row 1")
        ['He goes .']
    """
    if isinstance(value, str):
        return [value]
    return [text for text in as_optional_sentences(value, place) if text is not None]  # type: ignore[arg-type]


def as_references(rows: ReferenceRows | None, sources: Texts) -> References | None:
    """Return the references of N sentences from any accepted form.

    Args:
        rows: `References`, each sentence's texts (see `References.from_rows`), or `None`.
        sources: the sentences, to tell rows of sentences from rows of annotators.

    Raises:
        InputError: they have neither form, a text has too many tokens for a sentence, or there are N rows of
            N texts, and it is not clear that each row belongs to a sentence.
        LengthError: there is a row for each annotator instead of one for each sentence.
    """
    if rows is None:
        return None
    if isinstance(rows, References):
        for number, row in enumerate(rows):
            for reference in row:
                check_length(reference.text, f"references[{number}]")
        _check_gold(rows, sources)
        return rows
    references, size = References.from_rows(rows), len(sources)
    if {len(row) for row in references} == {size}:
        if len(references) != size:
            raise LengthError(
                f"references has {len(references)} × {size} texts, and a row for each of {size} sentences "
                f"was expected; {_BY_ANNOTATOR}."
            )
        _check_square(references.texts(), sources)
    return references


def _check_gold(rows: References, sources: Texts) -> None:
    """Raise `InputError` unless gold edits of each source make the text of their reference."""
    for number, (source, row) in enumerate(zip(sources, rows, strict=False)):
        for reference in row:
            if reference.edits is None:
                continue
            try:
                text = apply_edits(source, without_overlaps(reference.edits))
            except InputError:
                text = ""
            if text.split() != reference.text.split():
                raise InputError(
                    f"references[{number}] has gold edits of another sentence than sources[{number}], "
                    f"{source[:60]!r}: they do not make it {reference.text[:60]!r}; give references of "
                    "these sources, such as References.from_m2(FILE, sources)."
                )


_BY_ANNOTATOR = "if each row is an annotator's, pass References.from_texts(*references)"


def _check_square(texts: Sequence[Sequence[str]], sources: Texts) -> None:
    """Raise `InputError` unless N rows of N texts share more words with the sources by row than by column."""
    words = [words_of(source) for source in sources]
    by_row = by_column = 0.0
    symmetric = True
    for number, row in enumerate(texts):
        for place, text in enumerate(row):
            if text != texts[place][number]:
                symmetric = False
                text_words = words_of(text)
                by_row += shared_words(text_words, words[number])
                by_column += shared_words(text_words, words[place])
    if not symmetric and by_row <= by_column:
        likely = (
            "it seems that each row is an annotator's"
            if by_row < by_column
            else "it is not clear which"
        )
        raise InputError(
            f"references has {len(sources)} × {len(sources)} texts, so a row may belong to a sentence or to "
            f"an annotator, and {likely}; {_BY_ANNOTATOR}, and if it is a sentence's, "
            "References.from_rows(references)."
        )
