"""The Swedish learner sentences of Östling et al. (2024): outputs, their ratings and their post-edits.

Each of the 192 sentences has a reference of the learner corpus (SweLL) and the outputs of five systems. One
annotator rated every output and corrected it with as few edits as possible; a second rated 55 of them. The
two pilot rounds, with other systems, are not read.

Source: Östling, Gillholm, Kurfalı, Mattson and Wirén, "Evaluation of Really Good Grammatical Error
Correction" (LREC-COLING 2024).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from learnedgec.data.catalog.files import dataset_file
from learnedgec.data.text import read_json

_PARTS = ("balanced_A", "balanced_B", "balanced_C")
# The first rated everything and wrote the post-edits.
_ANNOTATORS = ("katarina", "robert")
_DIMENSIONS = {
    "grammaticality": "Grammaticality",
    "fluency": "Fluency",
    "meaning": "Meaning Preservation",
}


@dataclass(frozen=True, slots=True)
class SwedishOutput:
    """A system's output for a sentence, with its post-edit and its ratings.

    Attributes:
        text: the output.
        post_edit: the annotator's correction of it.
        raters: dimension -> the ratings, 1 to 4, of the annotator and, for 55 outputs, of the second
            one; 0 says "cannot be judged".
    """

    text: str
    post_edit: str
    raters: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class SwedishSentence:
    """A learner's sentence, its reference and the outputs by system, in alphabetical order.

    Attributes:
        source: the learner's sentence.
        reference: its correction.
        outputs: system -> its rated output.
    """

    source: str
    reference: str
    outputs: Mapping[str, SwedishOutput]


def read_swedish() -> list[SwedishSentence]:
    """Return the sentences in the order of the files; runs of white space are one space."""
    sentences = []
    for part in _PARTS:
        first, second = (
            read_json(dataset_file("swedish", f"annotations/{part}/{name}.json"))["data"]
            for name in _ANNOTATORS
        )
        for row, second_row in zip(first, second, strict=True):
            outputs = {}
            for system, output in sorted(row["systems"].items()):
                by_annotator = output["annotators"] | second_row["systems"][system]["annotators"]
                judgements = [by_annotator[name] for name in _ANNOTATORS if name in by_annotator]
                outputs[system] = SwedishOutput(
                    _squeezed(output["output"]),
                    _squeezed(judgements[0]["corrected"]),
                    {
                        dimension: tuple(float(judgement[column]) for judgement in judgements)
                        for dimension, column in _DIMENSIONS.items()
                    },
                )
            sentences.append(
                SwedishSentence(_squeezed(row["original"]), _squeezed(row["reference"]), outputs)
            )
    return sentences


def _squeezed(text: str) -> str:
    return " ".join(text.split())
