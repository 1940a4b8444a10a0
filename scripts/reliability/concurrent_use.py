"""Threads and processes at once: equal scores and whole files.

Threads share a metric and a cache folder, and spawned workers score beside them. Whatever runs beside it, a
score is the one computed alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from trial import ROOT, Trial, main

from learnedgec.data.catalog.files import sample_folder
from learnedgec.data.references import References
from learnedgec.data.text import read_lines, write_text
from learnedgec.metrics.contract import Metric
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.runtime import Runtime, parallel_map
from learnedgec.runtime.store import Store

SOURCES = read_lines(sample_folder() / "source.txt")[:20]

HYPOTHESES = read_lines(sample_folder() / "systems" / "weak.txt")[:20]

REFERENCES = References.from_m2(sample_folder() / "gold.m2").select(range(len(SOURCES)))

METRICS = ("gleu(iterations=5)", "m2", "green", "length", "ensemble(gleu=0.5, length=0.5)")


def together(works: Sequence[Callable[[], object]]) -> list[Any]:
    """Run functions in threads at once; return what they return, or raise the first error."""
    ready = threading.Barrier(len(works))

    def work(function: Callable[[], object]) -> object:
        ready.wait()
        return function()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(work, works))


def score(metric: Metric, runtime: Runtime) -> float:
    return metric.score(SOURCES, HYPOTHESES, REFERENCES, runtime=runtime).value


def threads_score(name: str, expected: float, folder: Path | None) -> None:
    """Score with one metric, and one cache, from six threads."""
    metric = load_metric(name)
    runtime = Runtime(cache_dir=None if folder is None else str(folder))
    values = together([partial(score, metric, runtime)] * 6)
    assert set(values) == {expected}, f"{set(values)} and not {expected}"


def threads_write(folder: Path, random: Random) -> None:
    """Write to one file and one entry of a cache from six threads, and read them."""
    path = folder / "f.txt"

    def write(text: str) -> None:
        for _ in range(5):
            write_text(path, text * 5000)
            assert len(set(path.read_text())) == 1, "a mixed file"
            Store(folder / "cache").save("cd" * 32, {"x": np.full(500, ord(text))})
            entry = Store(folder / "cache").load("cd" * 32)
            assert entry is not None, "an entry is absent"
            assert len(set(entry[0]["x"].tolist())) == 1, "a mixed entry"

    together([partial(write, text) for text in random.sample("abcdefghij", 6)])
    left = [file.name for file in folder.rglob(".*")]
    assert left == [], f"{left} are left"


def length_of(text: str) -> int:
    return len(text)


def spawn_maps(jobs: int) -> None:
    """Map over processes from two threads at once."""
    texts = [word for text in SOURCES for word in text.split()]
    maps = [
        partial(parallel_map, length_of, texts, "lengths", Runtime(jobs=jobs)) for _ in range(2)
    ]
    for lengths in together(maps):
        assert lengths == [len(text) for text in texts], "other lengths"


def processes_score(folder: Path) -> None:
    """Score by three command lines at once with one cache and one output file."""
    folder.mkdir()
    words = [
        *(sys.executable, "-m", "learnedgec", "score", "--quiet"),
        *("--src", str(sample_folder() / "source.txt"), "--gold", str(sample_folder() / "gold.m2")),
        *("--hyp", str(sample_folder() / "systems" / "weak.txt"), "--metric", "gleu", "m2"),
        *("--cache-dir", str(folder / "cache"), "--format", "csv"),
        *("--out", str(folder / "scores.csv")),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = [subprocess.Popen(words, env=environment, stderr=subprocess.PIPE) for _ in range(3)]
    messages = [process.communicate()[1].decode() for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], messages
    alone = folder / "alone.csv"
    subprocess.run([*words[:-1], str(alone)], env=environment, check=True)
    assert (folder / "scores.csv").read_bytes() == alone.read_bytes(), "other scores"
    left = [file.name for file in folder.rglob(".*")]
    assert left == [], f"{left} are left"


def trials(seed: int, folder: Path) -> Iterator[Trial]:
    """Yield each kind in turn, without end."""
    random = Random(seed)
    alone = {name: score(load_metric(name), Runtime()) for name in METRICS}
    number = 0
    while True:
        number += 1
        trial = folder / f"trial-{number}"
        trial.mkdir()
        name = random.choice(METRICS)
        yield Trial("threads", partial(threads_score, name, alone[name], None))
        yield Trial(
            "threads, one cache", partial(threads_score, name, alone[name], trial / "cache")
        )
        yield Trial("one place", partial(threads_write, trial, random))
        if number % 3 == 1:
            yield Trial("spawn", partial(spawn_maps, 2))
            yield Trial("processes", partial(processes_score, trial / "processes"))
        shutil.rmtree(trial)


if __name__ == "__main__":
    main(
        "concurrent_use",
        "Scores and files do not depend on what runs beside.",
        trials,
        count=60,
        longest=300,
    )
