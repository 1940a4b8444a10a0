"""What the trials of reliability share: options, limits, mutation, and the count of tried and failed.

A trial is a label and a function that raises where a promise of `docs/reliability.md` is broken. Each
script yields trials endlessly from a seed; this module runs them until `--count` or `--seconds` is reached
and prints one line. An input that failed is kept in `--save`, to become a file of tests/reliability/corpus.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType

from learnedgec.errors import LearnedgecError

ROOT = Path(__file__).parents[2]

CORPUS = ROOT / "tests" / "reliability" / "corpus"

# Seconds after which one trial has failed, and memory in bytes beyond what the process has at the start.
LONGEST = 20.0

LARGEST = 4 << 30


@dataclass(frozen=True)
class Trial:
    """One attempt to break a promise.

    Attributes:
        label: what is tried, in few words.
        run: raises where the promise is broken.
        content: the input, kept where it failed.
    """

    label: str
    run: Callable[[], object]
    content: bytes = b""


@dataclass
class Tally:
    """How many trials there were, and what the failed ones said."""

    name: str
    tried: int = 0
    failures: list[str] = field(default_factory=list)


class TooLongError(Exception):
    """A trial has not ended in time."""


def run(
    name: str,
    trials: Iterable[Trial],
    *,
    count: int,
    seconds: float,
    save: Path | None = None,
    longest: float = LONGEST,
) -> Tally:
    """Run trials until there were `count` or `seconds` have passed; 0 is no limit."""
    tally = Tally(name)
    end = time.monotonic() + seconds if seconds else float("inf")
    for trial in trials:
        if (count and tally.tried >= count) or time.monotonic() >= end:
            break
        tally.tried += 1
        try:
            with at_most(longest):
                trial.run()
        except Exception as error:
            told = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            tally.failures.append(f"{trial.label}: {told}")
            print(f"{name} FAILED {tally.failures[-1]}", file=sys.stderr)
            if save is not None and trial.content:
                save.mkdir(parents=True, exist_ok=True)
                (save / f"{trial.label.replace('/', '_')}.{tally.tried}").write_bytes(trial.content)
    return tally


def main(
    name: str,
    about: str,
    trials: Callable[[int, Path], Iterator[Trial]],
    *,
    count: int,
    seconds: float = 0,
    longest: float = LONGEST,
    limited: bool = True,
) -> None:
    """Be a script: parse the options, run the trials and exit with 1 if any failed.

    Args:
        name: of the script.
        about: the promise that it tries.
        trials: of a seed and an empty folder.
        count: how many, if not told.
        seconds: how long at most, if not told.
        longest: seconds that one trial may take.
        limited: whether memory is bounded.
    """
    import tempfile

    parser = argparse.ArgumentParser(prog=name, description=about)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=count, help="trials; 0: no limit")
    parser.add_argument("--seconds", type=float, default=seconds, help="0: no limit")
    parser.add_argument("--save", type=Path, help="keep inputs that failed in this folder")
    options = parser.parse_args()
    if limited:
        limit_memory()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="reliability-") as folder:
        tally = run(
            name,
            trials(options.seed, Path(folder)),
            count=options.count,
            seconds=options.seconds,
            save=options.save,
            longest=longest,
        )
    took = time.monotonic() - started
    print(
        f"{name}: {tally.tried} tried, {len(tally.failures)} failed, {took:.0f} s, seed {options.seed}"
    )
    sys.exit(1 if tally.failures else 0)


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TooLongError` in the block after so many seconds, or at its end if it did not listen."""
    started = time.monotonic()

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLongError(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if time.monotonic() - started > seconds:
        raise TooLongError(f"more than {seconds:g} s")


def limit_memory(largest: int = LARGEST) -> None:
    """Let allocations fail beyond `largest` bytes more than the process has mapped now."""
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + largest, mapped + largest))


def expect_sentence(work: Callable[[], object]) -> object | None:
    """Return what a work returns, or `None` where it raises a sentence; anything else goes through.

    Warnings are part of a result.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return work()
        except LearnedgecError as error:
            text = str(error)
            if not text.strip() or len(text) > 5000:
                raise AssertionError(f"no sentence: {text[:100]!r}") from error
            return None


# What readers have choked on: text that means something to one of their formats.
TOKENS = [
    *(
        b"\0",
        b"\n",
        b"\r\n",
        b"\r",
        b'"',
        b'""',
        b",",
        b"\t",
        b"|||",
        b"||",
        b" ",
        b"-",
        b"\\",
        b"/",
    ),
    *(
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        "\u2028\x85\u00a0".encode(),
        "𝒳é".encode(),
    ),
    *(b"9" * 20, b"9" * 400, b"9" * 5000, b"-1", b"1_0", b"1e999", b"-1e999", b"NaN", b"Infinity"),
    *(rb"\ud800", rb"\n", rb"\u0000", b"[" * 200, b'{"a":' * 2000, b"null", b"true", b"{}", b"[]"),
    *(b"&a [*a]", b"*a", b"<<: ", b"!!python/object:os.system ", b"%s", b"../", b"-NONE-", b"noop"),
    *(b"S ", b"A ", b"A 0 1|||R|||x|||REQUIRED|||-NONE-|||0\n", b"A1-S ", b"O-S ", b"O-T "),
    *(b"<a>" * 500, b"&lt;", b"&x;", b'<!DOCTYPE r [<!ENTITY x "y">]>', b"]]>", b"x" * 140_000),
]


def mutate(content: bytes, random: Random, others: Sequence[bytes] = ()) -> bytes:
    """Return a content with one to four changes: bytes, spans, tokens, or a piece of another."""
    changed = bytearray(content)
    for _ in range(random.randint(1, 4)):
        at = random.randint(0, len(changed))
        span = slice(at, at + random.choice((1, 2, 5, 20, 100)))
        kind = random.randrange(7)
        if kind == 0 and changed:
            changed[random.randrange(len(changed))] = random.randrange(256)
        elif kind == 1:
            del changed[span]
        elif kind == 2:
            changed[at:at] = changed[span] * random.choice((1, 1, 2, 50))
        elif kind == 3:
            changed[span] = random.choice(TOKENS)
        elif kind == 4:
            changed[at:at] = random.choice(TOKENS)
        elif kind == 5 and others:
            other = random.choice(others)
            start = random.randint(0, len(other))
            changed[at:at] = other[start : start + random.choice((5, 50, 500))]
        elif random.random() < 0.3:
            del changed[at:]
    return bytes(changed)


def kept(kind: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each past crash of a kind."""
    for file in sorted((CORPUS / kind).glob("*")):
        yield file.name, file.read_bytes()
