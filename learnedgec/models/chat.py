"""Ask a chat model at an OpenAI-compatible endpoint, and keep its answers on disk.

The client is the standard library's. Temporary failures are retried with growing pauses: no connection, a
time-out, 408, 409, 425, 429, any 5xx, and a body that is incomplete, too long or not JSON. Any other failure
is one clear error. A request always ends at its deadline and takes a few megabytes at most, and Ctrl-C ends
the program. The key is read from the environment and sent only to the endpoint (redirects are not followed).
It never appears in a message, a name, a signature or a file. Addresses do appear there, so an address must
not contain a key.

One file, though long: it is all code that talks to an endpoint, to be reviewed as a whole.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import queue
import re
import threading
import time
import urllib.error
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeGuard, TypeVar
from urllib.parse import urlsplit

from learnedgec._version import __version__
from learnedgec.errors import ConfigError, ModelError
from learnedgec.execution import cache
from learnedgec.execution.digests import key_of
from learnedgec.models.posting import post

__all__ = [
    "OPENAI",
    "Answer",
    "AnswerStore",
    "Endpoint",
    "OutputFormat",
    "ask_all",
    "check_key",
    "find_key",
]

OPENAI = "https://api.openai.com/v1"
OutputFormat = Literal["json-schema", "json-object", "text"]

_PASSING = {408, 409, 425, 429}
_LONGEST_PAUSE = 120.0
_EXCERPT = 200
# Bytes of a response; an answer takes a thousandth of that.
_MOST_BYTES = 4 << 20
# Tokens that a response may say it took; and that add up in a stored answer, all exact as float64.
_MOST_TOKENS, _MOST_TOKENS_STORED = 10**9, 2**53

_Request = TypeVar("_Request")


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer, or the reason for its refusal.

    Attributes:
        text: the text of the answer, or `None` if the model refused.
        refusal: the model's or the provider's reason, or `None`.
        prompt_tokens: number of tokens read in all attempts, as counted by the endpoint.
        completion_tokens: number of tokens written in all attempts.
    """

    text: str | None
    refusal: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True)
class Endpoint:
    """A chat model at an OpenAI-compatible address.

    Attributes:
        url: the base address, such as `https://api.openai.com/v1` or `http://localhost:8000/v1`.
        model: the model's name at that address.
        key: key that is sent as a bearer token; empty for none.
        output: how the request asks for JSON: by a schema, as any object, or not at all.
        timeout: seconds without a byte after which an attempt fails.
        deadline: seconds after which the request fails, including all attempts and pauses.
        attempts: maximum number of attempts.
        sleep: function that waits for a number of seconds.
    """

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    output: OutputFormat = "json-schema"
    timeout: float = 120.0
    deadline: float = 900.0
    attempts: int = 6
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def __post_init__(self) -> None:
        if not _is_address(self.url):
            # Whatever may hold a key is not repeated.
            shown = "the address given" if re.search(r"[@?#;]", self.url) else repr(self.url[:200])
            raise ConfigError(
                f"{shown} is not an endpoint; an address such as {OPENAI} or http://localhost:8000/v1 was "
                "expected, without user name, query or key, because signatures show it (a key belongs in the "
                "environment, as LEARNEDGEC_API_KEY)."
            )
        if self.key and not (self.key.isascii() and self.key.isprintable()):
            raise ConfigError("the API key contains characters that no key has; set it again.")

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
            schema: JSON schema that the answer should follow; it is not checked here.
            temperature: sampling temperature; `None` leaves it to the endpoint.
            seed: sampling seed; `None` leaves it to the endpoint.

        Raises:
            ModelError: the endpoint rejected the request, or no attempt was answered.
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
        end = time.monotonic() + self.deadline
        for attempt in range(self.attempts):
            pause = min(2.0**attempt, _LONGEST_PAUSE)
            try:
                return _read(self._post(content, end))
            except urllib.error.HTTPError as error:
                with error:
                    trouble = f"answered {error.code}: {self._excerpt(error)}"
                    if error.code not in _PASSING and error.code < 500:
                        raise ModelError(self._explain(error.code, trouble)) from None
                    pause = _asked_pause(error.headers.get("Retry-After"), pause)
            except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
                # URLError and time-outs are OSErrors; a body that is not JSON is a ValueError, and one that
                # is nested too deeply a RecursionError.
                trouble = f"failed ({self._scrub(_reason(error))})"
            if time.monotonic() + pause >= end:
                trouble += (
                    f" in attempt {attempt + 1}, and the {self.deadline:g} s for a request are over"
                )
                break
            if attempt + 1 < self.attempts:
                self.sleep(pause)
        else:
            trouble += f" in the last of {self.attempts} attempts"
        raise ModelError(
            f"{self.url} {trouble}; run this again later, the answers so far are kept."
        )

    def _post(self, content: bytes, end: float) -> Any:
        """Send one request and return the JSON of its response, or raise `TimeoutError` at `end`."""
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"learnedgec/{__version__}",
        }
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        found = post(
            self.url.rstrip("/") + "/chat/completions",
            content,
            headers,
            timeout=self.timeout,
            end=end,
            most=_MOST_BYTES,
        )
        return json.loads(found)

    def _excerpt(self, error: urllib.error.HTTPError) -> str:
        """Return the beginning of an error's body as one line."""
        try:
            text = error.read(20 * _EXCERPT).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException):
            text = ""
        return self._scrub(" ".join(text.split()))[:_EXCERPT] or str(error.reason)

    def _explain(self, code: int, trouble: str) -> str:
        """Return the message, with advice, for an error that another attempt would not solve."""
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
        """Return a text without the key, in case a server or a library repeats it."""
        return text.replace(self.key, "[key]") if self.key else text


