"""Tables of robustness: of systems, of metrics' preferences, of attacks, and of sets of cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any

from learnedgec.data.catalog.cases import Case
from learnedgec.robustness.cases import TOTAL, case_statistics
from learnedgec.robustness.metrics import AttackResult, PreferenceRobustness
from learnedgec.robustness.systems import SystemRobustness
from learnedgec.table import Column, For, Row, Table, bounded

_SIGNATURE = Column("signature", audience=For.DATA)
_COUNT = Column("count", "n")

_OF_VARIANTS = (Column("dimension", "by"), Column("group", "variants"), _COUNT)


def table_of_systems(results: Sequence[SystemRobustness], *, variants: bool = False) -> Table:
    """Return a row for each result, or for each group of its variants.

    Args:
        results: results of `evaluate_systems`.
        variants: whether the rows are groups of variants.
    """
    rules = [("official", "P-CRS official"), ("edits", "P-CRS edits")]
    if variants:
        columns = [
            *map(Column, ("cases", "system", "metric")),
            *_OF_VARIANTS,
            *chain.from_iterable(bounded(f"p_crs_{rule}", heading) for rule, heading in rules),
            Column("f", "F"),
            Column("original_f", "original F"),
        ]
    else:
        columns = [
            Column("cases"),
            _COUNT,
            Column("variants", audience=For.DATA),
            Column("system"),
            Column("metric"),
            *chain.from_iterable(
                bounded(f"{part}_{name}", f"{part} {name[0].upper()}")
                for part in ("original", "upper", "lower")
                for name in ("precision", "recall", "f")
            ),
            *bounded("delta", "Δ"),
            *bounded("crs_official", "CRS official"),
            *bounded("crs_edits", "CRS edits"),
            *chain.from_iterable(bounded(f"p_crs_{rule}", heading) for rule, heading in rules),
        ]
    caption = "Robustness of systems' corrections"
    groups = ("cases", "metric") if variants else ("cases", "count", "metric")
    return Table([*columns, _SIGNATURE], _rows(results, variants), caption, groups=groups)


def table_of_preferences(
    results: Sequence[PreferenceRobustness], *, variants: bool = False
) -> Table:
    """Return a row for each result, or for each group of its variants.

    Args:
        results: results of `evaluate_preferences`.
        variants: whether the rows are groups of variants.
    """
    if variants:
        columns = [
            *map(Column, ("cases", "metric")),
            *_OF_VARIANTS,
            *bounded("p_crs", "P-CRS"),
            *bounded("accuracy"),
        ]
    else:
        columns = [
            Column("cases"),
            _COUNT,
            Column("left_out", "left out"),
            Column("metric"),
            *bounded("accuracy"),
            *bounded("ties"),
            *bounded("always", "always right"),
            *bounded("crs", "CRS"),
            *bounded("p_crs", "P-CRS"),
            *bounded("margin"),
            *bounded("spread"),
            *bounded("within"),
        ]
    caption = "Robustness of metrics' preference for the correction"
    groups = ("cases", "metric") if variants else ("cases", "count", "left_out")
    return Table([*columns, _SIGNATURE], _rows(results, variants), caption, groups=groups)


def table_of_attacks(results: Sequence[AttackResult]) -> Table:
    """Return a row for each result of `evaluate_attacks`."""
    columns = [
        Column("metric"),
        Column("attack"),
        Column("honest"),
        _COUNT,
        *bounded("preferred", "attack preferred"),
        *bounded("ties"),
        Column("attack_score", "attack score"),
        Column("honest_score", "honest score"),
        Column("rank"),
        _SIGNATURE,
    ]
    caption = "How often metrics prefer attacks to honest systems' outputs"
    return Table(columns, _rows(results, variants=False), caption, groups=("metric",))


def table_of_cases(parts: Mapping[str, Sequence[Case]]) -> Table:
    """Return a row for each set of cases and statistic, and for all sets together.

    Readers see a column for each set, as in RobustGEC's tables.

    Args:
        parts: name of a set -> its cases.
    """
    if len(parts) > 1:
        parts = {**parts, TOTAL: [*chain.from_iterable(parts.values())]}
    rows = [
        {"cases": name, "statistic": statistic, "value": value}
        for name, cases in parts.items()
        for statistic, value in case_statistics(cases).items()
    ]
    columns = [
        Column("cases", audience=For.DATA),
        Column("statistic"),
        Column("value", lambda row: str(row["cases"])),
    ]
    return Table(columns, rows)


def _rows(results: Sequence[Any], variants: bool) -> list[Row]:
    """Return a row for each result, or for each of its groups, in which values have keys of their own."""
    rows: list[Row] = []
    for result in results:
        fields = asdict(result)
        groups = fields.pop("groups", ())
        for group in groups if variants else [{}]:
            cells = {
                "p_crs" if name == "consistent" else name: value for name, value in group.items()
            }
            rows.append(_flat(fields | cells))
    return rows


def _flat(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a nested mapping as a row.

    Example:
        >>> _flat({"crs": {"edits": {"value": 0.5, "low": 0.25}}})
        {'crs_edits': 0.5, 'crs_edits_low': 0.25}
    """
    cells: dict[str, Any] = {}
    for name, value in fields.items():
        inner = _flat(value) if isinstance(value, Mapping) else {"value": value}
        cells |= {name if key == "value" else f"{name}_{key}": item for key, item in inner.items()}
    return cells
