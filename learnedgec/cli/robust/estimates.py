"""Tables of numbers with intervals: one cell for readers, three columns for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jsonargparse import Namespace

from learnedgec.cli.output import emit, remark
from learnedgec.cli.table import Layout
from learnedgec.stats.bootstrap import Estimate

__all__ = ["emit_estimates", "resampling", "tell_plots"]


def resampling(options: Namespace) -> dict[str, Any]:
    """Return the options of `add_resampling_arguments` under the names that the library gives them."""
    return {"resamples": options.resamples, "level": options.confidence, "seed": options.seed}


def emit_estimates(
    options: Namespace,
    rows: Sequence[Mapping[str, Any]],
    results: Sequence[Any],
    *,
    caption: str,
    layout: Layout,
) -> None:
    """Print rows whose values may be estimates; JSON holds the results, dataclasses with a signature."""
    emit(
        [_flat(row) for row in rows],
        options,
        payload={"results": [asdict(result) for result in results]},
        caption=f"{caption}, with {100 * options.confidence:g}% intervals.",
        table_rows=[
            {key: _cell(each) if isinstance(each, Estimate) else each for key, each in row.items()}
            for row in rows
        ],
        layout=layout,
        notes=[f"[{100 * options.confidence:g} % interval]"],
        signatures=[result.signature for result in results],
    )


def tell_plots(paths: Iterable[Path], options: Namespace) -> None:
    """Say which figures were written."""
    for path in paths:
        remark(f"wrote {path}", options)


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row for programs, an interval in columns of its own."""
    flat: dict[str, Any] = {}
    for key, each in row.items():
        if isinstance(each, Estimate):
            flat |= {key: each.value, f"{key} low": each.low, f"{key} high": each.high}
        else:
            flat[key] = each
    return flat


def _cell(estimate: Estimate) -> str:
    if estimate.value != estimate.value:
        return "–"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
