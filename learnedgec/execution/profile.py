"""What the models of this process were asked and did, for `--profile`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["PROFILE", "Profile"]


@dataclass
class Profile:
    """Counts since the process began, or since `reset`.

    Attributes:
        asked: inputs (texts or pairs) that values were wanted for, repeats included.
        distinct: those of them that were distinct within a call.
        remembered: distinct ones whose values were in memory, from an earlier call.
        kept: those whose values were in the cache folder.
        encoded: inputs that went through a model.
        tokens: their tokens.
        padding: tokens that fill up their batches.
        seconds: time in models, by the clock.
        processor: the same in processor seconds of this process, all threads.
        wanted: whether the counts are to be shown at the end.
    """

    asked: int = 0
    distinct: int = 0
    remembered: int = 0
    kept: int = 0
    encoded: int = 0
    tokens: int = 0
    padding: int = 0
    seconds: float = 0.0
    processor: float = 0.0
    wanted: bool = False

    def reset(self) -> None:
        """Begin to count anew."""
        self.__init__()  # type: ignore[misc]

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Count the time of a block."""
        clock, processor = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - clock
            self.processor += time.process_time() - processor

    def lines(self) -> list[str]:
        r"""Return what was counted, as text.

        Example:
            >>> profile = Profile(asked=10, distinct=8, remembered=2, kept=1, encoded=5)
            >>> print(*profile.lines(), sep="\n")
            inputs: 10 asked for, 8 distinct (80.0 %); 2 in memory, 1 in the cache folder
            models: 5 inputs in 0.0 s
        """
        if not self.asked and not self.encoded:
            return ["models: none was asked"]
        share = self.distinct / max(self.asked, 1)
        about = (
            f"inputs: {self.asked:,} asked for, {self.distinct:,} distinct ({100 * share:.1f} %); "
            f"{self.remembered:,} in memory, {self.kept:,} in the cache folder"
        )
        work = f"models: {self.encoded:,} inputs in {self.seconds:.1f} s"
        if self.encoded and self.seconds:
            work += (
                f", {self.encoded / self.seconds:.1f} a second "
                f"({self.encoded / max(self.processor, 1e-9):.1f} a processor second)"
            )
        if self.tokens:
            share = self.padding / (self.tokens + self.padding)
            work += f"; {self.tokens:,} tokens, padding {100 * share:.1f} %"
        return [about, work] if self.asked else [work]


PROFILE = Profile()
"""The counts of this process. What threads count at the same time may be lost; it is for people."""
