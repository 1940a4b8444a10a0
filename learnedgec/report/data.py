"""The content of a report as one value for JSON.

Numbers are computed here; the page (`page`, `assets/`) draws, filters and sorts them. Systems, metrics and
sentences are identified by their index.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from learnedgec.analysis.conclusions import (
    about_people,
    conflicts,
    guidance,
    leaders,
    undecided_rankings,
    used_tests,
)
from learnedgec.analysis.meta.agreement import default_human, judged
from learnedgec.analysis.meta.evaluation import benchmark_statistics, evaluate
from learnedgec.analysis.meta.measures import Protocol
from learnedgec.analysis.meta.results import Evaluation
from learnedgec.analysis.ranking import ABOUT_CLUSTERS, rank_systems
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.corpus import Corpus
from learnedgec.data.references import ReferenceRows
from learnedgec.data.sentences import Sentences, Systems
from learnedgec.edits.annotator import available_annotator
from learnedgec.errors import UnknownNameError, collected
from learnedgec.metrics.bound import BoundMetric, short_labels
from learnedgec.metrics.cards import card_name, summary
from learnedgec.metrics.contract import Score, ShowsEdits, Statistics
from learnedgec.metrics.sentinels import is_sentinel
from learnedgec.report import overview, sentences
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import AnyMetric, bind, bind_one, corpus_for, shared_statistics
from learnedgec.stats.resampling import Resampling
from learnedgec.table import plain
from learnedgec.types import Floats

# The number of misjudged outputs that a report lists.
_MAX_MISJUDGED = 50


def describe_evaluation(evaluation: Evaluation) -> dict[str, Any]:
    """Return the fields of an evaluation, without sentence scores, for JSON."""
    described: dict[str, Any] = plain(asdict(evaluation))
    for entry in described["metrics"]:
        del entry["sentences"]
    return described | {"protocol": str(evaluation.protocol), "window": evaluation.protocol.window}


def describe_misjudged(scores: Floats, benchmark: Benchmark, human: str) -> dict[str, Any]:
    """Return the outputs on which a metric disagrees most with people's comparisons or ratings.

    Args:
        scores: float64 (S, N), in the order of the benchmark's systems.
        benchmark: the benchmark.
        human: name of the human score.
    """
    if human in benchmark.ratings:
        columns = benchmark.ratings[human]
        empty = np.full(len(benchmark.sources), np.nan)
        ratings = np.stack([columns.get(system, empty) for system in benchmark.systems])
        return {"kind": "ratings", "entries": misjudged_outputs(scores, ratings)}
    if benchmark.rankings:
        return {"kind": "comparisons", "entries": misjudged_pairs(scores, benchmark)}
    return {"kind": "none", "entries": []}


def misjudged_pairs(scores: Floats, benchmark: Benchmark) -> list[dict[str, Any]]:
    """Return pairs of outputs that a metric and people order differently, one per sentence, clearest first.

    How clear a pair is, is the product of the judges' majority (those who preferred one output less those who
    preferred the other) and the metric's difference, in percentiles of all its sentence scores.

    Args:
        scores: float64 (S, N), in the order of the benchmark's systems.
        benchmark: a benchmark with rankings.
    """
    comparisons = benchmark.comparisons()
    # (sentence, first system, second system) -> votes for the first, ties, votes for the second
    votes: dict[tuple[int, int, int], list[int]] = {}
    columns = (comparisons.sentence, comparisons.first, comparisons.second, comparisons.outcome)
    for sentence, first, second, outcome in np.stack(columns, axis=1).tolist():
        a, b, winner = (first, second, outcome) if first < second else (second, first, -outcome)
        count = votes.setdefault((sentence, a, b), [0, 0, 0])
        count[1 - winner] += 1
    rank = _percentiles(scores)
    # A sentence with several pairs is listed with its clearest pair and their number.
    clearest: dict[int, dict[str, Any]] = {}
    for (sentence, a, b), (for_a, tied, for_b) in votes.items():
        net, gap = for_a - for_b, rank[a, sentence] - rank[b, sentence]
        if not net * gap < 0:  # not >=, because a score may be NaN
            continue
        listed = clearest.setdefault(sentence, {"weight": 0.0, "pairs": 0})
        listed["pairs"] += 1
        if -net * gap > listed["weight"]:
            listed |= {
                "sentence": sentence,
                "systems": [a, b] if net > 0 else [b, a],
                "votes": [max(for_a, for_b), tied, min(for_a, for_b)],
                "gap": float(f"{abs(gap):.4g}"),
                "weight": -net * gap,
            }
    return _clearest(list(clearest.values()))


def misjudged_outputs(scores: Floats, ratings: Floats) -> list[dict[str, Any]]:
    """Return the outputs whose score and rating differ most, in percentiles of both.

    Args:
        scores: float64 (S, N).
        ratings: float64 (S, N), NaN where there is no rating.
    """
    rated = ~np.isnan(ratings)
    rank = np.full(scores.shape, np.nan)
    rank[rated] = _percentiles(scores[rated]) - _percentiles(ratings[rated])
    outputs = [
        {
            "sentence": sentence,
            "system": system,
            "rating": float(ratings[system, sentence]),
            "gap": float(f"{rank[system, sentence]:.4g}"),
            "weight": abs(float(rank[system, sentence])),
        }
        for system, sentence in np.argwhere(rated).tolist()
    ]
    return _clearest(outputs)


def _clearest(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries with the largest weights, without the weights."""
    entries.sort(key=lambda entry: -entry["weight"])
    return [{k: v for k, v in entry.items() if k != "weight"} for entry in entries[:_MAX_MISJUDGED]]


