"""Metrics as a service: a stateless FastAPI application over micro-batches.

    POST /score      sentences in, scores out
    GET  /scorers    the metrics that are served
    GET  /health     whether the process works
    GET  /ready      whether it takes requests
    GET  /metrics    counters and times, for Prometheus
    GET  /docs       this, as OpenAPI (/openapi.json)

Scores equal those of the library, whichever requests share a step. Errors are `{"detail": "one sentence"}`.
The service has no users and no secrets: it listens on loopback unless told otherwise, and its abilities are
fixed when it starts.
"""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import AsyncIterator, Sequence
from typing import Any

from learnedgec._version import __version__
from learnedgec.errors import ConfigError, InputError, LearnedgecError, MissingDependencyError
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.references import References
from learnedgec.metrics.base import Metric
from learnedgec.use.microbatches import Asked, Limits, MicroBatcher, OverloadedError, StoppedError

try:
    import uvicorn
    from fastapi import FastAPI, HTTPException, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse, Response
    from prometheus_client import CONTENT_TYPE_LATEST
    from pydantic import BaseModel, ConfigDict, Field

    from learnedgec.use.meters import ASGI, Measured, Message, Meters
except ImportError as error:
    raise MissingDependencyError(str(error.name), "serve", "the service") from None

__all__ = ["ScoreRequest", "ScoreResponse", "application", "listen", "prepare", "run"]

_EXAMPLE: Any = {"sources": ["He go home ."], "hypotheses": ["He goes home ."]}


class ScoreRequest(BaseModel):
    """N sentences to score."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    sources: list[str] = Field(description="N source sentences")
    hypotheses: list[str] = Field(description="N corrections, one for each source")
    references: list[list[str]] | None = Field(
        None, description="each sentence's references, for metrics that need them"
    )
    metrics: list[str] | None = Field(
        None, description="some of the served metrics, by their names in /scorers; by default, all"
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
    """Scores by metric, under the names of /scorers."""

    scores: dict[str, MetricScore]


class Problem(BaseModel):
    """What is wrong, in one sentence."""

    detail: str


def application(
    metrics: Sequence[Metric], *, limits: Limits = Limits(), runtime: Runtime = Runtime()
) -> FastAPI:
    """Return the application that serves some metrics, for any ASGI server.

    Args:
        metrics: one or more; requests name them by their labels.
        limits: which requests are taken, and how they are grouped.
        runtime: how scoring runs; progress is not shown.

    Raises:
        ConfigError: there is no metric.
    """
    if not metrics:
        raise ConfigError("there is no metric to serve; name one or more, such as impara.")
    served = {metric.label: metric for metric in metrics}
    batcher: MicroBatcher | None = None
    meters = Meters()

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        nonlocal batcher
        async with MicroBatcher(limits, runtime) as batcher:
            yield

    app = FastAPI(
        title="learnedgec",
        summary="Scores of corrections, by " + ", ".join(served),
        version=__version__,
        lifespan=lifespan,
        redoc_url=None,
    )
    app.add_middleware(_SizeLimit, limit_kib=limits.request_kib)
    app.add_middleware(Measured, meters=meters)
    _explain_errors(app)

    @app.post(
        "/score",
        response_class=JSONResponse,
        responses={
            200: {"model": ScoreResponse},
            413: {"model": Problem, "description": "the request is too large"},
            422: {"model": Problem, "description": "the request cannot be used"},
            429: {"model": Problem, "description": "too busy: see Retry-After"},
            503: {"model": Problem, "description": "shutting down"},
        },
    )
    async def score(request: ScoreRequest) -> Response:
        """Score corrections of sentences."""
        assert batcher is not None
        found = await batcher.scores(_asked(request, served, limits))
        meters.sentences.inc(len(request.sources))
        return JSONResponse(
            {"scores": {metric.label: each.to_dict() for metric, each in found.items()}}
        )

    @app.get("/scorers")
    async def scorers() -> list[dict[str, Any]]:
        """List the served metrics, and whether they need references."""
        return [
            {"name": name, "metric": str(metric), "needs_references": metric.needs_references}
            for name, metric in served.items()
        ]

    @app.get("/health", responses={503: {"model": Problem}})
    async def health() -> dict[str, str]:
        """Say whether the process works."""
        if batcher is None or not batcher.is_working:
            raise HTTPException(503, "scoring has stopped; start the service again.")
        return {"status": "working"}

    @app.get("/ready", responses={503: {"model": Problem}})
    async def ready() -> dict[str, str]:
        """Say whether requests are taken."""
        if batcher is None or not batcher.is_open:
            raise HTTPException(503, "the service is shutting down.")
        return {"status": "ready"}

    @app.get("/metrics", response_class=Response)
    async def measured() -> Response:
        """Return counters and times in Prometheus's text format."""
        assert batcher is not None
        return Response(meters.page(batcher), media_type=CONTENT_TYPE_LATEST)

    return app


