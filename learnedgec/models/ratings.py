"""Ratings by a trained evaluator, or by a published model with one label."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from learnedgec._version import __version__
from learnedgec.arrays import Floats
from learnedgec.errors import ModelError
from learnedgec.execution.kept import KeptRows
from learnedgec.execution.lookup import local_path
from learnedgec.execution.runtime import Runtime
from learnedgec.models.batching import Item, model_inputs
from learnedgec.models.evaluator import Evaluator
from learnedgec.models.inference import remembered_rows, run
from learnedgec.models.loading import checkpoint_digest, load_model, load_tokenizer, locate
from learnedgec.models.packages import check_outputs, find_evaluator
from learnedgec.models.precision import model_precision

MAX_LENGTH = 128


def package_ratings(
    name: str,
    dimensions: Sequence[str],
    sources: Sequence[str],
    hypotheses: Sequence[str],
    runtime: Runtime,
) -> dict[str, Floats]:
    """Return the ratings that a package's heads predict."""
    check_outputs(name, dimensions)
    evaluator = Evaluator.load(name, runtime=runtime)
    return evaluator.predict(sources, hypotheses, dimensions, runtime=runtime)


def classifier_ratings(
    name: str,
    dimension: str,
    items: Sequence[Item],
    runtime: Runtime,
    *,
    pooling: str | None = None,
    max_length: int = MAX_LENGTH,
) -> Floats:
    """Return the ratings that a sequence classifier with one label predicts.

    Args:
        name: name of the model, or of an adapter.
        dimension: rated dimension, for the progress bar.
        items: N texts or N pairs of texts.
        runtime: device, precision, batches and progress bar.
        pooling: see `load_model`.
        max_length: maximum length of an input in tokens; longer inputs are truncated.

    Raises:
        ModelError: the model cannot be loaded, or has more than one label.
    """
    check_classifier(name)
    model: Any = load_model(name, runtime, "AutoModelForSequenceClassification", pooling=pooling)
    if model.config.num_labels != 1:
        raise ModelError(
            f"{locate(name)} has {model.config.num_labels} labels; a regressor with one was expected."
        )
    store: KeptRows | None = None
    if runtime.cache_dir is not None:
        reading = [str(pooling), str(max_length), model_precision(runtime)]
        about = ["classifier", checkpoint_digest(name), *reading, __version__]
        store = KeptRows(runtime.cache_dir, about, 2)
    rows = remembered_rows(
        lambda fresh: run(
            lambda batch: model(**model_inputs(batch, model)).logits,
            load_tokenizer(name),
            fresh,
            runtime,
            max_length=max_length,
            description=f"{Path(name).name}: {dimension}",
        ),
        items,
        {},
        store,
    )
    return np.array([rows[item][0] for item in items], dtype=np.float64)


def check_classifier(name: str) -> None:
    """Raise `UnknownNameError` if a model's name looks like that of an evaluator that does not exist."""
    if "/" not in name and local_path(name) is None:
        # No published model is named like this: it is an evaluator that has not been trained yet.
        find_evaluator(name)
