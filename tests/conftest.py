from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from learnedgec.references import References
from learnedgec.text import read_lines

SAMPLE_FOLDER = Path(__file__).parent.parent / "data" / "sample"


@pytest.fixture
def mirror() -> Path:
    """Return the root of the dataset mirror; the test is skipped where there is none."""
    root = os.environ.get("LEARNEDGEC_MIRROR")
    if not root or not Path(root).is_dir():
        pytest.skip("LEARNEDGEC_MIRROR names no folder")
    return Path(root)


@dataclass(frozen=True)
class Sample:
    """The embedded sample, read."""

    folder: Path
    sources: Sequence[str]
    systems: dict[str, list[str]]
    references: References


@pytest.fixture(scope="session")
def sample() -> Sample:
    sources = read_lines(SAMPLE_FOLDER / "source.txt")
    return Sample(
        SAMPLE_FOLDER,
        sources,
        {path.stem: read_lines(path) for path in sorted((SAMPLE_FOLDER / "systems").glob("*.txt"))},
        References.from_m2(SAMPLE_FOLDER / "gold.m2", sources),
    )


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a two-layer BERT with random weights."""
    import tiny

    return tiny.save_encoder(tmp_path_factory.mktemp("models") / "encoder")


@pytest.fixture(scope="session")
def tiny_evaluator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of an evaluator package with SOME's heads and random weights."""
    import tiny

    return tiny.save_evaluator(tmp_path_factory.mktemp("evaluators") / "tiny")


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
