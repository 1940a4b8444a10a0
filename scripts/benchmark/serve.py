"""Put `learnedgec serve` under load, and compare its throughput with the library's in one batch.

    python scripts/benchmark/serve.py --metric impara [--clients 200] [--seconds 60] [--sentences 1]

Each of the clients sends a request, waits for its scores and sends the next; no sentence comes twice, for
the library remembers. The library then scores the same sentences in one call, in a process of its own. Scores
must be equal to 1e-5. Service, clients and library are three processes. Their processor time is told beside
the clock's: on a machine with other work to do its ratio says more.

Then the service is killed under load and started again on the same port: what clients saw, and when the first
scores came.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from learnedgec.catalog.sample import sample_folder
from learnedgec.formats.text import read_lines

TOLERANCE = 1e-5
RUN = [sys.executable, "-c", "from learnedgec.cli.main import run; run()", "serve"]
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Seen:
    """What the clients saw."""

    sentences: list[tuple[str, str]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)


@contextlib.contextmanager
def service(
    options: argparse.Namespace, port: int = 0
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a service; yield it and its address once it listens."""
    started = subprocess.Popen(
        [*RUN, "--metric", options.metric, "--port", str(port)], stderr=subprocess.PIPE, text=True
    )
    assert started.stderr is not None
    try:
        line = started.stderr.readline()
        found = re.search(r"http://[\d.]+:\d+", line)
        if not found:
            raise SystemExit(line + started.stderr.read())
        yield started, found[0]
    finally:
        started.terminate()
        started.wait()


def sentence_pairs() -> Iterator[tuple[str, str]]:
    """Yield corrections without end, no text twice."""
    sources = read_lines(sample_folder() / "source.txt")
    systems = [read_lines(path) for path in sorted((sample_folder() / "systems").glob("*.txt"))]
    for number in itertools.count():
        row = number % len(sources)
        system = systems[number // len(sources) % len(systems)]
        yield f"{number} {sources[row]}", f"{number} {system[row]}"


async def load(address: str, options: argparse.Namespace, seconds: float) -> Seen:
    """Keep the clients busy for a while."""
    pairs, seen = sentence_pairs(), Seen()
    end = time.perf_counter() + seconds
    limits = httpx.Limits(max_connections=options.clients)

    async def one(client: httpx.AsyncClient) -> None:
        while time.perf_counter() < end:
            rows = list(itertools.islice(pairs, options.sentences))
            body = {"sources": [row[0] for row in rows], "hypotheses": [row[1] for row in rows]}
            begin = time.perf_counter()
            try:
                response = await client.post(f"{address}/score", json=body)
            except httpx.TransportError as error:
                seen.failures[type(error).__name__] += 1
                return
            if response.status_code != 200:
                seen.failures[str(response.status_code)] += 1
                await asyncio.sleep(float(response.headers.get("Retry-After", 1)))
                continue
            seen.seconds.append(time.perf_counter() - begin)
            (found,) = response.json()["scores"].values()
            seen.sentences += rows
            seen.scores += [sentence["score"] for sentence in found["sentences"]]

    async with httpx.AsyncClient(limits=limits, timeout=300) as client:
        await asyncio.gather(*(one(client) for _ in range(options.clients)))
    return seen


def usage(process: int) -> tuple[float, float]:
    """Return a process's processor seconds and its resident MiB (Linux)."""
    text = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    status = Path(f"/proc/{process}/status").read_text()
    resident = re.search(r"VmRSS:\s+(\d+)", status)
    assert resident
    return (int(text[11]) + int(text[12])) / TICKS, int(resident[1]) / 1024


async def watched(
    address: str, process: int, options: argparse.Namespace
) -> tuple[Seen, list[float]]:
    """Return what the clients saw, and the service's memory over time."""
    memory = []

    async def watch() -> None:
        while True:
            memory.append(usage(process)[1])
            await asyncio.sleep(1)

    watching = asyncio.create_task(watch())
    seen = await load(address, options, options.seconds)
    watching.cancel()
    return seen, memory


def in_batch(metric: str) -> None:
    """Score the pairs on standard input in one call; print scores and what they cost."""
    from learnedgec import load_metric

    rows = json.load(sys.stdin)
    found = load_metric(metric)
    found.score(["He go ."], ["He goes ."])
    begin, processor = time.perf_counter(), time.process_time()
    scores = found.score([row[0] for row in rows], [row[1] for row in rows]).sentences.tolist()
    wall, processor = time.perf_counter() - begin, time.process_time() - processor
    json.dump({"scores": scores, "wall": wall, "processor": processor}, sys.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--metric", default="impara")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--sentences", type=int, default=1, help="in a request")
    parser.add_argument("--in-batch", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_batch:
        in_batch(options.metric)
        return
    with service(options) as (process, address):
        begin, wall = usage(process.pid)[0], time.perf_counter()
        seen, memory = asyncio.run(watched(address, process.pid, options))
        wall, processor = time.perf_counter() - wall, usage(process.pid)[0] - begin
    count = len(seen.sentences)
    median, late = np.quantile(seen.seconds, [0.5, 0.99])
    third = max(len(memory) // 3, 1)
    print(
        f"{options.clients} clients, {options.sentences} sentence(s) a request, {wall:.0f} s: "
        f"{count} sentences, p50 {median:.2f} s, p99 {late:.2f} s, "
        f"failures: {dict(seen.failures) or 'none'}\n"
        f"memory: {np.mean(memory[third : 2 * third]):.0f} MiB in the middle third, "
        f"{np.mean(memory[-third:]):.0f} MiB in the last"
    )
    done = subprocess.run(
        [sys.executable, __file__, "--in-batch", "--metric", options.metric],
        input=json.dumps(seen.sentences),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    batch: dict[str, Any] = json.loads(done.stdout)
    apart = max(abs(a - b) for a, b in zip(seen.scores, batch["scores"], strict=True))
    print(
        f"sentences a second: service {count / wall:.1f}, library {count / batch['wall']:.1f}, "
        f"ratio {batch['wall'] / wall:.0%}\n"
        f"sentences a processor second: service {count / processor:.1f}, "
        f"library {count / batch['processor']:.1f}, ratio {batch['processor'] / processor:.0%}\n"
        f"largest difference of a score: {apart:.1e}"
    )
    print(asyncio.run(killed(options)))
    if not apart <= TOLERANCE:
        raise SystemExit(f"some scores differ by more than {TOLERANCE}.")


async def killed(options: argparse.Namespace) -> str:
    """Kill the service under load and start it again; return what was seen."""
    with service(options) as (process, address):
        loading = asyncio.create_task(load(address, options, 20))
        await asyncio.sleep(5)
        process.kill()
        seen = await loading
    begin = time.perf_counter()
    with service(options, int(address.rpartition(":")[2])) as (_, again):
        started = time.perf_counter() - begin
        await load(again, argparse.Namespace(clients=1, sentences=1), 0.01)
        scored = time.perf_counter() - begin
    return (
        f"killed after 5 s: {len(seen.seconds)} answers before, then {dict(seen.failures)}; on the same port "
        f"again in {started:.1f} s, first score {scored - started:.2f} s later"
    )


if __name__ == "__main__":
    main()
