"""Write a dataset's row into the catalog: repository, commit, licence, and size and SHA-256 of each file.

    python scripts/add_dataset.py peet --about "BEA-19 test outputs, and what an editor made of them"
    python scripts/add_dataset.py mine --about … --repository me/mine --commit 0123… --licence MIT

The files are read from a mirror, `DIR/OWNER/REPOSITORY/COMMIT/PATH` (docs/how-to/new-dataset.md). If it has
a `manifest.json` that lists the dataset, then repository, commit, licence and files are read from it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from learnedgec.data.catalog import registry
from learnedgec.data.catalog.registry import Dataset, File, read_datasets
from learnedgec.data.text import read_json, write_text
from learnedgec.errors import DataError, InputError, LearnedgecError
from learnedgec.runtime.files import file_digest

TABLE = Path(registry.__file__).with_name("datasets.json")
ORIGIN = ("licence", "repository", "commit")


def describe(options: argparse.Namespace) -> Dataset:
    """Return a dataset with the size and SHA-256 of each of its files in a mirror."""
    manifest = Path(options.mirror) / "manifest.json"
    listed: Mapping[str, Any] = {}
    if manifest.is_file():
        listed = read_json(manifest).get(options.name, {})
    origin = {key: getattr(options, key) or listed.get(key, "") for key in ORIGIN}
    if missing := [key for key, value in origin.items() if not value]:
        raise InputError(
            f"{manifest} does not say the {' and '.join(missing)} of {options.name!r}; give "
            f"{' and '.join(f'--{key}' for key in missing)}."
        )
    folder = Path(options.mirror) / origin["repository"] / origin["commit"]
    digests = {file["path"]: file["sha256"] for file in listed.get("files", ())}
    paths = list(digests) or [
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    ]
    chosen = sorted(path for path in paths if any(fnmatch(path, p) for p in options.files))
    if not chosen:
        raise InputError(
            f"no file in {folder} matches {' or '.join(options.files)}; name other patterns."
        )
    files = {path: describe_file(folder, path, digests.get(path)) for path in chosen}
    return Dataset(options.name, options.about, files=files, **origin)


def describe_file(folder: Path, path: str, listed: str | None) -> File:
    """Return the size and digest of a file, which must be the one that the manifest lists."""
    place = folder / path
    if not place.is_file():
        raise DataError(f"{place} does not exist, though manifest.json names it; copy it there.")
    digest = file_digest(place)
    if listed not in (None, digest):
        raise DataError(
            f"{place} is not the file that manifest.json names (its sha256 is {digest[:12]}…, not "
            f"{str(listed)[:12]}…); copy it there again."
        )
    return File(path, place.stat().st_size, digest)


def write_datasets(path: Path, datasets: Mapping[str, Dataset]) -> None:
    """Write a table of datasets by name, a line for each file; `read_datasets` reads it."""
    rows = []
    for name, dataset in sorted(datasets.items()):
        head = [
            f"    {as_json(key)}: {as_json(getattr(dataset, key))}," for key in ("about", *ORIGIN)
        ]
        if dataset.part_licences:
            head.append(f'    "part_licences": {as_json(dict(dataset.part_licences))},')
        if dataset.terms:
            terms = {part: asdict(terms) for part, terms in dataset.terms.items()}
            head.append(f'    "terms": {as_json(terms)},')
        files = [
            f"      {as_json(file.path)}: " + as_json({"bytes": file.bytes, "sha256": file.sha256})
            for _, file in sorted(dataset.files.items())
        ]
        body = [*head, '    "files": {', ",\n".join(files), "    }"]
        rows.append("\n".join([f"  {as_json(name)}: {{", *body, "  }"]))
    write_text(path, "{\n" + ",\n".join(rows) + "\n}\n")


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name", help="name of the dataset")
    parser.add_argument("--about", required=True, help="description of one line")
    parser.add_argument("--licence", help="as its authors state it; default: the manifest's")
    parser.add_argument("--repository", help="owner/name on GitHub; default: the manifest's")
    parser.add_argument("--commit", help="the pinned revision; default: the manifest's")
    parser.add_argument(
        "--files", nargs="+", default=["*"], help="patterns of paths; default: every file"
    )
    parser.add_argument("--mirror", default=os.environ.get("LEARNEDGEC_MIRROR"), help="its root")
    parser.add_argument("--table", type=Path, default=TABLE, help="the table that gets the row")
    parser.add_argument("--replace", action="store_true", help="replace a row of this name")
    options = parser.parse_args(arguments)
    try:
        if not options.mirror:
            raise InputError("no mirror was given; name one with --mirror or LEARNEDGEC_MIRROR.")
        table = read_datasets(options.table) if options.table.exists() else {}
        if options.name in table and not options.replace:
            raise InputError(
                f"{options.table} has {options.name!r} already; replace it by --replace."
            )
        row = describe(options)
        write_datasets(options.table, {**table, row.name: row})
    except LearnedgecError as error:
        print(f"add_dataset: {error}", file=sys.stderr)
        return 2
    print(f"{row.name}: {len(row.files)} files, {row.bytes / 1e6:.1f} MB, {row.licence}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
