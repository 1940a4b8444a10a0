"""`learnedgec evaluators [NAME…]`: the trained evaluators at hand, or one's model card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jsonargparse import ArgumentParser

from learnedgec.cli.options import make_parser
from learnedgec.cli.output import add_output_arguments, emit, notice, with_format
from learnedgec.cli.table import Layout
from learnedgec.formats.text import read_text, write_text
from learnedgec.models.packages import (
    check_package,
    find_evaluator,
    list_evaluators,
    manifest_datasets,
)
from learnedgec.training.licences import weights_licence


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec evaluators`."""
    parser = make_parser(
        "evaluators", "List the trained evaluators that can be named, or print model cards."
    )
    parser.add_argument("names", nargs="*", type=str, help="evaluators whose card to print")
    add_output_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = with_format(build_parser().parse_args(list(arguments)))
    if options.names:
        folders = [find_evaluator(name) for name in options.names]
        for folder in folders:
            check_package(folder)
        cards = [read_text(folder / "README.md") for folder in folders]
        write_text(options.out, "\n".join(cards))
        return
    rows: list[dict[str, Any]] = []
    for name, folder in list_evaluators().items():
        manifest = check_package(folder)
        rows.append(
            {
                "evaluator": name,
                "heads": " ".join([*manifest["heads"], *(manifest.get("sums") or {})]),
                "encoder": manifest["encoder"],
                "trained on": " ".join(manifest["data"]["datasets"]),
                "licence": manifest.get("license") or weights_licence(manifest_datasets(manifest)),
                "where": str(folder),
            }
        )
    if not rows:
        notice("No evaluator is here yet; `learnedgec train --config some-mini` makes one.")
    emit(rows, options, layout=Layout(prose=("heads", "trained on", "licence")))
