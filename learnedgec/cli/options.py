"""Arguments that several commands share: metrics, resampling, figures and the runtime."""

from __future__ import annotations

import difflib
import re
from argparse import ArgumentError
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from docstring_parser import parse
from jsonargparse import ArgumentParser, Namespace

from learnedgec.cli.output import add_quiet_argument
from learnedgec.errors import ConfigError, InputError, OutputError
from learnedgec.execution.profile import PROFILE
from learnedgec.execution.runtime import Runtime
from learnedgec.execution.writing import check_writable
from learnedgec.formats.configuration import parser_mode, with_configurations, wrong_value
from learnedgec.formats.text import (
    write_text,
)
from learnedgec.metrics.abilities import Reannotates
from learnedgec.metrics.base import Metric
from learnedgec.metrics.registry import load_metric

__all__ = [
    "add_field_arguments",
    "add_metric_argument",
    "add_plot_argument",
    "add_reannotate_argument",
    "add_resampling_arguments",
    "add_runtime_arguments",
    "make_parser",
    "read_fields",
    "read_metrics",
    "read_runtime",
]

_Kind = TypeVar("_Kind")


class _Parser(ArgumentParser):
    """A parser whose errors are all either the package's or argparse's `ArgumentError`."""

    def parse_args(self, args: Sequence[str], **options: Any) -> Namespace:  # type: ignore[override]
        try:
            return super().parse_args(with_configurations(args), **options)
        except ArgumentError as error:
            if sentence := wrong_value(str(error)):
                raise ConfigError(sentence) from None
            hint = self._nearest(str(error.message))
            raise ArgumentError(None, f"{error.message}{hint}") if hint else error from None
        except (ValueError, OverflowError, RecursionError) as error:
            raise ConfigError(f"an option cannot be read ({error}).") from None

    def _nearest(self, message: str) -> str:
        """Return a suggestion for the first unknown flag, if the message is about one."""
        unknown = re.match(r"unrecognized arguments: (--[\w-]+)", message, re.IGNORECASE)
        if unknown is None:
            return ""
        known = [flag for flag in self._option_string_actions if flag.startswith("--")]
        close = difflib.get_close_matches(unknown[1], known, n=1, cutoff=0.7)
        # In commands where a metric is one of several methods, the flag is --by.
        if not close and unknown[1] in ("--metric", "--metrics"):
            close = [flag for flag in known if flag == "--by"]
        return f"; did you mean {close[0]}?" if close else ""

    def print_help(self, file: Any = None) -> None:
        """Print the help, with an error if the output cannot be written; argparse would ignore it."""
        write_text("-", self.format_help())


def make_parser(command: str, description: str) -> ArgumentParser:
    """Return a command's parser, with `--config`."""
    parser = _Parser(
        prog=f"learnedgec {command}",
        description=description,
        exit_on_error=False,
        parser_mode=parser_mode(),
    )
    parser.add_argument(
        "--config",
        action="config",
        help="YAML file with any of these options as keys, or the name of a bundled configuration",
    )
    return parser


def add_metric_argument(parser: ArgumentParser, default: Sequence[str] | None = None) -> None:
    """Add `--metric NAME…`."""
    parser.add_argument(
        "--metric",
        nargs="+",
        type=str,
        default=None if default is None else list(default),
        help='metrics such as gleu or "m2(beta=1.0)"; `learnedgec metrics` lists them',
    )


def add_reannotate_argument(parser: ArgumentParser) -> None:
    """Add `--reannotate`."""
    parser.add_argument(
        "--reannotate",
        action="store_true",
        help="errant: extract the edits of the references again instead of using their gold edits, as in "
        "published scores",
    )


