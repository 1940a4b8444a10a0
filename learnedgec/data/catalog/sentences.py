"""Plain sentences without judgements or corrections."""

from __future__ import annotations

from learnedgec.data.catalog.files import dataset_file
from learnedgec.data.catalog.registry import Kind, concatenated
from learnedgec.data.text import read_lines

__all__ = ["SENTENCES", "load_sentences"]

SENTENCES: Kind[list[str]] = Kind("sentences", "dataset of sentences", join=concatenated)


def load_sentences(name: str) -> list[str]:
    """Return the sentences of a catalog dataset, tokenised.

    Args:
        name: one of

            - `ud-ewt:train`, `ud-ewt:dev`, `ud-ewt:test`: web English, the treebank's words joined by
              spaces (`do n't`, `can not`);
            - `wiki-split:tune`, `wiki-split:validation`, `wiki-split:test`: long Wikipedia sentences.

            `ud-ewt` and `wiki-split` without a part load all their parts in turn.

    Raises:
        UnknownNameError, DataError, PluginError: as for `Kind.load`.
    """
    return SENTENCES.load(name)


@SENTENCES.reader("ud-ewt", ("train", "dev", "test"))
def _ud_ewt(part: str) -> list[str]:
    sentences: list[str] = []
    words: list[str] = []
    for line in [*read_lines(dataset_file("ud-ewt", f"en_ewt-ud-{part}.conllu")), ""]:
        if not line and words:
            sentences.append(" ".join(words))
            words = []
        elif line and not line.startswith("#"):
            number, form, _ = line.split("\t", 2)
            # Ranges (1-2) repeat the words that follow; decimals (8.1) are not in the text.
            if number.isdigit():
                words.append(form)
    return sentences


@SENTENCES.reader("wiki-split", ("tune", "validation", "test"))
def _wiki_split(part: str) -> list[str]:
    lines = read_lines(dataset_file("wiki-split", f"{part}.tsv"))
    return [line.split("\t")[0] for line in lines]
