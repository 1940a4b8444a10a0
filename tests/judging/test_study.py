"""Studies: what raters are asked, how answers are kept, and the benchmark that they make."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from studies import SOURCES, SYSTEMS, Make

from learnedgec import load_benchmark
from learnedgec.data.catalog.ratings import load_ratings
from learnedgec.data.m2 import AnnotatedSentence, Edit
from learnedgec.data.references import References
from learnedgec.data.text import read_lines, write_lines
from learnedgec.errors import (
    ConfigError,
    InputError,
    InputWarning,
    LengthError,
    OutputError,
    UnknownNameError,
)
from learnedgec.judging.records import Answer, AnsweredError, Item, StudySettings, counted
from learnedgec.judging.study import Study
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs.judged import RankingPairs, read_ranked_pairs

QUALITY = {"good": 0, "twin": 0, "fair": 1, "poor": 2}


def rank(item: Item) -> Answer:
    """Return the ranks that a perfect rater gives: the systems are known by their texts."""
    order = [("goes" not in text) + text.startswith("Go") for text in item.texts]
    return Answer(ranks=[1 + sorted(order).index(place) for place in order])


def answer_all(study: Study, rater: str, answer: Any = rank) -> list[Item]:
    items = []
    while item := study.next(rater):
        items.append(item)
        study.record(item.number, answer(item), seconds=3)
    return items


@pytest.mark.parametrize("order", ["informative", "random"])
@pytest.mark.parametrize("task", ["pairs", "ranking"])
def test_judgements_become_a_benchmark_that_counts_equal_outputs_for_all(
    make: Make, task: str, order: str
) -> None:
    study = make(task=task, order=order)
    for rater in study.raters:
        answer_all(study, rater)
    benchmark = study.benchmark()
    assert set(benchmark.systems) == set(SYSTEMS)
    assert benchmark.rankings
    for ranking in benchmark.rankings:
        (better, _), (worse, _) = sorted(ranking.ranks.items(), key=lambda pair: pair[1])
        assert QUALITY[better] < QUALITY[worse]
    met = Counter(frozenset(ranking.ranks) for ranking in benchmark.rankings)
    assert frozenset({"good", "twin"}) not in met
    # The two systems with the same text met the others equally often.
    assert met[frozenset({"good", "fair"})] == met[frozenset({"twin", "fair"})] > 0
    assert load_benchmark(str(study.folder)).rankings == benchmark.rankings
    for pair in RankingPairs([str(study.folder)]).make(study.folder, Runtime()):
        assert ("goes" in pair.better, "Go he" in pair.worse) != (False, False)


def test_each_rater_has_shared_own_and_repeated_questions(make: Make) -> None:
    study = make(overlap=0.25, repeats=0.2, raters=3)
    # 24 questions: 6 for all, 18 divided by three, 2 of each rater's 12 twice.
    assert (study.settings.shared, study.settings.own, study.settings.repeated) == (6, 6, 2)
    for rater in study.raters:
        items = answer_all(study, rater)
        assert len(items) == study.settings.total == 14
        assert [item.position for item in items] == list(range(14))
    judgements = study.judgements()
    by_question = Counter(each.question for each in judgements if each.repeats is None)
    assert Counter(by_question.values()) == {1: 18, 3: 6}
    repeated = [each for each in judgements if each.repeats is not None]
    assert Counter(each.rater for each in repeated) == dict.fromkeys(study.raters, 2)
    items_of = {each.item: each for each in judgements}
    for each in repeated:
        assert each.repeats is not None
        first = items_of[each.repeats]
        assert (first.rater, first.question) == (each.rater, each.question)
        # A consistent rater says the same, whatever the order on the screen.
        assert first.answer == each.answer
    # Repetitions are not counted as judgements.
    assert len({(row.sentence, row.annotator) for row in study.benchmark().rankings}) <= 36


def test_a_question_is_not_asked_twice_and_the_study_ends_when_all_are_asked(make: Make) -> None:
    study = make(raters=1, sentences=8, questions=1000, repeats=0)
    # Each of the 8 sentences has three different texts, so three pairs.
    assert study.settings.questions == 24
    items = answer_all(study, "rater-1")
    assert len({(item.source, frozenset(item.texts)) for item in items}) == len(items) == 24
    assert study.next("rater-1") is None


def test_equal_outputs_and_repeated_sentences_are_left_out(tmp_path: Path) -> None:
    sources = [*SOURCES[:6], "Fine .", *SOURCES[:6], SOURCES[0]]
    systems = {
        name: [*lines[:6], "Fine .", *lines[:6], f"{name} is another output ."]
        for name, lines in SYSTEMS.items()
    }
    expected = (
        r"the study asks about 7 of 14 sentences; left out: equal outputs \(1\), repetitions of a sentence "
        r"and its outputs \(6\)\."
    )
    settings = StudySettings(sentences=14, questions=99, raters=1, repeats=0, annotator="plain")
    with pytest.warns(InputWarning, match=f"^{expected}$"):
        study = Study.create(tmp_path / "study", sources, systems, settings=settings)
    items = answer_all(study, "rater-1")
    # The last one repeats a source, with other outputs.
    assert len({(item.source, frozenset(item.texts)) for item in items}) == len(items) == 6 * 3 + 6
    settings = StudySettings(sentences=2, task="edits", annotator="plain")
    with pytest.warns(InputWarning, match=r"1 of 2 sentences; left out: no edits \(1\)\.$"):
        Study.create(tmp_path / "edits", ["A .", "B ."], {"x": ["A .", "B !"]}, settings=settings)


def test_texts_are_shown_in_either_order(make: Make) -> None:
    study = make(raters=1, repeats=0)
    first = Counter(item.texts[0] for item in answer_all(study, "rater-1"))
    judged = {each.groups[0][0] for each in study.judgements()}
    assert "good" in judged
    shown_first = Counter("goes" in text for text in first)
    assert min(shown_first[True], shown_first[False]) > 3


def test_a_rater_goes_on_where_the_last_session_ended(make: Make) -> None:
    study = make()
    item = study.next("rater-1")
    assert item is not None
    again = Study(study.folder)
    assert again.next("rater-1") == item
    again.record(item.number, rank(item))
    following = study.next("rater-1")
    assert following is not None
    assert (following.position, following.previous) == (1, item.number)
    other = study.next("rater-2")
    assert other is not None
    assert other.number != following.number


def test_an_answer_can_be_changed_and_all_versions_are_kept(make: Make) -> None:
    study = make()
    item = study.next("rater-1")
    assert item is not None
    study.record(item.number, Answer(ranks=[1, 2], comment="first"))
    shown = study.item("rater-1", item.number)
    assert (shown.version, shown.answer) == (1, Answer(ranks=[1, 2], comment="first"))
    study.record(item.number, Answer(ranks=[2, 1]), version=1)
    assert study.item("rater-1", item.number).answer == Answer(ranks=[2, 1])
    assert len(study.judgements()) == 1
    with sqlite3.connect(study.folder / "study.sqlite") as database:
        assert database.execute("SELECT count(*) FROM answers").fetchone() == (2,)
    database.close()


def test_an_answer_that_comes_twice_or_late_is_stored_once(make: Make) -> None:
    study = make()
    item = study.next("rater-1")
    assert item is not None
    study.record(item.number, Answer(ranks=[1, 2]), version=0, key="k")
    study.record(item.number, Answer(ranks=[1, 2]), version=0, key="k")
    with pytest.raises(AnsweredError, match="answered in another window; that answer is kept"):
        study.record(item.number, Answer(ranks=[2, 1]), version=0, key="other")
    assert study.item("rater-1", item.number).answer == Answer(ranks=[1, 2])
    assert study.item("rater-1", item.number).version == 1


def test_many_raters_at_once_lose_and_double_nothing(make: Make) -> None:
    study = make(raters=4, overlap=0.5)

    def work(rater: str) -> int:
        return len(answer_all(Study(study.folder), rater))

    with ThreadPoolExecutor(8) as pool:
        # Two sessions of each rater race for the same items.
        counts = list(pool.map(work, study.raters * 2))
    assert sum(counts) >= 4 * study.settings.total
    judgements = study.judgements()
    assert Counter(each.rater for each in judgements) == dict.fromkeys(
        study.raters, study.settings.total
    )
    questions = Counter((each.rater, each.question) for each in judgements if each.repeats is None)
    assert set(questions.values()) == {1}


def test_skipped_items_are_kept_and_not_counted(make: Make) -> None:
    study = make(raters=1)
    item = study.next("rater-1")
    assert item is not None
    study.record(item.number, Answer(skip="not English"))
    assert study.judgements()[0].answer.skip == "not English"
    with pytest.raises(InputError, match="has no judgements"):
        study.benchmark()
    answer_all(study, "rater-1")
    judged = {frozenset(ranking.ranks) for ranking in study.benchmark().rankings}
    assert judged
    assert (
        len(list(counted(study.judgements()))) == study.settings.total - 1 - study.settings.repeated
    )


def test_judgements_of_texts_that_changed_are_left_out(make: Make) -> None:
    study = make(raters=1, sentences=24)
    answer_all(study, "rater-1")
    before = len(study.judgements())
    path = study.folder / "systems" / "poor.txt"
    lines = read_lines(path)
    write_lines(path, ["Something else .", *lines[1:]])
    changed = Study(study.folder).judgements()
    assert 0 < before - len(changed) <= before
    assert not any(each.sentence == 0 and ("poor",) in each.groups for each in changed)


def test_ratings(make: Make) -> None:
    study = make(task="ratings", sentences=8, questions=60)
    values = {"grammaticality": 4.0, "fluency": 3.0, "meaning": 2.0}

    def answer(item: Item) -> Answer:
        good = "goes" in item.texts[0]
        return Answer(values=values if good else dict.fromkeys(values, 1.0))

    for rater in study.raters:
        answer_all(study, rater, answer)
    benchmark = study.benchmark()
    assert benchmark.official["fluency"] == {"good": 3.0, "twin": 3.0, "fair": 1.0, "poor": 1.0}
    assert benchmark.official["meaning"]["good"] == 2.0
    ratings = load_ratings(str(study.folder))
    assert {
        rating.values["grammaticality"] for rating in ratings if "goes" in rating.hypothesis
    } == {4}


def test_edits_become_pairs_and_shares(make: Make) -> None:
    study = make(task="edits", raters=1, sentences=8, questions=72, repeats=0)

    def answer(item: Item) -> Answer:
        said = {"goes": 1, "the": 0}
        return Answer(edits=[said.get(edit.correction, -1) for edit in item.edits])

    items = answer_all(study, "rater-1", answer)
    assert {len(item.texts) for item in items} == {1}
    assert all(item.edits for item in items)
    accepted = study.benchmark().official["accepted"]
    assert accepted["good"] == accepted["twin"] == 1
    assert accepted["poor"] == 0
    # Of `fair` nothing is known: every answer was unsure.
    assert "fair" not in accepted or accepted["fair"] != accepted["fair"]
    pairs = read_ranked_pairs(study.folder / "pairs.csv")
    good = [pair for pair in pairs if "goes" in pair.better]
    assert good
    assert all(pair.worse == pair.source for pair in good)
    # What was rejected makes the output worse than it is without it.
    assert all(pair.better == pair.source for pair in pairs if "Go he" in pair.worse)
    with (study.folder / "edits.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {(row["correction"], row["systems"], row["accepted"]) for row in rows} >= {
        ("goes", "good twin", "1")
    }


def test_the_source_can_be_a_candidate(make: Make) -> None:
    study = make(source_is_candidate=True, raters=1, sentences=6, questions=200, repeats=0)
    answer_all(study, "rater-1", lambda item: Answer(ranks=[1, 1], bad=True))
    benchmark = study.benchmark()
    assert "source" in benchmark.systems
    assert any("source" in ranking.ranks for ranking in benchmark.rankings)
    assert {tuple(ranking.ranks.values()) for ranking in benchmark.rankings} == {(1, 1)}


def test_references_go_along(tmp_path: Path) -> None:
    blocks = [AnnotatedSentence(source, {0: (Edit(1, 2, "goes", "R"),)}) for source in SOURCES]
    study = Study.create(
        tmp_path / "study",
        SOURCES,
        SYSTEMS,
        References.from_annotated(blocks),
        settings=StudySettings(sentences=5, order="random"),
    )
    answer_all(study, "rater-1")
    references = study.benchmark().references
    assert references is not None
    assert len(references) == 5
    assert references[0][0].edits == (Edit(1, 2, "goes", "R"),)
    plain = Study.create(tmp_path / "plain", SOURCES, SYSTEMS, [["A ."]] * 24)
    answer_all(plain, "rater-1")
    assert plain.benchmark().references is not None


def test_the_informative_order_takes_each_type_of_error_at_its_share(tmp_path: Path) -> None:
    sources = [f"He go to place {number} ." for number in range(60)]
    outputs = [
        f"He goes to place {number} ." if number % 3 else f"He go to the place {number} ."
        for number in range(60)
    ]
    settings = StudySettings(sentences=15, source_is_candidate=True, annotator="plain")
    study = Study.create(tmp_path / "study", sources, {"ours": outputs}, settings=settings)
    kinds = Counter("the" in line for line in read_lines(study.folder / "systems" / "ours.txt"))
    assert kinds == {True: 5, False: 10}


def test_tokens_name_their_raters(make: Make) -> None:
    study = make()
    assert study.raters == ["rater-1", "rater-2"]
    assert set(study.tokens) == {"owner", *study.raters}
    assert len(set(study.tokens.values())) == 3
    assert [study.find_rater(token) for token in study.tokens.values()] == list(study.tokens)
    assert study.find_rater("") is None
    assert study.find_rater("ü") is None


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(), "one rank from 1 to 2"),
        (Answer(ranks=[1]), "one rank from 1 to 2"),
        (Answer(ranks=[1, 3]), "one rank from 1 to 2"),
        (Answer(ranks=[1, 2], bad=True), "give them equal ranks"),
        (Answer(ranks=[1, 2], skip="why"), "skipped and answered"),
        (Answer(ranks=[1, 2], comment="x" * 4001), "longer than 4,000"),
    ],
)
def test_what_is_no_answer_is_refused(make: Make, answer: Answer, message: str) -> None:
    study = make()
    item = study.next("rater-1")
    assert item is not None
    with pytest.raises(InputError, match=message):
        study.record(item.number, answer)
    with pytest.raises(InputError, match="seconds is -5; a number of at least 0 was expected"):
        study.record(item.number, Answer(ranks=[1, 2]), seconds=-5)
    assert study.judgements() == []


def test_ratings_and_edits_are_checked() -> None:
    ratings, edits = StudySettings(task="ratings", scale="0-100"), StudySettings(task="edits")
    with pytest.raises(InputError, match="quality is 101; a whole number from 0 to 100"):
        Answer(values={"quality": 101}).check(ratings, 1, 0)
    with pytest.raises(InputError, match="ratings of fluency were given; quality were expected"):
        Answer(values={"fluency": 1}).check(ratings, 1, 0)
    with pytest.raises(InputError, match=r"quality is 2\.5; a whole number from 0 to 100"):
        Answer(values={"quality": 2.5}).check(ratings, 1, 0)
    Answer(values={"quality": 100.0}).check(ratings, 1, 0)
    with pytest.raises(InputError, match="quality is nan"):
        Answer(values={"quality": float("nan")}).check(ratings, 1, 0)
    with pytest.raises(
        InputError, match=r"1 \(accept\), 0 \(unsure\) or -1 \(reject\) for each of 2 edits"
    ):
        Answer(edits=[1]).check(edits, 1, 2)


def test_what_is_no_study_is_refused(make: Make, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a study, because"):
        Study(tmp_path)
    study = make()
    with pytest.raises(InputError, match="exists; name it alone"):
        make()
    with pytest.raises(UnknownNameError, match="no rater is named 'rater-9'"):
        study.next("rater-9")
    with pytest.raises(InputError, match="this rater has no item 7"):
        study.item("rater-1", 7)
    path = study.folder / "study.yaml"
    settings = path.read_text()
    for old, new, message in [
        ("task: pairs", "tasks: pairs", "did you mean 'task'"),
        ("task: pairs", "task: pair", "did you mean 'pairs'"),
        ("raters: 2", "raters: many", "raters is .many."),
        ("overlap: 0.2", "overlap: 2", "overlap is 2"),
        ("seed: 0", "seed: -1", "seed is -1; a number of at least 0 was expected"),
        ("questions: 24", "questions: -1", "questions is -1; a number of at least 1"),
        ("task: pairs", "task: [", "is not YAML"),
    ]:
        path.write_text(settings.replace(old, new))
        with pytest.raises((ConfigError, UnknownNameError), match=message):
            Study(study.folder)


def test_what_cannot_be_asked_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="all outputs are equal"):
        Study.create(tmp_path / "a", ["A ."], {"x": ["B ."], "y": ["B ."]})
    with pytest.raises(InputError, match="a system is named source"):
        Study.create(tmp_path / "a", ["A ."], {"source": ["B ."], "y": ["C ."]})
    with pytest.raises(InputError, match="named 'a/b', which cannot be a file's name"):
        Study.create(tmp_path / "a", ["A ."], {"a/b": ["B ."], "y": ["C ."]})
    with pytest.raises(LengthError):
        Study.create(tmp_path / "a", ["A ."], {"x": ["B .", "C ."], "y": ["C ."]})
    assert list(tmp_path.iterdir()) == []


def test_a_study_is_replaced_only_on_request_and_nothing_else_is(
    make: Make, tmp_path: Path
) -> None:
    study = make()
    answer_all(study, "rater-1")
    new = Study.create(study.folder, SOURCES, SYSTEMS, overwrite=True)
    assert new.judgements() == []
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(InputError, match="exists"):
        Study.create(other, SOURCES, SYSTEMS, overwrite=True)


def test_settings_are_kept(make: Make) -> None:
    study = make(title="Ünsere Studie", task="ranking", order="random")
    assert Study(study.folder).settings == study.settings
    guidelines = (study.folder / "guidelines.md").read_text(encoding="utf-8")
    assert "equal ranks" in guidelines
    assert json.dumps(study.settings.title) == '"\\u00dcnsere Studie"'


def test_answers_are_added_to_the_tables_and_changed_ones_write_them_anew(make: Make) -> None:
    study = make(raters=1, repeats=0)
    table = study.folder / "rankings.csv"
    items: list[Item] = []
    lines: list[int] = []
    for _ in range(4):
        item = study.next("rater-1")
        assert item is not None
        items.append(item)
        study.record(item.number, rank(item))
        study.update_tables()
        lines.append(len(read_lines(table)))
    appended = table.read_bytes()
    # Equal outputs make several rows of one answer.
    assert lines == sorted(set(lines))
    study.write_tables()
    assert table.read_bytes() == appended
    study.record(items[0].number, Answer(skip="not English"))
    Study(study.folder).update_tables()
    assert len(read_lines(table)) < lines[-1]
    changed = table.read_bytes()
    # Somebody else changed the table.
    table.write_bytes(changed + b"0,good,poor,0,nobody\n")
    study.update_tables()
    assert table.read_bytes() == changed


def test_one_of_those_that_wait_updates_the_tables(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, transaction, begun = make(raters=1, repeats=0), Study._transaction, []

    def another_meanwhile(study: Study, **options: Any) -> Any:
        begun.append(study)
        if len(begun) == 1:
            study.update_tables()
        return transaction(study, **options)

    answer_all(study, "rater-1")
    monkeypatch.setattr(Study, "_transaction", another_meanwhile)
    study.update_tables()
    assert len(begun) == 1
    study.update_tables()
    assert len(begun) == 2
    assert len(read_lines(study.folder / "rankings.csv")) > 1


def test_raters_join_a_running_study(make: Make) -> None:
    study, page = make(overlap=0.5, repeats=0), None
    answer_all(study, "rater-1")
    page = Study(study.folder)
    assert page.raters == ["rater-1", "rater-2"]
    study.add_raters(3)
    token = study.tokens["rater-3"]
    # The process that was there before knows the link.
    assert page.find_rater(token) == "rater-3"
    assert page.find_rater("unknown") is None
    assert page.settings.raters == 3
    items = answer_all(page, "rater-3")
    assert len(items) == page.settings.total == 12 + 4
    with pytest.raises(
        InputError, match="has 3 raters, and 2 were asked for; raters can only be added"
    ):
        page.add_raters(2)


def test_reading_a_study_writes_nothing(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make()
    answer_all(study, "rater-1")
    count = len(study.judgements())
    del study

    def refused(path: str, **settings: Any) -> sqlite3.Connection:
        """Connect as on a disk that cannot be written, where WAL has no place."""
        if "immutable" not in path:
            raise sqlite3.OperationalError("unable to open database file")
        return connect(path, **settings)

    connect = sqlite3.connect
    folder = make("other").folder.with_name("study")
    with sqlite3.connect(folder / "study.sqlite") as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    monkeypatch.setattr(sqlite3, "connect", refused)
    read_only = Study(folder)
    assert len(read_only.judgements()) == count
    with pytest.raises(OutputError, match="cannot be used"):
        read_only.next("rater-2")
