"""The one way from metrics' names and texts to scores.

`bind` opens what names stand for, once. A bound metric reads the statistics of systems that the store has,
computes each distinct row of the rest, and signs the scores:

    metrics = bind(["gleu", "some@jfleg"], runtime)
    corpus = Corpus.of(sources, systems, references)
    check_corpus([metric.metric for metric in metrics], corpus, runtime)
    for metric, statistics in shared_statistics(metrics, lambda metric: metric.compute(corpus)):
        scores = metric.scores(statistics, corpus.references)

`score` does all of it in one call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar, overload

from learnedgec.data.catalog.leakage import fingerprint, hashes_of, share_text
from learnedgec.data.corpus import ONE, Corpus
from learnedgec.data.references import ReferenceRows
from learnedgec.data.sentences import Sentences, Systems, are_systems, as_items
from learnedgec.errors import InputError
from learnedgec.metrics.bound import BoundMetric, NamedMetric
from learnedgec.metrics.contract import Metric, Score, Scores, check_corpus
from learnedgec.metrics.registry import read_name
from learnedgec.metrics.tuned import tuned_on
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Texts

AnyMetric: TypeAlias = str | Metric | NamedMetric
"""A metric, by its name, as a value, or bound."""

_Computed = TypeVar("_Computed")

_EXPECTED = "a metric's name such as 'gleu', a metric, or a list of them"


# -- metrics ---------------------------------------------------------------------------------------


def bind(
    metrics: AnyMetric | Sequence[AnyMetric], runtime: Runtime = Runtime()
) -> list[BoundMetric]:
    """Return metrics with all that their names stand for; the one place where names become models.

    Args:
        metrics: a metric's name, a metric, or a list of them; bound ones are returned as they are.
        runtime: how to run.

    Raises:
        InputError: something else was given, or nothing.
        BadNameError, UnknownNameError: no metric has this name, or it lacks a parameter that the name gives.
        ModelError: a model or annotator is absent, or lacks a head or layer.

    Example:
        >>> [metric.label for metric in bind(["gleu", "m2(beta=1.0)"])]
        ['gleu', 'm2(beta=1.0)']
    """
    items = (
        [metrics]
        if isinstance(metrics, str | Metric | NamedMetric)
        else as_items(metrics, "metric", _EXPECTED)
    )
    if not items:
        raise InputError("metric is an empty list; give at least one metric.")
    runtime = runtime.bound()
    bound = []
    for number, item in enumerate(items):
        named = as_named(item, "metric" if len(items) == 1 else f"metric[{number}]")
        if not isinstance(named, BoundMetric):
            named = BoundMetric.of(named.metric, runtime, named.tuned, named.original)
        bound.append(named)
    return bound


def bind_one(metric: AnyMetric, runtime: Runtime = Runtime()) -> BoundMetric:
    """Return one metric, bound; see `bind`."""
    [bound] = bind([metric], runtime)
    return bound


def as_named(metric: object, argument: str = "metric") -> NamedMetric:
    """Return a metric under its name, without opening anything.

    Args:
        metric: a metric's name, a metric, or a named one.
        argument: the argument's name, for the message.

    Raises:
        InputError: it is none of them.
        BadNameError, UnknownNameError: no metric has this name.
    """
    if isinstance(metric, NamedMetric):
        return metric
    if isinstance(metric, Metric):
        return NamedMetric(metric)
    if isinstance(metric, str):
        return read_name(metric)
    raise InputError(
        f"{argument} is {metric!r}; one metric, or its name such as 'gleu', was expected."
    )


def shared_statistics(
    metrics: Sequence[BoundMetric], compute: Callable[[BoundMetric], _Computed]
) -> Iterator[tuple[BoundMetric, _Computed]]:
    """Yield each metric with its statistics, computed once for metrics whose statistics are equal.

    For example, `m2` and `sentm2` differ only in `aggregate`, so the edits are extracted once. Statistics are
    held in memory no longer than for the last metric that shares them.

    Args:
        metrics: the metrics.
        compute: a function from a metric to its statistics, such as of several systems.
    """
    keys = [metric.metric.for_statistics for metric in metrics]
    left = Counter(keys)
    shared: dict[Metric, _Computed] = {}
    for metric, key in zip(metrics, keys, strict=True):
        statistics = shared.pop(key) if key in shared else compute(metric)
        left[key] -= 1
        if left[key]:
            shared[key] = statistics
        yield metric, statistics


# -- the entrance ----------------------------------------------------------------------------------


# `str` is a sequence of `str`, and a mapping is a sequence of its keys: the first signature that fits counts.
@overload
def score(  # type: ignore[overload-overlap]
    metric: AnyMetric,
    sources: Sentences,
    hypotheses: Systems,
    references: ReferenceRows | None = None,
    *,
    runtime: Runtime = Runtime(),
) -> Scores[Score]: ...


@overload
def score(  # type: ignore[overload-overlap]
    metric: AnyMetric,
    sources: Sentences,
    hypotheses: Sentences,
    references: ReferenceRows | None = None,
    *,
    runtime: Runtime = Runtime(),
) -> Score: ...


@overload
def score(
    metric: Sequence[AnyMetric],
    sources: Sentences,
    hypotheses: Systems,
    references: ReferenceRows | None = None,
    *,
    runtime: Runtime = Runtime(),
) -> Scores[Scores[Score]]: ...


@overload
def score(
    metric: Sequence[AnyMetric],
    sources: Sentences,
    hypotheses: Sentences,
    references: ReferenceRows | None = None,
    *,
    runtime: Runtime = Runtime(),
) -> Scores[Score]: ...


def score(
    metric: AnyMetric | Sequence[AnyMetric],
    sources: Sentences,
    hypotheses: Sentences | Systems,
    references: ReferenceRows | None = None,
    *,
    runtime: Runtime = Runtime(),
) -> Score | Scores[Score] | Scores[Scores[Score]]:
    """Score one system or several, with one metric or several.

    Args:
        metric: a metric's name such as `gleu` or `m2(beta=1.0)`, a `Metric`, or a list of them.
        sources: N texts, one sentence each, tokens separated by spaces: any sequence of `str`.
        hypotheses: one system's N texts, or several systems' by name.
        references: each sentence's texts, `[[references of a sentence], …]`, or one text for each, or
            `References`, which may hold gold edits; `None` for metrics that need none.
        runtime: how to run.

    Returns:
        A `Score`; for several systems, their `Scores` by name; for several metrics, each metric's result by
        its name as given (for a `Metric`, its label).

    Raises:
        BadNameError: no metric has this name, or it lacks a parameter that the name gives.
        LengthError: sources, hypotheses and references differ in length.
        InputError: an item is not a text, or a metric needs references and none are given; the message names
            the argument and the index.

    Example:
        >>> sources, references = ["He go home ."], [["He goes home ."]]
        >>> score("gleu", sources, ["He goes home ."], references).value
        1.0
        >>> systems = {"ours": ["He goes home ."], "theirs": ["He go home ."]}
        >>> scores = score(["gleu", "length"], sources, systems, references)
        >>> scores["gleu"]["ours"].value, scores["length"]["theirs"].value
        (1.0, 4.0)
    """
    metrics = bind(metric, runtime)
    corpus, several = corpus_for(metrics, sources, hypotheses, references), are_systems(hypotheses)
    scores = score_metrics(metrics, corpus)
    results: list[Score | Scores[Score]] = [
        scores[bound.label] if several else scores[bound.label][ONE] for bound in metrics
    ]
    if isinstance(metric, AnyMetric):
        return results[0]
    names = [
        name if isinstance(name, str) else bound.label
        for name, bound in zip(metric, metrics, strict=True)
    ]
    by_name: dict[str, Any] = dict(zip(names, results, strict=True))
    return Scores(by_name, "metric")


def corpus_for(
    metrics: Sequence[BoundMetric],
    sources: Sentences,
    hypotheses: Sentences | Systems,
    references: ReferenceRows | None = None,
) -> Corpus:
    """Return a user's texts as a corpus that these metrics can score; warn about likely mistakes in it.

    Args:
        metrics: one or more; the first one's runtime says how texts are tokenised.
        sources: N texts.
        hypotheses: each system's N texts, by its name, or one system's.
        references: `References`, or each sentence's texts.

    Raises:
        LengthError, InputError: see `score`.
    """
    runtime = metrics[0].runtime
    corpus = Corpus.of(sources, hypotheses, references).tokenised(runtime.tokenise)
    check_corpus([bound.metric for bound in metrics], corpus, runtime)
    return corpus


def score_metrics(metrics: Sequence[BoundMetric], corpus: Corpus) -> dict[str, Scores[Score]]:
    """Return the scores of the systems of a corpus by several bound metrics, by the metric's label."""
    for bound in metrics:
        bound.metric.check_references(corpus.references)
    return {
        metric.label: metric.scores(statistics, corpus.references)
        for metric, statistics in shared_statistics(metrics, lambda m: m.compute(corpus))
    }


