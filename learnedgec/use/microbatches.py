"""Many small requests, scored together: what arrives within a few milliseconds shares a step.

An encoder scores a hundred sentences in one call far faster than in a hundred calls. The batcher gathers
waiting requests into steps, scores one step at a time in one thread, and returns to each request its own
scores, which are the same as without the other requests. It knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeAlias

from learnedgec.errors import ConfigError, LearnedgecError
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.references import References
from learnedgec.metrics.base import Metric
from learnedgec.metrics.ensemble import Ensemble
from learnedgec.metrics.scores import Score
from learnedgec.metrics.statistics import Statistics

__all__ = ["Asked", "Limits", "MicroBatcher", "OverloadedError", "SharedStep", "StoppedError"]

# A token is about four characters of English; no two metrics cut words alike.
_CHARACTERS_OF_A_TOKEN = 4
# Seconds that a client is asked to stay away for, at most.
_LONGEST_RETRY = 60


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a service, and how it groups requests.

    A token here is four characters of a source, a hypothesis or a reference.

    Attributes:
        request_kib: the largest request, in KiB.
        request_sentences: the most sentences in a request.
        text_characters: the longest text.
        step_tokens: the most tokens that are scored in one step; a larger request has its own step.
        delay_ms: the longest that a request waits for others to share the next step of an idle service.
        waiting_tokens: the most tokens that may wait; further requests are refused until there is room.
    """

    request_kib: int = 1024
    request_sentences: int = 256
    text_characters: int = 4000
    step_tokens: int = 4096
    delay_ms: float = 5.0
    waiting_tokens: int = 65536

    def __post_init__(self) -> None:
        for name in (
            "request_kib",
            "request_sentences",
            "text_characters",
            "step_tokens",
            "waiting_tokens",
        ):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; give 1 or more.")
        if not 0 <= self.delay_ms < 60_000:
            raise ConfigError(
                f"delay_ms is {self.delay_ms:g}; give milliseconds from 0 to below 60000."
            )


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: N sentences, and the metrics to score them with.

    Attributes:
        metrics: all of them have accepted the sentences (`Metric.as_inputs`).
        sources: N texts.
        hypotheses: N texts.
        references: of the N sentences, where a metric needs them.
    """

    metrics: tuple[Metric, ...]
    sources: Sequence[str]
    hypotheses: Sequence[str]
    references: References | None = None

    @property
    def tokens(self) -> int:
        """The size of the request, from its characters."""
        texts = [*self.sources, *self.hypotheses]
        if self.references is not None:
            texts += [reference.text for row in self.references for reference in row]
        return sum(len(text) // _CHARACTERS_OF_A_TOKEN + 1 for text in texts)


Found: TypeAlias = "dict[Metric, Score] | Exception"


@dataclass(frozen=True, slots=True)
class SharedStep:
    """A completed step.

    Attributes:
        requests: number of requests that shared it.
        sentences: number of sentences in these requests.
        seconds: its duration.
    """

    requests: int
    sentences: int
    seconds: float


class OverloadedError(LearnedgecError):
    """A request that is refused because too many tokens are waiting.

    Attributes:
        retry_after: estimated seconds until the waiting requests are done, 1 or more.
        waiting: number of tokens that are waiting.
        limit: maximum number of tokens that may wait.
    """

    def __init__(self, waiting: int, limit: int, retry_after: int) -> None:
        super().__init__(
            f"the service is busy: about {waiting} tokens are waiting and at most {limit} may; try again in "
            f"{retry_after} s."
        )
        self.retry_after = retry_after


class StoppedError(LearnedgecError):
    """The service is shutting down and takes no new requests."""


@dataclass(eq=False, slots=True)
class _Waiting:
    asked: Asked
    tokens: int
    since: float
    found: asyncio.Future[dict[Metric, Score]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class MicroBatcher:
    """Gathers requests into steps and scores one step at a time, in one thread.

    Example:
        >>> from learnedgec import load_metric
        >>> length = load_metric("length")
        >>> async def two() -> list[float]:
        ...     async with MicroBatcher() as batcher:
        ...         asked = [Asked((length,), ["He go ."], [text]) for text in ("He goes .", "He .")]
        ...         found = await asyncio.gather(*map(batcher.scores, asked))
        ...     return [scores[length].value for scores in found]
        >>> asyncio.run(two())
        [3.0, 2.0]
    """

    def __init__(self, limits: Limits = Limits(), runtime: Runtime = Runtime()) -> None:
        self.limits = limits
        self.runtime = runtime
        self.steps: deque[SharedStep] = deque(maxlen=1000)
        """The latest steps; the code that counts them removes them."""
        self.waiting_tokens = 0
        self._waiting: deque[_Waiting] = deque()
        self._changed = asyncio.Event()
        self._stopping = False
        self._speed = math.nan
        self._work: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="scoring")

    async def __aenter__(self) -> MicroBatcher:
        self._work = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Take no further requests, score those that wait, and end."""
        self._stopping = True
        self._changed.set()
        if self._work is not None:
            await self._work
        self._thread.shutdown()

    @property
    def is_working(self) -> bool:
        """Whether requests are scored."""
        return self._work is not None and not self._work.done()

    @property
    def is_open(self) -> bool:
        """Whether new requests are taken."""
        return self.is_working and not self._stopping

    async def scores(self, asked: Asked) -> dict[Metric, Score]:
        """Return the scores by each of a request's metrics, as soon as they are computed.

        Raises:
            OverloadedError: too much is waiting. A request that finds nothing waiting is always taken.
            StoppedError: the service is shutting down.
            LearnedgecError: the sentences cannot be scored.
        """
        if not self.is_open:
            raise StoppedError("the service is shutting down; send the request to another one.")
        tokens = asked.tokens
        if self._waiting and self.waiting_tokens + tokens > self.limits.waiting_tokens:
            raise OverloadedError(
                self.waiting_tokens, self.limits.waiting_tokens, self._retry_after()
            )
        entry = _Waiting(asked, tokens, time.monotonic())
        self._waiting.append(entry)
        self.waiting_tokens += tokens
        self._changed.set()
        return await entry.found

    def _retry_after(self) -> int:
        """Return the seconds in which what is waiting will be done at the latest speed."""
        seconds = self.waiting_tokens / self._speed if self._speed > 0 else 1.0
        return min(max(math.ceil(seconds), 1), _LONGEST_RETRY)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while entries := await self._gather():
            begin = time.monotonic()
            found: Sequence[Found]
            try:
                found = await loop.run_in_executor(
                    self._thread, score_together, [entry.asked for entry in entries], self.runtime
                )
            except Exception as error:
                found = [error] * len(entries)
            seconds = time.monotonic() - begin
            for entry, each in zip(entries, found, strict=True):
                if entry.found.done():
                    continue
                if isinstance(each, Exception):
                    entry.found.set_exception(each)
                else:
                    entry.found.set_result(each)
            speed = sum(entry.tokens for entry in entries) / max(seconds, 1e-6)
            # Of the latest steps, for they differ in how well they fill the encoder.
            self._speed = speed if math.isnan(self._speed) else 0.8 * self._speed + 0.2 * speed
            sentences = sum(len(entry.asked.sources) for entry in entries)
            self.steps.append(SharedStep(len(entries), sentences, seconds))

    async def _gather(self) -> list[_Waiting]:
        """Return the requests of the next step, in the order of their arrival; none at the end."""
        while self._waiting or not self._stopping:
            await self._until_due()
            if entries := self._take():
                return entries
        return []

    async def _until_due(self) -> None:
        """Wait until a step is full, or its first request has waited long enough, or the end has come."""
        while not self._stopping:
            left: float | None = None
            if self._waiting:
                left = self._waiting[0].since + self.limits.delay_ms / 1000 - time.monotonic()
                if left <= 0 or self.waiting_tokens >= self.limits.step_tokens:
                    return
            await self._next_change(left)

    def _take(self) -> list[_Waiting]:
        """Take the requests that fit into a step; at least one, unless none is waiting."""
        entries: list[_Waiting] = []
        room = self.limits.step_tokens
        while self._waiting and (not entries or self._waiting[0].tokens <= room):
            entry = self._waiting.popleft()
            self.waiting_tokens -= entry.tokens
            # A cancelled request no longer waits.
            if not entry.found.done():
                entries.append(entry)
                room -= entry.tokens
        return entries

    async def _next_change(self, seconds: float | None) -> None:
        self._changed.clear()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)


