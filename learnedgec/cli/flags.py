"""Flags that commands share, and flags made from the fields of a dataclass."""

from __future__ import annotations

import argparse
import re
from argparse import SUPPRESS, Action, ArgumentError
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from docstring_parser import google
from jsonargparse import ArgumentParser, DefaultHelpFormatter, Namespace
from jsonargparse.typing import NonNegativeInt, OpenUnitInterval, PositiveInt

from learnedgec.cli.output import add_output_flags, first_time, notice
from learnedgec.data.configuration import (
    check_arguments,
    explained,
    with_configurations,
)
from learnedgec.edits.annotator import describe_annotator
from learnedgec.errors import ConfigError, InputError
from learnedgec.evaluators import RATED, RELEASES
from learnedgec.metrics.bound import BoundMetric, NamedMetric
from learnedgec.metrics.contract import Reannotates
from learnedgec.metrics.registry import read_name
from learnedgec.runtime.files import check_writable
from learnedgec.runtime.runtime import PROFILE, Runtime
from learnedgec.scoring import bind
from learnedgec.stats.resampling import Resampling

_Fields = TypeVar("_Fields")

# Fields whose flags are not only their names.
_FLAGS = {
    "src": ("-s", "--src"),
    "hyp": ("-y", "--hyp"),
    "ref": ("-r", "--ref"),
    "metric": ("-m", "--metric"),
    "table": ("--table", "--jsonl"),
    "with_metric": ("--with-metric", "--with"),
}


# The argument with which a command gives its parser instead of running.
PRINT_PARSER = "--print-parser"


class FoundParser(BaseException):
    """Carries a command's parser out of the command."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser


def give_parser(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Raise with a command's parser instead of running the command, if `completion` asks for it."""
    if PRINT_PARSER in arguments:
        raise FoundParser(parser)


class _Parser(ArgumentParser):
    """A parser whose errors are all either the package's or argparse's `ArgumentError`.

    Attributes:
        common: the options that `--help` shows; `--help-all` shows all. If empty, `--help` shows all, too.
    """

    common: tuple[str, ...] = ()

    def parse_args(self, args: Sequence[str], **options: Any) -> Namespace:  # type: ignore[override]
        give_parser(self, args)
        if "--help-all" in args:
            self.common, args = (), ["--help"]
        try:
            check_arguments(args, self)
            return super().parse_args(with_configurations(args), **options)
        except ArgumentError as error:
            raise explained(error, self) or error from None
        except (ValueError, OverflowError, RecursionError) as error:
            raise ConfigError(f"an option cannot be read ({error}).") from None

    def _apply_actions(self, cfg: Any, *arguments: Any, **options: Any) -> Namespace:
        # One value in a configuration stands for a list of it, as on the command line.
        if isinstance(cfg, dict):
            for action in self._actions:
                value = cfg.get(action.dest)
                if action.nargs == "+" and not isinstance(value, list | None):
                    cfg[action.dest] = [value]
        return super()._apply_actions(cfg, *arguments, **options)

    def format_help(self, *arguments: Any) -> str:
        if self.common:
            seen = (*self.common, "help")
            hidden = [a for a in self._actions if a.dest not in seen and a.help != SUPPRESS]
            self.epilog = f"--help-all lists {len(hidden)} more options."
            for action in hidden:
                action.help = SUPPRESS
            # A group without a description is left out if all of its options are.
            for group in self._action_groups:
                group.description = None
            self.common = ()
        return super().format_help(*arguments)


class _HelpFormatter(DefaultHelpFormatter):
    """Shows defaults, but neither types nor that an option may be left out: the descriptions say both."""

    def _get_help_string(self, action: Action) -> str:
        text = super()._get_help_string(action)
        text = re.sub(r"\(type: .*, default: ", "(default: ", text)
        shown = action.default not in (None, [], {}) and action.default is not False
        return text if shown else re.sub(r" \(default: %\(default\)s\)$", "", text)


def make_parser(command: str, description: str, common: str = "") -> ArgumentParser:
    """Return a command's parser, with `--config`.

    Args:
        command: its name.
        description: the purpose of the command.
        common: names of the options that `--help` shows, with spaces between; all by default.
    """
    parser = _Parser(
        prog=f"learnedgec {command}",
        description=description,
        exit_on_error=False,
        formatter_class=_HelpFormatter,
    )
    parser.common = tuple(common.split())
    parser.add_argument(
        "--config",
        action="config",
        help="YAML file with any of these options as keys, or the name of a bundled configuration",
    )
    return parser


