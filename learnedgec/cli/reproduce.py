"""`learnedgec reproduce`: the figures of papers' tables beside ours."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    Kind,
    Reproduction,
    answering,
    paper_files,
    read_figures,
    state_key,
    table_of,
    table_of_counts,
)
from learnedgec.cli import flags, output
from learnedgec.cli.main import main as run_command
from learnedgec.cli.robust import read_systems_on_cases
from learnedgec.data.catalog.cases import CASES, load_cases
from learnedgec.data.catalog.files import cache_folder
from learnedgec.data.text import write_text
from learnedgec.errors import InputError
from learnedgec.evaluators.locations import is_evaluator
from learnedgec.metrics.bound import NamedMetric
from learnedgec.metrics.registry import read_name, split_name
from learnedgec.robustness.systems import SystemRobustness, evaluate_systems
from learnedgec.runtime.files import check_writable
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import bind_one
from learnedgec.stats.resampling import Estimate, Resampling

# The figures of each kind, in a sentence after their number.
_TITLES: Mapping[Kind, str] = {
    "metrics": "results of metrics by the paper's own models or by none",
    "stand-ins": "results of metrics by models that stand in",
    "human scores": "human scores",
    "counts": "counts of files",
    "unanswered": "figures without an answer",
    "repeated": "cells that repeat another",
}


def page(paper: str, answers: Sequence[Answer], command: str) -> str:
    """Return a paper's page, by the template `reproduce.md`.

    Figures that have no answer are a line for each table and reason. Reasons are notes below the table.

    Args:
        paper: its name.
        answers: its figures with ours.
        command: the command that writes the page.
    """
    template = Path(__file__).with_name("reproduce.md").read_text(encoding="utf-8")
    environment = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return environment.from_string(template).render(
        paper=paper,
        command=command,
        summary=[_summary(row) for row in table_of_counts(answers).rows],
        sources=dict.fromkeys(answer.figure.source for answer in answers if answer.figure.source),
        tables=_tables_of_page(table_of(answers).cells()),
    )


def _tables_of_page(rows: Iterable[Mapping[str, str]]) -> Iterator[dict[str, Any]]:
    """Yield each table: its name, rows with numbers of notes, the notes, and sentences on what is missing."""
    for table, group in groupby(rows, key=lambda row: row["table"]):
        lines: list[list[str]] = []
        notes: dict[str, int] = {}
        missing: dict[tuple[str, str], list[str]] = {}
        for row in group:
            if row["ours"] == "–":
                missing.setdefault((row["state"], row["differs"]), []).append(row["row"])
                continue
            reason = row["differs"]
            note = "" if reason == "–" else str(notes.setdefault(reason, len(notes) + 1))
            columns = ("row", "column", "published", "ours", "state")
            lines.append([*(row[column] for column in columns), note])
        lacks = [_lack(reason, names) for reason, names in missing.items()]
        yield {"name": table, "rows": lines, "notes": list(notes), "missing": lacks}


def _lack(reason: tuple[str, str], names: Sequence[str]) -> str:
    """Return what figures without an answer lack, in a sentence with the rows they are in."""
    state, what = reason
    one = len(names) == 1
    kind, _, what = what.partition(": ")
    if state.startswith("needs"):
        lack = f"{'needs' if one else 'need'} {'a model' if kind == 'MODEL' else 'data'}"
    else:
        lack = f"{'was' if one else 'were'} {state}"
    figures = "1 figure" if one else f"{len(names)} figures"
    return f"{figures} {lack}{f': {what}' if what else ''} ({'; '.join(dict.fromkeys(names))})."


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
            figures are shown. llm-s=llm-s(model=…, endpoint=…) and llm-e ask a language model for theirs.
        hyp: outputs of correctors on RobustGEC's cases, for zhang2023: a file for each corrector, such as
            BART.txt, as for `learnedgec robust systems --case robustgec`.
        train: train the papers' own evaluators first (SOME's regressors, IMPARA's estimator, on BERT-base)
            where they are not there; hours on one GPU. IMPARA needs data/conll13.m2, which NUS provides.
        estimate: say how long it takes, and stop.
        pages: folder for a page of each paper with all its figures (default: none is written).
        resamples: number of bootstrap resamples.
    """

    table: list[str] | None = None
    with_metric: list[str] | None = None
    hyp: list[str] | None = None
    train: bool = False
    estimate: bool = False
    pages: str | None = None
    resamples: PositiveInt = 200


