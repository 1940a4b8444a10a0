"""Ranked pairs: two corrections of one source, of which one is known to be better.

A `PairSource` makes ranked pairs; a configuration names its class and its parameters. A custom class is named
by its import path, or by its name if an installed package adds it (`registry`):

    data:
      pairs:
        quality:
          - class_path: PairFile
            init_args: {path: pairs.jsonl}
"""

from learnedgec.training.pairs.base import (
    PairSource,
    RankedPair,
    read_ranked_pairs,
    write_ranked_pairs,
)
from learnedgec.training.pairs.capitals import CapitalPairs
from learnedgec.training.pairs.corrupted import CorruptedPairs
from learnedgec.training.pairs.distilled import DistilledPairs
from learnedgec.training.pairs.file import PairFile
from learnedgec.training.pairs.impact import ImpactPairs
from learnedgec.training.pairs.rated import RatedPairs
from learnedgec.training.pairs.referenced import ReferencedPairs
from learnedgec.training.pairs.registry import PAIR_SOURCES

__all__ = [
    "PAIR_SOURCES",
    "CapitalPairs",
    "CorruptedPairs",
    "ImpactPairs",
    "PairFile",
    "PairSource",
    "RankedPair",
    "RatedPairs",
    "ReferencedPairs",
    "DistilledPairs",
    "read_ranked_pairs",
    "write_ranked_pairs",
]
