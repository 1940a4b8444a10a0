"""Prometheus metrics of the service: requests, sentences, steps, times and the process."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from learnedgec.use.microbatches import MicroBatcher

__all__ = ["ASGI", "Measured", "Message", "Meters"]

Message: TypeAlias = MutableMapping[str, Any]
ASGI: TypeAlias = Callable[
    [
        Message,
        Callable[[], Awaitable[Message]],
        Callable[[Message], Awaitable[None]],
    ],
    Awaitable[None],
]


class Meters:
    """The Prometheus metrics of one application, in their own registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "learnedgec_requests",
            "Requests by path and status",
            ("path", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "learnedgec_request_seconds",
            "Seconds until a request is answered",
            ("path",),
            registry=self.registry,
        )
        self.sentences = Counter("learnedgec_sentences", "Sentences scored", registry=self.registry)
        self.step_seconds = Histogram(
            "learnedgec_step_seconds", "Seconds of a step", registry=self.registry
        )
        self.step_sentences = Histogram(
            "learnedgec_step_sentences",
            "Sentences in a step",
            registry=self.registry,
            buckets=[2**power for power in range(11)],
        )
        self.waiting = Gauge(
            "learnedgec_waiting_tokens", "Tokens of requests that wait", registry=self.registry
        )

    def page(self, batcher: MicroBatcher) -> bytes:
        """Return the text for Prometheus."""
        while batcher.steps:
            step = batcher.steps.popleft()
            self.step_seconds.observe(step.seconds)
            self.step_sentences.observe(step.sentences)
        self.waiting.set(batcher.waiting_tokens)
        return generate_latest(self.registry)


class Measured:
    """Counts and times requests."""

    def __init__(self, app: ASGI, meters: Meters) -> None:
        self.app, self.meters = app, meters

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        """Answer a request, and count it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 500

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watch)
        finally:
            # Only paths that exist: a client could invent any number of others.
            path = getattr(scope.get("route"), "path", "other")
            self.meters.requests.labels(path, str(status)).inc()
            self.meters.seconds.labels(path).observe(time.perf_counter() - begin)
