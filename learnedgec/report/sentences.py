"""Sources, outputs, references and edits as lists, and edits counted by error type.

Outputs with equal tokens are stored once per sentence. An edit is a list of `start`, `end`, `correction` and
the index of its type in a table of types; findings of a metric follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from learnedgec.analysis.attribution import attribute_edits
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.m2 import Edit
from learnedgec.edits.annotator import TIERS, extract_edits, foreign_types
from learnedgec.metrics.bound import BoundMetric
from learnedgec.metrics.contract import Gated, Metric, Score, ShowsEdits, Statistics
from learnedgec.metrics.errant import Errant
from learnedgec.runtime.runtime import Runtime
from learnedgec.table import Row, plain

# Missing, replacement, unnecessary, and no edit; types that are not ERRANT's count as replacement.
_OPERATIONS = ("M", "R", "U", "")


TypeTable: TypeAlias = dict[str, int]
"""The index of each error type, in order of their first occurrence; 0 means no type."""

EditTable: TypeAlias = Mapping[tuple[str, str], tuple[Edit, ...]]
"""The edits between a source and a text, as ERRANT finds them."""


def annotate(
    benchmark: Benchmark, annotator: str, metrics: Sequence[BoundMetric], runtime: Runtime
) -> tuple[Benchmark, EditTable]:
    """Find the edits of every output, and of references without edits, in one call.

    Gold edits stay. Where the report also compares with the annotator's own edits of these references, they
    are found in the same call, so that every text is parsed once.

    Args:
        benchmark: the benchmark.
        annotator: name of the annotator.
        metrics: the metrics of the report.
        runtime: number of processes and progress bar; a bound one remembers the edits.

    Returns:
        The benchmark with edits in every reference, and the edits of all outputs.

    Raises:
        UnknownNameError, ModelError: the annotator does not exist or cannot be loaded.
    """
    sources = benchmark.sources
    references = benchmark.references
    own = typed_errant(annotator, benchmark).reannotate or any(
        getattr(each.metric, "annotator", None) == annotator and each.reannotated(references)
        for each in metrics
    )
    rows = references or [()] * len(sources)
    # In the order of the sentences, so that each source is parsed once.
    pairs = [
        (source, text)
        for source, row, *texts in zip(sources, rows, *benchmark.systems.values(), strict=True)
        for text in (*texts, *(r.text for r in row if own or r.edits is None))
    ]
    edits = dict(zip(pairs, extract_edits(pairs, annotator, runtime=runtime), strict=True))
    if references is not None:
        benchmark = replace(benchmark, references=references.with_edits(sources, edits))
    return benchmark, edits


def describe_texts(benchmark: Benchmark, edits: EditTable, types: TypeTable) -> dict[str, Any]:
    """Return `source` (N), `outputs` (N lists), `of` (S, N, output indices) and `references` (N lists).

    Args:
        benchmark: the texts, with edits in every reference.
        edits: the edits of all outputs.
        types: table of error types, which is extended.
    """
    same: list[dict[tuple[str, ...], str]] = [{} for _ in benchmark.sources]
    distinct, of = _distinct(
        [
            texts.setdefault(tuple(text.split()), text)
            for texts, text in zip(same, hypotheses, strict=True)
        ]
        for hypotheses in benchmark.systems.values()
    )
    outputs = [
        [
            {"text": text, "edits": [_edit(edit, types) for edit in edits[source, text]]}
            for text in texts
        ]
        for source, texts in zip(benchmark.sources, distinct, strict=True)
    ]
    references = [
        [
            {
                "annotator": reference.annotator,
                "text": reference.text,
                "edits": [_edit(edit, types) for edit in reference.edits or ()],
            }
            for reference in row
        ]
        for row in benchmark.references or [()] * len(benchmark.sources)
    ]
    source = list(benchmark.sources)
    return {"source": source, "outputs": outputs, "of": of, "references": references}


def _distinct(table: Iterable[Sequence[Any]]) -> tuple[list[list[Any]], list[list[int]]]:
    """Return the distinct values of each column, and for each value of each row its index among them."""
    distinct: list[list[Any]] = []
    of: list[list[int]] = []
    for row in table:
        distinct, of = distinct or [[] for _ in row], [*of, []]
        for known, value in zip(distinct, row, strict=True):
            if value not in known:
                known.append(value)
            of[-1].append(known.index(value))
    return distinct, of


def describe_scores(metric: Metric, scores: Sequence[Score]) -> dict[str, Any]:
    """Return one metric's sentence scores, (S, N), with its further numbers and their kinds.

    If the metric has a gate, `rejected` says which outputs it rejected.
    """
    described: dict[str, Any] = {
        "scores": [plain(score.sentences) for score in scores],
        "details": {
            name: {
                "kind": column.dtype.kind,
                "values": [plain(score.sentence_details[name]) for score in scores],
            }
            for name, column in scores[0].sentence_details.items()
        },
    }
    if isinstance(metric, Gated):
        described["rejected"] = [
            (~metric.accepted(score.statistics)).astype(int).tolist() for score in scores
        ]
    return described


def findings(
    metric: ShowsEdits,
    scores: Sequence[Score],
    benchmark: Benchmark,
    edits: EditTable,
    types: TypeTable,
) -> dict[str, Any]:
    """Return the findings of an edit metric, for each sentence and the reference that the metric chose.

    Args:
        metric: a metric that shows edits.
        scores: the scores of each system by the metric.
        benchmark: the texts.
        edits: the edits of all outputs.
        types: table of error types, which is extended.

    Returns:
        `lists` (N lists) with `annotator`, None if no annotator edits the sentence; `edits`, each followed by
        1 if it was matched, and by its weight if it has one; `missed`, gold edits with a list of corrections;
        and `rest`, edits that the metric does not count. `of` (S, N) holds indices into the lists.
    """
    table = []
    for hypotheses, score in zip(benchmark.systems.values(), scores, strict=True):
        rows: list[list[Row]] = [[] for _ in benchmark.sources]
        for edit in metric.edit_rows(score.statistics):
            rows[edit["sentence"] - 1].append(edit)
        pairs = zip(benchmark.sources, hypotheses, strict=True)
        table.append([_finding(row, edits[p], types) for row, p in zip(rows, pairs, strict=True)])
    lists, of = _distinct(table)
    return {"lists": lists, "of": of}


def _finding(rows: Sequence[Row], edits: Sequence[Edit], types: TypeTable) -> dict[str, Any]:
    """Return the comparison of a hypothesis with one reference, edit by edit.

    A metric may divide the same changes into other edits than ERRANT does. So `rest` has only those edits of
    ERRANT that touch no edit of the metric.
    """
    kinds = {(edit.start, edit.end, edit.correction): edit.type for edit in edits}

    def described(row: Row, correction: Any, *more: int) -> list[Any]:
        kind = row["type"] or kinds.get((row["start"], row["end"], row["correction"]), "")
        weight = [float(f"{row['weight']:.4g}")] if "weight" in row else []
        return [row["start"], row["end"], correction, _number(kind, types), *more, *weight]

    counted = [row for row in rows if row["edit"] in ("matched", "unmatched")]
    return {
        "annotator": rows[0]["annotator"] if rows else None,
        "edits": [
            described(row, row["correction"], int(row["edit"] == "matched")) for row in counted
        ],
        "rest": [
            _edit(edit, types)
            for edit in edits
            if not any(edit.start <= row["end"] and row["start"] <= edit.end for row in counted)
        ],
        "missed": [
            described(row, row["correction"].split("||")) for row in rows if row["edit"] == "missed"
        ],
    }


def attribute(
    metric: BoundMetric,
    benchmark: Benchmark,
    edits: EditTable,
    outputs: Sequence[Sequence[Mapping[str, Any]]],
    seed: int = 0,
) -> dict[str, Any]:
    """Return the contribution of each edit of each distinct output to a metric's score, in one call.

    Args:
        metric: the metric.
        benchmark: the sentences.
        edits: the edits of all outputs.
        outputs: the outputs of each sentence, from `describe_texts`.
        seed: seed of sampled Shapley values.

    Returns:
        `values` (N lists, parallel to the outputs) with add-one, leave-one-out, Shapley value and its
        standard error for each edit; `source` (N), the score of each source; and `sampled`, the number of
        outputs whose Shapley values are sampled.
    """
    rows = [number for number, sentence_outputs in enumerate(outputs) for _ in sentence_outputs]
    sources = [benchmark.sources[number] for number in rows]
    texts = [output["text"] for sentence_outputs in outputs for output in sentence_outputs]
    attributions = attribute_edits(
        metric,
        sources,
        texts,
        benchmark.references and benchmark.references.select(rows),
        edits=[edits[pair] for pair in zip(sources, texts, strict=True)],
        seed=seed,
    )
    values: list[list[list[list[float]]]] = [[] for _ in outputs]
    source_scores = [0.0] * len(values)
    for number, each in zip(rows, attributions, strict=True):
        columns = (each.add_one, each.leave_one_out, each.shapley, each.standard_error)
        cells = zip(*columns, strict=True)
        values[number].append([[float(f"{value:.6g}") for value in row] for row in cells])
        source_scores[number] = each.source_score
    return {
        "values": values,
        "source": source_scores,
        "sampled": sum(not attribution.exact for attribution in attributions),
    }


def _edit(edit: Edit, types: TypeTable) -> list[Any]:
    """Return an edit as a list; alternative corrections of a gold edit follow as an inner list."""
    more = [list(edit.alternatives)] if edit.alternatives else []
    return [edit.start, edit.end, edit.correction, _number(edit.type, types), *more]


def _number(kind: str, types: TypeTable) -> int:
    """Return the index of a type, which is put into the table if it is new."""
    return types.setdefault(kind, len(types))


# -- edits by error type -----------------------------------------------------------------------------


def describe_types(metric: Errant, statistics: Sequence[Statistics]) -> dict[str, Any]:
    """Return, by tier and type, (tp, fp, fn) of each system, and each system's table of operations.

    Args:
        metric: ERRANT with error types.
        statistics: statistics of each system.
    """
    tiers: dict[str, dict[str, list[list[float]]]] = {}
    for tier in TIERS:
        table: dict[str, list[list[float]]] = {}
        for number, system_statistics in enumerate(statistics):
            for kind, counts in metric.by_type(system_statistics, tier).items():
                row = table.setdefault(kind, [[0, 0, 0] for _ in statistics])
                row[number] = [counts[name] for name in ("tp", "fp", "fn")]
        gold = {kind: max(tp + fn for tp, _, fn in row) for kind, row in table.items()}
        tiers[tier] = {kind: table[kind] for kind in sorted(table, key=lambda k: (-gold[k], k))}
    return {
        "metric": metric.label,
        "beta": metric.beta,
        "tiers": tiers,
        "operations": [operations(metric, system_statistics) for system_statistics in statistics],
    }


def operations(metric: Errant, statistics: Statistics) -> list[list[int]]:
    """Return int (4, 4): how often a gold edit with the row's operation meets an edit with the column's.

    Two edits meet if they change a common token or insert at the same position. Each edit is paired once,
    from left to right, correct edits first. The last row counts edits of the system that meet no gold edit,
    the last column gold edits that meet no edit.
    """
    table = [[0] * len(_OPERATIONS) for _ in _OPERATIONS]
    for record, choice in zip(statistics.records, metric.chosen(statistics), strict=True):
        compared = record[choice]
        ours = [edit for edit in compared["edits"] if not edit["matched"]]
        for edit in compared["gold"]:
            if edit["matched"]:
                place = _place(edit["type"])
                table[place][place] += 1
                continue
            partner = next((other for other in ours if _meet(edit, other)), None)
            table[_place(edit["type"])][3 if partner is None else _place(partner["type"])] += 1
            if partner is not None:
                ours.remove(partner)
        for edit in ours:
            table[3][_place(edit["type"])] += 1
    return table


def _meet(edit: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two edits change a common token or insert at the same position."""
    if edit["start"] == edit["end"] or other["start"] == other["end"]:
        return bool(edit["start"] <= other["end"] and other["start"] <= edit["end"])
    return bool(edit["start"] < other["end"] and other["start"] < edit["end"])


def _place(kind: str) -> int:
    """Return the index of the operation of an error type."""
    operation = kind.partition(":")[0]
    return _OPERATIONS.index(operation) if operation in _OPERATIONS[:3] else 1


def typed_errant(annotator: str, benchmark: Benchmark) -> Errant:
    """Return ERRANT with types; it extracts the references' edits again if they have other types."""
    gold = (
        edit.type
        for row in benchmark.references or ()
        for reference in row
        for edit in reference.edits or ()
    )
    return Errant(annotator=annotator, types=True, reannotate=bool(foreign_types(gold)))
