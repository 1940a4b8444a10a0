"""Sentences with one correction each, from any dataset or file that holds corrections."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from learnedgec.data.catalog.cases import CASES, Case
from learnedgec.data.catalog.parallel import PARALLEL, Parallel
from learnedgec.data.catalog.registry import Kind, concatenated
from learnedgec.data.m2 import Edit, read_m2, without_overlaps
from learnedgec.data.references import References
from learnedgec.data.text import check_sentence, read_jsonl, read_lines
from learnedgec.errors import FormatError
from learnedgec.runtime.writing import PathLike

__all__ = ["CORRECTIONS", "Correction", "load_corrections", "read_corrections"]


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

    An `.m2` file gives the gold edits of each annotator; a `.jsonl` file has `source` and `references`
    (texts, `null` where an annotator has none) in each line; any other file has lines of a source and
    its references, separated by tabs.

    Raises:
        FormatError: a line cannot be used; the message names it.
    """
    suffixes = [suffix for suffix in Path(path).suffixes if suffix != ".gz"]
    if suffixes[-1:] == [".m2"]:
        blocks = read_m2(path)
        references = References.from_annotated(blocks)
        return list(_corrections([block.source for block in blocks], references))
    if suffixes[-1:] == [".jsonl"]:
        return list(_read_jsonl(path))
    return list(_read_table(path))


CORRECTIONS: Kind[list[Correction]] = Kind(
    "corrections",
    "dataset with corrections",
    join=concatenated,
    read=read_corrections,
    hint="A path to an .m2, .jsonl or .tsv file is also accepted.",
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


def _corrections(
    sources: tuple[str, ...] | list[str], references: References
) -> Iterator[Correction]:
    for source, row in zip(sources, references, strict=True):
        for reference in row:
            edits = None if reference.edits is None else tuple(without_overlaps(reference.edits))
            yield Correction(source, reference.text, edits, source)


def _of_parallel(data: Parallel) -> list[Correction]:
    return list(_corrections(data.sources, data.references))


def _of_cases(cases: list[Case]) -> list[Correction]:
    return [
        Correction(pair.source, pair.target, None, case.original.source)
        for case in cases
        for pair in case.pairs
    ]


CORRECTIONS.derive(PARALLEL, _of_parallel)
CORRECTIONS.derive(CASES, _of_cases)


def _read_jsonl(path: PathLike) -> Iterator[Correction]:
    for number, record in enumerate(read_jsonl(path, required=("source", "references")), 1):
        source, references = record["source"], record["references"]
        place = f"{os.fspath(path)}:{number}"
        check_sentence(source, place, "source")
        if not isinstance(references, list):
            raise FormatError(f"{place}: a list of texts was expected as 'references'.")
        for reference in references:
            if reference is not None:
                yield Correction(
                    source, check_sentence(reference, place, "references"), None, source
                )


def _read_table(path: PathLike) -> Iterator[Correction]:
    for number, line in enumerate(read_lines(path), 1):
        source, *references = line.split("\t")
        if not references:
            raise FormatError(
                f"{os.fspath(path)}:{number}: a source and its references, separated by tabs, were "
                f"expected, not {line[:60]!r}."
            )
        for reference in references:
            yield Correction(source, reference, None, source)
