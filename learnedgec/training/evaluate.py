"""The quality of an evaluator on a part of its data, and whether its heads may be trusted.

The results are correlations with ratings, and the share of pairs in the right order. On the test part, a head
is compared with baselines that need no training.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, permutations
from typing import Any, Literal, NamedTuple

import numpy as np

from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.evaluators.inference import sentence_vectors
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.runtime import Runtime
from learnedgec.stats.correlation import pearson, spearman
from learnedgec.stats.resampling import (
    interval,
    resample_groups,
    share_over_groups,
    widened,
)
from learnedgec.training.examples import MIN_TESTED, Example, Examples
from learnedgec.types import Floats, Indices

Figures = dict[str, float | int | None]

# The value of each main figure by chance.
_CHANCE = {"pearson": 0.0, "accuracy": 0.5}
# The number of ratings or pairs of all resamples that are taken at once.
_AT_ONCE = 1_000_000
# With fewer examples, intervals are as wide as the distance between a good and a poor evaluator.
_FEW = 100
# The number of training examples that the ridge regression learns from at most.
_RIDGE = 1000


@dataclass(frozen=True)
class HeadTest:
    """The values of a head, and the targets, with which the head is tested on some examples.

    Attributes:
        texts: N pairs of source and hypothesis.
        ratings: float64 (N,), or `None` where pairs are compared.
        pairs: int (P, 2), the places of the better and the worse text of each pair.
        sources: the source of each rating, or of each pair. What belongs to one source is not independent,
            so intervals come from resamples of sources.
    """

    texts: Sequence[Sequence[str]]
    ratings: Floats | None
    pairs: Indices
    sources: Sequence[str]

    @property
    def size(self) -> int:
        """The number of ratings or pairs."""
        return len(self.sources)

    @cached_property
    def groups(self) -> int:
        """The number of sources."""
        return len(set(self.sources))

    def doubt(self, values: Floats) -> str | None:
        """Return why the values of the texts say nothing about a head, `None` if they say something."""
        kind = "pairs" if self.ratings is None else "ratings"
        if self.groups < MIN_TESTED:
            sources = f"{self.groups} source{'s' * (self.groups > 1)}"
            return f"its {kind} come from {sources}, and a test needs {MIN_TESTED}"
        if self.ratings is not None and np.ptp(self.ratings) == 0:
            return f"all its ratings are {self.ratings[0]:g}"
        if not np.isfinite(values).all():
            return "some of its predictions are not finite numbers"
        if np.ptp(values) == 0:
            return "all its predictions are equal"
        return None

    def figures(self, values: Floats) -> Figures:
        """Return the results of the values of the texts."""
        counts: Figures = {"n": self.size, "sources": self.groups}
        statistic = self.statistic(values)
        value = float(statistic(np.arange(self.size)))
        if self.ratings is None:
            low, high = share_over_groups(self._right(values), self.sources)
            return {"accuracy": value, "accuracy_low": low, "accuracy_high": high, **counts}
        if self.size < MIN_TESTED or np.isnan(value):
            return {"pearson": None, "spearman": None, **counts}
        low, high = -1.0, 1.0
        if self.groups >= MIN_TESTED:
            level = widened(0.95, self.groups)
            low, high = interval(self.resampled(statistic), level, possible=(low, high))
        return {
            "pearson": value,
            "pearson_low": low,
            "pearson_high": high,
            "spearman": float(spearman(values, self.ratings)),
            **counts,
        }

    def statistic(self, values: Floats) -> Callable[[Indices], Floats]:
        """Return the main figure as a function of the ratings or pairs that it is computed on.

        The function takes their places, int (…, L), and returns an array, float64 (…).
        """
        if (ratings := self.ratings) is not None:
            return lambda rows: pearson(values[rows], ratings[rows])
        right = self._right(values)
        return lambda rows: np.asarray(right[rows].mean(axis=-1))

    def resampled(self, statistic: Callable[[Indices], Floats]) -> Floats:
        """Return a statistic on each resample of sources, float64 (R,); resamples of one length at once."""
        drawn = list(resample_groups(self.sources))
        of_length: dict[int, list[int]] = {}
        for number, rows in enumerate(drawn):
            of_length.setdefault(len(rows), []).append(number)
        values = np.empty(len(drawn))
        for length, numbers in of_length.items():
            size = max(_AT_ONCE // length, 1)
            for part in (numbers[start : start + size] for start in range(0, len(numbers), size)):
                values[part] = statistic(np.stack([drawn[number] for number in part]))
        return values

    def _right(self, values: Floats) -> Floats:
        right: Floats = np.greater(*values[self.pairs].T).astype(float)
        return right


def head_test(examples: Iterable[Example], head: str, rated: bool) -> HeadTest | None:
    """Return what a head is tested with, `None` if the examples have nothing for it.

    Args:
        examples: examples of one part of the data.
        head: its name.
        rated: whether its values agree with ratings, rather than with their order within each source.
    """
    rows = [example for example in examples if head in example.ranked]
    if rows:
        texts = [text for example in rows for text in example.texts[:2]]
        pairs = np.arange(len(texts)).reshape(-1, 2)
        return HeadTest(texts, None, pairs, [row.source for row in rows])
    rows = [example for example in examples if head in example.values]
    if not rows:
        return None
    texts = [row.texts[0] for row in rows]
    ratings = np.array([example.values[head] for example in rows])
    sources = [row.source for row in rows]
    places: dict[str, list[int]] = {}
    for place, source in enumerate(sources):
        places.setdefault(source, []).append(place)
    # The better and the worse text of each pair within a source.
    ordered = [
        pair
        for members in places.values()
        for pair in (() if rated else permutations(members, 2))
        if ratings[pair[0]] > ratings[pair[1]]
    ]
    pairs = np.array(ordered, dtype=int).reshape(-1, 2)
    if ordered:
        return HeadTest(texts, None, pairs, [sources[better] for better, _ in ordered])
    return HeadTest(texts, ratings, pairs, sources)


class HeadResult(NamedTuple):
    """A head's test on one part of the data, its values of the texts there, and the figures of these."""

    test: HeadTest
    values: Floats
    figures: Figures


