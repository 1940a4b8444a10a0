"""Metrics as a service: a stateless FastAPI application.

    POST /score      sentences in, scores out
    GET  /scorers    the metrics that are served
    GET  /health     whether the process works (HEAD, too)
    GET  /ready      whether it takes requests
    GET  /docs       this, as OpenAPI (/openapi.json)

Requests that wait are scored together, in one call of each metric; scores equal the library's. Errors
are `{"detail": "one sentence"}`. The service has no users and no secrets: it listens on loopback unless told
otherwise, and its abilities are fixed when it starts.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from learnedgec._version import __version__
from learnedgec.data.corpus import ONE, Corpus
from learnedgec.data.references import References
from learnedgec.errors import InputError, LearnedgecError, UnknownNameError, needs
from learnedgec.metrics.bound import BoundMetric
from learnedgec.metrics.contract import Score
from learnedgec.metrics.registry import METRICS, REGISTRY, alias_parameters
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import AnyMetric, bind, corpus_for, score_metrics, shared_statistics

with needs("serve", "the service"):
    from fastapi import FastAPI, HTTPException, Request
    from fastapi.concurrency import run_in_threadpool
    from fastapi.exception_handlers import http_exception_handler
    from fastapi.exceptions import RequestValidationError
    from fastapi.openapi.docs import get_swagger_ui_html
    from fastapi.responses import JSONResponse, Response
    from fastapi_offline import FastAPIOffline
    from pydantic import BaseModel, ConfigDict, Field
    from starlette.exceptions import HTTPException as StarletteHTTPException


_EXAMPLE: Any = {
    "sources": ["He go home ."],
    "hypotheses": ["He goes home ."],
    "references": [["He goes home ."]],
}


class ScoreRequest(BaseModel):
    """N sentences to score."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    sources: list[str] = Field(description="N source sentences")
    hypotheses: list[str] = Field(description="N corrections, one for each source")
    references: list[list[str]] | None = Field(
        None, description="each sentence's references, for metrics that need them"
    )
    metrics: list[str] | None = Field(
        None,
        description="names of served metrics, such as those in /scorers; by default, all that need no "
        "references, and the others if there are references",
    )


class MetricScore(BaseModel):
    """One metric's scores; a number that is not defined is null."""

    metric: str = Field(description="the metric with all its parameters")
    score: float | None = Field(description="the corpus score of all the request's sentences")
    details: dict[str, Any] = Field(description="further numbers of all sentences")
    signature: str = Field(description="everything that the score depends on, with versions")
    sentences: list[dict[str, Any]] = Field(
        description="each sentence's `score` by itself, and further numbers"
    )


class ScoreResponse(BaseModel):
    """Scores by metric, under the names in the request, or else those in /scorers."""

    scores: dict[str, MetricScore]
    notices: list[str] = Field(
        description="warnings, a sentence each: what looks like a mistake in the texts, what makes scores "
        "less reliable than they seem, and metrics that were left out"
    )


class Refusal(BaseModel):
    """The reason why a request has no scores."""

    detail: str = Field(description="one sentence: what was given, and what was expected")


_RESPONSES: Any = {
    200: {"model": ScoreResponse},
    **{code: {"model": Refusal} for code in (415, 422, 429, 500)},
}


@dataclass(eq=False)
class _Waiting:
    """A request that waits for its scores.

    Attributes:
        request: the request as it was sent.
        metrics: the metrics to score with.
        corpus: the checked texts.
        notices: the warnings about this request alone.
        outcome: the scores by the metric's label, or the error; `None` until the request is scored.
    """

    request: ScoreRequest
    metrics: list[BoundMetric]
    corpus: Corpus = field(init=False)
    notices: list[str] = field(default_factory=list)
    outcome: dict[str, Score] | Exception | None = None


def application(
    metrics: AnyMetric | Sequence[AnyMetric],
    *,
    request_sentences: int = 256,
    text_characters: int = 4000,
    waiting_requests: int = 256,
    runtime: Runtime = Runtime(),
) -> FastAPI:
    """Return the application that serves some metrics, for any ASGI server.

    Args:
        metrics: one or more; requests name them by their labels, or by bare names such as `quality`.
        request_sentences: the largest number of sentences in a request, and in requests scored together.
        text_characters: the largest number of characters in a text.
        waiting_requests: the largest number of requests that are scored or wait at a time; others are
            refused.
        runtime: how scoring runs.

    Raises:
        InputError: there is no metric, or a metric's score of a sentence depends on other sentences.
    """
    served = {metric.label: metric for metric in bind(metrics, runtime)}
    for metric in served.values():
        metric.metric.check_alone()
    service = _Service(served, request_sentences, text_characters, waiting_requests)
    app: FastAPI = FastAPIOffline(
        title="learnedgec",
        summary=f"Scores of corrections, by {', '.join(served)}",
        version=__version__,
        # Relative to /openapi.json, so that a page below the path of a proxy asks for addresses below it.
        servers=[{"url": "."}],
        docs_url=None,
        redoc_url=None,
        static_url=f"/{_STATIC}",
    )
    app.post("/score", responses=_RESPONSES)(service.score)
    for path, answer in {"scorers": service.scorers, "ready": _ready, "health": _ready}.items():
        app.get(f"/{path}")(answer)
        app.head(f"/{path}", include_in_schema=False)(answer)
    for path in ("/", "/docs"):  # a browser asks for the first
        app.get(path, include_in_schema=False)(_docs)
    _answer_errors(app)
    return app


