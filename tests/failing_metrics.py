"""Metrics that fail at some sentence: with an error, or by killing the process."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from learnedgec.metrics.contract import Metric, Statistics


@dataclass(frozen=True)
class Fragile(Metric):
    """Fails at a sentence, and writes down the first sentence of each attempt."""

    name: ClassVar[str] = "fragile"
    needs_references: ClassVar[bool] = False
    at: str = ""
    count: str = ""

    def fail(self) -> None:
        raise RuntimeError("too hard")

    def compute(self, sources: Any, hypotheses: Any, *_: Any) -> Statistics:
        with Path(self.count).open("a") as file:
            file.write(f"{sources[0]}\n")
        if self.at in sources:
            self.fail()
        return Statistics({"length": np.array([float(len(text)) for text in hypotheses])})

    def sentence_scores(self, statistics: Statistics) -> Any:
        return statistics["length"]


@dataclass(frozen=True)
class Deadly(Fragile):
    """Kills its process at a sentence, so often as `times` says."""

    name: ClassVar[str] = "deadly"
    times: int = 1

    def fail(self) -> None:
        before = Path(f"{self.count}.deaths")
        deaths = before.stat().st_size if before.exists() else 0
        if deaths < self.times:
            before.write_bytes(b"." * (deaths + 1))
            os.kill(os.getpid(), signal.SIGKILL)
