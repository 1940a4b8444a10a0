"""A corpus is checked, tokenised and numbered once."""

from __future__ import annotations

from typing import Any

import pytest
from embedded import Sample

from learnedgec import References, load_benchmark, load_metric, score
from learnedgec.analysis.meta.evaluation import evaluate
from learnedgec.data import corpus as module
from learnedgec.data.corpus import Corpus
from learnedgec.scoring import bind, bind_one, score_metrics

SOURCES = ["He go .", "Yes .", "He go ."]
SYSTEMS = {
    "ours": ["He goes .", "Yes .", "He goes ."],
    "theirs": ["He goes .", "Yes !", "He go ."],
}


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The arguments whose texts are checked, one by one."""
    arguments: list[str] = []
    check = module.as_sentences

    def counted(texts: Any, argument: str) -> list[str]:
        arguments.append(argument)
        return check(texts, argument)

    monkeypatch.setattr("learnedgec.data.sentences.as_sentences", counted)
    monkeypatch.setattr(module, "as_sentences", counted)
    return arguments


def test_texts_are_looked_at_once(looked_at: list[str]) -> None:
    score("length", SOURCES, SYSTEMS["ours"])
    assert looked_at == ["hypotheses", "sources"]
    looked_at.clear()
    load_metric("length").score(SOURCES, SYSTEMS)
    assert looked_at == ["systems['ours']", "systems['theirs']", "sources"]


def test_a_meta_evaluation_looks_at_a_benchmark_once(looked_at: list[str]) -> None:
    benchmark = load_benchmark("sample")
    looked_at.clear()
    # The sentinel `random` runs with many seeds, and every metric reads the texts.
    evaluate(["gleu(iterations=1)", "length"], benchmark)
    judged = sorted(f"systems[{name!r}]" for name in benchmark.systems if name != "source")
    assert sorted(looked_at) == ["sources", *judged]


def test_rows_are_numbered_once_for_all_metrics() -> None:
    references = References.from_texts(["He goes .", "Yes .", "He went ."])
    corpus = Corpus.of(SOURCES, SYSTEMS, references)
    assert corpus.rows.numbers == {"ours": [0, 1, 2], "theirs": [0, 3, 4]}
    assert corpus.rows.hypotheses == ["He goes .", "Yes .", "He goes .", "Yes !", "He go ."]
    # The third sentence differs from the first in its reference alone.
    bare = corpus.unreferenced
    assert bare.rows.numbers == {"ours": [0, 1, 0], "theirs": [0, 2, 3]}
    assert bare.unreferenced is bare is corpus.unreferenced
    assert corpus.rows is corpus.rows
    assert corpus.of_systems(["ours", "theirs"]) is corpus
    assert list(corpus.of_systems(["theirs"]).systems) == ["theirs"]
    scores = score_metrics(bind(["length", "edit-count"]), corpus)
    assert scores["length"]["theirs"].sentences == pytest.approx([3, 2, 3])


def test_joined_corpora_score_as_each_of_them(sample: Sample) -> None:
    parts = []
    for rows in (range(5), range(5, 12)):
        texts = [[lines[row] for row in rows] for lines in (sample.sources, sample.systems["weak"])]
        parts.append(Corpus.of(*texts, sample.references.select(rows)))
    metric = bind_one("gleu(iterations=1)")

    def scores(corpus: Corpus) -> list[float]:
        return metric.scores(metric.compute(corpus))["hypotheses"].sentences.tolist()

    assert scores(Corpus.joined(parts)) == [*scores(parts[0]), *scores(parts[1])]


def test_texts_are_tokenised_once() -> None:
    corpus = Corpus.of(["I don't go."], ["I do not go."], ["I do not go."])
    tokenised = corpus.tokenised("spacy")
    assert corpus.tokenised("none") is corpus
    assert tokenised.sources == ["I do n't go ."]
    assert tokenised.references is not None
    assert tokenised.references.texts() == [["I do not go ."]]
    assert corpus.tokenised("spacy") is tokenised
