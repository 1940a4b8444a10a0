"""Every metric has a card; what a card says that can be computed is computed."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docstring_parser
import pytest

from learnedgec import load_metric
from learnedgec.errors import UnknownNameError
from learnedgec.metrics import cards as module
from learnedgec.metrics.cards import MetricCard, bibtex, card_name, cards, load_card
from learnedgec.metrics.registry import METRICS, metric_class
from learnedgec.metrics.sentinels import is_sentinel

CARDS: list[MetricCard] = [load_card(name) for name in cards()]
FAILURES = [
    (card.name, failure) for card in CARDS for failure in card.failures if "score" in failure
]


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_has_a_card(name: str) -> None:
    assert card_name(name), f"add a card of {name} to learnedgec/metrics/cards/cards.yaml"


def test_other_metrics_have_no_card() -> None:
    assert card_name("dice") is None
    with pytest.raises(UnknownNameError, match="metric card"):
        load_card("dice")


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_a_card_is_whole(card: MetricCard) -> None:
    assert card.failures
    assert card.measures.endswith(".")
    direction = "no direction" if is_sentinel(card.name) else "higher"
    assert card.frame["range"].endswith(f"; {direction} is better")
    assert all(failure["text"].endswith((".", "below)")) for failure in card.failures)
    kind = metric_class(card.name)
    # A parameter without a meaning in the docstring is one that a reader cannot set.
    described = {
        parameter.arg_name
        for base in kind.__mro__
        for parameter in docstring_parser.parse(base.__doc__ or "").params
        if parameter.description
    }
    assert {field.name for field in dataclasses.fields(kind)} <= described
    needs = kind.needs_references
    # An ensemble reads what its members read.
    assert card.name == "ensemble" or needs == ("references" in card.inputs)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_a_metric_has_a_paper_or_says_why_not(card: MetricCard) -> None:
    assert bool(card.cite) != bool(card.no_paper)
    cited = bibtex([card.name])
    assert re.findall(r"^@\w+\{(.*),$", cited, re.MULTILINE) == list(card.cite)
    assert card.cite or cited == f"% {card.name}: {card.no_paper}\n"


def test_each_entry_is_cited_once_and_is_whole() -> None:
    cited = [key for card in CARDS for key in card.cite]
    entries = module._entries()
    assert set(cited) == set(entries)
    for entry in entries.values():
        assert entry.count("{") == entry.count("}")
        for field in ("title", "author", "year", "url"):
            assert f"\n  {field} = {{" in entry
        # The Anthology gives a paper one identifier, in its address and in its DOI.
        doi = re.search(r"doi = \{[^}]*/(.+)\}", entry)
        assert doi is None or f"url = {{https://aclanthology.org/{doi[1]}}}" in entry
    assert bibtex(["pt-m2", "pt-errant", "PTM2"]) == bibtex(["pt-m2"])


@pytest.mark.parametrize(("name", "failure"), FAILURES, ids=[name for name, _ in FAILURES])
def test_examples_of_failures_fail_so(name: str, failure: Mapping[str, Any]) -> None:
    assert failure["metric"].startswith(name)
    if name == "ter":
        pytest.importorskip("sacrebleu")
    texts = [[failure["reference"]]] if "reference" in failure else None
    score = load_metric(failure["metric"]).score(
        [failure["source"]], [failure["hypothesis"]], texts
    )
    assert score.value == pytest.approx(failure["score"], abs=5e-5)


def test_agreement_is_that_of_the_results() -> None:
    script = Path(__file__).parents[2] / "scripts" / "card_agreement.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(module._agreement()) <= set(cards())
    first = load_card("gleu").agreement[0]
    assert (first["benchmark"], first["human"], first["metric"]) == ("seeda-s:base", "TS", "gleu")
    assert first["r"].startswith(".866 [")
    assert first["sentences"].startswith("accuracy .673 [")
    assert load_card("ensemble").agreement == ()
    # `learnedgec metrics` shows what comes first: the metric as it is by default.
    assert load_card("quality").agreement[0]["metric"] == load_metric("quality").label
