"""Write a trained evaluator as a package: weights, tokenizer, configuration, manifest, model card."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from learnedgec._version import __version__
from learnedgec.errors import ConfigError
from learnedgec.execution.writing import atomic_folder, check_writable
from learnedgec.metrics.base import Metric
from learnedgec.metrics.head import Head
from learnedgec.metrics.impara import Impara
from learnedgec.metrics.preference import Preference
from learnedgec.metrics.some import DIMENSIONS, Some
from learnedgec.models.evaluator import EvaluatorConfig
from learnedgec.models.loading import quiet_transformers
from learnedgec.models.packages import MANIFEST, is_package, manifest_datasets
from learnedgec.training.licences import licence_lines, weights_licence

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
        (folder / "README.md").write_text(_card(manifest), encoding="utf-8")
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
    """Return what a package says of the evaluator with this manifest, from which its run went on."""
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


def _card(manifest: Mapping[str, Any]) -> str:
    """Return the model card."""
    data, heads = manifest["data"], manifest["heads"]
    inputs = "\n".join(
        f"- `{name}` reads the "
        + ("hypothesis alone" if head["input"] == "hypothesis" else "source and the hypothesis")
        for name, head in heads.items()
    )
    for name, parts in manifest["sums"].items():
        terms = " + ".join(f"{weight:g} `{head}`" for head, weight in parts.items())
        inputs += f"\n- `{name}` is {terms}"
    return f"""# {manifest["name"]}

A learned evaluator for grammatical error correction, trained with learnedgec {__version__}.

Heads; those that learned from ratings speak in their units:

{inputs}

Use: `learnedgec score --src SOURCE --hyp OUTPUT --metric {_metrics(manifest)}`, or
`Evaluator.load("{manifest["name"]}")` in Python. The name is known where the package lies in `checkpoints`
of the current folder, or in the folder that `LEARNEDGEC_EVALUATORS` names; elsewhere give its path instead.
It loads without the network and without its base model.
{_gate(manifest)}
## Training

- Encoder: `{manifest["encoder"]}`
{_continued_line(manifest)}{chr(10).join(_data_lines(data))}
{_averaged_line(manifest)}- Seed: {_seeds(manifest["seed"])}
- Weights: {manifest["bits"]} bits each{_rounded(manifest["bits"])}
- Everything else: `training.yaml`, `manifest.json`

## Results

{chr(10).join(_result_lines(manifest["results"]))}

The dev part selected the checkpoint.

## Intended use

Compare corrections of English learner sentences, tokenised by spaces, and rank systems that produce
them. It judges what its raters judged, or what its pairs rank, on text like theirs; it is no measure of a
writer, and its scores should not be a training reward without a check against people.

## Licence

`{manifest["license"]}`

These weights have learned from data that has licences. Whether those bind weights is not settled; to be safe,
keep to all of them:

{chr(10).join(licence_lines(manifest_datasets(manifest)))}
- the encoder `{manifest["encoder"]}`, which the training started from, has a licence as well

