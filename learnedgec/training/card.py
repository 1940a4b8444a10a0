"""The model card of an evaluator, with metadata for a hub, and the licence of its weights."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from learnedgec.data.catalog.licences import ENCODERS, licence_lines
from learnedgec.data.catalog.registry import DATASETS
from learnedgec.evaluators.evaluator import HeadConfig
from learnedgec.evaluators.hub import is_hub_name
from learnedgec.evaluators.packages import (
    manifest_datasets,
    manifest_languages,
    manifest_licence,
    output_names,
)
from learnedgec.metrics.base import Metric
from learnedgec.metrics.impara import Impara
from learnedgec.metrics.learned import Head, Preference
from learnedgec.metrics.similarity_gate import GATE
from learnedgec.metrics.some import DIMENSIONS, Some

# Figures of the results, with their names on a hub and on the card.
_FIGURES = {
    "pearson": ("pearsonr", "Pearson"),
    "spearman": ("spearmanr", "Spearman"),
    "accuracy": ("accuracy", "pairs in the right order"),
}


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


def with_metadata(card: str, manifest: Mapping[str, Any]) -> str:
    """Return a card with the manifest's `metadata` at its beginning, unless it already has metadata."""
    if card.startswith("---\n"):
        return card
    return f"---\n{yaml.safe_dump(metadata(manifest), sort_keys=False)}---\n\n{card}"


def model_card(manifest: Mapping[str, Any]) -> str:
    """Return the model card of the package with this manifest; its frame is `card.md`."""
    name, encoder, bits, seed = (manifest[key] for key in ("name", "encoder", "bits", "seed"))
    rounded = " in the encoder's matrices; so rounded they gave the results below"
    frame = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
    text = frame.format(
        name=name,
        version=manifest["versions"]["learnedgec"],
        outputs="\n".join(_output_lines(manifest)),
        metrics=_metrics(manifest),
        gate=_gate(manifest),
        encoder=encoder,
        training="\n".join(_training_lines(manifest)),
        seeds=seed if isinstance(seed, int) else ", ".join(map(str, seed)),
        bits=f"{bits} bits each" + (rounded if bits < 16 else ""),
        results="\n".join(_result_lines(manifest["results"])),
        verdicts="".join(f"\n\n{text}" for text in _verdict_lines(manifest)),
        license=manifest["license"],
        encoder_licence=": Apache-2.0; keep its notice"
        if encoder in ENCODERS
        else ", has a licence as well",
        licences="\n".join(_licence_lines(manifest)),
    )
    return with_metadata(text, manifest)


