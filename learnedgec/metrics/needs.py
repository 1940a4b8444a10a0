"""The models that metrics read: whether they are available, and what signatures say of them.

Availability is checked before hours of work rather than after them.
"""

from __future__ import annotations

from typing import ClassVar

from learnedgec.errors import ModelError
from learnedgec.metrics.base import Metric
from learnedgec.runtime.runtime import Runtime


class PretrainedMetric(Metric):
    """A metric that reads one pretrained model; if it has the parameter `layer`, the states of that layer."""

    model_parameter: ClassVar[str] = "model"
    """The parameter that names the model."""

    def check(self, runtime: Runtime) -> None:
        """Raise unless the model is available and has the layer that is read."""
        name = getattr(self, self.model_parameter)
        need_model(self, self.model_parameter, name, getattr(self, "layer", None))

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the SHA-256 of the model's weights, and the precision."""
        return describe_model(getattr(self, self.model_parameter), runtime)


def need_model(metric: Metric, parameter: str, name: str, layer: int | None = None) -> None:
    """Raise unless a metric's model is available and has the layer that is read.

    Args:
        metric: the metric that reads the model.
        parameter: the parameter that names the model.
        name: the name of the model.
        layer: the layer whose states are read, if it is not the last.

    Raises:
        ModelError: the message names metric and parameter.
    """
    from learnedgec.evaluators.loading import check_model

    try:
        check_model(name, layer)
    except ModelError as error:
        raise ModelError(f"{metric.name}({parameter}={name!r}): {error}") from None


def describe_model(name: str, runtime: Runtime) -> dict[str, str | int | float]:
    """Return what a signature says of a model: the SHA-256 of its weights, and the precision."""
    from learnedgec.evaluators.loading import checkpoint_digest
    from learnedgec.evaluators.precision import model_precision

    return {"sha256": checkpoint_digest(name), "dtype": model_precision(runtime)}
