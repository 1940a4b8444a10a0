"""Write a dataset's row into the catalog: repository, commit, licence, and size and SHA-256 of each file.

    python scripts/add_dataset.py peet --about "BEA-19 test outputs, and what an editor made of them"
    python scripts/add_dataset.py mine --about … --repository me/mine --commit 0123… --licence MIT

The files are read from a mirror (docs/how-to/new-dataset.md).
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import learnedgec.data.catalog.registry
from learnedgec.data.catalog.add import describe_dataset, write_datasets
from learnedgec.data.catalog.registry import read_datasets
from learnedgec.errors import InputError, LearnedgecError

TABLE = Path(learnedgec.data.catalog.registry.__file__).with_name("datasets.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name", help="what the dataset is called")
    parser.add_argument("--about", required=True, help="what it is, in one line")
    parser.add_argument("--licence", help="as its authors state it; default: the manifest's")
    parser.add_argument("--repository", help="owner/name on GitHub; default: the manifest's")
    parser.add_argument("--commit", help="the pinned revision; default: the manifest's")
    parser.add_argument(
        "--files", nargs="+", default=["*"], help="patterns of paths; default: every file"
    )
    parser.add_argument("--mirror", default=os.environ.get("LEARNEDGEC_MIRROR"), help="its root")
    parser.add_argument("--table", type=Path, default=TABLE, help="the table that gets the row")
    parser.add_argument("--replace", action="store_true", help="replace a row of this name")
    options = parser.parse_args()
    try:
        if not options.mirror:
            raise InputError("no mirror was given; name one with --mirror or LEARNEDGEC_MIRROR.")
        table = read_datasets(options.table) if options.table.exists() else {}
        if options.name in table and not options.replace:
            raise InputError(
                f"{options.table} has {options.name!r} already; replace it by --replace."
            )
        row = describe_dataset(
            options.name,
            options.mirror,
            options.about,
            licence=options.licence,
            repository=options.repository,
            commit=options.commit,
            files=options.files,
        )
        write_datasets(options.table, {**table, row.name: row})
    except LearnedgecError as error:
        print(f"add_dataset: {error}", file=sys.stderr)
        sys.exit(2)
    print(f"{row.name}: {len(row.files)} files, {row.bytes / 1e6:.1f} MB, {row.licence}")


if __name__ == "__main__":
    main()
