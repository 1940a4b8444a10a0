"""Plain sentences without judgements or corrections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from learnedgec.catalog.files import dataset_file
from learnedgec.errors import UnknownNameError
from learnedgec.formats.text import read_lines

__all__ = ["SENTENCES", "load_sentences"]


def load_sentences(name: str) -> list[str]:
    """Return the sentences of a catalog dataset, tokenised.

    Args:
        name: one of

            - `ud-ewt:train`, `ud-ewt:dev`, `ud-ewt:test`: web English, the treebank's words joined by
              spaces (`do n't`, `can not`);
            - `wiki-split:tune`, `wiki-split:validation`, `wiki-split:test`: long Wikipedia sentences.

    Raises:
        UnknownNameError: no such dataset.
        DataError: the dataset cannot be had.
    """
    if name not in SENTENCES:
        raise UnknownNameError("dataset of sentences", name, SENTENCES)
    return list(SENTENCES[name]())


def _ud_ewt(part: str) -> Iterator[str]:
    words: list[str] = []
    for line in [*read_lines(dataset_file("ud-ewt", f"en_ewt-ud-{part}.conllu")), ""]:
        if not line and words:
            yield " ".join(words)
            words = []
        elif line and not line.startswith("#"):
            number, form, _ = line.split("\t", 2)
            # Ranges (1-2) repeat the words that follow; decimals (8.1) are not in the text.
            if number.isdigit():
                words.append(form)


def _wiki_split(part: str) -> Iterator[str]:
    for line in read_lines(dataset_file("wiki-split", f"{part}.tsv")):
        yield line.split("\t")[0]


SENTENCES: Mapping[str, Callable[[], Iterator[str]]] = {
    **{f"ud-ewt:{part}": partial(_ud_ewt, part) for part in ("train", "dev", "test")},
    **{f"wiki-split:{part}": partial(_wiki_split, part) for part in ("tune", "validation", "test")},
}
