"""Processor time of a sentence in the service with clients that ask at once, beside scoring all in one call.

    python scripts/benchmark/service.py [--metric quality] [--clients 8] [--rounds 8]

Each client sends one sentence, waits for its score and sends the next, within this process. Requests that
wait are scored together; the last column is their mean number. Scores must be equal to 1e-4.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import httpx
from measuring import make_table
from rich.console import Console

from learnedgec import load_benchmark
from learnedgec.applications import serve
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import bind_one

score_requests = serve._score


def count_and_score(batches: list[int], queue: Sequence[Any]) -> None:
    """Score requests, and count how many there are."""
    batches.append(len(queue))
    score_requests(queue)


async def ask(app: Any, texts: list[tuple[str, str]], clients: int) -> list[float]:
    """Return the score of each source and hypothesis; the clients take turns."""
    scores = [0.0] * len(texts)

    async def client(first: int) -> None:
        for number in range(first, len(texts), clients):
            source, hypothesis = texts[number]
            body = {"sources": [source], "hypotheses": [hypothesis]}
            answer = (await connection.post("/score", json=body)).json()
            (score,) = answer["scores"].values()
            scores[number] = score["score"]

    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as connection:
        await asyncio.gather(*map(client, range(clients)))
    return scores


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--metric", default="quality")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    benchmark = load_benchmark("sample")
    rows = []
    kinds = ("score", "service")
    for part, name in enumerate(kinds):
        # Each has sentences of its own, because models remember what they have read.
        numbers = range(part, len(benchmark.sources), len(kinds))
        pairs = [
            (benchmark.sources[number], texts[number])
            for number in numbers
            for texts in benchmark.systems.values()
        ]
        texts = list(dict.fromkeys(pairs))[: options.clients * options.rounds]
        batches: list[int] = []
        metric = bind_one(options.metric, Runtime(jobs=1))
        serve.prepare([metric])
        serve._score = partial(count_and_score, batches)
        sources, hypotheses = map(list, zip(*texts, strict=True))
        begun = time.process_time()
        if name == "score":
            metric.statistics(sources, {"": hypotheses})
        else:
            app = serve.application(metric)
            found = asyncio.run(ask(app, texts, options.clients))
        spent = time.process_time() - begun
        mean = f"{len(texts) / len(batches):.1f}" if batches else str(len(texts))
        rows.append([name, f"{1000 * spent / len(texts):.1f}", mean])
        if batches:
            values = metric.statistics(sources, {"": hypotheses})[""]
            expected = metric.metric.sentence_scores(values).tolist()
            assert max(abs(a - b) for a, b in zip(found, expected, strict=True)) < 1e-4
    table = make_table(
        f"{options.metric}, {options.clients} clients", "", "ms a sentence", "together"
    )
    for row in rows:
        table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
