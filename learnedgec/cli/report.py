"""`learnedgec report` and `reproduce`: an HTML page of scores, and pages of papers' figures beside ours."""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment
from jsonargparse import Namespace
from jsonargparse.typing import PositiveInt

from learnedgec.analysis.reproduction import (
    STATES,
    Answer,
    Figure,
    Reproduction,
    paper_files,
    read_figures,
)
from learnedgec.cli import flags, inputs, output
from learnedgec.cli.main import main as run_command
from learnedgec.data.benchmarks import load_benchmark
from learnedgec.data.catalog.files import cache_folder
from learnedgec.data.text import write_text
from learnedgec.errors import InputError
from learnedgec.evaluators.locations import is_evaluator
from learnedgec.metrics.registry import read_name, split_name
from learnedgec.report.data import ReportSettings, build_benchmark_report, build_report
from learnedgec.report.page import write_report
from learnedgec.runtime.files import check_writable, file_digest
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
    inputs.add_inputs(parser)
    flags.add_fields(parser, inputs.Baseline, _Report, title="report")
    flags.add_fields(parser, flags.Resampling, title="intervals and tests")
    flags.add_runtime(parser)
    options = parser.parse_args(arguments)
    output.check_out(options.out)
    output.check_free(Path(options.out), options)
    attributed = [read_name(name) for name in options.attribution or ()]
    build: Callable[..., dict[str, Any]]
    files: Sequence[str] = ()
    if options.benchmark:
        names = ("src", "hyp", "table", "ref", "gold")
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
        build = partial(build_report, metrics, *task.corpus.texts)
    runtime = metrics[0].runtime
    settings = ReportSettings(
        title=options.title,
        attribution=bind(attributed, runtime) if attributed else (),
        annotator=options.annotator,
        baseline=baseline,
        **flags.read_resampling(options),
        command=shlex.join(["learnedgec", "report", *arguments]),
        files={path: file_digest(Path(path)) for path in files if Path(path).is_file()},
    )
    report = build(settings=settings, runtime=runtime)
    write_report(options.out, report)
    if options.out != "-":
        size = Path(options.out).stat().st_size / 1e6
        output.remark(f"wrote {options.out} ({size:.1f} MB)", options)


# -- learnedgec reproduce ----------------------------------------------------------------------------


# The heading of the number of figures that the paper's own models, or metrics without models, meet.
_OWN = "met by the paper's models"


def counts(answers: Iterable[Answer]) -> list[dict[str, Any]]:
    """Return a row for each paper, with the number of figures in each state, and one for all.

    A figure that several models answer counts once, by the first of them.
    """
    first: dict[Figure, Answer] = {}
    for answer in answers:
        first.setdefault(answer.figure, answer)
    answers = list(first.values())
    rows = []
    papers = dict.fromkeys(answer.figure.paper for answer in answers)
    for paper in (*papers, *(["all"] if len(papers) > 1 else [])):
        chosen = [answer for answer in answers if paper in ("all", answer.figure.paper)]
        states = Counter(answer.state for answer in chosen)
        own = sum(answer.own for answer in chosen if answer.state == "met")
        counts_by_state = {state: states[state] for state in STATES}
        rows.append({"paper": paper, "figures": len(chosen), **counts_by_state, _OWN: own})
    return rows


def rows_of(answers: Iterable[Answer]) -> list[dict[str, str]]:
    """Return a row for each figure: the paper's and ours with its interval, the state, and differences."""
    return [
        {
            "table": answer.figure.table,
            "row": answer.figure.row,
            "column": answer.figure.column,
            "published": answer.figure.value or "–",
            "ours": _our_cell(answer),
            "state": answer.state,
            "differs": answer.differs or "–",
        }
        for answer in answers
    ]


