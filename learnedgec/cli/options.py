"""Arguments that several commands share: what to score, with which metrics, and how to run."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from docstring_parser import parse
from jsonargparse import ArgumentParser, Namespace

from learnedgec.cli.flags import with_flags
from learnedgec.cli.output import notice
from learnedgec.errors import ConfigError, FormatError, InputError
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.configuration import parser_mode, with_configurations
from learnedgec.formats.m2 import read_m2
from learnedgec.formats.references import Reference, References
from learnedgec.formats.text import (
    check_lengths,
    check_sentence,
    read_jsonl,
    read_lines,
    write_text,
)
from learnedgec.formats.unusual import blank_notices, token_notices
from learnedgec.metrics.abilities import Reannotates
from learnedgec.metrics.base import Metric
from learnedgec.metrics.registry import load_metric
from learnedgec.stats.significance import resamples_needed

__all__ = [
    "Inputs",
    "add_field_arguments",
    "add_input_arguments",
    "add_metric_argument",
    "add_plot_argument",
    "add_reannotate_argument",
    "add_resampling_arguments",
    "add_runtime_arguments",
    "make_parser",
    "read_fields",
    "read_inputs",
    "read_metrics",
    "read_runtime",
    "read_systems",
    "system_files",
    "system_names",
    "too_few_resamples",
]

_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a command scores: N sources, systems of N hypotheses by name, and their references."""

    sources: list[str]
    systems: dict[str, list[str]]
    references: References | None


class _Parser(ArgumentParser):
    """A parser whose every complaint about what was typed is an error of ours or argparse's."""

    def parse_args(self, args: Sequence[str], **options: Any) -> Namespace:  # type: ignore[override]
        try:
            return super().parse_args(with_configurations(args), **options)
        except (ValueError, OverflowError, RecursionError) as error:
            raise ConfigError(f"an option cannot be read ({error}).") from None

    def print_help(self, file: Any = None) -> None:
        """Print the help; argparse would be silent about a place that cannot be written."""
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
        help="YAML file with any of these options as keys, or the name of one that comes along",
    )
    return parser


def add_input_arguments(parser: ArgumentParser) -> None:
    """Add `--src`, `--hyp`, `--ref`, `--gold` and `--jsonl`."""
    group = parser.add_argument_group("input", "UTF-8 text, one sentence per line; .gz and - work")
    group.add_argument("--src", type=str, help="the source sentences (taken from --gold if absent)")
    group.add_argument(
        "--hyp",
        nargs="+",
        type=str,
        help="system outputs, or a folder of them; a system is named by its file's stem",
    )
    group.add_argument("--ref", nargs="+", type=str, help="reference texts, one file per annotator")
    group.add_argument("--gold", type=str, help="references as an M2 file with gold edits")
    group.add_argument(
        "--jsonl",
        nargs="+",
        type=str,
        help="instead of the above: one file per system with the keys source, hypothesis and, "
        "where there are any, references (texts or null)",
    )


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
        help="errant: find the edits of references that have gold edits anew, as published scores do",
    )


def read_metrics(options: Namespace, *, required: bool = True) -> list[Metric]:
    """Return the metrics that `--metric` names; none only where none is required."""
    if required and not options.metric:
        raise InputError('no metric was given; name one or more, such as --metric gleu "some".')
    metrics = [load_metric(name) for name in options.metric or ()]
    if not options.get("reannotate"):
        return metrics
    if not any(isinstance(metric, Reannotates) for metric in metrics):
        raise InputError("--reannotate is for errant, which is not among the metrics.")
    return [
        metric.reannotated() if isinstance(metric, Reannotates) else metric for metric in metrics
    ]


def add_resampling_arguments(parser: ArgumentParser) -> None:
    """Add `--resamples`, `--confidence` and `--seed`."""
    group = parser.add_argument_group("intervals and tests")
    group.add_argument(
        "--resamples", type=int, default=1000, help="bootstrap resamples, and permutations in tests"
    )
    group.add_argument(
        "--confidence", type=float, default=0.95, help="of intervals; tests are at 1 minus this"
    )
    group.add_argument("--seed", type=int, default=0, help="of the random generator")


