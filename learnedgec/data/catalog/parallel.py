"""Sentences with corrections or rewrites: as sources and references, or correction by correction."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

from learnedgec.data.catalog.cases import CASES, read_labelled
from learnedgec.data.catalog.files import dataset_file, sample_folder
from learnedgec.data.catalog.leakage import BEA19_PARTS, fingerprint, is_reserved, of_part
from learnedgec.data.catalog.ratings import read_swedish
from learnedgec.data.catalog.registry import Kind, dataset
from learnedgec.data.m2 import AnnotatedSentence, Edit, parse_m2, read_m2, without_overlaps
from learnedgec.data.records import check_sentence_record, has_objects, read_records, suffix
from learnedgec.data.references import References
from learnedgec.data.text import check_lengths, read_jsonl, read_lines, read_text
from learnedgec.errors import FormatError
from learnedgec.runtime.files import PathLike


@dataclass(frozen=True, slots=True)
class Parallel:
    """N sources and their references, with gold edits where the dataset has them."""

    sources: tuple[str, ...]
    references: References

    def __post_init__(self) -> None:
        check_lengths(("sources", self.sources), ("references", self.references))

    @classmethod
    def from_annotated(cls, blocks: Sequence[AnnotatedSentence]) -> Parallel:
        """Build from parsed M2 blocks; see `References.from_annotated`."""
        return cls(tuple(block.source for block in blocks), References.from_annotated(blocks))


def _joined(parts: Sequence[Parallel]) -> Parallel:
    return Parallel(
        tuple(source for part in parts for source in part.sources),
        References(tuple(row for part in parts for row in part.references)),
    )


def read_parallel(path: PathLike) -> Parallel:
    """Read sentences and their references from a file.

    An `.m2` file gives the gold edits of each annotator. A `.jsonl` or `.parquet` file, or a dataset on the
    Hugging Face hub (`hf:OWNER/NAME`, see `read_records`), has `source` and `references` (texts, `null` where
    an annotator has none) in each record. Any other file has lines of a source and its references, separated
    by tabs.

    Raises:
        FormatError: a line cannot be used; the message names it.
    """
    if suffix(path) == ".m2":
        return _of_m2(path)
    rows = list(_read_objects(path) if has_objects(path) else _read_tabs(path))
    references = References.from_lists(texts for _, texts in rows)
    return Parallel(tuple(source for source, _ in rows), references)


def _read_objects(path: PathLike) -> Iterator[tuple[str, Sequence[str | None]]]:
    """Yield the source and the references of each object."""
    for place, record in read_records(path, ("source", "references")):
        check_sentence_record(record, place, ("source",))
        yield record["source"], record["references"]


def _read_tabs(path: PathLike) -> Iterator[tuple[str, Sequence[str | None]]]:
    """Yield the source and the references of each line, which tabs separate."""
    for number, line in enumerate(read_lines(path), 1):
        source, *references = line.split("\t")
        if not references:
            raise FormatError(
                f"{os.fspath(path)}:{number}: a source and its references, separated by tabs, were "
                f"expected, not {line[:60]!r}."
            )
        yield source, references


PARALLEL: Kind[Parallel] = Kind(
    "parallel",
    "parallel dataset",
    join=_joined,
    read=read_parallel,
    hint="A path to an .m2, .jsonl or .tsv file is also accepted.",
)


def load_parallel(name: str) -> Parallel:
    """Return the sources and references of a catalog dataset.

    Args:
        name: one of

            - `conll14`: 1,312 sentences with the gold edits of two annotators (one for 224 of them);
            - `cleme`: the same sentences with the edits of one or two annotators, extracted and typed by
              ERRANT, from CLEME's demonstration;
            - `reassess`: the same sentences with eight rewrites: annotators 0 and 1 are the experts'
              fluency rewrites A and B, 2 and 3 their minimal rewrites, and 4 to 7 the crowd's in this order;
            - `jfleg:dev`, `jfleg:test`: 754 and 747 sentences with four fluency rewrites;
            - `gmeg:fce`, `gmeg:wiki`: 968 and 992 sentences with four references;
            - `wiki-split:tune`, `wiki-split:validation`, `wiki-split:test`: 5,000 long sentences, each
              with the same content in two shorter ones, joined by a space;
            - `pillars`, or one of `pillars:train`, `pillars:dev`, `pillars:test`: the 4,384 sentences of
              BEA-19 dev with their gold edits, and its parts (`learnedgec.data.catalog.leakage`);
            - `jelv`, or one of the same parts: the same sentences with 1 to 35 references, four on average;
              all but two sentences have the gold reference among them;
            - `wi-locness:train`: the sentences of W&I's training set with their gold edits, without reserved
              sentences; `wi-locness:dev/train`, `wi-locness:dev/dev`, `wi-locness:dev/test`: BEA-19 dev,
              divided as in `pillars`;
            - `fce:train`, `fce:dev`: sentences of FCE's essays with gold edits, tokenised as in
              MultiGED-2023, without sentences that are reserved or in `gmeg:fce`;
            - `eracond`: 1,725 lines that learners of English wrote to a chatbot, with the gold edits of one
              or two annotators;
            - `peet:gecpd`, `peet:gector`: a system's corrections of 4,477 sentences of BEA-19 test as
              sources, and an editor's corrections of these as references;
            - `swedish`: 192 Swedish learner sentences; annotator 0 is the learner corpus's reference, 1 to 5
              are the post-edits of the five systems' outputs, in alphabetical order of the systems;
            - `sample`: the embedded sample with the gold edits of two annotators;
            - a file as for `read_parallel`.

            `jfleg`, `gmeg`, `peet` and `wiki-split` without a part load all their parts in turn.

    Raises:
        UnknownNameError, DataError, PluginError: as for `Kind.load`.
    """
    return PARALLEL.load(name)


def _of_m2(path: PathLike, part: str = "") -> Parallel:
    """Read all sentences and gold edits of an M2 file, or of a part of BEA-19 dev."""
    return Parallel.from_annotated(of_part(read_m2(path), part))


def _not_reserved(blocks: Sequence[AnnotatedSentence]) -> Parallel:
    """Return the sentences whose source and references are not reserved."""
    data = Parallel.from_annotated(blocks)
    rows = enumerate(zip(data.sources, data.references.texts(), strict=True))
    numbers = [n for n, (source, texts) in rows if not any(map(is_reserved, [source, *texts]))]
    return Parallel(tuple(data.sources[n] for n in numbers), data.references.select(numbers))


def _of_texts(dataset: str, *files: str) -> Parallel:
    """Read a dataset's file of sources and its parallel files of references."""
    sources, *references = (read_lines(dataset_file(dataset, file)) for file in files)
    return Parallel(tuple(sources), References.from_texts(*references))