def _our_cell(answer: Answer) -> str:
    """Return `0.869 [0.59, 0.96]`, or a system's name."""
    if answer.ours is None or isinstance(answer.ours, str):
        return answer.ours or "–"
    digits = len(answer.figure.value.partition(".")[2]) if answer.figure.value else 3
    text = f"{answer.ours:.{digits}f}"
    if answer.interval is None:
        return text
    return f"{text} [{answer.interval[0]:.2f}, {answer.interval[1]:.2f}]"


def page(paper: str, answers: Sequence[Answer], command: str) -> str:
    """Return a paper's page, by the template `reproduce.md`.

    Args:
        paper: its name.
        answers: its figures with ours.
        command: the command that writes the page.
    """
    [summary] = counts(answers)
    del summary["paper"]
    tables = groupby(answers, key=lambda answer: answer.figure.table)
    rows = [
        (table, [{k: row[k] for k in row if k != "table"} for row in rows_of(group)])
        for table, group in tables
    ]
    template = Path(__file__).with_name("reproduce.md").read_text(encoding="utf-8")
    environment = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return environment.from_string(template).render(
        paper=paper,
        command=command,
        summary=summary,
        sources=dict.fromkeys(answer.figure.source for answer in answers if answer.figure.source),
        tables=rows,
    )


# Package -> the ratings that its heads learn from, as in SOME's paper. Its ratings of fluency, of Lau et al.
# (2014), are not public as files; these are their successor's.
_RATINGS = {
    "some": {head: ["tmu-gfm"] for head in ("grammaticality", "fluency", "meaning")},
    "some-existing": {
        "grammaticality": ["gug"],
        "fluency": ["lau"],
        "meaning": [f"sts:{year}" for year in range(2012, 2017)],
    },
}

_CONLL13 = "data/conll13.m2"


@dataclass
class _Figures:
    """Options of which figures to reproduce, and where to write the results.

    Attributes:
        table: only these tables of the papers, such as 1.
        with_metric: your own metric in place of a paper's, NAME=METRIC such as impara=impara[mine]; only its
            figures are shown.
        train: train the papers' own evaluators first (SOME's regressors, IMPARA's estimator, on BERT-base)
            where they are not there; hours on one GPU. IMPARA needs data/conll13.m2, which NUS provides.
        estimate: say how long it takes, and stop.
        pages: folder for a page of each paper with all its figures (default: none is written).
        resamples: number of bootstrap resamples.
    """

    table: list[str] | None = None
    with_metric: list[str] | None = None
    train: bool = False
    estimate: bool = False
    pages: str | None = None
    resamples: PositiveInt = 200


def run_reproduce(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser(
        "reproduce",
        "Compute every figure of papers' tables beside the published one: met (within .005), near (within "
        ".05), not met, or what it needs. Results are cached, so a run that was stopped goes on. Papers: "
        f"{', '.join(paper_files())}; all: every one of them.",
        common="papers table with_metric estimate pages cache_dir jobs format out",
    )
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="names of papers, or all")
    flags.add_fields(parser, _Figures, title="figures")
    flags.add_runtime(parser)
    output.add_output_flags(parser)
    options = output.with_format(parser.parse_args(arguments))
    if not options.papers:
        raise InputError(f"no paper is named; name some of {', '.join(paper_files())}, or all.")
    own = dict(_own_metric(item) for item in options.with_metric or ())
    options.cache_dir = options.cache_dir or str(cache_folder() / "reproduce")
    figures = [
        figure
        for figure in read_figures(options.papers, options.table or ())
        if not own or (not figure.needs and figure.metric and split_name(figure.metric)[0] in own)
    ]
    if not figures:
        raise InputError(
            f"--with names {', '.join(own)}, which none of these figures is by; name their metric."
        )
    if options.pages:
        check_writable(Path(options.pages) / "page.md")
    if options.train:
        _train(figures, options)
    reproduction = Reproduction(figures, own, flags.read_runtime(options), options.resamples)
    total, pending = len(reproduction.jobs()), len(reproduction.pending())
    unanswered = reproduction.unanswered()
    for reason, count in unanswered.items():
        if reason:
            output.notice(f"{count} of the figures have no model here: {reason}")
    output.remark(
        f"Figures: {len(figures)}, of which {sum(unanswered.values())} need a model or data that are not "
        f"here. Evaluations: {total}, of which {total - pending} are cached; the rest takes about "
        f"{reproduction.seconds() / 60:.0f} min on two cores.",
        options,
    )
    if options.estimate:
        return
    for number, done in enumerate(reproduction.run(), 1):
        output.remark(f"{number} of {pending}: {done}", options)
    answers = reproduction.answers()
    if options.pages:
        _write_pages(Path(options.pages), answers, options)
    _emit_answers(answers, options)