def _percentiles(values: Floats) -> Floats:
    """Return the percentile of each value among all, above 0 and up to 100; equal values share the mean."""
    from scipy.stats import rankdata

    ranks: Floats = rankdata(values, axis=None).reshape(values.shape) * 100 / values.size
    return ranks


@dataclass(frozen=True)
class ReportSettings:
    """Settings of a report.

    Attributes:
        title: heading of the report; by default it names the systems or the benchmark.
        attribution: metrics for which the report shows a score per edit (`analysis.attribution`). This
            scores every subset of up to eight edits of every output.
        annotator: spaCy pipeline that finds and types edits, as for `errant`.
        baseline: the system that each other one is compared with; by default, all pairs are compared.
        resampling: how intervals and tests are made.
        command: command that reproduces the report, which shows it.
        files: path -> SHA-256 of each file that was read, which the report shows.
    """

    title: str = ""
    attribution: Sequence[AnyMetric] = ()
    annotator: str | None = None
    baseline: str | None = None
    resampling: Resampling = field(default_factory=Resampling)
    command: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


def build_report(
    metric: AnyMetric | Sequence[AnyMetric],
    sources: Sentences,
    systems: Systems,
    references: ReferenceRows | None = None,
    *,
    settings: ReportSettings = ReportSettings(),
    runtime: Runtime = Runtime(),
) -> dict[str, Any]:
    """Return the content of a report on systems; `write_report` makes a page from it.

    Args:
        metric: a metric, its name, or a list of them, in the order of the report.
        sources: N texts, one sentence each.
        systems: each system's N texts, by the system's name.
        references: each sentence's texts, or `References`, if there are any.
        settings: settings of the report.
        runtime: how to run.

    Raises:
        LengthError: sources, hypotheses and references differ in length.
        InputError: there is no metric, no sentence or no system, or a metric lacks references.

    Example:
        >>> from learnedgec import Resampling
        >>> settings = ReportSettings(annotator="en-ewt-sm", resampling=Resampling(100))
        >>> report = build_report("length", ["He go ."], {"ours": ["He goes ."]}, settings=settings)
        >>> report["systems"], report["sentences"]["metrics"][0]["scores"]
        (['ours'], [[3.0]])
    """
    runtime = runtime.bound()
    metrics = bind(metric, runtime)
    corpus = corpus_for(metrics, sources, systems, references)
    return build_corpus_report(metrics, corpus, settings=settings, runtime=runtime)


