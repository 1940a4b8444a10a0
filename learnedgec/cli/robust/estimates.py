"""Tables of numbers with intervals: one cell for readers, three columns for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from jsonargparse import Namespace

from learnedgec.cli.output import emit
from learnedgec.stats.bootstrap import Estimate

__all__ = ["emit_estimates"]


def emit_estimates(
    options: Namespace,
    rows: Sequence[Mapping[str, Any]],
    results: Sequence[Any],
    *,
    caption: str,
    groups: Sequence[str],
    metrics: Sequence[str] = (),
) -> None:
    """Print rows whose values may be estimates; JSON holds the results, dataclasses with a signature."""
    emit(
        [_flat(row) for row in rows],
        options,
        payload={"results": [asdict(result) for result in results]},
        caption=f"{caption}, with {100 * options.confidence:g}% intervals.",
        table_rows=[{key: _cell(value) for key, value in row.items()} for row in rows],
        groups=groups,
        metrics=metrics,
        notes=[f"[{100 * options.confidence:g} % interval]"],
        signatures=[result.signature for result in results],
    )


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row for programs, an interval in columns of its own."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Estimate):
            flat |= {key: value.value, f"{key} low": value.low, f"{key} high": value.high}
        else:
            flat[key] = value
    return flat


def _cell(value: Any) -> Any:
    """Return an estimate with its interval as text, another value as it is."""
    if not isinstance(value, Estimate):
        return value
    if value.value != value.value:
        return "–"
    return f"{value.value:.3f} [{value.low:.3f}, {value.high:.3f}]"
