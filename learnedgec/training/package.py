"""Write a trained evaluator as a package: weights, tokenizer, configuration, manifest, model card."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from learnedgec._version import __version__
from learnedgec.errors import ConfigError
from learnedgec.execution.writing import atomic_folder, check_writable
from learnedgec.models.evaluator import EvaluatorConfig
from learnedgec.models.loading import quiet_transformers
from learnedgec.models.packages import CARD, MANIFEST, is_package, manifest_datasets
from learnedgec.training.card import model_card
from learnedgec.training.licences import weights_licence

__all__ = ["continuation", "package_path", "write_package"]

_VERSIONED = ("torch", "transformers", "pytorch-lightning", "tokenizers", "numpy", "datasets")


def package_path(output: Path, name: str) -> Path:
    """Return where a package of this name goes, if it can go there.

    Raises:
        ConfigError: the name is none, or what is there is no package and would be replaced.
        OutputError: it cannot be written.
    """
    # It is typed within the names of metrics, in quotes.
    if not re.fullmatch(r"\w[\w.+-]*", name):
        raise ConfigError(
            f"name: {name!r} must be a plain name without slashes, of letters, digits and ._+-, such as mine."
        )
    path = output / name
    check_writable(path / MANIFEST if path.is_dir() else path)
    if path.is_file() or (path.is_dir() and not is_package(path)):
        raise ConfigError(
            f"name: {path} exists and is no evaluator package; choose another name or output."
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
    results: Mapping[str, Any],
    seed: int | Sequence[int],
    encoder: str,
    continued: Mapping[str, Any] | None = None,
    averaged: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Write a package at once or not at all.

    Args:
        path: the package's directory, replaced if it exists.
        config: the model's.
        weights: what to store of the model's (`quantization.round_weights`).
        tokenizer: its tokenizer.
        configuration: the resolved training configuration, YAML.
        data: what was trained on (`TrainingData.fingerprint`).
        results: part -> head -> figures (`training.evaluate`).
        seed: of the training run, or those of the runs that were averaged.
        encoder: name of the pretrained encoder it started from.
        continued: what the run went on from, if anything (`continuation`).
        averaged: name and SHA-256 of the evaluators whose mean this is (`averaging.average`).
    """
    with atomic_folder(path) as folder:
        config.save_pretrained(folder)
        save_file(dict(weights), folder / "model.safetensors", metadata={"format": "pt"})
        with quiet_transformers():
            tokenizer.save_pretrained(folder)
        (folder / "training.yaml").write_text(configuration, encoding="utf-8")
        manifest: dict[str, Any] = {
            "format": 1,
            "name": path.name,
            "encoder": encoder,
            "continued": None if continued is None else dict(continued),
            "averaged": [dict(member) for member in averaged],
            "heads": config.heads,
            "sums": config.sums,
            "bits": 4 if torch.uint8 in {tensor.dtype for tensor in weights.values()} else 16,
            "data": data,
            "seed": seed if isinstance(seed, int) else list(seed),
            "versions": {"learnedgec": __version__}
            | {name: importlib.metadata.version(name) for name in _VERSIONED},
            "revision": _revision(),
            "results": results,
        }
        manifest["license"] = weights_licence(manifest_datasets(manifest))
        (folder / CARD).write_text(model_card(manifest), encoding="utf-8")
        for file in folder.iterdir():
            # Some writers make files that only their owner may read; a package is for everybody.
            file.chmod(0o644)
        manifest["files"] = {
            file.name: hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(folder.iterdir())
        }
        text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        (folder / MANIFEST).write_text(text, encoding="utf-8")


def continuation(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a package's record of the evaluator with this manifest that its run continued from."""
    return {
        "name": manifest["name"],
        "sha256": manifest["files"]["model.safetensors"],
        "datasets": list(manifest_datasets(manifest)),
    }


def _revision() -> str | None:
    """Return the git revision of the checkout, marked if it has changes, or `None` outside one."""
    here = Path(__file__).resolve().parent
    try:
        revision = subprocess.run(
            [
                "git",
                "-C",
                str(here),
                "describe",
                "--always",
                "--dirty",
                "--abbrev=40",
                "--exclude=*",
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return revision.strip()