The licence of learnedgec's code, Apache-2.0, does not extend to these weights.
"""


def _continued_line(manifest: Mapping[str, Any]) -> str:
    """Return what the card says of the evaluator that the run went on from."""
    if not (continued := manifest["continued"]):
        return ""
    return (
        f"- Continued from `{continued['name']}` (SHA-256 {continued['sha256'][:12]}…), which had been "
        f"trained on {_names(continued['datasets'])}\n"
    )


def _averaged_line(manifest: Mapping[str, Any]) -> str:
    """Return what the card says of the evaluators whose mean this is."""
    if not (averaged := manifest["averaged"]):
        return ""
    names = ", ".join(f"`{row['name']}` ({row['sha256'][:12]}…)" for row in averaged)
    return f"- Mean of the weights of {names}\n"


def _rounded(bits: int) -> str:
    return (
        "" if bits == 16 else " in the encoder's matrices; so rounded they gave the results below"
    )


def _seeds(seed: int | Sequence[int]) -> str:
    return str(seed) if isinstance(seed, int) else ", ".join(map(str, seed))


def _metrics(manifest: Mapping[str, Any]) -> str:
    """Return the metrics that read the package, for a command line: every output is read by one."""
    name, outputs = manifest["name"], [*manifest["heads"], *manifest["sums"]]
    readers: list[tuple[Metric, set[str]]] = [
        (Some(model=name), set(DIMENSIONS)),
        (Impara(quality=name), {"quality"}),
        (Preference(model=name), {"preference"}),
    ]
    metrics = [(metric, read) for metric, read in readers if read <= set(outputs)]
    others = set(outputs).difference(*(read for _, read in metrics))
    heads = [Head(model=name, heads=(output,)) for output in outputs if output in others]
    labels = [metric.label for metric in (*(metric for metric, _ in metrics), *heads)]
    return " ".join(
        shlex.quote(label) if re.search(r'["$`\\!]', label) else f'"{label}"' for label in labels
    )


def _gate(manifest: Mapping[str, Any]) -> str:
    """Return what the card says of IMPARA's similarity gate."""
    if "quality" not in manifest["heads"]:
        return ""
    return (
        "\n`impara` gives 0 to a hypothesis unless the cosine of its mean input embedding and the source's, "
        "both from this\npackage, is above 0.9 (`threshold`); this needs no other model and no further "
        "pass. `similarity=ENCODER` measures\nit with a pretrained encoder, as in the paper; "
        "`threshold=-1` lets everything pass.\n"
    )


def _data_lines(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the card says of the training data."""
    if data["ratings"]:
        yield f"- Ratings: {_names(data['ratings'])}"
    if data["auxiliary"]:
        yield f"- Ratings for training only: {_names(data['auxiliary'])}"
    for head, sources in data["pairs"].items():
        for source in sources:
            settings = ", ".join(
                f"{key} {_names(value) if isinstance(value, list) else value}"
                for key, value in source.items()
                if key not in ("source", "pairs", "impacts", "sha256", "digests")
                and value is not None
            )
            yield f"- {source['pairs']} ranked pairs for `{head}` ({source['source']}): {settings}"
            if "impacts" in source:
                edges, counts = source["impacts"]["edges"], source["impacts"]["counts"]
                bins = (f"below {edge:g}: {n}" for edge, n in zip(edges[1:], counts, strict=True))
                yield f"  - Impacts: {', '.join(bins)}"
    for head, names in data["cases"].items():
        yield f"- Cases for consistency of `{head}`: {_names(names)}"
    sizes = "; ".join(
        f"{part} "
        + ", ".join(
            f"{data[part][kind]} {kind}"
            for kind in ("ratings", "pairs", "cases")
            if data[part][kind]
        )
        for part in ("train", "dev", "test")
    )
    if not data["check_leakage"]:
        yield "- Training text was **not** checked against SEEDA, GJG15 and CoNLL-2014; do not test on them."
    yield f"- Split: `{data['split']}` (seed {data['split_seed']}): {sizes}"


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _result_lines(results: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[str]:
    """Yield the tables of correlations and of accuracies, those that there are."""
    rows = [(part, head, found) for part, heads in results.items() for head, found in heads.items()]
    if rated := [row for row in rows if "pearson" in row[2]]:
        yield "| part | head | Pearson | 95 % interval | Spearman | n |"
        yield "| --- | --- | --- | --- | --- | --- |"
        for part, head, found in rated:
            yield (
                f"| {part} | {head} | {_number(found['pearson'])} | {_interval(found, 'pearson')} "
                f"| {_number(found['spearman'])} | {found['n']} |"
            )
    if ranked := [row for row in rows if "accuracy" in row[2]]:
        if rated:
            yield ""
        yield "| part | head | pairs in the right order | 95 % interval | n |"
        yield "| --- | --- | --- | --- | --- |"
        for part, head, found in ranked:
            yield (
                f"| {part} | {head} | {_number(found['accuracy'])} | {_interval(found, 'accuracy')} "
                f"| {found['n']} |"
            )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _interval(found: Mapping[str, Any], figure: str) -> str:
    if found.get(f"{figure}_low") is None:
        return "–"
    return f"{found[f'{figure}_low']:.3f} to {found[f'{figure}_high']:.3f}"
