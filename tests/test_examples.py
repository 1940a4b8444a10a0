"""Every script in examples/ runs from an empty folder, prints what it says, and stays short."""

from __future__ import annotations

import ast
import re
import runpy
import shutil
import textwrap
import warnings
from pathlib import Path
from typing import Any

import pytest
from embedded import Sample

import learnedgec
from learnedgec.data.text import write_jsonl

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Return a function that runs an example where no file is, and returns what it printed."""
    monkeypatch.chdir(tmp_path)

    def run(name: str) -> str:
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        assert list(tmp_path.iterdir()) == [], "an example leaves files behind"
        return capsys.readouterr().out

    return run


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"[+-]?\d+\.\d+", text)]


def test_each_is_short_says_what_it_shows_and_is_listed() -> None:
    listed = re.findall(r"^\| \[`(\w+)\.py`\]", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
    scripts = sorted(EXAMPLES.glob("*.py"))
    assert sorted(listed) == [path.stem for path in scripts]
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    for path in scripts:
        text = path.read_text()
        assert text.count("\n") < 40, path.name
        assert ast.get_docstring(ast.parse(text)), path.name
        assert path.stem in tested, path.name


@pytest.mark.slow
def test_score_file(run) -> None:
    out = run("score_file")
    assert re.search(r"^quality: 0\.73\d+$", out, re.MULTILINE)
    assert re.search(r"^gleu: 0\.85\d+$", out, re.MULTILINE)
    assert "|references:2|learnedgec:" in out


def test_rank_systems(run) -> None:
    out = run("rank_systems")
    best, *_, last = out.splitlines()[:4]
    assert best.startswith("cluster 1  strong   0.800")
    assert best.endswith("beats careful, eager, weak")
    assert last.startswith("cluster 3  weak")
    assert "strong scores higher than careful by gleu (0.7998 against 0.5179;" in out


def test_own_metric(run) -> None:
    lines = run("own_metric").splitlines()
    assert lines[0] == "shortness(scale=0.1)  eager    +0.663"
    values = [numbers(line)[-1] for line in lines]
    assert len(values) == 4
    assert values == sorted(values, reverse=True)


def test_tune_ensemble(run) -> None:
    untuned, tuned, held_out, weights = run("tune_ensemble").splitlines()
    assert numbers(tuned)[0] >= numbers(untuned)[0] > 0.85
    assert 0.8 < numbers(held_out)[0] <= numbers(tuned)[0]
    assert sum(numbers(weights)) == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*is (not trusted|promising)")  # forty ratings
def test_train_on_ratings(run) -> None:
    learned, scored = run("train_on_ratings").splitlines()
    assert -1 < numbers(learned)[0] < 1
    assert "on 40 ratings" in learned
    strong, weak = numbers(scored)
    assert strong > weak


@pytest.mark.slow
def test_rerank_outputs(run) -> None:
    lines = run("rerank_outputs").splitlines()
    random, quality, risk = (numbers(line)[0] for line in lines[:3])
    assert random < quality < 1
    assert random < risk < 1
    assert {line.split()[0] for line in lines[3:]} <= {
        "careful",
        "eager",
        "source",
        "strong",
        "weak",
    }
    assert len(lines) == 7


def test_reward_function(run) -> None:
    *rows, step = run("reward_function").splitlines()
    good, other, nothing, mistake, empty = (numbers(row)[0] for row in rows)
    assert good > nothing == 0 > other > mistake > empty == -11
    assert step.endswith("edited tokens 2.80, floored 20%")


def test_explain_edits(run) -> None:
    out = run("explain_edits")
    assert re.search(r"^  \+0\.\d+  am -> \(nothing\)$", out, re.MULTILINE)
    total, *worth = numbers(out.split("\n  ", 1)[1].split("\nI am")[0])
    corrected, *shares = worth
    assert sum(shares) == pytest.approx(corrected - total, abs=0.002)


def test_meta_evaluate(run) -> None:
    rows = [line.split()[:3] for line in run("meta_evaluate").splitlines()[1:]]
    accuracies = {name: float(value) for _, name, value in rows}
    assert [kind for kind, _, _ in rows].count("sentinel") == 4
    assert accuracies["gleu"] > 0.8 > accuracies["edit-count"]
    assert accuracies["constant"] == 0


def test_cache_statistics(run) -> None:
    scored, ranked, compared = run("cache_statistics").splitlines()
    assert re.match(r"scored careful 0\.\d+, strong 0\.\d+$", scored)
    assert ranked == "ranked strong, careful from the cache"
    assert compared.startswith("the cache has ")
    assert not compared.startswith("the cache has 0 ")


def test_query_service(run) -> None:
    # uvicorn imports parts of websockets that warn of their end.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        out = run("query_service")
    assert "gleu: 0.553 (gleu(" in out
    assert "edit-count: 0.500 (" in out


@pytest.mark.filterwarnings("default")
def test_evaluate_module(
    run, sample: Sample, tiny_evaluator: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert run("evaluate_module").startswith("gleu: 1.0 (gleu(n=4, ")
    import evaluate

    texts = {"sources": list(sample.sources), "predictions": sample.systems["strong"]}
    references = sample.references.texts()
    for name in ("gleu", f"some(model={str(tiny_evaluator)!r})"):
        metric = learnedgec.load_metric(name)
        cache = str(tmp_path_factory.mktemp("cache"))
        module = evaluate.load(str(EXAMPLES / "evaluate_module.py"), str(metric), cache_dir=cache)
        needed = {"references": references} if metric.needs_references else {}
        result = module.compute(**texts, **needed)
        alone = metric.score(*texts.values(), references)
        assert result[metric.name] == pytest.approx(alone.value)
        assert result["sentences"] == pytest.approx(alone.sentences.tolist())
        assert result["signature"] == alone.signature


TASK = """
task: gec
dataset_path: json
dataset_kwargs:
  data_files: {{test: {data}}}
