"""The sdist holds all that the wheel is built from, and all that the tests read."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")
ROOT = Path(__file__).parent.parent


def _build(kind: str, source: Path, target: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = target.iterdir()
    return built


@pytest.mark.slow
def test_a_wheel_is_built_from_the_sdist(tmp_path: Path) -> None:
    with tarfile.open(_build("sdist", ROOT, tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path / "unpacked")
    (source,) = (tmp_path / "unpacked").iterdir()
    for name in ("Makefile", "constraints.txt", "docs/index.md", "tests/test_packaging.py"):
        assert (source / name).is_file(), name
    assert not (source / "checkpoints/joint-mpnet-3").exists()  # for research only
    with zipfile.ZipFile(_build("wheel", source, tmp_path / "wheel")) as wheel:
        names = wheel.namelist()
    assert "learnedgec/checkpoints/score_references.json" in names
    assert "learnedgec/checkpoints/open-mpnet/model.safetensors" in names
    assert any(name.endswith("licenses/checkpoints/LICENSE-MIT.txt") for name in names)
