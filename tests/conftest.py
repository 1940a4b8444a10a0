from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def mirror() -> Path:
    """Return the root of the dataset mirror; the test is skipped where there is none."""
    root = os.environ.get("LEARNEDGEC_MIRROR")
    if not root or not Path(root).is_dir():
        pytest.skip("LEARNEDGEC_MIRROR names no folder")
    return Path(root)