def evaluate(
    evaluator: Evaluator,
    examples: Iterable[Example],
    *,
    heads: Collection[str] | None = None,
    runtime: Runtime = Runtime(),
) -> dict[str, HeadResult]:
    """Return the results of heads on some examples.

    The figures of a head with ratings are `pearson` with its 95 % interval, `spearman`, the number of ratings
    `n` and that of their `sources`. These correlations are `None` for fewer than four ratings, and where all
    ratings or all predictions are equal. The figures of a head with ranked pairs are `accuracy`, the share of
    pairs whose better text gets the higher value, with its 95 % interval (`share_over_groups`), `n` and
    `sources`. If the examples have only ratings for such a head, its pairs are all texts of one source with
    different ratings. Intervals come from resamples of sources, because what belongs to one source is not
    independent; of r from fewer than four sources it is -1 to 1. A head without ratings or pairs among the
    examples is left out.

    Args:
        evaluator: the trained evaluator.
        examples: examples of one part of the data.
        heads: names of the heads; all by default.
        runtime: how to run.
    """
    results: dict[str, HeadResult] = {}
    for head, config in evaluator.model.head_configs.items():
        wanted = heads is None or head in heads
        test = head_test(examples, head, config.rated) if wanted else None
        if test is not None:
            values = predict(evaluator, test.texts, head, runtime)
            results[head] = HeadResult(test, values, test.figures(values))
    return results


def predictions(results: Mapping[str, HeadResult]) -> Iterator[dict[str, Any]]:
    """Yield the values of each head for each rated text, with its rating, or for each ranked pair."""
    for head, (test, values, _) in results.items():
        for better, worse in test.pairs if test.ratings is None else ():
            source, text = test.texts[better]
            row = {"head": head, "source": source, "better": text, "worse": test.texts[worse][1]}
            yield row | {"values": [float(values[better]), float(values[worse])]}
        for place, rating in enumerate(() if test.ratings is None else test.ratings.tolist()):
            source, hypothesis = test.texts[place]
            row = {"head": head, "source": source, "hypothesis": hypothesis}
            yield row | {"rating": rating, "value": float(values[place])}


