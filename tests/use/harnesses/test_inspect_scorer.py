"""A task of inspect-ai, run by inspect-ai itself on a model that answers by heart."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from embedded import Sample

from learnedgec import load_metric

inspect_ai = pytest.importorskip(
    "inspect_ai", reason="inspect-ai is not installed (docs/how-to/harnesses.md)"
)


@pytest.fixture
def open_streams() -> Iterator[None]:
    """Collect the streams that inspect-ai leaves open, so that they warn here and in no other test."""
    yield
    gc.collect()


@pytest.mark.parametrize("name", ["gleu", "some"])
@pytest.mark.usefixtures("open_streams")
@pytest.mark.filterwarnings("default")
def test_a_task_gets_the_librarys_scores(
    name: str, tiny_evaluator: Path, sample: Sample, tmp_path: Path
) -> None:
    from inspect_ai import dataset, model

    from learnedgec.use.harnesses.inspect_scorer import correction

    metric = load_metric(name if name == "gleu" else f"some(model={str(tiny_evaluator)!r})")
    outputs, references = sample.systems["strong"], sample.references.texts()
    by_heart = dict(zip((f"Correct: {source}" for source in sample.sources), outputs, strict=True))

    def answer(messages: list[Any], *_: Any) -> Any:
        found = model.ModelOutput.from_content(
            "mockllm", f"<think>…</think>{by_heart[messages[-1].text]}"
        )
        # Without a count of tokens the model would ask the network for a vocabulary.
        found.usage = model.ModelUsage()
        return found

    samples = [
        dataset.Sample(input=f"Correct: {source}", target=row, metadata={"sentence": source})
        for source, row in zip(sample.sources, references, strict=True)
    ]
    (log,) = inspect_ai.eval(
        inspect_ai.Task(samples, scorer=correction(str(metric), source="sentence")),
        model=model.get_model("mockllm/model", custom_outputs=answer),
        log_dir=str(tmp_path),
        display="none",
    )
    assert log.status == "success", log.error
    found = [each.scores["correction"] for each in log.samples]
    assert [each.answer for each in found] == outputs
    alone = [
        metric.score([source], [text], [row]).value
        for source, text, row in zip(sample.sources, outputs, references, strict=True)
    ]
    assert [each.value for each in found] == pytest.approx(alone)
    together = metric.score(sample.sources, outputs, references)
    assert log.results.scores[0].metrics["corpus"].value == pytest.approx(together.value)
    # A log can be scored by another metric after the run.
    again = inspect_ai.score(
        log, correction("length", source="sentence"), action="overwrite", display="none"
    )
    length = load_metric("length").score(sample.sources, outputs)
    assert again.results.scores[0].metrics["corpus"].value == pytest.approx(length.value)
