"""Progress on stderr, and counts of the work of models for `--profile`.

Progress is a bar on a terminal, and a line each minute elsewhere, as in a log.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, TypeVar

T = TypeVar("T")


def track(
    items: Iterable[T],
    description: str,
    *,
    total: float | None = None,
    weights: Sequence[float] | None = None,
    show: bool = True,
) -> Iterator[T]:
    """Yield the items and show progress with the remaining time on stderr.

    Args:
        items: items to yield.
        description: name of the items.
        total: number of items, if `items` has no length.
        weights: amount of work of each item; by default 1 each.
        show: whether to show progress.
    """
    if not show:
        yield from items
        return
    if weights is not None:
        total = sum(weights)
    elif total is None and isinstance(items, Sequence):
        total = len(items)
    if has_bars():
        from tqdm.auto import tqdm

        bar = tqdm(desc=description, total=total, leave=False, unit_scale=True)
        shown: AbstractContextManager[object] = bar
        advance: Callable[[float], object] = bar.update
    else:
        shown, advance = nullcontext(), ProgressLines(description, total).advance
    with shown:
        for number, item in enumerate(items):
            yield item
            advance(1 if weights is None else weights[number])


def has_bars() -> bool:
    """Return whether bars can be drawn: stderr is a terminal, or the program is a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class ProgressLines:
    """Lines about the progress of a task on stderr; all tasks together print at most one line a minute.

    Args:
        description: name of the counted work.
        total: amount of the whole work; `None` if it is unknown.
        done: amount of work that was already done.
    """

    # The time at which the next line is due; 0 before the first task.
    _due: ClassVar[float] = 0

    def __init__(self, description: str, total: float | None, done: float = 0) -> None:
        self.description, self.total, self.done = description, total, done
        self._before, self._begun = done, time.monotonic()
        ProgressLines._due = ProgressLines._due or self._begun + 30

    def advance(self, amount: float = 1, note: str = "") -> None:
        """Count work that was done, and print a line if one is due.

        Args:
            amount: amount of the work.
            note: end of the line.
        """
        self.done += amount
        now = time.monotonic()
        if now < ProgressLines._due or self.done == self._before:
            return
        ProgressLines._due = now + 60
        line = f"{self.description}: {self.done:,.0f}"
        if self.total is not None:
            pace = (now - self._begun) / (self.done - self._before)
            left = timedelta(seconds=round((self.total - self.done) * pace))
            line += f" of {self.total:,.0f}, about {left} (h:mm:ss) left"
        print(f"{line}{note}.", file=sys.stderr)


# -- counts of the work of models -------------------------------------------------------------------


@dataclass
class Profile:
    """Counts since the process began, or since `reset`.

    Attributes:
        rows: number of rows (source, hypothesis and references of a system) that metrics scored.
        distinct: number of rows that were distinct within a call.
        inputs: number of distinct inputs (texts or pairs) whose values from a model were needed.
        remembered: number of inputs whose values were in memory from an earlier call.
        stored: number of inputs whose values were in the cache folder.
        encoded: number of inputs that a model processed.
        tokens: number of tokens of these inputs.
        padding: number of padding tokens in their batches.
        seconds: elapsed time in models.
        processor: processor time in models, of all threads of this process.
        enabled: whether to show the counts at the end.
    """

    rows: int = 0
    distinct: int = 0
    inputs: int = 0
    remembered: int = 0
    stored: int = 0
    encoded: int = 0
    tokens: int = 0
    padding: int = 0
    seconds: float = 0.0
    processor: float = 0.0
    enabled: bool = False

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
            >>> counts = {"rows": 10, "distinct": 8, "inputs": 8, "remembered": 2, "stored": 1, "encoded": 5}
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
            f"inputs: {self.inputs:,}, of which {self.remembered:,} were in memory and {self.stored:,} in "
            "the cache folder",
            f"models: {self.encoded:,} inputs in {self.seconds:.1f} s, {by_clock:.1f} a second "
            f"({by_processor:.1f} a processor second); {self.tokens:,} tokens, padding {100 * padding:.1f} %",
        ]


PROFILE = Profile()
"""The counts of this process. They are approximate if several threads count at the same time."""
