"""The embedded sample, read once for all tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from learnedgec.data.references import References
from learnedgec.data.text import read_lines

SAMPLE_FOLDER = Path(__file__).parent.parent / "data" / "sample"


@dataclass(frozen=True)
class Sample:
    """Sources, the outputs of four systems by name, and references with gold edits."""

    folder: Path
    sources: Sequence[str]
    systems: dict[str, list[str]]
    references: References


def read_sample() -> Sample:
    sources = read_lines(SAMPLE_FOLDER / "source.txt")
    return Sample(
        SAMPLE_FOLDER,
        sources,
        {path.stem: read_lines(path) for path in sorted((SAMPLE_FOLDER / "systems").glob("*.txt"))},
        References.from_m2(SAMPLE_FOLDER / "gold.m2", sources),
    )
