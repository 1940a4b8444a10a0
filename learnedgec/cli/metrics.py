"""`learnedgec metrics [NAME…]`: what there is, and what each parameter means."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence

from jsonargparse import ArgumentParser

from learnedgec.cli.options import make_parser
from learnedgec.cli.output import add_output_arguments, emit, notice, with_format
from learnedgec.cli.table import Layout
from learnedgec.errors import ParameterError, PluginError
from learnedgec.formats.text import write_text
from learnedgec.metrics.registry import REGISTRY, load_metric, metric_class
from learnedgec.metrics.tuned import list_tuned, read_tuned, read_tuned_file


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec metrics`."""
    parser = make_parser("metrics", "List the metrics, or explain the ones that are named.")
    parser.add_argument(
        "names", nargs="*", type=str, default=[], help="metrics to explain, such as gleu"
    )
    add_output_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = build_parser().parse_args(list(arguments))
    options = with_format(options, table=not options.names)
    if not options.names:
        rows = []
        for name, entry in REGISTRY.entries():
            if isinstance(entry, PluginError):
                notice(str(entry))
            else:
                rows.append({"metric": name, "measures": entry.summary})
        for name, path in list_tuned().items():
            rows.append({"metric": name, "measures": read_tuned_file(path).summary})
        emit(rows, options, layout=Layout(prose=("measures",)))
        return
    texts = []
    for name in options.names:
        if "@" in name:
            tuned = read_tuned(name)
            record = {key: value for key, value in tuned.study.items() if key != "trials"}
            texts.append(f"{tuned.metric}\n\n{json.dumps(record, indent=2, ensure_ascii=False)}\n")
            continue
        kind = metric_class(name)
        try:
            title = str(load_metric(name))
        except ParameterError:
            # It has none without parameters; what it says of itself names them.
            title = name
        texts.append(f"{title}\n\n{inspect.cleandoc(kind.__doc__ or '')}\n")
    write_text(options.out, "\n".join(texts))
