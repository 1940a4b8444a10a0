"""Work in several processes, for long computations in Python such as the search for edits."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TypeVar

from learnedgec.errors import ConfigError
from learnedgec.runtime.progress import track
from learnedgec.runtime.runtime import Runtime

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

# A chunk of this size is cheap to send and keeps all processes busy to the end.
_CHUNK = 32


def parallel_map(
    function: Callable[[_Item], _Result],
    items: Sequence[_Item],
    description: str,
    runtime: Runtime,
    *,
    chunk_size: int = _CHUNK,
) -> list[_Result]:
    """Return the result of a function for every item, in order, from `runtime.processes` processes.

    Processes are started (spawned) on every platform, because forking a process that has loaded torch can
    hang. They do not share its state, and a script that uses several processes needs the usual
    ``if __name__ == "__main__":``. With one process, or few items, the calling process does the work.

    Args:
        function: pure function at a module's top level, or a `functools.partial` of one.
        items: picklable arguments.
        description: label of the progress bar.
        runtime: number of processes and progress bar.
        chunk_size: number of items that a process gets at a time; 1 if each takes long.

    Raises:
        ConfigError: the processes cannot be started, or they were killed.

    Example:
        >>> parallel_map(str.upper, ["a", "b"], "shout", Runtime(jobs=1))
        ['A', 'B']
    """

    def gather(results: Iterator[_Result]) -> list[_Result]:
        return list(track(results, description, total=len(items), show=runtime.progress))

    processes = min(runtime.processes, math.ceil(len(items) / chunk_size))
    if processes <= 1:
        return gather(map(function, items))
    context = get_context("spawn")
    end, lifeline = context.Pipe(duplex=False)
    executor = ProcessPoolExecutor(
        processes, mp_context=context, initializer=_live_by, initargs=(end,)
    )
    try:
        return gather(executor.map(function, items, chunksize=chunk_size))
    except BrokenProcessPool:
        raise ConfigError(
            f"the {processes} processes for {description!r} ended before their work was done; put the "
            'script\'s own code under `if __name__ == "__main__":`, or use jobs=1.'
        ) from None
    except BaseException:
        # After an error or an interrupt, stop all processes without waiting for their work.
        lifeline.close()
        raise
    finally:
        executor.shutdown(cancel_futures=True)
        lifeline.close()
        end.close()


def _live_by(end: Connection) -> None:
    """End this process when its parent closes the other end of a pipe or dies, but not at Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        with contextlib.suppress(EOFError, OSError):
            end.recv()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
