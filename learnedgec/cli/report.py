"""`learnedgec report`: one HTML file with scores, sentences, edits and error types."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from jsonargparse import ArgumentParser, Namespace

from learnedgec.benchmarks.registry import load_benchmark
from learnedgec.cli.inputs import add_input_arguments, read_inputs
from learnedgec.cli.options import (
    add_metric_argument,
    add_reannotate_argument,
    add_resampling_arguments,
    add_runtime_arguments,
    make_parser,
    read_metrics,
    read_runtime,
)
from learnedgec.cli.output import remark
from learnedgec.errors import InputError
from learnedgec.execution.digests import file_digest
from learnedgec.execution.writing import check_writable
from learnedgec.metrics.needs import check_metrics
from learnedgec.metrics.registry import load_metric
from learnedgec.report.data import ReportSettings, build_benchmark_report, build_report
from learnedgec.report.page import check_report, write_report


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec report`."""
    parser = make_parser(
        "report",
        "Write one HTML file that opens offline in any browser: systems and metrics with intervals, every "
        "sentence with its edits, error types, and disagreements between metrics.",
    )
    parser.add_argument(
        "--benchmark",
        type=str,
        help="instead of --src and --hyp: a benchmark with its human judgements; see `learnedgec meta`",
    )
    parser.add_argument(
        "--human", nargs="+", type=str, help="human scores of the benchmark; see `learnedgec meta`"
    )
    add_metric_argument(parser)
    add_reannotate_argument(parser)
    add_input_arguments(parser)
    group = parser.add_argument_group("report")
    group.add_argument("--title", type=str, default="", help="the report's heading")
    group.add_argument(
        "--attribution",
        nargs="+",
        type=str,
        help="metrics whose scores are attributed to each edit; each metric scores up to 2^8 texts per "
        "output, so choose a fast metric or few sentences",
    )
    group.add_argument(
        "--annotator",
        type=str,
        help="spaCy pipeline that extracts and classifies edits: en-ewt-sm, an installed package or a "
        "directory (default: en_core_web_sm if installed, else en-ewt-sm)",
    )
    group.add_argument("--out", type=str, default="report.html", help="output file; -: stdout")
    add_resampling_arguments(parser, many_tests=True)
    add_runtime_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = build_parser().parse_args(list(arguments))
    check_report()
    if options.out != "-":
        check_writable(options.out)
    metrics = read_metrics(options)
    runtime = read_runtime(options)
    settings = ReportSettings(
        title=options.title,
        attribution=tuple(load_metric(name) for name in options.attribution or ()),
        annotator=options.annotator,
        resamples=options.resamples,
        level=options.confidence,
        seed=options.seed,
        command=shlex.join(["learnedgec", "report", *arguments]),
        files=_files(options),
    )
    check_metrics([*metrics, *settings.attribution], runtime)
    if options.benchmark:
        if options.src or options.hyp or options.jsonl or options.ref or options.gold:
            raise InputError(
                "a benchmark contains its own sentences; leave out --src, --hyp, --jsonl, --ref and --gold."
            )
        report = build_benchmark_report(
            load_benchmark(options.benchmark),
            metrics,
            options.human or (),
            settings=settings,
            runtime=runtime,
        )
    else:
        if options.human:
            raise InputError("--human needs a benchmark; name one with --benchmark.")
        inputs = read_inputs(options)
        report = build_report(
            inputs.sources,
            inputs.systems,
            metrics,
            inputs.references,
            settings=settings,
            runtime=runtime,
        )
    replaced = ", replacing the previous file" if Path(options.out).is_file() else ""
    write_report(options.out, report)
    if options.out != "-":
        size = Path(options.out).stat().st_size / 1e6
        remark(f"wrote {options.out} ({size:.1f} MB){replaced}", options)


def _files(options: Namespace) -> dict[str, str]:
    """Return the SHA-256 of every file that is read; standard input has none."""
    named = [options.src, options.gold]
    for several in (options.hyp, options.ref, options.jsonl):
        named += several or []
    return {
        path: file_digest(Path(path))
        for path in named
        if path and path != "-" and Path(path).is_file()
    }
