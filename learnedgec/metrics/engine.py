"""The two ends of a pass from texts to statistics.

The inputs are normalised; each distinct row is computed once, and the rows are scattered to the systems.
`Metric` reads and stores statistics, aggregates and signs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from learnedgec.data.input_warnings import is_latin, text_notices
from learnedgec.data.references import (
    Reference,
    ReferenceRows,
    References,
    ReferencesBy,
    as_references,
)
from learnedgec.data.sentences import Sentences, Systems, as_sentences, as_systems
from learnedgec.data.text import check_lengths
from learnedgec.edits.tokenisation import tokenise, tokenise_references
from learnedgec.errors import InputError, PluginError
from learnedgec.evaluators.packages import learned_languages
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.notices import TextWarning, warn_of_inputs
from learnedgec.runtime.profile import PROFILE
from learnedgec.runtime.runtime import Runtime

if TYPE_CHECKING:
    from learnedgec.metrics.base import Metric


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
    metrics: Sequence[Metric],
    sources: Sentences,
    systems: Systems,
    references: ReferenceRows | None,
    runtime: Runtime,
    references_by: ReferencesBy | None = None,
    *,
    first: int = 1,
) -> Inputs:
    """Return `as_inputs`, and warn of what looks like a mistake in them.

    Whatever scores a user's texts begins with it, on the command line too. Texts that learnedgec makes
    itself, such as attacks, need no warning. In warnings, `first` is the number of the first line.
    """
    inputs = as_inputs(metrics, sources, systems, references, runtime, references_by)
    for notice in input_notices(metrics, *inputs, first=first):
        warn_of_inputs(TextWarning(notice))
    return inputs


def input_notices(
    metrics: Sequence[Metric],
    sources: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    references: References | None,
    *,
    first: int = 1,
) -> list[str]:
    """Return a sentence about everything that looks like a mistake in what metrics score.

    Args:
        metrics: the metrics.
        sources: N sentences.
        systems: system -> N hypotheses.
        references: references of the sentences, if there are any.
        first: the number of the first line.
    """
    by_character = bool(metrics) and all(getattr(m, "unit", "") == "char" for m in metrics)
    notices = text_notices(sources, systems, references, by_character=by_character, first=first)
    evaluators = dict.fromkeys(name for metric in metrics for name in metric.evaluators())
    if evaluators and not is_latin(sources):
        notices += [
            f"{name} has learned from English alone, and the sources are in another script; its scores of "
            "them mean nothing."
            for name in evaluators
            if learned_languages(name) == ("en",)
        ]
    return notices


def as_inputs(
    metrics: Sequence[Metric],
    sources: Sentences,
    systems: Systems,
    references: ReferenceRows | None,
    runtime: Runtime,
    references_by: ReferencesBy | None = None,
) -> Inputs:
    """Return the inputs of metrics as lists of `str`, or raise; no other place checks what a caller passes.

    With `runtime.tokenise`, they are tokenised.

    Args:
        metrics: one or more.
        sources: N texts.
        systems: N texts each, by the system's name.
        references: `References`, or each sentence's texts.
        runtime: how to run.
        references_by: what a row of references belongs to, where that is not clear.

    Raises:
        InputError: see `Metric.statistics_of_systems`.
    """
    by_system = as_systems(systems)
    sources = as_sentences(sources, "sources")
    references = as_references(references, sources, references_by)
    if not sources:
        raise InputError("there is no sentence to score; give at least one source.")
    for system, hypotheses in by_system.items():
        check_lengths(("sources", sources), (system, hypotheses))
    needing = next((metric.name for metric in metrics if metric.needs_references), None)
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


def distinct_statistics(
    metric: Metric,
    sources: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    references: References | None,
    runtime: Runtime,
) -> dict[str, Statistics]:
    """Compute each distinct row (source, hypothesis, references) of all systems once.

    Args:
        metric: the metric.
        sources: N sentences.
        systems: system -> N hypotheses.
        references: references of the sentences, if the metric needs them.
        runtime: how to run.

    Raises:
        PluginError: `compute` does not return one row of an array for each sentence.
    """
    # In a row, the number of the first sentence with the same references replaces the references.
    first: dict[tuple[Reference, ...], int] = {}
    reference_numbers = [0] * len(sources)
    if references is not None:
        reference_numbers = [first.setdefault(row, number) for number, row in enumerate(references)]
    places: dict[tuple[str, str, int], int] = {}
    places_of = {
        system: [
            places.setdefault(row, len(places))
            for row in zip(sources, hypotheses, reference_numbers, strict=True)
        ]
        for system, hypotheses in systems.items()
    }
    PROFILE.rows += len(sources) * len(systems)
    PROFILE.distinct += len(places)
    computed = metric.compute(
        [source for source, _, _ in places],
        [hypothesis for _, hypothesis, _ in places],
        None if references is None else references.select(number for _, _, number in places),
        runtime,
    )
    arrays = computed.arrays.values() if isinstance(computed, Statistics) else [computed]
    if not all(isinstance(array, np.ndarray) and len(array) == len(places) for array in arrays):
        raise PluginError(
            f"{metric.label}: compute did not return Statistics of NumPy arrays with one row for each of "
            f"{len(places)} sentences."
        )
    return {system: computed.take(rows) for system, rows in places_of.items()}
