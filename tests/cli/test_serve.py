"""`learnedgec serve` as a process on a real socket: start, requests, SIGTERM with work in flight."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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
        with ThreadPoolExecutor(8) as clients:
            sizes = list(
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
        assert sizes == list(range(1, 33))
        started.send_signal(signal.SIGINT)
        assert started.wait(30) == 0
        assert started.stderr is not None
        message = " ".join(started.stderr.read().split())
        assert message.endswith("The service has stopped; all accepted requests are finished.")
