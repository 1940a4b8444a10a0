"""The choice among several corrections of each source, by a metric, by minimum Bayes risk or by vote.

A *selector* gives every candidate a score. Best-of-n takes a metric's sentence scores. Minimum Bayes risk
(MBR) takes the expected utility of a candidate with the other candidates as references, so that any metric
that needs references becomes one that needs none. `vote` combines the edits of the candidates instead of
choosing one of them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from learnedgec.data.corpus import Corpus
from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.data.references import Reference, ReferenceRows, References, as_references
from learnedgec.data.sentences import (
    Sentences,
    Systems,
    are_systems,
    as_items,
    as_sentences,
    as_systems,
)
from learnedgec.data.text import check_lengths
from learnedgec.edits.annotator import extract_edits
from learnedgec.edits.max_match import reference_edits
from learnedgec.errors import ConfigError, InputError, check_choice
from learnedgec.metrics.bound import NamedMetric
from learnedgec.metrics.contract import Metric, check_corpus
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import AnyMetric, as_named, bind_one
from learnedgec.table import Column, Row, Table, columns_of
from learnedgec.types import Floats, Indices, Texts

if TYPE_CHECKING:
    import pandas

Candidates: TypeAlias = Sequence[Sequence[str]]
"""For each of N sources, one or more corrections; their number may vary."""

_MBR = re.compile(r"\s*mbr\s*\((.+)\)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MinimumBayesRisk:
    """The expected utility of a candidate if each candidate may be the right one.

    With n candidates c and the utility u, which is a metric's sentence score with one reference,

        score(h) = Σ_c u(h, c) / n

    A candidate is a reference for itself too. A text counts once for each system that proposes it.

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
                f"mbr({self.utility.label}): minimum Bayes risk needs a metric with references; choose by "
                f"{self.utility.name} itself, or mbr(gleu)."
            )

    def __str__(self) -> str:
        return f"mbr({self.utility.label})"


Selector: TypeAlias = AnyMetric | MinimumBayesRisk


@dataclass(frozen=True, slots=True)
class Guards:
    """Safeguards that keep a chosen candidate from being worse than the fallback.

    Candidates are tried in order of their scores, and a rejected candidate gives way to the next.

    Attributes:
        fallback: the text to choose if no candidate passes, or none scores as high as it: the `source`, or
            the `first` candidate. With `none`, the best candidate is chosen if none passes.
        longest_edit: the largest number of tokens that one edit of a candidate may delete or insert.

    Example: `rerank`.
    """

    fallback: Literal["none", "source", "first"] = "none"
    longest_edit: int | None = None

    def __post_init__(self) -> None:
        check_choice("fallback", self.fallback, ("none", "source", "first"))


