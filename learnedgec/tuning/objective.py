"""The goal of tuning: the agreement of a metric with human judgements, on a benchmark or parts of it."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np

from learnedgec.analysis.aggregation import Aggregation, sentence_scores, system_scores_of_resamples
from learnedgec.analysis.meta.agreement import (
    Grouping,
    SegmentCorrelation,
    agreement,
    default_human,
    human_scores,
    judged,
    segment_correlations_of_resamples,
    select,
    without_ties,
)
from learnedgec.data.benchmarks.base import Benchmark, Comparisons
from learnedgec.data.catalog.leakage import check_reserved, overlapping
from learnedgec.errors import InputError, LeakageError
from learnedgec.metrics.contract import Metric, Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.stats.correlation import Correlation, correlate
from learnedgec.stats.resampling import multiplicities
from learnedgec.types import Floats, Indices

Objective = Literal[
    "pearson",
    "spearman",
    "kendall",
    "pairwise-accuracy",
    "sentence-accuracy",
    "sentence-kendall",
    "segment-pearson",
    "segment-spearman",
    "segment-kendall",
    "grouped-pearson",
    "grouped-spearman",
    "grouped-kendall",
]
OBJECTIVES: tuple[str, ...] = get_args(Objective)


@dataclass(frozen=True, slots=True)
class Goal:
    """The agreement to maximise.

    Attributes:
        objective: between systems' scores, `pearson`, `spearman`, `kendall` or `pairwise-accuracy`; on human
            comparisons of two outputs of a sentence, `sentence-accuracy` or `sentence-kendall`; with ratings
            of outputs, `segment-…` over all of them or `grouped-…` within each source.
            `learnedgec.analysis.meta` defines them.
        aggregation: the aggregation of a metric's sentences to a system's score.
        human: the human score: `EW`, `TS`, a rated dimension or a published score; by default, `EW` if
            outputs were ranked, else the benchmark's default. Sentence objectives do not use it.

    Raises:
        InputError: there is no such objective.

    Example:
        >>> Goal("segment-kendall", human="fluency").benchmarks
        ('gmeg:dev', 'tmu-gfm')
    """

    objective: Objective = "kendall"
    aggregation: Aggregation = "mean"
    human: str | None = None

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise InputError(
                f"no objective {self.objective!r}; choose one of {', '.join(OBJECTIVES)}."
            )

    @property
    def of_sentences(self) -> bool:
        """Whether the objective uses human comparisons within a sentence."""
        return self.objective.startswith("sentence-")

    @property
    def of_segments(self) -> bool:
        """Whether the objective uses ratings of single outputs."""
        return self.objective.startswith(("segment-", "grouped-"))

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """The names of public benchmarks to tune on, with the judgements that the objective needs."""
        rated, ranked = ("gmeg:dev", "tmu-gfm"), ("seeda-s:dev", "seeda-e:dev", "jfleg:FOLDER")
        if self.of_sentences:
            return (*ranked, "gjg15:dev10")
        return rated if self.of_segments else (*rated, *ranked)

    def human_on(self, benchmark: Benchmark) -> str:
        """Return the name of the human score on a benchmark."""
        if benchmark.rankings and (self.of_sentences or not self.human):
            return "EW"
        return self.human or default_human(benchmark)[0]

    def on(self, benchmark: Benchmark) -> Goal:
        """Return the goal, with `sentence-accuracy` in place of ratings if a benchmark has only rankings."""
        if self.of_segments and benchmark.rankings and not benchmark.ratings:
            return dataclasses.replace(self, objective="sentence-accuracy", human=None)
        return self

    def judged(self, benchmark: Benchmark) -> Benchmark:
        """Return the benchmark with only the systems that were judged, and a notice about the others."""
        return judged(benchmark, self.human_on(benchmark))


class Target:
    """A goal on one benchmark, on all its sentences or samples of them, and on all or some of its systems.

    Human system scores are the published ones for all sentences; for a sample, they are computed from its own
    judgements.
    """

    def __init__(
        self,
        goal: Goal,
        benchmark: Benchmark,
        samples: Indices | None = None,
        *,
        seed: int = 0,
        cache_dir: str | None = None,
    ) -> None:
        """Collect the human judgements.

        Args:
            goal: the goal to maximise.
            benchmark: a benchmark with N sentences and S systems, all of them judged (`Goal.judged`).
            samples: int (B, M), the sentence numbers of each sample, repeats allowed; by default, all
                sentences once.
            seed: the seed of TrueSkill's runs.
            cache_dir: folder in which TrueSkill's runs of human judgements are cached.

        Raises:
            InputError: the benchmark has no judgements of the kind that the goal needs.
        """
        self.goal = goal
        self.systems = list(benchmark.systems)
        size = len(benchmark.sources)
        self.samples = np.arange(size)[None] if samples is None else samples
        self.draws = multiplicities(self.samples, size)
        if goal.of_sentences:
            self.comparisons = self._comparisons(benchmark)
            return
        name = goal.human_on(benchmark)
        runs = 1000 if samples is None else 0
        runtime = Runtime(cache_dir=cache_dir)
        human = human_scores(benchmark, name, self.draws, runs=runs, seed=seed, runtime=runtime)
        self.people = human.scores[None] if samples is None else human.resampled
        if goal.of_segments:
            self.ratings = self._ratings(benchmark, human.ratings)
        elif len(benchmark.systems) < 3:
            fitting = "sentence-accuracy" if benchmark.rankings else "segment-kendall"
            raise InputError(
                f"{benchmark.name} has {len(benchmark.systems)} systems; {goal.objective} between "
                "systems needs three or more. Choose ",
                hint=f"objective={fitting!r}.",
                flag=f"--objective {fitting}.",
            )

    def _comparisons(self, benchmark: Benchmark) -> Comparisons:
        """Return the human comparisons, or raise `InputError`."""
        if not benchmark.rankings:
            raise InputError(
                f"{benchmark.name} has no comparisons of outputs, which {self.goal.objective} needs; "
                "choose an objective on ratings such as grouped-kendall, one between systems such as "
                f"kendall, or a benchmark with rankings such as {self.goal.benchmarks[0]}."
            )
        return benchmark.comparisons()

    def _ratings(self, benchmark: Benchmark, ratings: Floats | None) -> Floats:
        """Return the human ratings, or raise `InputError`."""
        if ratings is None:
            raise InputError(
                f"{benchmark.name} has no ratings of outputs, which {self.goal.objective} needs; choose "
                "sentence-accuracy, an objective between systems such as kendall, or a benchmark with "
                f"ratings such as {self.goal.benchmarks[0]}."
            )
        return ratings

    def without(self, system: str) -> Target:
        """Return the target without the judgements of a system."""
        return self._restricted(system, kept=False)

    def only(self, system: str) -> Target:
        """Return the target with the judgements of a system alone, also those beside another system."""
        return self._restricted(system, kept=True)

    def _restricted(self, system: str, *, kept: bool) -> Target:
        other, number = copy.copy(self), self.systems.index(system)
        if self.goal.of_sentences:
            pair = np.array([self.comparisons.first, self.comparisons.second])
            involved = (pair == number).any(axis=0)
            other.comparisons = select(self.comparisons, involved == kept)
        else:
            used = (np.arange(len(self.systems)) == number) == kept
            other.ratings = np.where(used[:, None], self.ratings, np.nan)
        return other

    @property
    def counted(self) -> Indices:
        """The numbers of the sentences whose judgements count.

        For comparisons, they have one that is no tie, and for `grouped-…` two outputs that are rated
        differently.
        """
        if self.goal.of_sentences:
            return np.unique(without_ties(self.comparisons).sentence)
        if not self.goal.of_segments:
            return np.arange(self.draws.shape[1])
        rated = ~np.isnan(self.ratings)
        if self.goal.objective.startswith("segment-"):
            return np.flatnonzero(rated.any(axis=0))
        highest = np.where(rated, self.ratings, -np.inf).max(axis=0)
        return np.flatnonzero(highest > np.where(rated, self.ratings, np.inf).min(axis=0))

    @property
    def judgements(self) -> str:
        """How many judgements count, such as `56 comparisons in 40 sentences`; ties do not."""
        sentences = f"{len(self.counted):,} sentences"
        if not self.goal.of_sentences:
            return sentences
        return f"{len(without_ties(self.comparisons)):,} comparisons in {sentences}"

    def values(self, metric: Metric, statistics: Sequence[Statistics]) -> Floats:
        """Return the objective on each sample, float64 (B,).

        It is NaN if the metric scores all compared outputs equally, or if there are no judgements. A constant
        metric has no sentence accuracy either, because it prefers nothing.

        Args:
            metric: the metric that computed the statistics.
            statistics: the statistics of all N sentences, for each system.
        """
        goal = self.goal
        if goal.of_sentences or goal.of_segments:
            scores = sentence_scores(metric, statistics)
            if _constant(scores):
                return np.full(len(self.samples), np.nan)
            if goal.objective == "sentence-accuracy":
                return agreement(scores, self.comparisons).accuracies(self.draws)
            if goal.objective == "sentence-kendall":
                return agreement(scores, self.comparisons).kendalls(self.draws)
            prefix, _, kind = goal.objective.partition("-")
            grouping: Grouping = "grouped" if prefix == "grouped" else "pooled"
            return segment_correlations_of_resamples(
                cast(SegmentCorrelation, kind), scores, self.ratings, self.samples, grouping
            )
        systems = system_scores_of_resamples(metric, statistics, self.samples, goal.aggregation)
        constant = np.array([_constant(row) for row in systems])
        correlations = correlate(cast(Correlation, goal.objective), self.people, systems)
        return np.where(constant, np.nan, correlations)


def check_tuning_data(benchmark: Benchmark, goal: Goal) -> str:
    """Return a caveat about the data, if there is one; raise unless a metric may be tuned on them.

    Metrics are tested on CoNLL-2014, the text of SEEDA and GJG15. Three parts of it are for tuning: the
    tenth of GJG15 that Yoshimura et al. (2020) set aside for sentence-level weights, `gjg15:dev10`, and the
    halves `seeda-s:dev` and `seeda-e:dev`.

    Raises:
        LeakageError: the benchmark is for reports only, or has CoNLL-2014 text and is none of those parts; or
            the objective for `gjg15:dev10` is not one of sentences.
    """
    check_reserved([benchmark.name])
    overlap = overlapping(benchmark.sources)
    if not overlap:
        return ""
    head, *words = benchmark.name.split(":")
    if head in ("seeda-s", "seeda-e") and "dev" in words:
        return (
            f"held-out folds and {head}:test are sound evidence for a metric that is tuned here; its results "
            "on these sentences (in SEEDA, GJG15 and CoNLL-2014) are not, and tables mark them."
        )
    if head == "gjg15" and "dev10" in words and goal.of_sentences:
        return ""
    *others, last = goal.benchmarks
    raise LeakageError(
        f"{benchmark.name} has {len(overlap)} sentences of CoNLL-2014, on which metrics are tested; tune "
        f"{goal.objective} on {', '.join(others)} or {last}, or mark the result as tuned on test data (",
        hint="trials=SearchPlan(tuned_on_test=True)).",
        flag="--tuned-on-test).",
    )


def _constant(values: Floats) -> bool:
    """Return whether numbers are equal up to rounding."""
    return bool(np.ptp(values) <= 1e-12 * max(1.0, float(np.abs(values).max())))