@PARALLEL.reader("conll14")
def _conll14() -> Parallel:
    return _read_conll14(
        *(dataset_file("conll14", f"data/{name}") for name in ("source", "reference.m2"))
    )


# SEEDA-S, SEEDA-E and GJG15 share it.
@lru_cache(maxsize=1)
def _read_conll14(source: Path, gold: Path) -> Parallel:
    sources = read_lines(source)
    return Parallel(tuple(sources), References.from_m2(gold, sources))


@PARALLEL.reader("cleme")
def _cleme() -> Parallel:
    return _of_m2(dataset_file("cleme", "demo/examples/conll14.errant"))


@PARALLEL.reader("pillars", BEA19_PARTS)
def _pillars(part: str) -> Parallel:
    return _of_m2(dataset_file("pillars", "data/evaluation_sets/bea-dev.m2"), part)


@PARALLEL.reader("jelv", BEA19_PARTS)
def _jelv(part: str) -> Parallel:
    return _of_m2(dataset_file("jelv", "data/train/BEA-dev-expanded.m2"), part)


@PARALLEL.reader("fce", ("train", "dev"))
def _fce(part: str) -> Parallel:
    """Read sentences that are neither reserved nor sources of GMEG, which were drawn from FCE."""
    rated = load_parallel("gmeg:fce").sources
    left_out = {*rated, *filter(None, map(fingerprint, rated))}
    blocks = read_fce(part)
    return _not_reserved(
        [b for b in blocks if left_out.isdisjoint((b.source, fingerprint(b.source)))]
    )


