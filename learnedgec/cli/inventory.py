"""`learnedgec data`, `evaluators` and `metrics`: what there is, and how to get, explain and share it."""

from __future__ import annotations

import inspect
import json
import os
import re
import textwrap
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from learnedgec.cli import flags, output
from learnedgec.data.benchmarks import BENCHMARKS, expand_benchmarks, load_benchmark
from learnedgec.data.benchmarks.base import write_texts
from learnedgec.data.catalog import OUTPUTS, PARALLEL, load_outputs, load_parallel
from learnedgec.data.catalog.files import cache_folder, dataset_file, verify
from learnedgec.data.catalog.registry import DATASETS, dataset, materials
from learnedgec.data.references import References
from learnedgec.data.text import read_text, write_text
from learnedgec.errors import DataError, InputError, ParameterError, PluginError
from learnedgec.evaluators import RELEASES
from learnedgec.evaluators.locations import (
    fetch_released,
    find_evaluator,
    list_evaluators,
    open_package,
    pull_evaluator,
    push_evaluator,
)
from learnedgec.evaluators.package import (
    CARD,
    check_package,
    manifest_datasets,
    manifest_licence,
    manifest_tools,
    output_names,
)
from learnedgec.metrics.cards import MetricCard, bibtex, card_name, load_card, summary
from learnedgec.metrics.registry import REGISTRY, load_metric, metric_class, split_name
from learnedgec.metrics.tuned import list_tuned, read_tuned, read_tuned_file
from learnedgec.runtime.files import atomic_folder
from learnedgec.runtime.plugins import Registry
from learnedgec.runtime.runtime import track
from learnedgec.table import Table

_Entry = TypeVar("_Entry")

# What a hub reads at the top of a card, for machines.
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n\s*", re.DOTALL)