def _emit_answers(answers: Sequence[Answer], options: Namespace) -> None:
    """Print the figures, or for several papers how many are in each state."""
    summary = counts(answers)
    rows = [
        {"paper": answer.figure.paper, **row}
        for answer, row in zip(answers, rows_of(answers), strict=True)
    ]
    # The figures of several papers are too many for a table.
    table_rows = summary if len(summary) > 1 else rows
    output.emit(
        rows,
        options,
        payload={"summary": summary, "figures": rows},
        caption="Published figures and ours.",
        table_rows=table_rows,
        groups=("paper", "table"),
        conclusions=[_summary(summary[-1])],
    )


def _summary(row: Mapping[str, Any]) -> str:
    """Return a row of `counts` as a sentence."""
    states = ", ".join(f"{row[state]} {state}" for state in STATES if row[state])
    return f"{row['figures']} figures: {states}. {_OWN[0].upper()}{_OWN[1:]}: {row[_OWN]}."


def _write_pages(folder: Path, answers: Sequence[Answer], options: Namespace) -> None:
    """Write a page of each paper into a folder."""
    dtype = "" if options.dtype == "float32" else f" --dtype {options.dtype}"
    for paper, paper_answers in groupby(answers, key=lambda answer: answer.figure.paper):
        command = f"learnedgec reproduce {paper}{dtype} --pages {folder}"
        write_text(folder / f"{paper}.md", page(paper, list(paper_answers), command))
        output.tell_written([folder / f"{paper}.md"], options)


def _train(figures: Sequence[Figure], options: Namespace) -> None:
    """Train the evaluators that some figures need and that do not exist, as the papers do."""
    metrics = {figure.metric for figure in figures if figure.metric}
    names = {split_name(metric)[0] for metric in metrics}
    for prefix, ratings in _RATINGS.items():
        if prefix not in names and not any(f"{prefix}-" in metric for metric in metrics):
            continue
        for head, datasets in ratings.items():
            heads = {head: {"input": "pair" if head == "meaning" else "hypothesis"}}
            words = ["--model.heads", json.dumps(heads), "--data.ratings", json.dumps(datasets)]
            _train_one(f"{prefix}-{head}", [prefix, *words], options)
    if "impara" in names and not Path(_CONLL13).exists():
        output.remark(f"IMPARA is left out: {_CONLL13} is not there; NUS provides it.", options)
    elif "impara" in names:
        _train_one("impara", ["impara"], options)


def _train_one(package: str, words: Sequence[str], options: Namespace) -> None:
    """Train a package, or continue its training, unless it exists."""
    if is_evaluator(package):
        return
    output.remark(f"training {package} …", options)
    # The results of `train` do not belong to the results of this command on stdout.
    with contextlib.redirect_stdout(sys.stderr):
        code = run_command(["train", "--config", *words, "--name", package, "--resume"])
    if code:
        raise InputError(f"{package} was not trained; run the same command again to go on.")


def _own_metric(item: str) -> tuple[str, str]:
    """Return the two sides of NAME=METRIC."""
    name, mark, metric = item.partition("=")
    if not (name and mark and metric):
        raise InputError(f"--with {item} is not NAME=METRIC; give it such as impara=impara[mine].")
    return name, metric
