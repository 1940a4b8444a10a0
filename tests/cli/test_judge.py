"""`learnedgec judge`: links to a new study, going on, and its status."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest
from embedded import SAMPLE_FOLDER
from fastapi.testclient import TestClient

from learnedgec import load_benchmark
from learnedgec.cli.main import main
from learnedgec.data.references import References
from learnedgec.data.text import read_lines
from learnedgec.judging.records import Answer, StudySettings
from learnedgec.judging.study import Study

FILES = ["--src", str(SAMPLE_FOLDER / "source.txt"), "--hyp", str(SAMPLE_FOLDER / "systems")]
Serve = Callable[..., str]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Serve:
    """Return a function that runs the command, and while it serves answers some items of each rater."""

    def run(*words: str, answers: int = 0, folder: Path) -> str:
        def served(app: Any, listening: socket.socket) -> None:
            study = Study(folder)
            with TestClient(app) as client:
                for rater in study.raters:
                    path = f"/{study.tokens[rater]}"
                    item = client.get(f"{path}/next").json()
                    for _ in range(answers):
                        body = {"answer": {"ranks": [1, 2]}}
                        item = client.post(f"{path}/items/{item['number']}", json=body).json()

        monkeypatch.setattr("learnedgec.cli.judge.serve_until_stopped", served)
        code = main(["judge", *words])
        said = capsys.readouterr()
        assert code == 0, said.err
        return said.out + said.err

    return run


def test_from_outputs_to_a_benchmark(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "study"
    new = ("--out", str(folder), "--sentences", "12", "--raters", "2", "--order", "random")
    gold = ("--gold", str(SAMPLE_FOLDER / "gold.m2"))
    said = serve(*FILES, *gold, *new, "--port", "0", answers=3, folder=folder)
    study = Study(folder)
    for name, token in study.tokens.items():
        assert f"/{token}\n" in said
        assert f"{name.replace('owner', 'status')}  http://127.0.0.1:" in said
    assert "12 questions about up to 12 sentences, 8 items for each rater (2)" in said
    assert "Everyone who can reach" not in said
    # The same links go on with it.
    again = serve(str(folder), "--port", "0", "--host", "0.0.0.0", answers=1, folder=folder)
    assert f"/{study.tokens['rater-1']}\n" in again
    assert "Everyone who can reach this machine" in again
    assert main(["judge", str(folder), "--status", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert [row["done"] for row in status["raters"]] == [4, 4]
    judged = len({each.sentence for each in study.judgements()})
    assert status["sentences"] == judged < 8
    assert main(["judge", str(folder), "--status"]) == 0
    shown = capsys.readouterr().out
    assert f"Systems, by judgements of {judged} of 12 sentences" in shown
    assert "rater-2" in shown
    assert main(["meta", "--benchmark", str(folder), "--metric", "gleu", "--resamples", "20"]) == 0
    assert "gleu" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (FILES, "--out is missing; give it, such as --out mystudy."),
        (["--out", "x"], "--hyp is missing"),
        (
            ["nowhere"],
            "the folder nowhere does not exist; begin a study with learnedgec judge --src",
        ),
        (["nowhere", *FILES], "the folder nowhere does not exist; begin a study"),
        ([str(SAMPLE_FOLDER)], "sample is not a study, because it has no study.yaml"),
        (["a", "b"], "2 studies are named; name one."),
        (
            [*FILES[:3], f"{FILES[3]}/weak.txt", "--out", "x"],
            "weak is the only system, and a question",
        ),
        ([*FILES, "--out", "x", "--task", "pair"], "task"),
    ],
)
def test_what_cannot_be_done_gets_one_sentence(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_study_keeps_its_texts_and_settings(run: Any) -> None:
    new = "judge --src embedded/source.txt --hyp embedded/systems --out mystudy --annotator plain"
    run(f"{new} --sentences 4 --status")
    files = "--src embedded/source.txt --hyp embedded/systems"
    assert (
        "mystudy is a study and has its own texts; leave out"
        in run(f"judge mystudy {files}", code=2).err
    )
    # Of these, 200, informative and 0.2 are defaults, which the study may not have.
    run("judge mystudy --sentences 4 --raters 3 --order informative --status")
    for settings in (
        "--sentences 9",
        "--sentences 200",
        "--annotator en-ewt-sm",
        "--task edits",
        "--source-is-candidate",
    ):
        err = run(f"judge mystudy {settings} --status", code=2).err
        option = settings.split()[0]
        assert f"{option} is for a new study, and mystudy keeps the settings" in err
    said = run("judge mystudy --raters 4 --status")
    assert "rater-4" in said.out
    assert "3 were asked for" in run("judge mystudy --raters 3 --status", code=2).err
    # The status writes nothing.
    assert not Path("mystudy/rankings.csv").exists()
    err = run("judge mystudy --status --out status.json", code=2).err
    assert (
        "--out is the folder of a new study, and mystudy is a study; leave it out, and write" in err
    )
    for options, message in (
        ("--json", "they are about what --status prints; leave out --json."),
        ("--import new.csv --status", "--import adds judgements and does nothing else; leave out"),
    ):
        assert message in run(f"judge mystudy {options}", code=2).err
    run("judge mystudy --status")
    # Each of the 4 sentences has 4 outputs at most.
    many = run(f"{new.replace('mystudy', 'all')} --sentences 4 --questions 99 --status").err
    assert "all that are possible) about up to 4 sentences" in many


def simulated(folder: Path, **settings: Any) -> Study:
    """Return a study of the sample whose rater prefers what is nearer to the first reference."""
    names = ("careful", "eager", "strong", "weak")
    systems = {name: read_lines(SAMPLE_FOLDER / "systems" / f"{name}.txt") for name in names}
    sources = read_lines(SAMPLE_FOLDER / "source.txt")
    references = References.from_m2(SAMPLE_FOLDER / "gold.m2", sources)
    chosen = StudySettings(
        **{"sentences": 72, "raters": 1, "repeats": 0, "annotator": "plain", **settings}
    )
    study = Study.create(folder, sources, systems, references, settings=chosen)
    wanted = dict(zip(sources, read_lines(SAMPLE_FOLDER / "ref0.txt"), strict=True))
    while item := study.next("rater-1"):
        near = [SequenceMatcher(None, text, wanted[item.source]).ratio() for text in item.texts]
        answer = Answer(ranks=[1 + sorted(near, reverse=True).index(value) for value in near])
        if chosen.task == "ratings":
            answer = Answer(values={"quality": round(100 * near[0])})
        elif chosen.task == "edits":
            right = wanted[item.source].split()
            answer = Answer(edits=[1 if e.correction in right else -1 for e in item.edits])
        study.record(item.number, answer)
    study.write_tables()
    return study


def test_a_study_without_answers_has_a_status(run: Any) -> None:
    study = simulated(Path("mystudy"), sentences=4, raters=2, overlap=1)
    said = run("judge mystudy --status")
    assert "Systems" in said.out
    # The second rater has not answered.
    assert "Agreement" not in said.out
    Study.create("new", study.sources, study.systems, settings=StudySettings(sentences=4))
    said = run("judge new --status")
    assert "Systems" not in said.out
    assert said.err == ("There are too few judgements to rank the systems.\nexplain: --notes\n")


def test_notes_explain_the_columns_of_the_status(run: Any) -> None:
    study = simulated(Path("mystudy"), questions=30, raters=2, overlap=1)
    while item := study.next("rater-2"):
        study.record(item.number, Answer(ranks=[1, 2]))
    said = run("judge mystudy --status --notes")
    for term in (
        "cluster, ranks",
        "score, low, high: how well people judge a system in a study",
        "skipped, seconds, ties",
        "judged, more",
        "cohen, fleiss, alpha",
        "consistent, above_",
    ):
        assert f"\n{term}" in said.out
    assert "explain:" not in said.err
    plain = run("judge mystudy --status")
    assert said.out.startswith(plain.out)
    assert "explain: --notes\n" in plain.err


def test_every_command_reads_a_study(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", "checkpoints")
    study = simulated(Path("mystudy"), questions=200)
    judged = len(study.benchmark().rankings)
    few = "--resamples 30"
    measured = run(f"meta --benchmark mystudy --metric gleu {few} --format json").json
    assert measured["evaluations"][0]["human"] == "EW"
    space = "'{n: [1, 2, 4]}' --trials 3 --folds 2 --objective sentence-accuracy"
    run(f"tune --metric gleu --space {space} --benchmark mystudy:dev --compare mystudy:test {few}")
    ours = "gleu@mystudy-dev+sentence-accuracy"
    tested = run(f"meta --benchmark mystudy:test --metric {ours} {few} --format json").json
    labels = {entry["metric"]: entry for entry in tested["evaluations"][0]["metrics"]}
    # Its value on the other half is held out.
    assert not labels[ours]["tuned_here"]
    Path("new.txt").write_bytes(Path("embedded/systems/strong.txt").read_bytes())
    rows = run(
        f"rank --pool mystudy --src embedded/source.txt --hyp new.txt --metric gleu {few} --format csv"
    ).rows
    assert {row["system"] for row in rows} == {"careful", "eager", "new", "strong", "weak"}
    run(f"report --benchmark mystudy:test --metric gleu --annotator plain {few} --out report.html")
    assert "careful" in Path("report.html").read_text(encoding="utf-8")
    assert len(study.benchmark().rankings) == judged


@pytest.mark.parametrize(
    ("settings", "data"),
    [
        (
            {"questions": 150},
            {
                "pairs": {
                    "mine": [
                        {"class_path": "RankingPairs", "init_args": {"rankings": ["mystudy:dev"]}}
                    ]
                }
            },
        ),
        ({"task": "ratings", "scale": "0-100", "questions": 150}, {"ratings": ["mystudy:dev"]}),
        ({"task": "edits", "questions": 150}, {"pairs": {"mine": ["mystudy/pairs.csv"]}}),
    ],
)
def test_evaluators_learn_from_a_study(
    settings: Any, data: Any, run: Any, tiny_encoder: Path
) -> None:
    study = simulated(Path("mystudy"), **settings)
    head = {"input": "hypothesis"} | ({"objective": "logistic"} if "pairs" in data else {})
    name = "mine" if "pairs" in data else "quality"
    config = {
        "name": "mine",
        "model": {"encoder": str(tiny_encoder), "heads": {name: head}},
        "data": data,
        "trainer": {"max_epochs": 1, "accelerator": "cpu"},
    }
    Path("mine.yaml").write_text(json.dumps(config), encoding="utf-8")
    run("train --config mine.yaml --quiet")
    manifest = json.loads(Path("checkpoints/mine/manifest.json").read_text(encoding="utf-8"))
    counted = sum(part[name]["n"] for part in manifest["results"].values())
    assert 0 < counted < len(study.judgements())
    # What is on the other half of the sentences was not learned from.
    half = f"{study.folder}:test"
    if "rankings" in str(data):
        measured = run(
            f"meta --benchmark {half} --metric \"head(model='mine', name='{name}')\" --resamples 20"
        )
        assert "head" in measured.out
        assert "trained" not in measured.err


@pytest.mark.realdata
def test_a_study_that_the_judges_of_seeda_answer(run: Any, tiny_encoder: Path) -> None:
    """The loop of the tutorial with real judgements; their sentences are for tests alone."""
    seeda = load_benchmark("seeda-s")
    names = ("T5", "BERT-fuse", "LM-Critic")
    systems = {name: seeda.systems[name] for name in names}
    study = Study.create(
        "mystudy",
        seeda.sources,
        systems,
        settings=StudySettings(questions=200, raters=1, repeats=0, annotator="plain"),
    )
    place = {source: number for number, source in enumerate(seeda.sources)}
    answers = 0
    while item := study.next("rater-1"):
        sentence = place[item.source]
        votes = [0, 0]
        for ranking in seeda.rankings:
            if ranking.sentence == sentence:
                first, second = (
                    [
                        rank
                        for name, rank in ranking.ranks.items()
                        if name in names and systems[name][sentence] == text
                    ]
                    for text in item.texts
                )
                if first and second:
                    votes[first[0] > second[0]] += first[0] != second[0]
        said = (
            Answer(skip="nobody compared these")
            if votes == [0, 0]
            else Answer(ranks=[1 + (votes[0] < votes[1]), 1 + (votes[1] < votes[0])])
        )
        answers += not said.skip
        study.record(item.number, said, seconds=5)
    assert answers > 60
    study.write_tables()
    status = run("judge mystudy --status --json").json
    human = seeda.official["TS"]
    assert [row["system"] for row in status["ranking"]] == sorted(
        names, key=lambda name: -human[name]
    )
    few = "--resamples 20"
    run(f"meta --benchmark mystudy:test --metric edit-count {few} --quiet")
    refused = run(
        f"tune --metric 'm2(beta=0.5)' --space '{{beta: [0.5, 1.0]}}' --benchmark mystudy:dev {few}",
        code=2,
    ).err
    assert "sentences of CoNLL-2014, on which metrics are tested" in refused
    pairs = {"mine": [{"class_path": "RankingPairs", "init_args": {"rankings": ["mystudy:dev"]}}]}
    head = {"input": "hypothesis", "objective": "logistic"}
    config = {
        "name": "mine",
        "model": {"encoder": str(tiny_encoder), "heads": {"mine": head}},
        "data": {"pairs": pairs},
    }
    Path("mine.yaml").write_text(json.dumps(config), encoding="utf-8")
    assert "CoNLL" in run("train --config mine.yaml --quiet", code=2).err
