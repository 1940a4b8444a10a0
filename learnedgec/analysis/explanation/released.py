"""References included in learnedgec, for metrics of the released evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from learnedgec.analysis.explanation.reference import PreferenceBin, ScoreReference
from learnedgec.data.text import read_json, write_json
from learnedgec.evaluators.packages import package_digest
from learnedgec.metrics.base import Metric
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.writing import PathLike

__all__ = ["evaluators_of", "find_reference", "read_references", "write_references"]


def find_reference(metric: Metric) -> ScoreReference | None:
    """Return the reference of exactly this metric, with exactly these evaluators, if there is one.

    Example:
        >>> from learnedgec import load_metric
        >>> find_reference(load_metric("gleu")) is None
        True
    """
    for reference in _released():
        same = load_metric(reference.metric) == metric
        if same and dict(reference.evaluators) == evaluators_of(metric):
            return reference
    return None


def evaluators_of(metric: Metric) -> dict[str, str]:
    """Return evaluator -> digest of its package (`package_digest`): configuration, weights and tokenizer."""
    return {name: package_digest(name) for name in metric.evaluators()}


def read_references(path: PathLike) -> tuple[ScoreReference, ...]:
    """Read references that `write_references` wrote."""
    return tuple(_from_json(each) for each in read_json(path))


def write_references(path: PathLike, references: Sequence[ScoreReference]) -> None:
    """Write references, with six digits."""
    write_json(path, [_to_json(asdict(reference)) for reference in references])


@cache
def _released() -> tuple[ScoreReference, ...]:
    """Read the references included in learnedgec."""
    place = files("learnedgec.analysis.explanation") / "released.json"
    return read_references(str(place)) if place.is_file() else ()


def _from_json(record: Mapping[str, Any]) -> ScoreReference:
    return ScoreReference(
        **{
            **record,
            **{
                name: np.array(record[name], dtype=np.float64)
                for name in ("quantiles", "gains", "probabilities")
            },
            "bins": tuple(PreferenceBin(**each) for each in record["bins"]),
        }
    )


def _to_json(value: Any) -> Any:
    """Return a value that JSON can hold, numbers with six digits."""
    if isinstance(value, Mapping):
        return {key: _to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_to_json(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
