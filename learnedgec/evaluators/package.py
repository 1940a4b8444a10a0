"""Evaluator packages on disk: files, manifest, configuration and outputs. Nothing here imports a network.

A package is a directory that `from_pretrained` reads without the network or the base model:

    config.json             the encoder's architecture, the heads and the outputs that combine them
    model.safetensors       all weights, in 16 or 4 bits (`precision`)
    tokenizer.json …        the tokenizer
    training.yaml           the resolved training configuration
    training.hashes         hashes of the sentences that were learned from (`contamination`)
    manifest.json           SHA-256 of each file, training data, seed, versions, development results
    README.md               the model card

The manifest lists every file that scores depend on: configuration, weights and tokenizer. The package must
not contain other files, because a library might read them; hidden files (`.name`) are ignored. The model
card may be edited, because no score depends on it.

`locations` finds packages by name, here and on a hub; `predictor` predicts with them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from learnedgec.data.text import read_json
from learnedgec.errors import FormatError, ModelError, PackageError
from learnedgec.runtime.files import (
    file_digest,
    files_digest,
    folder_state,
    local_path,
)
from learnedgec.types import Floats

MANIFEST = "manifest.json"
CARD = "README.md"
LEARNED = "training.hashes"
# The model type of an evaluator in its configuration.
MODEL_TYPE = "learnedgec-evaluator"

_FORMAT = 1
# Keys that every manifest has, and their types.
_KEYS = {
    "name": str,
    "encoder": str,
    "seed": int | list,
    "heads": dict,
    "data": dict,
    "files": dict,
}
# The files that every evaluator has; further files of a tokenizer depend on its kind.
_NEEDED = ("config.json", "model.safetensors", "tokenizer_config.json")
# The name of a visible file.
_FILE = re.compile(r"[^./\\\0][^/\\\0]*")
_AGAIN = "fetch or train it again"
# Files for readers, on which no score depends.
_DESCRIPTIVE = {CARD, "training.yaml", LEARNED}


def check_package(path: Path) -> dict[str, Any]:
    """Return the manifest after checking it and the SHA-256 of every file.

    Raises:
        PackageError: the manifest is damaged or lacks a required file; or a file is missing, not in the
            manifest, or has another SHA-256.
    """
    manifest = read_manifest(path / MANIFEST)
    files: dict[str, str] = manifest["files"]
    for name, expected in files.items():
        file = path / name
        if not file.is_file():
            raise PackageError(f"the evaluator {path} lacks the file {name}; {_AGAIN}.")
        if name != CARD and (digest := file_digest(file)) != expected:
            raise PackageError(
                f"{file} was altered or truncated: its SHA-256 is {digest[:12]}…, the manifest says "
                f"{expected[:12]}…; {_AGAIN}."
            )
    visible = {file.name for file in path.iterdir() if not file.name.startswith(".")}
    if unlisted := sorted(visible - files.keys() - {MANIFEST}):
        raise PackageError(
            f"the evaluator {path} holds {unlisted[0]}, which its manifest does not list; move it elsewhere."
        )
    return manifest


def read_manifest(file: Path) -> dict[str, Any]:
    """Return a manifest after checking its form, or raise `PackageError`."""
    try:
        manifest: dict[str, Any] = read_json(file)
        if manifest["format"] != _FORMAT:
            raise PackageError(
                f"the evaluator {file.parent} is of format {manifest['format']!r}; this version of "
                f"learnedgec reads format {_FORMAT}; update learnedgec."
            )
        files = manifest["files"]
        wrong = [key for key, kind in _KEYS.items() if not isinstance(manifest[key], kind)]
        wrong += [name for name in _NEEDED if name not in files]
        for name in files:
            # Packages have no subfolders, so a name with a path is an error.
            if name == MANIFEST or not (_FILE.fullmatch(name) and isinstance(files[name], str)):
                wrong.append(name)
        manifest["data"]["datasets"]
    except (FormatError, KeyError, TypeError) as error:
        raise PackageError(f"{file} is damaged ({error}); {_AGAIN}.") from None
    if wrong:
        raise PackageError(
            f"{file} is damaged: {wrong[0][:60]!r} is missing, or is not what a package has; {_AGAIN}."
        )
    return manifest


@dataclass(frozen=True, slots=True)
class HeadConfig:
    """One output of an evaluator.

    Attributes:
        input: the input of the encoder: the `hypothesis` alone, or the `pair` (source, hypothesis).
        offset: the head's value is `offset` + `scale` · output of the linear layer. So training uses
            standardised targets, and values have the units of the ratings.
        scale: see `offset`.
        reads: the `pooled` states, or the states of all tokens. For `tokens` the value is the logarithm of
            the probability that no token of the hypothesis is wrong, the sum over tokens of log(1 − p). For
            `capitals` it is the log-probability of the words' capitals (`capitals_likelihood`).
        layer: the encoder's layer whose states are read, counted from 1; the last one if it is `None`.
        objective: its training objective, as in the training configuration (`regression`, `sigmoid`, …);
            `None` in packages that do not say, and then a head with an offset counts as `regression`.
        range: the lowest and the highest rating of the scale that it was trained on; `None` for a head that
            ranks pairs, and in packages that do not say.

    Example:
        >>> HeadConfig(objective="regression", range=(0, 100)).rated, HeadConfig(offset=2.8).rated
        (True, True)
    """

    input: Literal["hypothesis", "pair"] = "hypothesis"
    offset: float = 0.0
    scale: float = 1.0
    reads: Literal["pooled", "tokens", "capitals"] = "pooled"
    layer: int | None = None
    objective: str | None = None
    range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.range is not None:
            # JSON has no tuples.
            low, high = self.range
            object.__setattr__(self, "range", (float(low), float(high)))

    @property
    def marks(self) -> str:
        """The column of a batch that says which tokens the head's value counts."""
        if self.reads == "capitals":
            return "capitals"
        return "hypothesis" if self.reads == "tokens" and self.input == "pair" else "attention_mask"

    @property
    def rated(self) -> bool:
        """Whether it learned from ratings rather than from ranked pairs."""
        if self.objective is None:
            # The offset of a rated head is the mean rating; a head that ranks pairs has none.
            return self.offset != 0
        return self.objective == "regression"


