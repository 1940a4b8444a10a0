"""What finds edits other than a spaCy pipeline for English: `plain`, and those of other packages.

A package adds an annotator under the entry point group `learnedgec.annotators` (name -> `module:value`, an
`Annotator`); it then has a name wherever an annotator is named, as in `errant(annotator='czech')`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from learnedgec.edits.plain import PlainAnnotator
from learnedgec.execution.plugins import Plugin, Registry
from learnedgec.formats.m2 import Edit

__all__ = ["ANNOTATORS", "Annotator"]


@runtime_checkable
class Annotator(Protocol):
    """Finds the edits between sentences; it loads what it needs when it first has some.

    Attributes:
        version: for signatures; it changes whenever edits do.
    """

    version: str

    def annotate(
        self, pairs: Sequence[tuple[str, str]], *, types: bool
    ) -> Sequence[Sequence[Edit]]:
        """Return, for each source and target, the edits from left to right; none where tokens are equal.

        Args:
            pairs: distinct; tokens are separated by spaces, and spans count them.
            types: whether edits need a type; without, `""` will do.
        """


def _plugged(plugin: Plugin) -> Annotator:
    """Return the annotator of a plug-in."""
    return plugin.load_value(Annotator)  # type: ignore[type-abstract]


ANNOTATORS: Registry[Annotator] = Registry(
    "annotator", "learnedgec.annotators", {"plain": PlainAnnotator()}, _plugged
)
