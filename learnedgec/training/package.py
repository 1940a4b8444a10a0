"""Write a trained evaluator as a package: weights, tokenizer, configuration, manifest, model card."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from learnedgec._version import __version__
from learnedgec.catalog.files import DATASETS
from learnedgec.catalog.ratings import Rating
from learnedgec.encoding import quiet_transformers
from learnedgec.evaluator import Evaluator, EvaluatorModel
from learnedgec.packages import MANIFEST
from learnedgec.runtime import Runtime
from learnedgec.text import atomic_path

__all__ = ["correlations", "write_package"]

_VERSIONED = ("torch", "transformers", "pytorch-lightning", "tokenizers", "numpy", "datasets")


def correlations(
    evaluator: Evaluator, ratings: Sequence[Rating], *, runtime: Runtime = Runtime()
) -> dict[str, dict[str, float | int | None]]:
    """Return Pearson, Spearman, the 95 % interval of Pearson and n for each head on rated sentences.

    The interval is Fisher's. A head with fewer than four ratings, or constant predictions, has none.
    """
    from scipy import stats

    predictions = evaluator.predict(
        [rating.source for rating in ratings],
        [rating.hypothesis for rating in ratings],
        runtime=runtime,
    )
    found: dict[str, dict[str, float | int | None]] = {}
    for head, values in predictions.items():
        rows = [row for row, rating in enumerate(ratings) if head in rating.values]
        target = np.array([ratings[row].values[head] for row in rows])
        predicted = values[rows]
        if len(rows) < 4 or np.ptp(target) == 0 or np.ptp(predicted) == 0:
            found[head] = {"pearson": None, "spearman": None, "n": len(rows)}
            continue
        pearson = stats.pearsonr(predicted, target)
        low, high = pearson.confidence_interval()
        found[head] = {
            "pearson": float(pearson.statistic),
            "pearson_low": float(low),
            "pearson_high": float(high),
            "spearman": float(stats.spearmanr(predicted, target).statistic),
            "n": len(rows),
        }
    return found


def write_package(
    path: Path,
    model: EvaluatorModel,
    tokenizer: Any,
    *,
    configuration: str,
    data: Mapping[str, Any],
    results: Mapping[str, Any],
    seed: int,
    encoder: str,
) -> None:
    """Write a package at once or not at all.

    Args:
        path: the package's directory, replaced if it exists.
        model: the trained model; stored as float16.
        tokenizer: its tokenizer.
        configuration: the resolved training configuration, YAML.
        data: what was trained on (`RatingsData.fingerprint`).
        results: part -> head -> correlations.
        seed: of the training run.
        encoder: name of the pretrained encoder it started from.
    """
    with atomic_path(path) as folder:
        folder.mkdir()
        state = {name: tensor.half() for name, tensor in model.state_dict().items()}
        half = EvaluatorModel(model.config)
        half.load_state_dict(state)
        with quiet_transformers():
            half.half().save_pretrained(folder)
            tokenizer.save_pretrained(folder)
        (folder / "training.yaml").write_text(configuration, encoding="utf-8")
        manifest: dict[str, Any] = {
            "format": 1,
            "name": path.name,
            "encoder": encoder,
            "heads": model.config.heads,
            "data": data,
            "seed": seed,
            "versions": {"learnedgec": __version__}
            | {name: importlib.metadata.version(name) for name in _VERSIONED},
            "revision": _revision(),
            "results": results,
        }
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


def float16_round_trip(model: EvaluatorModel) -> EvaluatorModel:
    """Round every weight to what a package stores, in place; scores are then the package's."""
    with torch.no_grad():
        for tensor in model.state_dict().values():
            if tensor.is_floating_point():
                tensor.copy_(tensor.half())
    return model


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
    datasets = [*data["ratings"], *data["auxiliary"]]
    names = dict.fromkeys(name.partition(":")[0] for name in datasets)
    licences = [
        f"- `{name}`: {DATASETS[name].licence}"
        if name in DATASETS
        else f"- `{name}`: your own data"
        for name in names
    ]
    rows = [
        f"| {part} | {head} | {_number(found['pearson'])} | {_interval(found)} "
        f"| {_number(found['spearman'])} | {found['n']} |"
        for part, by_head in manifest["results"].items()
        for head, found in by_head.items()
    ]
    inputs = "\n".join(
        f"- `{name}` reads the {'hypothesis alone' if head['input'] == 'hypothesis' else 'source and the hypothesis'}"
        for name, head in heads.items()
    )
    auxiliary = "".join(f"; `{name}` for training only" for name in data["auxiliary"])
    return f"""# {manifest["name"]}

A learned evaluator for grammatical error correction, trained with learnedgec {__version__}.

Heads, in the units of the ratings:

{inputs}

Use: `learnedgec score --src SOURCE --hyp OUTPUT --metric "some(model='{manifest["name"]}')"`, or
`Evaluator.load("{manifest["name"]}")` in Python. It loads without the network and without its base
model.

## Training

- Encoder: `{manifest["encoder"]}`
- Data: {", ".join(f"`{name}`" for name in data["ratings"])}; split `{data["split"]}` (seed {data["split_seed"]}): {data["train"]["ratings"]} train, {data["dev"]["ratings"]} dev, {data["test"]["ratings"]} test ratings{auxiliary}
- Seed: {manifest["seed"]}
- Everything else: `training.yaml`, `manifest.json`

Licences of the data:

{chr(10).join(licences)}

## Results

| part | head | Pearson | 95 % interval | Spearman | n |
| --- | --- | --- | --- | --- | --- |
{chr(10).join(rows)}

The dev part selected the checkpoint.

## Intended use

Compare corrections of English learner sentences, tokenised by spaces, and rank systems that produce
them. It judges what its raters judged, on text like theirs; it is no measure of a writer, and its
scores should not be a training reward without a check against people.
"""


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _interval(found: Mapping[str, Any]) -> str:
    if found.get("pearson_low") is None:
        return "–"
    return f"{found['pearson_low']:.3f} to {found['pearson_high']:.3f}"
