"""Progress bars on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

# What `--quiet` means, in every command.
QUIET = "print neither progress nor remarks on stderr, only errors and warnings about the validity of results"

T = TypeVar("T")


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
