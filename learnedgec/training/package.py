"""Write a trained evaluator as a package: weights, tokenizer, configuration, manifest, model card."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from learnedgec._version import __version__
from learnedgec.data.catalog.licences import weights_licence
from learnedgec.errors import ConfigError
from learnedgec.evaluators.evaluator import EvaluatorConfig
from learnedgec.evaluators.loading import quiet_transformers
from learnedgec.evaluators.packages import (
    CARD,
    LEARNED,
    MANIFEST,
    is_package,
    manifest_datasets,
    manifest_licence,
    manifest_tools,
)
from learnedgec.runtime.writing import atomic_folder, check_writable
from learnedgec.training.card import model_card
from learnedgec.training.evaluate import Verdict

_VERSIONED = ("torch", "transformers", "pytorch-lightning", "tokenizers", "numpy", "datasets")


def package_path(output: Path, name: str) -> Path:
    """Return the path for a package of this name, after checking that it can be written.

    Raises:
        ConfigError: the name is invalid, or the path holds something that is not a package.
        OutputError: it cannot be written.
    """
    # The names of metrics contain this name, in quotes.
    if not re.fullmatch(r"\w[\w.+-]*", name):
        raise ConfigError(
            f"name: {name!r} must be a plain name without slashes, of letters, digits and ._+-, such as mine."
        )
    path = output / name
    check_writable(path / MANIFEST if path.is_dir() else path)
    if path.is_file() or (path.is_dir() and not is_package(path)):
        raise ConfigError(
            f"name: {path} exists and is not an evaluator package; choose another name or output."
        )
    return path


def write_package(
    path: Path,
    config: EvaluatorConfig,
    weights: Mapping[str, torch.Tensor],
    tokenizer: Any,
    *,
    configuration: str,
    data: Mapping[str, Any],
    learned: bytes,
    results: Mapping[str, Any],
    seed: int | Sequence[int],
    encoder: str,
    continued: Mapping[str, Any] | None = None,
    averaged: Sequence[Mapping[str, Any]] = (),
    verdicts: Mapping[str, Verdict] | None = None,
) -> None:
    """Write a package; an interruption leaves no partial package.

    Args:
        path: the package's directory, replaced if it exists.
        config: the model's configuration.
        weights: the weights as they are stored (`quantization.round_weights`).
        tokenizer: its tokenizer.
        configuration: the resolved training configuration as YAML.
        data: record of the training data (`TrainingData.fingerprint`).
        learned: hashes of the sentences that were learned from (`TrainingData.hashes`).
        results: part -> head -> results (`training.evaluate`).
        seed: seed of the training run, or the seeds of the averaged runs.
        encoder: name of the pretrained encoder that the training started from.
        continued: manifest of the evaluator that the run continued, if any.
        averaged: manifests of the averaged evaluators.
        verdicts: head -> whether it may be trusted.
    """
    with atomic_folder(path) as folder:
        with quiet_transformers():
            tokenizer.save_pretrained(folder)
        if tokenizer.is_fast:
            # On one line, without the indentation that makes up two thirds of the file.
            tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
        config.save_pretrained(folder)
        save_file(dict(weights), folder / "model.safetensors", metadata={"format": "pt"})
        (folder / "training.yaml").write_text(configuration, encoding="utf-8")
        if learned:
            (folder / LEARNED).write_bytes(learned)
        manifest: dict[str, Any] = {
            "format": 1,
            "name": path.name,
            "encoder": encoder,
            "continued": continued
            and {
                "name": continued["name"],
                "sha256": continued["files"]["model.safetensors"],
                "datasets": list(manifest_datasets(continued)),
                "tools": list(manifest_tools(continued)),
            },
            "averaged": [
                {"name": f"seed {member['seed']}", "sha256": member["files"]["model.safetensors"]}
                for member in averaged
            ],
            "heads": config.heads,
            "sums": config.sums,
            "gate": config.gate,
            "bits": 4 if torch.uint8 in {tensor.dtype for tensor in weights.values()} else 16,
            "data": data,
            "seed": seed if isinstance(seed, int) else list(seed),
            "versions": {"learnedgec": __version__}
            | {name: importlib.metadata.version(name) for name in _VERSIONED},
            "results": results,
            "verdicts": {head: asdict(verdict) for head, verdict in (verdicts or {}).items()},
        }
        # A teacher may have learned from files of the continued evaluator, which are not the user's own data.
        earlier = manifest_datasets(continued) if continued else ()
        new = [name for name in data["datasets"] if name not in earlier]
        licences = [manifest_licence(continued)] if continued else []
        if new or not continued:
            licences.append(weights_licence(new, encoder))
        manifest["license"] = " AND ".join(sorted(set(" AND ".join(licences).split(" AND "))))
        (folder / CARD).write_text(model_card(manifest), encoding="utf-8")
        for file in folder.iterdir():
            # Some libraries write files that only their owner may read; everybody may read a package.
            file.chmod(0o644)
        manifest["files"] = {
            file.name: hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(folder.iterdir())
        }
        text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        (folder / MANIFEST).write_text(text, encoding="utf-8")
