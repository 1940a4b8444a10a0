"""The ranking of a study, the agreement of its raters, and raters who answer at random."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from studies import SOURCES, SYSTEMS, Make

from learnedgec import Resampling
from learnedgec.data.text import write_lines
from learnedgec.judging.exchange import import_judgements
from learnedgec.judging.records import Answer, Item, StudySettings
from learnedgec.judging.status import (
    StudyStatus,
    agreement,
    judgements_needed,
    study_status,
)
from learnedgec.judging.study import Study
from learnedgec.table import Row


def quality(text: str) -> int:
    return ("goes" in text) - text.startswith("Go")


def careful(item: Item, noise: float, random: np.random.Generator) -> Answer:
    first, second = (quality(text) + noise * random.normal() for text in item.texts)
    return Answer(ranks=[1 + (first < second), 1 + (second < first)])


def at_random(item: Item, noise: float, random: np.random.Generator) -> Answer:
    return Answer(ranks=[[1, 2], [2, 1], [1, 1]][random.integers(3)])


def answered(
    study: Study, noise: float = 0.3, seed: int = 0, random_rater: str = ""
) -> StudyStatus:
    random = np.random.default_rng(seed)
    for rater in study.raters:
        while item := study.next(rater):
            say = at_random if rater == random_rater else careful
            study.record(item.number, say(item, noise, random), seconds=4)
    return study_status(study, Resampling(200))


def test_the_ranking_and_what_would_separate_its_neighbours(make: Make) -> None:
    status = answered(make(raters=2, questions=60, overlap=0.5))
    rows = status.ranking
    assert {row["system"] for row in rows[:2]} == {"good", "twin"}
    assert [row["system"] for row in rows[2:]] == ["fair", "poor"]
    assert rows[0]["cluster"] == rows[1]["cluster"] == 1
    assert rows[3]["cluster"] > 1
    assert rows[0]["score"] == rows[1]["score"] > rows[2]["score"] > rows[3]["score"]
    assert all(row["low"] <= row["score"] <= row["high"] for row in rows)
    twins, *others = status.separations
    # Equal texts are never compared, and no number of judgements tells them apart.
    assert (twins["judged"], twins["more"]) == (0, None)
    assert [row["judged"] > 0 for row in others] == [True, True]


def test_the_time_of_an_answer_is_the_median_of_the_known_ones(make: Make) -> None:
    study = make(raters=2, questions=24, repeats=0, overlap=0)
    random = np.random.default_rng(0)
    for rater, times in (("rater-1", [0, 0, 3, 5, 9]), ("rater-2", [0, math.nan])):
        for seconds in times:
            item = study.next(rater)
            assert item is not None
            study.record(item.number, careful(item, 0.3, random), seconds=seconds)
    assert [row["seconds"] for row in study_status(study, Resampling(50)).raters] == [5, None]


def test_raters_who_agree_and_one_who_answers_at_random(make: Make) -> None:
    status = answered(
        make(raters=3, questions=72, overlap=0.4, repeats=0.2), random_rater="rater-3"
    )
    steady, other, random = status.raters
    assert not steady["random"]
    assert not other["random"]
    assert random["random"]
    assert steady["above_chance"] > 3
    assert steady["consistent"] > random["consistent"]
    assert (steady["left"], steady["skipped"], steady["seconds"]) == (0, 0, 4)
    assert 0 < status.agreement["cohen"] < 0.7
    assert status.agreement["fleiss"] == pytest.approx(status.agreement["alpha"], abs=0.05)


def test_agreement_of_two_and_of_three_raters() -> None:
    # Two raters on four units, of which they answer three alike; worked out by hand.
    said = {"a": [1, 1, -1, 0], "b": [1, -1, -1, 0]}
    values = {
        rater: {item: {(item, 0, 1): float(value)} for item, value in enumerate(row)}
        for rater, row in said.items()
    }
    two = agreement(values, StudySettings())
    assert two["units"] == 4
    assert two["cohen"] == pytest.approx((3 / 4 - 5 / 16) / (1 - 5 / 16))
    assert two["fleiss"] == pytest.approx((3 / 4 - 22 / 64) / (1 - 22 / 64))
    assert two["alpha"] == pytest.approx(2 / 3)
    # A third rater, of one unit: two of six agreements there; nine answers, of them 3, 4 and 2 of a kind.
    values["c"] = {0: {(0, 0, 1): -1.0}}
    three = agreement(values, StudySettings())
    assert three["alpha"] < two["alpha"]
    assert three["cohen"] < two["cohen"]
    same, chance = (1 / 3 + 0 + 1 + 1) / 4, (9 + 16 + 4) / 81
    assert three["fleiss"] == pytest.approx((same - chance) / (1 - chance))
    # κ is undefined for two raters who always say the same, and 0 for each of them and a third who disagrees.
    values = {"a": {0: {(0, 0, 1): 1.0}}, "b": {0: {(0, 0, 1): 1.0}}, "c": {0: {(0, 0, 1): -1.0}}}
    assert agreement(values, StudySettings())["cohen"] == 0
    del values["c"]
    assert math.isnan(agreement(values, StudySettings())["cohen"])


def test_agreement_counts_the_raters_who_answered_and_the_pairs_that_can_agree(
    make: Make, tmp_path: Path
) -> None:
    def said(name: str, rows: Sequence[Sequence[int | None]]) -> Row:
        """Return the agreement in a study with a link that nobody used, `rater-1`."""
        study = make(name, task="ratings", scale="0-100", raters=1, repeats=0.0)
        table = tmp_path / f"{name}.csv"
        lines = [
            f"{unit},fair,{value},{rater}"
            for rater, row in enumerate(rows)
            for unit, value in enumerate(row)
            if value is not None
        ]
        write_lines(table, ["id,system,quality,annotator", *lines])
        import_judgements(study.folder, table, study.sources)
        return study_status(study, Resampling(50)).agreement

    every = said(
        "every", [[1, 2, 3, 3, 2, 1, 4, 1], [1, 2, 3, 3, 2, 2, 4, 1], [1, 2, 3, 1, 2, 1, 4, 2]]
    )
    assert every["fleiss"] == pytest.approx((3 / 4 - 0.28125) / (1 - 0.28125))
    assert every["alpha"] == pytest.approx(0.7665, abs=5e-5)
    assert every["cohen"] == pytest.approx(0.6534, abs=5e-5)
    # Two raters share two values; the other pairs of raters share one, for which κ does not exist.
    some = said("some", [[1, 1, 2], [1, 1, None], [None, 1, 2]])
    assert (some["cohen"], some["fleiss"], some["alpha"]) == pytest.approx((1, 1, 1))


def test_the_interval_of_a_system_that_wins_nothing_holds_what_it_may_win(tmp_path: Path) -> None:
    systems = {name: SYSTEMS[name][:18] for name in ("good", "poor")}
    settings = StudySettings(sentences=18, raters=1, repeats=0, order="random")
    study = Study.create(tmp_path / "study", SOURCES[:18], systems, settings=settings)
    while item := study.next("rater-1"):
        study.record(item.number, Answer(ranks=[1 + ("Go he" in text) for text in item.texts]))
    good, poor = study_status(study, Resampling(500)).ranking
    # The exact interval of 0 of 18 is [0, .185].
    assert (poor["low"], poor["high"]) == pytest.approx((0, 0.2), abs=0.002)
    assert (good["low"], good["high"]) == pytest.approx((0.8, 1), abs=0.002)


def test_ratings_rank_by_their_mean_and_edits_by_what_was_accepted(make: Make) -> None:
    ratings = make("ratings", task="ratings", scale="0-100", sentences=6, questions=18, raters=1)
    while item := ratings.next("rater-1"):
        ratings.record(item.number, Answer(values={"quality": 50 + 20 * quality(item.texts[0])}))
    rows = study_status(ratings, Resampling(50)).ranking
    assert [row["score"] for row in rows] == [70, 70, 50, 30]
    edits = make("edits", task="edits", sentences=6, questions=18, raters=1)
    while item := edits.next("rater-1"):
        edits.record(item.number, Answer(edits=[quality(item.texts[0]) or 1] * len(item.edits)))
    status = study_status(edits, Resampling(50))
    assert {row["system"]: row["score"] for row in status.ranking} == {
        "good": 1,
        "twin": 1,
        "fair": 1,
        "poor": 0,
    }
    assert math.isnan(status.agreement["alpha"])


def test_without_judgements_there_is_no_ranking(make: Make) -> None:
    status = study_status(make(), Resampling(20))
    assert status.ranking == []
    assert status.separations == []
    assert status.agreement["units"] == 0
    assert status.raters[0]["done"] == 0


@pytest.mark.parametrize("task", ["pairs", "ranking", "ratings", "edits"])
@pytest.mark.parametrize("raters", [1, 2, 3])
@pytest.mark.parametrize("kind", ["equal", "constant", "different"])
def test_every_task_has_a_status_with_any_raters_and_answers(
    make: Make, task: str, raters: int, kind: str
) -> None:
    study = make(task=task, raters=raters, sentences=8, questions=12, overlap=1, repeats=0)

    def answer(item: Item) -> Answer:
        values = {
            "equal": [2] * len(item.texts),
            "constant": list(range(1, len(item.texts) + 1)),
            "different": [2 - quality(text) for text in item.texts],
        }[kind]
        if task == "ratings":
            return Answer(values=dict.fromkeys(study.settings.dimensions, values[0]))
        if task == "edits":
            return Answer(edits=[2 - values[0]] * len(item.edits))
        return Answer(ranks=[1 + sorted(values).index(value) for value in values])

    for answers in (0, 1, 10):
        for rater in study.raters:
            while (item := study.next(rater)) and item.position < answers:
                study.record(item.number, answer(item), seconds=5)
        status = study_status(study, Resampling(20))
        done = min(answers, study.settings.total)
        assert [row["done"] for row in status.raters] == [done] * raters
        # Twenty answers would be enough to say so.
        assert {row["random"] for row in status.raters} == {None}
        told = raters > 1 and kind == "different" and answers == 10
        for row in status.raters if told else ():
            assert row["above_chance"] > 1


def test_the_number_of_judgements_has_the_power_that_it_promises() -> None:
    # Outcomes 1, -1 and 0 with shares .4, .3 and .3.
    mean, deviation = 0.1, math.sqrt(0.7 - 0.01)
    needed = round(judgements_needed(mean, deviation))
    random = np.random.default_rng(0)
    drawn = random.choice([1, -1, 0], (4000, needed), p=[0.4, 0.3, 0.3])
    z = drawn.mean(axis=1) / (drawn.std(axis=1) / math.sqrt(needed))
    assert (z > 1.96).mean() == pytest.approx(0.8, abs=0.03)
    assert judgements_needed(0, 1) == math.inf
