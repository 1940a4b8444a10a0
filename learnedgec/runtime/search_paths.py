"""Folders in which trained evaluators, annotators and tuned metrics are looked up."""

from __future__ import annotations

import os
from pathlib import Path


def local_path(name: str) -> Path | None:
    """Return the existing file or folder at a path, with `~` expanded; `None` if there is none.

    A name that is too long for the system, or holds NUL or a lone surrogate, is not a path.
    """
    try:
        path = Path(os.path.expanduser(name))  # noqa: PTH111 - Path's own fails at an unknown ~user
        path.stat()
    except (OSError, ValueError):
        return None
    return path if name else None


def included_folder(installed: str, checkout: str) -> Path:
    """Return a folder of learnedgec, which is inside the installed package or beside it in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / installed
    return inside if inside.is_dir() else package.parent / checkout


def lookup_folders() -> list[Path]:
    """Return the folders in which evaluators, annotators and tuned metrics are looked up, in order."""
    here = Path(__file__).parents[1]
    first = os.environ.get("LEARNEDGEC_EVALUATORS")
    return [
        *([Path(first)] if first else []),
        Path("checkpoints"),
        here.parent / "checkpoints",
        here / "checkpoints",
    ]