def _reason(error: BaseException) -> str:
    """Return the reason of an error in words, such as `Connection refused`, without its number and class."""
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    return str((isinstance(inner, OSError) and inner.strerror) or inner) or type(inner).__name__


def check_key(url: str) -> None:
    """Raise `ModelError` if the address is OpenAI's, which needs a key, and no key is set."""
    if urlsplit(url).hostname == urlsplit(OPENAI).hostname and find_key(url) is None:
        raise ModelError(
            f"{url} needs a key, and there is none in the environment; set LEARNEDGEC_API_KEY or "
            "OPENAI_API_KEY, or name another endpoint, such as endpoint='http://localhost:8000/v1'."
        )


def find_key(url: str) -> str | None:
    """Return the key from the environment: LEARNEDGEC_API_KEY, or for OpenAI's address OPENAI_API_KEY."""
    names = ["LEARNEDGEC_API_KEY"]
    if urlsplit(url).hostname == urlsplit(OPENAI).hostname:
        names.append("OPENAI_API_KEY")
    keys = (os.environ.get(name, "").strip() for name in names)
    return next((key for key in keys if key), None)


def _is_address(url: str) -> bool:
    """Return whether a text is the address of a server with a path, and contains nothing else."""
    if not re.fullmatch(r"[!-~]+", url) or re.search(r"[@?#;\\]", url):
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of a port or an IPv6 address
        return False


def _asked_pause(header: str | None, default: float) -> float:
    """Return the seconds that a Retry-After header requests; dates are ignored."""
    try:
        asked = float(header or "nan")
    except ValueError:
        return default
    return default if math.isnan(asked) else min(max(asked, 0.0), _LONGEST_PAUSE)


def _read(response: Any) -> Answer:
    """Return the answer in a response; raise `ValueError` if the response has another form.

    Invalid counts of tokens are ignored, because no score depends on them.
    """
    try:
        choice = response["choices"][0]
        message = choice["message"]
        usage = response.get("usage")
        text, refusal = message.get("content"), message.get("refusal") or None
        said = usage if isinstance(usage, dict) else {}
        found = [said.get(f"{kind}_tokens") for kind in ("prompt", "completion")]
        counts: list[int] = [count if _is_count(count, _MOST_TOKENS) else 0 for count in found]
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError("the response is not a chat completion") from None
    if refusal is None and choice.get("finish_reason") == "content_filter":
        refusal = "content filter"
    if refusal is not None:
        return Answer(None, str(refusal), *counts)
    if not isinstance(text, str):
        raise ValueError("the response has no text")  # noqa: TRY004
    return Answer(text, None, *counts)


def _is_count(value: object, most: int) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= most


def _is_whole(answer: Answer) -> bool:
    """Return whether a stored answer is valid: a text or a refusal, with its counts."""
    said = [text for text in (answer.text, answer.refusal) if text is not None]
    counts = (answer.prompt_tokens, answer.completion_tokens)
    return (
        len(said) == 1
        and isinstance(said[0], str)
        and all(_is_count(count, _MOST_TOKENS_STORED) for count in counts)
    )


class AnswerStore:
    """Answers on disk, one file each, by everything they depend on; several processes may share it.

    A file that holds no valid answer counts as absent.
    """

    def __init__(self, folder: Path, *about: str) -> None:
        self._folder, self._about = folder, about

    def get(self, request: str) -> Answer | None:
        """Return the stored answer to a request, or `None`."""
        found = cache.load(self._folder, self._key(request))
        records = found[1] if found else None
        if not isinstance(records, list) or len(records) != 1 or not isinstance(records[0], dict):
            return None
        try:
            answer = Answer(**records[0])
        except TypeError:
            return None
        return answer if _is_whole(answer) else None

    def put(self, request: str, answer: Answer) -> None:
        """Store an answer."""
        cache.store(self._folder, self._key(request), {}, [asdict(answer)])

    def _key(self, request: str) -> str:
        return key_of("answer", *self._about, request)


def ask_all(
    ask: Callable[[_Request], Answer], requests: Iterable[_Request], at_once: int
) -> Iterator[tuple[_Request, Answer]]:
    """Yield requests with their answers as they arrive, with at most `at_once` requests at a time.

    After an error, or if the caller stops, requests that have not begun are not sent. Those under way end by
    themselves. Nothing waits for their threads, so no endpoint can keep the program from ending.

    Args:
        ask: function that returns the answer to a request; it is called in threads.
        requests: the requests.
        at_once: maximum number of requests at a time.
    """
    pending: queue.SimpleQueue[_Request] = queue.SimpleQueue()
    answered: queue.SimpleQueue[tuple[_Request, Answer | BaseException]] = queue.SimpleQueue()
    stopped = threading.Event()

    def work() -> None:
        while not stopped.is_set():
            try:
                request = pending.get_nowait()
            except queue.Empty:
                return
            try:
                answered.put((request, ask(request)))
            except BaseException as error:  # for the caller, whatever it is
                stopped.set()
                answered.put((request, error))

    for request in requests:
        pending.put(request)
    size = pending.qsize()
    try:
        for _ in range(min(max(at_once, 1), size)):
            threading.Thread(target=work, daemon=True).start()
        for _ in range(size):
            request, answer = answered.get()
            if isinstance(answer, BaseException):
                raise answer
            yield request, answer
    finally:
        stopped.set()
