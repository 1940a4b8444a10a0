"""Plain sentences without judgements or corrections, and sentences whose wrong words are labelled."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from learnedgec.data.catalog.files import dataset_file
from learnedgec.data.catalog.leakage import is_reserved
from learnedgec.data.catalog.registry import Kind, concatenated
from learnedgec.data.text import read_lines
from learnedgec.errors import FormatError
from learnedgec.runtime.writing import PathLike

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
        wrong: whether each word is wrong, or `None` if that is unknown. A value after those of the words
            says whether a word is missing at the end of the sentence.
        source: the source that the sentence corrects; empty if there is none.
    """

    sentence: str
    wrong: tuple[bool | None, ...]
    source: str = ""


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
