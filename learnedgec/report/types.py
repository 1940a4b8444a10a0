"""Edits by error type: hits, misses and false alarms of each system, and confusions of operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from learnedgec.analysis.meta.evaluation import benchmark_statistics
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.edits.error_types import TIERS, foreign_types
from learnedgec.metrics.errant import Errant
from learnedgec.metrics.statistics import Statistics
from learnedgec.report.sentences import Annotated
from learnedgec.runtime.runtime import Runtime

__all__ = ["OPERATIONS", "compare_edits", "describe_types", "operations", "typed_errant"]

OPERATIONS = ("M", "R", "U", "")
"""Missing, replacement, unnecessary, and no edit at all; what is not of ERRANT counts as replacement."""


def describe_types(metric: Errant, statistics: Sequence[Statistics]) -> dict[str, Any]:
    """Return, by tier and type, (tp, fp, fn) of each system, and each system's table of operations.

    Args:
        metric: ERRANT with error types.
        statistics: statistics of each system.
    """
    tiers: dict[str, dict[str, list[list[float]]]] = {}
    for tier in TIERS:
        table: dict[str, list[list[float]]] = {}
        for number, each in enumerate(statistics):
            for kind, counts in metric.by_type(each, tier).items():
                row = table.setdefault(kind, [[0, 0, 0] for _ in statistics])
                row[number] = [counts[name] for name in ("tp", "fp", "fn")]
        gold = {kind: max(tp + fn for tp, _, fn in row) for kind, row in table.items()}
        tiers[tier] = {kind: table[kind] for kind in sorted(table, key=lambda k: (-gold[k], k))}
    return {
        "metric": metric.label,
        "beta": metric.beta,
        "tiers": tiers,
        "operations": [operations(metric, each) for each in statistics],
    }


def operations(metric: Errant, statistics: Statistics) -> list[list[int]]:
    """Return int (4, 4): how often a gold edit with the row's operation meets an edit with the column's.

    Two edits meet if they change a common token or insert at the same position. Each edit is paired once,
    from left to right, correct edits first. The last row counts edits of the system that meet no gold edit,
    the last column gold edits that meet no edit.
    """
    table = [[0] * len(OPERATIONS) for _ in OPERATIONS]
    for record, choice in zip(statistics.records, metric.chosen(statistics), strict=True):
        compared = record[choice]
        ours = [edit for edit in compared["edits"] if not edit["matched"]]
        for edit in compared["gold"]:
            if edit["matched"]:
                place = _place(edit["type"])
                table[place][place] += 1
                continue
            met = next((other for other in ours if _meet(edit, other)), None)
            table[_place(edit["type"])][3 if met is None else _place(met["type"])] += 1
            if met is not None:
                ours.remove(met)
        for edit in ours:
            table[3][_place(edit["type"])] += 1
    return table


def _meet(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two edits change a common token or insert at the same position."""
    if one["start"] == one["end"] or other["start"] == other["end"]:
        return bool(one["start"] <= other["end"] and other["start"] <= one["end"])
    return bool(one["start"] < other["end"] and other["start"] < one["end"])


def _place(kind: str) -> int:
    """Return the index of the operation of an error type."""
    operation = kind.partition(":")[0]
    return OPERATIONS.index(operation) if operation in OPERATIONS[:3] else 1


def typed_errant(annotator: str, benchmark: Benchmark) -> Errant:
    """Return ERRANT with types; it extracts the references' edits again if they have other types."""
    gold = (
        edit.type
        for _, references in benchmark.by_references()
        for row in references or ()
        for reference in row
        for edit in reference.edits or ()
    )
    return Errant(annotator=annotator, types=True, reannotate=bool(foreign_types(gold)))


def compare_edits(errant: Errant, annotated: Annotated, runtime: Runtime) -> list[Statistics]:
    """Return ERRANT's statistics of every system; existing edits are used if their types are ERRANT's.

    Args:
        errant: ERRANT with types.
        annotated: outputs and references with their edits.
        runtime: how to run.
    """
    if errant.reannotate:
        return benchmark_statistics(errant, annotated.benchmark, runtime)
    compared: dict[str, Statistics] = {}
    for systems, references in annotated.benchmark.by_references():
        assert references is not None
        for system in systems:
            compared[system] = errant.compare(
                annotated.benchmark.sources, annotated.edits[system], references
            )
    return [compared[system] for system in annotated.benchmark.systems]
