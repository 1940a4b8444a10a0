"""Write the hashes of CoNLL-2014 text that learnedgec/data/catalog/leakage.py refuses to train on.

Needs the catalog's datasets (LEARNEDGEC_MIRROR or the network): python scripts/leakage_hashes.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from learnedgec.data.catalog.files import dataset_file
from learnedgec.data.catalog.leakage import HASHES, fingerprint
from learnedgec.data.catalog.registry import dataset
from learnedgec.data.text import read_lines

TARGET = Path(__file__).parents[1] / "learnedgec" / "data" / "catalog" / HASHES


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


def main() -> None:
    hashes = {fingerprint(sentence) for sentence in forbidden_sentences()} - {None}
    TARGET.write_bytes(b"".join(sorted(value for value in hashes if value is not None)))
    print(f"{TARGET.name}: {len(hashes)} sentences")


if __name__ == "__main__":
    main()
