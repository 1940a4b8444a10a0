"""The released evaluator that may be used in products: what it is made of, and what it scores."""

from __future__ import annotations

from pathlib import Path

import pytest

from learnedgec import load_metric
from learnedgec.data.catalog.licences import check_permissive
from learnedgec.errors import ModelError
from learnedgec.evaluators.packages import check_package, manifest_annotators, manifest_datasets
from learnedgec.runtime.runtime import Runtime

PACKAGE = Path(__file__).parents[2] / "checkpoints" / "open-mini"


def test_all_that_it_is_made_of_may_be_used_commercially() -> None:
    manifest = check_package(PACKAGE)
    assert manifest["license"] == "Apache-2.0 AND CC-BY-SA-4.0 AND MIT"
    assert manifest["continued"] is None
    assert not manifest["data"]["ratings"]
    annotators = manifest_annotators(manifest)
    assert annotators == ("en-ewt-sm",)
    check_permissive(manifest["encoder"], manifest_datasets(manifest), annotators)
    assert sum(file.stat().st_size for file in PACKAGE.iterdir()) < 14e6


@pytest.mark.parametrize("name", ["impara[open-mini]", "preference[open-mini]"])
def test_corrections_score_above_mistakes(name: str) -> None:
    source = "She have lived in this city since five years ."
    texts = [
        "She has lived in this city for five years .",
        "She have live on this city since five year .",
    ]
    good, bad = load_metric(name).score([source] * 2, texts).sentences
    assert good > bad + 0.1


def test_some_reads_heads_that_it_lacks() -> None:
    with pytest.raises(ModelError, match="but not grammaticality, which this metric reads"):
        load_metric("some[open-mini]").check(Runtime())
