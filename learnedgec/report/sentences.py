"""Sources, outputs, references and edits as lists: what the sentence explorer shows and exports.

Outputs that systems share, token by token, are held once per sentence. An edit is a list of `start`, `end`,
`correction` and the number of its type in a table of types; what a metric found of it follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from learnedgec.arrays import Array
from learnedgec.attribution import Attribution, attribute_edits
from learnedgec.benchmarks.base import Benchmark
from learnedgec.edits.annotator import extract_edits
from learnedgec.errors import InputError
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.m2 import Edit, apply_edits
from learnedgec.formats.references import Reference, References
from learnedgec.metrics.abilities import ShowsEdits
from learnedgec.metrics.base import Metric
from learnedgec.metrics.impara import Impara
from learnedgec.metrics.scores import Score

__all__ = [
    "Annotated",
    "TypeTable",
    "annotate",
    "attribute",
    "describe_scores",
    "describe_texts",
    "findings",
]


class TypeTable:
    """Numbers for error types, in the order in which they are met; 0 is no type."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": 0}

    def number(self, kind: str) -> int:
        """Return the number of a type."""
        return self._numbers.setdefault(kind, len(self._numbers))

    @property
    def names(self) -> list[str]:
        """The types in order of their numbers."""
        return list(self._numbers)


@dataclass(frozen=True)
class Annotated:
    """A benchmark whose outputs and references all have edits.

    Attributes:
        benchmark: with an edit list in every reference.
        edits: system -> N edit lists, as ERRANT finds them.
    """

    benchmark: Benchmark
    edits: Mapping[str, Sequence[tuple[Edit, ...]]] = field(default_factory=dict)


def annotate(benchmark: Benchmark, annotator: str, runtime: Runtime) -> Annotated:
    """Find the edits of every output, and of references that have none, in one go.

    Raises:
        UnknownNameError, ModelError: the annotator is not there or cannot be loaded.
    """
    size = len(benchmark.sources)
    # By sentence, so that each source is parsed once.
    pairs = [
        (benchmark.sources[number], hypotheses[number])
        for number in range(size)
        for hypotheses in benchmark.systems.values()
    ]
    plain = [
        (source, reference.text)
        for source, row in zip(benchmark.sources, benchmark.references or (), strict=False)
        for reference in row
        if reference.edits is None
    ]
    found = dict(
        zip(
            [*pairs, *plain],
            extract_edits([*pairs, *plain], annotator, runtime=runtime),
            strict=True,
        )
    )

    def edited(source: str, reference: Reference) -> Reference:
        if reference.edits is not None:
            return reference
        return replace(reference, edits=found[source, reference.text])

    references = benchmark.references and References(
        tuple(
            tuple(edited(source, reference) for reference in row)
            for source, row in zip(benchmark.sources, benchmark.references, strict=True)
        )
    )
    return Annotated(
        replace(benchmark, references=references),
        {
            system: [found[pair] for pair in zip(benchmark.sources, hypotheses, strict=True)]
            for system, hypotheses in benchmark.systems.items()
        },
    )


def describe_texts(annotated: Annotated, types: TypeTable) -> dict[str, Any]:
    """Return `source` (N), `outputs` (N lists), `of` (S, N: which output) and `references` (N lists)."""
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
    """Return one metric's scores of each sentence, (S, N), with its further numbers and their kinds.

    `rejected` says which outputs a gate gave nothing to, where the metric has one.
    """
    details = list(scores[0].sentence_details)
    described: dict[str, Any] = {
        "scores": [_numbers(score.sentences) for score in scores],
        "details": {
            name: {
                "kind": scores[0].sentence_details[name].dtype.kind,
                "values": [_numbers(score.sentence_details[name]) for score in scores],
            }
            for name in details
        },
    }
    if isinstance(metric, Impara):
        described["rejected"] = [
            (score.statistics["similarity"] <= metric.threshold).astype(int).tolist()
            for score in scores
        ]
    return described


def findings(
    metric: ShowsEdits, scores: Sequence[Score], annotated: Annotated, types: TypeTable
) -> dict[str, Any]:
    """Return what an edit metric found, each sentence compared with the reference that it chose.

    Returns:
        `lists` (N lists): `annotator`, None if no annotator edits the sentence; `edits`, each with 1 at the
        end if it was matched and its weight if it has one; `missed`, gold edits with a list of corrections;
        `rest`, edits that the metric does not count. `of` (S, N): which of the lists.
    """
    benchmark = annotated.benchmark
    lists: list[list[dict[str, Any]]] = [[] for _ in benchmark.sources]
    of: list[list[int]] = []
    for system, score in zip(benchmark.systems, scores, strict=True):
        of.append([])
        rows: list[list[Mapping[str, Any]]] = [[] for _ in benchmark.sources]
        for each in metric.edit_rows(score.statistics):
            rows[each["sentence"] - 1].append(each)
        for number, own in enumerate(rows):
            made = annotated.edits[system][number]
            found = _finding(own, benchmark.sources[number], made, types)
            if found not in lists[number]:
                lists[number].append(found)
            of[-1].append(lists[number].index(found))
    return {"lists": lists, "of": of}


