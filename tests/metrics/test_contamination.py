"""Metrics that are tested on what their evaluators have learned from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tiny

from learnedgec import load_benchmark
from learnedgec.cli.main import main
from learnedgec.data.catalog.leakage import fingerprint
from learnedgec.evaluators.evaluator import HeadConfig
from learnedgec.scoring import bind_one, contamination

SENTENCE = "its results here are no evidence of how it judges other texts."


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    heads = {**tiny.SOME_HEADS, "quality": HeadConfig(), "preference": HeadConfig("pair")}
    learned = ["gmeg:fce", "tmu-gfm", "robustgec:bea19", "sample"]
    folder = tmp_path_factory.mktemp("packages") / "learned"
    return tiny.save_evaluator(folder, heads=heads, datasets=learned)


@pytest.mark.parametrize(
    ("tested", "met"),
    [
        ("gmeg:fce", "gmeg:fce"),
        ("gmeg:dev", "gmeg:fce"),
        ("gmeg:wiki", ""),
        ("tmu-gfm", "tmu-gfm"),
        ("robustgec:bea19", "robustgec:bea19"),
        ("robustgec", "robustgec:bea19"),
        ("pillars:test", "robustgec:bea19"),
        ("jelv", "robustgec:bea19"),
        ("gmeg", "gmeg:fce"),
        ("robustgec:conll14", ""),
        ("gjg15:13", ""),
        ("seeda-s:+fluency", ""),
    ],
)
def test_a_benchmark_that_was_learned_from_is_named(package: Path, tested: str, met: str) -> None:
    for metric in (
        f"some(model='{package}')",
        f"some(model='{package}', meaning='{package}')",
        f"quality(model='{package}')",
        f"preference(model='{package}')",
        f"ensemble(members={{\"preference(model='{package}')\": 1.0, 'length': 1.0}})",
    ):
        notices = contamination(bind_one(metric), tested)
        notice = f"{package} was trained on {met}; {SENTENCE}"
        assert notices == ((notice,) if met else ())


def test_robust_says_it(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["robust", "metrics", "--case", "sample", "--resamples", "10", "--metric"]
    assert main([*words, f"preference(model='{package}')"]) == 0
    assert f"sample: {package} was trained on sample; {SENTENCE}\n" in capsys.readouterr().err


def test_sentences_that_were_learned_from_are_counted_and_marked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = load_benchmark("sample").sources
    learned = {value for source in sources[:5] if (value := fingerprint(source))}
    package = tiny.save_evaluator(
        tmp_path / "mine", heads={"preference": HeadConfig("pair")}, learned=b"".join(learned)
    )
    metric = f"preference(model='{package}')"
    seen = sum(fingerprint(source) in learned for source in sources)
    notice = (
        f"{package} was trained on {seen} of the {len(sources)} sentences; its results on them are no "
        "evidence of how it judges other texts."
    )
    assert contamination(bind_one(metric), "mine", sources) == (notice,)
    assert contamination(bind_one(metric), "mine", sources[20:]) == ()
    assert main(["meta", "--benchmark", "sample", "--metric", metric, "--resamples", "10"]) == 0
    printed = capsys.readouterr()
    assert f"sample: {notice}\n" in printed.err
    assert re.search(r"\d† ", printed.out)
    assert "† trained on data of this benchmark" in printed.out
