"""Kill a study's page while answers arrive: no answer that was confirmed is lost, and none is stored twice.

usage: python scripts/reliability/judge_kills.py [--count 200] [--seed 0]

In each trial three raters answer at once, and the page's process is killed with SIGKILL after a random
time. What was not confirmed is sent once more, under its key, to a new process. Then the study is compared
with what was confirmed.
"""

from __future__ import annotations

import json
import multiprocessing
import socket
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from random import Random
from typing import Any

from trial import Trial, main

from learnedgec.cli.server import listen, serve_until_stopped
from learnedgec.judging.page import application
from learnedgec.judging.records import StudySettings
from learnedgec.judging.study import Study

SENTENCES = 2000
RATERS = 3


def serve(folder: Path, listening: socket.socket) -> None:
    """Serve a study until the process ends."""
    serve_until_stopped(application(Study(folder)), listening)


@dataclass
class Page:
    """A page that can be killed, and what its raters know.

    Attributes:
        study: the study.
        confirmed: the answers that the page said are stored, by rater.
        pending: the answer of each rater that is not confirmed: the path and the body.
    """

    study: Study
    confirmed: Counter[str] = field(default_factory=Counter)
    pending: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    process: Any = None
    listening: socket.socket = field(default_factory=lambda: listen("127.0.0.1", 0))

    def start(self) -> None:
        """Start the page; the socket is this process's, so that it stays when the page is killed."""
        arguments = (self.study.folder, self.listening)
        self.process = multiprocessing.get_context("fork").Process(target=serve, args=arguments)
        self.process.start()

    def kill(self) -> None:
        """Kill the page."""
        self.process.kill()
        self.process.join()

    def ask(self, path: str, body: bytes | None = None) -> Any:
        """Return what the page says."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.listening.getsockname()[1]}/{path}",
            body,
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=2) as reply:
            return json.load(reply)

    def answer(self, rater: str, seed: int, stop: threading.Event) -> None:
        """Answer as one rater until the page is gone."""
        token, random = self.study.tokens[rater], Random(seed)
        while not stop.is_set():
            try:
                if rater not in self.pending:
                    item = self.ask(f"{token}/next")
                    content = {
                        "answer": {"ranks": random.choice([[1, 2], [2, 1], [1, 1]])},
                        "version": item["version"],
                        "key": f"{random.getrandbits(128):032x}",
                    }
                    path = f"{token}/items/{item['number']}"
                    self.pending[rater] = path, json.dumps(content).encode()
                self.ask(*self.pending[rater])
            except (OSError, HTTPException, ValueError):
                # Nobody answers yet, or any more.
                time.sleep(0.05)
                continue
            del self.pending[rater]
            self.confirmed[rater] += 1

    def check(self) -> None:
        """Raise unless the study holds what was confirmed, each item once."""
        stored = Counter(each.rater for each in Study(self.study.folder).judgements())
        for rater in self.study.raters:
            extra = stored[rater] - self.confirmed[rater]
            # What was stored but not confirmed before the kill is the one answer that is sent again.
            assert 0 <= extra <= (rater in self.pending), f"{rater}: {extra} answers too many"


def trials(seed: int, folder: Path) -> Iterator[Trial]:
    """Yield kills of one page that goes on after each, without end."""
    random = Random(seed)
    sources = [f"He go to place {number} ." for number in range(SENTENCES)]
    systems = {
        "a": [text.replace("go", "goes") for text in sources],
        "b": [text.replace("to", "to the") for text in sources],
        "c": [text.replace("He", "Him") for text in sources],
    }
    settings = StudySettings(
        sentences=SENTENCES, questions=3 * SENTENCES, raters=RATERS, order="random", overlap=0.05
    )
    page = Page(Study.create(folder / "study", sources, systems, settings=settings))
    page.start()

    def one_kill() -> None:
        stop = threading.Event()
        seeds = [random.getrandbits(32) for _ in page.study.raters]
        threads = [
            threading.Thread(target=page.answer, args=(rater, number, stop))
            for rater, number in zip(page.study.raters, seeds, strict=True)
        ]
        for thread in threads:
            thread.start()
        before = page.confirmed.total()
        while page.confirmed.total() < before + 2:
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.4))
        stop.set()
        page.kill()
        for thread in threads:
            thread.join()
        page.check()
        page.start()

    try:
        while True:
            yield Trial("kill", one_kill)
    finally:
        page.kill()
        print(f"judge_kills: {sum(page.confirmed.values())} answers were confirmed", flush=True)


if __name__ == "__main__":
    main(
        "judge_kills",
        "A kill loses no judgement that was confirmed, and doubles none.",
        trials,
        count=200,
        longest=60,
    )