async def _ready() -> dict[str, str]:
    """Say that the process works and takes requests; models are loaded before the service listens."""
    return {"status": "ready"}


_STATIC = "static-offline-docs"


async def _docs() -> Response:
    """Show the requests in a browser; all addresses on the page are relative."""
    return get_swagger_ui_html(
        openapi_url="openapi.json",
        title="learnedgec",
        swagger_js_url=f"{_STATIC}/swagger-ui-bundle.js",
        swagger_css_url=f"{_STATIC}/swagger-ui.css",
        swagger_favicon_url=f"{_STATIC}/favicon.png",
    )


@dataclass(eq=False)
class _Service:
    """The metrics that are served, by label, and the requests that are scored or wait."""

    served: Mapping[str, BoundMetric]
    request_sentences: int
    text_characters: int
    waiting_requests: int
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    queue: list[_Waiting] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names = {name: m for m in self.served.values() for name in _bare_names(m)}
        self.names |= {str(metric): metric for metric in self.served.values()}
        self.names |= self.served

    def find(self, name: str) -> BoundMetric:
        """Return a served metric by a name in a request; no other name is looked up."""
        metric = self.names.get(name) or self.names.get(REGISTRY.spelt(name))
        if metric is None:
            raise InputError(
                f"metrics has {name!r}; ask for one or more of {', '.join(self.served)}, which are served."
            )
        return metric

    async def score(self, request: ScoreRequest) -> Response:
        """Score corrections of sentences."""
        _check_size(request, self.request_sentences, self.text_characters)
        if request.metrics == []:
            raise InputError("metrics is an empty list; leave it out for all that are served.")
        usable = {
            label: metric
            for label, metric in self.served.items()
            if request.references or not metric.metric.needs_references
        }
        names = request.metrics or usable or self.served
        by_name = {name: self.find(name) for name in names}
        if len(self.queue) >= self.waiting_requests:
            detail = (
                f"the service is busy: {len(self.queue)} requests are waiting; try again in 1 s."
            )
            raise HTTPException(429, detail, {"Retry-After": "1"})
        distinct = {metric.label: metric for metric in by_name.values()}
        own = _Waiting(request, list(distinct.values()))
        self.queue.append(own)
        try:
            async with self.turn:
                # The first request in the queue also scores the requests behind it.
                while own.outcome is None:
                    await run_in_threadpool(_score, _first(self.queue, self.request_sentences))
        finally:
            self.queue.remove(own)
        if isinstance(own.outcome, Exception):
            raise own.outcome
        notices = list(dict.fromkeys(own.notices))
        left_out = [label for label in self.served if label not in own.outcome]
        if left_out and request.metrics is None:
            notices.append(f"left out, since there are no references: {', '.join(left_out)}.")
        scores = {name: own.outcome[metric.label].to_dict() for name, metric in by_name.items()}
        return JSONResponse({"scores": scores, "notices": notices})

    async def scorers(self) -> list[dict[str, Any]]:
        """List the served metrics, and whether they need references."""
        return [
            {
                "name": label,
                "metric": str(metric),
                "needs_references": metric.metric.needs_references,
            }
            for label, metric in self.served.items()
        ]


def _bare_names(metric: BoundMetric) -> list[str]:
    """Return the names without parameters that denote a metric: `quality` if it is `quality[open-mpnet]`."""
    kind = type(metric.metric)
    values = {item.name: getattr(metric.metric, item.name) for item in dataclasses.fields(kind)}
    usual = {item.name: item.default for item in dataclasses.fields(kind)}
    return [
        name
        for name, target in METRICS.items()
        if target == f"{kind.__module__}:{kind.__qualname__}"
        and values == {**usual, **alias_parameters(name)}
    ]


def _first(queue: Iterable[_Waiting], sentences: int) -> list[_Waiting]:
    """Return the first unscored requests, at least one, that together have at most so many sentences."""
    chosen: list[_Waiting] = []
    for waiting in queue:
        if waiting.outcome is None:
            sentences -= len(waiting.request.sources)
            if sentences < 0 and chosen:
                break
            chosen.append(waiting)
    return chosen


def _score(queue: Sequence[_Waiting]) -> None:
    """Score requests; those with the same metrics are scored together."""
    groups: dict[Any, list[_Waiting]] = {}
    for waiting in queue:
        rows, metrics = waiting.request.references, waiting.metrics
        hypotheses = waiting.request.hypotheses
        try:
            references = None if rows is None else References.from_rows(rows)
            with _recorded(waiting.notices):
                waiting.corpus = corpus_for(
                    metrics, waiting.request.sources, hypotheses, references
                )
        except Exception as error:
            waiting.outcome = error
        else:
            key = (*(metric.label for metric in metrics), rows is None)
            groups.setdefault(key, []).append(waiting)
    for group in groups.values():
        _score_together(group)


