"""A trained evaluator as a package: weights, tokenizer, configuration, manifest, and its model card."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import yaml
from jinja2 import Environment
from safetensors.torch import save_file

from learnedgec._version import __version__
from learnedgec.data.catalog.registry import DATASETS, ENCODERS, licence_lines, weights_licence
from learnedgec.errors import ConfigError
from learnedgec.evaluators.evaluator import EvaluatorConfig, HeadConfig
from learnedgec.evaluators.hub import is_hub_name
from learnedgec.evaluators.loading import quiet_transformers
from learnedgec.evaluators.package import (
    CARD,
    LEARNED,
    MANIFEST,
    Parts,
    is_package,
    manifest_datasets,
    manifest_languages,
    manifest_licence,
    manifest_tools,
    output_names,
    read_terms,
)
from learnedgec.evaluators.precision import Bits
from learnedgec.metrics.contract import Metric
from learnedgec.metrics.gate import GATE
from learnedgec.metrics.head import Head
from learnedgec.metrics.impara import Impara
from learnedgec.metrics.preference import Preference
from learnedgec.metrics.quality import Quality
from learnedgec.metrics.some import DIMENSIONS, Some
from learnedgec.runtime.files import atomic_folder, check_writable
from learnedgec.training.evaluate import Verdict, baseline_in_words

# Figures of the results, with their names on a hub and on the card.
_FIGURES = {
    "pearson": ("pearsonr", "Pearson"),
    "spearman": ("spearmanr", "Spearman"),
    "accuracy": ("accuracy", "pairs in the right order"),
}

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


@dataclass(frozen=True)
class TrainingRecord:
    """What a package says of its training.

    Attributes:
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

    configuration: str
    data: Mapping[str, Any]
    learned: bytes
    results: Mapping[str, Any]
    seed: int | Sequence[int]
    encoder: str
    continued: Mapping[str, Any] | None = None
    averaged: Sequence[Mapping[str, Any]] = ()
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)

    def manifest(self, name: str, config: EvaluatorConfig, bits: Bits) -> dict[str, Any]:
        """Return the manifest of the package, but for the digests of its files.

        Args:
            name: the name of the package.
            config: the model's configuration.
            bits: bits per weight.
        """
        return {
            "format": 1,
            "name": name,
            "encoder": self.encoder,
            "continued": self.continued and _origin(self.continued),
            "averaged": [
                {"name": f"seed {member['seed']}", "sha256": member["files"]["model.safetensors"]}
                for member in self.averaged
            ],
            "heads": config.heads,
            "sums": config.sums,
            "gate": config.gate,
            "bits": bits,
            "data": self.data,
            "seed": self.seed if isinstance(self.seed, int) else list(self.seed),
            "versions": {"learnedgec": __version__}
            | {name: importlib.metadata.version(name) for name in _VERSIONED},
            "results": self.results,
            "verdicts": {head: asdict(verdict) for head, verdict in self.verdicts.items()},
            "license": _licence(self.data["datasets"], self.encoder, self.continued),
        }


def write_package(
    path: Path,
    config: EvaluatorConfig,
    weights: Mapping[str, torch.Tensor],
    tokenizer: Any,
    record: TrainingRecord,
) -> None:
    """Write a package; an interruption leaves no partial package.

    Args:
        path: the package's directory, replaced if it exists.
        config: the model's configuration.
        weights: the weights as they are stored (`precision.round_weights`).
        tokenizer: its tokenizer.
        record: what the package says of its training.
    """
    bits: Bits = 4 if torch.uint8 in {tensor.dtype for tensor in weights.values()} else 16
    manifest = record.manifest(path.name, config, bits)
    with atomic_folder(path) as folder:
        _save_model(folder, config, weights, tokenizer)
        (folder / "training.yaml").write_text(record.configuration, encoding="utf-8")
        if record.learned:
            (folder / LEARNED).write_bytes(record.learned)
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


def _save_model(
    folder: Path, config: EvaluatorConfig, weights: Mapping[str, torch.Tensor], tokenizer: Any
) -> None:
    """Write the files that scores depend on."""
    with quiet_transformers():
        tokenizer.save_pretrained(folder)
    if tokenizer.is_fast:
        # On one line, without the indentation that makes up two thirds of the file.
        tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    config.save_pretrained(folder)
    save_file(dict(weights), folder / "model.safetensors", metadata={"format": "pt"})


