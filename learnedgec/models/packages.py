"""Evaluator packages on disk: finding them by name and checking that they are whole; no torch here.

A package is a directory that `from_pretrained` reads without the network or the base model:

    config.json             the encoder's architecture, the heads and their sums
    model.safetensors       all weights, in 16 or 4 bits (`quantization`)
    tokenizer.json …        the tokenizer
    training.yaml           the resolved training configuration
    manifest.json           SHA-256 of each file, training data, seed, versions, development results
    README.md               the model card
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from learnedgec.errors import FormatError, PackageError, UnknownNameError
from learnedgec.execution.digests import file_digest
from learnedgec.execution.shelves import shelves
from learnedgec.formats.text import read_json

__all__ = [
    "MANIFEST",
    "check_package",
    "find_evaluator",
    "is_evaluator",
    "is_package",
    "learned_from",
    "list_evaluators",
    "package_config",
    "package_digest",
    "was_checked",
]

MANIFEST = "manifest.json"


def check_package(path: Path) -> dict[str, Any]:
    """Return the manifest after checking that every file is as it was packaged.

    Raises:
        PackageError: the manifest or a file is missing, or a SHA-256 differs.
    """
    again = "fetch or train it again"
    try:
        manifest: dict[str, Any] = read_json(path / MANIFEST)
        files: dict[str, str] = manifest["files"]
    except (FormatError, KeyError, TypeError) as error:
        raise PackageError(f"{path / MANIFEST} is damaged ({error}); {again}.") from None
    for name, expected in files.items():
        file = path / name
        if not file.is_file():
            raise PackageError(f"the evaluator {path} lacks the file {name}; {again}.")
        found = file_digest(file)
        if found != expected:
            raise PackageError(
                f"{file} was altered or truncated: its SHA-256 is {found[:12]}…, the manifest says "
                f"{expected[:12]}…; {again}."
            )
    return manifest


def package_digest(name: str) -> str:
    """Return the first 12 digits of the SHA-256 of an evaluator's weights, without loading them.

    Raises:
        UnknownNameError: no evaluator has this name.
        PackageError: a file is missing, altered or truncated.
    """
    files: dict[str, str] = check_package(find_evaluator(name))["files"]
    return files["model.safetensors"][:12]


def package_config(name: str) -> dict[str, Any]:
    """Return an evaluator's `config.json`; what it leaves out has its default.

    Raises:
        UnknownNameError: no evaluator has this name.
    """
    config: dict[str, Any] = read_json(find_evaluator(name) / "config.json")
    return config


def was_checked(manifest: Mapping[str, Any]) -> bool:
    """Return whether what an evaluator learned from was checked for text of the benchmarks."""
    return bool(manifest["data"].get("check_leakage", True))


def learned_from(name: str) -> tuple[str, ...]:
    """Return the datasets that an evaluator, and what it was continued from, has learned from."""
    manifest = check_package(find_evaluator(name))
    earlier = manifest.get("continued") or {"datasets": []}
    return tuple(dict.fromkeys([*earlier["datasets"], *manifest["data"]["datasets"]]))


def is_package(path: Path) -> bool:
    """Return whether a directory looks like an evaluator package."""
    return (path / MANIFEST).is_file()


def is_evaluator(name: str) -> bool:
    """Return whether a model's name means an evaluator package, by directory or by name."""
    return is_package(Path(name).expanduser()) or name in list_evaluators()


def list_evaluators() -> dict[str, Path]:
    """Return every evaluator that can be loaded by name, and where it is."""
    found: dict[str, Path] = {}
    for shelf in shelves():
        if shelf.is_dir():
            for path in sorted(shelf.iterdir()):
                if is_package(path):
                    found.setdefault(path.name, path)
    return found


def find_evaluator(name: str) -> Path:
    """Return the directory of an evaluator named by directory or by name.

    Names are looked up in `$LEARNEDGEC_EVALUATORS`, `./checkpoints`, and learnedgec's own.

    Raises:
        UnknownNameError: there is none; the message suggests the nearest.
    """
    if is_package(Path(name).expanduser()):
        return Path(name).expanduser()
    found = list_evaluators()
    if name not in found:
        raise UnknownNameError(
            "evaluator",
            name,
            found,
            hint="Train it (`learnedgec train --config configs/…`) or give a package's directory.",
        )
    return found[name]
