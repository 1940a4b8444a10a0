"""Annotators that are not spaCy pipelines for English: `plain`, and those of other packages.

A package adds an annotator under the entry point group `learnedgec.annotators` (name -> `module:value`, an
`Annotator`). The name is then valid wherever an annotator is named, as in `errant(annotator='czech')`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from learnedgec.data.m2 import Edit
from learnedgec.edits.plain import PlainAnnotator
from learnedgec.runtime.plugins import Plugin, Registry

__all__ = ["ANNOTATORS", "Annotator"]


@runtime_checkable
class Annotator(Protocol):
    """Finds the edits between sentences; it loads models when it is first used.

    Attributes:
        version: version for signatures; it changes whenever edits do.
    """

    version: str

    def annotate(
        self, pairs: Sequence[tuple[str, str]], *, types: bool
    ) -> Sequence[Sequence[Edit]]:
        """Return the edits of each source and target from left to right; empty if their tokens are equal.

        Args:
            pairs: distinct pairs; spaces separate the tokens that spans count.
            types: whether edits need a type; otherwise `""` is enough.
        """


def _plugged(plugin: Plugin) -> Annotator:
    """Return the annotator of a plug-in."""
    return plugin.load_value(Annotator)  # type: ignore[type-abstract]


ANNOTATORS: Registry[Annotator] = Registry(
    "annotator", "learnedgec.annotators", {"plain": PlainAnnotator()}, _plugged
)
