"""Requests that share a step get the scores that they would get alone; too many are refused; none is lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from embedded import Sample
from hypothesis import given, settings
from hypothesis import strategies as st

from learnedgec.arrays import Floats
from learnedgec.errors import ConfigError, InputError
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.references import Reference, References
from learnedgec.metrics.base import Metric
from learnedgec.metrics.registry import load_metric
from learnedgec.metrics.statistics import Statistics
from learnedgec.use.microbatches import (
    Asked,
    Limits,
    MicroBatcher,
    OverloadedError,
    StoppedError,
    score_together,
)


@dataclass(frozen=True)
class Gated(Metric):
    """The number of sentences that shared the call, once a test lets it go on; `bad` ones raise."""

    name: ClassVar[str] = "gated"
    needs_references: ClassVar[bool] = False
    entered: ClassVar[threading.Semaphore]
    gate: ClassVar[threading.Semaphore]

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        type(self).entered.release()
        assert type(self).gate.acquire(timeout=30)
        if any(text.startswith("bad") for text in hypotheses):
            raise InputError("a bad one.")
        return Statistics({"size": np.full(len(sources), float(len(sources)))})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        return statistics["size"]


@pytest.fixture
def gated() -> Gated:
    Gated.entered, Gated.gate = threading.Semaphore(0), threading.Semaphore(0)
    return Gated()


def asked(metric: Metric, *texts: str) -> Asked:
    return Asked((metric,), texts, texts)


async def entered() -> None:
    assert await asyncio.to_thread(Gated.entered.acquire, timeout=30)


TEXTS = ["He go home .", "He goes home .", "", "Yes .", "She like cats .", "a b c d e f g"]


@settings(max_examples=40)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(TEXTS),
            st.sampled_from(TEXTS),
            st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3),
        ),
        min_size=1,
        max_size=12,
    ),
    cuts=st.lists(st.integers(1, 4), min_size=12, max_size=12),
)
def test_scores_do_not_depend_on_who_shares_a_step(
    rows: list[tuple[str, str, list[str]]], cuts: list[int]
) -> None:
    metrics = tuple(
        map(load_metric, ("gleu", "m2", "sentm2", "length", "ensemble(gleu=1, hter=2)"))
    )
    requests, start = [], 0
    for size in cuts:
        part = rows[start : start + size]
        start += size
        if part:
            references = References(tuple(tuple(map(Reference, row[2])) for row in part))
            requests.append(
                Asked(metrics, [row[0] for row in part], [row[1] for row in part], references)
            )
    together = score_together(requests)
    for request, found in zip(requests, together, strict=True):
        assert isinstance(found, dict)
        for metric in metrics:
            alone = metric.score(request.sources, request.hypotheses, request.references)
            assert found[metric].value == alone.value
            assert found[metric].sentences.tolist() == alone.sentences.tolist()
            assert found[metric].details == pytest.approx(alone.details, nan_ok=True)
            assert found[metric].signature == alone.signature


def test_learned_scores_are_the_librarys(tiny_evaluator: Path, sample: Sample) -> None:
    some = load_metric(f"some(model={str(tiny_evaluator)!r})")
    errant = load_metric("errant(annotator='en-ewt-sm')")
    systems = list(sample.systems.values())
    requests = [
        Asked((some, errant) if number % 2 else (some,), [source], [system[number]], references)
        for number, source in enumerate(sample.sources)
        for system in systems
        for references in [References((sample.references[number],))]
    ]

    async def all_at_once() -> tuple[list[dict[Metric, object]], int]:
        async with MicroBatcher(Limits(step_tokens=300)) as batcher:
            found = await asyncio.gather(*map(batcher.scores, requests))
            return found, len(batcher.steps)

    found, steps = asyncio.run(all_at_once())
    assert 1 < steps < len(requests)
    for request, scores in zip(requests, found, strict=True):
        assert list(scores) == list(request.metrics)
        for metric in request.metrics:
            alone = metric.score(request.sources, request.hypotheses, request.references)
            assert scores[metric].sentences == pytest.approx(alone.sentences, abs=1e-5)  # type: ignore[attr-defined]


def test_metrics_that_look_at_whole_systems_see_one_request(sample: Sample) -> None:
    """GoToScorer's weights come from what is scored together: another request must not change them."""
    scorer = load_metric("gotoscorer")
    first, second = list(sample.systems.values())[:2]
    requests = [
        Asked((scorer,), sample.sources, system, sample.references) for system in (first, second)
    ]
    for request, found in zip(requests, score_together(requests), strict=True):
        assert isinstance(found, dict)
        alone = scorer.score(request.sources, request.hypotheses, request.references)
        assert found[scorer].sentences.tolist() == alone.sentences.tolist()


