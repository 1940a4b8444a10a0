"""Outputs of an evaluator as metrics: by definition, in every command, and as a term of SOME."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import tiny

from learnedgec.applications.reward import reward
from learnedgec.cli.main import main
from learnedgec.errors import BadNameError, ConfigError, InputWarning, ModelError
from learnedgec.evaluators import evaluator
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.evaluators.package import check_package
from learnedgec.metrics.bound import short_labels
from learnedgec.metrics.registry import load_metric
from learnedgec.metrics.some import Some
from learnedgec.scoring import bind_one
from learnedgec.training.package import model_card
from learnedgec.tuning.space import read_space

SOURCES = ["He go home .", "I has a dog .", "She are here ."]
HYPOTHESES = ["He goes home .", "I have a dog .", "She are here ."]


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of an evaluator with dimensions of one's own, in the current folder."""
    heads = {
        "adequacy": evaluator.HeadConfig("pair", 3.0, 0.5),
        "style": evaluator.HeadConfig("hypothesis", 50.0, 9.0),
    }
    sums = {"both": {"adequacy": 2.0, "style": 1.0}}
    tiny.save_evaluator(tmp_path / "checkpoints" / "mine", heads=heads, sums=sums)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LEARNEDGEC_EVALUATORS", raising=False)
    return "mine"


def test_is_what_the_head_says(mine: str) -> None:
    predicted = Evaluator.load(mine).predict(SOURCES, HYPOTHESES)
    score = load_metric("head(model='mine', name='adequacy')").score(SOURCES, HYPOTHESES)
    assert score.sentences == pytest.approx(predicted["adequacy"])
    assert score.value == pytest.approx(predicted["adequacy"].mean())
    assert np.ptp(score.sentences) > 0
    both = load_metric("head(model='mine', weights={'adequacy': .7, 'style': .3})")
    result = both.score(SOURCES, HYPOTHESES)
    assert result.sentences == pytest.approx(0.7 * predicted["adequacy"] + 0.3 * predicted["style"])
    assert result.details == pytest.approx({head: predicted[head].mean() for head in both.heads})  # type: ignore[attr-defined]


def test_two_heads_have_names_that_tell_them_apart_and_can_be_typed(
    mine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("source.txt").write_text("\n".join(SOURCES))
    Path("ours.txt").write_text("\n".join(HYPOTHESES))
    names = ["head[mine.adequacy]", "head[mine.style]"]
    words = ["score", "--src", "source.txt", "--hyp", "ours.txt", "--quiet", "--metric"]
    assert main([*words, "head(model='mine', name='adequacy')", "head[mine.style]"]) == 0
    table = capsys.readouterr().out
    assert "#2" not in table
    assert main([*words, *names]) == 0
    assert capsys.readouterr().out == table
    long = [f"head(model='checkpoints/mine', name='{head}')" for head in ("adequacy", "style")]
    assert [*short_labels(long).values()] == names
    told = "head[mine.adequacy], head[mine.style], head[mine.both]"
    for name in ("mine", "head[mine]"):
        assert main([*words, name]) == 2
        assert told in capsys.readouterr().err


def test_a_head_that_failed_its_test_says_so_once_in_a_process(
    mine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    reason = (
        "the test part cannot test it, because its ratings come from 1 source, and a test needs 4."
    )
    verdicts = {
        "adequacy": {
            "trusted": False,
            "baselines": {},
            "sentence": f"adequacy is not trusted: {reason}",
        },
        "style": {
            "trusted": True,
            "baselines": {},
            "sentence": "style is trusted: on text like this, …",
        },
    }
    tiny.sign(Path("checkpoints/mine"), verdicts=verdicts)
    sentence = f"mine: adequacy is not trusted: {reason}"
    load_metric("head(model='mine', name='style')").score(SOURCES, HYPOTHESES)
    with pytest.warns(
        InputWarning, match=f"^{re.escape(sentence)}$"
    ):  # both is a sum with adequacy
        load_metric("head(model='mine', name='both')").score(SOURCES, HYPOTHESES)
    # A second warning would be an error.
    load_metric("head(model='mine', name='adequacy')").score(SOURCES, HYPOTHESES)
    reward("head(model='mine', name='adequacy')")
    assert main(["evaluators"]) == 0
    assert sentence in capsys.readouterr().err
    card = model_card(check_package(Path("checkpoints/mine")))
    assert (
        "- `adequacy` reads the source and the hypothesis; **not trusted** (see Results)\n" in card
    )
    assert "- `style` reads the hypothesis alone; **trusted** (see Results)\n" in card


def test_the_signature_says_what_a_sum_of_the_package_is(mine: str) -> None:
    signature = bind_one(load_metric("head(model='mine', name='both')")).signature()
    assert "|sum-both:2*adequacy+1*style|" in signature
    assert f"|sha256:{Evaluator.load(mine).digest}|" in signature


def test_a_head_that_the_evaluator_lacks_is_refused(mine: str) -> None:
    metric = load_metric("head(model='mine', name='adequasy')")
    message = r"mine has the heads adequacy, style, both but not adequasy.*head\[mine.adequacy\]"
    with pytest.raises(ModelError, match=message):
        metric.score(SOURCES, HYPOTHESES)
    with pytest.raises(ModelError, match=r"score a head by itself: head\[mine.adequacy\]"):
        load_metric("some(model='mine')").score(SOURCES, HYPOTHESES)


def test_is_a_term_of_some(mine: str, tiny_evaluator: Path) -> None:
    term = "head(model='mine', weights={'adequacy': 1.0, 'style': 0.02})"
    some = load_metric("some", model=str(tiny_evaluator), meaning=term)
    plain, meaning = Some(model=str(tiny_evaluator)), load_metric(term)
    details = some.score(SOURCES, HYPOTHESES).sentence_details
    expected = (meaning.score(SOURCES, HYPOTHESES).sentences - 1) / 3
    assert details["meaning"] == pytest.approx(expected)
    assert details["fluency"] == pytest.approx(
        plain.score(SOURCES, HYPOTHESES).sentence_details["fluency"]
    )
    assert tuple(package.name for package in some.packages()) == (str(tiny_evaluator), "mine")
    assert Evaluator.load(mine).digest in bind_one(some).signature()
    assert load_metric(str(some)) == some
    with pytest.raises(BadNameError, match="no parameter of head"):
        load_metric("some", meaning="head(model='mine', hed='a')").score(SOURCES, HYPOTHESES)


def test_a_single_head_leaves_nothing_to_tune() -> None:
    with pytest.raises(
        ConfigError, match="head has no weights to choose between; tune an ensemble"
    ):
        read_space(load_metric("head(name='quality')"))
