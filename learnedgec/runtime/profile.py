"""Counts of the work of models in this process, for `--profile`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Profile:
    """Counts since the process began, or since `reset`.

    Attributes:
        rows: number of rows (source, hypothesis and references of a system) that metrics scored.
        distinct: number of rows that were distinct within a call.
        asked: number of distinct inputs (texts or pairs) for which a model's values were needed.
        remembered: number of inputs whose values were in memory from an earlier call.
        stored: number of inputs whose values were in the cache folder.
        encoded: number of inputs that a model processed.
        tokens: number of their tokens.
        padding: number of padding tokens in their batches.
        seconds: elapsed time in models.
        processor: processor time in models, of all threads of this process.
        wanted: whether to show the counts at the end.
    """

    rows: int = 0
    distinct: int = 0
    asked: int = 0
    remembered: int = 0
    stored: int = 0
    encoded: int = 0
    tokens: int = 0
    padding: int = 0
    seconds: float = 0.0
    processor: float = 0.0
    wanted: bool = False

    def reset(self) -> None:
        """Set all counts to zero."""
        self.__init__()  # type: ignore[misc]

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Add the time of a `with` block."""
        clock, processor = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - clock
            self.processor += time.process_time() - processor

    def lines(self) -> list[str]:
        r"""Return the counts as lines of text.

        Example:
            >>> counts = {"rows": 10, "distinct": 8, "asked": 8, "remembered": 2, "stored": 1, "encoded": 5}
            >>> profile = Profile(**counts, tokens=90, padding=10, seconds=2.0, processor=4.0)
            >>> print(*profile.lines(), sep="\n")
            rows: 10, of which 8 are distinct (80.0 %)
            inputs: 8, of which 2 were in memory and 1 in the cache folder
            models: 5 inputs in 2.0 s, 2.5 a second (1.2 a processor second); 90 tokens, padding 10.0 %
        """
        distinct = self.distinct / max(self.rows, 1)
        padding = self.padding / max(self.tokens + self.padding, 1)
        by_clock, by_processor = (
            self.encoded / max(seconds, 1e-9) for seconds in (self.seconds, self.processor)
        )
        return [
            f"rows: {self.rows:,}, of which {self.distinct:,} are distinct ({100 * distinct:.1f} %)",
            f"inputs: {self.asked:,}, of which {self.remembered:,} were in memory and {self.stored:,} in the "
            "cache folder",
            f"models: {self.encoded:,} inputs in {self.seconds:.1f} s, {by_clock:.1f} a second "
            f"({by_processor:.1f} a processor second); {self.tokens:,} tokens, padding {100 * padding:.1f} %",
        ]


PROFILE = Profile()
"""The counts of this process. They are approximate if several threads count at the same time."""
