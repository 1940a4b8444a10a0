"""`learnedgec serve` as a process on a real socket: start, a request, the end by Ctrl-C."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx

RUN = [sys.executable, "-c", "from learnedgec.cli.main import run; run()", "serve"]


@contextlib.contextmanager
def service(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a service and yield it with its address, once it says it."""
    started = subprocess.Popen(
        [*RUN, "--port", "0", *words], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    try:
        assert started.stderr is not None
        line = started.stderr.readline()
        match = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert match, line + started.stderr.read()
        yield started, match[0]
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
