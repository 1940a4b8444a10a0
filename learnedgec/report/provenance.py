"""What a report's numbers come from: software, and data with their licences."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

from learnedgec._version import __version__
from learnedgec.catalog.registry import DATASETS
from learnedgec.metrics.base import Metric
from learnedgec.models.packages import learned_from

__all__ = ["licences", "software"]

_PACKAGES = ("numpy", "scipy", "torch", "transformers", "tokenizers", "spacy", "errant")

# What a benchmark reads; the sentences of SEEDA and GJG15 are those of CoNLL-2014.
_BENCHMARKS = {
    "seeda-s": ("seeda", "conll14"),
    "seeda-e": ("seeda", "conll14"),
    "gjg15": ("gjg15", "conll14"),
    "gmeg": ("gmeg",),
    "tmu-gfm": ("tmu-gfm",),
    "jfleg": ("jfleg", "gug"),
}


def software() -> dict[str, str]:
    """Return the versions of learnedgec, Python and what scores may depend on, where installed."""
    found = {"learnedgec": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def licences(metrics: Iterable[Metric], benchmark: str = "") -> list[dict[str, str]]:
    """Return what data is shown or was learned from, with its licence as its authors state it.

    Args:
        metrics: whose evaluators have learned from data.
        benchmark: name of the benchmark that is shown, if it is one.

    Returns:
        Mappings of `data`, `role`, `licence` and `about`; what is not in the catalog has no licence here.
    """
    head, *words = benchmark.split(":")
    shown = [*_BENCHMARKS.get(head, ()), *(["reassess"] if "rewrites" in words else [])]
    roles = [("shown", name) for name in shown]
    for name in dict.fromkeys(each for metric in metrics for each in metric.evaluators()):
        roles += [(f"{name} has learned from it", each) for each in learned_from(name)]
    found = []
    for role, name in roles:
        head = name.partition(":")[0]
        entry = DATASETS.find(head) if head in DATASETS else None
        found.append(
            {
                "data": name,
                "role": role,
                "licence": entry.licence if entry else "not stated",
                "about": entry.about if entry else "",
            }
        )
    return found
