"""Judgements from Label Studio, Appraise and tables, and studies as projects of Label Studio."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from studies import SOURCES, SYSTEMS, Make

from learnedgec import load_benchmark
from learnedgec.cli.main import main
from learnedgec.data.text import read_lines, write_lines
from learnedgec.errors import FormatError, InputError, LearnedgecError, UnknownNameError
from learnedgec.judging.exchange import Imported, import_judgements, read_judgements, write_project
from learnedgec.judging.records import Answer
from learnedgec.judging.study import Study

Result = dict[str, Any]


def result(name: str, kind: str, value: Any, key: str = "") -> Result:
    return {"from_name": name, "to_name": "text", "type": kind, "value": {key or kind: value}}


def exported(
    tasks: Sequence[Mapping[str, Any]], annotate: Any, path: Path, users: Sequence[Any] = (7,)
) -> Path:
    """Write what Label Studio exports after its users annotated some tasks."""
    content = [
        {
            "id": 100 + number,
            "data": task["data"],
            "annotations": [
                {
                    "id": 10 * number + place,
                    "completed_by": user,
                    "result": annotate(task["data"]),
                    "was_cancelled": False,
                    "lead_time": 4.5,
                    "updated_at": "2026-11-26T09:00:00Z",
                }
                for place, user in enumerate(users)
            ],
            "predictions": [],
        }
        for number, task in enumerate(tasks)
    ]
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def quality(text: str) -> int:
    """Return 2 for `good` and `twin`, 1 for `fair` and 0 for `poor`."""
    return 1 + ("goes" in text) - text.startswith("Go")


def annotate_pair(data: Mapping[str, Any]) -> list[Result]:
    first, second = quality(data["text1"]), quality(data["text2"])
    chosen = "first" if first > second else "second" if second > first else "equal"
    return [result("better", "choices", [chosen]), result("comment", "textarea", ["fine"], "text")]


def annotate_ranking(data: Mapping[str, Any]) -> list[Result]:
    buckets: dict[str, list[str]] = {"_": []}
    for item in data["items"]:
        buckets.setdefault(str(3 - quality(item["body"])), []).append(item["id"])
    return [result("ranks", "ranker", buckets)]


def annotate_rating(data: Mapping[str, Any]) -> list[Result]:
    names = ("grammaticality", "fluency", "meaning")
    return [result(name, "rating", 2 + quality(data["text"])) for name in names]


def annotate_quality(data: Mapping[str, Any]) -> list[Result]:
    return [result("quality", "number", 50 * quality(data["text"]))]


def annotate_edits(data: Mapping[str, Any]) -> list[Result]:
    said = {"goes": "accept", "the": "unsure"}
    return [
        result(f"edit_{place}", "choices", [said.get(edit["correction"], "reject")])
        for place, edit in enumerate(data["edits"])
    ]


TASKS: Mapping[str, tuple[Mapping[str, Any], Any, str, Mapping[str, float]]] = {
    "pairs": ({"task": "pairs"}, annotate_pair, "Choices", {}),
    "ranking": ({"task": "ranking"}, annotate_ranking, "Ranker", {}),
    "ratings": (
        {"task": "ratings"},
        annotate_rating,
        "Rating",
        {"good": 4.0, "twin": 4.0, "fair": 3.0, "poor": 2.0},
    ),
    "quality": (
        {"task": "ratings", "scale": "0-100"},
        annotate_quality,
        "Number",
        {"good": 100.0, "twin": 100.0, "fair": 50.0, "poor": 0.0},
    ),
    "edits": (
        {"task": "edits"},
        annotate_edits,
        "Repeater",
        {"good": 1.0, "twin": 1.0, "poor": 0.0},
    ),
}


@pytest.mark.parametrize("kind", TASKS)
def test_what_label_studio_collects_comes_back(kind: str, make: Make, tmp_path: Path) -> None:
    settings, annotate, tag, official = TASKS[kind]
    questions = 24 if kind in ("pairs", "ranking") else 72
    study = make(questions=questions, **settings)
    count = len(study.questions())
    project = tmp_path / "project"
    assert write_project(study, project) == count
    config = (project / "labeling_config.xml").read_text(encoding="utf-8")
    root = ElementTree.fromstring(config)
    assert root.tag == "View"
    assert root.find(f".//{tag}") is not None
    tasks = json.loads((project / "tasks.json").read_text(encoding="utf-8"))
    # Annotators see neither the names of systems nor what tells which wrote a text.
    for text in (config, json.dumps(tasks)):
        assert not any(f'"{name}"' in text or "system" in text for name in SYSTEMS)
    # Every field that the configuration shows is in the tasks.
    for element in root.iter():
        if (value := element.get("value", "")).startswith("$"):
            assert all(value[1:].partition("[")[0] in task["data"] for task in tasks)
    file = exported(tasks, annotate, tmp_path / "export.json", (7, {"id": 8, "email": "b@c.org"}))
    assert import_judgements(study.folder, file).new == 2 * count
    # Reading it again changes nothing.
    assert import_judgements(study.folder, file).new == 0
    study = Study(study.folder)
    assert study.raters == ["rater-1", "rater-2", "annotator-7", "b@c.org"]
    judgements = study.judgements()
    assert len(judgements) == 2 * count
    assert {each.seconds for each in judgements} == {4.5}
    assert {each.at for each in judgements} == {"2026-11-26T09:00:00Z"}
    assert {each.answer.comment for each in judgements} == {"fine" if kind == "pairs" else ""}
    benchmark = study.benchmark()
    for ranking in benchmark.rankings:
        # The systems are told apart by the quality of their texts.
        by_rank = sorted(ranking.ranks, key=ranking.ranks.__getitem__)
        texts = [quality(SYSTEMS[name][0]) for name in by_rank]
        assert texts == sorted(texts, reverse=True)
        assert len(set(texts)) == len(set(ranking.ranks.values()))
    assert bool(benchmark.rankings) == (kind in ("pairs", "ranking"))
    for scores in benchmark.official.values():
        assert {name: scores[name] for name in official} == pytest.approx(official)
    assert bool(benchmark.official) == bool(official)


@pytest.mark.parametrize("kind", ["pairs", "ratings", "edits"])
def test_a_benchmark_folder_without_a_study_gets_tables(
    kind: str, make: Make, tmp_path: Path
) -> None:
    settings, annotate, *_ = TASKS[kind]
    study = make(questions=24, **settings)
    tasks = [
        {"data": task["data"]}
        for task in json.loads(
            (_project(study, tmp_path) / "tasks.json").read_text(encoding="utf-8")
        )
    ]
    folder = tmp_path / "benchmark"
    write_lines(folder / "source.txt", SOURCES)
    for name, lines in SYSTEMS.items():
        write_lines(folder / "systems" / f"{name}.txt", lines)
    file = exported(tasks, annotate, tmp_path / "export.json")
    new = import_judgements(folder, file).new
    assert new >= len(tasks)
    assert import_judgements(folder, file).new == 0
    assert main(["judge", str(folder), "--import", str(file)]) == 0
    study.add(read_judgements(file, study.sources, study.systems)[0])
    ours, theirs = load_benchmark(str(folder)), study.benchmark()
    assert sorted(map(repr, ours.rankings)) == sorted(map(repr, theirs.rankings))
    for dimension, scores in theirs.official.items():
        assert ours.official[dimension] == pytest.approx(scores, nan_ok=True)


def _project(study: Study, tmp_path: Path) -> Path:
    write_project(study, tmp_path / "project")
    return tmp_path / "project"


def test_a_changed_annotation_replaces_the_earlier_one(make: Make, tmp_path: Path) -> None:
    study = make(questions=6, repeats=0)
    tasks = json.loads((_project(study, tmp_path) / "tasks.json").read_text(encoding="utf-8"))
    file = exported(tasks, annotate_pair, tmp_path / "export.json")
    assert study.add(read_judgements(file, study.sources, study.systems)[0])[0] == 6
    changed = exported(tasks[:1], lambda _: [result("better", "choices", ["bad"])], file)
    assert study.add(read_judgements(changed, study.sources, study.systems)[0])[0] == 1
    judgements = study.judgements()
    assert len(judgements) == 6
    assert [each.answer for each in judgements if each.answer.bad] == [Answer([1, 1], bad=True)]


def test_annotations_count_once_and_their_latest_version(make: Make, tmp_path: Path) -> None:
    """Label Studio repeats tasks of several annotators, and joined exports do too."""
    study = make(sentences=1, repeats=0)
    (sentence, source, texts, _), *_ = study.questions()
    data = {"sentence": sentence, "source": source, "text1": texts[0], "text2": texts[1]}

    def annotation(number: int, user: int, side: str, day: int) -> dict[str, Any]:
        return {
            "id": number,
            "completed_by": user,
            "updated_at": f"2024-01-0{day}T10:00:00Z",
            "result": [result("pw", "pairwise", side, "selected")],
        }

    both = [annotation(11, 1, "left", 1), annotation(12, 2, "right", 1)]
    file = tmp_path / "export.json"
    folder = tmp_path / "benchmark"
    write_lines(folder / "source.txt", study.sources)
    for name, lines in study.systems.items():
        write_lines(folder / "systems" / f"{name}.txt", lines)

    def read(*annotations: list[dict[str, Any]]) -> list[Imported]:
        tasks = [{"id": 1, "data": data, "annotations": each} for each in annotations]
        file.write_text(json.dumps(tasks), encoding="utf-8")
        return [import_judgements(place, file) for place in (study.folder, folder)]

    def sides() -> list[set[tuple[str, str]]]:
        """Return who preferred which text, in the study and in the table of the benchmark."""
        rankings = load_benchmark(str(folder)).rankings
        sentence_texts = {name: lines[0] for name, lines in study.systems.items()}
        return [
            {
                (each.rater, study.systems[group[0]][each.sentence])
                for each in Study(study.folder).judgements()
                for group, rank in zip(each.groups, each.answer.ranks, strict=True)
                if rank == 1
            },
            {
                (each.annotator, sentence_texts[min(each.ranks, key=each.ranks.__getitem__)])
                for each in rankings
            },
        ]

    first, second = texts
    assert read(both, both)[0] == Imported(2, 0, 0)
    assert sides() == [{("annotator-1", first), ("annotator-2", second)}] * 2
    assert [each.new for each in read(both)] == [0, 0]
    # The older version of an annotation comes last in a joined export.
    changed = annotation(11, 1, "right", 3)
    assert read([changed, both[1]], [both[0]])[0] == Imported(1, 1, 0)
    assert sides() == [{("annotator-1", second), ("annotator-2", second)}] * 2
    # Another annotation of the same texts by the same annotator does not replace the first, in the study.
    read([annotation(13, 1, "left", 4)])
    assert sorted(each.rater for each in study.judgements()) == ["annotator-1"] * 2 + [
        "annotator-2"
    ]


def test_lists_of_one_may_be_texts_and_other_results_answer_nothing(
    make: Make, tmp_path: Path
) -> None:
    study = make()
    data = {
        "source": study.sources[0],
        "text1": study.systems["poor"][0],
        "text2": study.systems["fair"][0],
    }
    relation = {"type": "relation", "from_id": "a", "to_id": "b", "direction": "right"}
    answers = [
        result("better", "choices", "second"),
        result("comment", "textarea", "fine", "text"),
        result("why", "textarea", ["really"], "text"),
    ]
    file = exported([{"data": data}], lambda _: [relation, *answers], tmp_path / "a.json")
    (judgement,), _ = read_judgements(file, study.sources, study.systems)
    assert judgement.answer == Answer(ranks=[2, 1], comment="fine really")
    ranked = {"source": study.sources[0], "items": [{"id": "x2", "body": study.systems["poor"][0]}]}
    ranked["items"].append({"id": "y7", "body": study.systems["fair"][0]})
    buckets = [result("ranks", "ranker", {"1": "y7", "2": ["x2"]})]
    file = exported([{"data": ranked}], lambda _: buckets, tmp_path / "b.json")
    (judgement,), _ = read_judgements(file, study.sources, study.systems)
    assert judgement.answer.ranks == [2, 1]


def test_other_projects_are_read_by_their_texts(make: Make, tmp_path: Path) -> None:
    study = make()
    poor, fair = study.systems["poor"], study.systems["fair"]
    data = {"source": study.sources[0], "text1": poor[0], "text2": fair[0]}
    ordered = [
        (data, [result("pw", "pairwise", "right", "selected")], [2, 1]),
        (
            {
                "source": study.sources[1],
                "items": [
                    {"id": "x", "title": poor[1]},
                    {"id": "y", "title": fair[1]},
                ],
            },
            [result("rank", "ranker", {"rank": ["y", "x"]})],
            [2, 1],
        ),
    ]
    for number, (task, results, ranks) in enumerate(ordered):
        file = exported([{"data": task}], lambda _, r=results: r, tmp_path / f"{number}.json")
        (judgement,), _ = read_judgements(file, study.sources, study.systems)
        assert (judgement.sentence, judgement.answer.ranks) == (number, ranks)
        assert judgement.groups == (("poor",), ("fair",))


def test_skipped_and_incomplete_annotations_count_for_nothing(make: Make, tmp_path: Path) -> None:
    study = make(task="ranking", questions=3)
    tasks = json.loads((_project(study, tmp_path) / "tasks.json").read_text(encoding="utf-8"))
    incomplete = exported(
        tasks[:1],
        lambda _: [result("ranks", "ranker", {"_": ["1"], "1": ["2", "3"]})],
        tmp_path / "a",
    )
    empty = exported(tasks[1:2], lambda _: [], tmp_path / "b.json")
    incomplete = incomplete.rename(tmp_path / "a.json")
    for file in (incomplete, empty):
        study.add(read_judgements(file, study.sources, study.systems)[0])
    assert [each.answer.skip for each in study.judgements()] == [
        "not all texts were ranked in Label Studio",
        "skipped in Label Studio",
    ]


def test_tables_and_appraise_are_read_into_a_study(make: Make, tmp_path: Path) -> None:
    study = make(task="ranking", sentences=24)
    table = tmp_path / "old.csv"
    table.write_text(
        "id,better,worse,tie,annotator\n0,good,fair,0,ann\n0,twin,fair,0,ann\n0,good,fair,0,ann\n"
        "1,good,twin,1,ann\n2,fair,poor,1,\n",
        encoding="utf-8",
    )
    # The rows of the two systems with one text are one judgement, and good against twin is none. The
    # third row is a second judgement of the first pair.
    assert import_judgements(study.folder, table, SOURCES) == Imported(3, 1, 0, unasked=1)
    assert import_judgements(study.folder, table, SOURCES) == Imported(0, 4, 0, unasked=1)
    source = tmp_path / "source.txt"
    # The study has the last 24 of the 25 sentences that the file numbers.
    write_lines(source, ["A sentence that nobody changed .", *SOURCES])
    xml = tmp_path / "appraise.xml"
    xml.write_text(
        '<set><ranking-item src-id="0" user="bob"><translation rank="1" system="fair"/>'
        '</ranking-item><ranking-item src-id="4" user="bob"><translation rank="4" system="poor"/>'
        '<translation rank="1" system="good twin"/><translation rank="2" system="fair"/>'
        "</ranking-item></set>",
        encoding="utf-8",
    )
    assert main(["judge", str(study.folder), "--src", str(source), "--import", str(xml)]) == 0
    said = {(each.rater, each.sentence): each for each in Study(study.folder).judgements()}
    assert said["bob", 3].groups == (("fair",), ("good", "twin"), ("poor",))
    assert said["bob", 3].answer.ranks == [2, 1, 3]
    assert said["unknown", 2].answer.ranks == [1, 1]
    assert said["ann", 0].groups == (("fair",), ("good", "twin"))
    assert said["ann", 0].answer.ranks == [2, 1]


def test_ids_of_a_study_need_the_sentences_that_they_number(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make(sentences=5)
    table = tmp_path / "old.csv"
    table.write_text("id,better,worse\n0,good,fair\n", encoding="utf-8")
    assert main(["judge", str(study.folder), "--import", str(table)]) == 2
    own = study.folder / "source.txt"
    assert (
        "give all of them with --src (for the study's own tables, "
        f"--src {own})." in capsys.readouterr().err
    )
    assert study.judgements() == []
    assert main(["judge", str(study.folder), "--src", str(own), "--import", str(table)]) == 0
    assert [each.sentence for each in study.judgements()] == [0]
    assert main(["judge", str(study.folder), "--import", "absent.csv"]) == 2
    assert "absent.csv does not exist" in capsys.readouterr().err
    # A table of neither kind does not ask for sentences first.
    table.write_text("id,winner,loser\n0,good,fair\n", encoding="utf-8")
    assert main(["judge", str(study.folder), "--import", str(table)]) == 2
    assert "no column 'better' or 'system'; found id, winner, loser." in capsys.readouterr().err


def test_judgements_of_sentences_that_a_study_lacks_are_counted(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make(sentences=5)
    absent = next(n for n, source in enumerate(SOURCES) if source not in study.sources)
    write_lines(tmp_path / "all.txt", SOURCES)
    table = tmp_path / "old.csv"
    table.write_text(f"id,better,worse\n{absent},good,fair\n", encoding="utf-8")
    words = ["judge", str(study.folder), "--src", str(tmp_path / "all.txt"), "--import", str(table)]
    assert main(words) == 0
    assert capsys.readouterr().err == (
        f"{table}: 0 new judgements in {study.folder}, 0 already known, 1 left out (the sentence is not "
        "there).\n"
    )


def test_a_table_of_ratings_is_read_into_a_study(make: Make, tmp_path: Path) -> None:
    study = make(task="ratings", scale="0-100", sentences=24)
    table = tmp_path / "old.csv"
    table.write_text("id,system,quality,annotator\n0,twin,80,ann\n1,poor,,ann\n", encoding="utf-8")
    assert import_judgements(study.folder, table, study.sources).new == 1
    assert study.benchmark().official["quality"]["good"] == 80


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("a.json", "[{}]", FormatError, "export from Label Studio as JSON, not as JSON-MIN"),
        (
            "a.json",
            '[{"id": 3, "data": {"source": "Not it .", "text": "x"}, "annotations": []}]',
            FormatError,
            r"task 3: its source is not among the sentences of the folder \(Not it .\)",
        ),
        (
            "a.json",
            '[{"data": {"source": "SOURCE", "text": "x"}, "annotations": []}]',
            FormatError,
            "task 1: one of its texts is not a system's output",
        ),
        ("a.json", '[{"data": {}, "annotations": []}]', FormatError, "task 1 cannot be read"),
        (
            "a.json",
            '[{"data": {"source": "SOURCE", "text1": "GOOD", "text2": "POOR"}, "annotations": [{"result": '
            '[{"from_name": "c", "type": "choices", "value": {"choices": ["A"]}}]}]}]',
            FormatError,
            "'A' was chosen; one of first, second, equal, bad was expected",
        ),
        (
            "a.json",
            '[{"data": {"source": "SOURCE", "text1": "GOOD", "text2": "POOR"}, "annotations": [{"result": '
            '[{"from_name": "c", "type": "choices", "value": {"choices": ["first", "second"]}}]}]}]',
            FormatError,
            r"2 choices were made in c \(first, second\); one was expected",
        ),
        (
            "a.json",
            '[{"data": {"source": "SOURCE", "text1": "GOOD", "text2": "POOR"}, "annotations": [{"result": '
            '[{"from_name": "c", "type": "choices", "value": {"choices": ["first"]}}, '
            '{"from_name": "c", "type": "choices", "value": {"choices": ["second"]}}]}]}]',
            FormatError,
            "c has two answers in one annotation; one was expected",
        ),
        ("a.csv", "id,better,worse\n0,good,nobody\n", UnknownNameError, "nobody"),
        ("a.csv", "id,better,worse\n99,good,fair\n", FormatError, "a number from 0 to 23"),
        (
            "a.csv",
            "id,system,fluency\n0,good,3\n",
            InputError,
            "has values, and the task pairs takes",
        ),
        (
            "a.xml",
            '<r><ranking-item src-id="24"><translation rank="1" system="good"/></ranking-item></r>',
            FormatError,
            "sentence 24 is judged, and the sentences are numbered from 0 to 23",
        ),
        (
            "a.xml",
            '<r><ranking-item src-id="0"><translation rank="1" system="good"/>'
            '<translation rank="2" system="twin"/></ranking-item></r>',
            FormatError,
            "two systems with the same output have different ranks in sentence 0, so",
        ),
        (
            "a.csv",
            "id,better,worse,annotator\n0,good,fair,owner\n",
            InputError,
            "a rater is named owner",
        ),
    ],
)
def test_what_cannot_be_read_gets_one_sentence(
    name: str, content: str, error: type[LearnedgecError], message: str, make: Make, tmp_path: Path
) -> None:
    study = make()
    texts = {"SOURCE": study.sources[0], "GOOD": SYSTEMS["good"][0], "POOR": SYSTEMS["poor"][0]}
    for key, text in texts.items():
        content = content.replace(key, text)
    file = tmp_path / name
    file.write_text(content, encoding="utf-8")
    with pytest.raises(error, match=message):
        import_judgements(study.folder, file, study.sources)
    assert study.judgements() == []
    assert "rater-1" in study.raters


def test_the_command_exports_once_and_imports(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make(questions=5)
    words = ["judge", str(study.folder), "--export", str(tmp_path / "project")]
    assert main(words) == 0
    assert "5 tasks and the labelling configuration" in capsys.readouterr().err
    assert main(words) == 2
    assert "tasks.json exists" in capsys.readouterr().err
    assert main([*words, "--overwrite"]) == 0
    tasks = json.loads((tmp_path / "project" / "tasks.json").read_text(encoding="utf-8"))
    file = exported(tasks, annotate_pair, tmp_path / "export.json")
    capsys.readouterr()
    assert main(["judge", str(study.folder), "--import", str(file)]) == 0
    assert (
        f"{file}: 5 new judgements in {study.folder}, 0 already known." in capsys.readouterr().err
    )
    assert main(["judge", "--import", str(file)]) == 2
    assert "name its folder" in capsys.readouterr().err
    assert read_lines(study.folder / "rankings.csv")[0] == "id,better,worse,tie,annotator"
