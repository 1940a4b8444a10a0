"""Sentences with one correction each, from any dataset or file that holds corrections."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from learnedgec.data.catalog.cases import CASES, Case
from learnedgec.data.catalog.parallel import PARALLEL, Parallel
from learnedgec.data.catalog.registry import Kind, concatenated
from learnedgec.data.m2 import Edit, read_m2, without_overlaps
from learnedgec.data.records import check_sentence_record, has_objects, read_records, suffix
from learnedgec.data.text import read_lines
from learnedgec.errors import FormatError
from learnedgec.runtime.writing import PathLike


@dataclass(frozen=True, slots=True)
class Correction:
    """One correction of one sentence.

    Attributes:
        source: the sentence.
        target: its correction.
        edits: the gold edits that lead from one to the other, none overlapping; `None` where only the
            texts are known.
        group: corrections of one group belong on one side of any split.
    """

    source: str
    target: str
    edits: tuple[Edit, ...] | None
    group: str


def read_corrections(path: PathLike) -> list[Correction]:
    """Read corrections from a file.

    An `.m2` file gives the gold edits of each annotator. A `.jsonl` or `.parquet` file, or a dataset on the
    Hugging Face hub (`hf:OWNER/NAME`, see `read_records`), has `source` and `references` (texts, `null` where
    an annotator has none) in each record. Any other file has lines of a source and its references, separated
    by tabs.

    Raises:
        FormatError: a line cannot be used; the message names it.
    """
    if suffix(path) == ".m2":
        return _of_parallel(Parallel.from_annotated(read_m2(path)))
    rows = _read_objects(path) if has_objects(path) else _read_tabs(path)
    return [Correction(source, text, None, source) for source, texts in rows for text in texts]


def _of_parallel(data: Parallel) -> list[Correction]:
    return [
        Correction(
            source,
            reference.text,
            None if reference.edits is None else tuple(without_overlaps(reference.edits)),
            source,
        )
        for source, row in zip(data.sources, data.references, strict=True)
        for reference in row
    ]


def _of_cases(cases: list[Case]) -> list[Correction]:
    return [
        Correction(pair.source, pair.target, None, case.original.source)
        for case in cases
        for pair in case.pairs
    ]


CORRECTIONS: Kind[list[Correction]] = Kind(
    "corrections",
    "dataset with corrections",
    join=concatenated,
    read=read_corrections,
    hint="A path to an .m2, .jsonl or .tsv file is also accepted.",
    converted={PARALLEL: _of_parallel, CASES: _of_cases},
)


def load_corrections(name: str) -> list[Correction]:
    """Return every correction of a catalog dataset, of the embedded sample, or of a file.

    Args:
        name: one of

            - a dataset of `load_parallel` (`jfleg:dev`, `gmeg:fce`, `sample`, …): each reference of each
              source;
            - a dataset of `load_cases` (`robustgec:bea19`, …): the original and the variants of each case,
              which form one group;
            - a file as for `read_corrections`.

    Raises:
        UnknownNameError, DataError, PluginError: as for `Kind.load`.

    Example:
        >>> load_corrections("sample")[0].source == load_corrections("sample")[1].source
        True
    """
    return CORRECTIONS.load(name)


def _read_objects(path: PathLike) -> Iterator[tuple[str, list[str]]]:
    """Yield source and references of each object; an absent reference is left out."""
    for place, record in read_records(path, ("source", "references")):
        check_sentence_record(record, place, ("source",))
        yield record["source"], [text for text in record["references"] or () if text is not None]


def _read_tabs(path: PathLike) -> Iterator[tuple[str, list[str]]]:
    """Yield source and references of each line, which tabs separate."""
    for number, line in enumerate(read_lines(path), 1):
        source, *references = line.split("\t")
        if not references:
            raise FormatError(
                f"{os.fspath(path)}:{number}: a source and its references, separated by tabs, were "
                f"expected, not {line[:60]!r}."
            )
        yield source, references
