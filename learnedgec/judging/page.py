"""The page on which people judge, and the page of the study's owner: a FastAPI application.

    GET  /TOKEN              a rater's page, or the owner's status
    GET  /TOKEN/next         the item that comes next
    GET  /TOKEN/items/N      an earlier item, to change its answer
    POST /TOKEN/items/N      an answer; the reply is the next item

A token is the secret in a link and names a rater. No rater's page has the name of a system. The pages request
nothing from another host. Texts and comments are text everywhere and never markup. Errors are
`{"detail": "one sentence"}`.
"""

from __future__ import annotations

import dataclasses
from importlib.resources import files
from typing import Any

from learnedgec.edits.annotator import extract_edits
from learnedgec.errors import InputError, LearnedgecError, needs
from learnedgec.judging.records import GUIDELINES_FILE, Answer, AnsweredError, Item
from learnedgec.judging.status import study_status
from learnedgec.judging.study import OWNER, Study

with needs("judge", "the page for judgements"):
    from fastapi import BackgroundTasks, FastAPI, HTTPException, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse, PlainTextResponse, Response
    from fastapi.templating import Jinja2Templates
    from markdown_it import MarkdownIt
    from starlette.datastructures import MutableHeaders
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    _TEMPLATES = Jinja2Templates(str(files("learnedgec.judging").joinpath("templates")))

# The report shows edits in the same way.
_ASSETS = {
    "judge.css": (
        "text/css",
        ["report/assets/page.css", "report/assets/explorer.css", "judging/assets/judge.css"],
    ),
    "judge.js": (
        "text/javascript",
        ["report/assets/dom.js", "report/assets/diff.js", "judging/assets/judge.js"],
    ),
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


@dataclasses.dataclass
class SentAnswer:
    """An answer as the page sends it; see `Study.record`."""

    answer: Answer
    seconds: float = 0.0
    version: int | None = None
    key: str | None = None


def application(study: Study) -> FastAPI:
    """Return the application that serves a study, for any ASGI server.

    Args:
        study: the study.
    """
    app = FastAPI(title="learnedgec judge", docs_url=None, redoc_url=None, openapi_url=None)
    guidelines = MarkdownIt("commonmark", {"html": False}).render(
        (study.folder / GUIDELINES_FILE).read_text(encoding="utf-8")
    )

    @app.get("/assets/{name}")
    def asset(name: str) -> Response:
        return _asset(name)

    @app.get("/{token}")
    def page(request: Request, token: str) -> Response:
        values: dict[str, Any] = {"settings": study.settings, "guidelines": guidelines}
        if _user(study, token) == OWNER:
            values |= {"study": study, "status": study_status(study)}
            return _TEMPLATES.TemplateResponse(request, "status.html", values)
        dimensions = [
            [name, dataclasses.asdict(scale)] for name, scale in study.settings.dimensions.items()
        ]
        values["shown"] = {"task": study.settings.task, "dimensions": dimensions}
        return _TEMPLATES.TemplateResponse(request, "judge.html", values)

    @app.get("/{token}/next")
    def following(token: str) -> JSONResponse:
        return _shown(study.next(_rater(study, token)), study)

    @app.get("/{token}/items/{number}")
    def earlier(token: str, number: int) -> JSONResponse:
        return _shown(study.item(_rater(study, token), number), study)

    @app.post("/{token}/items/{number}")
    def record(
        token: str, number: int, sent: SentAnswer, background: BackgroundTasks
    ) -> JSONResponse:
        rater = _rater(study, token)
        study.record(
            number,
            sent.answer,
            rater=rater,
            seconds=sent.seconds,
            version=sent.version,
            key=sent.key,
        )
        background.add_task(study.update_tables)
        return _shown(study.next(rater), study)

    _answer_safely(app)
    return app


def _user(study: Study, token: str) -> str:
    """Return the name of the rater, or `owner`, whose link has this token, or raise the error 404."""
    if (user := study.find_rater(token)) is None:
        raise HTTPException(404, "this link is not one of the study's; ask for your link again.")
    return user


def _rater(study: Study, token: str) -> str:
    """Return the name of the rater whose link has this token, or raise the error 404."""
    if (rater := _user(study, token)) == OWNER:
        raise HTTPException(404, "this link is for the status alone; open that of a rater.")
    return rater


def _asset(name: str) -> Response:
    """Return a file that the pages request, or raise the error 404."""
    if name not in _ASSETS:
        raise HTTPException(404, "there is no such file.")
    kind, paths = _ASSETS[name]
    texts = [files("learnedgec").joinpath(path).read_text(encoding="utf-8") for path in paths]
    return Response("".join(texts), media_type=kind)


def _shown(item: Item | None, study: Study) -> JSONResponse:
    """Return what the page shows of an item, with the edits of its texts; `None` ends the work."""
    if item is None:
        return JSONResponse({"done": True, "total": study.settings.total})
    pairs = [(item.source, text) for text in item.texts]
    marks = [item.edits] if item.edits else extract_edits(pairs, "plain")
    shown = dataclasses.asdict(dataclasses.replace(item, edits=()))
    shown["marks"] = [
        [{"start": e.start, "end": e.end, "correction": e.correction} for e in edits]
        for edits in marks
    ]
    return JSONResponse(shown)


@dataclasses.dataclass
class _Secured:
    """An ASGI application that sends the headers of security with every answer."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self.app(scope, receive, send_secured)


def _answer_safely(app: FastAPI) -> None:
    """Send the headers of security with every answer, and answer every error with one sentence."""
    app.add_middleware(_Secured)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:])
        return JSONResponse({"detail": f"{place or 'the body'}: {first['msg']}."}, 422)

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        if "text/html" in request.headers.get("accept", ""):
            return PlainTextResponse(f"{error.detail}\n", error.status_code)
        return JSONResponse({"detail": error.detail}, error.status_code)

    @app.exception_handler(LearnedgecError)
    async def refused(_: Request, error: LearnedgecError) -> Response:
        codes = {AnsweredError: 409, InputError: 422, LearnedgecError: 500}
        code = next(code for kind, code in codes.items() if isinstance(error, kind))
        return JSONResponse({"detail": str(error)}, code)