@dataclass(frozen=True, slots=True)
class Reranking:
    """The text that was chosen for each of N sources.

    Attributes:
        by: the metric or the minimum Bayes risk that chose.
        systems: names of the candidates, the same for each source; empty for lists of candidates.
        texts: the chosen corrections.
        chosen: the index of the chosen candidate, int (N,); -1 if the source was kept.
        scores: each candidate's score, one float64 array per source.
        margins: the chosen text's score minus the best other text's, float64 (N,). It is below 0
            if a guard rejected a better text, and NaN if there is no other text.

    Example: `rerank`.
    """

    by: str
    systems: tuple[str, ...]
    texts: tuple[str, ...]
    chosen: Indices
    scores: tuple[Floats, ...]
    margins: Floats

    def __repr__(self) -> str:
        counts = Counter(str(self._name(place)) for place in self.chosen.tolist())
        return f"Reranking(by={self.by!r}, chosen={dict(counts.most_common())})"

    def table(self) -> Table:
        """Return a row for each sentence: text, chosen system or candidate, margin, and candidates' scores.

        The chosen candidate is a system, the number of a candidate from 1, or `source`.
        """
        rows: list[Row] = [
            {
                "sentence": number,
                "text": text,
                "chosen": self._name(place),
                "margin": margin,
                **{
                    f"score_{self._name(each)}": score for each, score in enumerate(scores.tolist())
                },
            }
            for number, (text, place, margin, scores) in enumerate(
                zip(
                    self.texts,
                    self.chosen.tolist(),
                    self.margins.tolist(),
                    self.scores,
                    strict=True,
                ),
                1,
            )
        ]
        columns = [Column(key, key.replace("score_", "score ", 1)) for key in columns_of(rows)]
        return Table(columns, rows, note=self.by)

    def to_frame(self) -> pandas.DataFrame:
        """Return the rows of `table` as a data frame.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        return self.table().to_frame()

    def _name(self, place: int) -> str | int:
        if place < 0:
            return "source"
        return self.systems[place] if self.systems else place + 1

    def _repr_html_(self) -> str:
        return self.table().html()


def as_candidates(systems: Systems | Candidates, sources: Texts) -> list[list[str]]:
    """Return the candidates of each source, from systems' outputs by name or from lists of candidates.

    Raises:
        LengthError: the systems have outputs for different numbers of sources.
        InputError: a source has no list of one or more texts.

    Example:
        >>> as_candidates({"A": ["He go .", "Yes ."], "B": ["He goes .", "Yes ."]}, ["He go .", "Yes ."])
        [['He go .', 'He goes .'], ['Yes .', 'Yes .']]
    """
    if are_systems(systems):
        outputs = as_systems(systems)
        check_lengths(*outputs.items())
        systems = [list(row) for row in zip(*outputs.values(), strict=True)]
    rows = as_items(systems, "candidates", "a list of candidates for each source")
    if len(sources) != len(rows):
        raise InputError(
            f"{len(sources)} sources have {len(rows)} lists of candidates; give one list each."
        )
    candidates = [as_sentences(row, f"candidates[{number}]") for number, row in enumerate(rows)]
    if [] in candidates:
        raise InputError(
            f"candidates[{candidates.index([])}] is empty; give at least one correction of each source."
        )
    return candidates


def as_selector(metric: Selector) -> NamedMetric | MinimumBayesRisk:
    """Return a selector, or the metric or the minimum Bayes risk by a metric that a name denotes.

    Raises:
        UnknownNameError, ParameterError, BadNameError: no metric has this name.
        ConfigError: `mbr(…)` names a metric that needs no references.

    Example:
        >>> str(as_selector("mbr(gleu)"))
        'mbr(gleu)'
    """
    if isinstance(metric, MinimumBayesRisk):
        return metric
    utility = _MBR.fullmatch(metric) if isinstance(metric, str) else None
    return MinimumBayesRisk(load_metric(utility[1])) if utility else as_named(metric)


def _candidate_scores(
    by: Selector,
    sources: Texts,
    candidates: Candidates,
    references: References | None,
    runtime: Runtime,
    *,
    with_sources: bool,
) -> tuple[Floats, ...]:
    """Return the score of every candidate, one float64 array per source.

    All candidates are scored in one call. With `with_sources`, each source's own score follows its
    candidates' scores; in a minimum Bayes risk it is not a reference.
    """
    bound = bind_one(by.utility if isinstance(by, MinimumBayesRisk) else by, runtime)
    metric = bound.metric
    metric.check_alone()
    rows = [
        [*row, source] if with_sources else row
        for source, row in zip(sources, candidates, strict=True)
    ]
    scored = [(number, text) for number, row in enumerate(rows) for text in row]
    used = None if references is None else references.select(number for number, _ in scored)
    counts = np.array([len(candidates[number]) for number, _ in scored])
    if isinstance(by, MinimumBayesRisk):
        # Each text is scored with each candidate of its source as the reference.
        others = [other for number, _ in scored for other in candidates[number]]
        used = References(tuple((Reference(other),) for other in others))
        scored = [(number, text) for number, text in scored for _ in candidates[number]]
    originals, texts = [sources[number] for number, _ in scored], [text for _, text in scored]
    statistics = bound.statistics(originals, {"": texts}, used)
    values = np.asarray(metric.sentence_scores(statistics[""]), dtype=np.float64)
    if isinstance(by, MinimumBayesRisk):
        values = np.add.reduceat(values, np.cumsum(counts) - counts) / counts
    return tuple(np.split(values, np.cumsum([len(row) for row in rows])[:-1]))


def rerank(
    metric: Selector,
    sources: Sentences,
    systems: Systems | Candidates,
    references: ReferenceRows | None = None,
    *,
    guards: Guards = Guards(),
    runtime: Runtime = Runtime(),
) -> Reranking:
    """Choose the best candidate of each source.

    Args:
        metric: a metric or its name, `mbr(METRIC)`, or a `MinimumBayesRisk`.
        sources: N sources.
        systems: each system's N texts, by the system's name, or for each source a list of one or more
            candidates; the first of equally good ones is chosen.
        references: gold references for a metric that needs them: the choice is then an oracle.
        guards: the conditions that a chosen candidate must meet.
        runtime: how to run.

    Raises:
        InputError: a source has no candidate, or the metric's score of a sentence depends on others.
        LengthError: sources, systems and references differ in number.

    Example:
        >>> systems = {"A": ["He go home"], "B": ["He goes home"], "C": ["He goes home"]}
        >>> best = rerank("mbr(gleu)", ["He go home"], systems)
        >>> best, best.texts
        (Reranking(by='mbr(gleu)', chosen={'B': 1}), ('He goes home',))
        >>> rerank("mbr(gleu)", ["He go home"], [["He go home", "He goes home", "He goes home"]])
        Reranking(by='mbr(gleu)', chosen={'2': 1})
    """
    selector = as_selector(metric)
    if are_systems(systems):
        corpus = Corpus.of(sources, systems, references)
        check_corpus((), corpus.tokenised(runtime.tokenise), runtime)
        sources, systems, known = corpus.texts
    else:
        sources = as_sentences(sources, "sources")
        known = as_references(references, sources)
    candidates = as_candidates(systems, sources)
    scores = _candidate_scores(
        selector,
        sources,
        candidates,
        known,
        runtime,
        with_sources=guards.fallback == "source",
    )
    texts, chosen, margins = [], [], []
    for source, row, values in zip(sources, candidates, scores, strict=True):
        place = _choose(source, row, values, guards)
        text = source if place < 0 else row[place]
        others = [value for other, value in zip(row, values, strict=False) if other != text]
        margins.append(values[place] - max(others) if others else math.nan)
        texts.append(text)
        chosen.append(place)
    scores = tuple(values[: len(row)] for values, row in zip(scores, candidates, strict=True))
    return Reranking(
        by=str(selector) if isinstance(selector, MinimumBayesRisk) else selector.label,
        systems=tuple(systems) if isinstance(systems, Mapping) else (),
        texts=tuple(texts),
        chosen=np.array(chosen, dtype=np.intp),
        scores=scores,
        margins=np.array(margins),
    )


def _choose(source: str, row: Sequence[str], values: Floats, guards: Guards) -> int:
    """Return the index of the best candidate that passes the guards, or of the fallback, −1 for the source.

    The last of `values` is the score of the source if that is the fallback.
    """
    order = np.argsort(-values[: len(row)], kind="stable").tolist()
    passed = (place for place in order if _passes(source, row[place], guards.longest_edit))
    place: int | None = next(passed, None)
    if guards.fallback == "none":
        return int(order[0]) if place is None else place
    fallback = -1 if guards.fallback == "source" else 0
    if place is None or values[place] < values[fallback]:
        return fallback
    return place


def _passes(source: str, text: str, longest: int | None) -> bool:
    """Return whether no edit from source to text deletes or inserts more than `longest` tokens."""
    if longest is None:
        return True
    edits = reference_edits(source, text)
    return all(max(e.end - e.start, len(e.correction.split())) <= longest for e in edits)


# -- votes on edits ---------------------------------------------------------------------------------


def vote(
    sources: Sentences,
    systems: Systems | Candidates,
    *,
    annotator: str,
    threshold: float = 0.5,
    runtime: Runtime = Runtime(),
) -> list[str]:
    """Return each source with those edits applied that more than a share of its candidates made.

    Source: Tarnavskyi, Chernodub and Omelianchuk, "Ensembling and Knowledge Distilling of Large Sequence
    Taggers for Grammatical Error Correction" (ACL 2022), who keep the edits that a minimum number of systems
    made.

    Args:
        sources: N sources.
        systems: each system's N texts, by name, or a list of one or more candidates for each source.
        annotator: the name of the spaCy pipeline that finds the edits.
        threshold: the share of votes that an edit must exceed, from 0 up to, but not including, 1.
        runtime: `jobs` and `progress`.

    Raises:
        InputError: a source has no candidate, or an item is not a text.
        ConfigError: the threshold is out of range.

    Example:
        >>> candidates = [["He goes home", "He goes home", "He went home"]]
        >>> vote(["He go home"], candidates, annotator="en-ewt-sm")
        ['He goes home']
    """
    if not 0 <= threshold < 1:
        raise ConfigError(f"threshold is {threshold:g}; give a share of votes from 0 to below 1.")
    sources = as_sentences(sources, "sources")
    candidates = as_candidates(systems, sources)
    pairs = [
        (source, text) for source, row in zip(sources, candidates, strict=True) for text in row
    ]
    extracted = iter(extract_edits(pairs, annotator, types=False, runtime=runtime))
    texts = []
    for source, row in zip(sources, candidates, strict=True):
        votes = Counter(edit for _ in row for edit in dict.fromkeys(next(extracted)))
        shares = {edit: count / len(row) for edit, count in votes.items()}
        texts.append(apply_edits(source, _compatible(shares, threshold)))
    return texts


def _compatible(shares: Mapping[Edit, float], threshold: float) -> list[Edit]:
    """Return the edits above a share of votes that can be applied together.

    Edits can overlap if the threshold is below one half. Then the edit with more votes stays, or else the one
    further left, or else the shorter one. Two insertions at one place overlap too.
    """
    voted = [edit for edit, share in shares.items() if share > threshold]
    voted.sort(key=lambda edit: (-shares[edit], edit.start, edit.end, edit.correction))
    chosen: list[Edit] = []
    for edit in voted:
        if not any(_overlap(edit, other) for other in chosen):
            chosen.append(edit)
    return chosen


def _overlap(first: Edit, second: Edit) -> bool:
    """Return whether two edits change the same tokens, or insert at the same place."""
    if (first.start, first.end) == (second.start, second.end):
        return True
    return first.start < second.end and second.start < first.end
