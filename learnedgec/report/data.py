"""The content of a report as one value for JSON.

Numbers are computed here; the page (`page`, `assets/`) draws, filters and sorts them. Systems, metrics and
sentences are identified by their index.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from learnedgec.analysis.conclusions import conflicts, guidance, leaders, undecided_rankings
from learnedgec.analysis.meta.agreement import default_human, judged
from learnedgec.analysis.meta.evaluation import Evaluation, benchmark_statistics, evaluate
from learnedgec.analysis.meta.measures import Protocol
from learnedgec.analysis.ranking import ABOUT_CLUSTERS, SystemRanking, rank_systems
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.references import ReferenceRows
from learnedgec.data.sentences import Sentences, Systems
from learnedgec.data.tables import plain
from learnedgec.edits.annotators import available_annotator
from learnedgec.errors import collected
from learnedgec.metrics.base import ShowsEdits, Statistics
from learnedgec.metrics.bound import BoundMetric, Inputs, as_inputs, checked_inputs
from learnedgec.metrics.cards import card_name, summary
from learnedgec.metrics.scores import Score, is_sentinel, short_labels
from learnedgec.report import overview, sentences
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import AnyMetric, bind, bind_one, shared_statistics
from learnedgec.types import Floats

_MOST = 50


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

    The clearness of a pair is the product of two numbers: the difference between the numbers of judges who
    preferred one and the other, and the metric's difference, in percentiles of all its sentence scores.

    Args:
        scores: float64 (S, N), in the order of the benchmark's systems.
        benchmark: a benchmark with rankings.
    """
    comparisons = benchmark.comparisons()
    votes: dict[tuple[int, int, int], list[int]] = {}
    columns = (comparisons.sentence, comparisons.first, comparisons.second, comparisons.outcome)
    for sentence, first, second, outcome in np.stack(columns, axis=1).tolist():
        a, b, winner = (first, second, outcome) if first < second else (second, first, -outcome)
        count = votes.setdefault((sentence, a, b), [0, 0, 0])
        count[1 - winner] += 1  # for a, tied, for b
    rank = _percentiles(scores)
    # A sentence with several pairs is listed with its clearest pair and their number.
    clearest: dict[int, dict[str, Any]] = {}
    for (sentence, a, b), (for_a, tied, for_b) in votes.items():
        net, gap = for_a - for_b, rank[a, sentence] - rank[b, sentence]
        if not net * gap < 0:  # a score may also be NaN
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
    return [{k: v for k, v in entry.items() if k != "weight"} for entry in entries[:_MOST]]


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
        resamples: number of bootstrap resamples of the sentences. The default depends on the number of
            comparisons (`enough_resamples`, as in `rank`) and is 1,000 in the meta-evaluation.
        level: confidence level of intervals; differences are tested at 1 − `level`.
        seed: seed of the random generator.
        command: command that reproduces the report, which shows it.
        files: path -> SHA-256 of each file that was read, which the report shows.
    """

    title: str = ""
    attribution: Sequence[AnyMetric] = ()
    annotator: str | None = None
    baseline: str | None = None
    resamples: int | None = None
    level: float = 0.95
    seed: int = 0
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
        >>> settings = ReportSettings(annotator="en-ewt-sm", resamples=100)
        >>> report = build_report("length", ["He go ."], {"ours": ["He goes ."]}, settings=settings)
        >>> report["systems"], report["sentences"]["metrics"][0]["scores"]
        (['ours'], [[3.0]])
    """
    runtime = runtime.bound()
    metrics = bind(metric, runtime)
    inputs = checked_inputs(metrics, sources, systems, references, runtime)
    return _build(metrics, Benchmark("", **_texts(inputs)), settings, runtime)


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
        >>> from learnedgec import load_benchmark
        >>> settings = ReportSettings(annotator="plain", resamples=100)
        >>> report = build_benchmark_report("gleu", load_benchmark("sample"), settings=settings)
        >>> report["evaluations"][0]["human"], report["evaluations"][0]["metrics"][0]["metric"]
        ('EW', 'gleu')
    """
    names = list(human) or default_human(benchmark)
    inputs = as_inputs([], benchmark.sources, benchmark.systems, benchmark.references, runtime)
    benchmark = replace(benchmark, **_texts(inputs))
    # All human scores must cover a system for it to be in every table.
    for name in names:
        benchmark = judged(benchmark, name)
    protocol = Protocol(
        resamples=1000 if settings.resamples is None else settings.resamples,
        level=settings.level,
        seed=settings.seed,
    )
    with tempfile.TemporaryDirectory() as folder:
        # The meta-evaluation reads the stored scores of the tables.
        runtime = (runtime if runtime.cache_dir else replace(runtime, cache_dir=folder)).bound()
        metrics = bind(metric, runtime)
        report = _build(metrics, benchmark, settings, runtime)
        short = {metric["label"]: metric["short"] for metric in report["metrics"]}
        for name in names:
            evaluation = evaluate(metrics, benchmark, protocol, human=name, runtime=runtime)
            described = describe_evaluation(evaluation)
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


# Warnings, each with the name of the computation that caused it.
_Caught: TypeAlias = list[tuple[str, warnings.WarningMessage]]


@contextmanager
def _noticing(caught: _Caught, about: str = "") -> Iterator[None]:
    """Collect the warnings of a `with` block."""
    with warnings.catch_warnings(record=True) as new:
        warnings.simplefilter("always")
        yield
    caught += [(about, warning) for warning in new]


def _texts(inputs: Inputs) -> dict[str, Any]:
    """Return the texts of a benchmark, as they are scored."""
    systems = {name: tuple(texts) for name, texts in inputs.systems.items()}
    return {
        "sources": tuple(inputs.sources),
        "systems": systems,
        "references": inputs.references,
    }


def _build(
    metrics: Sequence[BoundMetric],
    benchmark: Benchmark,
    settings: ReportSettings,
    runtime: Runtime,
) -> dict[str, Any]:
    """Return everything but the meta-evaluation."""
    annotator = settings.annotator or available_annotator()
    attributed = bind(settings.attribution, runtime) if settings.attribution else []
    systems = list(benchmark.systems)
    types: sentences.TypeTable = {"": 0}
    caught: _Caught = []

    def compute(metric: BoundMetric) -> list[Statistics]:
        with _noticing(caught, metric.label):
            return benchmark_statistics(metric, benchmark)

    with _noticing(caught):
        # The metrics that compare edits find them in the memory of the runtime.
        annotated, edits = sentences.annotate(benchmark, annotator, runtime)
        statistics = dict(shared_statistics(metrics, compute))
        scores = {metric: [*map(metric.score_of, rows)] for metric, rows in statistics.items()}
        texts = sentences.describe_texts(annotated, edits, types)
        meaning = []
        for metric in metrics:
            with _noticing(caught, f"{metric.label} of the sources"):
                meaning.append(overview.describe_meaning(metric, scores[metric], benchmark))
        attribution = [
            {"metric": metric.label}
            | sentences.attribute(metric, annotated, edits, texts["outputs"], settings.seed)
            for metric in attributed
        ]
        rankings = _ranked(statistics, benchmark, settings)
    for _, warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    described = {
        metric: sentences.describe_scores(metric.metric, scores[metric]) for metric in metrics
    }
    lenses, errors = _lenses_and_errors(scores, annotated, edits, types, annotator, runtime)
    edit_counts = benchmark_statistics(bind_one("edit-count", runtime), benchmark)
    edited = np.stack([rows["score"] for rows in edit_counts])
    first = rankings[metrics[0]]
    names = short_labels([metric.label for metric in metrics])
    more = f" and {len(systems) - 3} more"
    named = ", ".join(systems) if len(systems) <= 4 else ", ".join(systems[:3]) + more
    return {
        "title": settings.title or benchmark.name or named,
        "benchmark": benchmark.name,
        "level": settings.level,
        "systems": systems,
        "metrics": [_described_metric(metric, names[metric.label]) for metric in metrics],
        "baseline": systems.index(settings.baseline) if settings.baseline else None,
        "overview": _overview(rankings, edited.mean(axis=1), benchmark, settings),
        "sentences": {
            **texts,
            "metrics": list(described.values()),
            "lenses": lenses,
            "attribution": attribution,
        },
        "meaning": meaning,
        "types": list(types),
        "errors": errors,
        "effects": overview.describe_effects(
            [np.stack([score.sentences for score in scores[metric]]) for metric in metrics],
            np.array([len(source.split()) for source in benchmark.sources], dtype=np.float64),
            edited,
        ),
        "evaluations": [],
        "provenance": {
            "command": settings.command,
            "files": dict(settings.files),
            "seed": settings.seed,
            "resamples": first.resamples,
            "correction": first.correction,
            "signatures": [ranking.signature for ranking in rankings.values()],
            "software": overview.software(annotator),
            "licences": overview.licences([*metrics, *attributed], benchmark.name),
            "notices": [
                *overview.text_notices(metrics, benchmark),
                *overview.gate_notices(described),
                *overview.annotator_notices(annotator, metrics),
                *(text for m in metrics for text in overview.unknown_tokens(m, benchmark.systems)),
                *first.too_few,
                *benchmark.notices,
                *overview.precision_notice([ranking.signature for ranking in rankings.values()]),
                *_caught_notices(caught, benchmark),
            ],
        },
    }


def _ranked(
    statistics: Mapping[BoundMetric, Sequence[Statistics]],
    benchmark: Benchmark,
    settings: ReportSettings,
) -> dict[BoundMetric, SystemRanking]:
    """Return each metric's ranking of the systems."""
    return {
        metric: rank_systems(
            metric,
            dict(zip(benchmark.systems, by_system, strict=True)),
            **_resampling(settings),
            signature=metric.signature(benchmark.references),
        )
        for metric, by_system in statistics.items()
    }


