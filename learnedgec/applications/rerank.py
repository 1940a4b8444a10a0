"""Choose among several corrections of each source: the best by a metric, or by minimum Bayes risk.

A *selector* gives every candidate a score. Best-of-n takes a metric's sentence scores. Minimum Bayes
risk (MBR) takes the expected utility of a candidate with the other candidates as references, so that any
metric that needs references becomes one that needs none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from learnedgec.applications.candidates import Candidates, check_candidates
from learnedgec.data.references import Reference, References
from learnedgec.edits.max_match import reference_edits
from learnedgec.errors import ConfigError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Indices

__all__ = [
    "Guards",
    "MinimumBayesRisk",
    "Reranking",
    "candidate_scores",
    "load_selector",
    "rerank",
]

_MBR = re.compile(r"\s*mbr\s*\((.+)\)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MinimumBayesRisk:
    """Expected utility of a candidate where each candidate may be the right one.

    With candidates c of weight w and the utility u, a metric's sentence score with one reference,

        score(h) = Σ_c w_c · u(h, c) / Σ_c w_c

    A candidate is a reference for itself too; a text that several systems agree on has the sum of their
    weights.

    Source: Kumar and Byrne, "Minimum Bayes-Risk Decoding for Statistical Machine Translation" (NAACL
    2004); for GEC, Raina and Gales, "Minimum Bayes' Risk Decoding for System Combination of
    Grammatical Error Correction Systems" (2023).

    Attributes:
        utility: a metric that needs references.

    Raises:
        ConfigError: the metric needs no references.
    """

    utility: Metric

    def __post_init__(self) -> None:
        if not self.utility.needs_references:
            raise ConfigError(
                f"mbr({self.utility.label}): the metric needs no references, so there is nothing to "
                f"expect; choose by {self.utility.name} itself, or mbr(gleu)."
            )

    def __str__(self) -> str:
        return f"mbr({self.utility.label})"


Selector: TypeAlias = Metric | MinimumBayesRisk


@dataclass(frozen=True, slots=True)
class Guards:
    """Safeguards that keep a chosen candidate from being worse than the fallback.

    Candidates are tried from the best score down; one that a guard rejects gives way to the next.

    Attributes:
        fallback: what is chosen if no candidate passes: the `source`, or the `first` candidate. `none`
            switches the minimum gain off, and chooses the best candidate if none passes.
        minimum_gain: the best candidate must score at least this much above the fallback. With the source
            as the fallback and a gain of 0, a candidate that scores below its source is never chosen.
        longest_edit: the most tokens that one edit of a candidate may delete or insert.
        gate: a metric by which a candidate must score at least `gate_minimum`, such as `some`'s meaning.
        gate_minimum: the minimum sentence score by the gate.
    """

    fallback: Literal["none", "source", "first"] = "none"
    minimum_gain: float = 0.0
    longest_edit: int | None = None
    gate: Metric | None = None
    gate_minimum: float = 0.0

    def __post_init__(self) -> None:
        if self.fallback == "none" and self.minimum_gain:
            raise ConfigError(
                f"minimum_gain is {self.minimum_gain:g} and there is no fallback to gain on; choose "
                "fallback 'source' or 'first'."
            )
        if not math.isfinite(self.minimum_gain) or self.minimum_gain < 0:
            raise ConfigError(f"minimum_gain is {self.minimum_gain}; give 0 or a positive number.")
        if self.longest_edit is not None and self.longest_edit < 1:
            raise ConfigError(f"longest_edit is {self.longest_edit}; give 1 token or more.")
        if self.gate is not None and self.gate.needs_references:
            raise ConfigError(
                f"the gate {self.gate.label} needs references; use a metric without them."
            )


@dataclass(frozen=True, slots=True)
class Reranking:
    """What was chosen for each of N sources.

    Attributes:
        texts: the chosen corrections.
        chosen: the index of the chosen candidate, int (N,); -1 where the source was kept.
        scores: each candidate's score, one float64 array per source.
        margins: by how much the chosen text scores above the best other text, float64 (N,); below 0 where a
            guard rejected a better one, NaN where there is no other text.
    """

    texts: tuple[str, ...]
    chosen: Indices
    scores: tuple[Floats, ...]
    margins: Floats


def load_selector(name: str) -> Selector:
    """Return the metric, or the minimum Bayes risk by a metric, that a name denotes.

    Raises:
        UnknownNameError, ParameterError, BadNameError: no metric has this name.
        ConfigError: `mbr(…)` names a metric that needs no references.

    Example:
        >>> str(load_selector("mbr(gleu)"))
        'mbr(gleu)'
    """
    utility = _MBR.fullmatch(name)
    return MinimumBayesRisk(load_metric(utility[1])) if utility else load_metric(name)


def candidate_scores(
    sources: Sequence[str],
    candidates: Candidates,
    by: Selector,
    *,
    references: References | None = None,
    weights: Sequence[Sequence[float]] | None = None,
    runtime: Runtime = Runtime(),
) -> tuple[Floats, ...]:
    """Return the score of every candidate, one float64 array per source.

    All candidates are scored in one call, each distinct (source, candidate) once.

    Args:
        sources: N sources.
        candidates: one or more for each source.
        by: a metric, or minimum Bayes risk.
        references: gold references for a metric that needs them: the choice is then an oracle.
        weights: of the candidates in a minimum Bayes risk, such as a decoder's probabilities; by default, 1
            each.
        runtime: how to run.

    Raises:
        InputError: a source has no candidate, the metric's score of a sentence depends on others,
            or weights that are negative, infinite or all 0.
        LengthError: sources, candidates, references or weights differ in number.
    """
    check_candidates(sources, candidates, weights)
    (by.utility if isinstance(by, MinimumBayesRisk) else by).check_alone()
    distinct = [list(dict.fromkeys(row)) for row in candidates]
    if isinstance(by, MinimumBayesRisk):
        scores = _expected_utilities(sources, candidates, distinct, by.utility, weights, runtime)
    else:
        flat = [(number, text) for number, row in enumerate(distinct) for text in row]
        statistics = by.statistics(
            [sources[number] for number, _ in flat],
            [text for _, text in flat],
            None if references is None else references.select(number for number, _ in flat),
            runtime=runtime,
        )
        cuts = np.cumsum([len(row) for row in distinct])[:-1]
        scores = np.split(np.asarray(by.sentence_scores(statistics), dtype=np.float64), cuts)
    return tuple(
        values[[texts.index(text) for text in row]]
        for values, texts, row in zip(scores, distinct, candidates, strict=True)
    )


def rerank(
    sources: Sequence[str],
    candidates: Candidates,
    by: Selector | str,
    *,
    guards: Guards = Guards(),
    references: References | None = None,
    weights: Sequence[Sequence[float]] | None = None,
    runtime: Runtime = Runtime(),
) -> Reranking:
    """Choose the best candidate of each source.

    Args:
        sources: N sources.
        candidates: one or more for each source; the first of equally good ones is chosen.
        by: a metric or its name, `mbr(METRIC)`, or a `MinimumBayesRisk`.
        guards: what a chosen candidate must pass.
        references: gold references for a metric that needs them: the choice is then an oracle.
        weights: of the candidates in a minimum Bayes risk.
        runtime: how to run.

    Raises:
        InputError, LengthError: see `candidate_scores`.

    Example:
        >>> best = rerank(["He go home"], [["He go home", "He goes home", "He goes home"]], "mbr(gleu)")
        >>> best.texts, best.chosen.tolist()
        (('He goes home',), [1])
    """
    selector = load_selector(by) if isinstance(by, str) else by
    scores = candidate_scores(
        sources, candidates, selector, references=references, weights=weights, runtime=runtime
    )
    floors = _floors(sources, candidates, scores, selector, guards, references, weights, runtime)
    passed = _passed(sources, candidates, guards, runtime)
    texts, chosen = [], []
    margins = np.full(len(sources), np.nan)
    for number, (row, values) in enumerate(zip(candidates, scores, strict=True)):
        order = np.argsort(-values, kind="stable")
        allowed = [int(place) for place in order if passed[number][place]]
        place = allowed[0] if allowed else None
        if place is not None and values[place] - floors[number] < guards.minimum_gain:
            place = None
        if place is None:
            place = {"none": int(order[0]), "source": -1, "first": 0}[guards.fallback]
        text = sources[number] if place < 0 else row[place]
        score = floors[number] if place < 0 else values[place]
        others = [value for other, value in zip(row, values, strict=True) if other != text]
        if others:
            margins[number] = score - max(others)
        texts.append(text)
        chosen.append(place)
    return Reranking(tuple(texts), np.array(chosen, dtype=np.intp), scores, margins)


def _expected_utilities(
    sources: Sequence[str],
    candidates: Candidates,
    distinct: Sequence[Sequence[str]],
    utility: Metric,
    weights: Sequence[Sequence[float]] | None,
    runtime: Runtime,
) -> list[Floats]:
    """Return the expected utility of each distinct candidate, from one call over all pairs."""
    pairs = [
        (number, hypothesis, reference)
        for number, row in enumerate(distinct)
        for hypothesis in row
        for reference in row
    ]
    statistics = utility.statistics(
        [sources[number] for number, _, _ in pairs],
        [hypothesis for _, hypothesis, _ in pairs],
        References(tuple((Reference(reference),) for _, _, reference in pairs)),
        runtime=runtime,
    )
    utilities = np.asarray(utility.sentence_scores(statistics), dtype=np.float64)
    expected, start = [], 0
    for number, row in enumerate(distinct):
        size = len(row)
        table = utilities[start : start + size * size].reshape(size, size)
        given = weights[number] if weights is not None else [1.0] * len(candidates[number])
        shares = np.zeros(size)
        for text, weight in zip(candidates[number], given, strict=True):
            shares[row.index(text)] += weight
        expected.append(table @ (shares / shares.sum()))
        start += size * size
    return expected


def _floors(
    sources: Sequence[str],
    candidates: Candidates,
    scores: Sequence[Floats],
    selector: Selector,
    guards: Guards,
    references: References | None,
    weights: Sequence[Sequence[float]] | None,
    runtime: Runtime,
) -> Floats:
    """Return the score of the fallback if no candidate gains enough, float64 (N,)."""
    if guards.fallback == "none":
        return np.full(len(sources), -np.inf)
    if guards.fallback == "first":
        return np.array([values[0] for values in scores])
    # The source is scored like a candidate, but in a minimum Bayes risk it is not a reference.
    rows = [[*row, source] for row, source in zip(candidates, sources, strict=True)]
    if weights is None:
        weights = [[1.0] * len(row) for row in candidates]
    extended = candidate_scores(
        sources,
        rows,
        selector,
        references=references,
        weights=[[*row, 0.0] for row in weights],
        runtime=runtime,
    )
    return np.array([values[-1] for values in extended])


def _passed(
    sources: Sequence[str], candidates: Candidates, guards: Guards, runtime: Runtime
) -> list[list[bool]]:
    """Return which candidates pass the gate and the bound on edits."""
    passed = [[True] * len(row) for row in candidates]
    if guards.gate is not None:
        gates = candidate_scores(sources, candidates, guards.gate, runtime=runtime)
        passed = [(values >= guards.gate_minimum).tolist() for values in gates]
    if guards.longest_edit is not None:
        for row, source, texts in zip(passed, sources, candidates, strict=True):
            for place, text in enumerate(texts):
                row[place] = row[place] and _longest_edit(source, text) <= guards.longest_edit
    return passed


def _longest_edit(source: str, text: str) -> int:
    """Return how many tokens the longest edit from source to text deletes or inserts."""
    return max(
        (
            max(edit.end - edit.start, len(edit.correction.split()))
            for edit in reference_edits(source, text)
        ),
        default=0,
    )
