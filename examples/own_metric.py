"""Write a metric of your own: a frozen dataclass with two methods is ranked and tested like every other."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from learnedgec import Metric, Statistics, rank, read_lines
from learnedgec.data.catalog import sample_folder


@dataclass(frozen=True)
class Shortness(Metric):
    """How much shorter the hypothesis is than its source, in characters (a bad metric, to keep it short)."""

    name: ClassVar[str] = "shortness"
    needs_references: ClassVar[bool] = False
    scale: float = 1.0

    def compute(self, sources, hypotheses, references, runtime):
        """Return what is known of each sentence: slow work goes here, and is done once."""
        pairs = zip(sources, hypotheses, strict=True)
        return Statistics({"saved": np.array([len(s) - len(h) for s, h in pairs], float)})

    def sentence_scores(self, statistics):
        """Return each sentence's score; the corpus score is their mean."""
        return self.scale * statistics["saved"]


folder = sample_folder()
sources = read_lines(folder / "source.txt")
systems = {path.stem: read_lines(path) for path in sorted((folder / "systems").glob("*.txt"))}
ranking = rank(Shortness(scale=0.1), sources, systems)
for number in ranking.order:
    print(f"{ranking.metric}  {ranking.systems[number]:8} {ranking.scores[number]:+.3f}")
