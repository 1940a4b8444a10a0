"""`learnedgec data`: the public datasets, and how to get, verify and write them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from learnedgec.cli import flags, output
from learnedgec.data.benchmarks import BENCHMARKS, expand_benchmarks, load_benchmark
from learnedgec.data.benchmarks.base import write_texts
from learnedgec.data.catalog import OUTPUTS, PARALLEL, load_outputs, load_parallel
from learnedgec.data.catalog.files import cache_folder, dataset_file, verify
from learnedgec.data.catalog.registry import DATASETS, dataset
from learnedgec.data.references import References
from learnedgec.data.text import write_text
from learnedgec.errors import DataError, InputError
from learnedgec.runtime.files import atomic_folder
from learnedgec.runtime.runtime import track
from learnedgec.table import Column, Table

_STATES: tuple[Literal["ok", "absent", "altered"], ...] = ("ok", "absent", "altered")

INVENTORY = (
    Column("dataset"),
    Column("holds", show=lambda row: ", ".join(row["holds"])),
    Column("files"),
    Column("bytes", "MB", lambda row: f"{row['bytes'] / 1e6:.1f}"),
    Column("licence"),
    Column("terms"),
    Column("about"),
)
"""The columns of the list of datasets."""

VERIFIED = (Column("dataset"), *map(Column, _STATES))
"""The columns of the states of datasets' files."""


def run_data_list(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser(
        "data list",
        "List the contents, size and licence of each dataset of the catalog, and the terms beyond it.",
    )
    output.add_output_flags(parser)
    options = output.with_format(parser.parse_args(arguments))
    datasets = output.loaded(DATASETS).values()
    rows = [
        {
            "dataset": entry.name,
            "holds": [*entry.names],
            "files": len(entry.files),
            "bytes": entry.bytes,
            "licence": entry.licence,
            "terms": terms.says if (terms := entry.terms_of("")) else "",
            "about": entry.about,
        }
        for entry in datasets
    ]
    records = {
        entry.name: {
            **asdict(entry),
            "names": entry.names,
            "files": [
                {**asdict(file), "url": entry.url(path)} for path, file in entry.files.items()
            ],
        }
        for entry in datasets
    }
    output.emit_table(Table(INVENTORY, rows), options, details={"datasets": records})


def run_data_fetch(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser("data fetch", "Download datasets into the cache.")
    flags.add_names(parser, "names of datasets, or all")
    flags.add_fields(parser, flags.Quiet)
    options = parser.parse_args(arguments)
    if not options.names:
        raise InputError(f"no dataset was named; give all, or any of {', '.join(DATASETS)}.")
    everything = options.names == ["all"]
    datasets = [*output.loaded(DATASETS).values()] if everything else [*map(dataset, options.names)]
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
    for name in options.names or [
        name for name, entry in output.loaded(DATASETS).items() if entry.files
    ]:
        statuses = verify(name)
        counts = Counter(status.state for status in statuses)
        states: dict[str, int] = {state: counts[state] for state in _STATES}
        rows.append({"dataset": name, **states})
        output.notice(*(f"{s.place} is altered." for s in statuses if s.state == "altered"))
    output.emit_table(Table(VERIFIED, rows), options)
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
