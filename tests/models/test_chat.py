from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from chat_server import DRIPS, Call, ChatServer, Step, body, cut_short, fail, hang, hang_up, say

from learnedgec import load_metric
from learnedgec.errors import ConfigError, ModelError
from learnedgec.execution import cache
from learnedgec.models import chat
from learnedgec.models.chat import Answer, AnswerStore, Endpoint, ask_all, check_key, find_key

KEY = "sk-secret-0123456789"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    made = ChatServer(say("fine"))
    yield made
    made.close()


@pytest.fixture
def pauses() -> list[float]:
    return []


def endpoint(server: ChatServer, pauses: list[float], **settings: object) -> Endpoint:
    values = {"key": KEY, "timeout": 5.0, "sleep": pauses.append, **settings}
    return Endpoint(server.url, "tiny", **values)  # type: ignore[arg-type]


def test_request_and_answer(server: ChatServer, pauses: list[float]) -> None:
    answer = endpoint(server, pauses).ask("Hello", schema={"type": "object"}, seed=7)
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
    assert pauses == []


@pytest.mark.parametrize(
    ("output", "expected"), [("json-object", {"type": "json_object"}), ("text", None)]
)
def test_other_endpoints_are_asked_otherwise(
    server: ChatServer, pauses: list[float], output: str, expected: object
) -> None:
    asked = endpoint(server, pauses, output=output, key=None)
    asked.ask("Hello", schema={}, temperature=None)
    (call,) = server.calls
    assert call.body.get("response_format") == expected
    assert not {"temperature", "seed"} & set(call.body)
    assert "Authorization" not in call.headers


@pytest.mark.parametrize(
    "step",
    [
        fail(429),
        fail(500),
        fail(503),
        fail(408),
        hang_up,
        cut_short,
        body(b"not json"),
        body(b"{}"),
        body(b'{"choices": [{"message": {"content": null}}]}'),
        body(b'{"choices": [{"message": {"content": 4}}]}'),
        body(b'{"choices": 1' + b"0" * 5000 + b"}"),
        body(b"[" * 100_000),
        body(b"\xff\xfe{}"),
    ],
)
def test_what_can_pass_is_tried_again(server: ChatServer, pauses: list[float], step: Step) -> None:
    server.steps = [step, step]
    assert endpoint(server, pauses).ask("Hello").text == "fine"
    assert len(server.calls) == 3
    assert pauses == [1.0, 2.0]


def test_a_time_out_is_tried_again(server: ChatServer, pauses: list[float]) -> None:
    server.steps = [hang]
    assert endpoint(server, pauses, timeout=0.1).ask("Hello").text == "fine"
    assert pauses == [1.0]


@pytest.mark.parametrize("kind", DRIPS)
def test_a_drip_is_cut_at_the_deadline(server: ChatServer, pauses: list[float], kind: str) -> None:
    server.usual = DRIPS[kind]
    began = time.monotonic()
    with pytest.raises(ModelError, match=r"in attempt 1, and the 0.3 s for a request are over"):
        endpoint(server, pauses, deadline=0.3).ask("Hello")
    # Each drop comes well within the time-out of 5 s.
    assert time.monotonic() - began < 4
    assert len(server.calls) == 1
    assert pauses == []


def test_the_deadline_is_for_all_attempts(server: ChatServer, pauses: list[float]) -> None:
    server.usual = fail(500)
    with pytest.raises(ModelError, match=r"answered 500: no in attempt 4, and the 8 s"):
        endpoint(server, pauses, deadline=8).ask("Hello")
    assert pauses == [1.0, 2.0, 4.0]


