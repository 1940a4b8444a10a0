"""`learnedgec data list | fetch NAME… | verify [NAME…]`: the public datasets and their local files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from jsonargparse import ArgumentParser, Namespace

from learnedgec.cli import flags, output
from learnedgec.data.catalog.files import cache_folder, dataset_file, verify
from learnedgec.data.catalog.registry import DATASETS, Dataset, dataset
from learnedgec.data.text import write_text
from learnedgec.errors import DataError, InputError, PluginError


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec data`."""
    parser = flags.make_parser(
        "data", "List, download and verify the public datasets of the catalog."
    )
    actions = parser.add_subcommands(dest="action", title="actions")
    listing, fetching, verifying = (ArgumentParser(exit_on_error=False) for _ in range(3))
    output.add_output_flags(listing)
    flags.add_names(fetching, "names of datasets, or all")
    flags.add_fields(fetching, flags.Quiet)
    flags.add_names(verifying, "datasets (default: all)")
    output.add_output_flags(verifying)
    about = "list the contents, size and licence of each dataset"
    actions.add_subcommand("list", listing, help=about)
    actions.add_subcommand("fetch", fetching, help="download datasets into the cache")
    about = "verify local files against the catalog's checksums"
    actions.add_subcommand("verify", verifying, help=about)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = build_parser().parse_args(list(arguments))
    actions = {"list": _list, "fetch": _fetch, "verify": _verify}
    chosen = options[options.action]
    actions[options.action](output.with_format(chosen) if "format" in chosen else chosen)


def _list(options: Namespace) -> None:
    datasets = _datasets()
    rows = [
        {
            "dataset": entry.name,
            "holds": ", ".join(entry.names),
            "files": len(entry.files),
            "MB": round(entry.bytes / 1e6, 1),
            "licence": entry.licence,
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
    table = [{**row, "MB": f"{row['MB']:.1f}"} for row in rows]
    output.emit(rows, options, payload=payload, table_rows=table)


def _datasets() -> list[Dataset]:
    """Return every dataset, and print a notice for a plug-in that cannot be loaded."""
    datasets = []
    for _, entry in DATASETS.entries():
        if isinstance(entry, PluginError):
            output.notice(str(entry))
        else:
            datasets.append(entry)
    return datasets


def _fetch(options: Namespace) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    if not options.names:
        raise InputError(f"no dataset was named; give all, or any of {', '.join(DATASETS)}.")
    everything = options.names == ["all"]
    datasets = _datasets() if everything else [dataset(name) for name in options.names]
    lines = []
    # Old versions of rich end even a progress bar that is switched off with an empty line.
    console = Console(stderr=True, quiet=options.quiet)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=console) as progress:
        for entry in datasets:
            task = progress.add_task(entry.name, total=entry.bytes)
            files = []
            for file in entry.files.values():
                files.append(dataset_file(entry.name, file.path))
                progress.advance(task, file.bytes)
            place = os.path.commonpath([file.parent for file in files]) if files else ""
            count = f"{len(files)} file{'s' if len(files) > 1 else ''}"
            about = (
                f"{count} in {place}" if files else "no files to fetch; it is part of learnedgec."
            )
            lines.append(f"{entry.name}: {about}\n")
    write_text("-", "".join(lines))


def _verify(options: Namespace) -> None:
    names = options.names or [entry.name for entry in _datasets() if entry.files]
    rows = []
    for name in names:
        statuses = verify(name)
        counts = Counter(status.state for status in statuses)
        states = {state: counts[state] for state in ("ok", "absent", "altered")}
        rows.append({"dataset": name, **states})
        for status in statuses:
            if status.state == "altered":
                output.notice(f"{status.place} is altered.")
    output.emit(rows, options)
    altered = [str(row["dataset"]) for row in rows if row["altered"]]
    absent = [str(row["dataset"]) for row in rows if row["absent"]] if options.names else []
    if altered or absent:
        state, broken = ("altered", altered) if altered else ("incomplete", absent)
        raise DataError(
            f"{', '.join(broken)}: {state}; delete what is altered and run: "
            f"learnedgec data fetch {' '.join(broken)} (the cache is {cache_folder()})."
        )