def build_corpus_report(
    metrics: Sequence[BoundMetric], corpus: Corpus, *, settings: ReportSettings, runtime: Runtime
) -> dict[str, Any]:
    """Return the content of a report on the systems of a corpus that the metrics can score.

    Args:
        metrics: the bound metrics.
        corpus: the texts.
        settings: what the report shows.
        runtime: how to run.
    """
    return _Report(metrics, Benchmark("", **_texts(corpus)), settings, runtime).content()


def build_benchmark_report(
    metric: AnyMetric | Sequence[AnyMetric],
    benchmark: Benchmark,
    human: Sequence[str] = (),
    *,
    settings: ReportSettings = ReportSettings(),
    runtime: Runtime = Runtime(),
) -> dict[str, Any]:
    """Return the content of a report on a benchmark, with the agreement of each metric with people.

    Args:
        metric: a metric, its name, or a list of them; the meta-evaluation adds the sentinels.
        benchmark: a benchmark with rankings, ratings or published scores.
        human: name of the human scores to evaluate against; `default_human` by default.
        settings: settings of the report.
        runtime: how to run.

    Raises:
        UnknownNameError: the benchmark has no human score of this name.
        InputError: a metric needs references and the benchmark has none, or no system was judged.

    Example:
        >>> from learnedgec import Resampling, load_benchmark
        >>> settings = ReportSettings(annotator="plain", resampling=Resampling(100))
        >>> report = build_benchmark_report("gleu", load_benchmark("sample"), settings=settings)
        >>> report["evaluations"][0]["human"], report["evaluations"][0]["metrics"][0]["metric"]
        ('EW', 'gleu')
    """
    names = list(human) or default_human(benchmark)
    texts = Corpus.of(benchmark.sources, benchmark.systems, benchmark.references)
    benchmark = replace(benchmark, **_texts(texts.tokenised(runtime.tokenise)))
    # All human scores must cover a system for it to be in every table.
    for name in names:
        benchmark = judged(benchmark, name)
    protocol = Protocol(resampling=settings.resampling)
    with tempfile.TemporaryDirectory() as folder:
        # The meta-evaluation reads the stored scores of the tables.
        runtime = (runtime if runtime.cache_dir else replace(runtime, cache_dir=folder)).bound()
        metrics = bind(metric, runtime)
        report = _Report(metrics, benchmark, settings, runtime).content()
        short = {metric["label"]: metric["short"] for metric in report["metrics"]}
        for name in names:
            evaluation = evaluate(metrics, benchmark, protocol, human=name, runtime=runtime)
            described = describe_evaluation(evaluation)
            described["people"] = "" if benchmark.anonymous else about_people(evaluation, short)
            for entry in described["metrics"]:
                entry["metric"] = short.get(entry["metric"], entry["metric"])
            described["misjudged"] = [
                describe_misjudged(np.array(metric["scores"], dtype=float), benchmark, name)
                for metric in report["sentences"]["metrics"]
            ]
            report["evaluations"].append(described)
    notices = report["provenance"]["notices"]
    for described in report["evaluations"]:
        notices += [notice for notice in described["notices"] if notice not in notices]
    return report


def _texts(corpus: Corpus) -> dict[str, Any]:
    """Return the texts of a benchmark, as they are scored."""
    systems = {name: tuple(texts) for name, texts in corpus.systems.items()}
    return {
        "sources": tuple(corpus.sources),
        "systems": systems,
        "references": corpus.references,
    }


