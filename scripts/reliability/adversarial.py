"""Odd sentences for every offline metric: a finite score or one sentence, within time and memory.

Each metric has a process of its own, with limits to its memory; each sentence is scored as hypothesis of a
plain source, as source of a plain hypothesis, and as both.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
from offline import metrics
from trial import Trial, expect_sentence, limit_memory, main

from learnedgec.execution.runtime import Runtime
from learnedgec.formats.references import References
from learnedgec.metrics.base import Metric

PLAIN = "He goes home ."

SENTENCES = {
    "nothing": "",
    "a space": " ",
    "tabs and odd spaces": "\tHe\u00a0goes\u3000home\u2003.",
    "line separators": "He\u2028goes\x85home\x0b.\x0c\x1c",
    "a carriage return": "He goes\rhome .",
    "NUL": "He \0 goes home .",
    "control characters": "".join(map(chr, range(1, 9))) + " \x1b[31m home .",
    "a byte order mark": "\ufeffHe goes home .",
    "combining marks": "H" + "\u0301\u0323" * 300 + "e goes home .",
    "right to left": "הוא הולך הביתה . \u202e.emoh seog eH",
    "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 goes 🏠 . " * 5,
    "private and unassigned": "\ue000 \U000e0001 \U0010ffff \ufdd0 .",
    "no spaces": "彼は家に帰ります。" * 20,
    "what grows when normalised": "ﷺ" * 100 + " ﬃ ½ ⅷ İ ß",
    "punctuation": ". , ; : ! ? … — ' \" ` ´ ( ) [ ] { } « »",
    "M2's own signs": "S A 0 1|||R|||x||y|||REQUIRED|||-NONE-|||0 -NONE- noop ||",
    "markup": '<b>He</b> &amp; &lt;s&gt; [MASK] [SEP] </s> <pad> <|endoftext|> {json: "x"}',
    "a number": "9" * 5000,
    "a word": "a" * 20_000,
    "one token often": "the " * 600,
    "two tokens often": "the cat " * 300,
    "many different tokens": " ".join(f"w{number}" for number in range(600)),
    "the plain one reversed": " ".join(reversed(PLAIN.split())),
    "letters apart": " ".join("He goes home . " * 12),
    "half a character": "He \ud800 goes .",
}


def score(metric: Metric, sentence: str) -> None:
    """Score a sentence in three roles."""
    for source, hypothesis in ((PLAIN, sentence), (sentence, PLAIN), (sentence, sentence)):
        found = expect_sentence(
            partial(finite, metric, [PLAIN, source], [PLAIN, hypothesis], sentence)
        )
        assert found is not False, "a score that is not finite"


def finite(metric: Metric, sources: list[str], hypotheses: list[str], sentence: str) -> bool:
    """Return whether all scores are finite, with a sentence as the second reference of the second."""
    references = References.from_texts([PLAIN, PLAIN], [None, sentence])
    used = references if metric.needs_references else None
    found = metric.score(sources, hypotheses, used, runtime=Runtime())
    return bool(np.isfinite(found.value) and np.isfinite(found.sentences).all())


def serve(metric: Metric, pipe: multiprocessing.connection.Connection) -> None:
    """Score the sentences that come through a pipe; answer with what went wrong."""
    expect_sentence(partial(metric.score, [PLAIN], [PLAIN], References.from_texts([PLAIN])))
    limit_memory()
    pipe.send("")
    while True:
        try:
            score(metric, pipe.recv())
            pipe.send("")
        except EOFError:
            return
        except Exception as error:
            pipe.send(f"{type(error).__name__}: {error}")


class Served:
    """A metric in a process of its own, started again where it was lost."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.process: multiprocessing.process.BaseProcess | None = None

    def start(self) -> None:
        """Start the process and wait until the metric has scored something."""
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(self.metric, other), daemon=True)
        self.process.start()
        other.close()
        assert self.pipe.poll(300), "the metric has not started"
        self.pipe.recv()

    def ask(self, sentence: str, seconds: float) -> None:
        """Let the process score a sentence in so much processor time; raise what went wrong.

        By the clock it may take ten times as long, for others may use the machine.
        """
        if self.process is None or not self.process.is_alive():
            self.start()
        assert self.process is not None
        started, worked = time.monotonic(), self.processor_seconds()
        self.pipe.send(sentence)
        told = f"more than {seconds:g} s of processor time"
        answered = False
        try:
            while not answered and time.monotonic() - started < 10 * seconds:
                answered = self.pipe.poll(1)
                if not answered and self.processor_seconds() - worked > seconds:
                    break
            told = self.pipe.recv() if answered else told
        except (EOFError, OSError):
            answered, told = False, "its process has died"
        if not answered:
            self.stop()
        assert not told, f"{told} after {time.monotonic() - started:.1f} s"

    def processor_seconds(self) -> float:
        """Return the processor time that the process has taken, of all its threads."""
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


def trials(seed: int, folder: Path) -> Iterator[Trial]:
    """Yield every sentence for every metric, once; metrics come in an order drawn from the seed."""
    known = metrics(folder)
    for label in Random(seed).sample(list(known), len(known)):
        metric = known[label]
        served = Served(metric)
        for name, sentence in SENTENCES.items():
            yield Trial(f"{label}, {name}", partial(served.ask, sentence, LONGEST))
        served.stop()


# Seconds of processor time for one sentence in its three roles.
LONGEST = 60.0


if __name__ == "__main__":
    main(
        "adversarial",
        "Odd sentences give a finite score or one sentence, within 60 s of processor time and 4 GiB.",
        trials,
        count=0,
        longest=11 * LONGEST,
        limited=False,
    )