test_split: test
output_type: generate_until
doc_to_text: "Correct: {{{{source}}}}"
doc_to_target: "{{{{references[0]}}}}"
"""


@pytest.mark.filterwarnings("default")
def test_lm_eval_task(run, sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the example, then a task with its functions in the harness, on a model that answers by heart."""
    assert run("lm_eval_task") == "gleu: 1.0\n"
    lm_eval = pytest.importorskip(
        "lm_eval", reason="lm-eval is not installed (make test-harnesses)"
    )
    tasks, api = map(pytest.importorskip, ("lm_eval.tasks", "lm_eval.api.model"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    outputs = sample.systems["strong"]
    by_heart = dict(zip((f"Correct: {source}" for source in sample.sources), outputs, strict=True))

    class ByHeart(api.LM):
        def generate_until(self, requests: list[Any], **_: Any) -> list[str]:
            return [f"<think>…</think>{by_heart[request.args[0]]}" for request in requests]

        def loglikelihood(self, requests: list[Any], **_: Any) -> list[Any]:
            raise AssertionError

        def loglikelihood_rolling(self, requests: list[Any], **_: Any) -> list[Any]:
            raise AssertionError

    references = sample.references.texts()
    rows = zip(sample.sources, references, strict=True)
    write_jsonl(tmp_path / "data.jsonl", [{"source": s, "references": of} for s, of in rows])
    example = EXAMPLES / "lm_eval_task.py"
    functions = ast.get_docstring(ast.parse(example.read_text())).split("\n\n")[1]
    task = TASK.format(data=tmp_path / "data.jsonl") + textwrap.dedent(functions)
    (tmp_path / "gec.yaml").write_text(task)
    shutil.copy(example, tmp_path)
    results = lm_eval.simple_evaluate(
        ByHeart(),
        tasks=["gec"],
        task_manager=tasks.TaskManager(include_path=str(tmp_path), include_defaults=False),
        bootstrap_iters=0,
    )
    alone = learnedgec.score("gleu", sample.sources, outputs, references)
    assert results["results"]["gec"]["gleu,none"] == pytest.approx(alone.value)
