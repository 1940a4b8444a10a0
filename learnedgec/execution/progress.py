"""Progress bars on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

__all__ = ["QUIET", "track"]

# What `--quiet` means, in every command.
QUIET = "neither progress nor remarks on stderr; errors, and warnings that a result may not be valid, stay"

T = TypeVar("T")


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