def _origin(continued: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a manifest says of the evaluator that the run continued."""
    return {
        "name": continued["name"],
        "sha256": continued["files"]["model.safetensors"],
        "datasets": list(manifest_datasets(continued)),
        "tools": list(manifest_tools(continued)),
    }


def _licence(datasets: Sequence[str], encoder: str, continued: Mapping[str, Any] | None) -> str:
    """Return the licence of weights that learned from datasets, perhaps continuing an evaluator."""
    # A teacher may have learned from files of the continued evaluator, which are not the user's own data.
    earlier = manifest_datasets(continued) if continued else ()
    new = [name for name in datasets if name not in earlier]
    licences = [manifest_licence(continued)] if continued else []
    if new or not continued:
        licences.append(weights_licence(new, encoder))
    return " AND ".join(sorted(set(" AND ".join(licences).split(" AND "))))


def metadata(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a model card, made from a package's manifest.

    A licence that the hub has no identifier for becomes `other`, with its name in `license_name`. Languages
    are those of the catalog's datasets; the user's own data add none.
    """
    datasets = manifest_datasets(manifest)
    in_catalog = [head for name in datasets if (head := name.partition(":")[0]) in DATASETS]
    licence = manifest_licence(manifest)
    single = " AND " not in licence and not licence.startswith("LicenseRef-")
    figures = {
        figure
        for heads in (manifest.get("results") or {}).values()
        for head_figures in heads.values()
        for figure in head_figures
    }
    fields: dict[str, Any] = {
        "language": list(manifest_languages(manifest)),
        "license": licence.lower() if single else "other",
        "license_name": None if single else licence.lower().replace(" ", "-"),
        "license_link": None if single else "README.md",
        "library_name": "learnedgec",
        "pipeline_tag": "text-classification",
        "tags": ["grammatical-error-correction", "evaluation", "metric", "learnedgec"],
        "datasets": sorted(set(in_catalog)),
        "metrics": [name for figure, (name, _) in _FIGURES.items() if figure in figures],
        "base_model": manifest["encoder"] if is_hub_name(manifest["encoder"]) else None,
    }
    return {key: value for key, value in fields.items() if value}


def model_card(manifest: Mapping[str, Any]) -> str:
    """Return the model card of the package with this manifest, by the template `card.md`."""
    environment = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    template = Path(__file__).with_name("card.md").read_text(encoding="utf-8")
    gate, seed = manifest.get("gate", "characters"), manifest["seed"]
    readers = [metric.name for metric, _ in _readers(manifest)]
    return environment.from_string(template).render(
        {
            **manifest,
            "metadata": yaml.safe_dump(metadata(manifest), sort_keys=False),
            "verdicts": manifest.get("verdicts", {}),
            "verdict_words": {
                head: verdict.get("word", "trusted" if verdict["trusted"] else "not trusted")
                for head, verdict in manifest.get("verdicts", {}).items()
            },
            "metrics": reading_metrics(manifest),
            "readers": readers,
            # What has to have enough characters in common with its source.
            "gated": readers
            if gate == "characters"
            else [name for name in readers if name == Preference.name],
            "gate": gate,
            "least_share": f"{GATE:g}",
            "seed": seed if isinstance(seed, int) else ", ".join(map(str, seed)),
            "pairs": _pairs(manifest["data"]["pairs"]),
            "measures": {figure: words for figure, (_, words) in _FIGURES.items()},
            "licences": list(_licence_lines(manifest)),
            "known_encoder": manifest["encoder"] in ENCODERS,
            "names": _names,
            "weighted": _weighted,
            "in_words": baseline_in_words,
        }
    )


def _licence_lines(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each licence; files that a continued evaluator learned from are not the user's."""
    continued = manifest["continued"] or {"name": "", "datasets": []}
    earlier = [name for name in continued["datasets"] if name.partition(":")[0] not in DATASETS]
    yield from licence_lines(n for n in manifest_datasets(manifest) if n not in earlier)
    if earlier:
        yield f"- {_names(earlier)}: files of `{continued['name']}`; see its card"


def _rounded(value: Any) -> Any:
    """Return a number with four digits; anything else unchanged."""
    return f"{value:.4g}" if isinstance(value, float) else value


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _weighted(parts: Parts) -> str:
    return " + ".join(
        f"{term.weight:g} `{head}`"
        if term.below is None
        else f"{term.weight:g} · min(`{head}` {-term.below:+g}, 0)"
        for head, term in read_terms(parts).items()
    )


def _readers(manifest: Mapping[str, Any]) -> list[tuple[Metric, set[str]]]:
    """Return the named metrics that can read the package, each with the outputs that it reads."""
    name, outputs = manifest["name"], set(output_names(manifest))
    readers: list[tuple[Metric, set[str]]] = [(Some(model=name), set(DIMENSIONS))]
    # These two read heads that learned from ranked pairs.
    for output, metric in {"quality": Quality(model=name), "impara": Impara(quality=name)}.items():
        head = manifest["heads"].get(output)
        if head is None or not HeadConfig(**head).rated:
            readers.append((metric, {output}))
    readers.append((Preference(model=name), {"preference"}))
    return [(metric, read) for metric, read in readers if read <= outputs]


def reading_metrics(manifest: Mapping[str, Any]) -> str:
    """Return metrics for a command line that together read every output of the package."""
    readers = _readers(manifest)
    covered = {output for _, outputs in readers for output in outputs}
    heads = [
        Head(model=manifest["name"], heads=(output,))
        for output in output_names(manifest)
        if output not in covered
    ]
    labels = [metric.label for metric in (*(metric for metric, _ in readers), *heads)]
    return " ".join(
        shlex.quote(label) if re.search(r'["$`\\!]', label) else f'"{label}"' for label in labels
    )


def _pairs(
    pairs: Mapping[str, Sequence[Mapping[str, Any]]],
) -> dict[tuple[int, str], list[str]]:
    """Return number of pairs and how they were made -> the heads that learned from them."""
    heads_of: dict[tuple[int, str], list[str]] = {}
    for head, sources in pairs.items():
        for source in sources:
            settings = ", ".join(
                f"{key} {_names(value) if isinstance(value, list) else _rounded(value)}"
                for key, value in source.items()
                if key not in ("source", "pairs", "sha256", "digests") and value not in (None, [])
            )
            made = f"({source['source']}): {settings}"
            heads_of.setdefault((source["pairs"], made), []).append(head)
    return heads_of
