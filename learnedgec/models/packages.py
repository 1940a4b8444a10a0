"""Evaluator packages on disk: find them by name and check their integrity, without importing torch.

A package is a directory that `from_pretrained` reads without the network or the base model:

    config.json             the encoder's architecture, the heads and their sums
    model.safetensors       all weights, in 16 or 4 bits (`quantization`)
    tokenizer.json …        the tokenizer
    training.yaml           the resolved training configuration
    manifest.json           SHA-256 of each file, training data, seed, versions, development results
    README.md               the model card

The manifest lists every file that scores depend on: configuration, weights and tokenizer. The package must
    not contain other files, because a library might read them; hidden files (`.name`) are ignored. The model
    card may be edited, because no score depends on it.

A package may also be a repository on a hub (`hub`), named by `org/name@revision` in place of a directory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from learnedgec.errors import FormatError, ModelError, PackageError, UnknownNameError
from learnedgec.execution.digests import file_digest, files_digest
from learnedgec.execution.lookup import local_path, lookup_folders
from learnedgec.formats.text import read_json
from learnedgec.models.hub import hub_file, hub_files, is_hub_name

__all__ = [
    "CARD",
    "MANIFEST",
    "MODEL_TYPE",
    "check_outputs",
    "check_package",
    "evaluator_name",
    "fetch_package",
    "find_evaluator",
    "is_evaluator",
    "is_package",
    "learned_from",
    "list_evaluators",
    "manifest_datasets",
    "output_names",
    "package_config",
    "package_digest",
    "package_sum",
    "was_checked",
]

MANIFEST = "manifest.json"
CARD = "README.md"
# How a configuration calls an evaluator.
MODEL_TYPE = "learnedgec-evaluator"

_FORMAT = 1
# Keys of a manifest, those that every one has and others: a type, a list of a type, or an object with keys.
_SHAPE = {
    "name": str,
    "encoder": str,
    "seed": int | list,
    "heads": dict,
    "data": {"datasets": [str], "train": {"sha256": str}},
    "files": dict,
}
_OPTIONAL = {
    "sums": dict,
    "license": str,
    "continued": {"name": str, "sha256": str, "datasets": [str]},
}
# Without these there is no evaluator. (Which files a tokenizer has besides, depends on its kind.)
_NEEDED = ("config.json", "model.safetensors", "tokenizer_config.json")
# What people read; no score depends on it.
_DESCRIPTIVE = {CARD, "training.yaml"}


def check_package(path: Path) -> dict[str, Any]:
    """Return the manifest after checking it and the SHA-256 of every file.

    Raises:
        PackageError: the manifest is damaged or lacks a required file; or a file is missing, not in the
            manifest, or has another SHA-256.
    """
    again = "fetch or train it again"
    manifest = _read_manifest(path / MANIFEST)
    files: dict[str, str] = manifest["files"]
    try:
        for name, expected in files.items():
            file = path / name
            if not file.is_file():
                raise PackageError(f"the evaluator {path} lacks the file {name}; {again}.")
            if name == CARD:
                continue
            found = file_digest(file)
            if found != expected:
                raise PackageError(
                    f"{file} was altered or truncated: its SHA-256 is {found[:12]}…, the manifest says "
                    f"{expected[:12]}…; {again}."
                )
        here = {file.name for file in path.iterdir() if not file.name.startswith(".")}
    except OSError as error:
        raise PackageError(f"the evaluator {path} cannot be read ({error}); {again}.") from None
    if strange := sorted(here - files.keys() - {MANIFEST}):
        raise PackageError(
            f"the evaluator {path} holds {strange[0]}, which its manifest does not list; move it elsewhere."
        )
    return manifest


def _read_manifest(file: Path) -> dict[str, Any]:
    """Return a manifest after checking its form, or raise `PackageError`."""
    try:
        manifest = read_json(file)
    except FormatError as error:
        raise PackageError(f"{file} is damaged ({error}); fetch or train it again.") from None
    if problem := _problem(manifest):
        raise PackageError(f"{file} is damaged ({problem}); fetch or train it again.")
    if manifest.get("format") != _FORMAT:
        raise PackageError(
            f"the evaluator {file.parent} is of format {manifest.get('format')!r}; this version of "
            f"learnedgec reads format {_FORMAT}; update learnedgec."
        )
    return dict(manifest)


def package_digest(name: str) -> str:
    """Return the first 12 digits of the SHA-256 of the files that scores depend on, for signatures.

    It is the SHA-256 of a list of configuration, weights and tokenizer with the SHA-256 of each, without card
    and training configuration. The files are checked, and no model is loaded. This command prints the same:

        LC_ALL=C; sha256sum [!.]* | grep -Ev ' (README.md|training.yaml|manifest.json)$' | sha256sum

    Args:
        name: name or directory of the evaluator.

    Raises:
        UnknownNameError: no evaluator has this name.
        PackageError: see `check_package`.

    Example:
        >>> package_digest("joint-mpnet-3")
        'fffb776dde96'
    """
    files: dict[str, str] = check_package(find_evaluator(name))["files"]
    read = {file: digest for file, digest in files.items() if file not in _DESCRIPTIVE}
    return files_digest(read)[:12]


def _problem(manifest: Any) -> str | None:
    """Return the first error in the form of a manifest, or `None`."""
    optional = {
        key: shape
        for key, shape in _OPTIONAL.items()
        if isinstance(manifest, dict) and manifest.get(key) is not None
    }
    if misfit := _misfit(manifest, _SHAPE | optional, ""):
        return misfit
    for name, digest in manifest["files"].items():
        # Packages are flat, and their files visible: no name leads elsewhere.
        if not re.fullmatch(r"[\w+-][\w.+-]{0,200}", name) or name == MANIFEST:
            return f"'files' has {name[:60]!r}, which is not the name of a file of the package"
        if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
            return f"'files' has no SHA-256 of {name}"
    for name in _NEEDED:
        if name not in manifest["files"]:
            return f"'files' lacks {name}"
    return None


def _misfit(value: Any, shape: Any, key: str) -> str | None:
    """Return the first key of a manifest whose value has the wrong type, or `None`."""
    if isinstance(shape, dict):
        if isinstance(value, dict):
            parts = (
                _misfit(value.get(name), part, f"{key}.{name}" if key else name)
                for name, part in shape.items()
            )
            return next(filter(None, parts), None)
        fits = False
    elif isinstance(shape, list):
        fits = isinstance(value, list) and all(isinstance(item, shape[0]) for item in value)
    else:
        fits = isinstance(value, shape)
    if fits:
        return None
    return f"{key!r} is missing or of another type" if key else "not a JSON object"


def package_config(name: str) -> dict[str, Any]:
    """Return an evaluator's `config.json`, with defaults for missing keys.

    Raises:
        UnknownNameError: no evaluator has this name.
        PackageError: the evaluator lacks the file.
    """
    folder = find_evaluator(name)
    if not (folder / "config.json").is_file():
        raise PackageError(
            f"the evaluator {folder} lacks the file config.json; fetch or train it again."
        )
    config: dict[str, Any] = read_json(folder / "config.json")
    return config


def output_names(about: Mapping[str, Any]) -> list[str]:
    """Return the names of an evaluator's outputs by its configuration or manifest: heads first, then sums.

    A sum with the name of a head takes its place.

    Example:
        >>> output_names({"heads": {"quality": {}, "capitals": {}}, "sums": {"quality": {}, "both": {}}})
        ['quality', 'capitals', 'both']
    """
    return list(dict.fromkeys([*about["heads"], *(about.get("sums") or {})]))


def package_sum(name: str, output: str) -> str:
    """Return the sum behind an evaluator's output, such as `0.5*fluency+0.5*meaning`; empty for a head.

    The digest of the package covers the sum; signatures of `preference` and `head` spell it out as well.

    Raises:
        UnknownNameError: no evaluator has this name.
    """
    parts = (package_config(name).get("sums") or {}).get(output, {})
    return "+".join(f"{weight:g}*{head}" for head, weight in parts.items())


def check_outputs(name: str, asked: Iterable[str]) -> None:
    """Check that an evaluator has the requested outputs, which are heads or sums.

    Raises:
        UnknownNameError: no evaluator has this name.
        ModelError: it lacks an output.
    """
    config = package_config(name)
    outputs = output_names(config)
    for output in asked:
        if output not in outputs:
            raise ModelError(
                f"the evaluator {name} has the heads {', '.join(outputs)} but not {output}, "
                "which this metric reads; name an evaluator that has it, or score a head by itself: "
                f"head(model={name!r}, name={outputs[0]!r})."
            )


def was_checked(manifest: Mapping[str, Any]) -> bool:
    """Return whether an evaluator's training data were checked for text of the benchmarks."""
    return bool(manifest["data"].get("check_leakage", True))