def test_an_error_is_that_of_its_request_alone(gated: Gated) -> None:
    for _ in range(4):
        Gated.gate.release()
    good, bad, other = score_together([asked(gated, "a"), asked(gated, "bad"), asked(gated, "b")])
    assert isinstance(bad, InputError)
    assert isinstance(good, dict)
    assert isinstance(other, dict)
    assert good[gated].value == other[gated].value == 1


def test_what_waits_shares_the_next_step(gated: Gated) -> None:
    async def run() -> list[float]:
        async with MicroBatcher(Limits(delay_ms=0, step_tokens=8)) as batcher:
            first = asyncio.create_task(batcher.scores(asked(gated, "a")))
            await entered()
            # Of two tokens each: four fill a step.
            rest = [asyncio.create_task(batcher.scores(asked(gated, text))) for text in "bcdefg"]
            for _ in range(3):
                Gated.gate.release()
            found = await asyncio.gather(first, *rest)
            assert [step.requests for step in batcher.steps] == [1, 4, 2]
            return [scores[gated].value for scores in found]

    assert asyncio.run(run()) == [1, 4, 4, 4, 4, 2, 2]


def test_a_request_waits_for_others_no_longer_than_the_delay() -> None:
    async def run() -> list[int]:
        async with MicroBatcher(Limits(delay_ms=50)) as batcher:
            metric = load_metric("length")
            await asyncio.gather(*(batcher.scores(asked(metric, text)) for text in "abc"))
            await batcher.scores(asked(metric, "d"))
            return [step.requests for step in batcher.steps]

    assert asyncio.run(run()) == [3, 1]


def test_overload_is_refused_and_passes(gated: Gated) -> None:
    async def run() -> None:
        async with MicroBatcher(Limits(delay_ms=0, waiting_tokens=4)) as batcher:
            first = asyncio.create_task(batcher.scores(asked(gated, "a")))
            await entered()
            # One that finds nothing waiting is taken, however large.
            large = asyncio.create_task(batcher.scores(asked(gated, *"bcdefg")))
            while not batcher.waiting_tokens:
                await asyncio.sleep(0)
            with pytest.raises(
                OverloadedError, match="about 12 tokens are waiting and at most 4"
            ) as no:
                await batcher.scores(asked(gated, "h"))
            assert no.value.retry_after == 1
            Gated.gate.release()
            Gated.gate.release()
            assert (await first)[gated].value == 1
            assert (await large)[gated].value == 6
            Gated.gate.release()
            assert (await batcher.scores(asked(gated, "h")))[gated].value == 1

    asyncio.run(run())


def test_the_end_finishes_what_was_taken_and_takes_nothing_more(gated: Gated) -> None:
    async def run() -> list[float]:
        batcher = MicroBatcher(Limits(delay_ms=10_000))
        await batcher.__aenter__()
        tasks = [asyncio.create_task(batcher.scores(asked(gated, "a")))]
        while not batcher.waiting_tokens:
            await asyncio.sleep(0)
        end = asyncio.create_task(batcher.__aexit__(None, None, None))
        await entered()
        assert batcher.is_working
        assert not batcher.is_open
        with pytest.raises(StoppedError):
            await batcher.scores(asked(gated, "late"))
        Gated.gate.release()
        found = await asyncio.gather(*tasks)
        await end
        assert not batcher.is_working
        return [scores[gated].value for scores in found]

    assert asyncio.run(run()) == [1]


def test_who_has_left_is_not_scored(gated: Gated) -> None:
    async def run() -> list[int]:
        async with MicroBatcher(Limits(delay_ms=0)) as batcher:
            first = asyncio.create_task(batcher.scores(asked(gated, "a")))
            await entered()
            left = asyncio.create_task(batcher.scores(asked(gated, "b")))
            while not batcher.waiting_tokens:
                await asyncio.sleep(0)
            left.cancel()
            await asyncio.gather(left, return_exceptions=True)
            Gated.gate.release()
            await first
        return [step.requests for step in batcher.steps]

    assert asyncio.run(run()) == [1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step_tokens": 0}, "step_tokens is 0; give 1 or more."),
        ({"delay_ms": -1.0}, "delay_ms is -1; give milliseconds from 0 to below 60000."),
        ({"delay_ms": float("nan")}, "delay_ms is nan; give milliseconds from 0 to below 60000."),
    ],
)
def test_limits_that_cannot_be(options: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        Limits(**options)  # type: ignore[arg-type]
    assert str(error.value) == message