def _resampling(settings: ReportSettings) -> dict[str, Any]:
    """Return the settings of a ranking."""
    return {name: getattr(settings, name) for name in ("baseline", "resamples", "level", "seed")}


def _lenses_and_errors(
    scores: Mapping[BoundMetric, Sequence[Score]],
    annotated: Benchmark,
    edits: sentences.EditTable,
    types: sentences.TypeTable,
    annotator: str,
    runtime: Runtime,
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Return the edits that each metric counts, and the error types if there are references."""
    shown: dict[Any, Sequence[Score]] = {
        metric: of for metric, of in scores.items() if isinstance(metric.metric, ShowsEdits)
    }
    errors = None
    if annotated.references is not None:
        errant = sentences.typed_errant(annotator, annotated)
        bound = bind_one(errant, runtime)
        # The runtime remembers the edits of the outputs. Only metrics that were asked for give notices.
        with collected():
            compared = benchmark_statistics(bound, annotated)
        errors = sentences.describe_types(errant, compared)
        # If no metric shows edits, ERRANT shows them.
        shown = shown or {bound: [*map(bound.score_of, compared)]}
    lenses = [
        {"name": metric.label}
        | sentences.findings(metric.metric, of_metric, annotated, edits, types)
        for metric, of_metric in shown.items()
    ]
    return lenses, errors


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


def _overview(
    by_metric: Mapping[BoundMetric, SystemRanking],
    edits: Floats,
    benchmark: Benchmark,
    settings: ReportSettings,
) -> dict[str, Any]:
    """Return the rankings and what follows from them; `edits` is as for `guidance`."""
    rankings = list(by_metric.values())
    inputs = Inputs(benchmark.sources, benchmark.systems, benchmark.references)
    undecided = undecided_rankings(by_metric, inputs, **_resampling(settings))
    advice = guidance({m: r for m, r in by_metric.items() if m.label not in undecided}, edits)
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


def _caught_notices(caught: _Caught, benchmark: Benchmark) -> Iterable[str]:
    """Return the warnings as notices, each once."""
    return dict.fromkeys(
        overview.warning_notice(about, warning.message, benchmark.sources, benchmark.systems)
        for about, warning in caught
        if isinstance(warning.message, Warning)
    )
