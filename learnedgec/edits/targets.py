"""The edits of everything that is made from a source: hypotheses, and references that are plain texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from learnedgec.formats.m2 import Edit
from learnedgec.formats.references import References

__all__ = ["edits_of_targets"]


def edits_of_targets(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: References,
    extract: Callable[[Sequence[tuple[str, str]]], Sequence[tuple[Edit, ...]]],
) -> tuple[list[tuple[Edit, ...]], References]:
    """Return the edits of N hypotheses, and the references, all with edits.

    Args:
        sources: N sentences.
        hypotheses: N corrections of them.
        references: gold edits that are there are kept; plain texts get theirs like hypotheses.
        extract: finds the edits between each source and target; called once.

    Example:
        >>> from learnedgec.edits.max_match import reference_edits
        >>> edits, gold = edits_of_targets(
        ...     ["a b"], ["a c"], References.from_texts(["d b"]),
        ...     lambda pairs: [reference_edits(*pair) for pair in pairs],
        ... )
        >>> edits[0][0].correction, gold[0][0].edits[0].correction
        ('c', 'd')
    """
    pairs = list(zip(sources, hypotheses, strict=True))
    for source, row in zip(sources, references, strict=True):
        pairs += [(source, reference.text) for reference in row if reference.edits is None]
    edits = extract(pairs)
    found = dict(zip(pairs, edits, strict=True))
    annotated = References(
        tuple(
            tuple(
                reference
                if reference.edits is not None
                else replace(reference, edits=found[source, reference.text])
                for reference in row
            )
            for source, row in zip(sources, references, strict=True)
        )
    )
    return list(edits[: len(hypotheses)]), annotated