Parts: TypeAlias = Mapping[str, float | Mapping[str, float]]
"""The parts of an output in a configuration: head -> a weight, or the fields of a `Term`."""


@dataclass(frozen=True, slots=True)
class Term:
    """What a head adds to an output: `weight · x`, or with a floor `weight · min(x − below, 0)`.

    A floor is a guard: it charges for values below it, and pays nothing for values above it.

    Attributes:
        weight: factor.
        below: the floor; `None` for a plain weight.

    Example:
        >>> Term(2.0, below=1.0).of(np.array([0.5, 3.0])).tolist()
        [-1.0, 0.0]
    """

    weight: float
    below: float | None = None

    def of(self, values: Floats) -> Floats:
        """Return the term of a head's values, of the same shape."""
        kept = values if self.below is None else np.minimum(values - self.below, 0.0)
        return self.weight * kept

    def formula(self, head: str) -> str:
        """Return the term as a formula, such as `0.5*meaning` or `2*min(meaning-1,0)`."""
        kept = head if self.below is None else f"min({head}{-self.below:+g},0)"
        return f"{self.weight:g}*{kept}"


def read_terms(parts: Parts) -> dict[str, Term]:
    """Return head -> its term in an output, from a configuration.

    Raises:
        TypeError: a part is neither a number nor the fields of a `Term`.

    Example:
        >>> read_terms({"meaning": {"weight": 2.0, "below": 1.0}})["meaning"].formula("meaning")
        '2*min(meaning-1,0)'
    """
    return {
        head: Term(**part) if isinstance(part, Mapping) else Term(part)
        for head, part in parts.items()
    }


