"""Sentences with corrections or rewrites: sources and references."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from learnedgec.catalog.files import dataset, dataset_file
from learnedgec.errors import UnknownNameError
from learnedgec.formats.references import References
from learnedgec.formats.text import check_lengths, read_lines

__all__ = ["PARALLEL", "Parallel", "load_parallel"]


@dataclass(frozen=True, slots=True)
class Parallel:
    """N sources and their references, with gold edits where the dataset has them."""

    sources: tuple[str, ...]
    references: References

    def __post_init__(self) -> None:
        check_lengths(("sources", self.sources), ("references", self.references))


def load_parallel(name: str) -> Parallel:
    """Return the sources and references of a catalog dataset.

    Args:
        name: one of

            - `conll14`: 1,312 sentences with the gold edits of two annotators (one for 224 of them);
            - `reassess`: the same sentences with eight rewrites: annotators 0 and 1 are the experts'
              fluency rewrites A and B, 2 and 3 their minimal ones, 4 to 7 the crowd's likewise;
            - `jfleg:dev`, `jfleg:test`: 754 and 747 sentences with four fluency rewrites;
            - `gmeg:fce`, `gmeg:wiki`: 968 and 992 sentences with four references;
            - `wiki-split:tune`, `wiki-split:validation`, `wiki-split:test`: 5,000 long sentences, each
              with the same content in two shorter ones, joined by a space.

    Raises:
        UnknownNameError: no such dataset.
        DataError: the dataset cannot be had.
    """
    if name not in PARALLEL:
        raise UnknownNameError("parallel dataset", name, PARALLEL)
    return PARALLEL[name]()


def _conll14() -> Parallel:
    sources = read_lines(dataset_file("conll14", "data/source"))
    references = References.from_m2(dataset_file("conll14", "data/reference.m2"), sources)
    return Parallel(tuple(sources), references)


def _reassess() -> Parallel:
    # The catalog's order is alphabetical: expert before turker, fluency before minimal, A before B.
    texts = [read_lines(dataset_file("reassess", file)) for file in dataset("reassess").files]
    return Parallel(
        tuple(read_lines(dataset_file("conll14", "data/source"))), References.from_texts(*texts)
    )


def _text_files(name: str, source: str, references: str) -> Parallel:
    """Read a source file and its references 0 to 3."""
    texts = [read_lines(dataset_file(name, f"{references}{number}")) for number in range(4)]
    return Parallel(tuple(read_lines(dataset_file(name, source))), References.from_texts(*texts))


def _wiki_split(part: str) -> Parallel:
    """Read `long sentence TAB first half <::::> second half`."""
    rows = [line.split("\t") for line in read_lines(dataset_file("wiki-split", f"{part}.tsv"))]
    return Parallel(
        tuple(source for source, _ in rows),
        References.from_texts([target.replace(" <::::> ", " ") for _, target in rows]),
    )


PARALLEL: Mapping[str, Callable[[], Parallel]] = {
    "conll14": _conll14,
    "reassess": _reassess,
    **{
        f"jfleg:{p}": partial(_text_files, "jfleg", f"{p}/{p}.src", f"{p}/{p}.ref")
        for p in ("dev", "test")
    },
    **{
        f"gmeg:{d}": partial(_text_files, "gmeg", f"data/dev/{d}/source", f"data/dev/{d}/ref")
        for d in ("fce", "wiki")
    },
    **{f"wiki-split:{p}": partial(_wiki_split, p) for p in ("tune", "validation", "test")},
}
