"""The service over ASGI: scores equal to the library's, limits, overload, errors in one sentence."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import threading
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypeVar

import httpx
import numpy as np
import pytest
from embedded import Sample

from learnedgec.applications.serve import application
from learnedgec.cli.server import listen
from learnedgec.errors import ConfigError, InputError, ModelError
from learnedgec.metrics.contract import Metric, Statistics
from learnedgec.metrics.registry import load_metric
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


def test_monitors_may_ask_for_the_head_alone() -> None:
    async def ask(service: Service) -> None:
        for path in ("/health", "/ready", "/scorers"):
            response = await service.head(path)
            assert (response.status_code, response.content) == (200, b"")

    with_service(ask, LENGTH)


def test_a_compressed_body_is_named() -> None:
    async def ask(service: Service) -> None:
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        packed = gzip.compress(json.dumps(body("a")).encode())
        response = await service.post("/score", content=packed, headers=headers)
        assert response.status_code == 415
        assert response.json() == {
            "detail": "the body is compressed (Content-Encoding: gzip); send it uncompressed."
        }

    with_service(ask, LENGTH)


def test_the_page_of_the_documentation_needs_no_other_host_and_works_below_a_path() -> None:
    async def ask(service: Service) -> None:
        page = (await service.get("/docs")).text
        assert (await service.get("/")).text == page
        addresses = re.findall(r"(?:href|src|url)(?:=|: )[\"']([^\"']+)", page)
        assert "openapi.json" in addresses
        assert [each for each in addresses if each.startswith("/") or ":" in each] == []
        for address in addresses:
            assert (await service.get(f"/{address}")).status_code == 200
        assert (await service.get("/openapi.json")).json()["servers"] == [{"url": "."}]

    with_service(ask, LENGTH)


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


def test_bare_names_denote_the_metrics_that_they_name(tiny_evaluator: Path) -> None:
    own = load_metric(f"some(model={str(tiny_evaluator)!r})")
    tiny_quality = f"quality(model={str(tiny_evaluator)!r}, threshold=-1.0)"
    served = [load_metric("sentm2"), load_metric("hter"), own]

    async def ask(service: Service) -> None:
        for name in ("sentm2", "HTER", "m2(level='sentence')", own.label, str(own)):
            request = body("a b", references=[["a b"]], metrics=[name])
            answer = await service.post("/score", json=request)
            assert list(answer.json()["scores"]) == [name]
        # These would be the released evaluator, and scores of the corpus.
        for name in ("some", "m2", tiny_quality):
            answer = await service.post("/score", json=body("a", metrics=[name]))
            assert answer.status_code == 422

    with_service(ask, *served)


def test_by_default_the_metrics_score_whose_inputs_are_there() -> None:
    async def ask(service: Service) -> None:
        answer = (await service.post("/score", json=body("a b"))).json()
        assert list(answer["scores"]) == ["length"]
        assert answer["notices"] == ["left out, since there are no references: gleu."]
        answer = (await service.post("/score", json=body("a b", references=[["a b"]]))).json()
        assert list(answer["scores"]) == ["gleu", "length"]
        (notice,) = answer["notices"]
        assert notice.startswith("gleu: texts without any 3-gram have the corpus score 0")

    with_service(ask, GLEU, LENGTH)
    alone = with_service(lambda service: service.post("/score", json=body("a")), GLEU)
    assert alone.json()["detail"].startswith("gleu needs references")


def test_what_looks_like_a_mistake_is_in_the_answer() -> None:
    async def ask(service: Service) -> None:
        sent = {"sources": ["He go ."], "hypotheses": ["He goes."], "references": [["He goes ."]]}
        tokenised, zero = (await service.post("/score", json=sent)).json()["notices"]
        assert tokenised.startswith('hypotheses: 100 % of sentences end like "school."')
        assert zero.startswith("gleu: texts without any 3-gram have the corpus score 0")
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
        (body("a", metrics=["bleu"]), "metrics has 'bleu'; ask for one or more of gleu, length"),
        (body("a", metrics=[]), "metrics is an empty list"),
        # A name that would read a file or import a module is not looked up.
        (body("a", metrics=["os:path"]), "metrics has 'os:path'; ask for"),
        (body("a", metrics=["length", "gleu"]), "gleu needs references"),
        (body("a", references=[[]]), "sentence 1 has no reference"),
        (body("a", "b", "c", metrics=["length"]), "the request has 3 sentences; at most 2"),
        (body("a" * 11, metrics=["length"]), "a text has 11 characters; at most 10"),
        ({"sources": ["a"], "hypotheses": [5]}, "hypotheses[0] is 5; a text was expected."),
        ({"sources": ["a"]}, "hypotheses is missing; a list of texts was expected."),
        (
            {"source": ["a"], "hypothesis": ["a"]},
            "no field is named 'source'; did you mean 'sources'?",
        ),
        (
            {"sources": "a b", "hypotheses": ["a"]},
            'sources is "a b"; a list of texts was expected.',
        ),
        (
            body("a", references=None, metrics="gleu"),
            'metrics is "gleu"; a list of texts was expected.',
        ),
        (body("a", references="a"), 'references is "a"; a list of lists of texts was expected.'),
        (body("a", references=["b"]), 'references[0] is "b"; a list of texts was expected.'),
        (body("a", references=[[None]]), "references[0][0] is null; a text was expected."),
        (body("a", by="gleu"), "no field is named 'by'; known: hypotheses, metrics, references, "),
        ([body("a")], "the body is not an object; an object in JSON with sources and"),
        ({"sources": [], "hypotheses": []}, "there is no sentence to score; give at least one"),
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b'{"sources": [',
            "the body is not JSON (Expecting value, character 13); an object in JSON",
        ),
        (
            b'{"sources": ["\xe9"], "hypotheses": ["a"]}',
            "the body cannot be read; an object in JSON",
        ),
        (b"", "the body is not an object; an object in JSON with sources and hypotheses"),
    ],
)
def test_a_body_that_is_not_json(content: bytes, message: str) -> None:
    headers = {"Content-Type": "application/json"}
    response = with_service(
        lambda service: service.post("/score", content=content, headers=headers), LENGTH
    )
    assert response.status_code == 422
    assert response.json()["detail"].startswith(message)


def test_json_without_its_header_names_the_header() -> None:
    # As `curl --data` sends it; old versions of FastAPI read a body without any header.
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    text = json.dumps(body("a")).encode()
    response = with_service(
        lambda service: service.post("/score", content=text, headers=form), LENGTH
    )
    assert response.status_code == 422
    assert response.json()["detail"].startswith(
        "the header Content-Type: application/json is missing; an object in JSON with sources"
    )


@dataclass(frozen=True)
class Words(Gated):
    """The number of words; warns of `odd`, and raises at `bad`. Its calls are remembered."""

    name: ClassVar[str] = "words"
    calls: ClassVar[list[list[str]]]

    def compute(self, sources: Any, hypotheses: Any, *_: Any) -> Statistics:
        type(self).entered.release()
        assert type(self).gate.acquire(timeout=30)
        type(self).calls.append(list(hypotheses))
        if "bad" in hypotheses:
            raise InputError("bad is refused.")
        if "odd" in hypotheses:
            warnings.warn("1 sentence is odd.", stacklevel=2)
        return Statistics({"zero": np.array([float(len(text.split())) for text in hypotheses])})


@pytest.mark.parametrize("odd_one", ["odd", "bad"])
def test_requests_that_wait_are_scored_together(odd_one: str) -> None:
    async def ask_all(service: Service, *texts: str) -> list[Any]:
        Words.entered, Words.gate, Words.calls = threading.Semaphore(0), threading.Semaphore(0), []
        asked = [
            asyncio.create_task(service.post("/score", json=body(*[text] * 2))) for text in texts
        ]
        assert await asyncio.to_thread(Words.entered.acquire, timeout=30)
        for _ in range(100):  # until the others wait
            await asyncio.sleep(0)
        Words.gate.release(20)
        return [(await answer).json() for answer in asked]

    async def ask(service: Service) -> None:
        answers = await ask_all(service, "first", "a", "b b", "c c c")
        assert Words.calls == [["first"], ["a", "b b", "c c c"]]
        numbers = [answer["scores"]["words"]["sentences"] for answer in answers]
        assert numbers == [[{"score": float(count)}] * 2 for count in (1, 1, 2, 3)]
        # One of them warns, or fails: each is scored by itself, and only one gets the warning or the error.
        _, before, odd, after = await ask_all(service, "first", "d", odd_one, "e e")
        assert [before["notices"], after["notices"]] == [[], []]
        assert after["scores"]["words"]["score"] == 2
        expected = {
            "odd": ("notices", ["1 sentence is odd."]),
            "bad": ("detail", "bad is refused."),
        }
        key, value = expected[odd_one]
        assert odd[key] == value
        # No more sentences at a time than a request may have, unless they are of one request.
        await ask_all(service, "first", *"abcde")
        assert [len(call) for call in Words.calls] == [1, 3, 2]

    with_service(ask, Words(), request_sentences=7)


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


def test_openapi_describes_the_requests_and_refusals() -> None:
    described = with_service(lambda service: service.get("/openapi.json"), GLEU, LENGTH).json()
    schemas = described["components"]["schemas"]
    example = schemas["ScoreRequest"]["examples"][0]
    answer = with_service(lambda service: service.post("/score", json=example), GLEU, LENGTH)
    assert answer.status_code == 200
    assert answer.json()["scores"].keys() == {"gleu", "length"}
    fields = schemas["MetricScore"]["properties"]
    assert fields.keys() == answer.json()["scores"]["length"].keys()
    responses = described["paths"]["/score"]["post"]["responses"]
    for code in ("422", "429", "500"):
        assert responses[code]["content"]["application/json"]["schema"] == {
            "$ref": "#/components/schemas/Refusal"
        }
    refused = with_service(lambda service: service.post("/score", json={}), LENGTH)
    assert refused.json().keys() == schemas["Refusal"]["properties"].keys()
    assert "HTTPValidationError" not in schemas


def test_what_cannot_be_served() -> None:
    with pytest.raises(InputError, match="metric is an empty list"):
        application([])
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"port {port} \(address already in use\); choose"):
            listen("127.0.0.1", port)
    with pytest.raises(ConfigError, match="the port is 70000"):
        listen("127.0.0.1", 70000)
