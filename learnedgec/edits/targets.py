"""The edits of hypotheses, and of references that are plain texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from learnedgec.data.m2 import Edit
from learnedgec.data.references import References

__all__ = ["edits_of_targets"]


def edits_of_targets(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: References,
    extract: Callable[[Sequence[tuple[str, str]]], Sequence[tuple[Edit, ...]]],
) -> tuple[list[tuple[Edit, ...]], References]:
    """Return the edits of N hypotheses, and the references with edits for all of them.

    Args:
        sources: N sentences.
        hypotheses: N corrections of them.
        references: references of the N sentences. Gold edits are kept; edits of plain texts are extracted as
            for hypotheses.
        extract: function that returns the edits between each source and target; it is called once.

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
