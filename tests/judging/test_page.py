"""The page's server: who may see what, answers that come twice, and errors in one sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from studies import SOURCES, SYSTEMS, Make

from learnedgec.data.corpus import Corpus
from learnedgec.data.text import write_lines
from learnedgec.judging.page import application
from learnedgec.judging.records import StudySettings
from learnedgec.judging.study import Study

Browse = Callable[[Study], TestClient]
FIRST_BETTER = {"answer": {"ranks": [1, 2]}, "seconds": 2.5}


@pytest.fixture
def browse() -> Iterator[Browse]:
    clients = []

    def open_study(study: Study) -> TestClient:
        clients.append(TestClient(application(study), raise_server_exceptions=False))
        return clients[-1]

    yield open_study
    for client in clients:
        client.close()


def test_answers_are_stored_before_the_next_item_comes(make: Make, browse: Browse) -> None:
    study = make(raters=1, sentences=6, repeats=0)
    client, token = browse(study), study.tokens["rater-1"]
    item = client.get(f"/{token}/next").json()
    for count in range(1, 7):
        reply = client.post(f"/{token}/items/{item['number']}", json=FIRST_BETTER)
        assert reply.status_code == 200
        assert len(Study(study.folder).judgements()) == count
        item = reply.json()
    assert item == {"done": True, "total": 6}
    assert study.judgements()[0].seconds == 2.5
    # The tables of the benchmark are there without asking for them.
    assert (study.folder / "rankings.csv").is_file()


def test_no_name_of_a_system_reaches_a_rater(make: Make, browse: Browse) -> None:
    for task in ("pairs", "ranking", "ratings", "edits"):
        study = make(task, task=task, sentences=4)
        client, token = browse(study), study.tokens["rater-1"]
        seen = client.get(f"/{token}").text + client.get(f"/{token}/next").text
        for name in (*SYSTEMS, "systems", study.tokens["owner"], study.tokens["rater-2"]):
            assert name not in seen
        assert "goes" in seen or "the place" in seen or "Go he" in seen


def test_a_link_is_needed(make: Make, browse: Browse) -> None:
    study = make()
    client = browse(study)
    for path in ("/nobody", "/nobody/next", "/nobody/items/1", "/", "/assets/study.sqlite"):
        assert client.get(path).status_code == 404
    assert client.get("/nobody/next").json() == {
        "detail": "this link is not one of the study's; ask for your link again."
    }
    assert client.get("/nobody", headers={"accept": "text/html"}).text.startswith(
        "this link is not"
    )
    # The owner judges nothing, and a rater does not see the status or another's items.
    assert client.get(f"/{study.tokens['owner']}/next").status_code == 404
    item = client.get(f"/{study.tokens['rater-1']}/next").json()
    other = f"/{study.tokens['rater-2']}/items/{item['number']}"
    assert client.get(other).status_code == 422
    assert client.post(other, json=FIRST_BETTER).status_code == 422
    assert study.judgements() == []


def test_an_answer_from_a_second_window_is_refused_and_one_sent_again_is_stored_once(
    make: Make, browse: Browse
) -> None:
    study = make()
    client, token = browse(study), study.tokens["rater-1"]
    item = client.get(f"/{token}/next").json()
    said = {**FIRST_BETTER, "version": item["version"], "key": "one"}
    path = f"/{token}/items/{item['number']}"
    following = client.post(path, json=said).json()
    assert client.post(path, json=said).json() == following
    late = client.post(path, json={**said, "key": "two"})
    assert late.status_code == 409
    assert late.json()["detail"].startswith("this item was answered in another window")
    assert len(study.judgements()) == 1


def test_an_earlier_item_comes_back_with_its_answer(make: Make, browse: Browse) -> None:
    study = make(task="ranking")
    client, token = browse(study), study.tokens["rater-1"]
    item = client.get(f"/{token}/next").json()
    assert item["previous"] is None
    answer = {"ranks": [2, 1, 2], "comment": "hm"}
    following = client.post(f"/{token}/items/{item['number']}", json={"answer": answer}).json()
    assert following["previous"] == item["number"]
    again = client.get(f"/{token}/items/{item['number']}").json()
    assert again["texts"] == item["texts"]
    assert (again["answer"]["ranks"], again["answer"]["comment"]) == ([2, 1, 2], "hm")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"answer": {"ranks": [1]}}, "one rank from 1 to 2 for each of 2 texts"),
        ({"answer": {"ranks": ["x", 1]}}, r"^answer\.ranks\.0: "),
        ({}, r"^answer: Field required\.$"),
    ],
)
def test_what_is_no_answer_gets_one_sentence(
    make: Make, browse: Browse, said: dict[str, Any], message: str
) -> None:
    study = make()
    client, token = browse(study), study.tokens["rater-1"]
    number = client.get(f"/{token}/next").json()["number"]
    reply = client.post(f"/{token}/items/{number}", json=said)
    assert reply.status_code == 422
    assert re.search(message, reply.json()["detail"])
    assert study.judgements() == []


def test_texts_are_never_markup_and_nothing_is_loaded_from_elsewhere(
    make: Make, browse: Browse
) -> None:
    study = make(title="<script>alert(1)</script>")
    guidelines = study.folder / "guidelines.md"
    write_lines(guidelines, ["<script>alert(2)</script>", "", "[x](javascript:alert(3))"])
    client, token = browse(study), study.tokens["rater-1"]
    reply = client.get(f"/{token}")
    assert "<script>alert" not in reply.text
    assert 'href="javascript' not in reply.text
    assert not re.findall(r"(?:src|href)=\"(?:https?:)?//", reply.text)
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["referrer-policy"] == "no-referrer"
    for name in ("judge.js", "judge.css"):
        assert client.get(f"/assets/{name}").status_code == 200


def test_the_owner_sees_the_status(make: Make, browse: Browse) -> None:
    study = make(sentences=8, raters=1, repeats=0)
    client = browse(study)
    owner = f"/{study.tokens['owner']}"
    assert "too few judgements" in client.get(owner).text
    token = study.tokens["rater-1"]
    item = client.get(f"/{token}/next").json()
    while "number" in item:
        ranks = [1 if "goes" in text else 2 for text in item["texts"]]
        item = client.post(
            f"/{token}/items/{item['number']}", json={"answer": {"ranks": ranks}}
        ).json()
    text = client.get(owner).text
    assert text.index(">good<") < text.index(">poor<")
    assert (
        "a two-sided test at 5 % with that many judgements finds it with a probability of 80 %"
        in " ".join(text.split())
    )
    assert "rater-1" in text
    # A phone shows each heading before its cell.
    for table in re.findall(r"<table.*?</table>", text, re.DOTALL):
        headings = re.findall(r'<th scope="col">(.*?)</th>', table)
        for row in re.findall(r"<tr><th scope=\"row\">.*?</tr>", table):
            assert re.findall(r'<td data-heading="(.*?)"', row) == headings[1:]


def test_raters_see_the_neighbours_in_the_document(tmp_path: Path, browse: Browse) -> None:
    settings = StudySettings(sentences=6, raters=1, annotator="plain", order="random", seed=3)
    documents = [str(number // 4) for number in range(24)]
    corpus = Corpus.of(SOURCES, SYSTEMS, documents=documents)
    study = Study.of(tmp_path / "study", corpus, settings=settings)
    client, token = browse(study), study.tokens["rater-1"]
    item = client.get(f"/{token}/next").json()
    number = SOURCES.index(item["source"])
    assert item["context"] == [
        SOURCES[n] if 0 <= n < 24 and n // 4 == number // 4 else ""
        for n in (number - 1, number + 1)
    ]
