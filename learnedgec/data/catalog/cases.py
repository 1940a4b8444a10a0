"""Plain sentences without judgements or corrections, and sentences whose wrong words are labelled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby

from learnedgec.data.catalog.files import dataset_file, sample_folder
from learnedgec.data.catalog.leakage import (
    BEA19_PARTS,
    BEA19_SOURCES,
    is_reserved,
    parts_of_sources,
)
from learnedgec.data.catalog.registry import Kind, concatenated
from learnedgec.data.records import has_objects, read_records
from learnedgec.data.text import check_sentence, read_lines, write_jsonl
from learnedgec.errors import FormatError
from learnedgec.runtime.files import PathLike


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its correction."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Case:
    """An original sentence and variants whose context alone was changed, each with its target.

    RobustGEC has five variants of each sentence; custom cases may have any number.
    """

    original: Pair
    variants: tuple[Pair, ...]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The original and then the variants: the order of a system's output for the case."""
        return (self.original, *self.variants)


def read_cases(path: PathLike) -> list[Case]:
    r"""Read cases in RobustGEC's format, or from JSON Lines.

    In RobustGEC's format, a case is a block of lines `O-S`, `O-T`, `A1-S`, `A1-T`, …, `A5-T`. Each line has a
    label, a space and a sentence. Custom blocks may have any number of variants. Blank lines are skipped.

    A file named `.jsonl` (or `.jsonl.gz`) has one object per line, with one or more variants:

        {"source": "…", "target": "…", "variants": [{"source": "…", "target": "…"}, …]}

    Raises:
        FormatError: a line has another label than the block requires, or does not hold such an object.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "para.txt"
        >>> labels = ["O", "A1", "A2", "A3", "A4", "A5"]
        >>> lines = [f"{label}-S {label} go .\n{label}-T {label} goes .\n" for label in labels]
        >>> _ = path.write_text("".join(lines))
        >>> read_cases(path)[0].variants[0]
        Pair(source='A1 go .', target='A1 goes .')
    """
    return _read_objects(path) if has_objects(path) else _read_blocks(path)


CASES: Kind[list[Case]] = Kind(
    "cases", "set of cases", join=concatenated, read=read_cases, hint="A file is also accepted."
)


def load_cases(name: str) -> list[Case]:
    """Return the cases of RobustGEC (Zhang et al. 2023) or of a part of it, of the sample, or of a file.

    Args:
        name: one of

            - `robustgec`, or one of `robustgec:conll14` (1,312 cases), `robustgec:bea19` (2,503),
              `robustgec:tem8` (1,181);
            - `robustgec:bea19/train`, `robustgec:bea19/dev` or `robustgec:bea19/test`: the cases whose
              sentences are in this part of BEA-19 dev (`learnedgec.data.catalog.leakage`);
            - `sample`: six cases, written for this project;
            - a file as for `read_cases`.

    Raises:
        UnknownNameError, DataError, PluginError: as for `Kind.load`.
    """
    return CASES.load(name)


def write_cases(path: PathLike, cases: Iterable[Case]) -> None:
    """Write cases as JSON Lines, which `read_cases` reads."""
    records = (
        {**asdict(case.original), "variants": [asdict(variant) for variant in case.variants]}
        for case in cases
    )
    write_jsonl(path, records)


def _read_blocks(path: PathLike) -> list[Case]:
    blocks: list[list[str]] = [[]]
    for number, line in enumerate(read_lines(path), 1):
        if not line:
            continue
        label, _, sentence = line.partition(" ")
        if label == "O-S" and _is_complete(blocks[-1]):
            blocks.append([])
        variant, target = divmod(len(blocks[-1]), 2)
        expected = f"{f'A{variant}' if variant else 'O'}-{'T' if target else 'S'}"
        if label != expected:
            raise FormatError(
                f"{path}:{number}: a line starting with {expected!r} was expected, not {line[:60]!r}."
            )
        blocks[-1].append(sentence)
    if not _is_complete(blocks[-1]):
        raise FormatError(f"{path}: the last block is incomplete; 'O-S', 'O-T', … were expected.")
    return [_case(block) for block in blocks]


def _is_complete(block: Sequence[str]) -> bool:
    """Return whether a block has an original and variants, each with its target."""
    return len(block) >= 4 and len(block) % 2 == 0


def _read_objects(path: PathLike) -> list[Case]:
    cases = []
    for place, record in read_records(path, ("source", "target", "variants")):
        variants = record["variants"]
        if not isinstance(variants, list) or not variants:
            raise FormatError(f"{place}: 'variants' must be a list with a variant or more.")
        if not all(isinstance(variant, dict) for variant in variants):
            raise FormatError(f"{place}: each variant must be an object with source and target.")
        sentences = [
            check_sentence(pair.get(key), place, key)
            for pair in (record, *variants)
            for key in ("source", "target")
        ]
        cases.append(_case(sentences))
    return cases


def _case(block: Sequence[str]) -> Case:
    pairs = [Pair(source, target) for source, target in zip(block[::2], block[1::2], strict=True)]
    return Case(pairs[0], tuple(pairs[1:]))


