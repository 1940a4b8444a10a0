"""TER is sacreBLEU's, turned so that higher is better."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from learnedgec import References
from learnedgec.data.text import read_lines
from learnedgec.metrics.contract import Score
from learnedgec.metrics.registry import load_metric

GOLDEN = Path(__file__).parents[1] / "golden"

sacrebleu = pytest.importorskip("sacrebleu", reason="sacreBLEU is not installed")


def score(hypotheses: list[str], references: list[list[str]], **parameters: object) -> Score:
    return load_metric("ter", **parameters).score(hypotheses, hypotheses, references)


@pytest.mark.parametrize("case_sensitive", [False, True])
@pytest.mark.parametrize("name", ["hypA", "hypB"])
def test_it_is_equal_to_sacrebleu(name: str, case_sensitive: bool) -> None:
    outputs = read_lines(GOLDEN / f"{name}.txt")
    files = [read_lines(GOLDEN / f"ref{number}.txt") for number in (0, 1)]
    official = sacrebleu.metrics.TER(case_sensitive=case_sensitive)
    result = load_metric("ter", case_sensitive=case_sensitive).score(
        outputs, outputs, References.from_texts(*files)
    )
    corpus = official.corpus_score(outputs, files)
    assert result.details["ter"] == pytest.approx(corpus.score)
    assert result.value == pytest.approx(1 - corpus.score / 100)
    assert result.details["edits"] == corpus.num_edits
    sentences = [
        official.sentence_score(output, list(row)).score
        for output, *row in zip(outputs, *files, strict=True)
    ]
    assert result.sentences == pytest.approx(1 - np.array(sentences) / 100)


def test_a_shift_is_one_edit_where_hter_has_two() -> None:
    moved, right = ["b a c d"], [["a c d b"]]
    assert score(moved, right).sentences == pytest.approx([0.75])
    assert load_metric("hter").score(moved, moved, right).sentences == pytest.approx([0.5])


def test_many_edits_and_empty_texts() -> None:
    result = score(["a b c", "", "x", ""], [["d"], ["a b"], [""], [""]])
    assert result.sentences == pytest.approx([-2.0, 0.0, 0.0, 1.0])
    assert result.value == pytest.approx(1 - 6 / 3)
    resamples = load_metric("ter").aggregate_many(
        result.statistics, np.array([[3, 3], [2, 3], [0, 1]])
    )
    assert resamples == pytest.approx([1.0, 0.0, 1 - 5 / 3])


def test_case_counts_on_request() -> None:
    assert score(["he goes"], [["He goes"]]).value == pytest.approx(1.0)
    assert score(["he goes"], [["He goes"]], case_sensitive=True).value == pytest.approx(0.5)