def too_few_resamples(comparisons: int, resamples: int, level: float) -> list[str]:
    """Return a sentence where so many comparisons cannot be significant with so few resamples, else none."""
    needed = resamples_needed(comparisons, level)
    if resamples >= needed:
        return []
    lowest = comparisons / (resamples + 1)
    each = f"{comparisons:,} comparisons" if comparisons > 1 else "the comparison"
    return [
        f"With {resamples:,} resamples, no p-value of {each} can be below {min(lowest, 1):.2g} after Holm's "
        f"correction, so no difference can be significant: give --resamples {needed} or more."
    ]


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
    """Add one flag per field of a dataclass: its type, its default, and what the docstring says of it.

    Args:
        add_argument: a parser's method, or that of a group of arguments.
        kind: the dataclass, with defaults.
        leave_out: fields without a flag here.
        checked: fields whose values the dataclass checks by itself, in better words than a parser's.
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
        "runtime", "how to run; scores depend on dtype and tokenise alone"
    )
    add_field_arguments(group.add_argument, Runtime, leave_out=["progress"])
    group.add_argument("--quiet", action="store_true", help="no progress on stderr")


def read_runtime(options: Namespace) -> Runtime:
    """Return the runtime that the flags describe."""
    return read_fields(Runtime, options, progress=not options.quiet)


def read_inputs(options: Namespace, metrics: Sequence[Metric] = ()) -> Inputs:
    """Read and check the files that the input flags name, for these metrics.

    Raises:
        InputError: a flag is missing or contradicts another, a file cannot be used, or a metric needs
            references.
        LengthError: the files are not parallel.
    """
    inputs = _read_jsonl(options) if options.jsonl else _read_files(options)
    if options.tokenise == "spacy":
        inputs = _tokenised(inputs)
    if not options.quiet:
        for message in (
            *blank_notices(inputs.sources, inputs.systems),
            *token_notices(inputs.sources, inputs.systems, inputs.references),
        ):
            notice(with_flags(message))
    for metric in metrics:
        if metric.needs_references and inputs.references is None:
            raise InputError(
                f"{metric.name} needs references: give reference files (--ref) or an M2 file (--gold); in "
                "--jsonl they are the key 'references'."
            )
    return inputs


def _tokenised(inputs: Inputs) -> Inputs:
    """Return the input in tokens: what else than scores is printed of it shows what was scored."""
    from learnedgec.edits.tokenisation import tokenise, tokenise_references

    references = inputs.references
    return Inputs(
        tokenise(inputs.sources),
        {name: tokenise(texts) for name, texts in inputs.systems.items()},
        references and tokenise_references(references, inputs.sources),
    )


def _read_files(options: Namespace) -> Inputs:
    """Read what `--src`, `--hyp`, `--ref` and `--gold` name."""
    if not options.hyp:
        raise InputError("no system output was given; name at least one file with --hyp.")
    if options.ref and options.gold:
        raise InputError("--ref and --gold were both given; references come from one of them.")
    if options.src:
        sources = read_lines(options.src)
    elif options.gold:
        sources = [block.source for block in read_m2(options.gold)]
    else:
        raise InputError("no source was given; name the file with the source sentences by --src.")
    paths = system_files(options.hyp)
    systems = read_systems(paths)
    source_name = options.src or options.gold
    for path, hypotheses in zip(paths, systems.values(), strict=True):
        check_lengths((source_name, sources), (path, hypotheses))
    references = None
    if options.gold and options.tokenise == "spacy":
        # Its gold edits count its own tokens; the sources may be the same sentences in others.
        from learnedgec.edits.tokenisation import check_tokens, tokenise, tokenise_references

        blocks = read_m2(options.gold)
        own = [block.source for block in blocks]
        check_lengths((source_name, sources), (options.gold, own))
        check_tokens(options.gold, sources, own)
        references = tokenise_references(References.from_annotated(blocks), own)
        sources = tokenise(sources)
    elif options.gold:
        references = References.from_m2(options.gold, sources)
    elif options.ref:
        references = References.from_files(*options.ref)
        check_lengths((source_name, sources), (options.ref[0], references.texts()))
    return Inputs(sources, systems, references)


def system_files(paths: Sequence[str]) -> list[str]:
    """Return the files of systems' outputs: those named, and in place of a folder those in it, sorted.

    Raises:
        InputError: a folder holds no file.
    """
    found = []
    for path in paths:
        if path == "-" or not Path(path).is_dir():
            found.append(path)
            continue
        inside = sorted(
            os.fspath(each)
            for each in Path(path).iterdir()
            if each.is_file() and not each.name.startswith(".")
        )
        if not inside:
            raise InputError(
                f"the folder {path} holds no file; one file for each system's output was expected."
            )
        found += inside
    return found


def read_systems(paths: Sequence[str]) -> dict[str, list[str]]:
    """Return each file's sentences by the name of its system."""
    return dict(zip(system_names(paths), map(read_lines, paths), strict=True))


