"""`learnedgec data list | fetch NAME… | verify [NAME…]`: the public datasets and their local files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jsonargparse import ArgumentParser, Namespace

from learnedgec.cli.options import make_parser
from learnedgec.cli.output import (
    add_output_arguments,
    add_quiet_argument,
    emit,
    notice,
    with_format,
)
from learnedgec.data.catalog.files import cache_folder, fetch, verify
from learnedgec.data.catalog.registry import DATASETS, Dataset, dataset
from learnedgec.data.text import write_text
from learnedgec.errors import DataError, InputError, PluginError

if TYPE_CHECKING:
    from rich.progress import Progress


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec data`."""
    parser = make_parser("data", "List, download and verify the public datasets of the catalog.")
    actions = parser.add_subcommands(dest="action", title="actions")
    listing, fetching, verifying = (ArgumentParser(exit_on_error=False) for _ in range(3))
    add_output_arguments(listing)
    actions.add_subcommand(
        "list", listing, help="list the contents, size and licence of each dataset"
    )
    fetching.add_argument(
        "names", nargs="*", type=str, default=[], help="names of datasets, or all"
    )
    add_quiet_argument(fetching.add_argument)
    actions.add_subcommand("fetch", fetching, help="download datasets into the cache")
    verifying.add_argument("names", nargs="*", type=str, default=[], help="datasets (default: all)")
    add_output_arguments(verifying)
    actions.add_subcommand(
        "verify", verifying, help="verify local files against the catalog's checksums"
    )
    for action in (fetching, verifying):
        action.add_argument(
            "--mirror",
            type=str,
            help="read from this folder, DIR/OWNER/REPOSITORY/COMMIT/PATH, instead of the cache and the "
            "network (default: LEARNEDGEC_MIRROR)",
        )
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = build_parser().parse_args(list(arguments))
    actions = {"list": _list, "fetch": _fetch, "verify": _verify}
    chosen = options[options.action]
    actions[options.action](with_format(chosen) if "format" in chosen else chosen)


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
            "about": entry.about,
            "licence": entry.licence,
            "names": entry.names,
            "repository": entry.repository,
            "commit": entry.commit,
            "files": [
                {"path": file.path, "url": entry.url(file.path), "bytes": file.bytes, "sha256": file.sha256}
                for file in entry.files.values()
            ],
        }
        for entry in datasets
    ]  # fmt: skip
    table = [{**row, "MB": f"{row['MB']:.1f}"} for row in rows]
    emit(rows, options, payload=payload, table_rows=table)


def _datasets() -> list[Dataset]:
    """Return every dataset, and print a notice for a plug-in that cannot be loaded."""
    datasets = []
    for _, entry in DATASETS.entries():
        if isinstance(entry, PluginError):
            notice(str(entry))
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
            folder = _fetch_one(entry, options.mirror, progress)
            count = len(entry.files)
            lines.append(
                f"{entry.name}: no files to fetch; it is part of learnedgec.\n"
                if folder is None
                else f"{entry.name}: {count} file{'s' if count > 1 else ''} in {folder}\n"
            )
    write_text("-", "".join(lines))


def _fetch_one(entry: Dataset, mirror: str | None, progress: Progress) -> Path | None:
    """Fetch one dataset with a progress bar, and return the folder of its files, if it has any."""
    task = progress.add_task(entry.name, total=entry.bytes)
    files = fetch(
        entry.name, mirror=mirror, advance=lambda file: progress.advance(task, file.bytes)
    )
    return Path(os.path.commonpath([file.parent for file in files])) if files else None


def _verify(options: Namespace) -> None:
    names = options.names or [entry.name for entry in _datasets() if entry.files]
    rows = []
    for name in names:
        statuses = verify(name, mirror=options.mirror)
        counts = Counter(status.state for status in statuses)
        states = {state: counts[state] for state in ("ok", "absent", "altered")}
        rows.append({"dataset": name, **states})
        for status in statuses:
            if status.state == "altered":
                notice(f"{status.place} is altered.")
    emit(rows, options)
    altered = [str(row["dataset"]) for row in rows if row["altered"]]
    absent = [str(row["dataset"]) for row in rows if row["absent"]] if options.names else []
    if altered or absent:
        state, broken = ("altered", altered) if altered else ("incomplete", absent)
        raise DataError(
            f"{', '.join(broken)}: {state}; delete what is altered and run: "
            f"learnedgec data fetch {' '.join(broken)} (the cache is {cache_folder()})."
        )
