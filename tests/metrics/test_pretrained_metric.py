"""What a metric needs is asked for before anything is computed, and a slip in one's own metric is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import huggingface_hub.constants
import numpy as np
import pytest

from learnedgec import Metric, Statistics, compare, load_metric, rank, score
from learnedgec.errors import InputError, LearnedgecError, ModelError, PluginError
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import bind


@pytest.mark.filterwarnings("ignore:the spaCy package")
@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("cleme2", "cleme2(encoder='bert-base-uncased'): the model"),
        ("pt-m2", "pt-m2(encoder='bert-base-uncased'): the model"),
        ("bartscore", "bartscore(model='facebook/bart-large-cnn'): the model"),
        ("bertscore", "bertscore(encoder='bert-base-uncased'): the model"),
        ("scribendi", "scribendi(model='gpt2'): the model"),
        ("uot-errant", "uot-errant(encoder='google/electra-base-discriminator'): the model"),
        ("some(fluency='org/f')", "some[joint-mpnet-3](fluency='org/f'): the model"),
        ("ensemble(gleu=0.5, scribendi=0.5)", "scribendi(model='gpt2'): the model"),
        ("classifier(model='org/quality')", "classifier(model='org/quality'): the model"),
        ("quality(model='absent')", "no evaluator is named 'absent'"),
        ("errant(annotator='absent')", "'absent'"),
        ("cleme(annotator='absent')", "'absent'"),
        ("llm-e(annotator='absent')", "'absent'"),
    ],
)
def test_what_is_absent_is_said_with_metric_and_parameter(
    metric: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(LearnedgecError) as caught:
        bind(["gleu", metric])
    assert message in str(caught.value)


@pytest.mark.filterwarnings("ignore:the spaCy package")
def test_what_is_not_read_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    names = ["cleme", "errant", "llm-s"]
    assert [bound.metric.name for bound in bind(names)] == names


@dataclass(frozen=True)
class Slip(Metric):
    """A metric with a slip of the kind that is asked for, which counts how often it computes."""

    name: ClassVar[str] = "slip"
    needs_references: ClassVar[bool] = False
    computed: ClassVar[list[int]] = []
    kind: str = "none"

    def compute(
        self, sources: Sequence[str], hypotheses: Sequence[str], references: Any, runtime: Runtime
    ) -> Statistics:
        self.computed.append(len(hypotheses))
        size = len(hypotheses)
        columns: dict[str, Any] = {
            "list": [1.0] * size,
            "nan": np.full(size, np.nan),
            "square": np.ones((size, 2)),
        }
        if self.kind == "bare":
            return columns["list"]  # type: ignore[no-any-return]
        if self.kind == "uneven":
            return Statistics({"r": np.ones(size), "s": np.ones(size + 1)})
        return Statistics({"r": columns.get(self.kind, np.ones(size))})

    def sentence_scores(self, statistics: Statistics) -> Any:
        return float(statistics["r"].mean()) if self.kind == "mean" else statistics["r"]

    def aggregate(self, statistics: Statistics) -> Any:
        return statistics["r"] if self.kind == "rows" else super().aggregate(statistics)


@pytest.mark.filterwarnings("ignore:the spaCy package")
@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("bare", PluginError, "compute did not return Statistics of NumPy arrays with one row for"),
        ("list", PluginError, "compute did not return Statistics"),
        ("square", PluginError, "sentence_scores did not return an array of one number for each"),
        ("mean", PluginError, "sentence_scores did not return an array of one number for each"),
        ("rows", PluginError, "aggregate did not return one number."),
        ("uneven", InputError, "statistics have one row per sentence; r has 2, s has 3."),
    ],
)
def test_a_slip_in_a_metric_of_ones_own_is_one_sentence(
    kind: str, error: type[Exception], message: str
) -> None:
    systems = {"ours": ["a", "b"], "theirs": ["a", "b"]}
    for use in (score, rank, partial(compare, baseline="ours")):
        with pytest.raises(error) as caught:
            use(Slip(kind=kind), ["a", "b"], systems)
        assert message in str(caught.value)
        if error is PluginError:
            assert str(caught.value).startswith(f"slip(kind={kind!r}): ")


def test_scores_that_are_no_numbers_are_told() -> None:
    with pytest.warns(UserWarning, match=r"slip\(kind='nan'\): no sentence has a score"):
        score(Slip(kind="nan"), ["a", "b"], ["a", "b"])


def test_nothing_is_computed_where_a_later_metric_lacks_something() -> None:
    Slip.computed.clear()
    absent = load_metric("head(model='open-mpnet', name='adequacy')")
    with pytest.raises(ModelError, match="but not adequacy"):
        score([Slip(), absent], ["a", "b"], ["a", "b"])
    assert not Slip.computed
