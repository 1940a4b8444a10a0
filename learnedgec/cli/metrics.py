"""`learnedgec metrics`: the metrics, and what each of them is."""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Sequence

from learnedgec.cli import flags, output
from learnedgec.data.text import write_text
from learnedgec.errors import InputError, ParameterError
from learnedgec.metrics.cards import MetricCard, bibtex, card_name, load_card, summary
from learnedgec.metrics.registry import REGISTRY, load_metric, metric_class, split_name
from learnedgec.metrics.tuned import list_tuned, read_tuned, read_tuned_file
from learnedgec.table import Column, Table

# The width of a card's prose; docstrings are a little wider.
_WIDTH = 100

INVENTORY = (Column("metric"), Column("measures"))
"""The columns of the list of metrics."""


def run_metrics(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser("metrics", "List the metrics, or explain those named.")
    flags.add_names(parser, "metrics to explain, such as gleu")
    parser.add_argument(
        "--cite", action="store_true", help="print the BibTeX entries of the metrics that are named"
    )
    output.add_output_flags(parser)
    options = output.with_format(parser.parse_args(arguments))
    if options.cite:
        if not options.names:
            raise InputError("--cite was given without a metric; name one, such as gleu.")
        write_text(options.out, bibtex(split_name(name)[0] for name in options.names))
    elif options.names:
        write_text(options.out, "\n".join(map(_explanation, options.names)))
    else:
        output.emit_table(_list_of_metrics(), options)


def _list_of_metrics() -> Table:
    """Return a row for each metric, and for each tuned metric."""
    rows = [{"metric": name, "measures": summary(name)} for name in output.loaded(REGISTRY)]
    for name, path in list_tuned().items():
        rows.append({"metric": name, "measures": read_tuned_file(path).summary})
    return Table(INVENTORY, rows)


def _explanation(name: str) -> str:
    """Return the study of a tuned metric, a metric's card, or the docstring of one without a card."""
    if "@" in name:
        tuned = read_tuned(name)
        record = {key: value for key, value in tuned.study.items() if key != "trials"}
        return f"{tuned.metric}\n\n{json.dumps(record, indent=2, ensure_ascii=False)}\n"
    kind = metric_class(name)
    try:
        title = str(load_metric(name))
    except ParameterError:
        # A metric with required parameters has no printed name without them; its docstring explains them.
        title = name
    card = card_name(kind.name)
    about = inspect.cleandoc(kind.__doc__ or "") if card is None else _card_text(load_card(card))
    return f"{title}\n\n{about}\n"


def _card_text(card: MetricCard) -> str:
    """Return a card as text for a terminal."""
    width = max(map(len, card.frame))
    indent = " " * (width + 2)
    facts = [_filled(text, f"{key:{width}}  ", indent) for key, text in card.frame.items()]
    failures = []
    for failure in card.failures:
        failures.append(_filled(failure["text"], "- ", "  "))
        for key in ("source", "hypothesis", "reference", "score"):
            if key in failure:
                failures.append(f"    {key:10}  {failure[key]}")
    parts = (
        [_filled(card.measures)],
        facts,
        [card.definition],
        ["Known failures:", *failures],
        [*_agreement(card), f"To cite it: learnedgec metrics {card.name} --cite"],
    )
    return "\n\n".join("\n".join(part) for part in parts)


def _filled(text: str, first: str = "", others: str = "") -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=first, subsequent_indent=others)


def _agreement(card: MetricCard) -> list[str]:
    """Return the lines about agreement with people, for the first parameters that were measured."""
    rows = [row for row in card.agreement if row["metric"] == card.agreement[0]["metric"]]
    if not rows:
        return []
    # The interval over sentences is on the site.
    columns = [
        {"benchmark": row["benchmark"], "people's score": row["human"]}
        | {"r of systems": _first(row["r"]), "ρ of systems": _first(row["rho"])}
        | {"on sentences": row["sentences"]}
        for row in rows
    ]
    return [
        f"Agreement of {rows[0]['metric']} with people, with 95 % intervals (r and ρ: over systems):",
        Table.of(columns).text(),
    ]


def _first(value: str) -> str:
    """Return a value with the first of its intervals."""
    return value.partition("]")[0] + "]" if "]" in value else value
