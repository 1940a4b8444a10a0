"""`learnedgec evaluators [NAME…]`, `fetch`, `push` and `pull`: evaluators here, in releases and on a hub."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from learnedgec.cli import flags, output
from learnedgec.data.catalog.registry import Material, materials
from learnedgec.data.text import read_text, write_text
from learnedgec.errors import InputError
from learnedgec.evaluators.packages import (
    CARD,
    RELEASES,
    check_package,
    fetch_released,
    find_evaluator,
    list_evaluators,
    manifest_datasets,
    manifest_licence,
    manifest_tools,
    open_package,
    output_names,
)

# What a hub reads at the top of a card, for machines.
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n\s*", re.DOTALL)


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    if arguments and arguments[0] in _COMMANDS:
        _COMMANDS[arguments[0]](arguments[1:])
        return
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
    folders = [find_evaluator(name) for name in options.names]
    manifests = [check_package(folder) for folder in folders]
    if options.licences:
        _show_licences(manifests, options)
    elif options.names:
        cards = [_FRONT_MATTER.sub("", read_text(folder / CARD)) for folder in folders]
        write_text(options.out, "\n".join(cards))
    else:
        _list(options)


def _list(options: Namespace) -> None:
    """Print a row for each evaluator."""
    packages = {name: open_package(str(folder)) for name, folder in list_evaluators().items()}
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
    shown = [{key: row[key] for key in ("evaluator", "heads", "where")} for row in rows]
    output.emit(rows, options, table_rows=rows if options.wide else shown)
    for package in packages.values():
        output.notice(*package.doubts(output_names(package.manifest)))
    for name in RELEASES.keys() - packages.keys():
        output.notice(f"Not here: {name}; `learnedgec evaluators fetch {name}` gets it.")


def _show_licences(manifests: Sequence[Mapping[str, Any]], options: Namespace) -> None:
    """Print what evaluators were made of, with the licence of each part and of the whole."""
    rows = []
    for manifest in manifests:
        made_of = _made_of(manifest)
        for row in made_of:
            use = {"commercial use": "yes" if row.permissive else "no"}
            rows.append({"evaluator": manifest["name"], **asdict(row), **use})
        output.notice(_terms(manifest, made_of))
    hidden = () if options.wide else ("evaluator", "url")
    shown = [{key: row[key] for key in row if key not in hidden} for row in rows]
    output.emit(rows, options, table_rows=shown)


def _made_of(manifest: Mapping[str, Any]) -> list[Material]:
    """Return what an evaluator was made of."""
    return materials(manifest["encoder"], manifest_datasets(manifest), manifest_tools(manifest))


def _terms(manifest: Mapping[str, Any], made_of: Sequence[Material]) -> str:
    """Return a sentence with an evaluator's licence and what it allows."""
    allowed = all(row.permissive for row in made_of)
    return (
        f"{manifest['name']}: {manifest_licence(manifest)}; commercial use is "
        f"{'allowed under these conditions' if allowed else 'not allowed'}."
    )


def _fetch(arguments: Sequence[str]) -> None:
    """Run `evaluators fetch`, and print each evaluator's folder, its licence and its digest."""
    parser = flags.make_parser(
        "evaluators fetch", "Get released evaluators that are not part of the installation."
    )
    flags.add_names(parser, f"released evaluators: {', '.join(RELEASES)}")
    options = parser.parse_args(arguments)
    if not options.names:
        raise InputError(f"no evaluator was named; give any of {', '.join(RELEASES)}.")
    for name in options.names:
        package = fetch_released(name)
        manifest = check_package(package)
        write_text("-", f"{package}\n")
        output.notice(
            _terms(manifest, _made_of(manifest)),
            f"{name}: its scores have sha256:{open_package(str(package)).digest} in their signatures.",
        )


def _push(arguments: Sequence[str]) -> None:
    """Run `evaluators push`, and print the name by which the evaluator is loaded from there."""
    from learnedgec.evaluators.sharing import push_evaluator

    parser = flags.make_parser("evaluators push", "Upload an evaluator to a hub.")
    parser.add_argument("name", type=str, help="the evaluator, or its directory")
    parser.add_argument("repository", type=str, help="org/name, or org/name@branch")
    parser.add_argument("--private", action="store_true", help="make a new repository private")
    parser.add_argument("--message", type=str, help="commit message")
    options = parser.parse_args(arguments)
    pushed = push_evaluator(
        options.name, options.repository, private=options.private, message=options.message
    )
    write_text("-", f"{pushed}\n")


def _pull(arguments: Sequence[str]) -> None:
    """Run `evaluators pull`, and print the evaluator's folder and the digest in its scores' signatures."""
    from learnedgec.evaluators.sharing import pull_evaluator

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


_COMMANDS: dict[str, Callable[[Sequence[str]], None]] = {
    "fetch": _fetch,
    "push": _push,
    "pull": _pull,
}
