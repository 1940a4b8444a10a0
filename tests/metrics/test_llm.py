from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from chat_server import Call, ChatServer, fail, hang, say

from learnedgec.errors import ConfigError, ModelError
from learnedgec.evaluators.chat import Answer
from learnedgec.metrics.llm import LlmE, LlmS
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import bind_one

SOURCES = ["He go to home .", "Fine ."]
SYSTEMS = {
    "a": ["He goes home .", "Fine ."],
    "b": ["He went home .", "Fine !"],
    "c": ["He  goes home . ", ""],
}


def shown(prompt: str) -> list[str]:
    """Return the corrections in a prompt, as they stand there."""
    return re.findall(r"^\d+\. (.*)$", prompt, re.MULTILINE)


def judge(text: str) -> int:
    """Rate a correction by its looks alone."""
    return 1 + len(text) % 5


def rate(call: Call) -> None:
    """Answer as an honest model: each correction by itself."""
    ratings = [judge(text) for text in shown(call.prompt)]
    call.complete(json.dumps({f"correction{n}": r for n, r in enumerate(ratings, 1)}))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("LEARNEDGEC_API_KEY", "sk-secret")
    server = ChatServer(rate)
    yield server
    server.close()


@pytest.fixture
def runtime(tmp_path: Path) -> Runtime:
    return Runtime(cache_dir=str(tmp_path / "answers"))


def test_ratings_become_scores(server: ChatServer, runtime: Runtime) -> None:
    scores = LlmS("tiny", server.url).score(SOURCES, SYSTEMS, runtime=runtime)
    for name, lines in SYSTEMS.items():
        expected = [judge(json.dumps(" ".join(line.split()))) for line in lines]
        assert scores[name].sentences == pytest.approx(expected)
        assert scores[name].value == pytest.approx(np.mean(expected))
        assert scores[name].details["refused"] == 0
    # One request per source; a and c differ in spaces alone.
    assert [len(shown(call.prompt)) for call in server.calls] == [2, 3]
    # The first request's 100 and 10 tokens belong to two corrections, the second's to three.
    assert scores["a"].details["prompt_tokens"] == pytest.approx(100 / 2 + 100 / 3)
    assert scores["a"].details["completion_tokens"] == pytest.approx(10 / 2 + 10 / 3)
    assert "sk-secret" not in scores["a"].signature
    files = [path for path in Path(str(runtime.cache_dir)).rglob("*") if path.is_file()]
    assert files
    assert all(b"sk-secret" not in path.read_bytes() for path in files)


