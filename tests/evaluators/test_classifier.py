"""Predictors: resolved once from a name; the scale of ratings, the terms of sums, and threads."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny

from learnedgec.errors import PackageError
from learnedgec.evaluators import evaluator as evaluator_module
from learnedgec.evaluators import inference, locations
from learnedgec.evaluators import package as package_module
from learnedgec.evaluators.evaluator import Evaluator, HeadConfig
from learnedgec.evaluators.locations import open_package
from learnedgec.evaluators.package import Package
from learnedgec.evaluators.predictor import find_predictor, predict
from learnedgec.metrics.registry import load_metric
from learnedgec.metrics.some import Some
from learnedgec.runtime.runtime import Runtime

SOURCES = ["He go home .", "She have a dog ."]
HYPOTHESES = ["He goes home .", "She has a dog ."]
RATED = {"objective": "regression", "range": (0, 100)}


@pytest.mark.parametrize(
    ("output", "range_"),
    [
        ("fluency", (0, 100)),  # the sum of this name, with capitals
        ("both", (0, 250)),
        ("meaning", None),  # the package does not say
        ("mixed", None),
        ("ranks", None),
    ],
)
def test_the_range_of_an_output_is_that_of_its_rated_heads(
    tmp_path: Path, output: str, range_: tuple[float, float] | None
) -> None:
    heads = {
        "fluency": HeadConfig(offset=50.0, **RATED),  # type: ignore[arg-type]
        "style": HeadConfig(offset=50.0, **RATED),  # type: ignore[arg-type]
        "meaning": HeadConfig("pair", 3.0),
        "ranks": HeadConfig(objective="sigmoid"),
    }
    sums = {
        "fluency": {"fluency": 1.0, "ranks": 0.1},
        "both": {"fluency": 2.0, "style": 0.5},
        "mixed": {"fluency": 1.0, "meaning": 1.0},
        "guarded": {"fluency": {"weight": 1.0, "below": 40.0}},
    }
    package = open_package(str(tiny.save_evaluator(tmp_path / "mine", heads=heads, sums=sums)))
    assert package.range({output: 1.0}) == range_
    assert package.range({output: 0.5, "ranks": 2.0}) == (range_ and (0, range_[1] / 2))
    assert package.range({"guarded": 2.0}) == (-80.0, 0.0)
    assert package.sums(["both", "style"]) == {"both": "2*fluency+0.5*style"}


def test_some_reads_ratings_on_their_own_scale(tmp_path: Path) -> None:
    names = ("grammaticality", "fluency", "meaning")
    heads = {name: HeadConfig(offset=50.0, scale=20.0, **RATED) for name in names}  # type: ignore[arg-type]
    untold = {name: HeadConfig(offset=50.0, scale=20.0) for name in names}
    package = tiny.save_evaluator(tmp_path / "percent", heads=heads)
    values = Evaluator.load(str(package)).predict(SOURCES, HYPOTHESES)
    score = Some(model=str(package)).score(SOURCES, HYPOTHESES)
    for name in names:
        assert score.sentence_details[name] == pytest.approx(values[name] / 100)
    # As before in packages that do not say.
    former = tiny.save_evaluator(tmp_path / "former", heads=untold)
    score = Some(model=str(former)).score(SOURCES, HYPOTHESES)
    assert score.sentence_details["fluency"] == pytest.approx((values["fluency"] - 1) / 3)


def test_predictors_are_equal_if_their_files_are(
    tiny_evaluator: Path, tiny_regressor: Path, tmp_path: Path
) -> None:
    first, other = find_predictor(str(tiny_evaluator)), find_predictor(str(tiny_evaluator))
    assert first == other
    assert hash(first) == hash(other)
    assert isinstance(first, Package)
    assert find_predictor(str(tiny_regressor), "pair") != find_predictor(str(tiny_regressor))
    package = tiny.save_evaluator(tmp_path / "copy")
    before = open_package(str(package))
    config = json.loads((package / "config.json").read_text())
    config["heads"]["fluency"]["scale"] = 5.0
    (package / "config.json").write_text(json.dumps(config))
    tiny.sign(package, "config.json")
    assert open_package(str(package)) != before
    with pytest.raises(PackageError, match="was replaced before it was loaded"):
        predict(before, SOURCES, HYPOTHESES, ["fluency"], Runtime(device="cpu"))


def test_a_score_lists_no_folder_and_reads_no_file_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.save_evaluator(tmp_path / "checkpoints" / "mine")
    monkeypatch.chdir(tmp_path)
    metric = load_metric("some(model='mine')")
    expected = metric.score(SOURCES, HYPOTHESES)

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("this was known")

    monkeypatch.setattr(locations, "list_evaluators", refuse)
    monkeypatch.setattr(package_module, "check_package", refuse)
    again = metric.score(SOURCES, HYPOTHESES)
    assert again.sentences.tolist() == expected.sentences.tolist()
    assert again.signature == expected.signature


def test_a_thread_keeps_its_rows_while_another_fills_the_memory(
    tiny_evaluator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = Evaluator.load(str(tiny_evaluator))
    evaluator = Evaluator(loaded.model, loaded.tokenizer)
    runtime = Runtime(device="cpu")
    expected = evaluator.predict(SOURCES, HYPOTHESES, ["fluency"], runtime=runtime)["fluency"]
    evaluator = Evaluator(loaded.model, loaded.tokenizer)
    evaluator.predict(SOURCES[:1], HYPOTHESES[:1], ["fluency"], runtime=runtime)
    monkeypatch.setattr(evaluator_module, "_MAX_REMEMBERED", 2)
    run = inference.run_distinct
    with ThreadPoolExecutor(1) as pool:

        def interrupted(forward: Any, tokenizer: Any, items: Any, *rest: Any, **more: Any) -> Any:
            if items == HYPOTHESES[1:]:
                # Another thread needs room while this one computes its second row.
                texts = ["a cat", "a dog"]
                other = pool.submit(evaluator.predict, texts, texts, ["fluency"], runtime=runtime)
                assert len(other.result()["fluency"]) == 2
            return run(forward, tokenizer, items, *rest, **more)

        monkeypatch.setattr(inference, "run_distinct", interrupted)
        values = evaluator.predict(SOURCES, HYPOTHESES, ["fluency"], runtime=runtime)["fluency"]
    assert values == pytest.approx(expected, abs=1e-6)
    assert np.ptp(values) > 0
