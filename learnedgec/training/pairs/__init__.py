"""Ranked pairs: two corrections of one source, a better and a worse one.

A `PairSource` makes ranked pairs. A configuration names its class and its parameters. A class of your own is
named by its import path:

    data:
      pairs:
        quality:
          - class_path: PairFile
            init_args: {path: pairs.jsonl}

Other packages add pair sources under the entry point group `learnedgec.pairs` (name of the class ->
`module:Class`).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from learnedgec.errors import PluginError
from learnedgec.runtime.plugins import Plugin, Registry
from learnedgec.training.pairs.base import PairSource, RankedPair, write_ranked_pairs
from learnedgec.training.pairs.corrections import CapitalPairs, ImpactPairs, MeaningPairs
from learnedgec.training.pairs.corrupted import CorruptedPairs
from learnedgec.training.pairs.judged import (
    PairFile,
    RankingPairs,
    RatedPairs,
    read_ranked_pairs,
)
from learnedgec.training.pairs.referenced import DistilledPairs, EditPairs, ReferencedPairs

__all__ = [
    "PAIR_SOURCES",
    "REGISTRY",
    "CapitalPairs",
    "CorruptedPairs",
    "DistilledPairs",
    "EditPairs",
    "ImpactPairs",
    "MeaningPairs",
    "PairFile",
    "PairSource",
    "RankedPair",
    "RankingPairs",
    "RatedPairs",
    "ReferencedPairs",
    "import_plugins",
    "read_ranked_pairs",
    "write_ranked_pairs",
]

# All pair sources of this package: no other class can derive from `PairSource` before it is imported.
PAIR_SOURCES: Mapping[str, type[PairSource]] = {
    kind.__name__: kind
    for kind in sorted(PairSource.__subclasses__(), key=lambda kind: kind.__name__)
}


def _plugged(plugin: Plugin) -> type[PairSource]:
    """Return the class of a plug-in, which must have the name of the entry point."""
    kind = plugin.load_class(PairSource)  # type: ignore[type-abstract]
    if kind.__name__ != plugin.name:
        raise plugin.error(f"{plugin.point.value} is named {kind.__name__!r}")
    return kind


REGISTRY: Registry[type[PairSource]] = Registry(
    "pair source",
    "learnedgec.pairs",
    PAIR_SOURCES,
    _plugged,
    hint="The import path of a class is also accepted.",
)


def import_plugins() -> None:
    """Import the pair sources of other packages, so that configurations can name them."""
    for _, loaded in REGISTRY.entries():
        if isinstance(loaded, PluginError):
            warnings.warn(str(loaded), stacklevel=2)