def system_names(paths: Sequence[str]) -> list[str]:
    """Return a name per file: the stem, or the path without suffixes where stems collide."""
    # A name that is no text is shown by its bytes.
    paths = [os.fsencode(path).decode("utf-8", "backslashreplace") for path in paths]
    stems = [Path(path).name.removesuffix(".gz").rsplit(".", 1)[0] or path for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    names = [os.fspath(Path(path).with_suffix("")) for path in paths]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two system outputs are both named {twice!r}; rename one of the files.")
    return names


def _read_jsonl(options: Namespace) -> Inputs:
    """Read one JSONL file per system; all must have the same sources and references."""
    if options.src or options.hyp or options.ref or options.gold:
        raise InputError("--jsonl holds everything; leave out --src, --hyp, --ref and --gold.")
    paths: list[str] = options.jsonl
    first: tuple[list[str], list[Any]] | None = None
    systems: dict[str, list[str]] = {}
    for name, path in zip(system_names(paths), paths, strict=True):
        records = _read_records(path)
        for number, record in enumerate(records, 1):
            _check_record(record, f"{path}:{number}")
        found = (
            [record["source"] for record in records],
            [record.get("references") for record in records],
        )
        first = first or found
        check_lengths((paths[0], first[0]), (path, found[0]))
        for number, pair in enumerate(
            zip(zip(*first, strict=True), zip(*found, strict=True), strict=True), 1
        ):
            if pair[0] != pair[1]:
                raise InputError(
                    f"{path}:{number}: the source or the references differ from {paths[0]}; "
                    "all systems must have corrected the same sentences."
                )
        systems[name] = [record["hypothesis"] for record in records]
    assert first is not None
    sources, rows = first
    references = None
    if any(row is not None for row in rows):
        references = References(
            tuple(
                tuple(
                    Reference(text, annotator=number)
                    for number, text in enumerate(row or ())
                    if text is not None
                )
                for row in rows
            )
        )
    return Inputs(sources, systems, references)


def _read_records(path: str) -> list[dict[str, Any]]:
    """Return the records of one system's JSONL file."""
    if Path(path.removesuffix(".gz")).suffix in (".csv", ".tsv"):
        raise InputError(
            f"{path} is a table; a JSON object with the keys source and hypothesis on each line, or text "
            "files with one sentence per line (--src, --hyp), were expected."
        )
    records = read_jsonl(path, required=("hypothesis",))
    for number, record in enumerate(records, 1):
        if "source" not in record:
            raise FormatError(
                f"{path}:{number}: the key 'source' is missing; every hypothesis is scored beside the "
                "sentence that it corrects."
            )
    return records


def _check_record(record: Mapping[str, Any], place: str) -> None:
    """Raise `FormatError` unless the texts of a record are texts without line feeds."""
    references = record.get("references")
    if references is not None and not isinstance(references, list):
        raise FormatError(
            f"{place}: 'references' must be a list of texts, not {str(references)[:60]}."
        )
    for key in ("source", "hypothesis"):
        check_sentence(record[key], place, key)
    for text in references or ():
        if text is not None:
            check_sentence(text, place, "references")
