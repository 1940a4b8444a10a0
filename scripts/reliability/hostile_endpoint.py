"""A chat endpoint that does what it should not: a request ends in time, with an answer or one sentence.

The server of the tests answers with mutated responses, wrong codes and headers, bodies that are large, drip,
never end or are cut short. What is taken comes back from the store as it was; no message has the key.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from trial import ROOT, Trial, main, mutate

from learnedgec.errors import LearnedgecError
from learnedgec.models.chat import Answer, AnswerStore, Endpoint

KEY = "sk-very-secret-0123456789"

RESPONSE = {
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "4"}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 100, "completion_tokens": 10},
}

# Seconds that a request may take, and how much later it may end on a busy machine.
DEADLINE, MARGIN = 1.0, 5.0

ODD: list[Any] = [
    None,
    {},
    [],
    "",
    "4",
    4,
    -1,
    1.5,
    True,
    "9" * 5000,
    10**400,
    "\ud800",
    [[[]]],
    {"a": {}},
    float("inf"),
]

STATUSES = [
    100,
    101,
    199,
    200,
    204,
    301,
    302,
    307,
    400,
    401,
    404,
    408,
    418,
    429,
    500,
    503,
    599,
    999,
    0,
    -1,
]

HEADERS = [
    *(
        ("Retry_After", "0"),
        ("Retry_After", "1e999"),
        ("Retry_After", "Wed"),
        ("Content_Length", "5"),
    ),
    *(
        ("Content_Length", "99999999999999"),
        ("Content_Length", "-1"),
        ("Location", "http://127.0.0.1:1/"),
    ),
    *(("Content_Encoding", "gzip"), ("Transfer_Encoding", "chunked"), ("X_Long", "x" * 70_000)),
]

Step = Callable[[Any], None]


def odd_response(random: Random) -> bytes:
    """Return a response with a value of another kind, or with damaged bytes."""
    response: Any = json.loads(json.dumps(RESPONSE))
    if random.random() < 0.5:
        place: Any = response
        while True:
            key = random.choice(list(place) if isinstance(place, dict) else list(range(len(place))))
            if isinstance(place[key], dict | list) and place[key] and random.random() < 0.7:
                place = place[key]
                continue
            place[key] = random.choice(ODD)
            return json.dumps(response).encode()
    return mutate(json.dumps(response).encode(), random)


def odd_step(server: Any, random: Random) -> Step:
    """Return what the endpoint does with one request."""
    kind = random.randrange(8)
    if kind < 4:
        return partial(answer, 200, odd_response(random), ())
    if kind == 4:
        headers = random.sample(HEADERS, random.randint(0, 2))
        return partial(answer, random.choice(STATUSES), odd_response(random), headers)
    if kind == 5:
        large = b" " * random.choice((1 << 20, 64 << 20)) + odd_response(random)
        return partial(answer, 200, large, ())
    if kind == 6:
        found: Step = random.choice([server.hang_up, server.cut_short, server.body(KEY.encode())])
        return found
    endless: list[Step] = [*server.DRIPS.values(), server.hang]
    return random.choice(endless)


def answer(status: int, content: bytes, headers: Any, call: Any) -> None:
    """Send a response, with a wrong length if the headers say so."""
    call.send(status, content, **dict(headers))


def attempt(server: Any, steps: list[Step], folder: Path) -> None:
    """Ask an endpoint that takes these steps."""
    chat = server.ChatServer(usual=steps[-1], steps=list(steps))
    try:
        endpoint = Endpoint(
            chat.url,
            "m",
            KEY,
            timeout=0.3,
            deadline=DEADLINE,
            attempts=3,
            sleep=lambda seconds: None,
        )
        store = AnswerStore(folder, chat.url)
        started, told = time.monotonic(), ""
        try:
            found: Answer | None = endpoint.ask("How good is it?")
        except LearnedgecError as error:
            told = str(error)
            found = None
        finally:
            took = time.monotonic() - started
            assert took < DEADLINE + MARGIN, f"{took:.1f} s and not {DEADLINE}"
        if found is None:
            assert KEY not in told, "the key is in a message"
            assert 0 < len(told) < 5000, "no sentence"
            return
        store.put("How good is it?", found)
        assert store.get("How good is it?") == found, f"{found} is not what was kept"
    finally:
        chat.close()


def trials(seed: int, folder: Path) -> Iterator[Trial]:
    """Yield requests with one to three odd steps, without end."""
    sys.path.insert(0, str(ROOT / "tests"))
    server: Any = importlib.import_module("chat_server")
    random = Random(seed)
    while True:
        steps = [odd_step(server, random) for _ in range(random.randint(1, 3))]
        yield Trial("request", partial(attempt, server, steps, folder))


if __name__ == "__main__":
    main(
        "hostile_endpoint",
        "Every request ends in time, with an answer or one sentence; no bad answer is kept.",
        trials,
        count=400,
    )
