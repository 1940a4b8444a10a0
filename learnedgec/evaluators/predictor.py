"""What a learned metric reads its values from, resolved once from the name of a model.

The name is that of a trained package, or of a published sequence classifier with one label. Both are asked in
the same way:

    predictor = find_predictor("joint-mpnet-3")
    predictor.predict(sources, hypotheses, ["fluency"], runtime)["fluency"]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

from learnedgec._version import __version__
from learnedgec.errors import ModelError
from learnedgec.evaluators.evaluator import Evaluator, HeadConfig
from learnedgec.evaluators.inference import Item, model_inputs, run
from learnedgec.evaluators.loading import (
    check_model,
    checkpoint_digest,
    load_model,
    load_tokenizer,
    locate,
)
from learnedgec.evaluators.packages import (
    Package,
    find_evaluator,
    is_evaluator,
    open_package,
    output_names,
)
from learnedgec.evaluators.precision import Precision, evaluator_precision, model_precision
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.search_paths import local_path
from learnedgec.types import Floats

MAX_LENGTH = 128
"""Maximum length in tokens of the inputs of published classifiers, as in the releases of SOME and IMPARA."""

Reads: TypeAlias = Literal["hypothesis", "pair"]


@dataclass(frozen=True)
class PackagePredictor:
    """The outputs of a trained package: its heads, and sums of them.

    Attributes:
        name: the name by which it was found.
        package: the package. Predictors are equal if their files are.
    """

    packaged: ClassVar[bool] = True
    name: str
    package: Package

    @property
    def digest(self) -> str:
        """The first digits of the SHA-256 of its files, for signatures."""
        return self.package.digest

    @property
    def gate(self) -> str:
        """The gate of the metrics that it was trained for; see `EvaluatorConfig`."""
        return str(self.package.config.get("gate", "characters"))

    @property
    def encoder(self) -> str:
        """The pretrained encoder that its training started from."""
        return str(self.package.manifest["encoder"])

    def precision(self, runtime: Runtime) -> Precision:
        """Return the precision in which it computes."""
        return evaluator_precision(runtime)

    def check(self, outputs: Sequence[str]) -> None:
        """Raise `ModelError` if it lacks one of the outputs; loads no weights."""
        names = output_names(self.package.config)
        for output in outputs:
            if output not in names:
                raise ModelError(
                    f"the evaluator {self.name} has the heads {', '.join(names)} but not {output}, "
                    "which this metric reads; name an evaluator that has it, or score a head by itself: "
                    f"head(model={self.name!r}, name={names[0]!r})."
                )

    def range(self, weights: Mapping[str, float]) -> tuple[float, float] | None:
        """Return the range of the ratings that a weighted sum of outputs predicts.

        It is the sum of the ranges of all heads in it that learned from ratings; `None` if there is no such
        head, or the package does not say the range of one.
        """
        ends: list[list[float]] = []
        for output, weight in weights.items():
            for name, factor in (self._terms(output) or {output: 1.0}).items():
                head = HeadConfig(**self.package.config["heads"][name])
                if not head.rated:
                    continue
                if head.range is None:
                    return None
                ends.append(sorted(weight * factor * rating for rating in head.range))
        return (sum(low for low, _ in ends), sum(high for _, high in ends)) if ends else None

    def sums(self, outputs: Sequence[str]) -> dict[str, str]:
        """Return the terms of those outputs that are sums, such as `0.5*fluency+0.5*meaning`."""
        return {
            output: "+".join(f"{weight:g}*{head}" for head, weight in terms.items())
            for output in outputs
            if (terms := self._terms(output))
        }

    def predict(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        outputs: Sequence[str],
        runtime: Runtime,
    ) -> dict[str, Floats]:
        """Return the values of each output for N (source, hypothesis) rows, float64 (N,).

        Args:
            sources: N sources.
            hypotheses: N hypotheses.
            outputs: names of the outputs.
            runtime: how to run.

        Raises:
            ModelError: see `check`.
            PackageError: the model cannot be loaded.
        """
        self.check(outputs)
        evaluator = Evaluator.of(self.package, runtime)
        return evaluator.predict(sources, hypotheses, outputs, runtime=runtime)

    def _terms(self, output: str) -> dict[str, float]:
        """Return the weights of the heads in an output; empty for a head."""
        return dict((self.package.config.get("sums") or {}).get(output, {}))


@dataclass(frozen=True)
class ClassifierPredictor:
    """A published sequence classifier with one label, which is its only output, whatever it is called.

    Attributes:
        name: a directory or hub ID, of a model or of an adapter.
        reads: the `hypothesis` alone, or the `pair` (source, hypothesis).
        pooling: see `loading.load_model`.
        max_tokens: maximum length of an input in tokens; longer inputs are truncated.

    Raises:
        UnknownNameError: no model is named like this; a trained evaluator would be.
    """

    packaged: ClassVar[bool] = False
    # As IMPARA's authors use their classifier; SOME's has no gate.
    gate: ClassVar[str] = "cosine"
    encoder: ClassVar[str] = "bert-base-cased"
    name: str
    reads: Reads = "hypothesis"
    pooling: str | None = None
    max_tokens: int = MAX_LENGTH

    def __post_init__(self) -> None:
        if "/" not in self.name and local_path(self.name) is None:
            # The message lists the evaluators that there are.
            find_evaluator(self.name)

    @property
    def digest(self) -> str:
        """The first digits of the SHA-256 of its files, for signatures."""
        return checkpoint_digest(self.name)

    def precision(self, runtime: Runtime) -> Precision:
        """Return the precision in which it computes."""
        return model_precision(runtime)

    def check(self, outputs: Sequence[str]) -> None:
        """Raise `ModelError` if the model is unavailable; loads no weights."""
        check_model(self.name)

    def range(self, weights: Mapping[str, float]) -> None:
        """Return `None`: no file says on which ratings it was trained."""

    def sums(self, outputs: Sequence[str]) -> dict[str, str]:
        """Return the terms of sums, of which it has none."""
        return {}

    def predict(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        outputs: Sequence[str],
        runtime: Runtime,
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
        reading = [str(self.pooling), str(self.max_tokens), self.precision(runtime)]
        items: Sequence[Item] = hypotheses
        if self.reads == "pair":
            items = list(zip(sources, hypotheses, strict=True))
        values = run(
            lambda batch: model(**model_inputs(batch, model)).logits,
            load_tokenizer(self.name),
            items,
            runtime,
            depends_on=["classifier", self.digest, *reading, __version__],
            width=1,
            max_length=self.max_tokens,
            description=f"{Path(self.name).name}: {', '.join(outputs)}",
        )
        return dict.fromkeys(outputs, values[:, 0])


Predictor: TypeAlias = PackagePredictor | ClassifierPredictor


def find_package(name: str) -> PackagePredictor:
    """Return the predictor of a trained package.

    Raises:
        UnknownNameError, PackageError: see `packages.open_package`.
    """
    return PackagePredictor(name, open_package(name))


def find_predictor(name: str, reads: Reads = "hypothesis") -> Predictor:
    """Return the predictor of a model: a package if there is one of this name, else a classifier.

    Args:
        name: name, directory or hub ID.
        reads: what a classifier reads; a package says so itself.

    Raises:
        UnknownNameError: no model is named like this.
        PackageError: the package is damaged.
    """
    return find_package(name) if is_evaluator(name) else ClassifierPredictor(name, reads)
