"""Write the hashes of the text that learnedgec/data/catalog/leakage.py keeps out of training.

Needs the catalog's datasets (LEARNEDGEC_MIRROR or the network): python scripts/leakage_hashes.py [RESERVED]

`conll14.hashes` is made of CoNLL-2014's text, `reserved.hashes` of a file of hashes of reserved sentences,
less those of GMEG dev: that is the development set, and its sources are left out of `fce` by name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from learnedgec.data.catalog.files import dataset_file
from learnedgec.data.catalog.leakage import HASHES, RESERVED_HASHES, fingerprint, hashes_of
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.catalog.registry import dataset
from learnedgec.data.text import read_lines

FOLDER = Path(__file__).parents[1] / "learnedgec" / "data" / "catalog"


def forbidden_sentences() -> Iterator[str]:
    """Yield every sentence of CoNLL-2014's sources, references and rewrites."""
    for name in ("data/source", "data/reference/ref0", "data/reference/ref1"):
        yield from read_lines(dataset_file("conll14", name))
    for name in dataset("reassess").files:
        yield from read_lines(dataset_file("reassess", name))
    for name in ("REF-F", "REF-M"):
        yield from read_lines(dataset_file("seeda", f"outputs/all/{name}.txt"))
    for name in dataset("attack").files:
        if "/conll14-" in name:
            yield from read_lines(dataset_file("attack", name))
    for line in read_lines(dataset_file("robustgec", "benchmark/conll14/para.txt")):
        # O-S, O-T, A1-S, …: a label and the sentence.
        yield line.partition(" ")[2]


def development_sentences() -> Iterator[str]:
    """Yield every source and reference of GMEG dev."""
    data = load_parallel("gmeg")
    yield from data.sources
    yield from (reference.text for row in data.references for reference in row)


def write_hashes(name: str, hashes: Iterable[bytes | None]) -> None:
    distinct = sorted(value for value in set(hashes) if value is not None)
    (FOLDER / name).write_bytes(b"".join(distinct))
    print(f"{name}: {len(distinct)} sentences")


def main() -> None:
    write_hashes(HASHES, map(fingerprint, forbidden_sentences()))
    if len(sys.argv) > 1:
        reserved = hashes_of(Path(sys.argv[1]).read_bytes())
        write_hashes(RESERVED_HASHES, reserved - set(map(fingerprint, development_sentences())))


if __name__ == "__main__":
    main()