@CASES.reader(
    "robustgec", ("conll14", "bea19", *(f"bea19/{part}" for part in BEA19_PARTS[1:]), "tem8")
)
def _robustgec(part: str) -> list[Case]:
    domain, _, part = part.partition("/")
    cases = read_cases(dataset_file("robustgec", f"benchmark/{domain}/para.txt"))
    if not part:
        return cases
    parts = parts_of_sources(read_lines(dataset_file("pillars", BEA19_SOURCES)))
    return [case for case in cases if parts[case.original.source] == part]


@CASES.reader("sample")
def _sample_cases() -> list[Case]:
    return read_cases(sample_folder() / "robust" / "para.txt")


SENTENCES: Kind[list[str]] = Kind("sentences", "dataset of sentences", join=concatenated)


def load_sentences(name: str) -> list[str]:
    """Return the sentences of a catalog dataset, tokenised.

    Args:
        name: one of

            - `ud-ewt:train`, `ud-ewt:dev`, `ud-ewt:test`: web English, the treebank's words joined by
              spaces (`do n't`, `can not`);
            - `wiki-split:tune`, `wiki-split:validation`, `wiki-split:test`: long Wikipedia sentences;
            - `wiki-split:short`: the two short sentences into which each long one was split.

            Without a part, `ud-ewt` loads all its parts in turn, and `wiki-split` loads all long sentences.

    Raises:
        UnknownNameError, DataError, PluginError: as for `Kind.load`.
    """
    return SENTENCES.load(name)


_WIKI_SPLIT = ("tune", "validation", "test")


@dataclass(frozen=True, slots=True)
class TreebankWord:
    """A word of a treebank.

    Attributes:
        form: the word as it is written.
        lemma: its dictionary form.
        tag: its universal part of speech.
    """

    form: str
    lemma: str
    tag: str


def load_words(name: str) -> list[list[TreebankWord]]:
    """Return the words of each sentence of a treebank: `ud-ewt:train`, `ud-ewt:dev` or `ud-ewt:test`.

    Raises:
        UnknownNameError, DataError: as for `Kind.load`.
    """
    SENTENCES.expand(name)
    head, _, part = name.partition(":")
    sentences = []
    for _, lines in groupby(read_lines(dataset_file(head, f"en_ewt-ud-{part}.conllu")), bool):
        rows = (line.split("\t") for line in lines)
        # Ranges (1-2) repeat the words that follow; decimals (8.1) are not in the text.
        sentences.append([TreebankWord(*row[1:4]) for row in rows if row[0].isdigit()])
    return [words for words in sentences if words]


@SENTENCES.reader("ud-ewt", ("train", "dev", "test"))
def _ud_ewt(part: str) -> list[str]:
    return [" ".join(word.form for word in words) for words in load_words(f"ud-ewt:{part}")]


@SENTENCES.reader("wiki-split", ("", *_WIKI_SPLIT, "short"))
def _wiki_split(part: str) -> list[str]:
    rows = [
        line.split("\t")
        for name in ([part] if part in _WIKI_SPLIT else _WIKI_SPLIT)
        for line in read_lines(dataset_file("wiki-split", f"{name}.tsv"))
    ]
    if part == "short":
        return [half for _, halves in rows for half in halves.split(" <::::> ")]
    return [sentence for sentence, _ in rows]


# -- labelled words ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Labelled:
    """A sentence whose words are labelled.

    Attributes:
        sentence: its words, separated by spaces.
        wrong: whether each word is wrong.
    """

    sentence: str
    wrong: tuple[bool, ...]


def read_labelled(path: PathLike) -> list[Labelled]:
    r"""Read lines of a word and its label, `c` or `i` (correct, incorrect), a tab between them.

    A blank line ends a sentence. This is the format of MultiGED-2023, whose `\"` for `"` stays.

    Raises:
        FormatError: a line has no such label; the message names it.
    """
    sentences: list[Labelled] = []
    words: list[str] = []
    wrong: list[bool] = []
    for number, line in enumerate([*read_lines(path), ""], 1):
        word, _, label = line.partition("\t")
        if line and label not in ("c", "i"):
            raise FormatError(
                f"{path}:{number}: a word, a tab and its label, c or i, were expected, not {line[:60]!r}."
            )
        if line:
            words.append(word)
            wrong.append(label == "i")
        elif words:
            sentences.append(Labelled(" ".join(words), tuple(wrong)))
            words, wrong = [], []
    return sentences


LABELLED: Kind[list[Labelled]] = Kind(
    "labelled",
    "dataset of labelled words",
    join=concatenated,
    read=read_labelled,
    hint="A path to a file of words and labels is also accepted.",
)


def load_labelled(name: str) -> list[Labelled]:
    """Return sentences whose words are labelled as correct or wrong.

    Args:
        name: one of

            - `multiged:realec`: 4,067 sentences of Russian students' essays (REALEC);
            - `multiged:fce/train`, `multiged:fce/dev`: 28,351 and 2,191 sentences of FCE, without those
              reserved for evaluation (`learnedgec.data.catalog.leakage`);
            - a file as for `read_labelled`.

    Raises:
        UnknownNameError, DataError, PluginError: as for `Kind.load`.
    """
    return LABELLED.load(name)


@LABELLED.reader("multiged", ("realec", "fce/train", "fce/dev"))
def _multiged(part: str) -> list[Labelled]:
    file = "realec_dev" if part == "realec" else part.replace("/", "_")
    rows = read_labelled(dataset_file("multiged", f"english/en_{file}.tsv"))
    return [row for row in rows if not is_reserved(row.sentence)]