def prepare(metrics: Sequence[Metric], runtime: Runtime = Runtime()) -> None:
    """Load the models of the metrics by scoring one sentence, so that no request waits for them.

    Raises:
        LearnedgecError: a metric cannot be used: a model is missing, an endpoint does not answer, ….
    """
    text = ["He goes home ."]
    for metric in metrics:
        references = [text] if metric.needs_references else None
        metric.score(text, text, references, runtime=runtime)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address; port 0 takes a free port.

    Raises:
        ConfigError: the address is in use, or is not an address of this machine.
    """
    if not 0 <= port < 65536:
        raise ConfigError(f"the port is {port}; give one from 0 to 65535.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"the service cannot listen on {host}, port {port} ({reason}); choose another address or port."
        ) from None


def run(app: FastAPI, listening: socket.socket, *, grace: int = 30) -> None:
    """Serve until SIGINT or SIGTERM, then finish the requests taken so far, and return.

    Args:
        app: see `application`.
        listening: see `listen`.
        grace: seconds to finish these requests; those not done by then are cut off.
    """
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=grace)
    )
    # When all is done, the server raises the signal that ended it again: by then, the signal has had its
    # effect.
    former = {each: signal.signal(each, _ignore) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        server.run(sockets=[listening])
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)


def _ignore(*_: object) -> None:
    pass


def _asked(request: ScoreRequest, served: dict[str, Metric], limits: Limits) -> Asked:
    """Return what is asked for, or raise `InputError`."""
    names = list(dict.fromkeys(served if request.metrics is None else request.metrics))
    for name in names:
        if name not in served:
            raise InputError(
                f"no metric {name[:200]!r} is served here; ask for {', '.join(served)}."
            )
    if not names:
        raise InputError(f"metrics is empty; ask for one or more of {', '.join(served)}.")
    if len(request.sources) > limits.request_sentences:
        raise InputError(
            f"the request has {len(request.sources)} sentences; at most {limits.request_sentences} are "
            "accepted: send several requests."
        )
    lists = {"sources": [request.sources], "hypotheses": [request.hypotheses]}
    lists["references"] = request.references or []
    for argument, rows in lists.items():
        longest = max((len(text) for row in rows for text in row), default=0)
        if longest > limits.text_characters:
            raise InputError(
                f"{argument} has a text of {longest} characters; at most {limits.text_characters} are "
                "accepted: send one sentence per text."
            )
    metrics = tuple(served[name] for name in names)
    sources, hypotheses = request.sources, request.hypotheses
    references: References | None = None
    for metric in metrics:
        given = metric.as_inputs(sources, {"hypotheses": hypotheses}, request.references)
        sources, hypotheses, references = given[0], given[1]["hypotheses"], given[2]
    return Asked(metrics, sources, hypotheses, references)


def _explain_errors(app: FastAPI) -> None:
    """Answer every error with one sentence."""

    def problem(status: int, detail: str, **headers: str) -> JSONResponse:
        return JSONResponse({"detail": detail}, status, headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = "".join(
            f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"][1:]
        ).lstrip(".")
        if first["type"] == "json_invalid":
            return problem(422, "the body is not JSON; send an object such as the one in /docs.")
        if first["type"] == "extra_forbidden":
            known = ", ".join(ScoreRequest.model_fields)
            return problem(422, f"the body has the unknown key {place!r}; known: {known}.")
        return problem(422, f"{place or 'the body'}: {first['msg']}.")

    @app.exception_handler(LearnedgecError)
    async def refused(_: Request, error: LearnedgecError) -> Response:
        if isinstance(error, OverloadedError):
            return problem(429, str(error), **{"Retry-After": str(error.retry_after)})
        if isinstance(error, StoppedError):
            return problem(503, str(error), **{"Retry-After": "1"})
        return problem(422 if isinstance(error, InputError) else 500, str(error))

    @app.exception_handler(Exception)
    async def failed(_: Request, error: Exception) -> Response:
        return problem(500, f"scoring failed ({type(error).__name__}); the service's log has more.")


class _SizeLimit:
    """Refuses a body that is too large, before it is read where its length is known."""

    def __init__(self, app: ASGI, limit_kib: int) -> None:
        self.app, self.limit = app, 1024 * limit_kib
        self.detail = f"the request is larger than {limit_kib} KiB; send several smaller ones."
        # The rest of the body is not read.
        self.headers = {"Connection": "close"}

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.limit:
            refusal = JSONResponse({"detail": self.detail}, 413, self.headers)
            await refusal(scope, receive, send)
            return
        size = 0

        async def counted() -> Message:
            nonlocal size
            message: Message = await receive()
            size += len(message.get("body", b""))
            if size > self.limit:
                raise HTTPException(413, self.detail, self.headers)
            return message

        await self.app(scope, counted, send)