def main_figure(figures: Figures) -> tuple[str, float | None]:
    """Return the name and the value of the figure that a head's results are compared by.

    Example:
        >>> main_figure({"pearson": 0.8, "spearman": 0.7, "n": 90})
        ('pearson', 0.8)
    """
    name = "accuracy" if "accuracy" in figures else "pearson"
    return name, figures[name]


def warnings_about(results: Mapping[str, Figures], heads: Iterable[str] = ()) -> tuple[str, ...]:
    """Return a warning for each head that predicts no better than chance, or has no result.

    Args:
        results: head -> its figures on the dev part (`evaluate`).
        heads: heads with ratings or pairs in any part.

    Example:
        >>> warnings_about({"fluency": {"pearson": 0.8, "n": 90}, "quality": {"accuracy": 0.9, "n": 90}})
        ()
        >>> warnings_about({}, ["style"])[0][:55]
        'style has no result on the dev part (n = 0), so that no'
    """
    warnings = []
    by_chance: dict[str, list[str]] = {}
    for head in dict.fromkeys((*results, *heads)):
        figures = results.get(head, {"pearson": None, "n": 0})
        name, value = main_figure(figures)
        if value is None:
            is_constant = (figures["n"] or 0) >= MIN_TESTED
            reason = ": all ratings or all predictions are equal" if is_constant else ""
            warnings.append(
                f"{head} has no result on the dev part (n = {figures['n']}{reason}), so that no checkpoint "
                "is chosen by it; add ratings."
            )
        elif value <= _CHANCE[name]:
            by_chance.setdefault(name, []).append(f"{head} {value:.2f} (n = {figures['n']})")
    for name, heads_with_value in by_chance.items():
        warnings.append(
            f"On the dev part, {name} is no better than chance: {', '.join(heads_with_value)}. A head needs "
            "a thousand judgements or more; with these, train with a higher --model.learning_rate (untrained "
            "heads on a frozen encoder need about 2e-4) or for more epochs (--trainer.max_epochs)."
        )
    return tuple(warnings)