def test_the_request_asks_for_the_schema(server: ChatServer, runtime: Runtime) -> None:
    LlmS("tiny", server.url, seed=5).score(SOURCES[:1], ["He goes ."], runtime=runtime)
    (call,) = server.calls
    assert call.body["seed"] == 5
    schema = call.body["response_format"]["json_schema"]["schema"]
    assert schema == {
        "type": "object",
        "properties": {"correction1": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
        "required": ["correction1"],
        "additionalProperties": False,
    }


def test_edits_are_shown() -> None:
    systems = {"a": ["He go to home ."], "b": ["He goes home"], "c": ["Now he go to home ."]}
    expected = {"no edits", "[go to → goes] [. →]", "[He → Now he]"}
    assert set(shown(LlmE().plan(SOURCES[:1], systems).prompt)) == expected
    # Alignment joins neighbouring changes; ERRANT's rules keep a verb's form and a spelling apart.
    metric, texts = LlmE(annotator="en-ewt-sm"), (["He go hme ."], {"a": ["He goes home ."]})
    assert shown(metric.plan(*texts).prompt) == ["[go → goes] [hme → home]"]
    assert shown(LlmE().plan(*texts).prompt) == ["[go hme → goes home]"]
    assert "|annotator-version:" in bind_one(metric).signature()


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_groups_are_even_and_do_not_depend_on_order(size: int) -> None:
    metric = LlmS(group_size=size)
    texts = [f"text {number}" for number in range(7)]
    groups = metric._requests(["s"] * 7, texts, Runtime())
    sizes = [len(request.rows) for request in groups]
    assert len(sizes) == -(-7 // size)
    assert max(sizes) <= size
    assert max(sizes) - min(sizes) <= 1
    assert sorted(row for request in groups for rows in request.rows for row in rows) == list(
        range(7)
    )
    turned = metric._requests(["s"] * 7, texts[::-1], Runtime())
    assert [request.prompt for request in turned] == [request.prompt for request in groups]


def test_criteria_make_other_prompts() -> None:
    for kind in (LlmS, LlmE):
        metrics = [kind(criterion=name) for name in kind.criteria]
        prompts = {m.plan(SOURCES, SYSTEMS).prompt for m in metrics}
        signatures = {bind_one(m).signature() for m in metrics}
        assert len(prompts) == len(signatures) == len(kind.criteria)


def test_plan_asks_nothing(server: ChatServer, runtime: Runtime) -> None:
    metric = LlmS("tiny", server.url, group_size=2)
    plan = metric.plan(SOURCES, SYSTEMS, runtime=runtime)
    assert (plan.requests, plan.cached) == (3, 0)
    assert server.calls == []
    scores = metric.score(SOURCES, SYSTEMS, runtime=runtime)
    assert server.calls[0].prompt == plan.prompt
    assert sum(len(call.prompt) for call in server.calls) == plan.characters
    after = metric.plan(SOURCES, SYSTEMS, runtime=runtime)
    assert (after.requests, after.cached, after.characters) == (3, 3, 0)
    # A second run asks nothing, and another model everything.
    again = metric.score(SOURCES, SYSTEMS, runtime=runtime)
    assert [score.to_dict() for score in again.values()] == [s.to_dict() for s in scores.values()]
    assert len(server.calls) == 3
    LlmS("another", server.url, group_size=2).score(SOURCES, SYSTEMS, runtime=runtime)
    assert len(server.calls) == 6


def test_an_interrupted_run_goes_on(server: ChatServer, tmp_path: Path) -> None:
    # One request at a time, so that three are answered before one fails.
    runtime = Runtime(jobs=1, cache_dir=str(tmp_path))
    sources = [f"Sentence {number} ." for number in range(6)]
    server.steps, server.usual = [rate] * 3, fail(403, "quota")
    metric = LlmS("tiny", server.url)
    with pytest.raises(ModelError, match="quota"):
        metric.score(sources, sources, runtime=runtime)
    assert metric.plan(sources, {"a": sources}, runtime=runtime).cached == 3
    server.usual = rate
    score = metric.score(sources, sources, runtime=runtime)
    assert np.isfinite(score.sentences).all()
    prompts = [call.prompt for call in server.calls]
    assert len(set(prompts)) == 6
    assert not set(prompts[:3]) & set(prompts[3:])


BROKEN = [
    "I think it is a 4.",
    '{"correction1": 4',
    '{"correction1": 6}',
    '{"correction1": true}',
    '{"correction1": "4"}',
    '{"correction1": 3, "correction2": 3}',
    "",
]


@pytest.mark.parametrize("text", BROKEN)
def test_answers_that_break_the_schema_are_asked_again(
    server: ChatServer, runtime: Runtime, text: str
) -> None:
    server.steps = [say(text), say(text), say('Sure:\n```json\n{"correction1": 4}\n```')]
    score = LlmS("tiny", server.url).score(["a"], ["b"], runtime=runtime)
    assert score.value == 4
    assert [call.body["seed"] for call in server.calls] == [0, 1, 2]
    assert score.details["prompt_tokens"] == 300


def test_an_unusable_answer_on_disk_is_asked_for_again(
    server: ChatServer, runtime: Runtime
) -> None:
    metric = LlmS("tiny", server.url)
    (request,) = metric._requests(["a"], ["b"], runtime)
    for text in BROKEN:
        asker = metric._asker(runtime)
        key = asker.key(request)
        asker.store.write({key: json.dumps(asdict(Answer(text))).encode()})
        assert metric.plan(["a"], {"x": ["b"]}, runtime=runtime).cached == 0
        assert metric.score(["a"], ["b"], runtime=runtime).value == judge('"b"')
    assert len(server.calls) == len(BROKEN)


def test_a_key_in_an_address_is_in_no_message() -> None:
    for url in ("http://:secret@host/v1", "http://host/v1?key=secret"):
        for rest in ("", ", group_size=0", ", criterion='nonsense'"):
            with pytest.raises(ConfigError) as caught:
                load_metric(f"llm-s(endpoint='{url}'{rest})")
            assert "secret" not in str(caught.value)


def test_an_interrupt_ends_the_program_while_an_endpoint_is_slow(
    server: ChatServer, tmp_path: Path
) -> None:
    came = threading.Event()

    def slow(call: Call) -> None:
        came.set()
        hang(call)

    server.usual = slow
    (tmp_path / "text").write_text("He go .\n")
    text = str(tmp_path / "text")
    metric = f"llm-s(endpoint='{server.url}')"
    words = ["score", "--src", text, "--hyp", text, "--metric", metric, "--quiet"]
    # A shell that runs the tests in the background makes its processes ignore SIGINT.
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from learnedgec.cli.main import main; sys.exit(main())"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", program, *words, "--cache-dir", str(tmp_path / "answers")],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert came.wait(60)
    running.send_signal(signal.SIGINT)
    _, message = running.communicate(timeout=60)
    assert (running.returncode, message) == (130, "learnedgec score: interrupted.\n")


def test_no_usable_answer_is_an_error_or_the_lowest(server: ChatServer, runtime: Runtime) -> None:
    server.usual = lambda call: call.complete("no idea") if "bad" in call.prompt else rate(call)
    sources, hypotheses = ["x", "y", "z"], ["good one", "bad", "good"]
    with pytest.raises(ModelError, match=r"1 of 3 corrections, the first 'bad' .*'no idea'"):
        LlmS("tiny", server.url).score(sources, hypotheses, runtime=runtime)
    assert len(server.calls) == 2 + 3
    score = LlmS("tiny", server.url, refused="lowest").score(sources, hypotheses, runtime=runtime)
    assert score.sentences == pytest.approx([judge('"good one"'), 1, judge('"good"')])
    assert score.details["refused"] == 1
    assert score.sentence_details["refused"].tolist() == [False, True, False]
    # What broke the schema was not kept.
    assert len(server.calls) == 5 + 3


def test_refusals_are_reported_and_kept(server: ChatServer, runtime: Runtime) -> None:
    server.usual = say(None, refusal="I cannot help with that.")
    metric = LlmS("tiny", server.url, refused="lowest")
    assert metric.score(["x"], ["y"], runtime=runtime).details["refused"] == 1
    with pytest.raises(ModelError, match="I cannot help with that"):
        LlmS("tiny", server.url).score(["x"], ["y"], runtime=runtime)
    assert len(server.calls) == 1