def _finding(
    rows: Sequence[Mapping[str, Any]], source: str, made: Sequence[Edit], types: TypeTable
) -> dict[str, Any]:
    """Return one comparison of a hypothesis, made by some edits, with a reference."""
    kinds = {(edit.start, edit.end, edit.correction): edit.type for edit in made}

    def described(row: Mapping[str, Any], correction: Any, *more: int) -> list[Any]:
        kind = row["type"] or kinds.get((row["start"], row["end"], row["correction"]), "")
        weight = [float(f"{row['weight']:.4g}")] if "weight" in row else []
        return [row["start"], row["end"], correction, types.number(kind), *more, *weight]

    counted = [row for row in rows if row["edit"] in ("matched", "unmatched")]
    return {
        "annotator": rows[0]["annotator"] if rows else None,
        "edits": [
            described(row, row["correction"], int(row["edit"] == "matched")) for row in counted
        ],
        "rest": [_edit(edit, types) for edit in _uncounted(counted, source, made)],
        "missed": [
            described(row, row["correction"].split("||")) for row in rows if row["edit"] == "missed"
        ],
    }


def _uncounted(
    counted: Sequence[Mapping[str, Any]], source: str, made: Sequence[Edit]
) -> list[Edit]:
    """Return what was made of a source beside the edits that a metric counts.

    A metric may cut edits in its own way, so that they are others and yet make the same text.
    """
    try:
        edits = [Edit(edit["start"], edit["end"], edit["correction"]) for edit in counted]
        if apply_edits(source, edits) == apply_edits(source, made):
            return []
    except InputError:
        pass
    return [
        edit
        for edit in made
        if not any(edit.start <= own["end"] and own["start"] <= edit.end for own in counted)
    ]


def attribute(
    metric: Metric, annotated: Annotated, texts: Mapping[str, Any], runtime: Runtime, seed: int = 0
) -> dict[str, Any]:
    """Return what each edit of each distinct output is worth to a metric, in one call.

    Returns:
        `values` (N lists, parallel to the outputs): for each edit of an output add-one, leave-one-out,
        Shapley value and its standard error; `source` (N), the score of each source; `sampled`, how many
        outputs have sampled Shapley values.
    """
    benchmark = annotated.benchmark
    systems = list(benchmark.systems)
    rows: list[int] = []
    edits: list[tuple[Edit, ...]] = []
    hypotheses: list[str] = []
    for number, outputs in enumerate(texts["outputs"]):
        for place, output in enumerate(outputs):
            owner = next(s for s, name in enumerate(systems) if texts["of"][s][number] == place)
            rows.append(number)
            hypotheses.append(output["text"])
            edits.append(annotated.edits[systems[owner]][number])
    found = attribute_edits(
        metric,
        [benchmark.sources[number] for number in rows],
        hypotheses,
        benchmark.references and benchmark.references.select(rows),
        edits=edits,
        seed=seed,
        runtime=runtime,
    )
    values: list[list[list[list[float]]]] = [[] for _ in benchmark.sources]
    sources = [0.0] * len(values)
    for number, each in zip(rows, found, strict=True):
        values[number].append(_worth(each))
        sources[number] = each.source_score
    return {
        "values": values,
        "source": sources,
        "sampled": sum(not each.exact for each in found),
    }


def _worth(found: Attribution) -> list[list[float]]:
    """Return four numbers per edit, with six digits."""
    columns = (found.add_one, found.leave_one_out, found.shapley, found.standard_error)
    return [[float(f"{value:.6g}") for value in row] for row in zip(*columns, strict=True)]


def _edit(edit: Edit, types: TypeTable) -> list[Any]:
    """Return an edit as a list; further corrections of a gold edit follow in a list of their own."""
    more = [list(edit.alternatives)] if edit.alternatives else []
    return [edit.start, edit.end, edit.correction, types.number(edit.type), *more]


def _numbers(values: Array | Iterable[float]) -> list[Any]:
    """Return numbers that JSON can hold: None for those that are not finite."""
    column = np.asarray(values)
    if column.dtype.kind != "f":
        return list(column.tolist())
    return [value if np.isfinite(value) else None for value in column.tolist()]