def run_reproduce(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser(
        "reproduce",
        "Compute every figure of papers' tables beside the published one. A figure by the paper's own "
        "models, or by none, is met within .005; of a model that stands in there is only the difference. "
        "Results are cached, so a run that was stopped goes on. "
        f"Papers: {', '.join(paper_files())}; all: every one of them.",
        common="papers table with_metric hyp estimate pages cache_dir jobs format out",
    )
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="names of papers, or all")
    flags.add_fields(parser, _Figures, title="figures")
    flags.add_runtime(parser)
    output.add_output_flags(parser)
    options = output.with_format(parser.parse_args(arguments))
    if not options.papers:
        raise InputError(f"no paper is named; name some of {', '.join(paper_files())}, or all.")
    own = dict(map(_own_metric, options.with_metric or ()))
    options.cache_dir = options.cache_dir or str(cache_folder() / "reproduce")
    figures = [
        figure
        for figure in read_figures(options.papers, options.table or ())
        if not own or (figure.metric and answering(own, figure.metric))
    ]
    if not figures:
        raise InputError(
            f"--with names {', '.join(own)}, which none of these figures is by; name their metric."
        )
    if options.hyp and not any(figure.paper == "zhang2023" for figure in figures):
        raise InputError(
            "--hyp takes outputs on RobustGEC's cases, which only figures of zhang2023 need."
        )
    if options.pages:
        check_writable(Path(options.pages) / "page.md")
    if options.train:
        _train(figures, options)
    runtime = flags.read_runtime(options)
    resampling = Resampling(options.resamples)
    robustness = _robustness(options.hyp, resampling, runtime) if options.hyp else {}
    reproduction = Reproduction(figures, own, robustness, runtime, resampling)
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


def _robustness(
    paths: Sequence[str], resampling: Resampling, runtime: Runtime
) -> dict[tuple[str, str], dict[str, Estimate]]:
    """Return the results of RobustGEC's Table 4 for each set of cases and each corrector's outputs."""
    parts = {name.partition(":")[2]: load_cases(name) for name in CASES.expand("robustgec")}
    systems = read_systems_on_cases(paths, parts)
    errant = bind_one("errant", runtime)
    results = evaluate_systems(errant, parts, systems, resampling=resampling)
    return {(result.cases, result.system): _columns(result) for result in results}


def _columns(result: SystemRobustness) -> dict[str, Estimate]:
    """Return a corrector's results by the columns of RobustGEC's Table 4."""
    columns = {"ΔF0.5": result.delta, "CRS": result.crs["official"]}
    columns["P-CRS"] = result.p_crs["official"]
    for name in ("original", "upper", "lower"):
        performance = getattr(result, name)
        columns[f"{name} P"], columns[f"{name} R"] = performance.precision, performance.recall
        columns[f"{name} F0.5"] = performance.f
    return columns


def _emit_answers(answers: Sequence[Answer], options: Namespace) -> None:
    """Print the figures, or for several papers how many are in each state."""
    counts = table_of_counts(answers)
    last = counts.rows[-1]["paper"]
    # The figures of several papers are too many for readers.
    for_readers = last == "all" and options.format in ("table", "latex")
    output.emit_table(
        counts if for_readers else table_of(answers),
        options,
        details={"summary": counts.records()},
        conclusions=[_summary(row) for row in counts.rows if row["paper"] == last],
    )


def _summary(row: Mapping[str, Any]) -> str:
    """Return a row of `counts` as a sentence."""
    numbers = {state: row[state_key(state)] for state in STATES}
    states = ", ".join(f"{number} {state}" for state, number in numbers.items() if number)
    return f"{row['figures']} {_TITLES[row['kind']]}{f': {states}' if states else ''}."


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


def _own_metric(item: str) -> tuple[str, NamedMetric]:
    """Return the two sides of NAME=METRIC."""
    name, mark, metric = item.partition("=")
    if not (name and mark and metric):
        raise InputError(f"--with {item} is not NAME=METRIC; give it such as impara=impara[mine].")
    return name, read_name(metric)
