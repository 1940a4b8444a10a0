"""Attacks on metrics, worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from learnedgec import References, Resampling, load_metric
from learnedgec.data.catalog import load_outputs, load_parallel
from learnedgec.errors import InputError, LengthError
from learnedgec.robustness.metrics import evaluate_attacks, honest_outputs

SOURCES = ["a", "a", "a"]
LENGTH = load_metric("length")


def test_worked_out_by_hand() -> None:
    # Lengths:  attack 3 1 1 (mean 5/3);  one 1 1 2 (4/3);  two 2 2 2 (2)
    attack = {"long": ["a b c", "a", "a"]}
    honest = {"one": ["a", "a", "a b"], "two": ["a b", "a b", "a b"]}
    results = evaluate_attacks([LENGTH], SOURCES, attack, honest, resampling=Resampling(20))
    shares = {r.honest: (r.count, r.preferred.value, r.ties.value, r.honest_score) for r in results}
    assert list(shares) == ["all", "one", "two"]
    assert shares["all"] == pytest.approx((6, 2 / 6, 1 / 6, 5 / 3))
    assert shares["one"] == pytest.approx((3, 1 / 3, 1 / 3, 4 / 3))
    assert shares["two"] == pytest.approx((3, 1 / 3, 0, 2))
    assert {(result.attack_score, result.rank) for result in results} == {(5 / 3, 2)}
    for result in results:
        assert result.preferred.low <= result.preferred.value <= result.preferred.high


def test_every_metric_and_attack_in_turn() -> None:
    metrics = [LENGTH, load_metric("sentm2"), load_metric("constant")]
    both = {"x": ["a b"] * 3, "y": ["b"] * 3}
    results = evaluate_attacks(
        metrics,
        SOURCES,
        both,
        {"o": ["a"] * 3},
        References.from_texts(SOURCES),
        resampling=Resampling(5),
    )
    assert [(result.metric, result.attack) for result in results if result.honest == "all"] == [
        (metric.label, attack) for metric in metrics for attack in both
    ]
    assert [result.rank for result in results[::2]] == [1, 1, 2, 2, 1, 1]
    assert [result.ties.value for result in results[::2]] == [0, 1, 0, 0, 1, 1]
    assert results[4].signature.startswith("m2(")


@pytest.mark.realdata
def test_attacks_of_conll14_fool_what_they_were_made_for_and_not_gleu(mirror: Path) -> None:
    data = load_parallel("conll14")
    honest = honest_outputs()
    assert len(honest) == 12
    attacks = load_outputs("attack:conll14")
    gleu = load_metric("gleu(iterations=5)")
    results = evaluate_attacks(
        [gleu], data.sources, attacks, honest, data.references, resampling=Resampling(5)
    )
    whole = {result.attack: result for result in results if result.honest == "all"}
    assert list(whole) == ["impara", "llmsent", "scribendi", "some"]
    assert {result.rank for result in results} == {13}
    assert max(result.preferred.value for result in whole.values()) < 0.2


def test_what_cannot_be() -> None:
    attack = {"attack": ["a"] * 3}
    with pytest.raises(InputError, match="an honest system is named 'attack'"):
        evaluate_attacks([LENGTH], SOURCES, attack, attack)
    with pytest.raises(LengthError, match="sources has 3 sentences but p has 1"):
        evaluate_attacks([LENGTH], SOURCES, attack, {"p": ["a"]})
    with pytest.raises(InputError, match="no attack or no honest system was given"):
        evaluate_attacks([LENGTH], SOURCES, attack, {})
