"""`learnedgec report`: an HTML page of scores."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from learnedgec.cli import flags, inputs, output
from learnedgec.data.benchmarks import load_benchmark
from learnedgec.data.records import suffix
from learnedgec.errors import InputError
from learnedgec.metrics.registry import read_name
from learnedgec.report.data import ReportSettings, build_benchmark_report, build_corpus_report
from learnedgec.report.page import write_report
from learnedgec.runtime.files import file_digest
from learnedgec.scoring import bind


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
class _Report(flags.Annotator, flags.Overwrite):
    """Options of what the report contains.

    Attributes:
        title: the report's heading.
        attribution: metrics whose scores are attributed to each edit; each metric scores up to 2^8 texts per
            output, so choose a fast metric or few sentences.
        out: output file; -: stdout.
    """

    title: str = ""
    attribution: list[str] | None = None
    out: str = "report.html"


def run_report(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser(
        "report",
        "Write one HTML file that opens offline in any browser: systems and metrics with intervals, every "
        "sentence with its edits, error types, and disagreements between metrics.",
        common="src hyp ref gold metric benchmark baseline attribution title out",
    )
    flags.add_fields(parser, _Benchmark)
    flags.add_metrics(parser, reannotate=True)
    inputs.add_inputs(parser, documents=True)
    flags.add_fields(parser, inputs.Baseline, _Report, title="report")
    flags.add_fields(parser, flags.Intervals, title="intervals and tests")
    flags.add_runtime(parser)
    options = parser.parse_args(arguments)
    output.check_out(options.out)
    if suffix(options.out) not in ("", ".html", ".htm"):
        raise InputError(f"--out is {options.out}; the report is a page, so name the file .html.")
    output.check_free(Path(options.out), options)
    attributed = [read_name(name) for name in options.attribution or ()]
    build: Callable[..., dict[str, Any]]
    files: Sequence[str] = ()
    documents: Sequence[str] = ()
    annotator = options.annotator
    if options.benchmark:
        names = ("src", "hyp", "table", "ref", "gold", "documents")
        flags.check_absent(options, names, "a benchmark contains its own sentences")
        metrics = flags.read_bound(options)
        # A benchmark's baseline is one of its systems.
        baseline = options.baseline
        benchmark = load_benchmark(options.benchmark)
        build = partial(build_benchmark_report, metrics, benchmark, options.human or ())
    elif options.human:
        raise InputError("--human needs a benchmark; name one with --benchmark.")
    else:
        task = inputs.read_task(options)
        metrics, baseline, files = task.metrics, task.baseline, task.files
        documents, annotator = task.corpus.documents, annotator or task.corpus.annotator
        build = partial(build_corpus_report, metrics, task.corpus)
    runtime = metrics[0].runtime
    settings = ReportSettings(
        title=options.title,
        attribution=bind(attributed, runtime) if attributed else (),
        annotator=annotator,
        baseline=baseline,
        resampling=flags.read_resampling(options, documents),
        command=shlex.join(["learnedgec", "report", *arguments]),
        files={path: file_digest(Path(path)) for path in files if Path(path).is_file()},
    )
    report = build(settings=settings, runtime=runtime)
    write_report(options.out, report)
    if options.out != "-":
        size = Path(options.out).stat().st_size / 1e6
        output.remark(f"wrote {options.out} ({size:.1f} MB)", options)
