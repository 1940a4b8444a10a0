"""The inputs of metrics, checked and tokenised once, with warnings about likely mistakes in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from learnedgec.data.input_warnings import is_latin, text_notices
from learnedgec.data.references import ReferenceRows, References, ReferencesBy, as_references
from learnedgec.data.sentences import Sentences, Systems, as_sentences, as_systems
from learnedgec.data.text import check_lengths
from learnedgec.edits.tokenisation import tokenise, tokenise_references
from learnedgec.errors import InputError
from learnedgec.metrics.registry import NamedMetric
from learnedgec.runtime.notices import TextWarning, warn_of_inputs
from learnedgec.runtime.runtime import Runtime


class Inputs(NamedTuple):
    """The inputs of metrics, checked.

    Attributes:
        sources: N sentences.
        systems: system -> N hypotheses.
        references: references of the sentences, if there are any.
    """

    sources: list[str]
    systems: dict[str, list[str]]
    references: References | None


def checked_inputs(
    metrics: Sequence[NamedMetric],
    sources: Sentences,
    systems: Systems,
    references: ReferenceRows | None,
    runtime: Runtime,
    references_by: ReferencesBy | None = None,
    *,
    first: int = 1,
) -> Inputs:
    """Return the inputs of `as_inputs`, and warn about likely mistakes in them.

    Everything that scores a user's texts calls this function first, on the command line too. Texts that
    learnedgec makes itself, such as attacks, need no warning.

    Args:
        metrics: one or more.
        sources: N texts.
        systems: N texts each, by the system's name.
        references: `References`, or each sentence's texts.
        runtime: how to run.
        references_by: whether a row of references belongs to a sentence or to an annotator, if unclear.
        first: the number of the first line, in warnings.
    """
    inputs = as_inputs(metrics, sources, systems, references, runtime, references_by)
    for notice in input_notices(metrics, *inputs, runtime, first=first):
        warn_of_inputs(TextWarning(notice))
    return inputs


def input_notices(
    metrics: Sequence[NamedMetric],
    sources: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    references: References | None,
    runtime: Runtime,
    *,
    first: int = 1,
) -> list[str]:
    """Return one sentence about each likely mistake in the inputs of metrics.

    Args:
        metrics: the metrics.
        sources: N sentences.
        systems: system -> N hypotheses.
        references: references of the sentences, if there are any.
        runtime: how the metrics run.
        first: the number of the first line.
    """
    units = [getattr(metric.metric, "unit", "") for metric in metrics]
    by_character = bool(units) and set(units) == {"char"}
    notices = text_notices(sources, systems, references, by_character=by_character, first=first)
    packages = dict.fromkeys(
        package for metric in metrics for package in metric.metric.packages(runtime)
    )
    if packages and not is_latin(sources):
        notices += [
            f"{package.name} has learned from English alone, and the sources are in another script; its "
            "scores of them mean nothing."
            for package in packages
            if package.languages == ("en",)
        ]
    return notices


def as_inputs(
    metrics: Sequence[NamedMetric],
    sources: Sentences,
    systems: Systems,
    references: ReferenceRows | None,
    runtime: Runtime,
    references_by: ReferencesBy | None = None,
) -> Inputs:
    """Return checked inputs of metrics as lists of `str`; no other function checks what a caller passes.

    With `runtime.tokenise`, the texts are tokenised.

    Args:
        metrics: one or more.
        sources: N texts.
        systems: N texts each, by the system's name.
        references: `References`, or each sentence's texts.
        runtime: how to run.
        references_by: whether a row of references belongs to a sentence or to an annotator, if unclear.

    Raises:
        LengthError, InputError: see `score`.
    """
    by_system = as_systems(systems)
    sources = as_sentences(sources, "sources")
    references = as_references(references, sources, references_by)
    if not sources:
        raise InputError("there is no sentence to score; give at least one source.")
    for system, hypotheses in by_system.items():
        check_lengths(("sources", sources), (system, hypotheses))
    needing = next((m.metric.name for m in metrics if m.metric.needs_references), None)
    if references is not None:
        check_lengths(("sources", sources), ("references", references))
    if needing and references is None:
        raise InputError(
            f"{needing} needs references, and there are none; ",
            hint="give references=, each sentence's texts or References.",
            flag="give reference files (--ref) or an M2 file (--gold); in --jsonl they are the key "
            "'references'.",
        )
    if needing and references is not None and not all(references):
        number = 1 + [bool(row) for row in references].index(False)
        raise InputError(
            f"sentence {number} has no reference and {needing} needs one; "
            "add a reference or leave the sentence out."
        )
    if runtime.tokenise == "spacy":
        if references is not None:
            references = tokenise_references(references, sources)
        sources = tokenise(sources)
        by_system = {name: tokenise(texts) for name, texts in by_system.items()}
    return Inputs(sources, by_system, references)
