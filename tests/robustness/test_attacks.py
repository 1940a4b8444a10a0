"""Attacks on metrics, worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from learnedgec import References, load_metric
from learnedgec.data.catalog import load_outputs, load_parallel
from learnedgec.errors import InputError, LengthError
from learnedgec.robustness import attacks
from learnedgec.robustness.attacks import evaluate_attacks, honest_outputs

SOURCES = ["a", "a", "a"]
LENGTH = load_metric("length")


def test_worked_out_by_hand() -> None:
    # Lengths:  attack 3 1 1 (mean 5/3);  one 1 1 2 (4/3);  two 2 2 2 (2)
    attack = {"long": ["a b c", "a", "a"]}
    honest = {"one": ["a", "a", "a b"], "two": ["a b", "a b", "a b"]}
    found = evaluate_attacks(SOURCES, attack, honest, [LENGTH], resamples=20)
    shares = {
        each.honest: (each.count, each.preferred.value, each.ties.value, each.honest_score)
        for each in found
    }
    assert list(shares) == ["all", "one", "two"]
    assert shares["all"] == pytest.approx((6, 2 / 6, 1 / 6, 5 / 3))
    assert shares["one"] == pytest.approx((3, 1 / 3, 1 / 3, 4 / 3))
    assert shares["two"] == pytest.approx((3, 1 / 3, 0, 2))
    assert {(each.attack_score, each.rank) for each in found} == {(5 / 3, 2)}
    for each in found:
        assert each.preferred.low <= each.preferred.value <= each.preferred.high


def test_every_metric_and_attack_in_turn() -> None:
    metrics = [LENGTH, load_metric("sentm2"), load_metric("constant")]
    both = {"x": ["a b"] * 3, "y": ["b"] * 3}
    found = evaluate_attacks(
        SOURCES, both, {"o": ["a"] * 3}, metrics, References.from_texts(SOURCES), resamples=5
    )
    assert [(each.metric, each.attack) for each in found if each.honest == "all"] == [
        (metric.label, attack) for metric in metrics for attack in both
    ]
    assert [each.rank for each in found[::2]] == [1, 1, 2, 2, 1, 1]
    assert [each.ties.value for each in found[::2]] == [0, 1, 0, 0, 1, 1]
    assert found[4].signature.startswith("m2(")


def test_honest_outputs_are_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = dict.fromkeys(("INPUT", "REF-F", "REF-M", "T5"), ("A .",))
    monkeypatch.setattr(attacks, "load_outputs", {"seeda": outputs}.__getitem__)
    assert honest_outputs() == {"T5": ("A .",)}


@pytest.mark.realdata
def test_attacks_of_conll14_fool_what_they_were_made_for_and_not_gleu(mirror: Path) -> None:
    data = load_parallel("conll14")
    honest = honest_outputs()
    assert len(honest) == 12
    found = evaluate_attacks(
        data.sources,
        load_outputs("attack:conll14"),
        honest,
        [load_metric("gleu(iterations=5)")],
        data.references,
        resamples=5,
    )
    whole = {each.attack: each for each in found if each.honest == "all"}
    assert list(whole) == ["impara", "llmsent", "scribendi", "some"]
    assert {each.rank for each in found} == {13}
    assert max(each.preferred.value for each in whole.values()) < 0.2


def test_what_cannot_be() -> None:
    outputs = {"o": ["a"] * 3}
    with pytest.raises(InputError, match="one or more of both"):
        evaluate_attacks(SOURCES, outputs, {}, [LENGTH])
    with pytest.raises(InputError, match="both named 'o'"):
        evaluate_attacks(SOURCES, outputs, outputs, [LENGTH])
    with pytest.raises(InputError, match="gleu needs references"):
        evaluate_attacks(SOURCES, outputs, {"p": ["a"] * 3}, [load_metric("gleu")])
    with pytest.raises(LengthError, match="sources has 3 sentences but p has 1"):
        evaluate_attacks(SOURCES, outputs, {"p": ["a"]}, [LENGTH])
