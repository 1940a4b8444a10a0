"""`learnedgec data list | fetch NAME… | verify [NAME…]`: the public datasets and their local files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jsonargparse import ArgumentParser, Namespace

from learnedgec.catalog.files import cache_folder, fetch, verify
from learnedgec.catalog.registry import DATASETS, Dataset, dataset
from learnedgec.cli.options import make_parser
from learnedgec.cli.output import (
    add_output_arguments,
    add_quiet_argument,
    emit,
    notice,
    with_format,
)
from learnedgec.cli.table import Layout
from learnedgec.errors import DataError, InputError, PluginError
from learnedgec.formats.text import write_text

if TYPE_CHECKING:
    from rich.progress import Progress


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec data`."""
    parser = make_parser("data", "List, download and verify the public datasets of the catalog.")
    actions = parser.add_subcommands(dest="action", title="actions")
    listing = ArgumentParser(exit_on_error=False)
    add_output_arguments(listing)
    actions.add_subcommand(
        "list", listing, help="list the contents, size and licence of each dataset"
    )
    fetching = ArgumentParser(exit_on_error=False)
    fetching.add_argument(
        "names", nargs="*", type=str, default=[], help="names of datasets, or all"
    )
    add_quiet_argument(fetching.add_argument)
    _add_mirror(fetching)
    actions.add_subcommand("fetch", fetching, help="download datasets into the cache")
    verifying = ArgumentParser(exit_on_error=False)
    verifying.add_argument("names", nargs="*", type=str, default=[], help="datasets (default: all)")
    _add_mirror(verifying)
    add_output_arguments(verifying)
    actions.add_subcommand(
        "verify", verifying, help="verify local files against the catalog's checksums"
    )
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = build_parser().parse_args(list(arguments))
    actions = {"list": _list, "fetch": _fetch, "verify": _verify}
    chosen = options[options.action]
    actions[options.action](with_format(chosen) if "format" in chosen else chosen)


def _add_mirror(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--mirror",
        type=str,
        help="read from this folder, DIR/OWNER/REPOSITORY/COMMIT/PATH, instead of the cache and the "
        "network (default: LEARNEDGEC_MIRROR)",
    )


def _list(options: Namespace) -> None:
    datasets = _datasets()
    rows = [
        {
            "dataset": found.name,
            "holds": ", ".join(found.names),
            "files": len(found.files),
            "MB": round(found.bytes / 1e6, 1),
            "licence": found.licence,
            "about": found.about,
        }
        for found in datasets
    ]
    payload = [
        {
            "dataset": found.name,
            "about": found.about,
            "licence": found.licence,
            "names": found.names,
            "repository": found.repository,
            "commit": found.commit,
            "files": [
                {"path": file.path, "url": found.url(file.path), "bytes": file.bytes, "sha256": file.sha256}
                for file in found.files.values()
            ],
        }
        for found in datasets
    ]  # fmt: skip
    table = [{**row, "MB": f"{row['MB']:.1f}"} for row in rows]
    layout = Layout(prose=("holds", "about"), extra=("files", "licence"))
    emit(rows, options, payload=payload, table_rows=table, layout=layout)


def _datasets() -> list[Dataset]:
    """Return every dataset, and a notice for a plug-in that cannot be loaded."""
    found = []
    for _, each in DATASETS.entries():
        if isinstance(each, PluginError):
            notice(str(each))
        else:
            found.append(each)
    return found


def _fetch(options: Namespace) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    if not options.names:
        raise InputError(f"no dataset was named; give all, or any of {', '.join(DATASETS)}.")
    every = options.names == ["all"]
    datasets = _datasets() if every else [dataset(name) for name in options.names]
    places = []
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        # Old versions of rich end even a progress bar that is switched off with an empty line.
        console=Console(stderr=True, quiet=options.quiet),
    ) as progress:
        for found in datasets:
            folder = _fetch_one(found, options.mirror, progress)
            if folder is None:
                places.append(f"{found.name}: no files to fetch; it is part of learnedgec.")
            else:
                count = len(found.files)
                places.append(f"{found.name}: {count} file{'s' if count > 1 else ''} in {folder}")
    write_text("-", "".join(f"{place}\n" for place in places))


def _fetch_one(found: Dataset, mirror: str | None, progress: Progress) -> Path | None:
    """Fetch one dataset under a bar of its own, and return the folder of its files, if it has any."""
    task = progress.add_task(found.name, total=found.bytes)
    files = fetch(
        found.name, mirror=mirror, advance=lambda file: progress.advance(task, file.bytes)
    )
    return Path(os.path.commonpath([file.parent for file in files])) if files else None


def _verify(options: Namespace) -> None:
    names = options.names or [found.name for found in _datasets() if found.files]
    rows = []
    for name in names:
        statuses = verify(name, mirror=options.mirror)
        counts = Counter(status.state for status in statuses)
        rows.append(
            {"dataset": name, **{state: counts[state] for state in ("ok", "absent", "altered")}}
        )
        for status in statuses:
            if status.state == "altered":
                notice(f"{status.place} is altered.")
    emit(rows, options)
    altered = [str(row["dataset"]) for row in rows if row["altered"]]
    absent = [str(row["dataset"]) for row in rows if row["absent"]] if options.names else []
    if altered or absent:
        what = "altered" if altered else "incomplete"
        raise DataError(
            f"{', '.join(altered or absent)}: {what}; delete what is altered and run: "
            f"learnedgec data fetch {' '.join(altered or absent)} (the cache is {cache_folder()})."
        )
