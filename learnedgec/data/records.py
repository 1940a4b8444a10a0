"""Records of sentences: what a line of JSON or a row of a table holds of one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from learnedgec.data.text import check_sentence
from learnedgec.errors import FormatError, InputError

__all__ = ["check_same_sentences", "check_sentence_record"]


def check_sentence_record(record: Mapping[str, Any], place: str) -> None:
    """Raise `FormatError` unless a record's source, hypothesis and references are texts without line feeds.

    Args:
        record: with the keys `source`, `hypothesis` and perhaps `references`, a list of texts or nulls.
        place: `file:line`.
    """
    references = record.get("references")
    if references is not None and not isinstance(references, list):
        raise FormatError(
            f"{place}: 'references' must be a list of texts, not {str(references)[:60]}."
        )
    for key in ("source", "hypothesis"):
        check_sentence(record[key], place, key)
    for text in references or ():
        if text is not None:
            check_sentence(text, place, "references")


def check_same_sentences(
    first: tuple[str, Sequence[Mapping[str, Any]]],
    other: tuple[str, Sequence[Mapping[str, Any]]],
    *,
    line: int = 1,
) -> None:
    """Raise `InputError` unless the records of two systems have the same sources and references.

    Args:
        first: a system's file, and N of its records.
        other: the same of another system.
        line: the number of the first of these records in its file.
    """
    for number, (one, two) in enumerate(zip(first[1], other[1], strict=True), line):
        if any(one.get(key) != two.get(key) for key in ("source", "references")):
            raise InputError(
                f"{other[0]}:{number}: the source or the references differ from {first[0]}; all systems "
                "must have corrected the same sentences."
            )
