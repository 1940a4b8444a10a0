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
    """A system's output for a learner's sentence, with its post-edit and its ratings.

    Attributes:
        source: the learner's sentence.
        reference: the learner corpus's correction of it.
        system: the system.
        text: the output.
        post_edit: the annotator's correction of the output.
        raters: dimension -> the ratings, 1 to 4, of the annotator and, for 55 outputs, of the second
            one; 0 says "cannot be judged".
    """

    source: str
    reference: str
    system: str
    text: str
    post_edit: str
    raters: Mapping[str, tuple[float, ...]]


def read_swedish() -> dict[str, list[SwedishOutput]]:
    """Return system, by name, -> its outputs in the order of the files, white space as single spaces."""
    outputs: dict[str, list[SwedishOutput]] = {}
    for part in _PARTS:
        first, second = (
            read_json(dataset_file("swedish", f"annotations/{part}/{name}.json"))["data"]
            for name in _ANNOTATORS
        )
        for row, second_row in zip(first, second, strict=True):
            for system, output in sorted(row["systems"].items()):
                by_annotator = output["annotators"] | second_row["systems"][system]["annotators"]
                judgements = [by_annotator[name] for name in _ANNOTATORS if name in by_annotator]
                texts = [row["original"], row["reference"], output["output"]]
                texts.append(judgements[0]["corrected"])
                source, reference, text, post_edit = (" ".join(text.split()) for text in texts)
                raters = {
                    dimension: tuple(float(judgement[column]) for judgement in judgements)
                    for dimension, column in _DIMENSIONS.items()
                }
                outputs.setdefault(system, []).append(
                    SwedishOutput(source, reference, system, text, post_edit, raters)
                )
    return outputs
