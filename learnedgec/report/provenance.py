"""Provenance of a report's numbers: software, and data with their licences."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

from learnedgec._version import __version__
from learnedgec.data.catalog.registry import DATASETS
from learnedgec.evaluators.packages import learned_from
from learnedgec.metrics.base import Metric

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
    """Return the versions of learnedgec, Python and the installed packages that scores may depend on."""
    versions = {"learnedgec": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def licences(metrics: Iterable[Metric], benchmark: str = "") -> list[dict[str, str]]:
    """Return the data that are shown or were trained on, with the licences that their authors state.

    Args:
        metrics: the metrics, whose evaluators were trained on data.
        benchmark: name of the benchmark, if the report shows one.

    Returns:
        Mappings with `data`, `role`, `licence` and `about`; data that are not in the catalog have no licence.
    """
    head, *words = benchmark.split(":")
    shown = [*_BENCHMARKS.get(head, ()), *(["reassess"] if "rewrites" in words else [])]
    roles = [("shown", name) for name in shown]
    for name in dict.fromkeys(each for metric in metrics for each in metric.evaluators()):
        roles += [(f"{name} has learned from it", each) for each in learned_from(name)]
    rows = []
    for role, name in roles:
        head = name.partition(":")[0]
        entry = DATASETS.find(head) if head in DATASETS else None
        rows.append(
            {
                "data": name,
                "role": role,
                "licence": entry.licence if entry else "not stated",
                "about": entry.about if entry else "",
            }
        )
    return rows
