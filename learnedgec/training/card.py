"""The model card of an evaluator: YAML metadata for a hub, and text for people."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from learnedgec.data.catalog.registry import DATASETS
from learnedgec.evaluators.evaluator import HeadConfig
from learnedgec.evaluators.hub import is_hub_name
from learnedgec.evaluators.packages import manifest_datasets, output_names
from learnedgec.metrics.base import Metric
from learnedgec.metrics.head import Head
from learnedgec.metrics.impara import Impara
from learnedgec.metrics.preference import Preference
from learnedgec.metrics.similarity_gate import GATE
from learnedgec.metrics.some import DIMENSIONS, Some
from learnedgec.training.licences import licence_lines, weights_licence

__all__ = ["metadata", "model_card", "with_metadata"]

# Figures of the results, and what a hub calls them.
_FIGURES = {"pearson": "pearsonr", "spearman": "spearmanr", "accuracy": "accuracy"}
# Datasets of the catalog that are not English.
_LANGUAGES = {"autojqe": "ja", "swedish": "sv"}


def metadata(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a model card, made from a package's manifest.

    A licence that the hub has no identifier for becomes `other`, with its name in `license_name`. Languages
    are those of the catalog's datasets; the user's own data add none.
    """
    datasets = manifest_datasets(manifest)
    known = [head for name in datasets if (head := name.partition(":")[0]) in DATASETS]
    licence = manifest.get("license") or weights_licence(datasets)
    single = " AND " not in licence and not licence.startswith("LicenseRef-")
    figures = {
        figure
        for heads in (manifest.get("results") or {}).values()
        for found in heads.values()
        for figure in found
    }
    found: dict[str, Any] = {
        "language": sorted({_LANGUAGES.get(name, "en") for name in known}),
        "license": licence.lower() if single else "other",
        "license_name": None if single else licence.lower().replace(" ", "-"),
        "license_link": None if single else "README.md",
        "library_name": "learnedgec",
        "pipeline_tag": "text-classification",
        "tags": ["grammatical-error-correction", "evaluation", "metric", "learnedgec"],
        "datasets": sorted(set(known)),
        "metrics": [name for figure, name in _FIGURES.items() if figure in figures],
        "base_model": manifest["encoder"] if is_hub_name(manifest["encoder"]) else None,
    }
    return {key: value for key, value in found.items() if value}


def with_metadata(card: str, manifest: Mapping[str, Any]) -> str:
    """Return a card with the manifest's `metadata` at its beginning, unless it already has metadata."""
    if card.startswith("---\n"):
        return card
    return f"---\n{yaml.safe_dump(metadata(manifest), sort_keys=False)}---\n\n{card}"


def model_card(manifest: Mapping[str, Any]) -> str:
    """Return the model card of the package with this manifest."""
    return with_metadata(_text(manifest), manifest)


def _text(manifest: Mapping[str, Any]) -> str:
    """Return the text of the card."""
    data, heads = manifest["data"], manifest["heads"]
    version = manifest["versions"]["learnedgec"]
    inputs = "\n".join(
        f"- `{name}` reads the "
        + ("hypothesis alone" if head["input"] == "hypothesis" else "source and the hypothesis")
        for name, head in heads.items()
    )
    for name, parts in manifest["sums"].items():
        terms = " + ".join(f"{weight:g} `{head}`" for head, weight in parts.items())
        inputs += f"\n- the output `{name}` is {terms}"
    return f"""# {manifest["name"]}

A learned evaluator for grammatical error correction, trained with learnedgec {version}.

Heads (those that learned from ratings predict in the units of the ratings), and sums of them:

{inputs}

Use: `learnedgec score --src SOURCE --hyp OUTPUT --metric {_metrics(manifest)}`, or
`Evaluator.load("{manifest["name"]}")` in Python. The name is known where the package lies in `checkpoints`
of the current folder, or in the folder that `LEARNEDGEC_EVALUATORS` names; elsewhere give its path instead,
or, where a hub has it, the id of the repository, `org/{manifest["name"]}@revision`.
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
    """Return the card's text about the evaluator that the run continued from."""
    if not (continued := manifest["continued"]):
        return ""
    return (
        f"- Continued from `{continued['name']}` (SHA-256 {continued['sha256'][:12]}…), which had been "
        f"trained on {_names(continued['datasets'])}\n"
    )


def _averaged_line(manifest: Mapping[str, Any]) -> str:
    """Return the card's text about the evaluators that were averaged."""
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
    """Return metrics for a command line that together read every output of the package."""
    name, outputs = manifest["name"], output_names(manifest)
    metrics = _readers(manifest)
    others = set(outputs).difference(*(read for _, read in metrics))
    heads = [Head(model=name, heads=(output,)) for output in outputs if output in others]
    labels = [metric.label for metric in (*(metric for metric, _ in metrics), *heads)]
    return " ".join(
        shlex.quote(label) if re.search(r'["$`\\!]', label) else f'"{label}"' for label in labels
    )


def _readers(manifest: Mapping[str, Any]) -> list[tuple[Metric, set[str]]]:
    """Return the named metrics that can read the package, each with the outputs that it reads."""
    name, outputs = manifest["name"], set(output_names(manifest))
    readers: list[tuple[Metric, set[str]]] = [
        (Some(model=name), set(DIMENSIONS)),
        *([(Impara(quality=name), {"quality"})] if _ranks_quality(manifest) else []),
        (Preference(model=name), {"preference"}),
    ]
    return [(metric, read) for metric, read in readers if read <= outputs]


def _ranks_quality(manifest: Mapping[str, Any]) -> bool:
    """Return whether there is a head `quality` as IMPARA means it, one that learned from ranked pairs."""
    head = manifest["heads"].get("quality")
    return head is not None and not HeadConfig(**head).rated


def _gate(manifest: Mapping[str, Any]) -> str:
    """Return the card's text about the gate of the metrics that read this package."""
    names = [f"`{metric.name}`" for metric, _ in _readers(manifest)]
    if not names:
        return ""
    subject = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    verb = "gives" if len(names) == 1 else "give"
    return (
        f"\n{subject} {verb} a low score to a hypothesis that has too few trigrams of characters in\n"
        f"common with its source, since it is not a correction: a share of {GATE:g} or less (`threshold`). "
        "`threshold=-1` accepts everything.\n"
    )


def _data_lines(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the card's text about the training data."""
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
    """Yield the tables of correlations and of accuracies; a table without rows is left out."""
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