class _Report:
    """A report without meta-evaluation: what it shows is computed at once, and `content` describes it."""

    def __init__(
        self,
        metrics: Sequence[BoundMetric],
        benchmark: Benchmark,
        settings: ReportSettings,
        runtime: Runtime,
    ) -> None:
        self.metrics, self.benchmark, self.settings = metrics, benchmark, settings
        self.runtime = runtime
        self.annotator = settings.annotator or available_annotator()
        self.attributed = bind(settings.attribution, runtime) if settings.attribution else []
        self.tests: dict[str, Any] = {
            "baseline": settings.baseline,
            "resampling": settings.resampling,
        }
        self.types: sentences.TypeTable = {"": 0}
        # What cannot be compared or attributed is refused before anything is computed.
        if settings.baseline and settings.baseline not in benchmark.systems:
            raise UnknownNameError("system", settings.baseline, benchmark.systems)
        for metric in self.attributed:
            metric.metric.check_references(benchmark.references)
            metric.metric.check_alone()
        # Warnings, each with the name of the computation that caused it.
        self.caught: list[tuple[str, warnings.WarningMessage]] = []
        with self._noticing():
            self._compute()
        for _, each in self.caught:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)

    @contextmanager
    def _noticing(self, about: str = "") -> Iterator[None]:
        """Collect the warnings of a `with` block."""
        with warnings.catch_warnings(record=True) as new:
            warnings.simplefilter("always")
            yield
        self.caught += [(about, warning) for warning in new]

    def _compute(self) -> None:
        """Compute edits, scores, their meaning, the contribution of edits, and rankings."""
        # The metrics that compare edits find them in the memory of the runtime.
        self.annotated, self.edits = sentences.annotate(
            self.benchmark, self.annotator, self.metrics, self.runtime
        )
        statistics = dict(shared_statistics(self.metrics, self._statistics))
        self.scores = {metric: [*map(metric.score_of, rows)] for metric, rows in statistics.items()}
        self.texts = sentences.describe_texts(self.annotated, self.edits, self.types)
        self.meaning = []
        for metric, scores in self.scores.items():
            with self._noticing(f"{metric.label} of the sources"):
                self.meaning.append(overview.describe_meaning(metric, scores, self.benchmark))
        outputs, seed = self.texts["outputs"], self.settings.resampling.seed
        self.attribution = [
            {"metric": metric.label}
            | sentences.attribute(metric, self.annotated, self.edits, outputs, seed)
            for metric in self.attributed
        ]
        self.rankings = {
            metric: rank_systems(
                metric,
                dict(zip(self.benchmark.systems, by_system, strict=True)),
                **self.tests,
                signature=metric.signature(self.benchmark.references),
            )
            for metric, by_system in statistics.items()
        }

    def _statistics(self, metric: BoundMetric) -> list[Statistics]:
        with self._noticing(metric.label):
            return benchmark_statistics(metric, self.benchmark)

    def content(self) -> dict[str, Any]:
        """Return everything but the meta-evaluation."""
        benchmark, settings, systems = self.benchmark, self.settings, [*self.benchmark.systems]
        edit_counts = benchmark_statistics(bind_one("edit-count", self.runtime), benchmark)
        edits = np.stack([rows["score"] for rows in edit_counts])
        described = {
            metric: sentences.describe_scores(metric.metric, scores)
            for metric, scores in self.scores.items()
        }
        lenses, errors = self._lenses_and_errors()
        names = short_labels([metric.label for metric in self.metrics])
        more = f" and {len(systems) - 3} more"
        named = ", ".join(systems) if len(systems) <= 4 else ", ".join(systems[:3]) + more
        return {
            "title": settings.title or benchmark.name or named,
            "benchmark": benchmark.name,
            "level": settings.resampling.level,
            "systems": systems,
            "metrics": [_described_metric(metric, names[metric.label]) for metric in self.metrics],
            "baseline": systems.index(settings.baseline) if settings.baseline else None,
            "overview": self._overview(edits.mean(axis=1)),
            "sentences": {
                **self.texts,
                "documents": list(settings.resampling.documents),
                "metrics": list(described.values()),
                "lenses": lenses,
                "attribution": self.attribution,
            },
            "meaning": self.meaning,
            "types": list(self.types),
            "errors": errors,
            "effects": overview.describe_effects(
                [np.stack([score.sentences for score in of]) for of in self.scores.values()],
                np.array([len(source.split()) for source in benchmark.sources], dtype=np.float64),
                edits,
            ),
            "evaluations": [],
            "provenance": self._provenance(overview.gate_notices(described)),
        }

    def _lenses_and_errors(self) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """Return the edits that each metric counts, and the error types if there are references."""
        annotated = self.annotated
        shown: dict[Any, Sequence[Score]] = {
            metric: scores
            for metric, scores in self.scores.items()
            if isinstance(metric.metric, ShowsEdits)
        }
        errors = None
        if annotated.references is not None:
            errant = sentences.typed_errant(self.annotator, annotated)
            bound = bind_one(errant, self.runtime)
            # The runtime remembers the edits of the outputs. Only metrics that were asked for give notices.
            with collected():
                compared = benchmark_statistics(bound, annotated)
            errors = sentences.describe_types(errant, compared)
            # If no metric shows edits, ERRANT shows them.
            shown = shown or {bound: [*map(bound.score_of, compared)]}
        lenses = [
            {"name": metric.label}
            | sentences.findings(metric.metric, scores, annotated, self.edits, self.types)
            for metric, scores in shown.items()
        ]
        return lenses, errors

    def _overview(self, edits: Floats) -> dict[str, Any]:
        """Return the rankings and what follows from them; `edits` is as for `guidance`."""
        rankings, benchmark = list(self.rankings.values()), self.benchmark
        corpus = Corpus(benchmark.sources, benchmark.systems, benchmark.references)
        undecided = undecided_rankings(self.rankings, corpus, **self.tests)
        decided = {m: r for m, r in self.rankings.items() if m.label not in undecided}
        advice = guidance(decided, edits)
        return {
            "about_clusters": ABOUT_CLUSTERS,
            "rankings": list(map(overview.describe_ranking, rankings)),
            "agreement": overview.rank_agreement(rankings),
            "conflicts": conflicts(rankings),
            # The decisive advice, that metrics count edits, comes last.
            "warning": advice[-1] if advice else "",
            "guidance": advice[:-1],
            "leaders": leaders(rankings, undecided),
        }

    def _provenance(self, gate_notices: Sequence[str]) -> dict[str, Any]:
        """Return what the numbers depend on, and the notices about them."""
        settings, benchmark = self.settings, self.benchmark
        first = self.rankings[self.metrics[0]]
        signatures = [ranking.signature for ranking in self.rankings.values()]
        unknown = (overview.unknown_tokens(each, benchmark.systems) for each in self.metrics)
        notices = [
            *overview.text_notices(self.metrics, benchmark),
            *gate_notices,
            *overview.annotator_notices(self.annotator, self.metrics),
            *chain.from_iterable(unknown),
            *first.too_few,
            *benchmark.notices,
            *overview.precision_notice(signatures),
            *dict.fromkeys(
                overview.warning_notice(about, each.message, benchmark.sources, benchmark.systems)
                for about, each in self.caught
                if isinstance(each.message, Warning)
            ),
        ]
        return {
            "command": settings.command,
            "files": dict(settings.files),
            "seed": settings.resampling.seed,
            "resamples": settings.resampling.resamples,
            "tests": used_tests([*self.rankings.values()]),
            "correction": first.correction,
            "signatures": signatures,
            "software": overview.software(self.annotator),
            "licences": overview.licences([*self.metrics, *self.attributed], benchmark.name),
            "notices": notices,
        }


def _described_metric(metric: BoundMetric, short: str) -> dict[str, Any]:
    """Return what readers should know about a metric."""
    return {
        "name": str(metric),
        "label": metric.label,
        "short": short,
        "summary": summary(metric.metric.name) if card_name(metric.metric.name) else "",
        "references": metric.metric.needs_references,
        "sentinel": is_sentinel(metric.label),
    }
