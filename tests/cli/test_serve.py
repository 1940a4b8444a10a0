"""`learnedgec serve` as a process on a real socket: start, every curl of the page, the end by Ctrl-C."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from markdown_it import MarkdownIt

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "serve.md"

RUN = [sys.executable, "-c", "from learnedgec.cli.main import run; run()", "serve"]


@contextlib.contextmanager
def service(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a service and yield it with its address, once it says it."""
    started = subprocess.Popen(
        [*RUN, "--port", "0", *words], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    try:
        assert started.stderr is not None
        # The released evaluator introduces itself before, once.
        address = next(filter(None, (re.search(r"http://\S+", line) for line in started.stderr)))
        yield started, address[0]
    finally:
        started.kill()
        started.wait()
        started.stderr.close()


def test_a_process_on_a_socket(tmp_path: Path) -> None:
    with service(tmp_path, "--metric", "length", "gleu") as (started, address):
        assert httpx.get(f"{address}/ready").json() == {"status": "ready"}
        request = {"sources": ["a"], "hypotheses": ["a b"], "references": [["a"]]}
        answer = httpx.post(f"{address}/score", json=request).json()
        assert answer["scores"]["length"]["score"] == 2
        started.send_signal(signal.SIGINT)
        assert started.wait(30) == 0
        assert started.stderr is not None
        message = " ".join(started.stderr.read().split())
        assert message.endswith("The service has stopped; all accepted requests are finished.")


def test_slow_clients_are_cut_off_and_others_are_served(tmp_path: Path) -> None:
    with service(tmp_path, "--metric", "length", "--patience", "1", "--root-path", "/gec") as (
        _,
        address,
    ):
        place = httpx.URL(address)
        head = b"POST /score HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n"
        for begun in (head, head + b"\r\n{"):
            with socket.create_connection((place.host, place.port or 0), timeout=30) as slow:
                slow.sendall(begun)
                assert httpx.get(f"{address}/health").status_code == 200
                assert slow.recv(1) == b""
        servers = httpx.get(f"{address}/openapi.json").json()["servers"]
        assert servers[0] == {"url": "/gec"}


def near(value: Any) -> Any:
    """Return what a JSON value is compared with: numbers roughly, versions of learnedgec not at all."""
    if isinstance(value, dict):
        return {key: near(item) for key, item in value.items()}
    if isinstance(value, list):
        return [near(item) for item in value]
    if isinstance(value, str):
        return re.sub(r"learnedgec:[^|]+", "learnedgec", value)
    return pytest.approx(value, abs=1e-5) if isinstance(value, float) else value


@pytest.mark.slow
def test_every_curl_of_the_page_has_the_answer_on_the_page(tmp_path: Path) -> None:
    tokens = MarkdownIt().parse(PAGE.read_text(encoding="utf-8"))
    codes = [token for token in tokens if token.type in ("fence", "code_block")]
    (start,) = re.findall(r"learnedgec serve (.*)", codes[0].content)
    curls = [number for number, code in enumerate(codes) if code.content.startswith("curl ")]
    assert len(curls) == 4
    with service(tmp_path, *shlex.split(start)) as (_, address):
        for number in curls:
            words = shlex.split(codes[number].content)
            assert words[:2] == ["curl", "-s"]
            url = words[2].replace("localhost:8000", address)
            if "-d" in words:
                headers = dict([words[words.index("-H") + 1].split(": ")])
                body = words[words.index("-d") + 1].encode()
                answer = httpx.post(url, headers=headers, content=body, timeout=60)
            else:
                answer = httpx.get(url)
            assert codes[number + 1].info == "json"
            shown = json.loads(codes[number + 1].content)
            assert near(answer.json()) == near(shown)
            assert answer.status_code == (422 if "detail" in shown else 200)
