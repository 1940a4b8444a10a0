from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from embedded import Sample, read_sample

from learnedgec.catalog import files


@pytest.fixture
def mirror() -> Path:
    """Return the root of the dataset mirror; the test is skipped where there is none."""
    root = os.environ.get("LEARNEDGEC_MIRROR")
    if not root or not Path(root).is_dir():
        pytest.skip("LEARNEDGEC_MIRROR names no folder")
    return Path(root)


@pytest.fixture(scope="session")
def sample() -> Sample:
    return read_sample()


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a two-layer BERT with random weights."""
    import tiny

    return tiny.save_encoder(tmp_path_factory.mktemp("models") / "encoder")


@pytest.fixture(scope="session")
def tiny_regressor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a two-layer BERT classifier of one label with random weights."""
    import tiny

    return tiny.save_regressor(tmp_path_factory.mktemp("models") / "regressor")


@pytest.fixture(scope="session")
def tiny_evaluator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of an evaluator package with SOME's heads and random weights."""
    import tiny

    return tiny.save_evaluator(tmp_path_factory.mktemp("evaluators") / "tiny")


@pytest.fixture(scope="session")
def tiny_preference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of an evaluator package with the head `preference` and random weights."""
    import tiny

    from learnedgec.models.evaluator import Head

    folder = tmp_path_factory.mktemp("evaluators") / "preference"
    return tiny.save_evaluator(folder, heads={"preference": Head("pair")})


@pytest.fixture(scope="session")
def tiny_sequence_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a small BART with random weights."""
    import tiny

    return tiny.save_sequence_model(tmp_path_factory.mktemp("models") / "sequence")


@pytest.fixture(scope="session")
def tiny_causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a two-layer GPT-2 with random weights."""
    import tiny_causal

    return tiny_causal.save_causal(tmp_path_factory.mktemp("models") / "causal")


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
