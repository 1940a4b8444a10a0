"""Progress on stderr: bars on a terminal and in notebooks, and a line each minute elsewhere, as in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
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