def _verdict_lines(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the test part says of each head, and what its baselines have there."""
    for verdict in manifest.get("verdicts", {}).values():
        figures = ", ".join(f"`{name}` {value:.3f}" for name, value in verdict["baselines"].items())
        beside = f" For comparison, by the same measure: {figures}; each also counts the other way round."
        yield verdict["sentence"] + beside * bool(figures)


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


def _output_lines(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each head and for each sum of heads."""
    for name, head in manifest["heads"].items():
        alone = head["input"] == "hypothesis"
        yield f"- `{name}` reads the {'hypothesis alone' if alone else 'source and the hypothesis'}"
    for name, parts in manifest["sums"].items():
        terms = " + ".join(f"{weight:g} `{head}`" for head, weight in parts.items())
        yield f"- the output `{name}` is {terms}"


def _readers(manifest: Mapping[str, Any]) -> list[tuple[Metric, set[str]]]:
    """Return the named metrics that can read the package, each with the outputs that it reads."""
    name, outputs = manifest["name"], set(output_names(manifest))
    readers: list[tuple[Metric, set[str]]] = [(Some(model=name), set(DIMENSIONS))]
    # IMPARA's quality is learned from ranked pairs.
    quality = manifest["heads"].get("quality")
    if quality is not None and not HeadConfig(**quality).rated:
        readers.append((Impara(quality=name), {"quality"}))
    readers.append((Preference(model=name), {"preference"}))
    return [(metric, read) for metric, read in readers if read <= outputs]


def _metrics(manifest: Mapping[str, Any]) -> str:
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


def _gate(manifest: Mapping[str, Any]) -> str:
    """Return the card's text about the gate of the metrics that read this package."""
    trained = manifest.get("gate", "characters")
    readers = [metric.name for metric, _ in _readers(manifest)]
    text = ""
    if trained == "cosine" and Impara.name in readers:
        text = (
            "\n`impara` gives 0 to a hypothesis whose similarity with its source, the cosine by "
            f"`{manifest['encoder']}`, is at most 0.9, as in\nits paper (`threshold`).\n"
        )
    strict = readers if trained == "characters" else set(readers) & {Preference.name}
    if strict:
        text += (
            f"\nFor {_names(strict)}, a hypothesis is no correction and gets a low score if it has too few "
            "trigrams of\ncharacters in common with its source: a share of "
            f"{GATE:g} or less (`threshold`). `threshold=-1` accepts everything.\n"
        )
    return text


def _training_lines(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield the card's lines about what the evaluator learned from."""
    data = manifest["data"]
    if continued := manifest["continued"]:
        yield (
            f"- Continued from `{continued['name']}` (SHA-256 {continued['sha256'][:12]}…), which had been "
            f"trained on {_names(continued['datasets'])}"
        )
    if data.get("tokenise"):
        yield f"- Texts were tokenised first; score with `--tokenise {data['tokenise']}`"
    if data["ratings"]:
        yield f"- Ratings: {_names(data['ratings'])}"
    if data["auxiliary"]:
        yield f"- Ratings for training only: {_names(data['auxiliary'])}"
    heads_of: dict[tuple[int, str], list[str]] = {}
    for head, sources in data["pairs"].items():
        for source in sources:
            settings = ", ".join(
                f"{key} {_names(value) if isinstance(value, list) else _rounded(value)}"
                for key, value in source.items()
                if key not in ("source", "pairs", "sha256", "digests") and value not in (None, [])
            )
            made = f"({source['source']}): {settings}"
            heads_of.setdefault((source["pairs"], made), []).append(head)
    for (number, made), heads in heads_of.items():
        yield f"- {number} ranked pairs for {_names(heads)} {made}"
    for head, entries in (data.get("labelled") or {}).items():
        if people := [entry for entry in entries if isinstance(entry, str)]:
            yield f"- Words that people labelled as wrong, for `{head}`: {_names(people)}"
        for outputs in (entry for entry in entries if not isinstance(entry, str)):
            labelling = _names(outputs["references"] or outputs["outputs"])
            yield (
                f"- Words of outputs of {_names(outputs['outputs'])} that the references of {labelling} "
                f"label, for `{head}`"
            )
    for head, names in data["cases"].items():
        yield f"- Cases for consistency of `{head}`: {_names(names)}"
    if not data["check_leakage"]:
        yield "- Training text was **not** checked against SEEDA, GJG15 and CoNLL-2014; do not test on them."
    sizes = (
        (part, [f"{n} {kind}" for kind, n in data[part].items() if kind != "sha256" and n])
        for part in ("train", "dev", "test")
    )
    parts = "; ".join(f"{part} {', '.join(counts)}" for part, counts in sizes)
    yield f"- Split: `{data['split']}` (seed {data['split_seed']}): {parts}"
    if averaged := manifest["averaged"]:
        names = ", ".join(f"`{row['name']}` ({row['sha256'][:12]}…)" for row in averaged)
        yield f"- Mean of the weights of {names}"


def _result_lines(results: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[str]:
    """Yield the table of results, with a row for each figure of each head."""
    yield "| part | head | measure | value | 95 % interval | n | sources |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for part, heads in results.items():
        for head, figures in heads.items():
            for key in filter(figures.__contains__, _FIGURES):
                value = "–" if figures[key] is None else f"{figures[key]:.3f}"
                low, high = figures.get(f"{key}_low"), figures.get(f"{key}_high")
                interval = "–" if low is None else f"{low:.3f} to {high:.3f}"
                counts = figures["n"], figures.get("sources", "–")
                row = (part, head, _FIGURES[key][1], value, interval, *counts)
                yield f"| {' | '.join(map(str, row))} |"
