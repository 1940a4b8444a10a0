"""Outputs of systems whose words references label as right or wrong."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from learnedgec.data.catalog.sentences import Labelled
from learnedgec.training.pairs.base import drawn
from learnedgec.training.pairs.referenced import outputs_with_references, pooled_references


@dataclass(frozen=True)
class LabelledOutputs:
    """Outputs of systems, and the sources as they are, whose words references label.

    A word of an output is right if it is so by any reference, so that an edit is accepted if one annotator
    made it. References leave out good edits, so some words that are labelled as wrong are right.

    Attributes:
        outputs: datasets of outputs (`load_outputs`).
        references: datasets whose references for a source are pooled; those of `outputs` by default.
        number: number of outputs to draw; all by default.
        seed: seed of the draw.
    """

    outputs: list[str]
    references: list[str] = field(default_factory=list)
    number: int | None = None
    seed: int = 0

    def datasets(self) -> list[str]:
        """Return the names of the datasets that are read."""
        return list(dict.fromkeys([*self.outputs, *self.references]))

    def load(self) -> list[Labelled]:
        """Return each distinct output of sources with references, with a label for each word and the end."""
        references = pooled_references(self.references or self.outputs)
        rows: dict[tuple[str, str], None] = {}
        for name in self.outputs:
            for source, text in outputs_with_references(name, references):
                rows |= {(source, source): None, (source, text): None}
        labelled = []
        for source, output in drawn(list(rows), self.number, random.Random(self.seed)):
            words = output.split()
            by_reference = [
                wrong_words(words, reference.text.split()) for reference in references[source]
            ]
            wrong = tuple(map(all, zip(*by_reference, strict=True)))
            labelled.append(Labelled(output, wrong, source))
        return labelled


def wrong_words(hypothesis: Sequence[str], correct: Sequence[str]) -> list[bool]:
    """Return for each word, and for the end of the sentence, whether it differs from the correct sentence.

    A word is wrong if it has to be replaced or removed, or if a word is missing before it. The end is wrong
    if a word is missing there.

    Example:
        >>> wrong_words("He go to school".split(), "He goes to the school .".split())
        [False, True, False, True, True]
    """
    wrong = [False] * (len(hypothesis) + 1)
    matcher = SequenceMatcher(None, hypothesis, correct, autojunk=False)
    for tag, start, end, _, _ in matcher.get_opcodes():
        if tag != "equal":
            for place in range(start, max(end, start + 1)):
                wrong[place] = True
    return wrong
