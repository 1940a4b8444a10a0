"""M2 (MaxMatch): the edits of a system that match most gold edits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from learnedgec.data.references import Reference, References
from learnedgec.edits.max_match import max_match, reference_edits
from learnedgec.errors import ParameterError
from learnedgec.metrics.contract import Statistics
from learnedgec.metrics.edit_overlap import (
    EditCounts,
    EditOverlap,
    Record,
    edit_record,
    overlap_statistics,
)
from learnedgec.runtime.runtime import Runtime, parallel_map
from learnedgec.types import Array, Floats, Texts


@dataclass(frozen=True)
class M2(EditOverlap):
    """M²: F over the edits of the system that overlap most with the gold edits (MaxMatch).

    For each annotator the hypothesis is cut into the edits that match most of that annotator's gold edits;
    `learnedgec.edits.max_match` has the algorithm. F is (1+β²)·tp/(β²·g+e), and 1 if both are 0. Here tp, e
    and g are the numbers of matches, of the system's edits and of gold edits, summed over the sentences. Each
    sentence uses the reference that gives the largest F of the sentences up to it. Among equal references,
    the largest tp decides, then the smallest e+β²·g, then the order. `m2(level='sentence')`, also named
    `sentm2`, is the mean of sentence scores.

    Equal to the official scorer, version 3.2, on M2 files. An annotator without any line in a
    block that has others is not a reference for that sentence; a block without lines has one annotator
    without edits. A system edit that matches several equal gold edits counts for each, so that P can
    exceed 1.

    References that are plain texts get their gold edits from an alignment with the source, each as
    the official `edit_creator.py` makes them: the shortest path through the edit lattice, neighbouring
    changes joined, no unchanged token inside an edit. The signature then says `gold:aligned`.

    Deviations: a pair of sentences whose lattice has more than 300,000 arcs (a rewritten paragraph, on which
    the official scorer takes minutes to days) is aligned only once, so its edits may match fewer gold edits.
    Runs of spaces inside a gold correction are one space.

    Source: Dahlmeier and Ng, "Better Evaluation for Grammatical Error Correction" (NAACL 2012).

    Attributes:
        max_unchanged_words: the number of unchanged tokens that a system's edit may span.
        ignore_whitespace_casing: drop system edits that change nothing but spaces and case.

    Example:
        >>> from learnedgec import AnnotatedSentence, Edit, References, load_metric
        >>> gold = (Edit(1, 2, "is"), Edit(2, 3, "a"))
        >>> references = References.from_annotated([AnnotatedSentence("This are an book", {0: gold})])
        >>> score = load_metric("m2").score(["This are an book"], ["This is an book"], references)
        >>> score.details["precision"], score.details["recall"], round(score.value, 4)
        (1.0, 0.5, 0.8333)
    """

    name: ClassVar[str] = "m2"
    max_unchanged_words: int = 2
    ignore_whitespace_casing: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_unchanged_words < 0:
            raise ParameterError(f"{self}: max_unchanged_words must be at least 0.")

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return the counts of every sentence and annotator, with the edits as records."""
        work = partial(_max_match_row, self.max_unchanged_words, self.ignore_whitespace_casing)
        rows = list(zip(sources, hypotheses, references, strict=True))
        return overlap_statistics(parallel_map(work, rows, "m2", runtime), references)

    def preference(self, after: Floats, counts: Floats) -> tuple[Array, ...]:
        """Return F (1 if 0/0), tp and −(e+β²·g)."""
        tp, proposed, gold = after
        beta_squared = self.beta * self.beta
        divisor = beta_squared * gold + proposed
        f = np.divide(
            (1 + beta_squared) * tp, divisor, out=np.ones_like(divisor), where=divisor > 0
        )
        return f, tp, -(proposed + beta_squared * gold)


def _max_match_row(
    max_unchanged_words: int,
    ignore_whitespace_casing: bool,
    row: tuple[str, str, Sequence[Reference]],
) -> list[tuple[EditCounts, Record]]:
    """Return the counts and the record of one sentence with each reference."""
    source, hypothesis, references = row
    annotations = [
        reference_edits(source, reference.text) if reference.edits is None else reference.edits
        for reference in references
    ]
    overlaps = max_match(
        source,
        hypothesis,
        annotations,
        max_unchanged_words=max_unchanged_words,
        ignore_whitespace_casing=ignore_whitespace_casing,
    )
    compared: list[tuple[EditCounts, Record]] = []
    for reference, overlap in zip(references, overlaps, strict=True):
        matched_edits = {number for number, _ in overlap.pairs}
        matched_gold = {number for _, number in overlap.pairs}
        edits = [(edit, number in matched_edits) for number, edit in enumerate(overlap.edits)]
        gold = [(edit, number in matched_gold) for number, edit in enumerate(overlap.gold)]
        counts = len(overlap.pairs), len(edits), len(gold)
        compared.append((counts, edit_record(source, reference, edits, gold)))
    return compared
