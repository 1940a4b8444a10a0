"""A task of the lm-evaluation-harness, run by the harness itself on a model that answers by heart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from embedded import Sample

from learnedgec import load_metric
from learnedgec.data.text import write_jsonl

lm_eval = pytest.importorskip("lm_eval", reason="lm-eval is not installed (make test-harnesses)")

TASK = """
task: gec
dataset_path: json
dataset_kwargs:
  data_files: {{test: {data}}}
test_split: test
output_type: generate_until
doc_to_text: "Correct: {{{{source}}}}"
doc_to_target: "{{{{references[0]}}}}"
process_results: !function gec.process_results
metric_list:
  - metric: gleu
    aggregation: !function gec.aggregate
    higher_is_better: true
"""
FUNCTIONS = """
from learnedgec.applications.harnesses.lm_eval_task import task_functions
process_results, aggregate = task_functions("gleu")
"""


@pytest.mark.filterwarnings("default")
def test_a_task_gets_the_librarys_score(
    sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    outputs = sample.systems["strong"]
    by_heart = dict(zip((f"Correct: {source}" for source in sample.sources), outputs, strict=True))

    class ByHeart(LM):  # type: ignore[misc]
        def generate_until(self, requests: list[Any], **_: Any) -> list[str]:
            return [f"<think>…</think>{by_heart[request.args[0]]}" for request in requests]

        def loglikelihood(self, requests: list[Any], **_: Any) -> list[Any]:
            raise AssertionError

        def loglikelihood_rolling(self, requests: list[Any], **_: Any) -> list[Any]:
            raise AssertionError

    write_jsonl(
        tmp_path / "data.jsonl",
        [
            {"source": source, "references": row}
            for source, row in zip(sample.sources, sample.references.texts(), strict=True)
        ],
    )
    (tmp_path / "gec.yaml").write_text(TASK.format(data=tmp_path / "data.jsonl"))
    (tmp_path / "gec.py").write_text(FUNCTIONS)
    results = lm_eval.simple_evaluate(
        ByHeart(),
        tasks=["gec"],
        task_manager=TaskManager(include_path=str(tmp_path), include_defaults=False),
        bootstrap_iters=0,
    )
    alone = load_metric("gleu").score(sample.sources, outputs, sample.references.texts())
    assert results["results"]["gec"]["gleu,none"] == pytest.approx(alone.value)
