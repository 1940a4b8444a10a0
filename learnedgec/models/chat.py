"""Ask a chat model behind an OpenAI-compatible endpoint; answers are kept on disk.

The client is the standard library's. What can pass is tried again with growing pauses (no connection,
a time-out, 408, 409, 425, 429, any 5xx, a body cut short or not JSON); what cannot is one clear error. The
key comes from the environment, is sent to the endpoint alone (redirects are not followed), and never
appears in a message, a name, a signature or a file.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from learnedgec._version import __version__
from learnedgec.errors import ConfigError, ModelError
from learnedgec.execution import cache
from learnedgec.execution.digests import key_of

__all__ = ["OPENAI", "Answer", "AnswerStore", "Endpoint", "OutputFormat", "ask_all", "find_key"]

OPENAI = "https://api.openai.com/v1"
OutputFormat = Literal["json-schema", "json-object", "text"]

_PASSING = {408, 409, 425, 429}
_LONGEST_PAUSE = 120.0
_EXCERPT = 200

_Request = TypeVar("_Request")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said, or why it did not.

    Attributes:
        text: the answer, or `None` if the model refused.
        refusal: the model's or the provider's reason, or `None`.
        prompt_tokens: tokens read, as the endpoint counts them, in all attempts together.
        completion_tokens: tokens written, likewise.
    """

    text: str | None
    refusal: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True)
class Endpoint:
    """A chat model behind an OpenAI-compatible address.

    Attributes:
        url: the base address, such as `https://api.openai.com/v1` or `http://localhost:8000/v1`.
        model: the model's name there.
        key: sent as a bearer token where there is one.
        output: how the endpoint is told to write JSON: by a schema, as any object, or not at all.
        timeout: seconds without a sign of life after which an attempt has failed.
        attempts: how often a request is tried.
        sleep: waits for so many seconds.
    """

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    output: OutputFormat = "json-schema"
    timeout: float = 120.0
    attempts: int = 6
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise ConfigError(
                f"{_without_user(self.url)!r} is not an endpoint; an address such as {OPENAI} or "
                "http://localhost:8000/v1 was expected, without a user name or key in it."
            )
        if self.key and not (self.key.isascii() and self.key.isprintable()):
            raise ConfigError("the API key holds characters that no key has; set it again.")

    def ask(
        self,
        prompt: str,
        *,
        schema: Mapping[str, Any] | None = None,
        temperature: float | None = 0.0,
        seed: int | None = None,
    ) -> Answer:
        """Return the model's answer to one prompt.

        Args:
            prompt: the user's message.
            schema: the JSON schema that the answer should follow; it is not checked here.
            temperature: `None` leaves it to the endpoint.
            seed: likewise.

        Raises:
            ModelError: the endpoint refused the request, or did not answer it in any attempt.
        """
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
        }
        if temperature is not None:
            body["temperature"] = temperature
        if seed is not None:
            body["seed"] = seed
        if schema is not None and self.output == "json-schema":
            described = {"name": "answer", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": described}
        elif schema is not None and self.output == "json-object":
            body["response_format"] = {"type": "json_object"}
        content = json.dumps(body).encode()
        trouble = ""
        for attempt in range(self.attempts):
            pause = min(2.0**attempt, _LONGEST_PAUSE)
            try:
                return _read(self._post(content))
            except urllib.error.HTTPError as error:
                with error:
                    trouble = f"answered {error.code}: {self._excerpt(error)}"
                    if error.code not in _PASSING and error.code < 500:
                        raise ModelError(self._explain(error.code, trouble)) from None
                    pause = _asked_pause(error.headers.get("Retry-After"), pause)
            except (OSError, http.client.HTTPException, ValueError) as error:
                # URLError and time-outs are OSErrors; a body that is not JSON is a ValueError.
                trouble = f"failed ({self._scrub(str(error) or type(error).__name__)})"
            if attempt + 1 < self.attempts:
                self.sleep(pause)
        raise ModelError(
            f"{self.url} {trouble} in the last of {self.attempts} attempts; run this again later, "
            "answers that have come are kept."
        )

    def _post(self, content: bytes) -> Any:
        """Send one request and return the JSON of its response."""
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"learnedgec/{__version__}",
        }
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        request = urllib.request.Request(
            self.url.rstrip("/") + "/chat/completions", data=content, headers=headers, method="POST"
        )
        opener = urllib.request.build_opener(_StayHere)
        with opener.open(request, timeout=self.timeout) as response:
            return json.loads(response.read())

    def _excerpt(self, error: urllib.error.HTTPError) -> str:
        """Return the beginning of an error's body on one line."""
        try:
            text = error.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException):
            text = ""
        return self._scrub(" ".join(text.split()))[:_EXCERPT] or str(error.reason)

    def _explain(self, code: int, trouble: str) -> str:
        """Return what to do about an error that another attempt would meet again."""
        if code in (401, 403):
            todo = "set LEARNEDGEC_API_KEY to a key that it accepts"
        elif code == 404:
            todo = f"check the address and the model's name {self.model!r}"
        elif 300 <= code < 400:
            todo = (
                "give the address it redirects to; redirects are not followed, for the key's sake"
            )
        else:
            todo = (
                "check the model's name; if it does not know json_schema, seed or temperature, "
                "use output='json-object' or 'text', temperature=None or seed=None"
            )
        return f"{self.url} {trouble}; {todo}."

    def _scrub(self, text: str) -> str:
        """Return a text without the key, should a server or a library repeat it."""
        return text.replace(self.key, "[key]") if self.key else text


