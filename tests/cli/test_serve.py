"""`learnedgec serve` as a process on a real socket: start, requests, SIGTERM with work in flight."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from learnedgec.cli.main import main

RUN = [sys.executable, "-c", "from learnedgec.cli.main import run; run()", "serve"]
# A metric whose every call waits until somebody writes into a pipe.
BLOCKING = """
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from learnedgec.metrics.base import Metric
from learnedgec.metrics.statistics import Statistics

@dataclass(frozen=True)
class Blocking(Metric):
    name: ClassVar[str] = "blocking"
    needs_references: ClassVar[bool] = False

    def compute(self, sources, hypotheses, references, runtime):
        with open("pipe") as pipe:
            pipe.read()
        return Statistics({"one": np.ones(len(sources))})

    def sentence_scores(self, statistics):
        return statistics["one"]
"""
BODY = {"sources": ["He go ."], "hypotheses": ["He goes ."]}


@contextlib.contextmanager
def service(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a service and yield it with its address, once it says it."""
    started = subprocess.Popen(
        [*RUN, "--port", "0", *words], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    try:
        assert started.stderr is not None
        line = started.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert found, line + started.stderr.read()
        yield started, found[0]
    finally:
        started.kill()
        started.wait()
        started.stderr.close()


def test_a_process_on_a_socket(tmp_path: Path) -> None:
    with service(tmp_path, "--metric", "length", "gleu") as (started, address):
        assert httpx.get(f"{address}/ready").json() == {"status": "ready"}
        with ThreadPoolExecutor(8) as clients:
            found = list(
                clients.map(
                    lambda number: httpx.post(
                        f"{address}/score",
                        json={
                            "sources": ["a"],
                            "hypotheses": ["a " * number],
                            "references": [["a"]],
                        },
                    ).json()["scores"]["length"]["score"],
                    range(1, 33),
                )
            )
        assert found == list(range(1, 33))
        started.send_signal(signal.SIGINT)
        assert started.wait(30) == 0
        assert started.stderr is not None
        told = " ".join(started.stderr.read().split())
        assert told.endswith("The service has stopped; all accepted requests are finished.")


@pytest.fixture
def blocking(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str, Path]]:
    """Start a service of the blocking metric; yield it, its address and the pipe."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    (tmp_path / "blocking.py").write_text(BLOCKING)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # It scores a sentence before it listens.
    first = threading.Thread(target=pipe.write_text, args=("go",))
    first.start()
    with service(tmp_path, "--metric", "blocking:Blocking") as (started, address):
        first.join()
        yield started, address, pipe


def test_sigterm_finishes_what_is_in_flight(
    blocking: tuple[subprocess.Popen[str], str, Path],
) -> None:
    started, address, pipe = blocking
    with ThreadPoolExecutor(1) as clients:
        answer = clients.submit(httpx.post, f"{address}/score", json=BODY, timeout=60)
        # Opens when the metric reads: the request is being scored.
        with pipe.open("w") as go:
            started.send_signal(signal.SIGTERM)
            host, port = address.removeprefix("http://").split(":")
            with contextlib.suppress(ConnectionRefusedError, ConnectionResetError):
                while True:
                    socket.create_connection((host, int(port))).close()
            assert not answer.done()
            assert started.poll() is None
            go.write("go")
        assert answer.result().json()["scores"]["blocking:Blocking"]["score"] == 1
    assert started.wait(30) == 0


def test_without_its_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.delitem(sys.modules, "learnedgec.applications.serve", raising=False)
    import learnedgec.applications

    monkeypatch.delattr(learnedgec.applications, "serve", raising=False)
    assert main(["serve", "--metric", "length"]) == 2
    assert capsys.readouterr().err == (
        "learnedgec serve: the service needs the package 'fastapi', which is not installed; "
        "run: pip install 'learnedgec[serve]'\n"
    )
