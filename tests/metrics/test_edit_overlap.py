"""The shared mechanism of edit overlap, and M2 over it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from annotated import references_of
from embedded import Sample
from hypothesis import given, settings
from hypothesis import strategies as st
from max_match_oracle import f_score, oracle_choice

from learnedgec.data.m2 import Edit
from learnedgec.data.references import Reference, References
from learnedgec.data.text import read_lines
from learnedgec.metrics.contract import Statistics
from learnedgec.metrics.edit_overlap import overlap_statistics
from learnedgec.metrics.errant import Errant
from learnedgec.metrics.m2 import M2
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import bind_one

Rows = Sequence[Sequence[tuple[float, float, float]]]


def statistics_of(rows: Rows) -> Statistics:
    references = References(
        tuple(
            tuple(Reference("", (), annotator=3 + number) for number, _ in enumerate(row))
            for row in rows
        )
    )
    return overlap_statistics([[(counts, {}) for counts in row] for row in rows], references)


@st.composite
def rows(draw: st.DrawFn) -> list[list[tuple[float, float, float]]]:
    """Return counts of some sentences with one to three annotators; whole numbers or weights."""
    number = draw(
        st.sampled_from([st.integers(0, 4).map(float), st.floats(0, 3, allow_subnormal=False)])
    )
    drawn_rows = []
    for _ in range(draw(st.integers(1, 6))):
        row = []
        for _ in range(draw(st.integers(1, 3))):
            tp = draw(number)
            row.append((tp, tp + draw(number), tp + draw(number)))
        drawn_rows.append(row)
    return drawn_rows


@given(rows(), st.sampled_from([0.0, 0.5, 1.0, 2.0]))
@settings(max_examples=200, deadline=None)
def test_choice_and_score_equal_the_oracle(rows: Rows, beta: float) -> None:
    metric, statistics = M2(beta=beta), statistics_of(rows)
    chosen, sums = oracle_choice(rows, beta)
    assert metric.chosen(statistics).tolist() == chosen
    assert metric.aggregate(statistics) == pytest.approx(f_score(*sums, beta), abs=1e-12)
    details = metric.details(statistics)
    assert [details[name] for name in ("tp", "proposed", "gold")] == pytest.approx(list(sums))
    alone = [oracle_choice([row], beta) for row in rows]
    assert metric.sentence_scores(statistics) == pytest.approx(
        [f_score(*sums, beta) for _, sums in alone], abs=1e-12
    )
    assert M2(beta=beta, level="sentence").chosen(statistics).tolist() == [
        choice for (choice,), _ in alone
    ]


count = st.integers(0, 300)
count_rows = st.lists(st.tuples(count, count, count), min_size=1, max_size=3)


@given(st.lists(count_rows, min_size=1, max_size=6), st.sampled_from([0.5, 1.0, 2.0]))
@settings(max_examples=200, deadline=None)
def test_errant_chooses_by_rounded_f_then_counts(
    rows: list[list[tuple[int, int, int]]], beta: float
) -> None:
    """Rows of (tp, fp, fn), large enough that rounding hides differences."""
    total, expected = np.zeros(3), []
    counts = [[(tp, tp + fp, tp + fn) for tp, fp, fn in row] for row in rows]
    for row, sums in zip(rows, counts, strict=True):
        keys = [
            (round(f_score(*(total + own), beta), 4), tp, -fp, -fn)
            for own, (tp, fp, fn) in zip(sums, row, strict=True)
        ]
        expected.append(keys.index(max(keys)))
        total += sums[expected[-1]]
    metric = Errant(beta=beta, annotator="en-ewt-sm")
    assert metric.chosen(statistics_of(counts)).tolist() == expected


@given(rows(), st.integers(0, 2**32 - 1), st.sampled_from(["corpus", "sentence"]))
@settings(max_examples=100, deadline=None)
def test_resamples_choose_anew(rows: Rows, seed: int, level: str) -> None:
    metric, statistics = M2(level=level), statistics_of(rows)
    draws = np.random.default_rng(seed).integers(0, len(rows), (4, len(rows) + 1))
    expected = [metric.aggregate(statistics.take(draw)) for draw in draws]
    assert metric.aggregate_many(statistics, draws) == pytest.approx(expected, abs=1e-12)


def test_records_explain_the_counts(sample: Sample) -> None:
    statistics = M2().statistics(sample.sources, sample.systems["weak"], sample.references)
    assert json.loads(json.dumps(statistics.records)) == list(statistics.records)
    for number, row in enumerate(statistics.records):
        for column, record in enumerate(row):
            assert statistics["annotator"][number, column] == record["annotator"]
            assert statistics["proposed"][number, column] == len(record["edits"])
            assert statistics["gold"][number, column] == len(record["gold"])
            matched = sum(edit["matched"] for edit in record["gold"])
            assert statistics["tp"][number, column] == matched


def test_recall_by_type() -> None:
    gold = (Edit(0, 1, "a", "ONE"), Edit(1, 2, "b", "TWO"), Edit(2, 3, "c", "TWO"))
    statistics = M2().statistics(["x y z"], ["a y c"], references_of("x y z", gold))
    by_type = M2().by_type(statistics)
    assert list(by_type) == ["TWO", "ONE"]
    assert by_type["TWO"] == {"tp": 1, "gold": 2, "recall": 0.5}
    assert by_type["ONE"] == {"tp": 1, "gold": 1, "recall": 1.0}


def test_texts_get_gold_edits_by_alignment() -> None:
    sources, hypotheses = ["He go to the home ."], ["He goes to home ."]
    references = References.from_texts(["He goes home ."])
    score = M2().score(sources, hypotheses, references)
    # The gold edit is "go to the" -> "goes".
    assert score.details["gold"] == 1
    assert score.details["tp"] == 0
    assert score.signature.endswith("|gold:aligned")
    equal = M2().score(sources, ["He goes home ."], references)
    assert equal.value == 1.0
    same = M2().score(sources, hypotheses, references_of(sources[0], [Edit(1, 4, "goes")]))
    assert same.details == score.details
    assert "aligned" not in same.signature


def test_processes_change_nothing(sample: Sample) -> None:
    scores = M2().score(sample.sources, sample.systems, sample.references)
    two = M2().score(sample.sources, sample.systems, sample.references, runtime=Runtime(jobs=2))
    for system, score in scores.items():
        assert two[system].value == score.value
        assert two[system].statistics.records == score.statistics.records
        assert two[system].sentences == pytest.approx(score.sentences, abs=0)


# The official scorer's F0.5, P and R on the CoNLL-2014 gold: results of the shared task.
SHARED_TASK = {
    "CAMB": (0.3733, 0.3971, 0.3010),
    "INPUT": (0.0000, 1.0000, 0.0000),
    "UFC": (0.0784, 0.7000, 0.0172),
}

# M2 and SentM2 in the README of SEEDA; for REF-F it has 48.99, the official code gives 48.93.
SEEDA = {"GPT-3.5": (53.5, 53.28), "REF-F": (47.48, 48.93), "TransGEC": (68.08, 68.33)}


@pytest.mark.realdata
def test_published_scores_on_conll14(mirror: Path) -> None:
    # Three of 13 and three of 15 systems, for time's sake; the others agree as well.
    (conll,) = mirror.glob("pygongnlp/PT-M2/*/data")
    (seeda,) = mirror.glob("tmu-nlp/SEEDA/*/outputs/all")
    (task,) = mirror.glob("grammatical/evaluation/*/data/original/official_submissions")
    sources = read_lines(conll / "source")
    references = References.from_m2(conll / "reference.m2", sources)
    systems = {f"task {name}": read_lines(task / name) for name in SHARED_TASK}
    systems |= {f"seeda {name}": read_lines(seeda / f"{name}.txt") for name in SEEDA}
    statistics = bind_one(M2()).statistics(sources, systems, references)
    for name, published in SHARED_TASK.items():
        rows = statistics[f"task {name}"]
        details = M2().details(rows)
        scores = [M2().aggregate(rows), details["precision"], details["recall"]]
        assert scores == pytest.approx(published, abs=5.1e-5)
    for name, percent in SEEDA.items():
        rows = statistics[f"seeda {name}"]
        scores = [100 * M2(level=level).aggregate(rows) for level in ("corpus", "sentence")]
        assert scores == pytest.approx(percent, abs=5.1e-3)
