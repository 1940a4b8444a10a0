from __future__ import annotations

from collections.abc import Callable

import pytest

from learnedgec.data.catalog import load_sentences

PutDataset = Callable[[str, dict[str, str]], None]


def test_treebank_words(put_dataset: PutDataset) -> None:
    rows = [
        "# text = I don't.", "1\tI\tX", "2-3\tdon't\t_", "2\tdo\tX", "3\tn't\tX", "3.1\tgo\tX",
        "4\t.\tX", "", "1\tYes\tX", "",
    ]  # fmt: skip
    put_dataset("ud-ewt", {"en_ewt-ud-dev.conllu": "\n".join(rows)})
    assert load_sentences("ud-ewt:dev") == ["I do n't .", "Yes"]


def test_long_sentences(put_dataset: PutDataset) -> None:
    put_dataset("wiki-split", {"tune.tsv": "A b , c d .\tA b . <::::> C d .\n"})
    assert load_sentences("wiki-split:tune") == ["A b , c d ."]


@pytest.mark.realdata
@pytest.mark.usefixtures("mirror")
def test_real_sentences() -> None:
    assert len(load_sentences("ud-ewt:train")) == 12544
    assert len(load_sentences("ud-ewt:dev")) == 2001
    assert load_sentences("ud-ewt:dev")[0] == "From the AP comes this story :"
