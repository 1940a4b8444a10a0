"""The texts that metrics score: sources, systems' outputs and references, checked and tokenised once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from learnedgec.data.references import ReferenceRows, References, as_references
from learnedgec.data.sentences import Sentences, Systems, are_systems, as_sentences, as_systems
from learnedgec.data.text import check_lengths
from learnedgec.edits.tokenisation import tokenise, tokenise_references
from learnedgec.errors import InputError
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Texts


class Inputs(NamedTuple):
    """The inputs of metrics, checked.

    Attributes:
        sources: N sentences.
        systems: system -> N hypotheses.
        references: references of the sentences, if there are any.
    """

    sources: Texts
    systems: Mapping[str, Texts]
    references: References | None


def named_systems(hypotheses: Sentences | Systems) -> Systems:
    """Return systems by name; the sentences of one system, checked, get the name `hypotheses`."""
    if are_systems(hypotheses):
        return hypotheses
    return {"hypotheses": as_sentences(hypotheses, "hypotheses")}


def check_texts(
    sources: Sentences, systems: Systems, references: ReferenceRows | None, runtime: Runtime
) -> Inputs:
    """Return texts as lists of `str`; no other function checks what a caller passes.

    With `runtime.tokenise`, the texts are tokenised.

    Args:
        sources: N texts.
        systems: N texts each, by the system's name.
        references: `References`, or each sentence's texts.
        runtime: how to run.

    Raises:
        LengthError, InputError: see `score`.
    """
    by_system = as_systems(systems)
    sources = as_sentences(sources, "sources")
    references = as_references(references, sources)
    if not sources:
        raise InputError("there is no sentence to score; give at least one source.")
    for system, hypotheses in by_system.items():
        check_lengths(("sources", sources), (system, hypotheses))
    if references is not None:
        check_lengths(("sources", sources), ("references", references))
    if runtime.tokenise == "spacy":
        if references is not None:
            references = tokenise_references(references, sources)
        sources = tokenise(sources)
        by_system = {name: tokenise(texts) for name, texts in by_system.items()}
    return Inputs(sources, by_system, references)