def _score_together(queue: Sequence[_Waiting]) -> None:
    """Score requests with the same metrics in one call; each by itself if one of them warns or fails."""
    notices: list[str] = []
    scores: list[dict[str, Score]] = [{} for _ in queue]
    error = None
    try:
        with _recorded(notices):
            joined = Corpus.joined([waiting.corpus for waiting in queue])
            for metric, systems in shared_statistics(queue[0].metrics, lambda m: m.compute(joined)):
                start = 0
                for waiting, by_label in zip(queue, scores, strict=True):
                    rows = range(start, start := start + len(waiting.corpus))
                    signature = metric.signature(waiting.corpus.references)
                    statistics = systems[ONE].take(rows)
                    by_label[metric.label] = metric.score_of(statistics, signature)
    except Exception as caught:
        error = caught
    if len(queue) > 1 and (error or notices):
        for waiting in queue:
            _score_together([waiting])
        return
    for waiting, by_label in zip(queue, scores, strict=True):
        waiting.notices += notices
        waiting.outcome = error or by_label


@contextmanager
def _recorded(notices: list[str]) -> Iterator[None]:
    """Append the warnings that users should read to a list."""
    hidden = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    notices += [str(one.message) for one in caught if not issubclass(one.category, hidden)]


def _answer_errors(app: FastAPI) -> None:
    """Answer every error with one sentence."""

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        if compressed := _refuse_compressed(request):
            return compressed
        # A field that does not exist explains why another one is missing.
        errors = sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        return JSONResponse({"detail": _sentence(errors[0])}, 422)

    @app.exception_handler(StarletteHTTPException)
    async def unreadable(request: Request, error: StarletteHTTPException) -> Response:
        if error.status_code == 400:
            if compressed := _refuse_compressed(request):
                return compressed
            return JSONResponse({"detail": f"the body cannot be read; {_BODY}"}, 422)
        return await http_exception_handler(request, error)

    @app.exception_handler(LearnedgecError)
    async def refused(_: Request, error: LearnedgecError) -> Response:
        return JSONResponse({"detail": str(error)}, 422 if isinstance(error, InputError) else 500)

    @app.exception_handler(Exception)
    async def failed(_: Request, error: Exception) -> Response:
        detail = f"scoring failed ({type(error).__name__}); the service's log has more."
        return JSONResponse({"detail": detail}, 500)


def _refuse_compressed(request: Request) -> Response | None:
    """Return the answer to a request whose body is compressed, or `None`."""
    encoding = request.headers.get("Content-Encoding", "identity")
    if encoding.lower() == "identity":
        return None
    detail = f"the body is compressed (Content-Encoding: {encoding}); send it uncompressed."
    return JSONResponse({"detail": detail}, 415)


_BODY = "an object in JSON with sources and hypotheses was expected, as application/json in UTF-8."
# What a request has at each depth of a field.
_DEPTHS = {"references": ("a list of lists of texts", "a list of texts", "a text")}


def _sentence(error: Mapping[str, Any]) -> str:
    """Return what is wrong with a request by pydantic's first error, as one sentence."""
    field, *places = error["loc"][1:] or ("",)
    if error["type"] == "json_invalid":
        return f"the body is not JSON ({error['ctx']['error']}, character {field}); {_BODY}"
    if not field and isinstance(error.get("input"), bytes):
        return f"the header Content-Type: application/json is missing; {_BODY}"
    if not field:
        return f"the body is not an object; {_BODY}"
    if error["type"] == "extra_forbidden":
        return str(UnknownNameError("field", field, ScoreRequest.model_fields))
    place = field + "".join(f"[{place}]" for place in places)
    expected = _DEPTHS.get(field, ("a list of texts", "a text"))[len(places)]
    if error["type"] == "missing":
        return f"{field} is missing; {expected} was expected."
    return f"{place} is {json.dumps(error['input'])[:60]}; {expected} was expected."


def _check_size(request: ScoreRequest, sentences: int, characters: int) -> None:
    """Raise `InputError` if the request is larger than the limits."""
    if len(request.sources) > sentences:
        raise InputError(
            f"the request has {len(request.sources)} sentences; at most {sentences} are accepted: send "
            "several requests."
        )
    texts = [request.sources, request.hypotheses, *(request.references or ())]
    longest = max((len(text) for row in texts for text in row), default=0)
    if longest > characters:
        raise InputError(
            f"a text has {longest} characters; at most {characters} are accepted: send one sentence per text."
        )


def prepare(metrics: Sequence[BoundMetric]) -> None:
    """Load the models of the metrics by scoring one sentence, so that no request waits for them.

    Raises:
        LearnedgecError: a metric cannot be used: a model is missing, an endpoint does not answer, ….
    """
    text = ["He goes home ."]
    score_metrics(metrics, Corpus.of(text, text, [text]))