def read_metrics(options: Namespace, *, required: bool = True) -> list[Metric]:
    """Return the metrics that `--metric` names; the list may be empty if none is required."""
    if required and not options.metric:
        raise InputError("no metric was given; name one or more, such as --metric gleu some.")
    metrics = [load_metric(name) for name in options.metric or ()]
    if not options.get("reannotate"):
        return metrics
    if not any(isinstance(metric, Reannotates) for metric in metrics):
        raise InputError("--reannotate is for errant, which is not among the metrics.")
    return [
        metric.reannotated() if isinstance(metric, Reannotates) else metric for metric in metrics
    ]


def add_resampling_arguments(parser: ArgumentParser, *, many_tests: bool = False) -> None:
    """Add `--resamples`, `--confidence` and `--seed`.

    Args:
        parser: a command's.
        many_tests: whether the default (`None`) grows with the number of systems, each of which is tested
            against others.
    """
    group = parser.add_argument_group("intervals and tests")
    group.add_argument(
        "--resamples",
        type=int,
        default=None if many_tests else 1000,
        help="number of bootstrap resamples, and of permutations in tests"
        + (" (default: 1000, more if many systems are compared)" if many_tests else ""),
    )
    group.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        help="confidence level of intervals; tests use a level of 1 minus this",
    )
    group.add_argument("--seed", type=int, default=0, help="seed of the random generator")


def add_plot_argument(parser: ArgumentParser) -> None:
    """Add `--plot DIR`."""
    parser.add_argument(
        "--plot", type=str, help="write figures as PDF and PNG into this folder (extra `plot`)"
    )


def add_field_arguments(
    add_argument: Callable[..., object],
    kind: type,
    *,
    leave_out: Collection[str] = (),
    checked: Collection[str] = (),
) -> None:
    """Add one flag per field of a dataclass: its type, its default, and its description in the docstring.

    Args:
        add_argument: a parser's method, or that of a group of arguments.
        kind: the dataclass, with defaults.
        leave_out: fields without a flag here.
        checked: fields whose values the dataclass checks itself, with clearer messages than a parser's.
    """
    described = {each.arg_name: each.description or "" for each in parse(kind.__doc__ or "").params}
    hints = get_type_hints(kind)
    for field in fields(kind):
        if field.name in leave_out:
            continue
        text = " ".join(described[field.name].replace("`", "").split()).removesuffix(".")
        options: dict[str, Any] = {"default": field.default, "help": text}
        if hints[field.name] is bool:
            options["action"] = "store_true"
        elif get_origin(hints[field.name]) is not Literal:
            options["type"] = hints[field.name]
        elif field.name in checked:
            options["type"] = str
        else:
            options["choices"] = get_args(hints[field.name])
        add_argument("--" + field.name.replace("_", "-"), **options)


def read_fields(kind: type[_Kind], options: Namespace, **others: Any) -> _Kind:
    """Return the dataclass that the flags of its fields describe; `others` have no flag."""
    names = [field.name for field in fields(kind) if field.name in options]  # type: ignore[arg-type]
    return kind(**{name: options[name] for name in names}, **others)


def add_runtime_arguments(parser: ArgumentParser) -> None:
    """Add one flag per field of `Runtime`, and `--quiet`."""
    group = parser.add_argument_group(
        "runtime", "how to run; only --dtype and --tokenise affect scores"
    )
    add_field_arguments(group.add_argument, Runtime, leave_out=["progress"])
    add_quiet_argument(group.add_argument)
    group.add_argument(
        "--profile",
        action="store_true",
        help="print on stderr at the end how many inputs models encoded, how fast, and how many were cached",
    )


def read_runtime(options: Namespace) -> Runtime:
    """Return the runtime that the flags describe; with `--profile`, begin to count.

    Raises:
        OutputError: the cache's folder cannot be written.
    """
    PROFILE.reset()
    PROFILE.wanted = bool(options.get("profile"))
    if options.get("cache_dir"):
        try:
            check_writable(Path(options.cache_dir) / "entry")
        except OutputError:
            raise OutputError(
                f"the folder {options.cache_dir} cannot be written; choose another for --cache-dir."
            ) from None
    return read_fields(Runtime, options, progress=not options.quiet)
