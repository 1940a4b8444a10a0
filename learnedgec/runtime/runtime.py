"""How work runs: device, precision and processes, its progress on stderr, and counts for `--profile`.

Progress is a bar on a terminal, and a line each minute elsewhere, as in a log.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, ClassVar, Literal, TypeVar

from learnedgec.errors import ConfigError, check_choice

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
        cache_dir: folder for the cache, which holds the statistics of systems and evaluators' outputs for
            each sentence; there is none by default.
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
    cache_dir: str | None = None
    tokenise: Literal["none", "spacy"] = "none"
    opened: dict[tuple[Any, ...], Any] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.batch_tokens < 1:
            raise ConfigError("batch_tokens must be at least 1.")
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


# -- progress ---------------------------------------------------------------------------------------


def track(
    items: Iterable[_Item],
    description: str,
    *,
    total: float | None = None,
    weights: Sequence[float] | None = None,
    show: bool = True,
    hint: str = "",
) -> Iterator[_Item]:
    """Yield the items and show progress with the remaining time on stderr.

    Args:
        items: items to yield.
        description: name of the items.
        total: number of items, if `items` has no length.
        weights: amount of work of each item; by default 1 each.
        show: whether to show progress.
        hint: what would make long work faster; shown once in a process, after half a minute.
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
    begun = time.monotonic() if hint else 0.0
    with shown:
        for number, item in enumerate(items):
            yield item
            advance(1 if weights is None else weights[number])
            if hint and hint not in _HINTED and time.monotonic() - begun >= _LONG:
                _HINTED.add(hint)
                # A bar is drawn again below it.
                print(
                    f"\n{description}: {hint}" if has_bars() else f"{description}: {hint}",
                    file=sys.stderr,
                )


# The hints that this process has shown, and the seconds after which work is long.
_HINTED: set[str] = set()
_LONG = 30


def has_bars() -> bool:
    """Return whether bars can be drawn: stderr is a terminal, or the program is a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


# The seconds after which the work that is left can be estimated.
_EARLY = 2


class ProgressLines:
    """Lines about the progress of a task on stderr; all tasks together print at most one line a minute.

    After two seconds, a task that will take more than a minute says so in an additional line.

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
        self._announced = total is None
        ProgressLines._due = ProgressLines._due or self._begun + 30

    def advance(self, amount: float = 1, note: str = "") -> None:
        """Count work that was done, and print a line if one is due.

        Args:
            amount: amount of the work.
            note: end of the line.
        """
        self.done += amount
        now = time.monotonic()
        passed, new = now - self._begun, self.done - self._before
        left = 0.0 if self.total is None or not new else (self.total - self.done) * passed / new
        quiet = ProgressLines._due == math.inf
        long = not self._announced and passed >= _EARLY and left > 60 and not quiet
        if not new or (now < ProgressLines._due and not long):
            return
        self._announced = True
        ProgressLines._due = now + 60
        line = f"{self.description}: {self.done:,.0f}"
        if self.total is not None:
            about = timedelta(seconds=round(left))
            line += f" of {self.total:,.0f}, about {about} (h:mm:ss) left"
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
