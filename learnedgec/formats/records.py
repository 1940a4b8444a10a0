"""Records of sentences: what a line of JSON or a row of a table holds of one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from learnedgec.errors import FormatError
from learnedgec.formats.text import check_sentence

__all__ = ["check_sentence_record"]


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
