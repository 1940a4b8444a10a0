"""The embedded sample: a small benchmark written for this project, the same in a checkout and installed."""

from __future__ import annotations

from pathlib import Path

from learnedgec.errors import DataError

__all__ = ["sample_folder"]


def sample_folder() -> Path:
    """Return the folder of the sample: `source.txt`, `gold.m2`, `systems/`, `ratings.csv`, `rankings.csv`.

    Raises:
        DataError: the installation lacks it.
    """
    package = Path(__file__).parents[2]
    # An installed package carries the sample; a checkout has it beside the package.
    places = (package / "sample", package.parent / "data" / "sample")
    for place in places:
        if (place / "source.txt").is_file():
            return place
    raise DataError(
        f"the sample is neither in {places[0]} nor in {places[1]}; install learnedgec again."
    )
