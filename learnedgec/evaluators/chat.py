"""Ask a chat model at an OpenAI-compatible endpoint (extra `llm`).

The client is `openai`, which repeats requests after temporary failures: no connection, a time-out, 408, 409,
429 and any 5xx. Any other failure is one clear error. The key is read from the environment. It never appears
in a message, a name, a signature or a file. Addresses do appear there, so an address must not contain a key.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from multiprocessing.pool import ThreadPool
from typing import Any, Literal, Protocol, TypeVar
from urllib.parse import urlsplit

from learnedgec.errors import ConfigError, ModelError, needs
from learnedgec.runtime.files import key_of
from learnedgec.runtime.runtime import track
from learnedgec.runtime.store import Store

OPENAI = "https://api.openai.com/v1"
OutputFormat = Literal["json-schema", "json-object", "text"]

# The number of characters of an endpoint's message that an error repeats.
_EXCERPT = 200

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
        timeout: seconds after which an attempt fails.
        attempts: maximum number of attempts.
    """

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    output: OutputFormat = "json-schema"
    timeout: float = 120.0
    attempts: int = 6

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or re.search(r"[@?#;\s]", self.url):
            # A text that may hold a key is not repeated.
            shown = "the address given" if re.search(r"[@?#;]", self.url) else repr(self.url[:200])
            raise ConfigError(
                f"{shown} is not an endpoint; an address such as {OPENAI} or http://localhost:8000/v1 was "
                "expected, without user name, query or key, because signatures show it (a key belongs in the "
                "environment, as LEARNEDGEC_API_KEY)."
            )

    @cached_property
    def _client(self) -> Any:
        return import_openai().OpenAI(
            base_url=self.url,
            api_key=self.key or "none",
            timeout=self.timeout,
            max_retries=self.attempts - 1,
        )

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
            MissingDependencyError: `openai` is not installed.
            ModelError: the endpoint rejected the request, or no attempt was answered.
        """
        options: dict[str, Any] = {"temperature": temperature, "seed": seed}
        if schema is not None and self.output == "json-schema":
            described = {"name": "answer", "strict": True, "schema": schema}
            options["response_format"] = {"type": "json_schema", "json_schema": described}
        elif schema is not None and self.output == "json-object":
            options["response_format"] = {"type": "json_object"}
        openai = import_openai()
        try:
            completion = self._client.chat.completions.create(
                model=self.model,
                messages=[{"role": "user", "content": prompt}],
                **{name: value for name, value in options.items() if value is not None},
            )
            return _read(completion)
        except openai.APIStatusError as error:
            text = " ".join(error.response.text.split()) or error.message
            raise ModelError(
                f"{self.url} answered {error.status_code}: {self._without_key(text)[:_EXCERPT]}; check the "
                f"address, the model's name {self.model!r} and the key in LEARNEDGEC_API_KEY, use "
                "output='json-object' or 'text', temperature=None or seed=None if it does not know these, or "
                "run this again later: the answers so far are kept."
            ) from None
        except (openai.OpenAIError, ValueError) as error:
            reason = self._without_key(str(error.__cause__ or error)) or type(error).__name__
            raise ModelError(
                f"{self.url} failed ({reason[:_EXCERPT]}); run this again later, the answers so far are kept."
            ) from None

    def _without_key(self, text: str) -> str:
        """Return a text without the key, in case a server or a library repeats it."""
        return text.replace(self.key, "[key]") if self.key else text


def import_openai() -> Any:
    """Return the module `openai`.

    Raises:
        MissingDependencyError: it is not installed.
    """
    with needs("llm", "asking a model at an endpoint"):
        import openai
    return openai


def find_key(url: str) -> str | None:
    """Return the key from the environment: LEARNEDGEC_API_KEY, or for OpenAI's address OPENAI_API_KEY.

    Raises:
        ModelError: the address is OpenAI's, which needs a key, and no key is set.
    """
    if key := os.environ.get("LEARNEDGEC_API_KEY", "").strip():
        return key
    if urlsplit(url).hostname != urlsplit(OPENAI).hostname:
        return None
    if key := os.environ.get("OPENAI_API_KEY", "").strip():
        return key
    raise ModelError(
        f"{url} needs a key, and there is none in the environment; set LEARNEDGEC_API_KEY or "
        "OPENAI_API_KEY, or name another endpoint, such as endpoint='http://localhost:8000/v1'."
    )


def _read(completion: Any) -> Answer:
    """Return the answer in a response; raise `ValueError` if the response is no chat completion."""
    try:
        choice = completion.choices[0]
        text, refusal, usage = choice.message.content, choice.message.refusal, completion.usage
    except (AttributeError, IndexError, TypeError):
        raise ValueError("the response is not a chat completion") from None
    tokens = (usage.prompt_tokens or 0, usage.completion_tokens or 0) if usage else (0, 0)
    if refusal is None and choice.finish_reason == "content_filter":
        refusal = "content filter"
    if refusal is None and not isinstance(text, str):
        raise ValueError("the response has no text")
    return Answer(text if refusal is None else None, refusal, *tokens)


def ask_all(
    ask: Callable[[_Request], Answer], requests: Sequence[_Request], at_once: int
) -> Iterator[tuple[_Request, Answer]]:
    """Yield requests with their answers as they arrive, with at most `at_once` requests at a time.

    After an error, or if the caller stops, requests that have not begun are not sent. Nothing waits for those
    under way.

    Args:
        ask: function that returns the answer to a request; it is called in threads.
        requests: the requests.
        at_once: maximum number of requests at a time.
    """
    if not requests:
        return
    with ThreadPool(min(max(at_once, 1), len(requests))) as pool:
        yield from pool.imap_unordered(lambda request: (request, ask(request)), requests)


# The largest number of times to send a request until an answer follows the schema; seeds differ.
_ATTEMPTS = 3


class Question(Protocol):
    """A prompt, the schema of its answer, and whether an answer can be used."""

    @property
    def prompt(self) -> str:
        """The user's message."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema of an answer."""

    def accepts(self, answer: Answer) -> bool:
        """Return whether an answer can be used."""


