"""Progress bars on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

__all__ = ["QUIET", "pace", "track", "track_pace"]

# What `--quiet` means, in every command.
QUIET = "print neither progress nor remarks on stderr, only errors and warnings about the validity of results"

T = TypeVar("T")

# Seconds between two lines where there is no terminal to draw a bar on.
_BETWEEN_LINES = 30.0


def track(
    items: Iterable[T],
    description: str,
    *,
    total: float | None = None,
    weights: Sequence[float] | None = None,
    show: bool = True,
) -> Iterator[T]:
    """Yield the items, showing a bar with the time left on stderr if it is a terminal and `show`.

    Args:
        items: what to go through.
        description: a word or two.
        total: how many items, where `items` has no length.
        weights: how much of the work each item is; one each by default.
        show: whether to show anything.
    """
    if not (show and sys.stderr.isatty()):
        yield from items
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    if weights is not None:
        total = sum(weights)
    elif total is None and isinstance(items, Sequence):
        total = len(items)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}" if total else "{task.completed:.0f}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(description, total=total)
        for number, item in enumerate(items):
            yield item
            progress.advance(task, 1 if weights is None else weights[number])


def track_pace(
    items: Iterable[tuple[T, int]],
    total: int,
    done: int = 0,
    *,
    show: bool = True,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[T]:
    """Yield the items of long work on sentences, saying on stderr how fast it goes and what is left.

    On a terminal one line is written over again and again; elsewhere there is a line every 30 seconds.

    Args:
        items: each with the number of sentences that are finished when it comes.
        total: of sentences.
        done: how many were finished before.
        show: whether to say anything.
        clock: seconds since whenever.
    """
    start = said = clock()
    before, terminal = done, sys.stderr.isatty()
    for item, count in items:
        done += count
        now = clock()
        if show and (now - said >= (0.2 if terminal else _BETWEEN_LINES)):
            said = now
            line = pace(done, total, done - before, now - start)
            print(
                f"\r\x1b[K{line}" if terminal else line,
                end="" if terminal else "\n",
                file=sys.stderr,
            )
            sys.stderr.flush()
        yield item
    if show and terminal and said > start:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def pace(done: int, total: int, lately: int, seconds: float) -> str:
    """Return how far long work on sentences is, how fast it goes, and the time left.

    Args:
        done: sentences that are finished.
        total: of all.
        lately: those of them that took the given seconds.
        seconds: that many.

    Example:
        >>> pace(50_000, 200_000, 40_000, 20)
        '50,000 of 200,000 sentences, 2,000/s, 1 min 15 s left'
    """
    rate = lately / max(seconds, 1e-9)
    left = round((total - done) / rate) if rate else 0
    hours, minutes = left // 3600, left // 60 % 60
    time_left = (
        f"{hours} h {minutes} min"
        if hours
        else f"{minutes} min {left % 60} s"
        if minutes
        else f"{left} s"
    )
    shown = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
    return f"{done:,} of {total:,} sentences, {shown}/s, {time_left} left"