def evaluator_name(path: Path) -> str:
    """Return the name under which an evaluator was trained."""
    return str(_read_manifest(path / MANIFEST)["name"])


def learned_from(name: str) -> tuple[str, ...]:
    """Return the training data of an evaluator, including those of evaluators that it continues."""
    return manifest_datasets(check_package(find_evaluator(name)))


def manifest_datasets(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the same as `learned_from`, for a manifest."""
    earlier = manifest.get("continued") or {"datasets": []}
    return tuple(dict.fromkeys([*earlier["datasets"], *manifest["data"]["datasets"]]))


def is_package(path: Path) -> bool:
    """Return whether a directory looks like an evaluator package."""
    return (path / MANIFEST).is_file()


def is_evaluator(name: str) -> bool:
    """Return whether a model's name is that of an evaluator package: a directory, a name or a hub ID."""
    path = local_path(name)
    if (path is not None and is_package(path)) or name in list_evaluators():
        return True
    return is_hub_name(name) and _is_hub_package(name)


def _is_hub_package(name: str) -> bool:
    """Return whether a repository holds a package; `False` if the hub cannot be reached."""
    try:
        config = read_json(hub_file(name, "config.json"))
    except (FormatError, ModelError):
        return False
    return isinstance(config, dict) and config.get("model_type") == MODEL_TYPE


def fetch_package(name: str, *, fresh: bool = False) -> Path:
    """Return the local folder of a package on the hub; missing files are downloaded.

    Args:
        name: a hub ID, `org/name` or `org/name@revision`.
        fresh: ask the hub for the current version of `org/name`, even if the cache has one.

    Raises:
        ModelError: the repository does not exist or holds no package, or the hub cannot be reached.
        PackageError: its manifest is damaged.
    """
    manifest = hub_file(name, MANIFEST, fresh=fresh)
    # No other file of the repository is taken.
    return hub_files(name, manifest, _read_manifest(manifest)["files"])


def list_evaluators() -> dict[str, Path]:
    """Return every evaluator that can be loaded by name, with its directory."""
    found: dict[str, Path] = {}
    for folder in lookup_folders():
        if folder.is_dir():
            for path in sorted(folder.iterdir()):
                if is_package(path):
                    found.setdefault(path.name, path)
    return found


def find_evaluator(name: str) -> Path:
    """Return the directory of an evaluator, given by directory, name or hub ID.

    Names are looked up in `$LEARNEDGEC_EVALUATORS`, `./checkpoints` and learnedgec's own evaluators;
    `org/name@revision` in the local cache of the hub and then on the hub.

    Raises:
        UnknownNameError: no evaluator has this name; the message suggests the nearest name.
        ModelError: the package of a hub ID is unavailable.
    """
    path = local_path(name)
    if path is not None and is_package(path):
        return path
    found = list_evaluators()
    if name in found:
        return found[name]
    if is_hub_name(name):
        return fetch_package(name)
    hint = (
        "Train it (`learnedgec train --config …`), give a package's directory, or name its folder "
        "in LEARNEDGEC_EVALUATORS."
    )
    if path is not None and path.is_dir():
        hint += f" The directory of this name holds no {MANIFEST}, which a package has."
    raise UnknownNameError("evaluator", name, found, hint=hint)