@PARALLEL.reader("wi-locness", ("train", *(f"dev/{part}" for part in BEA19_PARTS[1:])))
def _wi_locness(part: str) -> Parallel:
    """Read levels A, B and C of train without reserved sentences, or a part of BEA-19 dev."""
    folder = "data/wi+locness/m2"
    if part != "train":
        file = dataset_file("wi-locness", f"{folder}/ABCN.dev.gold.bea19.m2")
        return _of_m2(file, part.removeprefix("dev/"))
    files = [f"{folder}/{level}.train.gold.bea19.m2" for level in "ABC"]
    blocks = [block for file in files for block in read_m2(dataset_file("wi-locness", file))]
    return _not_reserved(blocks)


@PARALLEL.reader("sample")
def _sample() -> Parallel:
    return _of_m2(sample_folder() / "gold.m2")


@PARALLEL.reader("reassess")
def _reassess() -> Parallel:
    # The catalog lists files alphabetically: expert before turker, fluency before minimal, A before B.
    rewrites = [read_lines(dataset_file("reassess", file)) for file in dataset("reassess").files]
    sources = read_lines(dataset_file("conll14", "data/source"))
    return Parallel(tuple(sources), References.from_texts(*rewrites))


_FOUR_REFERENCES = ("ref0", "ref1", "ref2", "ref3")


@PARALLEL.reader("jfleg", ("dev", "test"))
def _jfleg(part: str) -> Parallel:
    return _of_texts("jfleg", *(f"{part}/{part}.{name}" for name in ("src", *_FOUR_REFERENCES)))


@PARALLEL.reader("gmeg", ("fce", "wiki"))
def _gmeg(part: str) -> Parallel:
    return _of_texts("gmeg", *(f"data/dev/{part}/{name}" for name in ("source", *_FOUR_REFERENCES)))


@PARALLEL.reader("peet", ("gecpd", "gector"))
def _peet(part: str) -> Parallel:
    return _of_texts("peet", *(f"Dataset/BEA19/{part}_{name}.txt" for name in ("OP", "EC")))


@PARALLEL.reader("wiki-split", ("tune", "validation", "test"))
def _wiki_split(part: str) -> Parallel:
    """Read `long sentence TAB first half <::::> second half`."""
    rows = [line.split("\t") for line in read_lines(dataset_file("wiki-split", f"{part}.tsv"))]
    return Parallel(
        tuple(source for source, _ in rows),
        References.from_texts([target.replace(" <::::> ", " ") for _, target in rows]),
    )


@PARALLEL.reader("eracond")
def _eracond() -> Parallel:
    """Read the dialogues in the order of their numbers."""
    files = [file for file in dataset("eracond").files if file.endswith(".m2")]
    files.sort(key=lambda file: [int(number) for number in re.findall(r"\d+", file)])
    text = "\n".join(read_text(dataset_file("eracond", file)) for file in files)
    return Parallel.from_annotated(parse_m2(_without_spaces(text.split("\n")), "eracond"))


def _without_spaces(lines: Sequence[str]) -> list[str]:
    """Return the lines of an M2 file without the tokens that are spaces and without the edits of these."""
    tokenised: list[str] = []
    places: list[int] = []
    for line in lines:
        if line.startswith("S "):
            tokens = re.findall(r"\S+|(?<= ) +(?= )", line[2:])
            places = list(accumulate((not token.isspace() for token in tokens), initial=0))
            line = f"S {' '.join(line[2:].split())}"
        elif line.startswith("A ") and not line.startswith("A -1"):
            span, kind, *rest = line[2:].split("|||")
            start, end = (places[int(place)] for place in span.split())
            if kind == "U:SPACE":
                continue
            line = "|||".join([f"A {start} {end}", kind, *rest])
        tokenised.append(line)
    return tokenised


@PARALLEL.reader("swedish")
def _swedish() -> Parallel:
    sentences = list(zip(*read_swedish().values(), strict=True))
    rows = [(row[0].reference, *(output.post_edit for output in row)) for row in sentences]
    sources = tuple(row[0].rating.source for row in sentences)
    return Parallel(sources, References.from_rows(rows))


