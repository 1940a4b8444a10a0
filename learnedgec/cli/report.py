"""`learnedgec report`: one HTML file with scores, sentences, edits and error types."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jsonargparse import ArgumentParser

from learnedgec.cli import flags
from learnedgec.cli.inputs import (
    Baseline,
    add_inputs,
    named_files,
    put_baseline_first,
    read_inputs,
)
from learnedgec.cli.output import check_out, remark
from learnedgec.data.benchmarks.registry import load_benchmark
from learnedgec.errors import InputError
from learnedgec.metrics.needs import check_metrics
from learnedgec.metrics.registry import load_metric
from learnedgec.report.data import ReportSettings, build_benchmark_report, build_report
from learnedgec.report.page import check_report, write_report
from learnedgec.runtime.digests import file_digest


@dataclass
class _Benchmark:
    """A benchmark in place of files.

    Attributes:
        benchmark: instead of --src and --hyp: a benchmark with its human judgements; see `learnedgec meta`.
        human: human scores of the benchmark; see `learnedgec meta`.
    """

    benchmark: str | None = None
    human: list[str] | None = None


@dataclass
class _Report(flags.Annotator):
    """What the report has.

    Attributes:
        title: the report's heading.
        attribution: metrics whose scores are attributed to each edit; each metric scores up to 2^8 texts per
            output, so choose a fast metric or few sentences.
        out: output file; -: stdout.
    """

    title: str = ""
    attribution: list[str] | None = None
    out: str = "report.html"


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec report`."""
    parser = flags.make_parser(
        "report",
        "Write one HTML file that opens offline in any browser: systems and metrics with intervals, every "
        "sentence with its edits, error types, and disagreements between metrics.",
    )
    flags.add_fields(parser, _Benchmark)
    flags.add_metrics(parser, reannotate=True)
    add_inputs(parser)
    flags.add_fields(parser, Baseline, _Report, title="report")
    flags.add_resampling(parser)
    flags.add_runtime(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = build_parser().parse_args(list(arguments))
    check_report()
    check_out(options.out)
    # A benchmark's baseline is one of its systems; others are files, or the names of systems.
    baseline = options.baseline if options.benchmark else put_baseline_first(options)
    metrics, runtime = flags.read_metrics(options), flags.read_runtime(options)
    attributed = [load_metric(name) for name in options.attribution or ()]
    settings = ReportSettings(
        title=options.title,
        attribution=attributed,
        annotator=options.annotator,
        baseline=baseline,
        **flags.read_resampling(options),
        command=shlex.join(["learnedgec", "report", *arguments]),
        files={
            path: file_digest(Path(path)) for path in named_files(options) if Path(path).is_file()
        },
    )
    check_metrics([*metrics, *attributed], runtime)
    if options.benchmark:
        names = ("src", "hyp", "jsonl", "ref", "gold")
        flags.check_absent(options, names, "a benchmark contains its own sentences")
        report = build_benchmark_report(
            metrics,
            load_benchmark(options.benchmark),
            options.human or (),
            settings=settings,
            runtime=runtime,
        )
    elif options.human:
        raise InputError("--human needs a benchmark; name one with --benchmark.")
    else:
        inputs = read_inputs(options)
        report = build_report(
            metrics,
            inputs.sources,
            inputs.systems,
            inputs.references,
            settings=settings,
            runtime=runtime,
        )
    replaced = ", replacing the previous file" if Path(options.out).is_file() else ""
    write_report(options.out, report)
    if options.out != "-":
        size = Path(options.out).stat().st_size / 1e6
        remark(f"wrote {options.out} ({size:.1f} MB){replaced}", options)
