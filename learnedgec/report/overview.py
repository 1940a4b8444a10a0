"""The overview of scores in numbers and words: systems × metrics, the meaning of a score and its causes.

- systems × metrics: scores with intervals, significant differences, and pairs on which metrics disagree
- the meaning of a score, by a released reference
- the effect of a sentence's length and of the number of edits on a metric's scores
- the provenance of the numbers (software, data and licences), and caveats for the reader
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import numpy.typing as npt

from learnedgec._version import __version__
from learnedgec.analysis.ranking import SystemRanking
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.catalog.registry import DATASETS, materials, of_dataset
from learnedgec.data.corpus import Corpus
from learnedgec.data.input_warnings import named_lines
from learnedgec.data.sentences import changed_sentences
from learnedgec.data.text import read_json
from learnedgec.edits.annotator import RELEASED, USUAL, describe_annotator
from learnedgec.evaluators.package import manifest_tools
from learnedgec.metrics.bound import BoundMetric
from learnedgec.metrics.contract import Score, notices_of
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.files import included_folder
from learnedgec.stats.correlation import kendall, spearman
from learnedgec.table import plain
from learnedgec.types import Floats, Indices, Texts


@dataclass(frozen=True, slots=True)
class PreferenceBin:
    """Outputs of similar gain: their predicted and their observed human preference.

    Attributes:
        predicted: mean predicted probability, by a calibration on other sources.
        preferred: the share of outputs that human raters put above their sources.
        low: lower end of that share's 95 % interval (Wilson).
        high: upper end of the interval.
        count: number of outputs.
    """

    predicted: float
    preferred: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class ScoreReference:
    """A metric's scores for the outputs of a benchmark, with human preferences between output and source.

    Only outputs that change their source count. The gain of an output is its score minus its source's.
    The probability that human raters put an output above its source is interpolated from its gain. It is
    calibrated on the systems of the benchmark, most of whose changes are improvements. It is too high for a
    system whose changes are mostly not improvements.

    Attributes:
        metric: the metric's printed name, with every parameter.
        evaluators: evaluator -> digest of its package.
        benchmark: name of the benchmark.
        quantiles: float64 (101,), the percentiles 0 to 100 of the sentence scores.
        outputs: number of outputs that change their source, from which the percentiles come.
        gains: float64 (K,), ascending: the gains between which probabilities are interpolated.
        probabilities: float64 (K,), nondecreasing: the probability for each of these gains.
        pairs: number of outputs that human raters put above or below their source.
        accuracy: the share of these outputs whose gain has the sign of the human preference.
        bins: the same outputs in bins of about equal size, by predicted probability.
    """

    metric: str
    evaluators: Mapping[str, str]
    benchmark: str
    quantiles: Floats
    outputs: int
    gains: Floats
    probabilities: Floats
    pairs: int
    accuracy: float
    bins: tuple[PreferenceBin, ...]

    def percentiles(self, scores: Floats) -> Floats:
        """Return the percentage of the reference's outputs that score lower, float64 (…,)."""
        percentiles: Floats = np.interp(scores, self.quantiles, np.arange(101.0))
        return percentiles

    def preferred(self, gains: Floats) -> Floats:
        """Return the probability that human raters put an output above its source, float64 (…,).

        Args:
            gains: the score of an output minus the score of its source.
        """
        return np.interp(gains, self.gains, self.probabilities)


def explain_score(
    reference: ScoreReference,
    score: float,
    sentences: Floats,
    source_scores: Floats,
    changed: Sequence[bool] | npt.NDArray[np.bool_],
) -> str:
    """Explain in words the score of one system on N sentences.

    Args:
        reference: a reference of the same metric.
        score: the system's corpus score.
        sentences: float64 (N,), the score of each output.
        source_scores: float64 (N,), the score of each source as its own output.
        changed: bool (N,), whether an output has other tokens than its source (`changed_sentences`).
    """
    changed = np.asarray(changed, dtype=bool)
    if not changed.any():
        return f"{score:.4f}: it changes no sentence."
    percentile = np.median(reference.percentiles(sentences[changed]))
    preferred = reference.preferred((sentences - source_scores)[changed]).mean()
    return (
        f"{score:.4f}: it changes {changed.sum():,} of {len(changed):,} sentences; half of these score "
        f"above {percentile:.0f}% of {reference.outputs:,} changed sentences of {reference.benchmark}, and "
        f"human raters there put {preferred:.0%} of such changes above the source ({reference.pairs:,} rated "
        "outputs)."
    )


