"""Evaluate an evaluator on a part of its data: correlations, and the share of pairs in the right order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.runtime.runtime import Runtime
from learnedgec.stats.correlation import pearson
from learnedgec.training.examples import Example
from learnedgec.types import Floats, Indices

Figures = dict[str, float | int | None]
CHANCE = {"pearson": 0.0, "accuracy": 0.5}
"""The value of each main figure that chance gives."""


@dataclass(frozen=True)
class HeadTest:
    """What a head is tested with on some examples.

    Attributes:
        texts: N pairs of source and hypothesis.
        ratings: float64 (N,), or `None` where pairs are compared.
        pairs: int (P, 2), the places of the better and the worse text of each pair.
    """

    texts: Sequence[tuple[str, str]]
    ratings: Floats | None
    pairs: Indices

    @property
    def size(self) -> int:
        """The number of ratings or pairs."""
        return len(self.texts) if self.ratings is not None else len(self.pairs)

    def figures(self, values: Floats) -> Figures:
        """Return the results of the values of the texts."""
        if self.ratings is not None:
            return _correlations(values, self.ratings)
        return _accuracy(int(self._right(values).sum()), len(self.pairs))

    def resampled(self, values: Floats, samples: Indices) -> Floats:
        """Return the main figure on each sample of ratings or pairs."""
        if self.ratings is not None:
            return pearson(values[samples], self.ratings[samples])
        means: Floats = self._right(values)[samples].mean(axis=1)
        return means

    def _right(self, values: Floats) -> Floats:
        right: Floats = np.greater(*values[self.pairs].T).astype(float)
        return right


def head_test(examples: Sequence[Example], head: str, rated: bool) -> HeadTest | None:
    """Return what a head is tested with, `None` if the examples have nothing for it.

    Args:
        examples: examples of one part of the data.
        head: its name.
        rated: whether its values agree with ratings, rather than with their order within each source.
    """
    rows = [example for example in examples if head in example.ranked]
    if rows:
        texts = [text for example in rows for text in example.texts[:2]]
        return HeadTest(texts, None, np.arange(len(texts)).reshape(-1, 2))
    rows = [example for example in examples if head in example.values]
    if not rows:
        return None
    ratings = np.array([example.values[head] for example in rows])
    pairs = np.array([] if rated else _ordered(rows, ratings), dtype=int).reshape(-1, 2)
    return HeadTest([row.texts[0] for row in rows], None if len(pairs) else ratings, pairs)


def evaluate(
    evaluator: Evaluator, examples: Sequence[Example], *, runtime: Runtime = Runtime()
) -> dict[str, Figures]:
    """Return the results of each head on some examples.

    A head with ratings has `pearson` with its 95 % interval (Fisher's), `spearman` and `n`. These
    correlations are `None` for fewer than four ratings or constant predictions. A head with ranked pairs has
    `accuracy`, the share of pairs whose better text gets the higher value, with its 95 % interval (Wilson's),
    and `n`. So has a head that learned the order of ratings within each source (`listwise`), for all pairs of
    differently rated texts of one source. A head without ratings or pairs among the examples is left out.

    Args:
        evaluator: the trained evaluator.
        examples: examples of one part of the data.
        runtime: how to run.
    """
    figures: dict[str, Figures] = {}
    for head in evaluator.model.config.heads:
        test = head_test(examples, head, evaluator.model.config.head(head).rated)
        if test is not None:
            figures[head] = test.figures(predict(evaluator, test.texts, head, runtime))
    return figures


def predictions(
    evaluator: Evaluator, examples: Sequence[Example], *, runtime: Runtime = Runtime()
) -> Iterator[dict[str, Any]]:
    """Yield each head's value for each rated text, with its rating, and its values for each ranked pair.

    Args:
        evaluator: the trained evaluator.
        examples: examples of one part of the data.
        runtime: how to run.
    """
    for head in evaluator.model.config.heads:
        texts = [text for row in examples if head in row.ranked for text in row.texts[:2]]
        values = predict(evaluator, texts, head, runtime).tolist()
        for place in range(0, len(texts), 2):
            (source, better), (_, worse) = texts[place : place + 2]
            row = {"head": head, "source": source, "better": better, "worse": worse}
            yield row | {"values": values[place : place + 2]}
        rated = [example for example in examples if head in example.values]
        texts = [example.texts[0] for example in rated]
        values = predict(evaluator, texts, head, runtime).tolist()
        for example, (source, hypothesis), value in zip(rated, texts, values, strict=True):
            row = {"head": head, "source": source, "hypothesis": hypothesis}
            yield row | {"rating": example.values[head], "value": value}


def main_figure(figures: Figures) -> tuple[str, float | None]:
    """Return the name and the value of the figure that a head's results are compared by.

    Example:
        >>> main_figure({"pearson": 0.8, "spearman": 0.7, "n": 90})
        ('pearson', 0.8)
    """
    name = "accuracy" if "accuracy" in figures else "pearson"
    return name, figures[name]


def warnings_about(results: Mapping[str, Figures]) -> tuple[str, ...]:
    """Return a warning for each head that predicts no better than chance.

    Args:
        results: head -> its results on the dev part (`evaluate`).

    Example:
        >>> warnings_about({"fluency": {"pearson": 0.8, "n": 90}, "quality": {"accuracy": 0.9, "n": 90}})
        ()
    """
    warnings = []
    for head, figures in results.items():
        name, value = main_figure(figures)
        if value is not None and value <= CHANCE[name]:
            warnings.append(
                f"{head} has {name} {value:.2f} on the dev part (n = {figures['n']}), no better than chance; "
                "train with a higher --model.learning_rate (untrained heads on a frozen encoder need "
                "about 2e-4) or for more epochs (--trainer.max_epochs)."
            )
    return tuple(warnings)


def _ordered(examples: Sequence[Example], ratings: Floats) -> list[tuple[int, int]]:
    """Return the places of the better and the worse example of each pair within a source."""
    places: dict[str, list[int]] = {}
    for place, example in enumerate(examples):
        places.setdefault(example.sides[0], []).append(place)
    return [
        pair
        for members in places.values()
        for pair in permutations(members, 2)
        if ratings[pair[0]] > ratings[pair[1]]
    ]


def predict(
    evaluator: Evaluator, texts: Sequence[tuple[str, str]], head: str, runtime: Runtime
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


def _correlations(predicted: Floats, target: Floats) -> Figures:
    from scipy import stats

    if len(target) < 4 or np.ptp(target) == 0 or np.ptp(predicted) == 0:
        return {"pearson": None, "spearman": None, "n": len(target)}
    correlation = stats.pearsonr(predicted, target)
    low, high = correlation.confidence_interval()
    return {
        "pearson": float(correlation.statistic),
        "pearson_low": float(low),
        "pearson_high": float(high),
        "spearman": float(stats.spearmanr(predicted, target).statistic),
        "n": len(target),
    }


def _accuracy(right: int, count: int) -> Figures:
    from scipy import stats

    interval = stats.binomtest(right, count).proportion_ci(method="wilson")
    return {
        "accuracy": right / count,
        "accuracy_low": float(interval.low),
        "accuracy_high": float(interval.high),
        "n": count,
    }
