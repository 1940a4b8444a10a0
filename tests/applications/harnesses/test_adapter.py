"""Documents and completions become scores, the library's."""

from __future__ import annotations

import pytest

from learnedgec import load_metric
from learnedgec.applications.harnesses.adapter import Submission, adapter
from learnedgec.errors import InputError

DOCUMENTS = [
    {"source": "He go .", "references": ["He goes .", "He went ."]},
    {"source": "Yes .", "references": "Yes ."},
]
COMPLETIONS = ["<think>go?</think>Corrected: He went .", "No ."]


def test_scores_are_the_librarys() -> None:
    gleu = adapter("gleu")
    score = gleu.score([gleu.read(*pair) for pair in zip(DOCUMENTS, COMPLETIONS, strict=True)])
    alone = load_metric("gleu").score(
        ["He go .", "Yes ."], ["He went .", "No ."], [["He goes .", "He went ."], ["Yes ."]]
    )
    assert (score.value, score.signature) == (alone.value, alone.signature)
    assert score.sentences.tolist() == alone.sentences.tolist()


def test_references_that_are_null_are_named_by_their_document() -> None:
    document = {"source": "He go .", "references": None}
    with pytest.raises(InputError) as error:
        adapter("gleu").read(document, "He goes .")
    assert str(error.value) == (
        "'references' of the document with the source 'He go .' is None; a sequence of texts was expected."
    )
    read = adapter("gleu").read({**document, "references": [None, "He went ."]}, "He goes .")
    assert read.references == ("He went .",)


def test_references_are_read_only_where_they_are_needed() -> None:
    assert adapter("length", source="s").read({"s": "a"}, "b") == Submission("a", "b")
    with pytest.raises(InputError) as error:
        adapter("gleu", references="target").read({"source": "a"}, "b")
    assert str(error.value) == (
        "the document has no 'target' (it has source); name the keys by source=… and references=…."
    )
