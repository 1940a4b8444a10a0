"""`learnedgec judge`: links to a new study, going on, and its status."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from embedded import SAMPLE_FOLDER
from fastapi.testclient import TestClient

from learnedgec.cli.main import main
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

        monkeypatch.setattr("learnedgec.runtime.server.run", served)
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
    assert "12 questions about 12 sentences, 8 items for each of 2 raters" in said
    assert "Everyone who can reach" not in said
    # The same links go on with it.
    again = serve(str(folder), "--port", "0", "--host", "0.0.0.0", answers=1, folder=folder)
    assert f"/{study.tokens['rater-1']}\n" in again
    assert "Everyone who can reach this machine" in again
    assert main(["judge", str(folder), "--status", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert [row["done"] for row in status["raters"]] == [4, 4]
    assert main(["judge", str(folder), "--status"]) == 0
    assert "rater-2" in capsys.readouterr().out
    assert main(["meta", "--benchmark", str(folder), "--metric", "gleu", "--resamples", "20"]) == 0
    assert "gleu" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (FILES, "--out is missing; give it, such as --out mystudy."),
        (["--out", "x"], "--hyp is missing"),
        (["nowhere"], "nowhere is not a study"),
        (["a", "b"], "2 studies are named; name one."),
        (["a", *FILES], "a is a study and has its own texts; leave out"),
        ([*FILES, "--out", "x", "--task", "pair"], "task"),
    ],
)
def test_what_cannot_be_done_gets_one_sentence(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", *words]) == 2
    assert message in capsys.readouterr().err
