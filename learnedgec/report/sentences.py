"""Sources, outputs, references and edits as lists, and edits counted by error type.

Outputs with equal tokens are stored once per sentence. An edit is a list of `start`, `end`, `correction` and
the index of its type in a table of types; findings of a metric follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from learnedgec.analysis.attribution import Attribution, attribute_edits
from learnedgec.analysis.meta.evaluation import benchmark_statistics
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.m2 import Edit
from learnedgec.data.references import References
from learnedgec.data.rows import plain
from learnedgec.edits.annotator import extract_edits
from learnedgec.edits.error_types import TIERS, foreign_types
from learnedgec.metrics.base import Metric
from learnedgec.metrics.errant import Errant
from learnedgec.metrics.protocols import Gated, ShowsEdits
from learnedgec.metrics.scores import Score
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.runtime import Runtime

# Missing, replacement, unnecessary, and no edit at all; what is not of ERRANT counts as replacement.
_OPERATIONS = ("M", "R", "U", "")


TypeTable: TypeAlias = dict[str, int]
"""The index of each error type, in order of their first occurrence; 0 means no type."""


@dataclass(frozen=True)
class Annotated:
    """A benchmark whose outputs and references all have edits.

    Attributes:
        benchmark: the benchmark, with edits in every reference.
        edits: system -> N edit lists, as ERRANT finds them.
    """

    benchmark: Benchmark
    edits: Mapping[str, Sequence[tuple[Edit, ...]]]


def annotate(benchmark: Benchmark, annotator: str, runtime: Runtime) -> Annotated:
    """Find the edits of every output, and of references without edits, in one call.

    Args:
        benchmark: the benchmark.
        annotator: name of the annotator.
        runtime: number of processes and progress bar.

    Raises:
        UnknownNameError, ModelError: the annotator does not exist or cannot be loaded.
    """
    # By sentence, so that each source is parsed once.
    pairs = [
        (source, text)
        for source, *texts in zip(benchmark.sources, *benchmark.systems.values(), strict=True)
        for text in texts
    ]
    pairs += [
        (source, reference.text)
        for source, row in zip(benchmark.sources, benchmark.references or (), strict=False)
        for reference in row
        if reference.edits is None
    ]
    edits = dict(zip(pairs, extract_edits(pairs, annotator, runtime=runtime), strict=True))
    references = benchmark.references and References(
        tuple(
            tuple(
                replace(reference, edits=edits[source, reference.text])
                if reference.edits is None
                else reference
                for reference in row
            )
            for source, row in zip(benchmark.sources, benchmark.references, strict=True)
        )
    )
    return Annotated(
        replace(benchmark, references=references),
        {
            system: [edits[pair] for pair in zip(benchmark.sources, hypotheses, strict=True)]
            for system, hypotheses in benchmark.systems.items()
        },
    )


def describe_texts(annotated: Annotated, types: TypeTable) -> dict[str, Any]:
    """Return `source` (N), `outputs` (N lists), `of` (S, N, output indices) and `references` (N lists)."""
    benchmark = annotated.benchmark
    outputs: list[list[dict[str, Any]]] = [[] for _ in benchmark.sources]
    of: list[list[int]] = []
    numbers: list[dict[tuple[str, ...], int]] = [{} for _ in benchmark.sources]
    for system, hypotheses in benchmark.systems.items():
        of.append([])
        for row, text in enumerate(hypotheses):
            number = numbers[row].setdefault(tuple(text.split()), len(numbers[row]))
            if number == len(outputs[row]):
                edits = annotated.edits[system][row]
                outputs[row].append({"text": text, "edits": [_edit(edit, types) for edit in edits]})
            of[-1].append(number)
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
    return {
        "source": list(benchmark.sources),
        "outputs": outputs,
        "of": of,
        "references": references,
    }


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
    metric: ShowsEdits, scores: Sequence[Score], annotated: Annotated, types: TypeTable
) -> dict[str, Any]:
    """Return the findings of an edit metric, for each sentence and the reference that the metric chose.

    Args:
        metric: a metric that shows edits.
        scores: system -> its score by the metric.
        annotated: outputs with their edits.
        types: table of error types, which is extended.

    Returns:
        `lists` (N lists) with `annotator`, None if no annotator edits the sentence; `edits`, each followed by
        1 if it was matched, and by its weight if it has one; `missed`, gold edits with a list of corrections;
        and `rest`, edits that the metric does not count. `of` (S, N) holds indices into the lists.
    """
    benchmark = annotated.benchmark
    lists: list[list[dict[str, Any]]] = [[] for _ in benchmark.sources]
    of: list[list[int]] = []
    for system, score in zip(benchmark.systems, scores, strict=True):
        of.append([])
        rows: list[list[Mapping[str, Any]]] = [[] for _ in benchmark.sources]
        for edit in metric.edit_rows(score.statistics):
            rows[edit["sentence"] - 1].append(edit)
        for number, row in enumerate(rows):
            finding = _finding(row, annotated.edits[system][number], types)
            if finding not in lists[number]:
                lists[number].append(finding)
            of[-1].append(lists[number].index(finding))
    return {"lists": lists, "of": of}


def _finding(
    rows: Sequence[Mapping[str, Any]], edits: Sequence[Edit], types: TypeTable
) -> dict[str, Any]:
    """Return the comparison of a hypothesis with one reference, edit by edit.

    A metric may divide the same changes into other edits. So of the edits that ERRANT finds, the rest are
    those that touch none of the metric's.
    """
    kinds = {(edit.start, edit.end, edit.correction): edit.type for edit in edits}

    def described(row: Mapping[str, Any], correction: Any, *more: int) -> list[Any]:
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
    metric: Metric, annotated: Annotated, texts: Mapping[str, Any], runtime: Runtime, seed: int = 0
) -> dict[str, Any]:
    """Return the contribution of each edit of each distinct output to a metric's score, in one call.

    Args:
        metric: the metric.
        annotated: outputs with their edits.
        texts: sentences and outputs, from `describe_texts`.
        runtime: how to run.
        seed: seed of sampled Shapley values.

    Returns:
        `values` (N lists, parallel to the outputs) with add-one, leave-one-out, Shapley value and its
        standard error for each edit; `source` (N), the score of each source; and `sampled`, the number of
        outputs whose Shapley values are sampled.
    """
    benchmark = annotated.benchmark
    # (sentence, place among its outputs) -> the edits of the first system with this output.
    edits: dict[tuple[int, int], tuple[Edit, ...]] = {}
    for system, places in zip(benchmark.systems, texts["of"], strict=True):
        for number, place in enumerate(places):
            edits.setdefault((number, place), annotated.edits[system][number])
    outputs = sorted(edits)
    rows = [number for number, _ in outputs]
    attributions = attribute_edits(
        metric,
        [benchmark.sources[number] for number in rows],
        [texts["outputs"][number][place]["text"] for number, place in outputs],
        benchmark.references and benchmark.references.select(rows),
        edits=[edits[output] for output in outputs],
        seed=seed,
        runtime=runtime,
    )
    values: list[list[list[list[float]]]] = [[] for _ in benchmark.sources]
    sources = [0.0] * len(values)
    for number, attribution in zip(rows, attributions, strict=True):
        values[number].append(_worth(attribution))
        sources[number] = attribution.source_score
    return {
        "values": values,
        "source": sources,
        "sampled": sum(not attribution.exact for attribution in attributions),
    }


def _worth(edits: Attribution) -> list[list[float]]:
    """Return the four values of each edit, rounded to six digits."""
    columns = (edits.add_one, edits.leave_one_out, edits.shapley, edits.standard_error)
    return [[float(f"{value:.6g}") for value in row] for row in zip(*columns, strict=True)]


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
        for number, of_system in enumerate(statistics):
            for kind, counts in metric.by_type(of_system, tier).items():
                row = table.setdefault(kind, [[0, 0, 0] for _ in statistics])
                row[number] = [counts[name] for name in ("tp", "fp", "fn")]
        gold = {kind: max(tp + fn for tp, _, fn in row) for kind, row in table.items()}
        tiers[tier] = {kind: table[kind] for kind in sorted(table, key=lambda k: (-gold[k], k))}
    return {
        "metric": metric.label,
        "beta": metric.beta,
        "tiers": tiers,
        "operations": [operations(metric, of_system) for of_system in statistics],
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


def compare_edits(errant: Errant, annotated: Annotated, runtime: Runtime) -> list[Statistics]:
    """Return ERRANT's statistics of every system; existing edits are used if their types are ERRANT's.

    Args:
        errant: ERRANT with types.
        annotated: outputs and references with their edits.
        runtime: how to run.
    """
    if errant.reannotate:
        return benchmark_statistics(errant, annotated.benchmark, runtime)
    compared: dict[str, Statistics] = {}
    for systems, references in annotated.benchmark.by_references():
        assert references is not None
        for system in systems:
            compared[system] = errant.compare(
                annotated.benchmark.sources, annotated.edits[system], references
            )
    return [compared[system] for system in annotated.benchmark.systems]