def run_evaluators(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser(
        "evaluators",
        "List the trained evaluators, or print their model cards; with --wide the list has encoder, training "
        "data and licence too. `evaluators fetch` gets released evaluators that the installation lacks; "
        "`evaluators push` and `pull` share evaluators. Each has a --help of its own.",
    )
    flags.add_names(parser, "evaluators whose cards to print")
    parser.add_argument(
        "--licences",
        action="store_true",
        help="list the encoder and every dataset of these evaluators, and what their licences allow",
    )
    output.add_output_flags(parser)
    options = output.with_format(parser.parse_args(arguments))
    if options.licences and not options.names:
        raise InputError("--licences: no evaluator was named; name one, such as open-mpnet.")
    absent = RELEASES.keys() - list_evaluators().keys() if options.licences else ()
    for name in filter(absent.__contains__, options.names):
        output.notice(
            f"{_allowed(name, RELEASES[name].licence, RELEASES[name].products)} `learnedgec evaluators fetch "
            f"{name}` gets it, with the licence of each part."
        )
    folders = [find_evaluator(name) for name in options.names if name not in absent]
    manifests = [check_package(folder) for folder in folders]
    if options.licences:
        _show_licences(manifests, options)
    elif options.names and options.format == "table":
        cards = [_FRONT_MATTER.sub("", read_text(folder / CARD)) for folder in folders]
        write_text(options.out, "\n".join(cards))
    else:
        folders_of = dict(zip(options.names, folders, strict=True)) or list_evaluators()
        _list_evaluators(folders_of, options)


def _list_evaluators(folders: Mapping[str, Path], options: Namespace) -> None:
    """Print a row for each evaluator, by name."""
    packages = {name: open_package(str(folder)) for name, folder in folders.items()}
    rows = [
        {
            "evaluator": name,
            "heads": " ".join(output_names(package.manifest)),
            "encoder": package.encoder,
            "trained on": " ".join(package.manifest["data"]["datasets"]),
            "licence": manifest_licence(package.manifest),
            "where": str(package.path),
        }
        for name, package in packages.items()
    ]
    if not rows:
        output.notice("No evaluator was found; `learnedgec train --config some-mini` trains one.")
    output.emit(rows, options, hidden=("encoder", "trained on", "licence"))
    for package in packages.values():
        output.notice(*package.doubts(output_names(package.manifest)))
    for name in () if options.names else RELEASES.keys() - packages.keys():
        output.notice(
            f"Not here: {name} ({RELEASES[name]}); `learnedgec evaluators fetch {name}` gets it."
        )


def _show_licences(manifests: Sequence[Mapping[str, Any]], options: Namespace) -> None:
    """Print what evaluators were made of, with the licence of each part and of the whole."""
    rows = []
    for manifest in manifests:
        name, datasets = manifest["name"], manifest_datasets(manifest)
        made_of = materials(manifest["encoder"], datasets, manifest_tools(manifest))
        for row in made_of:
            use = "not known" if row.own else "yes" if row.permissive else "no"
            rows.append({"evaluator": name, **asdict(row), "commercial use": use})
        permissive = all(row.permissive for row in made_of)
        own = [row.name for row in made_of if row.own]
        output.notice(_allowed(name, manifest_licence(manifest), permissive, own))
    output.emit(rows, options, hidden=("evaluator", "url"))


def _allowed(name: str, licence: str, permissive: bool, own: Sequence[str] = ()) -> str:
    """Return a sentence with an evaluator's licence and what it allows, as far as it is known.

    Args:
        name: the evaluator.
        licence: the licence of its weights.
        permissive: whether nothing that is known forbids commercial use.
        own: files of the user's from which it learned.
    """
    if permissive and own:
        use = (
            "nothing known here forbids commercial use, and whether you may use what is in "
            f"{', '.join(own)} is for you to know"
        )
    else:
        allowed = "allowed under these conditions" if permissive else "not allowed"
        use = f"commercial use is {allowed}"
    return f"{name}: {licence}; {use}."


def run_evaluators_fetch(arguments: Sequence[str]) -> None:
    """Run `evaluators fetch`: print each evaluator's licence before, and its folder and digest after."""
    parser = flags.make_parser(
        "evaluators fetch", "Get released evaluators that are not part of the installation."
    )
    flags.add_names(parser, f"released evaluators: {', '.join(RELEASES)}")
    options = parser.parse_args(arguments)
    if not options.names:
        raise InputError(f"no evaluator was named; give any of {', '.join(RELEASES)}.")
    for name in options.names:
        if release := RELEASES.get(name):
            output.notice(f"{name}: {release}; {release.licence}; sha256:{release.sha256}.")
        package = fetch_released(name)
        check_package(package)
        write_text("-", f"{package}\n")
        digest = open_package(str(package)).digest
        output.notice(f"{name}: its scores have sha256:{digest} in their signatures.")


def run_evaluators_push(arguments: Sequence[str]) -> None:
    """Run `evaluators push`, and print the name by which the evaluator is loaded from there."""
    parser = flags.make_parser("evaluators push", "Upload an evaluator to a hub.")
    parser.add_argument("name", type=str, help="the evaluator, or its directory")
    parser.add_argument("repository", type=str, help="org/name, or org/name@branch")
    parser.add_argument("--private", action="store_true", help="make a new repository private")
    options = parser.parse_args(arguments)
    pushed = push_evaluator(options.name, options.repository, private=options.private)
    write_text("-", f"{pushed}\n")


def run_evaluators_pull(arguments: Sequence[str]) -> None:
    """Run `evaluators pull`, and print the evaluator's folder and the digest in its scores' signatures."""
    parser = flags.make_parser(
        "evaluators pull", "Fetch an evaluator from a hub, as it is there now."
    )
    parser.add_argument("name", type=str, help="org/name, or org/name@revision")
    about = "also write the package into this folder, such as checkpoints"
    parser.add_argument("--out", type=str, help=about)
    options = parser.parse_args(arguments)
    folder = pull_evaluator(options.name, options.out)
    write_text("-", f"{folder}\n")
    digest = open_package(str(folder)).digest
    output.notice(f"pulled {options.name}; its scores have sha256:{digest} in their signatures.")


# -- learnedgec metrics [NAME…] ----------------------------------------------------------------------

# The width of a card's prose; docstrings are a little wider.
_WIDTH = 100


def run_metrics(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser("metrics", "List the metrics, or explain those named.")
    flags.add_names(parser, "metrics to explain, such as gleu")
    parser.add_argument(
        "--cite", action="store_true", help="print the BibTeX entries of the metrics that are named"
    )
    output.add_output_flags(parser)
    options = output.with_format(parser.parse_args(arguments))
    if options.cite:
        if not options.names:
            raise InputError("--cite was given without a metric; name one, such as gleu.")
        write_text(options.out, bibtex(split_name(name)[0] for name in options.names))
    elif options.names:
        write_text(options.out, "\n".join(map(_explanation, options.names)))
    else:
        output.emit(_metric_rows(), options)


def _metric_rows() -> list[dict[str, str]]:
    """Return one row per metric, and per tuned metric."""
    rows = [{"metric": name, "measures": summary(name)} for name in _loaded(REGISTRY)]
    for name, path in list_tuned().items():
        rows.append({"metric": name, "measures": read_tuned_file(path).summary})
    return rows


def _loaded(registry: Registry[_Entry]) -> dict[str, _Entry]:
    """Return the entries by their names, and print a notice for each plug-in that cannot be loaded."""
    entries = {}
    for name, entry in registry.entries():
        if isinstance(entry, PluginError):
            output.notice(str(entry))
        else:
            entries[name] = entry
    return entries


def _explanation(name: str) -> str:
    """Return the study of a tuned metric, a metric's card, or the docstring of one without a card."""
    if "@" in name:
        tuned = read_tuned(name)
        record = {key: value for key, value in tuned.study.items() if key != "trials"}
        return f"{tuned.metric}\n\n{json.dumps(record, indent=2, ensure_ascii=False)}\n"
    kind = metric_class(name)
    try:
        title = str(load_metric(name))
    except ParameterError:
        # A metric with required parameters has no printed name without them; its docstring explains them.
        title = name
    card = card_name(kind.name)
    about = inspect.cleandoc(kind.__doc__ or "") if card is None else _card_text(load_card(card))
    return f"{title}\n\n{about}\n"


def _card_text(card: MetricCard) -> str:
    """Return a card as text for a terminal."""
    width = max(map(len, card.frame))
    indent = " " * (width + 2)
    facts = [_filled(text, f"{key:{width}}  ", indent) for key, text in card.frame.items()]
    failures = []
    for failure in card.failures:
        failures.append(_filled(failure["text"], "- ", "  "))
        for key in ("source", "hypothesis", "reference", "score"):
            if key in failure:
                failures.append(f"    {key:10}  {failure[key]}")
    parts = (
        [_filled(card.measures)],
        facts,
        [card.definition],
        ["Known failures:", *failures],
        [*_agreement(card), f"To cite it: learnedgec metrics {card.name} --cite"],
    )
    return "\n\n".join("\n".join(part) for part in parts)


def _filled(text: str, first: str = "", others: str = "") -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=first, subsequent_indent=others)


def _agreement(card: MetricCard) -> list[str]:
    """Return the lines about agreement with people, for the first parameters that were measured."""
    rows = [row for row in card.agreement if row["metric"] == card.agreement[0]["metric"]]
    if not rows:
        return []
    # The interval over sentences is on the site.
    columns = [
        {"benchmark": row["benchmark"], "people's score": row["human"]}
        | {"r of systems": _first(row["r"]), "ρ of systems": _first(row["rho"])}
        | {"on sentences": row["sentences"]}
        for row in rows
    ]
    return [
        f"Agreement of {rows[0]['metric']} with people, with 95 % intervals (r and ρ: over systems):",
        Table.of(columns).text(),
    ]


def _first(value: str) -> str:
    """Return a value with the first of its intervals."""
    return value.partition("]")[0] + "]" if "]" in value else value


# -- learnedgec data COMMAND -------------------------------------------------------------------------


def run_data_list(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser(
        "data list",
        "List the contents, size and licence of each dataset of the catalog, and the terms beyond it.",
    )
    output.add_output_flags(parser)
    options = output.with_format(parser.parse_args(arguments))
    datasets = _loaded(DATASETS).values()
    rows = [
        {
            "dataset": entry.name,
            "holds": ", ".join(entry.names),
            "files": len(entry.files),
            "MB": f"{entry.bytes / 1e6:.1f}",
            "licence": entry.licence,
            "terms": terms.says if (terms := entry.terms_of("")) else "",
            "about": entry.about,
        }
        for entry in datasets
    ]
    payload = [
        {
            "dataset": entry.name,
            **asdict(entry),
            "names": entry.names,
            "files": [
                {**asdict(file), "url": entry.url(path)} for path, file in entry.files.items()
            ],
        }
        for entry in datasets
    ]
    output.emit(rows, options, payload=payload)


def run_data_fetch(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser("data fetch", "Download datasets into the cache.")
    flags.add_names(parser, "names of datasets, or all")
    flags.add_fields(parser, flags.Quiet)
    options = parser.parse_args(arguments)
    if not options.names:
        raise InputError(f"no dataset was named; give all, or any of {', '.join(DATASETS)}.")
    everything = options.names == ["all"]
    datasets = [*_loaded(DATASETS).values()] if everything else [*map(dataset, options.names)]
    lines = []
    sizes = [entry.bytes for entry in datasets]
    for entry in track(datasets, "bytes of datasets", weights=sizes, show=not options.quiet):
        files = [dataset_file(entry.name, file) for file in entry.files]
        place = os.path.commonpath([file.parent for file in files]) if files else ""
        count = f"{len(files)} file{'s' if len(files) > 1 else ''}"
        about = f"{count} in {place}" if files else "no files to fetch; it is part of learnedgec."
        lines.append(f"{entry.name}: {about}\n")
    write_text("-", "".join(lines))


def run_data_verify(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser(
        "data verify", "Verify local files against the checksums of the catalog."
    )
    flags.add_names(parser, "datasets (default: all)")
    output.add_output_flags(parser)
    options = output.with_format(parser.parse_args(arguments))
    rows = []
    for name in options.names or [name for name, entry in _loaded(DATASETS).items() if entry.files]:
        statuses = verify(name)
        counts = Counter(status.state for status in statuses)
        states = {state: counts[state] for state in ("ok", "absent", "altered")}
        rows.append({"dataset": name, **states})
        output.notice(*(f"{s.place} is altered." for s in statuses if s.state == "altered"))
    output.emit(rows, options)
    altered = [str(row["dataset"]) for row in rows if row["altered"]]
    absent = [str(row["dataset"]) for row in rows if row["absent"]] if options.names else []
    if altered or absent:
        state, broken = ("altered", altered) if altered else ("incomplete", absent)
        raise DataError(
            f"{', '.join(broken)}: {state}; delete what is altered and run: "
            f"learnedgec data fetch {' '.join(broken)} (the cache is {cache_folder()})."
        )


def run_data_write(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser(
        "data write",
        "Write the texts of a dataset into a new folder: source.txt, systems/NAME.txt for each system, and "
        "the references as gold.m2 or, if they have no edits, as ref0.txt, ref1.txt, ….",
    )
    flags.add_names(parser, "a dataset, a part of one, or a benchmark, such as jfleg:dev or seeda")
    parser.add_argument("--out", type=str, help="the new folder")
    flags.add_fields(parser, flags.Quiet)
    options = parser.parse_args(arguments)
    flags.require(options, out="texts")
    if len(options.names) != 1:
        raise InputError(f"{len(options.names)} datasets were named; name one, such as jfleg:dev.")
    folder = Path(options.out)
    if folder.exists():
        raise InputError(f"{folder} exists; choose another folder.")
    sources, systems, references = _texts(options.names[0])
    with atomic_folder(folder) as place:
        write_texts(place, sources, systems, references)
        files = sorted(path for path in place.iterdir() if path.is_file())
    names = ", ".join(file.name for file in files)
    outputs = f" and the outputs of {len(systems)} systems" if systems else ""
    output.remark(f"{folder}: {names}{outputs}, {len(sources):,} sentences each", options)


def _texts(
    name: str,
) -> tuple[Sequence[str], Mapping[str, Sequence[str]], References | None]:
    """Return the sources, the outputs and the references of a dataset or benchmark."""
    benchmark, *_ = expand_benchmarks([name])
    if name not in PARALLEL and benchmark.partition(":")[0] in BENCHMARKS:
        judged = load_benchmark(benchmark)
        return judged.sources, judged.systems, judged.references
    data = load_parallel(name)
    return data.sources, load_outputs(name) if name in OUTPUTS else {}, data.references
