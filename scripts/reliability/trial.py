"""What the trials of reliability share: options, a time limit, and the count of tried and failed.

A trial is a label and a function that raises where a promise of `docs/reliability.md` is broken. Each
script yields trials endlessly from a seed; this module runs them until `--count` or `--seconds` is reached
and prints one line.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Trial:
    """One attempt to break a promise.

    Attributes:
        label: what is tried, in few words.
        run: raises where the promise is broken.
    """

    label: str
    run: Callable[[], object]


@dataclass
class Tally:
    """How many trials there were, and the messages of the failed ones."""

    tried: int = 0
    failures: list[str] = field(default_factory=list)


def run(name: str, trials: Iterable[Trial], *, count: int, seconds: float, longest: float) -> Tally:
    """Run trials until there were `count` or `seconds` have passed; 0 is no limit."""
    tally = Tally()
    end = time.monotonic() + seconds if seconds else float("inf")
    for trial in trials:
        if (count and tally.tried >= count) or time.monotonic() >= end:
            break
        tally.tried += 1
        try:
            with at_most(longest):
                trial.run()
        except Exception as error:
            message = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            tally.failures.append(f"{trial.label}: {message}")
            print(f"{name} FAILED {tally.failures[-1]}", file=sys.stderr)
    return tally


def main(
    name: str,
    about: str,
    trials: Callable[..., Iterator[Trial]],
    *,
    count: int,
    longest: float,
) -> None:
    """Parse the options, run the trials and exit with 1 if any failed.

    Args:
        name: of the script.
        about: the promise that it tries.
        trials: of a seed and an empty folder, and perhaps of the label of those that `only` are wanted.
        count: how many, unless `--count` says otherwise.
        longest: seconds that one trial may take.
    """
    parser = argparse.ArgumentParser(prog=name, description=about)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=count, help="trials; 0: no limit")
    parser.add_argument("--seconds", type=float, default=0, help="0: no limit")
    if "only" in signature(trials).parameters:
        parser.add_argument("--only", default="", help="label of the trials; all by default")
    options = parser.parse_args()
    chosen = {key: value for key, value in vars(options).items() if key == "only"}
    started = time.monotonic()
    # Trials draw texts and metrics at random, so that remarks about them say nothing.
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="reliability-") as folder:
        tally = run(
            name,
            trials(options.seed, Path(folder), **chosen),
            count=options.count,
            seconds=options.seconds,
            longest=longest,
        )
    took = time.monotonic() - started
    print(
        f"{name}: {tally.tried} tried, {len(tally.failures)} failed, {took:.0f} s, seed {options.seed}"
    )
    sys.exit(1 if tally.failures else 0)


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` in the block after so many seconds."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
