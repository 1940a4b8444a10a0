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
        weights: of the candidates in a minimum Bayes risk, such as a decoder's probabilities; 1 by default.
        runtime: how to run.

    Raises:
        InputError: a source has no candidate, the metric's score of a sentence depends on others,
            or weights that are negative, infinite or all 0.
        LengthError: sources, candidates, references or weights differ in number.
    """
    check_candidates(sources, candidates, weights)
    metric = by.utility if isinstance(by, MinimumBayesRisk) else by
    metric.check_alone()
    # Each distinct candidate is scored once; in a minimum Bayes risk, with each of them as its reference.
    distinct = [list(dict.fromkeys(row)) for row in candidates]
    flat = [(number, text) for number, row in enumerate(distinct) for text in row]
    used = None if references is None else references.select(number for number, _ in flat)
    if isinstance(by, MinimumBayesRisk):
        pairs = [(number, text, other) for number, text in flat for other in distinct[number]]
        flat = [(number, text) for number, text, _ in pairs]
        used = References(tuple((Reference(other),) for _, _, other in pairs))
    originals = [sources[number] for number, _ in flat]
    statistics = metric.statistics(originals, [text for _, text in flat], used, runtime=runtime)
    values = np.asarray(metric.sentence_scores(statistics), dtype=np.float64)
    sizes = np.bincount([number for number, _ in flat], minlength=len(sources))
    scores = []
    for number, scored in enumerate(np.split(values, np.cumsum(sizes)[:-1])):
        texts = distinct[number]
        places = [texts.index(text) for text in candidates[number]]
        if isinstance(by, MinimumBayesRisk):
            shares = np.zeros(len(texts))
            np.add.at(shares, places, 1.0 if weights is None else weights[number])
            scored = scored.reshape(len(texts), -1) @ (shares / shares.sum())
        scores.append(scored[places])
    return tuple(scores)


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
    check_candidates(sources, candidates, weights)
    selector = load_selector(by) if isinstance(by, str) else by
    rows = candidates
    if guards.fallback == "source":
        # The source is scored like a candidate, but in a minimum Bayes risk it is not a reference.
        row_weights = [[1.0] * len(row) for row in candidates] if weights is None else weights
        rows = [[*row, source] for row, source in zip(candidates, sources, strict=True)]
        weights = [[*row, 0.0] for row in row_weights]
    scores = candidate_scores(
        sources, rows, selector, references=references, weights=weights, runtime=runtime
    )
    texts, chosen, margins = [], [], []
    passed = _passed(sources, candidates, guards, runtime)
    for source, row, values, accepted in zip(sources, candidates, scores, passed, strict=True):
        place = _choose(values, accepted, guards)
        text = source if place < 0 else row[place]
        others = [value for other, value in zip(row, values, strict=False) if other != text]
        margins.append(values[place] - max(others) if others else math.nan)
        texts.append(text)
        chosen.append(place)
    scores = tuple(values[: len(row)] for values, row in zip(scores, candidates, strict=True))
    return Reranking(tuple(texts), np.array(chosen, dtype=np.intp), scores, np.array(margins))


def _choose(values: Floats, passed: Sequence[bool], guards: Guards) -> int:
    """Return the index of the best candidate that passes, or of the fallback, −1 for the source.

    Args:
        values: the candidates' scores, and that of the source if it is the fallback.
        passed: which candidates pass the guards.
        guards: the fallback, and the least gain on it.
    """
    order = np.argsort(-values[: len(passed)], kind="stable")
    place = next((int(place) for place in order if passed[place]), None)
    if guards.fallback == "none":
        return int(order[0]) if place is None else place
    fallback = -1 if guards.fallback == "source" else 0
    if place is None or values[place] - values[fallback] < guards.minimum_gain:
        return fallback
    return place


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
    edits = reference_edits(source, text)
    return max((max(e.end - e.start, len(e.correction.split())) for e in edits), default=0)