@dataclass(frozen=True)
class Asker:
    """Asks a model questions, and keeps every usable answer on disk as soon as it arrives.

    Attributes:
        url: address of the endpoint.
        model: the model's name there.
        output: the way to ask for JSON.
        temperature: sampling temperature; `None` leaves it to the endpoint.
        seed: seed of the first attempt; each retry adds 1; `None` leaves it to the endpoint.
        store: the answers on disk.
    """

    url: str
    model: str
    output: OutputFormat
    temperature: float | None
    seed: int | None
    store: Store

    def key(self, question: Question) -> str:
        """Return the key of a question in the store, which covers everything that affects an answer."""
        about = [self.url, self.model, self.output, str(self.temperature), str(self.seed)]
        return key_of("answer", *about, question.prompt)

    def stored(self, questions: Sequence[Question]) -> dict[str, Answer]:
        """Return the usable answers on disk, by the prompts of their questions."""
        keys = {self.key(question): question for question in questions}
        answers = {k: Answer(**json.loads(text)) for k, text in self.store.read(keys).items()}
        return {keys[key].prompt: a for key, a in answers.items() if keys[key].accepts(a)}

    def answers(
        self, questions: Sequence[Question], *, at_once: int, about: str, show: bool
    ) -> list[Answer]:
        """Return the answer to every question, usable or not; those on disk are not asked for.

        Args:
            questions: the questions.
            at_once: maximum number of requests at a time.
            about: what is done, for the progress.
            show: whether to show progress.
        """
        answers = self.stored(questions)
        missing = {q.prompt: q for q in questions if q.prompt not in answers}
        if missing:
            endpoint = Endpoint(self.url, self.model, find_key(self.url), self.output)
            asked = ask_all(partial(self._ask, endpoint), [*missing.values()], at_once)
            for question, answer in track(asked, about, total=len(missing), show=show):
                answers[question.prompt] = answer
                if question.accepts(answer):
                    self.store.write({self.key(question): json.dumps(asdict(answer)).encode()})
        return [answers[question.prompt] for question in questions]

    def _ask(self, endpoint: Endpoint, question: Question) -> Answer:
        """Ask until an answer is usable, and return the last answer with the tokens of all attempts."""
        prompt_tokens = completion_tokens = 0
        for attempt in range(_ATTEMPTS):
            answer = endpoint.ask(
                question.prompt,
                schema=question.schema,
                temperature=self.temperature,
                seed=None if self.seed is None else self.seed + attempt,
            )
            prompt_tokens += answer.prompt_tokens
            completion_tokens += answer.completion_tokens
            if question.accepts(answer):
                break
        return replace(answer, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)


def object_in(text: str) -> Any:
    """Return the JSON object in an answer, or `None`; models often put it in a code block.

    Example:
        >>> object_in('Here you are: {"correction1": 5}')
        {'correction1': 5}
    """
    try:
        return json.loads(text[text.find("{") : text.rfind("}") + 1])
    except (ValueError, RecursionError):  # It is no JSON, or nested too deeply.
        return None
