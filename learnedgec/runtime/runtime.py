"""How work runs: device, precision and processes."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Literal, TypeVar

from learnedgec.errors import ConfigError, check_choice
from learnedgec.runtime.progress import track

_Opened = TypeVar("_Opened")

# The devices of torch that may run models; only torch knows which there are.
_DEVICE = re.compile(r"auto|(cpu|cuda|mps|xpu|hpu|xla|npu|mtia|meta)(:\d+)?")


@dataclass(frozen=True, slots=True)
class Runtime:
    """The settings of a run. Only `dtype` and `tokenise` affect scores, and signatures name both.

    Attributes:
        device: `auto` (CUDA, then MPS, then CPU) or any torch device such as `cuda:1`.
        dtype: precision of models; `bfloat16` is faster and changes the third digit of scores. `auto` is
            `bfloat16` for trained evaluators on hardware with bfloat16 arithmetic, otherwise `float32`.
        batch_tokens: maximum number of tokens in an encoder's batch, including padding.
        jobs: number of processes for work outside the encoder (M2, ERRANT); 0 means one per core.
        progress: show progress bars on stderr.
        allow_pickle: load weights that exist only as a pickle; a pickle can run code.
        states_mb: maximum size in MiB of the encoder states in memory at a time.
        cache_dir: folder for the cache, which holds the statistics of systems and evaluators' outputs for
            each sentence; `None` disables it.
        tokenise: `spacy` tokenises sources, hypotheses and references before they are scored
            (`learnedgec.tokenise`); `none` splits at spaces, which is right for tokenised text.
        opened: the objects that names stand for in a bound runtime. In one that is not bound, it is `None`,
            and each use of a name looks it up again.

    Example:
        >>> runtime = Runtime(device="cpu", jobs=2)
        >>> runtime.processes, runtime.dtype
        (2, 'float32')
    """

    device: str = "auto"
    dtype: Literal["auto", "float32", "bfloat16"] = "float32"
    batch_tokens: int = 4096
    jobs: int = 1
    progress: bool = False
    allow_pickle: bool = False
    states_mb: int = 1024
    cache_dir: str | None = None
    tokenise: Literal["none", "spacy"] = "none"
    opened: dict[tuple[Any, ...], Any] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.batch_tokens < 1 or self.states_mb < 1:
            raise ConfigError("batch_tokens and states_mb must be at least 1.")
        if not _DEVICE.fullmatch(self.device):
            raise ConfigError(
                f"device is {self.device!r}; auto, cpu, cuda, cuda:1 or mps was expected."
            )
        check_choice("dtype", self.dtype, ("auto", "float32", "bfloat16"))
        check_choice("tokenise", self.tokenise, ("none", "spacy"))
        if self.jobs < 0:
            raise ConfigError(f"jobs is {self.jobs}; give 0 (one per core) or a positive number.")

    @property
    def processes(self) -> int:
        """The number of worker processes for `jobs`."""
        return self.jobs or os.cpu_count() or 1

    def bound(self) -> Runtime:
        """Return a runtime that remembers what it opens, so that a name always denotes the same model."""
        return self if self.opened is not None else dataclasses.replace(self, opened={})

    def open(self, find: Callable[..., _Opened], *name: Any) -> _Opened:
        """Return `find(*name)`, which a bound runtime calls only once for each name.

        Args:
            find: a module's function that opens what a name stands for.
            name: the arguments of the function.

        Example:
            >>> runtime = Runtime().bound()
            >>> runtime.open(list, "ab") is runtime.open(list, "ab")
            True
        """
        if self.opened is None:
            return find(*name)
        key = (find, *name)
        if key not in self.opened:
            self.opened[key] = find(*name)
        return self.opened[key]  # type: ignore[no-any-return]


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
