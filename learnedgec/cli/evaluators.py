"""`learnedgec evaluators`: trained evaluators, their cards and licences, and how to get and share them."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from learnedgec.cli import flags, output
from learnedgec.data.catalog.registry import materials
from learnedgec.data.text import read_text, write_text
from learnedgec.errors import InputError
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
from learnedgec.table import Column, For, Table

INVENTORY = (
    Column("evaluator"),
    Column("heads", show=lambda row: " ".join(row["heads"])),
    Column("encoder", audience=For.ASKED),
    Column("trained_on", "trained on", lambda row: " ".join(row["trained_on"]), For.ASKED),
    Column("licence", audience=For.ASKED),
    Column("where"),
)
"""The columns of the list of evaluators."""

LICENCES = (
    Column("evaluator", audience=For.ASKED),
    *map(Column, ("name", "kind", "version", "licence", "allows")),
    Column("url", audience=For.ASKED),
    Column("commercial_use", "commercial use"),
)
"""The columns of what evaluators are made of."""

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
            "heads": output_names(package.manifest),
            "encoder": package.encoder,
            "trained_on": package.manifest["data"]["datasets"],
            "licence": manifest_licence(package.manifest),
            "where": str(package.path),
        }
        for name, package in packages.items()
    ]
    if not rows:
        output.notice("No evaluator was found; `learnedgec train --config some-mini` trains one.")
    output.emit_table(Table(INVENTORY, rows), options)
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
            rows.append({"evaluator": name, **asdict(row), "commercial_use": use})
        permissive = all(row.permissive for row in made_of)
        own = [row.name for row in made_of if row.own]
        output.notice(_allowed(name, manifest_licence(manifest), permissive, own))
    output.emit_table(Table(LICENCES, rows), options)


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
