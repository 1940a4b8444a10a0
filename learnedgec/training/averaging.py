"""The average of evaluators that were trained from the same start: one evaluator, no slower than each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from learnedgec.errors import ConfigError
from learnedgec.evaluator import Evaluator, EvaluatorModel
from learnedgec.packages import check_package, find_evaluator
from learnedgec.runtime import Runtime
from learnedgec.text import check_writable, read_text
from learnedgec.training.data import TrainingData
from learnedgec.training.evaluate import evaluate
from learnedgec.training.fit import Result
from learnedgec.training.package import float16_round_trip, write_package

__all__ = ["average"]


def average(
    names: Sequence[str], path: Path, data: TrainingData, *, runtime: Runtime = Runtime()
) -> Result:
    """Package the mean of the weights of evaluators.

    Runs that start from the same weights and differ in the seed end in one valley of the loss, where the mean is
    often better than each (Wortsman et al., "Model soups", ICML 2022). Runs that start from different heads or
    encoders have nothing to average, so heads, architecture and pretrained encoder must agree.

    Args:
        names: of at least two evaluators, or their directories.
        path: the package's directory, replaced if it exists.
        data: what they were trained on (`fit.training_data`); the mean is evaluated on its dev and test part.
        runtime: device of the evaluation.

    Raises:
        ConfigError: fewer than two, or evaluators that differ in more than their weights, or in their data.

    Example:
        >>> average(["mini-1", "mini-2"], Path("checkpoints/mini"), data)  # doctest: +SKIP
    """
    if len(names) < 2:
        raise ConfigError(f"{len(names)} evaluators cannot be averaged; name two or more.")
    check_writable(path / "manifest.json" if path.is_dir() else path)
    folders = [find_evaluator(name) for name in names]
    manifests = [check_package(folder) for folder in folders]
    members = [Evaluator.load(str(folder)) for folder in folders]
    fingerprint = data.fingerprint()
    first = members[0].model
    for name, member, manifest in zip(names, members, manifests, strict=True):
        for what, own, expected in (
            ("set of heads", _heads(member.model), _heads(first)),
            ("start", _start(manifest), _start(manifests[0])),
            ("architecture", _shapes(member.model), _shapes(first)),
            ("training data", manifest["data"]["train"]["sha256"], fingerprint["train"]["sha256"]),
        ):
            if own != expected:
                raise ConfigError(
                    f"{name} cannot be averaged with {names[0]}: its {what} is another; average runs of one "
                    "configuration that differ in their seed."
                )
    model = EvaluatorModel(first.config)
    states = [member.model.state_dict() for member in members]
    model.load_state_dict(
        {key: torch.stack([state[key].double() for state in states]).mean(0) for key in states[0]}
    )
    evaluator = Evaluator(float16_round_trip(model).eval(), members[0].tokenizer)
    results = {
        part: evaluate(evaluator, data.load()[part], runtime=runtime) for part in ("dev", "test")
    }
    write_package(
        path,
        model,
        evaluator.tokenizer,
        configuration=read_text(folders[0] / "training.yaml"),
        data=fingerprint,
        results=results,
        seed=[manifest["seed"] for manifest in manifests],
        encoder=manifests[0]["encoder"],
        continued=manifests[0]["continued"],
        averaged=[
            {"name": manifest["name"], "sha256": manifest["files"]["model.safetensors"]}
            for manifest in manifests
        ],
    )
    return Result(path, results)


def _start(manifest: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return which weights a run started from."""
    return manifest["encoder"], manifest["continued"]


def _heads(model: EvaluatorModel) -> dict[str, Any]:
    return dict(model.config.heads)


def _shapes(model: EvaluatorModel) -> dict[str, Any]:
    return {name: tensor.shape for name, tensor in model.state_dict().items()}
