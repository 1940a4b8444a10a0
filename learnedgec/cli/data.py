"""`learnedgec data list | fetch NAME… | verify [NAME…]`: the public datasets and their local files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from learnedgec.cli import flags, output
from learnedgec.cli.main import run_group
from learnedgec.data.catalog.files import cache_folder, dataset_file, verify
from learnedgec.data.catalog.registry import DATASETS, Dataset, dataset
from learnedgec.data.text import write_text
from learnedgec.errors import DataError, InputError, PluginError
from learnedgec.runtime.progress import track


def main(arguments: Sequence[str]) -> int:
    """Run the command that the first argument names."""
    about = "List, download and verify the public datasets of the catalog."
    return run_group("data", about, COMMANDS, arguments)


def _list(arguments: Sequence[str]) -> None:
    parser = flags.make_parser(
        "data list", "List the contents, size and licence of each dataset of the catalog."
    )
    output.add_output_flags(parser)
    options = output.with_format(parser.parse_args(arguments))
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
    table = [{**row, "MB": str(row["MB"])} for row in rows]
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


def _fetch(arguments: Sequence[str]) -> None:
    parser = flags.make_parser("data fetch", "Download datasets into the cache.")
    flags.add_names(parser, "names of datasets, or all")
    flags.add_fields(parser, flags.Quiet)
    options = parser.parse_args(arguments)
    if not options.names:
        raise InputError(f"no dataset was named; give all, or any of {', '.join(DATASETS)}.")
    everything = options.names == ["all"]
    datasets = _datasets() if everything else [dataset(name) for name in options.names]
    lines = []
    sizes = [entry.bytes for entry in datasets]
    for entry in track(datasets, "bytes of datasets", weights=sizes, show=not options.quiet):
        files = [dataset_file(entry.name, file) for file in entry.files]
        place = os.path.commonpath([file.parent for file in files]) if files else ""
        count = f"{len(files)} file{'s' if len(files) > 1 else ''}"
        about = f"{count} in {place}" if files else "no files to fetch; it is part of learnedgec."
        lines.append(f"{entry.name}: {about}\n")
    write_text("-", "".join(lines))


def _verify(arguments: Sequence[str]) -> None:
    parser = flags.make_parser(
        "data verify", "Verify local files against the checksums of the catalog."
    )
    flags.add_names(parser, "datasets (default: all)")
    output.add_output_flags(parser)
    options = output.with_format(parser.parse_args(arguments))
    rows = []
    for name in options.names or [entry.name for entry in _datasets() if entry.files]:
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


COMMANDS = {
    "list": ("list the contents, size and licence of each dataset", _list),
    "fetch": ("download datasets into the cache", _fetch),
    "verify": ("verify local files against the checksums of the catalog", _verify),
}
"""Name of each command -> one line about it, and what runs it."""