def find_reference(metric: BoundMetric) -> ScoreReference | None:
    """Return the reference of exactly this metric, with exactly these evaluators, if there is one.

    Example:
        >>> from learnedgec.scoring import bind_one
        >>> find_reference(bind_one("gleu")) is None
        True
    """
    for reference in _released():
        same = load_metric(reference.metric) == metric.metric
        if same and reference.evaluators == evaluators_of(metric):
            return reference
    return None


def evaluators_of(metric: BoundMetric) -> dict[str, str]:
    """Return the digest of each evaluator's package, which covers configuration, weights and tokenizer."""
    return {package.name: package.digest for package in metric.packages}


@cache
def _released() -> tuple[ScoreReference, ...]:
    path = included_folder("checkpoints", "checkpoints") / "score_references.json"
    return tuple(map(_from_json, read_json(path)))


def _from_json(record: Mapping[str, Any]) -> ScoreReference:
    arrays = {name: np.array(record[name]) for name in ("quantiles", "gains", "probabilities")}
    bins = tuple(PreferenceBin(**entry) for entry in record["bins"])
    return ScoreReference(**{**record, **arrays, "bins": bins})


# The largest number of ranges of lengths, and of numbers of edits.
_BINS = 8


def describe_ranking(ranking: SystemRanking) -> dict[str, Any]:
    """Return the fields of a ranking for JSON; the systems keep their given order.

    `against` says in a word how each system compares with the baseline; it is None without one.
    """
    against = None
    if ranking.baseline:
        base = ranking.systems.index(ranking.baseline)
        higher, lower = ranking.better[:, base], ranking.better[base]
        words = np.select([higher, lower], ["higher", "lower"], "not told apart")
        against = ["" if n == base else str(word) for n, word in enumerate(words)]
    described: dict[str, Any] = plain(asdict(ranking))
    # Scores on each resample would fill the page.
    del described["resampled"]
    for name in ("ranges", "cluster", "order"):
        described[name] = plain(getattr(ranking, name))
    return described | {"against": against}


def rank_agreement(rankings: Sequence[SystemRanking]) -> list[list[float | None]]:
    """Return Kendall's τ-b between the metrics' scores of the systems, (M, M); None where undefined."""
    scores: Floats = np.array([ranking.scores for ranking in rankings])
    table: list[list[float | None]] = plain(kendall(scores[:, None], scores[None]))
    return table


# -- the meaning of a score --------------------------------------------------------------------------


def describe_meaning(
    metric: BoundMetric, scores: Sequence[Score], benchmark: Benchmark
) -> dict[str, Any] | None:
    """Return the explanation of the score of every system, and the percentile of every output.

    Args:
        metric: the metric.
        scores: its scores of each system.
        benchmark: the texts of the systems.

    Returns:
        `None` if the metric has no released reference, else
        `sentences` (S), `percentiles` (S, N), and the reference's `benchmark`, `outputs`, `pairs`,
        `accuracy` and `bins` (as `reliability`).
    """
    reference = find_reference(metric)
    if reference is None:
        return None
    source_scores = metric.metric.sentence_scores(
        metric.statistics(benchmark.sources, {"": benchmark.sources})[""]
    )
    sentences = [
        explain_score(
            reference,
            score.value,
            score.sentences,
            source_scores,
            changed_sentences(benchmark.sources, texts),
        )
        for score, texts in zip(scores, benchmark.systems.values(), strict=True)
    ]
    percentiles = [reference.percentiles(score.sentences) for score in scores]
    return {
        "benchmark": reference.benchmark,
        "outputs": reference.outputs,
        "pairs": reference.pairs,
        "accuracy": reference.accuracy,
        "reliability": [asdict(bin_) for bin_ in reference.bins],
        "sentences": sentences,
        "percentiles": np.rint(percentiles).astype(int).tolist(),
    }


# -- effects of length and edits ---------------------------------------------------------------------


