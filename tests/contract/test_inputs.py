"""What any metric takes from Python: the same scores from any sequence, one sentence for anything else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from embedded import Sample
from text_containers import CONTAINERS

import learnedgec
from learnedgec.data.m2 import AnnotatedSentence, Edit
from learnedgec.data.references import References
from learnedgec.errors import InputError, LengthError
from learnedgec.metrics.contract import Metric
from learnedgec.metrics.registry import load_metric

# What some metrics warn of: a system alone, blank outputs.
pytestmark = pytest.mark.filterwarnings("ignore:gotoscorer", "ignore:(sent)?cleme2.*blank outputs")

METRICS = [
    "gleu(iterations=20)",
    "m2",
    "some",
    "ensemble(gleu=0.5, length=0.5)",
    "gotoscorer",
]


@pytest.fixture(params=METRICS)
def metric(request: pytest.FixtureRequest, tiny_evaluator: Path) -> Metric:
    parameters = {"model": str(tiny_evaluator)} if request.param == "some" else {}
    return load_metric(request.param, **parameters)


@pytest.mark.parametrize("holder", CONTAINERS)
def test_scores_do_not_depend_on_what_holds_the_texts(
    metric: Metric, holder: str, sample: Sample
) -> None:
    hold = CONTAINERS[holder]
    sources, hypotheses = sample.sources[:12], sample.systems["eager"][:12]
    rows = sample.references.select(range(12))
    # Texts alone on both sides: gold edits would make other references.
    expected = metric.score(sources, hypotheses, learnedgec.References.from_rows(rows.texts()))
    held = [hold(row) for row in rows.texts()]
    score = metric.score(hold(sources), hold(hypotheses), held)
    assert score.value == expected.value
    assert score.sentences.tolist() == expected.sentences.tolist()
    assert score.signature == expected.signature
    together = metric.score(hold(sources), {"ours": hold(hypotheses)}, held)
    assert together["ours"].value == expected.value
    statistics = metric.statistics(hold(sources), hold(hypotheses), held)
    assert metric.aggregate(statistics) == expected.value


@pytest.mark.parametrize("holder", CONTAINERS)
def test_texts_in_place_of_rows_are_one_reference_each(
    metric: Metric, holder: str, sample: Sample
) -> None:
    sources, hypotheses = sample.sources[:12], sample.systems["eager"][:12]
    texts = [row[0] for row in sample.references.select(range(12)).texts()]
    score = metric.score(sources, hypotheses, CONTAINERS[holder](texts))
    expected = metric.score(sources, hypotheses, [[text] for text in texts])
    assert score.sentences.tolist() == pytest.approx(expected.sentences.tolist(), abs=0)
    assert (score.value, score.signature) == (expected.value, expected.signature)


LIST = "a sequence of texts was expected: put it into a list."
ROWS = "a sequence of each sentence's references was expected: put it into a list."
BAD: list[tuple[Any, Any, Any, str]] = [
    (["a"], ["a", None], [["a"]], "hypotheses[1] is None; a text was expected."),
    ("a", ["a"], [["a"]], f"sources is the text 'a'; {LIST}"),
    (["a"], "a", [["a"]], f"hypotheses is the text 'a'; {LIST}"),
    (["a"], ["a"], "a", f"references is the text 'a'; {ROWS}"),
    (["a"] * 2, ["a"] * 2, ["a", ["a"]], f"references[0] is the text 'a'; {LIST}"),
    (["a"], ["a"], [["a", 2]], "references[0][1] is 2; a text was expected."),
    (iter(["a"]), ["a"], [["a"]], "sources is of type list_iterator; a sequence of texts was expected."),
]  # fmt: skip


@pytest.mark.parametrize(("sources", "hypotheses", "references", "message"), BAD)
def test_anything_else_is_one_sentence_that_names_the_place(
    metric: Metric, sources: Any, hypotheses: Any, references: Any, message: str
) -> None:
    for score in (
        metric.score,
        metric.statistics,
        lambda *inputs: learnedgec.score(metric, *inputs),
    ):
        # Each reads anew what can be read only once.
        texts = iter(["a"]) if "list_iterator" in message else sources
        with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
            score(texts, hypotheses, references)


def test_systems_are_named_in_messages(metric: Metric) -> None:
    with pytest.raises(
        InputError, match=r"^systems\['ours'\]\[1\] is None; a text was expected\.$"
    ):
        metric.score(["a", "b"], {"ours": ["a", None]}, [["a"], ["b"]])  # type: ignore[list-item]
    with pytest.raises(LengthError, match="sources has 1 sentence but ours has 2"):
        metric.score(["a"], {"ours": ["a", "b"]}, [["a"]])


def test_references_of_annotators_are_told_from_those_of_sentences(metric: Metric) -> None:
    with pytest.raises(LengthError, match=r"pass References\.from_texts\(\*references\)"):
        metric.score(["a", "b", "c"], ["a", "b", "c"], [["a", "b", "c"], ["a", "b", "d"]])


def test_gold_edits_of_other_sentences_are_refused(sample: Sample) -> None:
    sources, systems, references = sample.sources, sample.systems["weak"], sample.references
    shifted = references.select([len(sources) - 1, *range(len(sources) - 1)])
    with pytest.raises(
        InputError,
        match=r"^references\[0\] has gold edits of another sentence than sources\[0\], 'My gr",
    ):
        load_metric("m2").score(sources, systems, shifted)
    # A span that its source does not have is one of another sentence, too.
    short = References.from_annotated([AnnotatedSentence("a b c", {0: (Edit(2, 3, "d", "X"),)})])
    with pytest.raises(InputError, match="gold edits of another sentence"):
        load_metric("m2").score(["a b"], ["a b"], short)
