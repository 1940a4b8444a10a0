"""From texts to the statistics of one metric, in one pass.

The inputs are normalised, systems with stored statistics are read, each distinct row of the others is
computed once, and the rows are scattered to the systems. `Metric` aggregates and signs them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from learnedgec.data.references import Reference, ReferenceRows, References, as_references
from learnedgec.data.sentences import Sentences, as_sentences
from learnedgec.data.text import check_lengths
from learnedgec.edits.tokenisation import tokenise, tokenise_references
from learnedgec.errors import InputError, PluginError
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.digests import key_of
from learnedgec.runtime.notices import InputWarning, collected, warn_of_inputs
from learnedgec.runtime.profile import PROFILE
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.store import Store

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


def as_inputs(
    metrics: Sequence[Metric],
    sources: Sentences,
    systems: dict[str, list[str]],
    references: ReferenceRows | None,
    runtime: Runtime,
) -> Inputs:
    """Return the inputs of metrics as lists of `str`, or raise; no other place checks what a caller passes.

    With `runtime.tokenise`, they are tokenised.

    Args:
        metrics: one or more.
        sources: N texts.
        systems: from `as_systems`.
        references: `References`, or each sentence's texts.
        runtime: how to run.

    Raises:
        InputError: see `Metric.statistics_of_systems`.
    """
    sources = as_sentences(sources, "sources")
    references = as_references(references, len(sources))
    if not sources:
        raise InputError("there is no sentence to score; give at least one source.")
    for system, hypotheses in systems.items():
        check_lengths(("sources", sources), (system, hypotheses))
    needing = next((metric.name for metric in metrics if metric.needs_references), None)
    if references is not None and (needing or runtime.tokenise == "spacy"):
        check_lengths(("sources", sources), ("references", references))
    if needing and references is None:
        raise InputError(
            f"{needing} needs references, and there are none; give references=, each sentence's texts or "
            "References."
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
        systems = {name: tokenise(texts) for name, texts in systems.items()}
    return Inputs(sources, systems, references)


def stored_statistics(
    metric: Metric,
    sources: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    references: References | None,
    runtime: Runtime,
) -> dict[str, Statistics]:
    """Return the statistics of several systems, read from the store where it has them.

    Args:
        metric: the metric.
        sources: N sentences.
        systems: system -> N hypotheses.
        references: references of the sentences, if there are any.
        runtime: how to run.
    """
    used = references if metric.needs_references else None
    for caveat in metric.caveats(used) if used is not None else ():
        warnings.warn(caveat, stacklevel=4)
    if runtime.cache_dir is None:
        return distinct_statistics(metric, sources, systems, used, runtime)
    store = Store(runtime.cache_dir)
    signature = metric.for_statistics.signature(references, runtime=runtime)
    shared = ["with notices", signature, repr(used and used.rows)]
    keys = {name: key_of(*shared, sources, texts) for name, texts in systems.items()}
    entries = {name: store.load(key) for name, key in keys.items()}
    missing = {name: systems[name] for name, entry in entries.items() if entry is None}
    computed: dict[str, Statistics] = {}
    with collected() as notices:
        if missing:
            computed = distinct_statistics(metric, sources, missing, used, runtime)
    if missing and metric.for_statistics.signature(references, runtime=runtime) != signature:
        # It is unknown which model computed these statistics; one pass over all systems uses one model.
        return distinct_statistics(metric, sources, systems, used, runtime)
    # A warning may concern any of the systems that were computed together, so each stores all warnings.
    new_notices = list(dict.fromkeys(map(str, notices)))
    for name, statistics in computed.items():
        store.save(keys[name], statistics.arrays, [new_notices, *statistics.records])
    stored_notices: dict[str, None] = {}
    for name, entry in entries.items():
        if entry is not None:
            arrays, (texts, *records) = entry
            computed[name] = Statistics(arrays, tuple(records))
            stored_notices |= dict.fromkeys(texts)
    for notice in notices:
        warn_of_inputs(notice)
    for text in stored_notices:
        if text not in new_notices:
            warn_of_inputs(InputWarning(f"when cached statistics were computed, {text}"))
    return {name: computed[name] for name in systems}


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
    _check_computed(metric, computed, len(places))
    return {system: computed.take(rows) for system, rows in places_of.items()}


def _check_computed(metric: Metric, computed: object, size: int) -> None:
    """Raise `PluginError` unless `compute` returned one row of an array for each sentence."""
    arrays = computed.arrays.values() if isinstance(computed, Statistics) else [computed]
    if not all(isinstance(array, np.ndarray) and len(array) == size for array in arrays):
        raise PluginError(
            f"{metric.label}: compute did not return Statistics of NumPy arrays with one row for each of "
            f"{size} sentences."
        )