def score_together(requests: Sequence[Asked], runtime: Runtime = Runtime()) -> list[Found]:
    """Return each request's scores, or the error that scoring it raises.

    Metrics with equal statistics share them, and requests share a call. Where a call fails, each of its
    requests is scored by itself, so that an error affects only its own request.
    """
    statistics: list[dict[Metric, Statistics] | Exception] = [{} for _ in requests]
    for metric in dict.fromkeys(
        each.for_statistics for asked in requests for each in asked.metrics
    ):
        numbers = [
            number
            for number, asked in enumerate(requests)
            if metric in {each.for_statistics for each in asked.metrics}
        ]
        groups = [numbers] if _shares_calls(metric) else [[number] for number in numbers]
        for group in groups:
            found = _statistics(metric, [requests[number] for number in group], runtime)
            for number, each in zip(group, found, strict=True):
                known = statistics[number]
                if isinstance(each, Exception):
                    statistics[number] = each
                elif not isinstance(known, Exception):
                    known[metric] = each
    return [
        known if isinstance(known, Exception) else _scores(asked, known, runtime)
        for asked, known in zip(requests, statistics, strict=True)
    ]


def _shares_calls(metric: Metric) -> bool:
    """Return whether the sentences of several requests may go into one call.

    Some metrics look at whole systems: GoToScorer learns its weights from all that are scored together.
    """
    if isinstance(metric, Ensemble):
        return all(map(_shares_calls, metric.metrics))
    return type(metric).compute_systems is Metric.compute_systems


def _statistics(
    metric: Metric, requests: Sequence[Asked], runtime: Runtime
) -> Sequence[Statistics | Exception]:
    """Return the statistics of each request, from one call unless that fails."""
    references = None
    if metric.needs_references:
        references = References(tuple(row for asked in requests for row in asked.references or ()))
    try:
        found = metric.statistics(
            [text for asked in requests for text in asked.sources],
            [text for asked in requests for text in asked.hypotheses],
            references,
            runtime=runtime,
        )
    except Exception as error:
        if len(requests) == 1:
            return [error]
        return [_statistics(metric, [asked], runtime)[0] for asked in requests]
    parts, start = [], 0
    for asked in requests:
        parts.append(found.take(range(start, start + len(asked.sources))))
        start += len(asked.sources)
    return parts


def _scores(asked: Asked, statistics: Mapping[Metric, Statistics], runtime: Runtime) -> Found:
    try:
        return {
            metric: metric.score_of(
                statistics[metric.for_statistics],
                signature=metric.signature(asked.references, runtime=runtime),
            )
            for metric in asked.metrics
        }
    except Exception as error:
        return error