@dataclass(frozen=True)
class Package:
    """An evaluator package whose files are those that its manifest lists; what a metric reads.

    Attributes:
        path: its directory.
        digest: the first 12 digits of the SHA-256 of the files that scores depend on, for signatures: of a
            list of configuration, weights and tokenizer with the SHA-256 of each, without the card and what
            describes the training. This command prints the same:
            `LC_ALL=C; sha256sum [!.]* | grep -Ev ' (README.md|training.*|manifest.json)$' | sha256sum`
        manifest: its `manifest.json`.
        config: its `config.json`.
        name: the name by which it was found; packages are equal if their files are.
    """

    path: Path
    digest: str
    manifest: dict[str, Any] = field(compare=False, repr=False)
    config: dict[str, Any] = field(compare=False, repr=False)
    name: str = field(default="", compare=False)

    @property
    def gate(self) -> str:
        """The gate of the metrics that it was trained for; see `EvaluatorConfig`."""
        return str(self.config.get("gate", "characters"))

    @property
    def encoder(self) -> str:
        """The pretrained encoder that its training started from."""
        return str(self.manifest["encoder"])

    @property
    def datasets(self) -> tuple[str, ...]:
        """Its training data, including the data of evaluators that it continues."""
        return manifest_datasets(self.manifest)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the datasets of the catalog that it has learned from."""
        return manifest_languages(self.manifest)

    @property
    def hashes(self) -> bytes:
        """The hashes of the sentences that it has learned from, if it has them."""
        file = self.path / LEARNED
        return file.read_bytes() if file.exists() else b""

    def check(self, outputs: Sequence[str]) -> None:
        """Raise `ModelError` if it lacks one of the outputs; loads no weights."""
        names = output_names(self.config)
        for output in outputs:
            if output not in names:
                raise ModelError(
                    f"the evaluator {self.name} has the heads {', '.join(names)} but not {output}, "
                    "which this metric reads; name an evaluator that has it, or score a head by itself: "
                    f"{output_metric(self.name, names[0])}."
                )

    def doubts(self, outputs: Sequence[str]) -> list[str]:
        """Return one sentence for each head in these outputs that the test of its training does not trust."""
        verdicts = self.manifest.get("verdicts") or {}
        heads = dict.fromkeys(head for name in outputs for head in self._terms(name) or (name,))
        return [
            f"{self.manifest['name']}: {verdicts[head]['sentence']}"
            for head in heads
            if head in verdicts and not verdicts[head]["trusted"]
        ]

    def range(self, weights: Mapping[str, float]) -> tuple[float, float] | None:
        """Return the range of the ratings that a weighted sum of outputs predicts.

        It is the sum of the ranges of all heads in it that learned from ratings; `None` if there is no such
        head, or the package does not say the range of one.
        """
        ends: list[list[float]] = []
        for output, weight in weights.items():
            for name, term in (self._terms(output) or {output: Term(1.0)}).items():
                head = HeadConfig(**self.config["heads"][name])
                if not head.rated:
                    continue
                if head.range is None:
                    return None
                ends.append(sorted((weight * term.of(np.array(head.range))).tolist()))
        return (sum(low for low, _ in ends), sum(high for _, high in ends)) if ends else None

    def sums(self, outputs: Sequence[str]) -> dict[str, str]:
        """Return the terms of those outputs that are sums, such as `0.5*fluency+0.5*meaning`."""
        return {
            output: "+".join(term.formula(head) for head, term in terms.items())
            for output in outputs
            if (terms := self._terms(output))
        }

    def _terms(self, output: str) -> dict[str, Term]:
        """Return the terms of the heads in an output; empty for a head."""
        return read_terms((self.config.get("sums") or {}).get(output, {}))


def open_folder(path: Path, name: str) -> Package:
    """Return the package in a folder, which was found by a name; see `open_package`."""
    return replace(_open(path, folder_state(path)), name=name)


@lru_cache(maxsize=32)
def _open(path: Path, state: object) -> Package:
    manifest = check_package(path)
    files: dict[str, str] = manifest["files"]
    read = {file: digest for file, digest in files.items() if file not in _DESCRIPTIVE}
    config: dict[str, Any] = read_json(path / "config.json")
    return Package(path, files_digest(read)[:12], manifest, config)


def output_names(description: Mapping[str, Any]) -> list[str]:
    """Return the names of an evaluator's outputs by its configuration or manifest: heads first, then sums.

    A sum with the name of a head takes its place.

    Example:
        >>> output_names({"heads": {"quality": {}, "capitals": {}}, "sums": {"quality": {}, "both": {}}})
        ['quality', 'capitals', 'both']
    """
    return list(dict.fromkeys([*description["heads"], *(description.get("sums") or {})]))


# The name of an evaluator, or of an evaluator and its output, that can stand in brackets.
EVALUATOR = re.compile(r"\w[\w.+-]*")


def output_metric(model: str, output: str) -> str:
    """Return the name of an evaluator's output as a metric, in brackets where that can be read.

    Example:
        >>> output_metric("mine", "fluency"), output_metric("org/mine", "fluency")
        ('head[mine.fluency]', "head(model='org/mine', name='fluency')")
    """
    if EVALUATOR.fullmatch(f"{model}.{output}") and "." not in output:
        return f"head[{model}.{output}]"
    return f"head(model={model!r}, name={output!r})"


def was_checked(manifest: Mapping[str, Any]) -> bool:
    """Return whether an evaluator's training data were checked for text of the benchmarks."""
    return bool(manifest["data"].get("check_leakage", True))


def manifest_datasets(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the training data that a manifest names, with the data of continued evaluators."""
    earlier = manifest.get("continued") or {"datasets": []}
    return tuple(dict.fromkeys([*earlier["datasets"], *manifest["data"]["datasets"]]))


# Datasets of the catalog that are not English.
_LANGUAGES = {"autojqe": "ja", "swedish": "sv"}


def manifest_languages(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the languages of the datasets of the catalog that a manifest names."""
    # The catalog takes time to import, and few commands need languages.
    from learnedgec.data.catalog.registry import DATASETS

    heads = [name.partition(":")[0] for name in manifest_datasets(manifest)]
    return tuple(sorted({_LANGUAGES.get(head, "en") for head in heads if head in DATASETS}))


def manifest_tools(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the annotators that found the edits of an evaluator's ranked pairs, and the ranking models."""
    earlier = (manifest.get("continued") or {}).get("tools", ())
    tools = manifest["data"].get("tools")
    if tools is None:  # as older packages are
        sources = [source for rows in manifest["data"]["pairs"].values() for source in rows]
        tools = [source["annotator"] for source in sources if source.get("annotator")]
    return tuple(dict.fromkeys([*earlier, *tools]))


def manifest_licence(manifest: Mapping[str, Any]) -> str:
    """Return an evaluator's licence; a package that names none has the licences of its data and encoder."""
    # The catalog takes time to import, and few commands need licences.
    from learnedgec.data.catalog.registry import weights_licence

    licence: str | None = manifest.get("license")
    return licence or weights_licence(manifest_datasets(manifest), manifest["encoder"])


def is_package(path: Path) -> bool:
    """Return whether a directory looks like an evaluator package."""
    return local_path(str(path / MANIFEST)) is not None
