"""Sentences with corrections or rewrites: sources and references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from learnedgec.data.catalog.bea19 import BEA19_PARTS, of_part
from learnedgec.data.catalog.files import dataset_file
from learnedgec.data.catalog.registry import Kind, dataset
from learnedgec.data.catalog.sample import sample_folder
from learnedgec.data.catalog.swedish import read_swedish
from learnedgec.data.m2 import read_m2
from learnedgec.data.references import References
from learnedgec.data.text import check_lengths, read_lines
from learnedgec.runtime.writing import PathLike

__all__ = ["PARALLEL", "Parallel", "load_parallel"]


@dataclass(frozen=True, slots=True)
class Parallel:
    """N sources and their references, with gold edits where the dataset has them."""

    sources: tuple[str, ...]
    references: References

    def __post_init__(self) -> None:
        check_lengths(("sources", self.sources), ("references", self.references))


def _joined(parts: Sequence[Parallel]) -> Parallel:
    return Parallel(
        tuple(source for part in parts for source in part.sources),
        References(tuple(row for part in parts for row in part.references)),
    )


PARALLEL: Kind[Parallel] = Kind("parallel", "parallel dataset", join=_joined)


def load_parallel(name: str) -> Parallel:
    """Return the sources and references of a catalog dataset.

    Args:
        name: one of

            - `conll14`: 1,312 sentences with the gold edits of two annotators (one for 224 of them);
            - `cleme`: the same sentences with the edits of one or two annotators as ERRANT extracts and types
              them, from CLEME's demonstration;
            - `reassess`: the same sentences with eight rewrites: annotators 0 and 1 are the experts'
              fluency rewrites A and B, 2 and 3 their minimal ones, 4 to 7 the crowd's likewise;
            - `jfleg:dev`, `jfleg:test`: 754 and 747 sentences with four fluency rewrites;
            - `gmeg:fce`, `gmeg:wiki`: 968 and 992 sentences with four references;
            - `wiki-split:tune`, `wiki-split:validation`, `wiki-split:test`: 5,000 long sentences, each
              with the same content in two shorter ones, joined by a space;
            - `pillars`, or one of `pillars:train`, `pillars:dev`, `pillars:test`: the 4,384 sentences of
              BEA-19 dev with their gold edits, and its parts (`learnedgec.data.catalog.bea19`);
            - `jelv`, likewise: the same sentences with 1 to 35 references, four on average, of which one is
              the gold one in all but two sentences;
            - `peet:gecpd`, `peet:gector`: a system's corrections of 4,477 sentences of BEA-19 test as
              sources, and an editor's corrections of these as references;
            - `swedish`: 192 Swedish learner sentences; annotator 0 is the learner corpus's reference, 1 to 5
              are the post-edits of the five systems' outputs, in alphabetical order of the systems;
            - `sample`: the embedded sample with the gold edits of two annotators.

            `jfleg`, `gmeg`, `peet` and `wiki-split` without a part load all their parts in turn.

    Raises:
        UnknownNameError, DataError, PluginError: as for `Kind.load`.
    """
    return PARALLEL.load(name)


def _annotated(source: PathLike, gold: PathLike) -> Parallel:
    """Read a source file and its gold edits."""
    sources = read_lines(source)
    return Parallel(tuple(sources), References.from_m2(gold, sources))


@PARALLEL.reader("conll14")
def _conll14() -> Parallel:
    return _annotated(
        dataset_file("conll14", "data/source"), dataset_file("conll14", "data/reference.m2")
    )


@PARALLEL.reader("cleme")
def _cleme() -> Parallel:
    blocks = read_m2(dataset_file("cleme", "demo/examples/conll14.errant"))
    return Parallel(tuple(block.source for block in blocks), References.from_annotated(blocks))


@PARALLEL.reader("sample")
def _sample() -> Parallel:
    return _annotated(sample_folder() / "source.txt", sample_folder() / "gold.m2")


@PARALLEL.reader("reassess")
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


@PARALLEL.reader("jfleg", ("dev", "test"))
def _jfleg(part: str) -> Parallel:
    return _text_files("jfleg", f"{part}/{part}.src", f"{part}/{part}.ref")


@PARALLEL.reader("gmeg", ("fce", "wiki"))
def _gmeg(part: str) -> Parallel:
    return _text_files("gmeg", f"data/dev/{part}/source", f"data/dev/{part}/ref")


@PARALLEL.reader("wiki-split", ("tune", "validation", "test"))
def _wiki_split(part: str) -> Parallel:
    """Read `long sentence TAB first half <::::> second half`."""
    rows = [line.split("\t") for line in read_lines(dataset_file("wiki-split", f"{part}.tsv"))]
    return Parallel(
        tuple(source for source, _ in rows),
        References.from_texts([target.replace(" <::::> ", " ") for _, target in rows]),
    )


@PARALLEL.reader("peet", ("gecpd", "gector"))
def _peet(part: str) -> Parallel:
    outputs, edited = (
        read_lines(dataset_file("peet", f"Dataset/BEA19/{part}_{what}.txt"))
        for what in ("OP", "EC")
    )
    return Parallel(tuple(outputs), References.from_texts(edited))


@PARALLEL.reader("swedish")
def _swedish() -> Parallel:
    sentences = read_swedish()
    rows = [
        (sentence.reference, *(output.post_edit for output in sentence.outputs.values()))
        for sentence in sentences
    ]
    return Parallel(tuple(sentence.source for sentence in sentences), References.from_rows(rows))


def _bea19(part: str, gold: PathLike) -> Parallel:
    """Read a part of BEA-19 dev from an M2 file of all of it."""
    blocks = of_part(read_m2(gold), part)
    return Parallel(tuple(block.source for block in blocks), References.from_annotated(blocks))


@PARALLEL.reader("pillars", BEA19_PARTS)
def _pillars(part: str) -> Parallel:
    return _bea19(part, dataset_file("pillars", "data/evaluation_sets/bea-dev.m2"))


@PARALLEL.reader("jelv", BEA19_PARTS)
def _jelv(part: str) -> Parallel:
    return _bea19(part, dataset_file("jelv", "data/train/BEA-dev-expanded.m2"))