def test_a_response_is_read_up_to_a_limit(
    server: ChatServer, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []

    def flood(call: Call) -> None:
        call.handler.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
        while not call.server.closing.is_set():
            written.append(call.handler.wfile.write(b" " * 65536))

    monkeypatch.setattr(chat, "_MOST_BYTES", 1 << 20)
    server.usual = flood
    with pytest.raises(ModelError, match="the response is longer than 1 MiB"):
        endpoint(server, pauses, attempts=1).ask("Hello")
    # What was written beyond lies in the buffers of the connection.
    assert sum(written) < 20 << 20


@pytest.mark.parametrize(
    "usage",
    [
        '{"prompt_tokens": ' + "9" * 400 + "}",
        '{"prompt_tokens": 1e999, "completion_tokens": -1}',
        '{"prompt_tokens": NaN, "completion_tokens": true}',
        '{"prompt_tokens": [1], "completion_tokens": "1"}',
        "[1]",
        "5",
        "null",
    ],
)
def test_senseless_counts_of_tokens_spoil_no_answer(
    server: ChatServer, pauses: list[float], usage: str
) -> None:
    server.usual = body(
        f'{{"choices": [{{"message": {{"content": "fine"}}}}], "usage": {usage}}}'.encode()
    )
    assert endpoint(server, pauses).ask("Hello") == Answer("fine", None, 0, 0)


def test_pauses_grow_and_follow_retry_after(server: ChatServer, pauses: list[float]) -> None:
    steps = [
        fail(429, Retry_After=value) for value in ("7.5", "9999", "-1", "Fri, 21 Nov 2025", "nan")
    ]
    server.steps = steps
    assert endpoint(server, pauses).ask("Hello").text == "fine"
    # Bounded above and below; a date is taken as nothing said.
    assert pauses == [7.5, 120.0, 0.0, 8.0, 16.0]


def test_the_last_attempt_says_what_was_wrong(server: ChatServer, pauses: list[float]) -> None:
    server.usual = fail(429, "slow down")
    with pytest.raises(ModelError, match=r"429: slow down in the last of 3 attempts.*kept"):
        endpoint(server, pauses, attempts=3).ask("Hello")
    assert len(server.calls) == 3
    assert pauses == [1.0, 2.0]


def test_no_server(pauses: list[float]) -> None:
    server = ChatServer(say("fine"))
    server.close()
    with pytest.raises(ModelError, match=r"failed \(Connection refused\) in"):
        endpoint(server, pauses, attempts=2).ask("Hello")


@pytest.mark.parametrize(
    ("status", "todo"),
    [(401, "LEARNEDGEC_API_KEY"), (404, "the model's name 'tiny'"), (400, "json-object")],
)
def test_what_cannot_pass_is_one_error(
    server: ChatServer, pauses: list[float], status: int, todo: str
) -> None:
    server.usual = fail(status, f"bad key {KEY}")
    with pytest.raises(ModelError, match=todo) as caught:
        endpoint(server, pauses).ask("Hello")
    assert KEY not in str(caught.value)
    assert "[key]" in str(caught.value)
    assert len(server.calls) == 1
    assert pauses == []


def test_redirects_do_not_carry_the_key_away(server: ChatServer, pauses: list[float]) -> None:
    other = ChatServer(say("stolen"))
    try:
        for status in (301, 302, 307, 308):
            server.steps = [fail(status, Location=other.url)]
            with pytest.raises(ModelError, match="redirect"):
                endpoint(server, pauses).ask("Hello")
        assert other.calls == []
    finally:
        other.close()


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (say(None, refusal="I would rather not."), "I would rather not."),
        (say("half an ans", finish="content_filter"), "content filter"),
    ],
)
def test_refusals_are_answers(
    server: ChatServer, pauses: list[float], step: Step, reason: str
) -> None:
    server.usual = step
    assert endpoint(server, pauses).ask("Hello") == Answer(None, reason, 100, 10)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/v1",
        "file:///etc/passwd",
        "host/v1",
        "http://",
        "http://[::1/v1",
        "http://host:99999/v1",
        "http://host:port/v1",
        "http://host/a b",
        "http://host/\n",
        "http://host/é",
        f"https://me:{KEY}@host/v1",
        f"https://:{KEY}@host/v1",
        f"https://{KEY}@host/v1",
        f"https://me:x?{KEY}@host/v1",
        f"https://host/v1?api_key={KEY}",
        f"https://host/v1;key={KEY}",
        f"https://host/v1#{KEY}",
        f"host/v1?api_key={KEY}",
    ],
)
def test_bad_addresses_are_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="is not an endpoint") as caught:
        Endpoint(url, "tiny")
    assert KEY not in str(caught.value)


