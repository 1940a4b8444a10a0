"""From texts to signed scores of one metric, in one pass.

The inputs are normalised, systems with stored statistics are read, each distinct row of the others is
computed once, and the rows are scattered to the systems. What they aggregate to is signed. `Metric` has
these steps as methods.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from learnedgec._version import __version__
from learnedgec.data.references import ReferenceRows, References, as_references
from learnedgec.data.sentences import Sentences, as_sentences
from learnedgec.data.text import check_lengths
from learnedgec.edits.tokenisation import describe_tokens, tokenise, tokenise_references
from learnedgec.errors import InputError, PluginError
from learnedgec.metrics.scores import Score, Scores
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.digests import key_of
from learnedgec.runtime.notices import InputWarning, collected, warn_of_inputs
from learnedgec.runtime.plugins import origin
from learnedgec.runtime.profile import PROFILE
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.store import Store

if TYPE_CHECKING:
    from learnedgec.metrics.base import Metric

__all__ = [
    "Inputs",
    "as_inputs",
    "dependencies",
    "distinct_statistics",
    "score_of",
    "scores_of",
    "signature",
    "stored_statistics",
]


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
    if runtime.tokenise == "spacy":
        if references is not None:
            references = tokenise_references(references, sources)
        sources = tokenise(sources)
        systems = {name: tokenise(texts) for name, texts in systems.items()}
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
    return Inputs(sources, systems, references)


def stored_statistics(
    metric: Metric,
    sources: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    references: References | None,
    runtime: Runtime,
) -> dict[str, Statistics]:
    """Return the statistics of several systems; see `Metric.compute_systems`.

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
    signed = signature(metric.for_statistics, references, runtime)
    about = ["with notices", signed, repr(used and used.rows)]
    keys = {name: key_of(*about, sources, texts) for name, texts in systems.items()}
    entries = {name: store.load(key) for name, key in keys.items()}
    missing = {name: systems[name] for name, entry in entries.items() if entry is None}
    computed: dict[str, Statistics] = {}
    with collected() as notices:
        if missing:
            computed = distinct_statistics(metric, sources, missing, used, runtime)
    if missing and signature(metric.for_statistics, references, runtime) != signed:
        # It is unknown which model computed these statistics; one pass over all systems uses one model.
        return distinct_statistics(metric, sources, systems, used, runtime)
    # What is warned of may be in any of the systems that were computed together.
    new = list(dict.fromkeys(map(str, notices)))
    for name, statistics in computed.items():
        store.save(keys[name], statistics.arrays, [new, *statistics.records])
    former: dict[str, None] = {}
    for name, entry in entries.items():
        if entry is not None:
            arrays, (texts, *records) = entry
            computed[name] = Statistics(arrays, tuple(records))
            former |= dict.fromkeys(texts)
    for notice in notices:
        warn_of_inputs(notice)
    for text in former:
        if text not in new:
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
    """
    rows: dict[tuple[Any, ...], int] = {}
    first: list[tuple[int, str]] = []
    rows_of: dict[str, list[int]] = {}
    for system, hypotheses in systems.items():
        rows_of[system] = indices = []
        for number, (source, hypothesis) in enumerate(zip(sources, hypotheses, strict=True)):
            key = (source, hypothesis, references[number] if references is not None else None)
            row = rows.setdefault(key, len(rows))
            if row == len(first):
                first.append((number, hypothesis))
            indices.append(row)
    PROFILE.rows += sum(map(len, rows_of.values()))
    PROFILE.distinct += len(first)
    computed = metric.compute(
        [sources[number] for number, _ in first],
        [hypothesis for _, hypothesis in first],
        None if references is None else references.select(number for number, _ in first),
        runtime,
    )
    _check_statistics(metric, computed, len(first))
    return {system: computed.take(indices) for system, indices in rows_of.items()}


def _check_statistics(metric: Metric, computed: object, size: int) -> None:
    """Raise `PluginError` unless `compute` has returned one row of an array per sentence."""
    if not isinstance(computed, Statistics):
        problem = f"a {type(computed).__name__}; Statistics were expected"
    elif others := {
        name: type(array).__name__
        for name, array in computed.arrays.items()
        if not isinstance(array, np.ndarray)
    }:
        name, kind = next(iter(others.items()))
        problem = f"{name!r} as a {kind}; a NumPy array was expected"
    elif len(computed) != size:
        problem = f"{len(computed)} rows for {size} sentences; one row for each was expected"
    else:
        return
    raise PluginError(f"{metric.label}: compute returned {problem}.")


def scores_of(
    metric: Metric,
    statistics: Mapping[str, Statistics],
    references: References | None,
    runtime: Runtime,
) -> Scores[Score]:
    """Return the scores, with signatures, of systems whose statistics are known.

    Args:
        metric: the metric.
        statistics: system -> its statistics.
        references: references of the sentences, if there are any, for the signature.
        runtime: how the statistics were computed, for the signature.
    """
    signed = metric.signature(references, runtime=runtime)
    return Scores({name: score_of(metric, rows, signed) for name, rows in statistics.items()})


def score_of(metric: Metric, statistics: Statistics, signature: str = "") -> Score:
    """Return the score aggregated from statistics; warn if every sentence's is NaN.

    Args:
        metric: the metric.
        statistics: its statistics of N sentences.
        signature: signature of the score.

    Raises:
        PluginError: the sentence scores are not one number per sentence.
    """
    size = len(statistics)
    try:
        sentences = np.asarray(metric.sentence_scores(statistics), dtype=np.float64)
    except (TypeError, ValueError):
        raise PluginError(
            f"{metric.label}: sentence_scores did not return an array of numbers."
        ) from None
    if sentences.shape != (size,):
        raise PluginError(
            f"{metric.label}: sentence_scores returned an array of the shape {sentences.shape} for {size} "
            "sentences; one score for each was expected."
        )
    if np.isnan(sentences).all():
        warnings.warn(f"{metric.label}: no sentence has a score, all are NaN.", stacklevel=3)
    return Score(
        metric=str(metric),
        value=metric.aggregate(statistics),
        sentences=sentences,
        details=metric.details(statistics),
        sentence_details=metric.sentence_details(statistics),
        signature=signature,
        statistics=statistics,
    )


def dependencies(metric: Metric, runtime: Runtime) -> dict[str, str | int | float]:
    """Return what `describe` does, and what identifies the code of a class from outside learnedgec."""
    return {**metric.describe(runtime), **origin(type(metric))}


def signature(metric: Metric, references: References | None, runtime: Runtime) -> str:
    """Return one line that names everything the score depends on besides the sentences.

    Args:
        metric: the metric.
        references: references of the sentences, if there are any.
        runtime: how to run.
    """
    parts = dependencies(metric, runtime)
    if metric.needs_references and references is not None:
        counts = {len(row) for row in references}
        low, high = min(counts, default=0), max(counts, default=0)
        parts["references"] = low if low == high else f"{low}-{high}"
    if runtime.tokenise == "spacy":
        parts["tokens"] = describe_tokens()
    parts["learnedgec"] = __version__
    if references is not None:
        parts |= metric.describe_references(references)
    return "|".join([str(metric), *(f"{key}:{value}" for key, value in parts.items())])
