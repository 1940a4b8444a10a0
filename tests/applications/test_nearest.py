"""References for each output by a model at an endpoint: files, an interruption, and answers of no use."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from chat_server import Call, ChatServer, hang, say

from learnedgec.cli.main import main
from learnedgec.data.text import read_jsonl, write_lines

SOURCES = ["He go to home .", "She like tea .", "Fine ."]
SYSTEMS = {
    "ours": ["He go home .", "She likes the tea .", "Fine ."],
    "weak": ["He go to home .", "She likes the tea .", "Fine ."],
}


def correct(call: Call) -> None:
    """Answer as an honest model that knows one verb."""
    text = json.loads(re.findall(r"^Correction: (.*)$", call.prompt, re.MULTILINE)[0])
    call.complete(json.dumps({"sentence": text.replace(" go ", " goes ")}))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("LEARNEDGEC_API_KEY", "sk-secret")
    monkeypatch.chdir(tmp_path)
    write_lines("src.txt", SOURCES)
    for name, texts in SYSTEMS.items():
        write_lines(f"out/{name}.txt", texts)
    server = ChatServer(correct)
    yield server
    server.close()


def words(server: ChatServer) -> list[str]:
    """Return the arguments of the command."""
    files = "--src src.txt --hyp out --out refs --cache-dir answers --jobs 1 --quiet"
    return ["references", *files.split(), "--model", "tiny", "--endpoint", server.url]


def test_each_output_gets_a_reference_of_its_own(
    server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words(server)) == 0
    for name, texts in SYSTEMS.items():
        assert read_jsonl(f"refs/{name}.jsonl") == [
            {"source": s, "hypothesis": t, "references": [t.replace(" go ", " goes ")]}
            for s, t in zip(SOURCES, texts, strict=True)
        ]
    # Two of the six outputs are equal to others.
    assert len(server.calls) == 4
    record = json.loads(Path("refs/references.json").read_text())
    assert (record["model"], record["outputs"]) == ("tiny", 4)
    assert (record["prompt_tokens"], record["completion_tokens"]) == (400, 40)
    assert "change as little of the correction as possible" in record["prompt"]
    assert not any(
        b"sk-secret" in path.read_bytes() for path in Path().rglob("*") if path.is_file()
    )
    capsys.readouterr()
    assert (
        main(["score", "--jsonl", "refs/ours.jsonl", "--metric", "hter", "m2", "--format", "json"])
        == 0
    )
    hter, m2 = json.loads(capsys.readouterr().out)["rows"]
    # One of 4 + 5 + 2 tokens was changed.
    assert hter["score"] == pytest.approx(1 - 1 / 11)
    # "likes the" is in the reference; of "go to" the output deleted "to" alone, and the reference has "goes".
    assert (m2["tp"], m2["proposed"], m2["gold"]) == (1, 2, 2)
    # Nothing is lost without a word, and nothing is asked twice.
    assert main(words(server)) == 2
    assert "references.json exists" in capsys.readouterr().err
    assert main([*words(server), "--overwrite"]) == 0
    assert len(server.calls) == 4


def test_a_killed_run_goes_on_where_it_stopped(server: ChatServer) -> None:
    came = threading.Event()

    def stop(call: Call) -> None:
        # The first two answers arrive before the third request, and are kept a moment later.
        with closing(sqlite3.connect("answers/store.sqlite")) as store:
            while store.execute("SELECT count(*) FROM entries").fetchone()[0] < 2:
                assert not call.server.closing.wait(0.01)
        came.set()
        hang(call)

    server.steps = [correct, correct, stop]
    program = "import sys; from learnedgec.cli.main import main; sys.exit(main())"
    running = subprocess.Popen([sys.executable, "-c", program, *words(server)])
    assert came.wait(120)
    running.kill()
    running.wait(60)
    assert not Path("refs").exists()
    assert main(words(server)) == 0
    assert len(server.calls) == 3 + 2
    assert len(read_jsonl("refs/ours.jsonl")) == 3


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (say('{"sentence": ""}'), "not the JSON asked for"),
        (say("[1]"), "not the JSON asked for: '[1]'"),
        (say(None, refusal="I cannot."), "I cannot."),
    ],
)
def test_an_answer_of_no_use_is_one_sentence(
    server: ChatServer, step: Any, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server.usual = lambda call: step(call) if "tea" in call.prompt else correct(call)
    assert main(words(server)) == 2
    message = capsys.readouterr().err
    assert "tiny did not correct 1 of 4 outputs, the first 'She likes the tea .'" in message
    assert reason in message
    assert message.count("\n") == 1
    assert not Path("refs").exists()
    server.usual = correct
    asked = len(server.calls)
    assert main(words(server)) == 0
    assert len(server.calls) == asked + 1
