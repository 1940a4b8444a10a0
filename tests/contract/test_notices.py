"""Every way to score texts says what looks like a mistake in them, once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import tiny

import learnedgec
from learnedgec import References, Resampling
from learnedgec.cli.main import main
from learnedgec.data.corpus import Corpus
from learnedgec.errors import InputError, TextWarning
from learnedgec.metrics.contract import check_corpus
from learnedgec.metrics.registry import load_metric
from learnedgec.report.data import ReportSettings
from learnedgec.robustness.metrics import evaluate_attacks
from learnedgec.runtime.runtime import Runtime

SOURCES = ["He always go home early .", "She like tea .", "It rain today ."]
SYSTEMS = {
    "ours": ["He always goes home early .", "She likes tea .", "It rains today ."],
    "raw": ["He always goes home early.", "She likes tea.", "It rains."],
}
ROWS = [[text] for text in SYSTEMS["ours"]]
GLEU = load_metric("gleu(iterations=5)")
NOTICE = 'raw: 100 % of sentences end like "school.", in the sources 0 %'

Texts = Sequence[str]
WAYS: dict[str, Callable[[Texts, Mapping[str, Texts], Any], object]] = {
    "score": lambda *inputs: learnedgec.score([GLEU, "m2"], *inputs),
    "score_systems": lambda *inputs: GLEU.score(*inputs),
    "rank": lambda *inputs: learnedgec.rank(GLEU, *inputs, resampling=Resampling(99)),
    "compare": lambda *inputs: learnedgec.compare(
        GLEU, *inputs, baseline="ours", resampling=Resampling(99)
    ),
    "build_report": lambda *inputs: learnedgec.build_report(
        GLEU, *inputs, settings=ReportSettings(annotator="plain", resampling=Resampling(99))
    ),
    "rerank": lambda *inputs: learnedgec.rerank(GLEU, *inputs),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_mistake_is_warned_of_once_in_python(way: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TextWarning)
        WAYS[way](SOURCES, SYSTEMS, References.from_rows(ROWS))
    # GLEU has a remark of its own about texts as short as these.
    assert sum(str(warning.message).startswith(NOTICE) for warning in caught) == 1


@pytest.mark.parametrize(
    "command",
    [
        "score --metric gleu m2",
        "rank --metric gleu m2 --resamples 99",
        "compare --metric gleu m2 --baseline ours.txt --resamples 99",
        "report --metric gleu m2 --annotator plain --resamples 99",
        "rerank --by gleu",
        "edits --annotator plain",
        "robust attack --attack attack.txt --metric gleu --resamples 99",
    ],
)
def test_a_mistake_is_said_once_on_the_command_line(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, texts in {"src": SOURCES, "attack": SOURCES, **SYSTEMS}.items():
        Path(f"{name}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    words = [*command.split(), "--src", "src.txt", "--hyp", "ours.txt", "raw.txt"]
    if "edits" not in command:
        words += ["--ref", "ours.txt"]
    assert main(words) == 0
    assert capsys.readouterr().err.count(NOTICE) == 1


def test_texts_that_learnedgec_makes_are_not_warned_of() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TextWarning)
        evaluate_attacks(
            "length", SOURCES, {"raw": SYSTEMS["raw"]}, {"ours": SOURCES}, resampling=Resampling(9)
        )
        learnedgec.attribute_edits("length", SOURCES, SYSTEMS["raw"], edits="plain")
    assert not [each for each in caught if issubclass(each.category, TextWarning)]


def test_evaluators_of_english_say_so(tmp_path: Path) -> None:
    sources, hypotheses = ["Она идти ."], ["Она идёт ."]
    folder = tiny.save_evaluator(tmp_path / "english", datasets=("tmu-gfm", "gmeg:dev"))
    english = load_metric("some", model=str(folder))
    with pytest.warns(
        TextWarning, match="english has learned from English alone, and the sources are"
    ):
        english.score(sources, hypotheses)
    folder = tiny.save_evaluator(tmp_path / "japanese", datasets=("autojqe", "gmeg:dev"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", TextWarning)
        english.score(["Elle a \u00e9t\u00e9 l\u00e0 ."], ["Elle est l\u00e0 ."])
        load_metric("some", model=str(folder)).score(sources, hypotheses)


@pytest.mark.parametrize(
    "name",
    ["quality", "ensemble(length=1, quality=1)", "asano", "uot-errant(annotator='en-ewt-sm')"],
)
def test_a_metric_of_english_refuses_another_language(name: str) -> None:
    texts = ["Das ist gut ."]
    metrics = [load_metric("length"), load_metric(name)]
    references = References.from_texts(texts)
    foreign, english = (Corpus.of(texts, texts, references, language=code) for code in ("de", "en"))
    with pytest.raises(
        InputError, match=r"reads English alone \(.+\), and .+ the texts are in 'de'"
    ):
        check_corpus(metrics, foreign, Runtime())
    check_corpus(metrics, english, Runtime())
