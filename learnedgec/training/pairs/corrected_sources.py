"""Sources of which corrections, or places of errors, are known: what corrupted pairs are made from."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from learnedgec.data.catalog.corrections import load_corrections
from learnedgec.data.catalog.outputs import load_outputs
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.catalog.sentences import Labelled
from learnedgec.data.m2 import Edit
from learnedgec.edits.annotator import extract_edits
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs.mistakes import Words, is_plain, lower

if TYPE_CHECKING:
    from learnedgec.training.pairs.corrupted import CorruptedPairs


# Variants of a case that make pairs.
_VARIANTS = 2


@dataclass
class CorrectedSource:
    """A source with the edits of one of its corrections, and what is known of its other corrections.

    Attributes:
        tokens: the source.
        gold: the edits of the correction.
        reference_edits: the edits of all references.
        accepted: the texts of all references.
        mistakes: edits of systems that no reference has.
        group: pairs of one group belong in one part of a split.
        origin: the dataset.
    """

    tokens: Words
    gold: tuple[Edit, ...]
    reference_edits: list[Edit]
    accepted: set[str]
    mistakes: list[Edit] = field(default_factory=list)
    group: str = ""
    origin: str = ""


def corrected_sources(settings: CorruptedPairs, runtime: Runtime) -> list[CorrectedSource]:
    """Return the corrections with all that references and systems do to their sources."""
    rows = [(name, row) for name in settings.corrections for row in load_corrections(name)]
    variants: dict[str, dict[str, None]] = defaultdict(dict)
    for _, row in rows:
        variants[row.group][row.source] = None
    used = {source for sources in variants.values() for source in list(sources)[:_VARIANTS]}
    rows = [(name, row) for name, row in rows if row.source in used and row.source.split()]
    references = [(row.source, row.target) for _, row in rows]
    outputs: list[tuple[str, str]] = []
    for name in settings.outputs or ():
        data = load_parallel(name)
        for source, targets in zip(data.sources, data.references, strict=True):
            references += [(source, target.text) for target in targets]
        for system, hypotheses in load_outputs(name).items():
            if system != "source+error":  # GMEG's sources with errors put in
                outputs += zip(data.sources, hypotheses, strict=True)
    assert settings.annotator is not None
    edits = extract_edits([*references, *outputs], settings.annotator, types=False, runtime=runtime)
    gold_of: dict[str, list[Edit]] = defaultdict(list)
    accepted: dict[str, set[str]] = defaultdict(set)
    for (source, target), gold in zip(references, edits, strict=False):
        gold_of[source] += gold
        accepted[source].add(" ".join(target.split()))
    mistakes: dict[str, dict[Edit, None]] = defaultdict(dict)
    for (source, _), changes in zip(outputs, edits[len(references) :], strict=True):
        right = {(edit.start, edit.end, edit.correction.lower()) for edit in gold_of[source]}
        for edit in changes:
            old, new = source.split()[edit.start : edit.end], edit.correction.lower()
            plain = is_plain(lower(old), lower(new.split()))
            if plain and (edit.start, edit.end, new) not in right:
                mistakes[source][edit] = None
    return [
        CorrectedSource(
            tuple(row.source.split()),
            tuple(gold),
            gold_of[row.source],
            accepted[row.source],
            list(mistakes[row.source]),
            row.group,
            name,
        )
        for (name, row), gold in zip(rows, edits, strict=False)
    ]


def labelled_source(name: str, row: Labelled) -> CorrectedSource:
    """Return a sentence of which is known where it is wrong, and not what would be right."""
    tokens = tuple(row.sentence.split())
    wrong = [Edit(place, place + 1, "") for place, label in enumerate(row.wrong) if label]
    return CorrectedSource(tokens, (), wrong, set(), group=row.sentence, origin=name)
