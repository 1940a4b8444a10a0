"""Pair sources by name, as `class_path` in a configuration: a class's name, or its import path.

Other packages add pair sources under the entry point group `learnedgec.pairs` (name of the class ->
`module:Class`).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from learnedgec.errors import PluginError
from learnedgec.runtime.plugins import Plugin, Registry
from learnedgec.training.pairs.base import PairSource
from learnedgec.training.pairs.capitals import CapitalPairs
from learnedgec.training.pairs.corrupted import CorruptedPairs
from learnedgec.training.pairs.distilled import DistilledPairs
from learnedgec.training.pairs.file import PairFile
from learnedgec.training.pairs.impact import ImpactPairs
from learnedgec.training.pairs.rated import RatedPairs
from learnedgec.training.pairs.referenced import ReferencedPairs

__all__ = ["PAIR_SOURCES", "REGISTRY", "import_plugins"]

PAIR_SOURCES: Mapping[str, type[PairSource]] = {
    "CapitalPairs": CapitalPairs,
    "CorruptedPairs": CorruptedPairs,
    "DistilledPairs": DistilledPairs,
    "ImpactPairs": ImpactPairs,
    "PairFile": PairFile,
    "RatedPairs": RatedPairs,
    "ReferencedPairs": ReferencedPairs,
}


def _plugged(plugin: Plugin) -> type[PairSource]:
    """Return the class of a plug-in, whose name must be that of the entry point."""
    found = plugin.load_class(PairSource)  # type: ignore[type-abstract]
    if found.__name__ != plugin.name:
        raise plugin.error(f"{plugin.point.value} is named {found.__name__!r}")
    return found


REGISTRY: Registry[type[PairSource]] = Registry(
    "pair source",
    "learnedgec.pairs",
    PAIR_SOURCES,
    _plugged,
    hint="The import path of a class is also accepted.",
)


def import_plugins() -> None:
    """Import the pair sources of other packages, so that configurations can name them."""
    for _, found in REGISTRY.entries():
        if isinstance(found, PluginError):
            warnings.warn(str(found), stacklevel=2)
