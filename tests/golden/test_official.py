"""M2, GLEU and GREEN against the official tools' output on sentences written for this project."""

from __future__ import annotations

from pathlib import Path

import pytest
from annotated import toy

from learnedgec.data.m2 import read_m2
from learnedgec.data.references import References
from learnedgec.data.text import read_json, read_lines
from learnedgec.metrics.registry import load_metric

HERE = Path(__file__).parent


@pytest.mark.parametrize("system", ["A", "B"])
@pytest.mark.parametrize("count", [1, 2])
def test_gleu(system: str, count: int) -> None:
    expected = read_json(HERE / "gleu.json")[f"hyp{system}_{count}ref"]
    score = load_metric("gleu").score(*toy(system, count))
    corpus = [score.value, score.details["reference_deviation"]]
    assert corpus == pytest.approx(expected["corpus"][:2], abs=1e-9)
    assert score.sentences == pytest.approx(expected["sentences"], abs=1e-9)


@pytest.mark.parametrize("beta", [1.0, 2.0])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("system", ["A", "B"])
def test_green(system: str, count: int, beta: float) -> None:
    expected = read_json(HERE / "green.json")[f"hyp{system}_{count}ref"][f"beta{beta}"]
    score = load_metric("green", beta=beta).score(*toy(system, count))
    # The script prints percent with eight digits.
    assert 100 * score.value == pytest.approx(expected["corpus"], abs=6e-9)
    assert 100 * score.sentences == pytest.approx(expected["sentences"], abs=6e-9)


@pytest.mark.parametrize("system", ["hypA", "hypB", "special_hypA", "special_hypB"])
def test_m2(system: str) -> None:
    expected = read_json(HERE / "m2.json")[system]
    blocks = read_m2(HERE / f"{'special' if 'special' in system else 'gold'}.m2")
    sources = [block.source for block in blocks]
    texts = sources, read_lines(HERE / f"{system}.txt"), References.from_annotated(blocks)
    score, alone = (load_metric(name).score(*texts) for name in ("m2", "sentm2"))
    corpus = [score.value, score.details["precision"], score.details["recall"], alone.value]
    names = "f0.5", "precision", "recall", "sentm2"
    assert corpus == pytest.approx([expected[name] for name in names], abs=1e-9)
    for name in names[:3]:
        column = [row[name] for row in expected["sentences"]]
        assert alone.sentence_details[name] == pytest.approx(column, abs=1e-9)
    assert score.sentences.tolist() == alone.sentences.tolist()
    assert alone.sentences.tolist() == alone.sentence_details["f0.5"].tolist()
