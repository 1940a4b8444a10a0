"""The service over ASGI: scores equal to the library's, limits, overload, errors in one sentence, meters."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import httpx
import numpy as np
import pytest
from embedded import Sample
from prometheus_client.parser import text_string_to_metric_families

from learnedgec.arrays import Floats
from learnedgec.errors import ConfigError, ModelError
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.references import References
from learnedgec.metrics.base import Metric
from learnedgec.metrics.registry import load_metric
from learnedgec.metrics.statistics import Statistics
from learnedgec.use.microbatches import Limits
from learnedgec.use.serve import application, listen


@dataclass(frozen=True)
class Gated(Metric):
    """0 for every sentence, once a test lets the call go on; raises what the test says."""

    name: ClassVar[str] = "gated"
    needs_references: ClassVar[bool] = False
    entered: ClassVar[threading.Semaphore]
    gate: ClassVar[threading.Semaphore]
    error: ClassVar[Exception | None]

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
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


@asynccontextmanager
async def client(*metrics: Metric, **limits: Any) -> AsyncIterator[httpx.AsyncClient]:
    app = application(metrics, limits=Limits(**limits))
    # Errors become responses, as they do behind a real server.
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://service") as client,
    ):
        yield client


def ask(
    metrics: Sequence[str],
    do: Callable[[httpx.AsyncClient], Awaitable[httpx.Response]],
    **limits: Any,
) -> httpx.Response:
    async def run() -> httpx.Response:
        async with client(*map(load_metric, metrics), **limits) as service:
            return await do(service)

    return asyncio.run(run())


def body(*texts: str, **more: Any) -> dict[str, Any]:
    return {"sources": list(texts), "hypotheses": list(texts), **more}


def test_fifty_clients_get_the_librarys_scores(tiny_evaluator: Path, sample: Sample) -> None:
    metrics = [load_metric(f"some(model={str(tiny_evaluator)!r})"), load_metric("gleu")]
    systems = list(sample.systems.values())
    requests = []
    for number in range(50):
        rows = [(number + k) % len(sample.sources) for k in range(1 + number % 4)]
        system = systems[number % len(systems)]
        requests.append(
            {
                "sources": [sample.sources[row] for row in rows],
                "hypotheses": [system[row] for row in rows],
                "references": [[each.text for each in sample.references[row]] for row in rows],
            }
        )

    async def run() -> list[httpx.Response]:
        async with client(*metrics) as service:
            return await asyncio.gather(
                *(service.post("/score", json=request) for request in requests)
            )

    for request, response in zip(requests, asyncio.run(run()), strict=True):
        assert response.status_code == 200
        found = response.json()["scores"]
        assert list(found) == [metric.label for metric in metrics]
        for metric in metrics:
            expected = metric.score(**request).to_dict()
            scores = found[metric.label]
            assert scores["score"] == pytest.approx(expected["score"], abs=1e-5)
            assert scores["details"] == pytest.approx(expected["details"], abs=1e-5)
            assert (scores["metric"], scores["signature"]) == (
                expected["metric"],
                expected["signature"],
            )
            assert len(scores["sentences"]) == len(request["sources"])
            for row, alone in zip(scores["sentences"], expected["sentences"], strict=True):
                assert row == pytest.approx(alone, abs=1e-5)


def test_a_request_may_ask_for_some_metrics() -> None:
    async def run() -> None:
        async with client(load_metric("gleu"), load_metric("length")) as service:
            served = (await service.get("/scorers")).json()
            assert [(each["name"], each["needs_references"]) for each in served] == [
                ("gleu", True),
                ("length", False),
            ]
            # GLEU is not asked for, so no references are needed.
            response = await service.post("/score", json=body("a b", metrics=["length"]))
            assert response.json()["scores"]["length"]["sentences"] == [{"score": 2.0}]
            assert list(response.json()["scores"]) == ["length"]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (body("a", metrics=["bleu"]), "no metric 'bleu' is served here; ask for gleu, length."),
        (body("a", metrics=[]), "metrics is empty; ask for one or more of gleu, length."),
        (
            body("a"),
            "gleu needs references, and there are none; give references=, each sentence's texts or "
            "References.",
        ),
        (
            body("a", references=[[]]),
            "sentence 1 has no reference and gleu needs one; add a reference or leave the sentence out.",
        ),
        (body(metrics=["length"]), "there is no sentence to score; give at least one source."),
        (
            body("a", "b", "c", metrics=["length"]),
            "the request has 3 sentences; at most 2 are accepted: send several requests.",
        ),
        (
            body("a" * 11, metrics=["length"]),
            "sources has a text of 11 characters; at most 10 are accepted: send one sentence per text.",
        ),
        (
            body("a", references=[["a" * 12]]),
            "references has a text of 12 characters; at most 10 are accepted: send one sentence per text.",
        ),
        ({"sources": ["a"], "hypotheses": [5]}, "hypotheses[0]: Input should be a valid string."),
        ({"sources": ["a"]}, "hypotheses: Field required."),
        ([], "the body: Input should be a valid dictionary or object to extract fields from."),
        (
            body("a", by="gleu"),
            "the body has the unknown key 'by'; known: sources, hypotheses, references, metrics.",
        ),
    ],
)
def test_what_cannot_be_used_gets_one_sentence(sent: Any, message: str) -> None:
    response = ask(
        ["gleu", "length"],
        lambda service: service.post("/score", json=sent),
        request_sentences=2,
        text_characters=10,
    )
    assert (response.status_code, response.json()) == (422, {"detail": message})


def test_lengths_that_differ() -> None:
    sent = {"sources": ["a", "b"], "hypotheses": ["a"]}
    response = ask(["length"], lambda service: service.post("/score", json=sent))
    assert response.status_code == 422
    assert "sources" in response.json()["detail"]


@pytest.mark.parametrize(
    ("content", "status", "start"),
    [
        (b'{"sources": ["a"', 422, "the body is not JSON; "),
        (b"\xff\xfe", 422, "the body is not JSON; "),
        # Half a character, which JSON can say and no text can hold.
        (rb'{"sources": ["\ud800"], "hypotheses": ["a"]}', 422, ""),
        (b"[" * 100_000, 400, "There was an error parsing the body"),
    ],
)
def test_broken_bodies(content: bytes, status: int, start: str) -> None:
    response = ask(
        ["length"],
        lambda service: service.post(
            "/score", content=content, headers={"Content-Type": "application/json"}
        ),
    )
    assert response.status_code == status
    assert response.json()["detail"].startswith(start)


def test_too_many_bytes_are_not_read() -> None:
    detail = "the request is larger than 1 KiB; send several smaller ones."
    sent = json.dumps(body("a" * 2000)).encode()
    headers = {"Content-Type": "application/json"}
    known = ask(
        ["length"],
        lambda service: service.post("/score", content=sent, headers=headers),
        request_kib=1,
    )
    assert (known.status_code, known.json()) == (413, {"detail": detail})
    read = []

    async def stream() -> AsyncIterator[bytes]:
        for start in range(0, len(sent), 100):
            read.append(start)
            yield sent[start : start + 100]

    chunked = ask(
        ["length"],
        lambda service: service.post("/score", content=stream(), headers=headers),
        request_kib=1,
    )
    assert (chunked.status_code, chunked.json()) == (413, {"detail": detail})
    assert read[-1] <= 1100


def test_overload_says_when_to_come_again(gated: Gated) -> None:
    async def run() -> None:
        async with client(gated, waiting_tokens=4, delay_ms=0) as service:
            first = asyncio.create_task(service.post("/score", json=body("a")))
            assert await asyncio.to_thread(Gated.entered.acquire, timeout=30)
            second = asyncio.create_task(service.post("/score", json=body("b", "c")))
            while "learnedgec_waiting_tokens 4.0" not in (await service.get("/metrics")).text:
                await asyncio.sleep(0)
            refused = await service.post("/score", json=body("d"))
            assert refused.status_code == 429
            assert refused.headers["Retry-After"] == "1"
            assert refused.json() == {
                "detail": "the service is busy: about 4 tokens are waiting and at most 4 may; "
                "try again in 1 s."
            }
            # Health is no matter of load.
            assert (await service.get("/health")).status_code == 200
            assert (await service.get("/ready")).status_code == 200
            Gated.gate.release(2)
            assert [(await each).status_code for each in (first, second)] == [200, 200]
            Gated.gate.release()
            assert (await service.post("/score", json=body("d"))).status_code == 200

    asyncio.run(run())


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ModelError("the model is gone."), "the model is gone."),
        (ZeroDivisionError("x"), "scoring failed (ZeroDivisionError); the service's log has more."),
    ],
)
def test_errors_of_scoring_are_told_and_survived(
    error: Exception, message: str, gated: Gated
) -> None:
    async def run() -> None:
        async with client(gated) as service:
            Gated.error = error
            Gated.gate.release(2)
            failed = await service.post("/score", json=body("a"))
            assert (failed.status_code, failed.json()) == (500, {"detail": message})
            Gated.error = None
            assert (await service.post("/score", json=body("a"))).status_code == 200

    asyncio.run(run())


def test_meters() -> None:
    async def run() -> str:
        async with client(load_metric("length")) as service:
            await service.post("/score", json=body("a", "b"))
            await service.post("/score", json=body("a"))
            await service.post("/score", json={})
            await service.get("/made-up")
            return (await service.get("/metrics")).text

    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(asyncio.run(run()))
        for sample in family.samples
    }
    assert found["learnedgec_requests_total", "/score", "200"] == 2
    assert found["learnedgec_requests_total", "/score", "422"] == 1
    assert found["learnedgec_requests_total", "other", "404"] == 1
    assert found["learnedgec_sentences_total",] == 3
    assert found["learnedgec_step_sentences_sum",] == 3
    assert found["learnedgec_step_seconds_count",] == 2
    assert found["learnedgec_request_seconds_count", "/score"] == 3
    assert found["learnedgec_waiting_tokens",] == 0


def test_openapi_describes_the_requests() -> None:
    found = ask(["length"], lambda service: service.get("/openapi.json")).json()
    responses = found["paths"]["/score"]["post"]["responses"]
    assert {"200", "413", "422", "429", "503"} <= responses.keys()
    example = found["components"]["schemas"]["ScoreRequest"]["examples"][0]
    answer = ask(["length"], lambda service: service.post("/score", json=example))
    assert answer.status_code == 200
    described = found["components"]["schemas"]["MetricScore"]["properties"]
    assert described.keys() == answer.json()["scores"]["length"].keys()


def test_before_and_after_it_runs() -> None:
    app = application([load_metric("length")])

    async def run() -> list[int]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as service:
            statuses = [(await service.get("/ready")).status_code]
            async with app.router.lifespan_context(app):
                statuses.append((await service.get("/ready")).status_code)
            return [*statuses, (await service.get("/health")).status_code]

    assert asyncio.run(run()) == [503, 200, 503]


def test_nothing_to_serve() -> None:
    with pytest.raises(ConfigError, match="there is no metric to serve"):
        application([])


def test_an_address_in_use() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"cannot listen on 127\.0\.0\.1, port {port} "):
            listen("127.0.0.1", port)
    with pytest.raises(ConfigError, match="the port is 70000; give one from 0 to 65535"):
        listen("127.0.0.1", 70000)
