"""A chat endpoint of our own on loopback, which can also misbehave."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# What a step does with a request: writes a response by `Call`.
Step = Callable[["Call"], None]


@dataclass
class Call:
    """One request, and the means to answer it."""

    body: dict[str, Any]
    headers: dict[str, str]
    path: str
    handler: BaseHTTPRequestHandler
    server: ChatServer

    def send(self, status: int, content: bytes, **headers: str) -> None:
        self.handler.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.end_headers()
        self.handler.wfile.write(content)

    def complete(
        self, text: str | None, *, refusal: str | None = None, finish: str = "stop"
    ) -> None:
        message = {"role": "assistant", "content": text, "refusal": refusal}
        response = {
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10},
        }
        self.send(200, json.dumps(response).encode())

    @property
    def prompt(self) -> str:
        prompt: str = self.body["messages"][0]["content"]
        return prompt


@dataclass
class ChatServer:
    """Takes one step per request, and `usual` when the steps have run out.

    `calls` has every request in the order of arrival.
    """

    usual: Step
    steps: list[Step] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    most_at_once: int = 0

    def __post_init__(self) -> None:
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._at_once = 0
        chat = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                headers = {name.title(): value for name, value in self.headers.items()}
                call = Call(body, headers, self.path, self, chat)
                with chat._lock:
                    chat.calls.append(call)
                    chat._at_once += 1
                    chat.most_at_once = max(chat.most_at_once, chat._at_once)
                    step = chat.steps.pop(0) if chat.steps else chat.usual
                try:
                    step(call)
                finally:
                    with chat._lock:
                        chat._at_once -= 1

            def log_message(self, *_: object) -> None:
                """Stay silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # Connections may be left open by a client that has timed out.
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def fail(status: int, text: str = "no", **headers: str) -> Step:
    return lambda call: call.send(status, text.encode(), **headers)


def body(content: bytes) -> Step:
    return lambda call: call.send(200, content)


def say(text: str | None, **more: str) -> Step:
    return lambda call: call.complete(text, **more)


def hang(call: Call) -> None:
    """Say nothing until the server closes."""
    call.server.closing.wait(10)


def hang_up(call: Call) -> None:
    """End the connection without a word."""
    call.handler.close_connection = True