# -- the essays of FCE as sentences with gold edits ----------------------------------------------

# MultiGED normalises these characters one by one.
_PLAIN = str.maketrans("’‘´`“”–—", "''''\"\"--")
_TOKEN = re.compile(r"\w+(?=n't\b)|n't\b|'(?:s|re|ve|ll|d|m)\b|\w+(?:-\w+)*|[^\w\s]")


def read_fce(part: str) -> Iterator[AnnotatedSentence]:
    """Yield the sentences of FCE's essays with their edits.

    Sentences and tokens are from MultiGED-2023, which has the essays in the same order. Edits of
    characters become edits of whole tokens. Edits without a correction and edits across sentences are left
    out.

    Args:
        part: `train` or `dev`.
    """
    text, changes = "", []
    for essay in read_jsonl(dataset_file("fce", f"data/fce/json/fce-{part}.json")):
        for _, character_edits in essay["edits"]:
            changes += [
                (start + len(text), end + len(text), correction)
                for start, end, correction, *_ in character_edits
                if correction is not None
            ]
        text += essay["text"] + "\n"
    text = text.translate(_PLAIN)
    changes.sort(reverse=True)
    place = 0
    for row in read_labelled(dataset_file("multiged", f"english/en_fce_{part}.tsv")):
        spans: list[tuple[int, int]] = []
        sentence = row.sentence.replace(r"\"", '"')
        for token in sentence.translate(_PLAIN).split(" "):
            place = text.index(token, place)
            spans.append((place, place + len(token)))
            place += len(token)
        first, last = spans[0][0], spans[-1][1]
        edits: list[Edit] = []
        while changes and changes[-1][0] <= last:
            start, end, correction = changes.pop()
            if first <= start and end <= last:
                edits.append(_of_tokens(text, spans, start, end, correction))
        yield AnnotatedSentence(sentence, {0: tuple(without_overlaps(edits))})


def _of_tokens(
    text: str, spans: list[tuple[int, int]], start: int, end: int, correction: str
) -> Edit:
    """Convert an edit of characters to one of tokens, which begin and end at these places in the text."""
    touched = [
        number
        for number, (begin, stop) in enumerate(spans)
        if (begin < end and start < stop) or begin < start == end < stop
    ]
    if not touched:
        number = sum(stop <= start for _, stop in spans)
        return Edit(number, number, " ".join(_TOKEN.findall(correction)))
    begin, stop = spans[touched[0]][0], spans[touched[-1]][1]
    new = text[begin:start] + correction.translate(_PLAIN) + text[end:stop]
    return Edit(touched[0], touched[-1] + 1, " ".join(_TOKEN.findall(new)))


# -- correction by correction --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Correction:
    """One correction of one sentence.

    Attributes:
        source: the sentence.
        target: its correction.
        edits: the gold edits from source to target, which do not overlap; `None` where only the texts are
            known.
        group: corrections of one group belong on one side of any split.
    """

    source: str
    target: str
    edits: tuple[Edit, ...] | None
    group: str


def load_corrections(name: str) -> list[Correction]:
    """Return every correction of a catalog dataset, of the embedded sample, or of a file.

    Args:
        name: one of

            - a dataset of `load_parallel` (`jfleg:dev`, `gmeg:fce`, `sample`, …): each reference of each
              source;
            - a dataset of `load_cases` (`robustgec:bea19`, …): the original and the variants of each case,
              which form one group;
            - a file as for `read_parallel`.

    Raises:
        UnknownNameError, DataError, PluginError: as for `Kind.load`.

    Example:
        >>> load_corrections("sample")[0].source == load_corrections("sample")[1].source
        True
    """
    head = name.partition(":")[0]
    if CASES.names_of(head) and not PARALLEL.names_of(head):
        return [
            Correction(pair.source, pair.target, None, case.original.source)
            for case in CASES.load(name)
            for pair in case.pairs
        ]
    data = PARALLEL.load(name)
    return [
        Correction(
            source,
            reference.text,
            None if reference.edits is None else tuple(without_overlaps(reference.edits)),
            source,
        )
        for source, row in zip(data.sources, data.references, strict=True)
        for reference in row
    ]
