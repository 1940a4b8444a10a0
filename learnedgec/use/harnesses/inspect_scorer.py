"""Any metric as a scorer of inspect-ai: for each sample by itself and, as `corpus`, for all of them together.

    from learnedgec.use.harnesses.inspect_scorer import correction

    Task(dataset=…, solver=generate(), scorer=[correction("impara"), correction("gleu")])

Where samples have several epochs, inspect-ai keeps the correction of one epoch, which `corpus` scores.
"""

from __future__ import annotations

import asyncio
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

from learnedgec.errors import MissingDependencyError
from learnedgec.use.harnesses.adapter import Submission, adapter

try:
    from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
    from inspect_ai.solver import TaskState
except ImportError as error:
    raise MissingDependencyError(str(error.name), "inspect-ai", "a scorer of inspect-ai") from None

__all__ = ["corpus", "correction"]


@metric  # type: ignore[untyped-decorator]
def corpus() -> Metric:
    """Return the metric of inspect-ai that scores all corrections together, in one batch."""

    def score(scores: list[SampleScore]) -> float:
        kept = [each.score.metadata for each in scores]
        if not kept:
            return math.nan
        return adapter(kept[0]["metric"]).score([Submission(**each["pair"]) for each in kept]).value

    return score


@scorer(metrics=[corpus()])  # type: ignore[untyped-decorator]
def correction(by: str, source: str = "input", references: str = "target") -> Scorer:
    """Return a scorer by the metric `by`; a key is `input`, `target` or one of the samples' metadata."""
    found = adapter(by, source=source, references=references)
    # Models keep answering while a sample is scored, and no two samples are scored at a time.
    thread = ThreadPoolExecutor(max_workers=1)

    async def score(state: TaskState, target: Target) -> Score:
        document = {**state.metadata, "input": state.input_text, "target": list(target)}
        pair = found.read(document, state.output.completion)
        value = await asyncio.get_running_loop().run_in_executor(thread, found.score, [pair])
        kept = {"metric": str(found.metric), "pair": asdict(pair)}
        return Score(value=value.value, answer=pair.text, metadata=kept)

    return score
