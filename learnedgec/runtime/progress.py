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
    """Yield the items and show a progress bar with the remaining time on stderr, if that is a terminal.

    Args:
        items: items to yield.
        description: label of the bar.
        total: number of items, if `items` has no length.
        weights: amount of work of each item; by default 1 each.
        show: whether to show the bar.
    """
    if not (show and sys.stderr.isatty()):
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    if weights is not None:
        total = sum(weights)
    elif total is None and isinstance(items, Sequence):
        total = len(items)
    with Progress(console=Console(stderr=True), transient=True) as progress:
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
    """Yield the items of long work on sentences, and report speed and remaining time on stderr.

    On a terminal one line is updated; elsewhere a line is written every 30 seconds.

    Args:
        items: items, each with the number of sentences that are finished when it is yielded.
        total: total number of sentences.
        done: number of sentences that were finished before.
        show: whether to report.
        clock: function that returns seconds since a fixed time.
    """
    start = reported = clock()
    before, terminal = done, sys.stderr.isatty()
    for item, count in items:
        done += count
        now = clock()
        if show and (now - reported >= (0.2 if terminal else _BETWEEN_LINES)):
            reported = now
            line = pace(done, total, done - before, now - start)
            print(
                f"\r\x1b[K{line}" if terminal else line,
                end="" if terminal else "\n",
                file=sys.stderr,
            )
            sys.stderr.flush()
        yield item
    if show and terminal and reported > start:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def pace(done: int, total: int, lately: int, seconds: float) -> str:
    """Return a line with the progress of long work on sentences, its speed, and the remaining time.

    Args:
        done: number of finished sentences.
        total: total number of sentences.
        lately: number of sentences that were finished in the last `seconds`.
        seconds: time that they took, in seconds.

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