def test_bad_keys_are_refused_without_showing_them() -> None:
    for key in (KEY + "\nX-Evil: 1", KEY + "é"):
        with pytest.raises(ConfigError, match="characters") as caught:
            Endpoint("http://host/v1", "tiny", key)
        assert KEY not in str(caught.value)
    assert KEY not in repr(Endpoint("http://host/v1", "tiny", KEY))


def test_keys_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEARNEDGEC_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", " for openai\n")
    assert find_key("https://api.openai.com/v1") == "for openai"
    # A key is not sent to whom it is not for.
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
    check_key("http://localhost:8000/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    check_key("https://api.openai.com/v1")


def test_requests_run_at_once_up_to_the_limit() -> None:
    together = Barrier(3)

    def ask(request: int) -> Answer:
        together.wait(5)
        return Answer(str(request))

    answers = dict(ask_all(ask, range(6), at_once=3))
    assert answers == {number: Answer(str(number)) for number in range(6)}


def test_the_server_sees_no_more_than_the_limit(server: ChatServer, pauses: list[float]) -> None:
    asked = endpoint(server, pauses)
    assert len(list(ask_all(asked.ask, [f"question {n}" for n in range(20)], at_once=4))) == 20
    assert 1 <= server.most_at_once <= 4


def test_an_error_stops_what_has_not_begun() -> None:
    begun = []

    def ask(request: int) -> Answer:
        begun.append(request)
        raise ModelError("no")

    with pytest.raises(ModelError, match="no"):
        list(ask_all(ask, range(100), at_once=1))
    assert len(begun) < 100


def test_answers_are_kept_by_everything_they_depend_on(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path, "url", "model")
    answer = Answer('{"a": 1}', None, 3, 4)
    assert store.get("prompt") is None
    store.put("prompt", answer)
    assert AnswerStore(tmp_path, "url", "model").get("prompt") == answer
    assert AnswerStore(tmp_path, "url", "another").get("prompt") is None
    assert store.get("prompt ") is None


def test_several_writers_share_a_folder(tmp_path: Path) -> None:
    def work(writer: int) -> None:
        for number in range(20):
            AnswerStore(tmp_path, "url").put(f"{writer}-{number}", Answer(f"{writer} {number}"))

    with ThreadPoolExecutor(4) as executor:
        list(executor.map(work, range(4)))
    store = AnswerStore(tmp_path, "url")
    for writer in range(4):
        for number in range(20):
            assert store.get(f"{writer}-{number}") == Answer(f"{writer} {number}")


def test_a_damaged_answer_counts_as_absent(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path, "url")
    store.put("prompt", Answer("text"))
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    file.write_bytes(file.read_bytes()[:40])
    assert store.get("prompt") is None


@pytest.mark.parametrize(
    "record",
    [
        {"text": "fine", "prompt_tokens": 10**400},
        {"text": "fine", "prompt_tokens": -1},
        {"text": "fine", "completion_tokens": 1.5},
        {"text": "fine", "completion_tokens": True},
        {"text": "fine", "refusal": "no"},
        {"text": None},
        {"text": 5},
        {"text": None, "refusal": ["no"]},
        {"text": "fine", "more": 1},
        {},
        ["fine"],
        None,
    ],
)
def test_what_is_no_answer_on_disk_counts_as_absent(tmp_path: Path, record: object) -> None:
    store = AnswerStore(tmp_path, "url")
    for records in ([record], [record, record], []):
        cache.store(tmp_path, store._key("prompt"), {}, records)
        assert store.get("prompt") is None
    store.put("prompt", Answer("fine"))
    assert store.get("prompt") == Answer("fine")


def test_the_key_is_in_no_file(server: ChatServer, pauses: list[float], tmp_path: Path) -> None:
    store = AnswerStore(tmp_path, server.url, "tiny")
    store.put("prompt", endpoint(server, pauses).ask("prompt"))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert all(KEY.encode() not in path.read_bytes() for path in files)
    assert json.dumps(server.calls[0].headers).count(KEY) == 1
