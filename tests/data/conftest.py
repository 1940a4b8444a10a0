from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from learnedgec.catalog import files


@pytest.fixture
def put_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, dict[str, str]], None]:
    """Return a function that replaces a catalog dataset by small files in a mirror of its own."""
    root = tmp_path / "mirror"
    monkeypatch.setenv(files.MIRROR_VARIABLE, str(root))
    table = dict(files.DATASETS)
    monkeypatch.setattr(files, "DATASETS", table)

    def put(name: str, contents: dict[str, str]) -> None:
        found = {}
        for path, text in contents.items():
            content = text.encode()
            place = root / "owner" / name / "commit" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
            found[path] = files.File(path, len(content), hashlib.sha256(content).hexdigest())
        table[name] = files.Dataset(name, "small", "none", f"owner/{name}", "commit", found)

    return put
