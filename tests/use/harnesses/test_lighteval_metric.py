"""A task of lighteval, run by lighteval itself on a model that answers by heart."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from embedded import Sample

from learnedgec import load_metric
from learnedgec.formats.text import write_jsonl

lighteval = pytest.importorskip(
    "lighteval", reason="lighteval is not installed (docs/how-to/harnesses.md)"
)


@pytest.mark.filterwarnings("default")
def test_a_task_gets_the_librarys_score(
    sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    from lighteval.logging.evaluation_tracker import EvaluationTracker
    from lighteval.models.dummy.dummy_model import DummyModel, DummyModelConfig
    from lighteval.models.model_output import ModelResponse
    from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters
    from lighteval.tasks.lighteval_task import LightevalTaskConfig
    from lighteval.tasks.registry import Registry
    from lighteval.tasks.requests import Doc

    from learnedgec.use.harnesses.lighteval_metric import corpus_metric

    # Of lighteval's own tasks, one fetches a file from the network when it is imported.
    monkeypatch.setattr(Registry, "_load_from_files", lambda *_: {})
    monkeypatch.setattr(Registry, "_load_from_subdirs", lambda *_: {})
    outputs, references = sample.systems["strong"], sample.references.texts()
    by_heart = dict(zip((f"Correct: {source}" for source in sample.sources), outputs, strict=True))

    class ByHeart(DummyModel):  # type: ignore[misc]
        def greedy_until(self, docs: list[Any]) -> list[Any]:
            return [ModelResponse(text=[f"<think>…</think>{by_heart[doc.query]}"]) for doc in docs]

    def prompt(line: dict[str, Any], _: str) -> Any:
        row, source = line["references"], line["source"]
        golds = list(range(len(row)))
        return Doc(f"Correct: {source}", row, golds, specific={"source": source})

    write_jsonl(
        tmp_path / "data" / "test.jsonl",
        [
            {"source": source, "references": row}
            for source, row in zip(sample.sources, references, strict=True)
        ],
    )
    tasks = ModuleType("tasks")
    tasks.TASKS_TABLE = [  # type: ignore[attr-defined]
        LightevalTaskConfig(
            name="gec",
            prompt_function=prompt,
            hf_repo=str(tmp_path / "data"),
            hf_subset="default",
            hf_avail_splits=["test"],
            evaluation_splits=["test"],
            metrics=[corpus_metric("green"), corpus_metric("length")],
        )
    ]
    pipeline = Pipeline(
        "gec",
        PipelineParameters(ParallelismManager.NONE, custom_tasks_directory=tasks),
        EvaluationTracker(str(tmp_path / "results")),
        model=ByHeart(DummyModelConfig()),
    )
    pipeline.evaluate()
    (found,) = (each for name, each in pipeline.get_results()["results"].items() if name != "all")
    # Documents are shuffled, so that GLEU, which draws references by position, would differ a little.
    for name in ("green", "length"):
        alone = load_metric(name).score(sample.sources, outputs, references)
        assert found[name] == pytest.approx(alone.value)