class _StayHere(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, which would carry the key to another host."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Make the redirect an error."""
        return


def find_key(url: str) -> str | None:
    """Return the key in the environment: LEARNEDGEC_API_KEY, or for OpenAI itself OPENAI_API_KEY."""
    names = ["LEARNEDGEC_API_KEY"]
    if urlsplit(url).hostname == urlsplit(OPENAI).hostname:
        names.append("OPENAI_API_KEY")
    keys = (os.environ.get(name, "").strip() for name in names)
    return next((key for key in keys if key), None)


def _without_user(url: str) -> str:
    """Return an address without what stands before an @."""
    head, _, tail = url.rpartition("@")
    return f"{head.partition('//')[0]}//…@{tail}" if head else url


def _asked_pause(header: str | None, default: float) -> float:
    """Return the seconds that a Retry-After header asks for; dates are taken as nothing said."""
    try:
        asked = float(header or "nan")
    except ValueError:
        return default
    return default if math.isnan(asked) else min(max(asked, 0.0), _LONGEST_PAUSE)


def _read(response: Any) -> Answer:
    """Return the answer in a response; one of another shape is a `ValueError`."""
    try:
        choice = response["choices"][0]
        message = choice["message"]
        usage = response.get("usage") or {}
        text, refusal = message.get("content"), message.get("refusal") or None
        counts = [int(usage.get(f"{kind}_tokens") or 0) for kind in ("prompt", "completion")]
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError("the response is not a chat completion") from None
    if refusal is None and choice.get("finish_reason") == "content_filter":
        refusal = "content filter"
    if refusal is not None:
        return Answer(None, str(refusal), *counts)
    if not isinstance(text, str):
        raise ValueError("the response has no text")  # noqa: TRY004
    return Answer(text, None, *counts)


class AnswerStore:
    """Answers on disk, one file each, by everything they depend on; safe under several processes."""

    def __init__(self, folder: Path, *about: str) -> None:
        self._folder, self._about = folder, about

    def get(self, request: str) -> Answer | None:
        """Return the answer to a request, or `None`."""
        found = cache.load(self._folder, self._key(request))
        return Answer(**found[1][0]) if found else None

    def put(self, request: str, answer: Answer) -> None:
        """Keep an answer."""
        cache.store(self._folder, self._key(request), {}, [asdict(answer)])

    def _key(self, request: str) -> str:
        return key_of("answer", *self._about, request)


def ask_all(
    ask: Callable[[_Request], Answer], requests: Iterable[_Request], at_once: int
) -> Iterator[tuple[_Request, Answer]]:
    """Yield requests with their answers as they come, at most `at_once` under way at a time.

    An error, or a caller that stops, leaves out the requests that have not begun.
    """
    pending: Sequence[_Request] = list(requests)
    executor = ThreadPoolExecutor(max_workers=max(at_once, 1))
    try:
        futures = {executor.submit(ask, request): request for request in pending}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        executor.shutdown(cancel_futures=True)
