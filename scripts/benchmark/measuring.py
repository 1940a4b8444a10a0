"""What the benchmarks share: seconds, tables, and jobs in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any


class Stopwatch:
    """Seconds since its creation: by the clock, and of the processor, which other work disturbs less."""

    def __init__(self) -> None:
        self._wall, self._processor = time.perf_counter(), time.process_time()

    @property
    def wall(self) -> float:
        """Seconds by the clock."""
        return time.perf_counter() - self._wall

    @property
    def processor(self) -> float:
        """Seconds of this process on the processor."""
        return time.process_time() - self._processor


def make_table(title: str, *columns: str) -> Any:
    """Return an empty table of numbers, for `rich`."""
    from rich.table import Table

    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def in_process(
    script: str, job: Mapping[str, Any], *, python: str = sys.executable, threads: int = 1
) -> Any:
    """Run `script --job` in a process of its own, and return what it prints as JSON on its last line.

    Args:
        script: a program that reads the job from standard input.
        job: what JSON can hold.
        python: the interpreter.
        threads: of each library.
    """
    variables = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
    done = subprocess.run(
        [python, script, "--job"],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        env={**os.environ, **dict.fromkeys(variables, str(threads))},
    )
    if done.returncode:
        raise SystemExit(done.stderr.strip())
    return json.loads(done.stdout.splitlines()[-1])
