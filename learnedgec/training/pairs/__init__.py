"""Ranked pairs: two corrections of one source, of which one is known to be better.

Whatever makes ranked pairs is a `PairSource`; a configuration names its class and its parameters, and a
class of one's own is named by its import path:

    data:
      pairs:
        quality:
          - class_path: learnedgec.training.pairs.PairFile
            init_args: {path: pairs.jsonl}
"""

from learnedgec.training.pairs.base import (
    PairSource,
    RankedPair,
    read_ranked_pairs,
    write_ranked_pairs,
)
from learnedgec.training.pairs.corruption import CorruptedPairs
from learnedgec.training.pairs.distilled import DistilledPairs
from learnedgec.training.pairs.file import PairFile
from learnedgec.training.pairs.impact import ImpactPairs
from learnedgec.training.pairs.rated import RatedPairs

__all__ = [
    "CorruptedPairs",
    "ImpactPairs",
    "PairFile",
    "PairSource",
    "RankedPair",
    "RatedPairs",
    "DistilledPairs",
    "read_ranked_pairs",
    "write_ranked_pairs",
]
