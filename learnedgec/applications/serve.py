"""Metrics as a service: a stateless FastAPI application.

    POST /score      sentences in, scores out
    GET  /scorers    the metrics that are served
    GET  /health     whether the process works
    GET  /ready      whether it takes requests
    GET  /docs       this, as OpenAPI (/openapi.json)

A request's sentences are scored in one call of the library, one request at a time; scores equal those of the
library. Errors are `{"detail": "one sentence"}`. The service has no users and no secrets: it listens on
loopback unless told otherwise, and its abilities are fixed when it starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from learnedgec._version import __version__
from learnedgec.data.references import References
from learnedgec.errors import InputError, LearnedgecError, MissingDependencyError
from learnedgec.metrics.inputs import as_inputs, checked_inputs
from learnedgec.metrics.scores import Score, Scores
from learnedgec.runtime.notices import collected
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import AnyMetric, BoundMetric, bind, score_metrics

try:
    from fastapi import FastAPI, HTTPException, Request
    from fastapi.concurrency import run_in_threadpool
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse, Response
    from pydantic import BaseModel, ConfigDict, Field
except ImportError as error:
    raise MissingDependencyError(str(error.name), "serve", "the service") from None


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
    notices: list[str] = Field(
        description="what looks like a mistake in the texts, a sentence each"
    )


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
        metrics: one or more; requests name them by their labels.
        request_sentences: the most sentences in a request.
        text_characters: the longest text.
        waiting_requests: the most requests that are scored or wait at a time; others are refused.
        runtime: how scoring runs.

    Raises:
        InputError: there is no metric, or a metric's score of a sentence depends on other sentences.
    """
    served = {metric.label: metric for metric in bind(metrics, runtime)}
    for metric in served.values():
        metric.metric.check_alone()
    summary = f"Scores of corrections, by {', '.join(served)}"
    app = FastAPI(title="learnedgec", summary=summary, version=__version__, redoc_url=None)
    scoring = asyncio.Lock()
    waiting = 0  # requests that are scored or wait

    @app.post("/score", responses={200: {"model": ScoreResponse}})
    async def score(request: ScoreRequest) -> Response:
        """Score corrections of sentences."""
        nonlocal waiting
        _check_size(request, request_sentences, text_characters)
        names = list(served) if request.metrics is None else request.metrics
        if not names or not served.keys() >= set(names):
            raise InputError(
                f"metrics is {names}; ask for one or more of {', '.join(served)}, which are served."
            )
        chosen = list(dict.fromkeys(served[name] for name in names))
        if waiting >= waiting_requests:
            detail = f"the service is busy: {waiting} requests are waiting; try again in 1 s."
            raise HTTPException(429, detail, {"Retry-After": "1"})
        systems = {"hypotheses": request.hypotheses}
        rows = request.references
        references = None if rows is None else References.from_rows(rows)

        def score_texts() -> dict[str, Scores[Score]]:
            texts = (request.sources, systems, references)
            return score_metrics(chosen, checked_inputs(chosen, *texts, chosen[0].runtime))

        waiting += 1
        try:
            with collected() as notices:
                async with scoring:
                    scores = await run_in_threadpool(score_texts)
        finally:
            waiting -= 1
        return JSONResponse(
            {
                "scores": {label: of["hypotheses"].to_dict() for label, of in scores.items()},
                "notices": list(dict.fromkeys(map(str, notices))),
            }
        )

    @app.get("/scorers")
    async def scorers() -> list[dict[str, Any]]:
        """List the served metrics, and whether they need references."""
        return [
            {
                "name": name,
                "metric": str(metric),
                "needs_references": metric.metric.needs_references,
            }
            for name, metric in served.items()
        ]

    @app.get("/ready")
    @app.get("/health")
    async def ready() -> dict[str, str]:
        """Say that the process works and takes requests; models are loaded before the service listens."""
        return {"status": "ready"}

    # Every error is answered with one sentence.
    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:])
        return JSONResponse({"detail": f"{place or 'the body'}: {first['msg']}."}, 422)

    @app.exception_handler(LearnedgecError)
    async def refused(_: Request, error: LearnedgecError) -> Response:
        return JSONResponse({"detail": str(error)}, 422 if isinstance(error, InputError) else 500)

    @app.exception_handler(Exception)
    async def failed(_: Request, error: Exception) -> Response:
        detail = f"scoring failed ({type(error).__name__}); the service's log has more."
        return JSONResponse({"detail": detail}, 500)

    return app


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
    score_metrics(metrics, as_inputs(metrics, text, {"hypotheses": text}, [text], Runtime()))
