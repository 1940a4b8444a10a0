"""The module in Hugging Face's `evaluate` itself."""

from __future__ import annotations

from pathlib import Path

import evaluate
import pytest
from embedded import Sample

from learnedgec import load_metric
from learnedgec.applications.harnesses import evaluate_module


@pytest.mark.parametrize("name", ["gleu", "some"])
@pytest.mark.filterwarnings("default")
def test_evaluate_gives_the_librarys_scores(
    name: str, tiny_evaluator: Path, sample: Sample, tmp_path: Path
) -> None:
    metric = load_metric(name if name == "gleu" else f"some(model={str(tiny_evaluator)!r})")
    module = evaluate.load(evaluate_module.__file__, str(metric), cache_dir=str(tmp_path))
    inputs = {"sources": list(sample.sources), "predictions": sample.systems["strong"]}
    if metric.needs_references:
        inputs["references"] = sample.references.texts()
    result = module.compute(**inputs)
    alone = metric.score(sample.sources, sample.systems["strong"], sample.references.texts())
    assert result[name] == pytest.approx(alone.value)
    assert result["sentences"] == pytest.approx(alone.sentences.tolist())
    assert result["signature"] == alone.signature
