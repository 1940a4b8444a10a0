"""Published sequence classifiers with one label, which metrics use like trained packages (`predictor`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

from learnedgec._version import __version__
from learnedgec.errors import ModelError
from learnedgec.evaluators.inference import Item, KnownRows, model_inputs, run
from learnedgec.evaluators.loading import (
    check_model,
    checkpoint_digest,
    load_model,
    load_tokenizer,
    locate,
)
from learnedgec.evaluators.locations import find_evaluator
from learnedgec.evaluators.precision import Precision, model_precision
from learnedgec.runtime.files import local_path
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Texts

MAX_LENGTH = 128
"""Maximum length in tokens of the inputs of published classifiers, as in the releases of SOME and IMPARA."""

Reads: TypeAlias = Literal["hypothesis", "pair"]


@dataclass(frozen=True)
class PublishedClassifier:
    """A published sequence classifier with one label, which is its only output, whatever it is called.

    Attributes:
        name: a directory or hub ID, of a model or of an adapter.
        reads: the `hypothesis` alone, or the `pair` (source, hypothesis).
        pooling: see `loading.load_model`.
        max_tokens: maximum length of an input in tokens; longer inputs are truncated.

    Raises:
        UnknownNameError: the name has no slash, and no directory or evaluator has this name.
    """

    # IMPARA's authors use their classifier with this gate and encoder; SOME's classifiers have no gate.
    gate: ClassVar[str] = "cosine"
    encoder: ClassVar[str] = "bert-base-cased"
    name: str
    reads: Reads = "hypothesis"
    pooling: str | None = None
    max_tokens: int = MAX_LENGTH

    def __post_init__(self) -> None:
        if "/" not in self.name and local_path(self.name) is None:
            # This raises an error that lists the evaluators.
            find_evaluator(self.name)

    @property
    def digest(self) -> str:
        """The first digits of the SHA-256 of its files, for signatures."""
        return checkpoint_digest(self.name)

    def precision(self, runtime: Runtime) -> Precision:
        """Return the precision in which the model computes."""
        return model_precision(runtime)

    def check(self, outputs: Sequence[str]) -> None:
        """Raise `ModelError` if the model is unavailable; loads no weights."""
        check_model(self.name)

    def doubts(self, outputs: Sequence[str]) -> tuple[str, ...]:
        """Return nothing, because no file says how the model was tested."""
        return ()

    def range(self, weights: Mapping[str, float]) -> None:
        """Return `None`, because no file says on which ratings the model was trained."""

    def sums(self, outputs: Sequence[str]) -> dict[str, str]:
        """Return no terms, because a classifier has no sums."""
        return {}

    def predict(
        self, sources: Texts, hypotheses: Texts, outputs: Sequence[str], runtime: Runtime
    ) -> dict[str, Floats]:
        """Return the label's value under the name of each output, float64 (N,).

        Args:
            sources: N sources.
            hypotheses: N hypotheses.
            outputs: names of the outputs.
            runtime: how to run.

        Raises:
            ModelError: the model cannot be loaded, or has more than one label.
        """
        model: Any = load_model(
            self.name, runtime, "AutoModelForSequenceClassification", pooling=self.pooling
        )
        if model.config.num_labels != 1:
            raise ModelError(
                f"{locate(self.name)} has {model.config.num_labels} labels; a regressor with one was "
                "expected."
            )
        settings = [str(self.pooling), str(self.max_tokens), self.precision(runtime)]
        items: Sequence[Item] = hypotheses
        if self.reads == "pair":
            items = list(zip(sources, hypotheses, strict=True))
        values = run(
            lambda batch: model(**model_inputs(batch, model)).logits,
            load_tokenizer(self.name),
            items,
            runtime,
            KnownRows(1, ["classifier", self.digest, *settings, __version__]),
            max_length=self.max_tokens,
            description=f"{Path(self.name).name}: {', '.join(outputs)}",
        )
        return dict.fromkeys(outputs, values[:, 0])