def predict(
    evaluator: Evaluator, texts: Sequence[Sequence[str]], head: str, runtime: Runtime
) -> Floats:
    """Return an output's value of each pair of source and hypothesis, float64 (N,).

    Args:
        evaluator: the evaluator.
        texts: N pairs of source and hypothesis.
        head: name of the output.
        runtime: how to run.
    """
    if not texts:
        return np.empty(0)
    sources, hypotheses = zip(*texts, strict=True)
    return evaluator.predict(sources, hypotheses, [head], runtime=runtime)[head]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The results of a head on the test part.

    Attributes:
        baselines: `edit-count`, `length`, `ridge` (a ridge regression on the untrained encoder's vectors) or,
            where an evaluator was continued, `before`, its output of the head's name, or `before (NAME)`, its
            best output on the dev part -> the main figure; none if nothing can be tested.
        word: `trusted` if the head is clearly better than chance and than each baseline, on a hundred test
            examples or more; `promising` if it is so on fewer; else `not trusted`.
        sentence: the same in a sentence, with the figures.
        trusted: whether the word is `trusted`.
    """

    baselines: Mapping[str, float]
    word: Literal["trusted", "promising", "not trusted"]
    sentence: str
    trusted: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "trusted", self.word == "trusted")


class Judgement(NamedTuple):
    """An evaluator's results, part -> head -> result, and the verdict on each head that can have one."""

    results: dict[str, dict[str, HeadResult]]
    verdicts: dict[str, Verdict]

    @property
    def figures(self) -> dict[str, dict[str, Figures]]:
        """The figures of each head on each part."""
        return {
            part: {head: result.figures for head, result in heads.items()}
            for part, heads in self.results.items()
        }


def judge_heads(
    evaluator: Evaluator,
    start: Evaluator | None,
    parts: Mapping[str, Examples],
    *,
    heads: Collection[str] | None = None,
    encoder: str | None = None,
    runtime: Runtime = Runtime(),
) -> Judgement:
    """Evaluate heads on the dev and the test part, and judge by the test part whether to trust them.

    Args:
        evaluator: the trained evaluator.
        start: the evaluator that was continued, if any.
        parts: part -> its examples.
        heads: names of the heads that were trained; all by default.
        encoder: name of the pretrained encoder, for the baseline `ridge`; without a name there is none.
        runtime: how to run.
    """
    results = {
        part: evaluate(evaluator, parts[part], heads=heads, runtime=runtime)
        for part in ("dev", "test")
    }
    verdicts: dict[str, Verdict] = {}
    for head in _judged_heads(evaluator, parts, heads):
        config = evaluator.model.head_configs[head]
        result = results["test"].get(head)
        doubt = result.test.doubt(result.values) if result else "it has no ratings or pairs there"
        if result is None or doubt:
            sentence = f"{head} is not trusted: the test part cannot test it, because {doubt}."
            verdicts[head] = Verdict({}, "not trusted", sentence)
            continue
        texts = result.test.texts
        values = _simple_baselines(texts)
        if start is not None:
            output, name = head, "before"
            if head not in start.outputs:
                output = _best(start, results["dev"].get(head), runtime)
                name = f"before ({output})"
            values[name] = predict(start, texts, output, runtime)
        if encoder is not None:
            own = (row for row in parts["train"] if head in row.values or head in row.ranked)
            if train := head_test(list(islice(own, _RIDGE)), head, config.rated):
                values["ridge"] = _ridge(encoder, train, texts, config.input == "pair", runtime)
        verdict = _verdict(head, result, values)
        if verdict.trusted and config.input == "hypothesis":
            blind = " It reads the hypothesis alone: a fluent text of another meaning may score as high."
            verdict = replace(verdict, sentence=verdict.sentence + blind)
        verdicts[head] = verdict
    return Judgement(results, verdicts)


def _judged_heads(
    evaluator: Evaluator, parts: Mapping[str, Examples], heads: Collection[str] | None
) -> list[str]:
    """Return the trained heads that have ratings or pairs in any part, except for those for capitals.

    Whoever counts changed letters orders the pairs of a head for capitals without a mistake.
    """
    taught = {
        head
        for examples in parts.values()
        for kind, head in examples.numbers
        if kind in ("ratings", "pairs") and (heads is None or head in heads)
    }
    configs = evaluator.model.head_configs.items()
    return [head for head, config in configs if head in taught and config.reads != "capitals"]


def _simple_baselines(texts: Sequence[Sequence[str]]) -> dict[str, Floats]:
    """Return the scores of texts by the metrics that need no model, by name."""
    sources, hypotheses = zip(*texts, strict=True)
    return {
        metric.name: metric.sentence_scores(metric.statistics(sources, hypotheses))
        for metric in map(load_metric, ("edit-count", "length"))
    }


def _ridge(
    encoder: str, train: HeadTest, texts: Sequence[Sequence[str]], both: bool, runtime: Runtime
) -> Floats:
    """Return what a ridge regression on vectors of an untrained encoder predicts for N texts, float64 (N,).

    It learns ratings, or that the better text of a pair is 1 above the worse one. It reads the source beside
    the hypothesis if `both` is true.
    """
    from sklearn.linear_model import RidgeCV

    sources, hypotheses = zip(*train.texts, *texts, strict=True)
    vectors = sentence_vectors(encoder, hypotheses, runtime)
    if both:
        change = np.abs(vectors - sentence_vectors(encoder, sources, runtime))
        vectors = np.hstack([vectors, change])
    learned, tested = np.split(vectors, [len(train.texts)])
    if (values := train.ratings) is None:
        learned, values = np.subtract(*learned[train.pairs.T]), np.ones(len(train.pairs))
    regression = RidgeCV(np.logspace(-3, 3, 7), fit_intercept=train.ratings is not None)
    predicted: Floats = regression.fit(learned, values).predict(tested)
    return predicted


def _best(start: Evaluator, dev: HeadResult | None, runtime: Runtime) -> str:
    """Return the output that agrees best with a head's dev part."""
    outputs = list(start.outputs)
    if dev is None:
        return outputs[0]
    test = dev.test
    whole = np.arange(test.size)
    figures = [test.statistic(predict(start, test.texts, o, runtime))(whole) for o in outputs]
    return outputs[int(np.argmax(np.nan_to_num(figures, nan=-np.inf)))]


def baseline_in_words(name: str) -> str:
    """Return what a baseline of a verdict is, for sentences.

    Example:
        >>> baseline_in_words("before (fluency)")
        "the head 'fluency' of the evaluator that it continues"
    """
    kind, _, output = name.partition(" ")
    head = f"the head {output[1:-1]!r} of " if output else ""
    return {
        "before": f"{head}the evaluator that it continues",
        "ridge": "a ridge regression on vectors of the untrained encoder",
    }.get(kind, name)


def _gain_in_words(*numbers: float) -> str:
    """Return a gain and its interval with two digits, or with three if two digits would show as 0.

    Example:
        >>> _gain_in_words(0.031, -0.02, 0.08), _gain_in_words(0.012, 0.004, 0.02)
        ('+0.03 [-0.02, +0.08]', '+0.012 [+0.004, +0.020]')
    """
    digits = 3 if any(0 < abs(number) < 0.005 for number in numbers) else 2
    # Adding 0 makes a rounded −0 positive.
    shown = [f"{round(number, digits) + 0.0:+.{digits}f}" for number in numbers]
    return "{} [{}, {}]".format(*shown)


def _verdict(head: str, result: HeadResult, values: Mapping[str, Floats]) -> Verdict:
    """Return the verdict on a head with this result on the test part, beside the baselines' values."""
    test, trained, figures = result
    measure, _ = main_figure(figures)
    # All these figures exist if the test can test the head.
    value, low, high = (float(figures[measure + end] or 0) for end in ("", "_low", "_high"))
    chance = _CHANCE[measure]
    whole = np.arange(test.size)
    statistic = test.statistic(trained)

    def figure(scores: Floats) -> float:
        return float(np.nan_to_num(test.statistic(scores)(whole), nan=chance))

    # A count of words may be right in the opposite direction.
    rivals = {name: max(scores, -scores, key=figure) for name, scores in values.items()}
    # Equal orders may differ in the last bits.
    gains = {name: round(value - figure(scores), 9) for name, scores in rivals.items()}
    best = min(gains, key=gains.__getitem__)
    rival_statistic = test.statistic(rivals[best])
    drawn = test.resampled(
        lambda rows: statistic(rows) - np.nan_to_num(rival_statistic(rows), nan=chance)
    )
    least, most = interval(np.round(drawn, 9), widened(0.95, test.groups))
    name = "r" if measure == "pearson" else "accuracy"
    rival = baseline_in_words(best)
    if rivals[best] is not values[best]:
        rival += f" counted the other way round, with {name} {figure(rivals[best]):.2f}"
    about = f"{name} {value:.2f} [{low:.2f}, {high:.2f}] on the test part, n = {test.size}"
    if test.groups < test.size:
        about += f" from {test.groups} sources"
    gain = _gain_in_words(gains[best], least, most)
    ahead = f"{about}, ahead of {rival} by {gain}."
    word: Literal["trusted", "promising", "not trusted"] = "not trusted"
    if low <= chance:
        reason = f"{about}, is not clearly above chance ({chance:g})."
    elif gains[best] <= 0:
        relation = "worse" if most < 0 else "no better"
        reason = f"{about}, is {relation} than {rival} ({gain})."
    elif least <= 0:
        reason = f"it is better than chance, but perhaps no better than {rival} ({gain}): {about}."
    elif test.size >= _FEW:
        word, reason = "trusted", f"on text like this, {ahead}"
    else:
        word, reason = "promising", f"test it on more text; {ahead}"
    baselines = {name: figure(scores) for name, scores in values.items()}
    return Verdict(baselines, word, f"{head} is {word}: {reason}")