# -- flags of dataclasses --------------------------------------------------------------------------


def add_fields(
    parser: Any,
    *kinds: type,
    title: str = "",
    description: str | None = None,
    leave_out: Collection[str] = (),
) -> None:
    """Add one flag per field of each dataclass: its type, its default, and its description in the docstring.

    A list is a flag with several values, a literal type one with choices.

    Args:
        parser: a command's, or a group of its arguments.
        kinds: dataclasses whose fields have defaults.
        title: title of a new group for the flags.
        description: the description of the new group.
        leave_out: fields without a flag.
    """
    target = parser.add_argument_group(title, description) if title else parser
    for kind in kinds:
        # The fields of a base class are described in its docstring.
        docs = [google.parse(base.__doc__ or "") for base in reversed(kind.mro())]
        descriptions = {param.arg_name: param.description or "" for d in docs for param in d.params}
        hints, defaults = get_type_hints(kind), kind()
        for name in [field.name for field in fields(kind) if field.name not in leave_out]:
            text = " ".join(descriptions[name].split()).removesuffix(".")
            options: dict[str, Any] = {"help": re.sub(r"`(\S+)`", r"\1", text)}
            options["default"] = getattr(defaults, name)
            hint = hints[name]
            if NoneType in get_args(hint):
                hint = get_args(hint)[0]
            if get_origin(hint) is list:
                options["nargs"] = "+"
                (hint,) = get_args(hint)
            if hint is bool:
                options["action"] = "store_true"
            elif get_origin(hint) is Literal:
                options["choices"] = get_args(hint)
                if len(get_args(hint)) > 8:
                    options["metavar"] = "NAME"
            else:
                options["type"] = hint
            target.add_argument(*_FLAGS.get(name, ["--" + name.replace("_", "-")]), **options)


def read_fields(kind: type[_Fields], options: Namespace, **others: Any) -> _Fields:
    """Return the dataclass that the flags of its fields describe; `others` have no flag."""
    names = [field.name for field in fields(kind) if field.name in options]  # type: ignore[arg-type]
    return kind(**pick(options, *names), **others)


def pick(options: Namespace, *names: str) -> dict[str, Any]:
    """Return some options as keyword arguments."""
    return {name: options[name] for name in names}


def require(options: Namespace, **examples: str) -> None:
    """Raise `InputError` unless each of these options was given.

    Args:
        options: the options of a command.
        examples: name of an option -> what may follow its flag.
    """
    for name, example in examples.items():
        if not options[name]:
            flag = "--" + name.replace("_", "-")
            raise InputError(f"{flag} is missing; give it, such as {flag} {example}.")


def check_absent(options: Namespace, names: Sequence[str], reason: str) -> None:
    """Raise `InputError` with the reason, and the flags to leave out, if any of these options was given."""
    if given := ["--" + name.replace("_", "-") for name in names if options.get(name)]:
        raise InputError(f"{reason}; leave out {', '.join(given)}.")


# -- shared flags ----------------------------------------------------------------------------------


@dataclass
class _Metrics:
    """Options that name metrics.

    Attributes:
        metric: metrics such as gleu or "m2(beta=1.0)"; `learnedgec metrics` lists them.
        reannotate: errant: extract the edits of the references again instead of using their gold edits, as in
            published scores.
    """

    metric: list[str] | None = None
    reannotate: bool = False


@dataclass
class Annotator:
    """Option that names an annotator.

    Attributes:
        annotator: spaCy pipeline that extracts and classifies edits: en-ewt-sm, an installed package or a
            directory (default: en_core_web_sm if installed, else en-ewt-sm).
    """

    annotator: str | None = None


@dataclass
class Intervals:
    """Options of intervals and tests.

    Attributes:
        resamples: number of bootstrap resamples, and of permutations in tests.
        confidence: confidence level of intervals; tests use a level of 1 minus this.
        seed: seed of the random generator.
    """

    resamples: PositiveInt = 1000
    confidence: OpenUnitInterval = 0.95
    seed: NonNegativeInt = 0


