"""The service over ASGI: scores equal to the library's, limits, overload, errors in one sentence."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypeVar

import httpx
import numpy as np
import pytest
from embedded import Sample

from learnedgec.applications.serve import application
from learnedgec.errors import ConfigError, InputError, ModelError
from learnedgec.metrics.base import Metric, Statistics
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.server import listen
from learnedgec.types import Floats

GLEU, LENGTH = load_metric("gleu"), load_metric("length")
Service: TypeAlias = httpx.AsyncClient
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Gated(Metric):
    """0 for every sentence, once a test lets the call go on; raises the test's error, if any."""

    name: ClassVar[str] = "gated"
    needs_references: ClassVar[bool] = False
    entered: ClassVar[threading.Semaphore]
    gate: ClassVar[threading.Semaphore]
    error: ClassVar[Exception | None]

    def compute(self, sources: Any, hypotheses: Any, *_: Any) -> Statistics:
        type(self).entered.release()
        assert type(self).gate.acquire(timeout=30)
        if type(self).error is not None:
            raise type(self).error
        return Statistics({"zero": np.zeros(len(sources))})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        return statistics["zero"]


@pytest.fixture
def gated() -> Gated:
    Gated.entered, Gated.gate = threading.Semaphore(0), threading.Semaphore(0)
    Gated.error = None
    return Gated()


def with_service(
    do: Callable[[Service], Awaitable[Answer]], *metrics: Metric, **limits: Any
) -> Answer:
    """Return what a client of a service gets."""
    # Errors become responses, as they do behind a real server.
    transport = httpx.ASGITransport(application(metrics, **limits), raise_app_exceptions=False)

    async def run() -> Answer:
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as service:
            return await do(service)

    return asyncio.run(run())


def body(*texts: str, **more: Any) -> dict[str, Any]:
    return {"sources": list(texts), "hypotheses": list(texts), **more}


def test_many_clients_get_the_librarys_scores(tiny_evaluator: Path, sample: Sample) -> None:
    metrics = [load_metric(f"some(model={str(tiny_evaluator)!r})"), load_metric("gleu")]
    systems = list(sample.systems.values())
    references = sample.references.texts()
    requests = []
    for number in range(20):
        rows = slice(number, number + 1 + number % 4)
        request = {
            "sources": sample.sources[rows],
            "hypotheses": systems[number % len(systems)][rows],
            "references": references[rows],
        }
        requests.append(request)

    async def ask_all(service: Service) -> list[httpx.Response]:
        return await asyncio.gather(*(service.post("/score", json=body) for body in requests))

    responses = with_service(ask_all, *metrics)
    for request, response in zip(requests, responses, strict=True):
        assert response.status_code == 200
        answer = response.json()["scores"]
        assert list(answer) == [metric.label for metric in metrics]
        for metric in metrics:
            expected, scores = metric.score(**request), answer[metric.label]
            assert (scores["metric"], scores["signature"]) == (str(metric), expected.signature)
            assert scores["score"] == pytest.approx(expected.value, abs=1e-5)
            assert scores["details"] == pytest.approx(expected.details, abs=1e-5)
            for row, alone in zip(
                scores["sentences"], expected.to_dict()["sentences"], strict=True
            ):
                assert row == pytest.approx(alone, abs=1e-5)


def test_a_request_may_ask_for_some_metrics() -> None:
    async def ask(service: Service) -> None:
        served = (await service.get("/scorers")).json()
        assert [(metric["name"], metric["needs_references"]) for metric in served] == [
            ("gleu", True),
            ("length", False),
        ]
        # GLEU is not asked for, so no references are needed.
        response = await service.post("/score", json=body("a b", metrics=["length"]))
        assert response.json()["scores"]["length"]["sentences"] == [{"score": 2.0}]
        assert list(response.json()["scores"]) == ["length"]
        for path in ("/health", "/ready"):
            assert (await service.get(path)).status_code == 200

    with_service(ask, GLEU, LENGTH)


def test_what_looks_like_a_mistake_is_in_the_answer() -> None:
    async def ask(service: Service) -> None:
        sent = {"sources": ["He go ."], "hypotheses": ["He goes."], "references": [["He goes ."]]}
        (notice,) = (await service.post("/score", json=sent)).json()["notices"]
        assert notice.startswith('hypotheses: 100 % of sentences end like "school."')
        assert (await service.post("/score", json=body("a", metrics=["length"]))).json()[
            "notices"
        ] == []
        # Rows of references are those of sentences, whatever their number.
        square = body("He .", "He .", references=[["He goes .", "He went ."]] * 2)
        assert (await service.post("/score", json=square)).status_code == 200

    with_service(ask, GLEU, LENGTH)


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (body("a", metrics=["bleu"]), "metrics is ['bleu']; ask for one or more of gleu, length"),
        (body("a"), "gleu needs references"),
        (body("a", references=[[]]), "sentence 1 has no reference"),
        (body("a", "b", "c", metrics=["length"]), "the request has 3 sentences; at most 2"),
        (body("a" * 11, metrics=["length"]), "a text has 11 characters; at most 10"),
        ({"sources": ["a"], "hypotheses": [5]}, "hypotheses.0: Input should be a valid string."),
        (body("a", by="gleu"), "by: Extra inputs are not permitted."),
    ],
)
def test_what_cannot_be_used_gets_one_sentence(sent: Any, message: str) -> None:
    response = with_service(
        lambda service: service.post("/score", json=sent),
        GLEU,
        LENGTH,
        request_sentences=2,
        text_characters=10,
    )
    assert response.status_code == 422
    assert response.json()["detail"].startswith(message)


def test_overload_says_when_to_come_again(gated: Gated) -> None:
    async def overload(service: Service) -> None:
        first = asyncio.create_task(service.post("/score", json=body("a")))
        assert await asyncio.to_thread(Gated.entered.acquire, timeout=30)
        refused = await service.post("/score", json=body("b"))
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
        assert refused.json()["detail"].startswith("the service is busy")
        # Health does not depend on load.
        assert (await service.get("/health")).status_code == 200
        Gated.gate.release(2)
        assert (await first).status_code == 200
        assert (await service.post("/score", json=body("b"))).status_code == 200

    with_service(overload, gated, waiting_requests=1)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ModelError("the model is gone."), "the model is gone."),
        (ZeroDivisionError("x"), "scoring failed (ZeroDivisionError); the service's log has more."),
    ],
)
def test_the_service_survives_an_error_of_scoring(
    error: Exception, message: str, gated: Gated
) -> None:
    async def fail_once(service: Service) -> None:
        Gated.error = error
        Gated.gate.release(2)
        failed = await service.post("/score", json=body("a"))
        assert (failed.status_code, failed.json()) == (500, {"detail": message})
        Gated.error = None
        assert (await service.post("/score", json=body("a"))).status_code == 200

    with_service(fail_once, gated)


def test_openapi_describes_the_requests() -> None:
    described = with_service(lambda service: service.get("/openapi.json"), LENGTH).json()
    example = described["components"]["schemas"]["ScoreRequest"]["examples"][0]
    answer = with_service(lambda service: service.post("/score", json=example), LENGTH)
    assert answer.status_code == 200
    fields = described["components"]["schemas"]["MetricScore"]["properties"]
    assert fields.keys() == answer.json()["scores"]["length"].keys()


def test_what_cannot_be_served() -> None:
    with pytest.raises(InputError, match="metric is an empty list"):
        application([])
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"cannot listen on 127\.0\.0\.1, port {port} "):
            listen("127.0.0.1", port)
    with pytest.raises(ConfigError, match="the port is 70000"):
        listen("127.0.0.1", 70000)
