"""Pretrained models and trained evaluators: loading, batches, inference, packages.

The released evaluators are listed here: their names, sizes and licences, and from where they are fetched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from learnedgec.data.catalog.registry import Dataset

RELEASED = "open-mpnet"
"""The evaluator that metrics without brackets read; it is part of the installation."""
RATED = "joint-mpnet-3"
"""The evaluator that `some` reads without brackets: its heads learned from human ratings."""


class Release(NamedTuple):
    """A released evaluator.

    Attributes:
        sha256: of its manifest, which has the digests of its files.
        commit: one in which the repository has these files; empty if they are part of every installation.
        megabytes: its size.
        licence: its licence.
        products: whether the licence allows commercial use.
    """

    sha256: str
    commit: str
    megabytes: int
    licence: str
    products: bool

    def __str__(self) -> str:
        return f"{self.megabytes} MB, for {'any use' if self.products else 'research only'}"


# Every evaluator in the repository.
RELEASES = {
    RATED: Release(
        "2b61a26f74e6367568b76a72c7532bb5889f0a53e0580ead28f4a28f15741a00",
        "a01857a1c6bf13a38f5831dbd81b1dd9e596798d",
        46,
        "CC-BY-NC-SA-4.0 AND LicenseRef-jelv AND LicenseRef-none-stated AND LicenseRef-pillars AND "
        "LicenseRef-robustgec AND MIT",
        products=False,
    ),
    RELEASED: Release(
        "d401f053a2384a4e8c567a268c13b0bbacbfaec8aae618e6c3a47acf6a75ce75",
        "",
        57,
        "Apache-2.0 AND CC-BY-SA-4.0 AND LicenseRef-robustgec AND MIT",
        products=False,
    ),
}


def release_files(name: str) -> Dataset:
    """Return where the files of a released evaluator come from."""
    from learnedgec.data.catalog.registry import Dataset

    return Dataset(name, "", "", "learnedgec/learnedgec", RELEASES[name].commit)