# -- text that metrics have learned from -------------------------------------------------------------


def count_tuned_on(metric: NamedMetric, sources: Texts) -> int:
    """Return the number of sources on which a metric, or a member of an ensemble, was tuned.

    Example:
        >>> from learnedgec.scoring import bind_one
        >>> count_tuned_on(bind_one("gleu"), ["It was made for all of them ."])
        0
    """
    return count_shared(tuned_on(metric.tuned_names), sources)


def count_shared(hashes: Collection[bytes], sources: Texts) -> int:
    """Return the number of sources whose hashes are among these."""
    return sum(fingerprint(source) in hashes for source in sources) if hashes else 0


def contamination(metric: BoundMetric, tested: str, sources: Texts = ()) -> tuple[str, ...]:
    """Return a warning for each evaluator of a metric that was trained on the test data.

    Datasets are compared by name, and the sources with the hashes in the evaluator's package.

    Args:
        metric: the metric that is tested.
        tested: name of a benchmark or a set of cases, such as `gmeg:fce` or `robustgec:bea19`; empty for
            other texts. A dataset without a part includes all of its parts, and datasets of the same
            sentences are treated as one.
        sources: the sentences on which it is tested.

    Example:
        >>> from learnedgec.scoring import bind_one
        >>> contamination(bind_one("gleu"), "gmeg:fce")
        ()
    """
    warnings = []
    for package in metric.packages:
        shared = [
            data
            for data in package.datasets
            if tested and share_text(_dataset(data), _dataset(tested))
        ]
        if shared:
            warnings.append(
                f"{package.name} was trained on {', '.join(shared)}; its results here are no evidence of how "
                "it judges other texts."
            )
        elif count := count_shared(hashes_of(package.hashes), sources):
            warnings.append(
                f"{package.name} was trained on {count:,} of the {len(sources):,} sentences; its results on "
                "them are no evidence of how it judges other texts."
            )
    return tuple(warnings)


def _dataset(name: str) -> str:
    """Return the dataset of a benchmark: all of GMEG for `gmeg:dev`, JFLEG's dev part for `jfleg:FOLDER`."""
    dataset, _, part = name.partition(":")
    if dataset == "gmeg" and part == "dev":
        return dataset
    if dataset == "jfleg" and part not in ("", "dev", "test"):
        return "jfleg:dev"
    return name
