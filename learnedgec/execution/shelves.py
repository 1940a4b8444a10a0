"""Where trained evaluators, annotators and tuned metrics are looked up by name."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = [
    "shelves",
]


def shelves() -> list[Path]:
    """Return the folders in which evaluators and tuned metrics are looked up by name, in order."""
    here = Path(__file__).parents[1]
    own = os.environ.get("LEARNEDGEC_EVALUATORS")
    return [
        *([Path(own)] if own else []),
        Path("checkpoints"),
        here.parent / "checkpoints",
        here / "checkpoints",
    ]