@dataclass
class Overwrite:
    """Option to replace an earlier result.

    Attributes:
        overwrite: replace an earlier result of this name.
    """

    overwrite: bool = False


@dataclass
class Quiet:
    """Option to print less on stderr.

    Attributes:
        quiet: print neither progress nor remarks on stderr, only errors and warnings about the validity of
            results.
    """

    quiet: bool = False


@dataclass
class _Running(Quiet):
    """Options of what to print on stderr.

    Attributes:
        profile: print on stderr at the end how many inputs models encoded, how fast, and how many were
            cached.
    """

    profile: bool = False


@dataclass
class Figures:
    """Option to draw figures.

    Attributes:
        plot: write figures as PDF and PNG into this folder (extra `plot`).
    """

    plot: str | None = None


def add_names(parser: ArgumentParser, about: str) -> None:
    """Add a positional argument that takes any number of names."""
    parser.add_argument("names", nargs="*", type=str, default=[], help=about)


def add_metrics(parser: ArgumentParser, *, reannotate: bool = False) -> None:
    """Add `--metric NAME…`, and `--reannotate` where metrics are given gold edits."""
    add_fields(parser, _Metrics, leave_out=() if reannotate else ["reannotate"])


def add_runtime(parser: ArgumentParser) -> None:
    """Add one flag per field of `Runtime`, `--quiet` and `--profile`."""
    about = "how to run; only --dtype and --tokenise affect scores"
    kinds = (Runtime, _Running)
    add_fields(parser, *kinds, title="runtime", description=about, leave_out=["progress", "opened"])


def add_evaluation(parser: ArgumentParser, *, plot: bool = True) -> None:
    """Add the flags about intervals, the runtime and output, and unless told otherwise `--plot DIR`."""
    add_fields(parser, Intervals, title="intervals and tests")
    if plot:
        add_fields(parser, Figures)
    add_runtime(parser)
    add_output_flags(parser, explained=True)


def read_metrics(options: Namespace) -> list[NamedMetric]:
    """Return the metrics that `--metric` names, at least one, each label once."""
    require(options, metric="gleu quality")
    metrics = list({named.label: named for named in map(read_name, options.metric)}.values())
    if not options.get("reannotate"):
        return metrics
    if not any(isinstance(named.metric, Reannotates) for named in metrics):
        raise InputError("--reannotate is for errant, which is not among the metrics.")
    return [
        replace(named, metric=named.metric.reannotated())
        if isinstance(named.metric, Reannotates)
        else named
        for named in metrics
    ]


def introduce_evaluator(metrics: Iterable[BoundMetric], options: Namespace) -> None:
    """Say what a released evaluator is when a metric reads it for the first time."""
    names = {package.manifest["name"] for metric in metrics for package in metric.packages}
    for name in names & RELEASES.keys():
        if options.quiet or not first_time(f"introduced-{name}"):
            continue
        other, metric = (
            (", not the published checkpoint of SOME", "some") if name == RATED else ("", "quality")
        )
        release = RELEASES[name]
        terms = f"It is for research only: its licence is {release.licence} (learnedgec evaluators {name}). "
        notice(
            f"{name} is learnedgec's own evaluator{other}, so write {metric}[{name}] in a paper. "
            f"{'' if release.products else terms}You read this once."
        )


def read_resampling(options: Namespace, documents: Sequence[str] = ()) -> Resampling:
    """Return the resampling that the flags of `Intervals` describe, of the documents of sentences."""
    settings = options.resamples, options.confidence, options.seed
    return Resampling(*settings, documents=documents)


def read_runtime(options: Namespace) -> Runtime:
    """Return the runtime that the flags describe; with `--profile`, begin to count.

    Raises:
        OutputError: the cache's folder cannot be written.
        UnknownNameError: no annotator has the name that was given.
    """
    PROFILE.reset()
    PROFILE.enabled = bool(options.get("profile"))
    if options.cache_dir:
        check_writable(Path(options.cache_dir) / "entry")
    if options.get("annotator"):
        describe_annotator(options.annotator)
    return read_fields(Runtime, options, progress=not options.quiet)


def read_bound(options: Namespace) -> list[BoundMetric]:
    """Return the metrics that `--metric` names, bound with one runtime."""
    metrics = bind(read_metrics(options), read_runtime(options))
    introduce_evaluator(metrics, options)
    return metrics
