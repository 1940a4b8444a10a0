"""Average the weights of evaluators that were trained from the same start into one evaluator."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import yaml

from learnedgec.data.text import read_text
from learnedgec.errors import ConfigError
from learnedgec.evaluators.evaluator import Evaluator, EvaluatorModel
from learnedgec.evaluators.loading import torch_device
from learnedgec.evaluators.packages import check_package, find_evaluator
from learnedgec.evaluators.quantization import Bits, round_weights
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.data import TrainingData
from learnedgec.training.evaluate import evaluate
from learnedgec.training.fit import Result
from learnedgec.training.package import package_path, write_package

__all__ = ["average"]


def average(
    names: Sequence[str],
    output: Path,
    name: str,
    data: TrainingData,
    *,
    bits: Bits = 16,
    runtime: Runtime = Runtime(),
) -> Result:
    """Average the weights of several evaluators and write the mean as a package.

    The runs must start from the same pretrained encoder (or evaluator) and differ only in their seed. The
    seed sets the order of the data, the dropout and the initial weights of new heads. The mean of such runs
    is often better than each of them (Wortsman et al., "Model soups", ICML 2022), and it is as fast as one.

    Args:
        names: names or directories of at least two evaluators.
        output: folder in which the package is written.
        name: name of the package. An existing package of this name is replaced.
        data: the data that they were trained on (`fit.training_data`); its dev and test parts evaluate the
            mean.
        bits: bits per weight in the package (`quantization`).
        runtime: device for the evaluation.

    Raises:
        ConfigError: there are fewer than two evaluators, one is named twice, they differ in more than their
            seeds, or the package's path holds something else.

    Evaluators that were trained under these names, with the data of their runs, become `checkpoints/mini`:

        average(["mini-1", "mini-2"], Path("checkpoints"), "mini", data)
    """
    path = package_path(output, name)
    if len(names) < 2:
        raise ConfigError(f"{len(names)} evaluators cannot be averaged; name two or more.")
    folders = [find_evaluator(member) for member in names]
    manifests = [check_package(folder) for folder in folders]
    members = [Evaluator.load(str(folder), runtime=Runtime(device="cpu")) for folder in folders]
    _check_members(names, manifests, members, data.fingerprint())
    first = members[0].model
    model = EvaluatorModel(copy.deepcopy(first.config))
    states = [member.model.state_dict() for member in members]
    model.load_state_dict(
        {key: torch.stack([state[key].double() for state in states]).mean(0) for key in states[0]}
    )
    weights = round_weights(model.eval(), bits)
    evaluator = Evaluator(model.to(torch_device(runtime)), members[0].tokenizer)
    results = {
        part: evaluate(evaluator, data.load()[part], runtime=runtime) for part in ("dev", "test")
    }
    write_package(
        path,
        model.config,
        weights,
        evaluator.tokenizer,
        configuration=_shared(read_text(folders[0] / "training.yaml")),
        data=data.fingerprint(),
        results=results,
        seed=[manifest["seed"] for manifest in manifests],
        encoder=manifests[0]["encoder"],
        continued=manifests[0].get("continued"),
        averaged=[
            {"name": manifest["name"], "sha256": manifest["files"]["model.safetensors"]}
            for manifest in manifests
        ],
    )
    return Result(path, results)


def _check_members(
    names: Sequence[str],
    manifests: Sequence[Mapping[str, Any]],
    members: Sequence[Evaluator],
    data: Mapping[str, Any],
) -> None:
    """Raise `ConfigError` if evaluators differ in more than their seeds, or one is named twice."""
    digests = {manifest["files"]["model.safetensors"] for manifest in manifests}
    if len(digests) < len(names):
        raise ConfigError(f"{', '.join(names)}: the same weights are named twice; name each once.")
    expected = _traits(manifests[0], members[0].model)
    for name, manifest, evaluator in zip(names, manifests, members, strict=True):
        _check_data(name, manifest, data)
        for trait, value in _traits(manifest, evaluator.model).items():
            if value != expected[trait]:
                raise ConfigError(
                    f"{name} and {names[0]} cannot be averaged: they differ in their {trait}; "
                    "average runs of one configuration that differ only in their seed."
                )
    if members[0].model.config.lora:
        raise ConfigError(
            f"{', '.join(names)} cannot be averaged: they have low-rank matrices, whose mean would "
            "have a higher rank; choose one of them."
        )


def _check_data(name: str, manifest: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    """Raise `ConfigError` if an evaluator is an average, or was trained on other data than these."""
    if not isinstance(manifest["seed"], int):
        raise ConfigError(
            f"{name} is already an average; name the evaluators that it was made from."
        )
    learned, checked = manifest["data"], manifest["data"].get("check_leakage", True)
    if (learned["train"]["sha256"], checked) != (data["train"]["sha256"], data["check_leakage"]):
        raise ConfigError(
            f"{name} was trained on other data than this configuration names; give the "
            "configuration and the options that it was trained with."
        )


def _traits(manifest: Mapping[str, Any], model: EvaluatorModel) -> dict[str, Any]:
    """Return what runs that are averaged have in common."""
    return {
        "heads": model.config.heads,
        "sums": model.config.sums,
        "start": (manifest["encoder"], manifest.get("continued")),
        "architecture": {name: tensor.shape for name, tensor in model.state_dict().items()},
    }


def _shared(configuration: str) -> str:
    """Return the part of a configuration that runs with other seeds share: without name, seed and folder."""
    settings = yaml.safe_load(configuration)
    shared = {key: settings[key] for key in ("model", "data", "trainer") if key in settings}
    shared.get("data", {}).pop("folder", None)
    return yaml.safe_dump(shared, sort_keys=False, allow_unicode=True)
