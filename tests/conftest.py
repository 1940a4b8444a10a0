from __future__ import annotations

import os
from pathlib import Path

import pytest
from embedded import Sample, read_sample


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

    from learnedgec.evaluator import Head

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
