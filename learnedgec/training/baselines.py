"""Whether a trained head may be trusted: its test results beside those of what needs no training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.runtime import Runtime
from learnedgec.stats.resampling import interval, resample
from learnedgec.training.evaluate import CHANCE, Figures, HeadTest, head_test, main_figure, predict
from learnedgec.training.examples import Example
from learnedgec.types import Floats

_RESAMPLES = 1000
# How many examples are drawn at a time, so that memory does not grow with the test part.
_DRAWN = 2_000_000
# Fewer examples have intervals as wide as what separates a good evaluator from a poor one.
_FEW = 100


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the test part says of a head.

    Attributes:
        baselines: `edit-count`, `length` and, where an evaluator was continued, `before`, its output of the
            head's name, or `before (NAME)`, its best output on the dev part -> the main figure.
        trusted: whether the head is better than chance and than each baseline, or as it was before training.
        sentence: the same in words.
    """

    baselines: Mapping[str, float]
    trusted: bool
    sentence: str


def judge_heads(
    evaluator: Evaluator,
    start: Evaluator | None,
    parts: Mapping[str, Sequence[Example]],
    *,
    runtime: Runtime = Runtime(),
) -> dict[str, Verdict]:
    """Return a verdict on each head that has at least four ratings, or a pair, in the test part.

    Args:
        evaluator: the trained evaluator.
        start: the evaluator that was continued, if any.
        parts: part -> its examples.
        runtime: how to run.
    """
    verdicts: dict[str, Verdict] = {}
    for head in evaluator.model.config.heads:
        rated = evaluator.model.config.head(head).rated
        test = head_test(parts["test"], head, rated)
        if test is None:
            continue
        trained = predict(evaluator, test.texts, head, runtime)
        figures = test.figures(trained)
        if main_figure(figures)[1] is None:
            continue
        sources, hypotheses = zip(*test.texts, strict=True)
        values = {
            name: load_metric(name).score(sources, hypotheses).sentences
            for name in ("edit-count", "length")
        }
        if start is not None:
            output, name = head, "before"
            if head not in start.outputs:
                output = _best(start, head_test(parts["dev"], head, rated), runtime)
                name = f"before ({output})"
            values[name] = predict(start, test.texts, output, runtime)
        verdicts[head] = _verdict(head, test, trained, figures, values)
    return verdicts


def _best(start: Evaluator, dev: HeadTest | None, runtime: Runtime) -> str:
    """Return the output that agrees best with a head's dev part."""
    outputs = list(start.outputs)
    if dev is None:
        return outputs[0]
    figures = [main_figure(dev.figures(predict(start, dev.texts, o, runtime)))[1] for o in outputs]
    return outputs[int(np.argmax([figure or 0.0 for figure in figures]))]


def _gains(test: HeadTest, trained: Floats, rival: Floats, chance: float) -> Floats:
    """Return how much better a head is than its rival on each resample of the test part."""
    gains = []
    count = max(1, _DRAWN // test.size)
    for start in range(0, _RESAMPLES, count):
        samples = resample(test.size, min(count, _RESAMPLES - start), seed=start)
        expected = np.nan_to_num(test.resampled(rival, samples), nan=chance)
        gains.append(test.resampled(trained, samples) - expected)
    rounded: Floats = np.concatenate(gains).round(9)
    return rounded


def _verdict(
    head: str, test: HeadTest, trained: Floats, figures: Figures, values: Mapping[str, Floats]
) -> Verdict:
    """Return the verdict on a head with these values on the test part."""
    measure, _ = main_figure(figures)
    # There is a value, so that none of these is missing.
    value, low, high = (float(figures[measure + end] or 0) for end in ("", "_low", "_high"))
    chance = CHANCE[measure]
    whole = np.arange(test.size)[None]
    baselines: dict[str, float] = {}
    gains: dict[str, float] = {}
    rivals: dict[str, Floats] = {}
    for name, scores in values.items():
        baselines[name], negated = (
            float(np.nan_to_num(test.resampled(sign * scores, whole)[0], nan=chance))
            for sign in (1, -1)
        )
        # What counts words may be right the other way round, and equal orders may differ in the last bits.
        gains[name] = round(value - max(baselines[name], negated), 9)
        rivals[name] = -scores if negated > baselines[name] else scores
    best = min(gains, key=gains.__getitem__)
    least, most = interval(_gains(test, trained, rivals[best], chance))
    rival = best.replace("before", "the evaluator that it continues")
    what = "r" if measure == "pearson" else "accuracy"
    about = f"{what} {value:.2f} [{low:.2f}, {high:.2f}] on the test part, n = {test.size}"
    # Adding 0 makes a rounded −0 positive.
    gain = "{:+.2f} [{:+.2f}, {:+.2f}]".format(*np.round((gains[best], least, most), 2) + 0.0)
    # As of a head that is not trained further; rounding differs with the batches.
    unchanged = np.allclose(values.get("before", np.nan), trained, atol=1e-4)
    if low <= chance:
        sentence = f"Do not trust {head}: {about}, is not clearly above chance ({chance:g})."
    elif unchanged:
        sentence = f"{head} stays as it was in the evaluator that it continues: {about}."
    elif gains[best] <= 0:
        how = "worse" if most < 0 else "no better"
        sentence = f"Do not trust {head}: {about}, is {how} than {rival} ({gain})."
    elif least <= 0:
        sentence = f"{head} is better than chance, but not clearly than {rival} ({gain}): {about}."
    elif test.size < _FEW:
        sentence = (
            f"{head} is promising, but test it on more text: {about}; {rival} is behind by {gain}."
        )
    else:
        sentence = f"{head} may be trusted on text like this: {about}; {rival} is behind by {gain}."
    return Verdict(baselines, low > chance and (unchanged or gains[best] > 0), sentence)
