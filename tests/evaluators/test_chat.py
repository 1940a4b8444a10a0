from __future__ import annotations

from collections.abc import Iterator
from threading import Barrier, Event

import pytest
from chat_server import ChatServer, Step, body, fail, hang, hang_up, say

from learnedgec import load_metric
from learnedgec.errors import ConfigError, MissingDependencyError, ModelError
from learnedgec.evaluators.chat import Answer, Endpoint, ask_all, find_key

pytest.importorskip("openai")

KEY = "sk-secret-0123456789"


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    monkeypatch.setattr("openai._base_client.time.sleep", lambda _: None)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    server = ChatServer(say("fine"))
    yield server
    server.close()


def endpoint(server: ChatServer, **settings: object) -> Endpoint:
    values = {"key": KEY, "timeout": 5.0, **settings}
    return Endpoint(server.url, "tiny", **values)  # type: ignore[arg-type]


def test_request_and_answer(server: ChatServer) -> None:
    answer = endpoint(server).ask("Hello", schema={"type": "object"}, seed=7)
    assert answer == Answer("fine", None, 100, 10)
    (call,) = server.calls
    assert call.path == "/v1/chat/completions"
    assert call.headers["Authorization"] == f"Bearer {KEY}"
    assert call.body == {
        "model": "tiny",
        "messages": [{"role": "user", "content": "Hello"}],
        "temperature": 0.0,
        "seed": 7,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": {"type": "object"}},
        },
    }


@pytest.mark.parametrize(
    ("output", "expected"), [("json-object", {"type": "json_object"}), ("text", None)]
)
def test_other_ways_to_ask_for_json(server: ChatServer, output: str, expected: object) -> None:
    endpoint(server, output=output).ask("Hello", schema={}, temperature=None)
    (call,) = server.calls
    assert call.body.get("response_format") == expected
    assert not {"temperature", "seed"} & set(call.body)


@pytest.mark.parametrize("step", [fail(429), fail(500), hang_up, hang])
def test_temporary_failures_are_tried_again(server: ChatServer, step: Step) -> None:
    server.steps = [step] if step is hang else [step, step]
    asked = endpoint(server, timeout=0.1) if step is hang else endpoint(server)
    assert asked.ask("Hello").text == "fine"
    assert step is hang or len(server.calls) == 3


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (fail(429, "slow down"), r"answered 429: .*slow down.*again later"),
        (
            fail(401, f"bad key {KEY}"),
            r"answered 401: .*\[key\].*LEARNEDGEC_API_KEY, .*output='json",
        ),
        (hang_up, r"failed \(.+\); run this again later"),
        (body(b"not json"), r"failed \(.+\); run this again later"),
        (body(b"{}"), "the response is not a chat completion"),
        (body(b'{"choices": [{"message": {"content": 4}}]}'), "the response has no text"),
    ],
)
def test_an_error_is_one_sentence_without_the_key(
    server: ChatServer, step: Step, message: str
) -> None:
    server.usual = step
    with pytest.raises(ModelError, match=message) as caught:
        endpoint(server, attempts=2).ask("Hello")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (say(None, refusal="I would rather not."), "I would rather not."),
        (say("half an ans", finish="content_filter"), "content filter"),
    ],
)
def test_refusals_are_answers(server: ChatServer, step: Step, reason: str) -> None:
    server.usual = step
    assert endpoint(server).ask("Hello") == Answer(None, reason, 100, 10)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/v1",
        "http://host/a b",
        f"https://me:{KEY}@host/v1",
        f"https://host/v1?api_key={KEY}",
    ],
)
def test_bad_addresses_are_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="is not an endpoint") as caught:
        Endpoint(url, "tiny")
    assert KEY not in str(caught.value)
    assert KEY not in repr(Endpoint("http://host/v1", "tiny", KEY))


def test_keys_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEARNEDGEC_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", " for openai\n")
    assert find_key("https://api.openai.com/v1") == "for openai"
    # A key is sent only to the endpoint that it belongs to.
    assert find_key("https://elsewhere.example/v1") is None
    monkeypatch.setenv("LEARNEDGEC_API_KEY", KEY)
    assert find_key("https://elsewhere.example/v1") == KEY
    assert find_key("https://api.openai.com/v1") == KEY


def test_openai_without_a_key_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEARNEDGEC_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(Endpoint, "ask", None)  # nothing is asked
    with pytest.raises(
        ModelError, match=r"needs a key, and there is none .* set LEARNEDGEC_API_KEY"
    ):
        load_metric("llm-s").score(["a b"], ["a c"])


def test_without_the_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openai", None)
    with pytest.raises(MissingDependencyError, match=r"learnedgec\[llm\]"):
        load_metric("llm-s(endpoint='http://localhost:8000/v1')").score(["a b"], ["a c"])


def test_requests_run_at_once() -> None:
    together = Barrier(3)

    def ask(request: int) -> Answer:
        together.wait(5)
        return Answer(str(request))

    answers = dict(ask_all(ask, range(6), at_once=3))
    assert answers == {number: Answer(str(number)) for number in range(6)}


def test_an_error_stops_what_has_not_begun() -> None:
    begun = []
    stopped = Event()

    def ask(request: int) -> Answer:
        begun.append(request)
        if request == 0:
            raise ModelError("no")
        assert stopped.wait(60)  # the second request is under way until the error has been raised
        return Answer("")

    with pytest.raises(ModelError, match="no"):
        list(ask_all(ask, range(100), at_once=1))
    stopped.set()
    assert len(begun) <= 2