def describe_effects(scores: Sequence[Floats], lengths: Floats, edits: Floats) -> dict[str, Any]:
    """Return the mean score by length of the source and by number of edits, and rank correlations with both.

    Args:
        scores: sentence scores by metric, float64 (S, N) each.
        lengths: float64 (N,), number of tokens of each source.
        edits: float64 (S, N), number of edited tokens of each output, as the sentinel `edit-count` counts
            them.

    Returns:
        `length` and `edits`, each with `labels` (K), `counts` (S, K) and `means` (M, S, K), which is None
        where there is no sentence; and `correlation` (M), with each metric's Spearman correlation over all
        outputs with `length` and `edits`, and that of the systems' mean scores with their mean number of
        edits, `systems`.
    """
    spread = np.broadcast_to(lengths, edits.shape)
    return {
        "length": _by(scores, spread),
        "edits": _by(scores, edits),
        "correlation": [
            {
                "length": plain(float(spearman(by_system.ravel(), spread.ravel()))),
                "edits": plain(float(spearman(by_system.ravel(), edits.ravel()))),
                "systems": plain(float(spearman(by_system.mean(axis=1), edits.mean(axis=1)))),
            }
            for by_system in scores
        ],
    }


def _by(scores: Sequence[Floats], values: Floats) -> dict[str, Any]:
    """Return counts and mean scores in up to eight ranges of about equal numbers of outputs."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, _BINS + 1)[:-1], method="higher"))
    ends = [*(edges[1:] - 1), values.max()]
    place: Indices = np.searchsorted(edges, values, side="right") - 1
    within = place == np.arange(len(edges))[:, None, None]
    return {
        "labels": [
            f"{low:g}" if low == high else f"{low:g}–{high:g}"
            for low, high in zip(edges, ends, strict=True)
        ],
        "counts": within.sum(axis=2).T.tolist(),
        "means": [
            [
                [
                    float(f"{row[mask].mean():.6g}") if mask.any() else None
                    for mask in within[:, system] & ~np.isnan(row)
                ]
                for system, row in enumerate(by_system)
            ]
            for by_system in scores
        ],
    }


_PACKAGES = ("numpy", "scipy", "torch", "transformers", "tokenizers", "spacy", "errant")

# Benchmark -> the datasets that it consists of; SEEDA and GJG15 have CoNLL-2014's sentences.
_BENCHMARKS = {
    "seeda-s": ("seeda", "conll14"),
    "seeda-e": ("seeda", "conll14"),
    "gjg15": ("gjg15", "conll14"),
    "jfleg": ("jfleg", "gug"),
}


def software(annotator: str) -> dict[str, str]:
    """Return the versions of learnedgec, Python, the packages that scores may depend on and the annotator."""
    versions = {"learnedgec": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions | {f"annotator {annotator}": describe_annotator(annotator)["annotator-version"]}


def licences(metrics: Iterable[BoundMetric], benchmark: str = "") -> list[dict[str, str]]:
    """Return the data that a report shows and the parts that evaluators were made of, with their licences.

    Args:
        metrics: the metrics, with their evaluators.
        benchmark: name of the benchmark, if the report shows one.

    Returns:
        Mappings with `data`, `role`, `licence` and `allows`, as `learnedgec evaluators --licences` has them.
    """
    head, *words = benchmark.split(":")
    datasets = _BENCHMARKS.get(head, (benchmark,) if head in DATASETS else ())
    shown = [*datasets, *(["reassess"] if "rewrites" in words else [])]
    roles = [("shown", material) for material in map(of_dataset, shown)]
    for package in dict.fromkeys(package for metric in metrics for package in metric.packages):
        made_of = materials(package.encoder, package.datasets, manifest_tools(package.manifest))
        roles += [(f"{material.kind} of {package.name}", material) for material in made_of]
    return [
        {
            "data": material.name,
            "role": role,
            "licence": material.licence,
            "allows": material.allows,
        }
        for role, material in roles
    ]


# -- notices -----------------------------------------------------------------------------------------


def text_notices(metrics: Sequence[BoundMetric], benchmark: Benchmark) -> list[str]:
    """Return notices about unusual texts: systems that change nothing, and `notices_of`."""
    sources, systems = benchmark.sources, benchmark.systems
    corpus = Corpus(sources, systems, benchmark.references)
    return [
        *(
            f"{name} equals the source: it changes nothing."
            for name, hypotheses in systems.items()
            if not any(changed_sentences(sources, hypotheses))
        ),
        *notices_of([bound.metric for bound in metrics], corpus, metrics[0].runtime),
    ]


def annotator_notices(annotator: str, metrics: Sequence[BoundMetric]) -> list[str]:
    """Return a notice if edits are found by the annotator that is part of learnedgec.

    Args:
        annotator: annotator of the edits that the report shows.
        metrics: the metrics, which may have other annotators.
    """
    members = [
        part
        for metric in metrics
        for part in (metric.metric, *getattr(metric.metric, "metrics", ()))
    ]
    affected = [member for member in members if getattr(member, "annotator", None) == RELEASED]
    if not affected and annotator != RELEASED:
        return []
    names = ", ".join(dict.fromkeys(member.name for member in affected))
    numbers = f"scores of {names}" if names else "counts of edits"
    return [
        f"The annotator {RELEASED} finds the edits, so {numbers} differ slightly from published ones, which "
        f"use spaCy's {USUAL}."
    ]


def gate_notices(described: Mapping[BoundMetric, Mapping[str, Any]]) -> list[str]:
    """Return a notice for each metric whose gate rejected some outputs."""
    return [
        f"{metric.label}: outputs that are too different from their source and get a low score (gate): "
        f"{len(lines):,} ({named_lines(sorted(set(lines)))})."
        for metric, scores in described.items()
        if (lines := [line for row in scores.get("rejected", ()) for line in _lines_where(row)])
    ]


def warning_notice(
    about: str, warning: Warning, sources: Texts, systems: Mapping[str, Texts]
) -> str:
    """Return a warning as a notice that names the computation, and the lines whose inputs were truncated.

    Args:
        about: the computation that caused the warning; may be empty.
        warning: the warning.
        sources: N sentences.
        systems: system -> N hypotheses.
    """
    notice = str(warning)
    if about:
        # Many warnings name the metric, too.
        name = re.escape(re.split(r"[( ]", about)[0])
        notice = f"{about}: " + re.sub(rf"\b{name}(\([^:]*\))?: ", "", notice, count=1)
    cut = set(getattr(warning, "items", ()))
    rows = zip(sources, *systems.values(), strict=True)
    touched = [
        any(text in cut or (source, text) in cut for text in (source, *texts))
        for source, *texts in rows
    ]
    lines = _lines_where(touched)
    return f"{notice.removesuffix('.')} ({named_lines(lines)})." if lines else notice


def precision_notice(signatures: Sequence[str]) -> list[str]:
    """Return a notice if an evaluator computed in bfloat16."""
    if not any("dtype:bfloat16" in signature for signature in signatures):
        return []
    return [
        "Evaluators computed in bfloat16, which moves a system's score by .003 at most; with --dtype float32 "
        "it is what `learnedgec score` gives."
    ]


def _lines_where(marks: Iterable[Any]) -> list[int]:
    """Return the numbers of lines that are marked, from 1."""
    return [number for number, mark in enumerate(marks, 1) if mark]


def unknown_tokens(metric: BoundMetric, systems: Mapping[str, Texts]) -> list[str]:
    """Return a notice for each evaluator whose tokenizer has no token for parts of the outputs."""
    notices = []
    texts = list(dict.fromkeys(text for hypotheses in systems.values() for text in hypotheses))
    for package in metric.packages:
        from learnedgec.evaluators.loading import load_tokenizer

        tokenizer: Any = load_tokenizer(str(package.path))
        unknown = tokenizer.unk_token_id
        if unknown is None:
            continue
        rows = tokenizer(texts, add_special_tokens=False)["input_ids"]
        if tokens := sum(row.count(unknown) for row in rows):
            affected = {text for text, row in zip(texts, rows, strict=True) if unknown in row}
            outputs = zip(*systems.values(), strict=True)
            lines = _lines_where(not affected.isdisjoint(row) for row in outputs)
            notices.append(
                f"{metric.label}: the tokenizer of {package.name} has no entry for {tokens:,} tokens in "
                f"{len(affected):,} of {len(texts):,} distinct outputs ({named_lines(lines)}); all of them "
                "look the same to the model."
            )
    return notices
