"""`learnedgec score`: system outputs in, scores out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jsonargparse import ArgumentParser

from learnedgec.cli.inputs import (
    add_input_arguments,
    add_metric_argument,
    add_runtime_arguments,
    make_parser,
    read_inputs,
    read_metrics,
    read_runtime,
)
from learnedgec.cli.output import add_output_arguments, emit, notice
from learnedgec.errors import InputError
from learnedgec.metrics.base import Metric, Score
from learnedgec.metrics.edit_overlap import TIERS, EditOverlap, Errant, Tier


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec score`."""
    parser = make_parser("score", "Score system outputs with one or more metrics.")
    add_metric_argument(parser)
    add_input_arguments(parser)
    parser.add_argument(
        "--level",
        choices=("corpus", "sentence"),
        default="corpus",
        help="sentence: also print the score of every sentence",
    )
    parser.add_argument(
        "--by",
        choices=TIERS,
        help="instead, counts by error type: R:VERB:SVA (type), VERB:SVA (category) or R (operation)",
    )
    add_runtime_arguments(parser)
    add_output_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = build_parser().parse_args(list(arguments))
    metrics = read_metrics(options)
    if options.by:
        metrics = [_typed(metric) for metric in metrics]
    runtime = read_runtime(options)
    inputs = read_inputs(options)
    scores = {
        metric: metric.score_systems(
            inputs.sources, inputs.systems, inputs.references, runtime=runtime
        )
        for metric in metrics
    }
    by_sentence = options.level == "sentence"
    if options.by:
        rows = _type_rows(scores, options.by)
        emit(rows, format=options.format, payload={"types": rows}, out=options.out)
    else:
        emit(
            _long_rows(scores, by_sentence),
            format=options.format,
            payload={"scores": _payload(scores, by_sentence)},
            out=options.out,
            table_rows=_wide_rows(scores, by_sentence),
        )
    if options.format in ("table", "latex") and not options.quiet:
        for metric in metrics:
            notice(next(iter(scores[metric].values())).signature)


Scores = Mapping[Metric, Mapping[str, Score]]


def _typed(metric: Metric) -> EditOverlap:
    """Return the metric with types for the edits of systems, where it can find them."""
    if not isinstance(metric, EditOverlap):
        raise InputError(
            f"{metric.label} does not compare edits; --by works for errant, m2 and their kind."
        )
    return replace(metric, types=True) if isinstance(metric, Errant) else metric


def _type_rows(scores: Scores, tier: Tier) -> list[dict[str, Any]]:
    """Return one row per metric, system and error type."""
    return [
        {"system": system, "metric": metric.label, tier: kind, **counts}
        for metric, systems in scores.items()
        if isinstance(metric, EditOverlap)
        for system, score in systems.items()
        for kind, counts in metric.by_type(score.statistics, tier).items()
    ]


def _payload(scores: Scores, by_sentence: bool) -> list[dict[str, Any]]:
    """Return the JSON objects, one per system and metric."""
    found = []
    for metric, systems in scores.items():
        for system, score in systems.items():
            record: dict[str, Any] = {
                "system": system,
                "metric": metric.label,
                "score": score.value,
                "details": score.details,
                "signature": score.signature,
            }
            if by_sentence:
                record["sentences"] = [
                    {
                        "score": value,
                        **{key: column[i] for key, column in score.sentence_details.items()},
                    }
                    for i, value in enumerate(score.sentences)
                ]
            found.append(record)
    return found


def _long_rows(scores: Scores, by_sentence: bool) -> list[dict[str, Any]]:
    """Return one row per system and metric (and sentence), for programs."""
    rows = []
    for record in _payload(scores, by_sentence):
        head = {"system": record["system"], "metric": record["metric"]}
        if by_sentence:
            rows += [
                {**head, "sentence": number, **sentence}
                for number, sentence in enumerate(record["sentences"], 1)
            ]
        else:
            rows.append(
                {
                    **head,
                    "score": record["score"],
                    **record["details"],
                    "signature": record["signature"],
                }
            )
    return rows


def _wide_rows(scores: Scores, by_sentence: bool) -> list[dict[str, Any]]:
    """Return one row per system (and sentence) with a column per metric, for people."""
    systems = next(iter(scores.values()))
    rows: list[dict[str, Any]] = []
    for system in systems:
        found = {metric.label: of[system] for metric, of in scores.items()}
        row: dict[str, Any] = {"system": system}
        for label, score in found.items():
            row[label] = score.value
            if len(found) == 1:
                row |= score.details
        rows.append(row if not by_sentence else {**row, "sentence": "corpus"})
        if by_sentence:
            count = len(next(iter(found.values())).sentences)
            rows += [
                {
                    "system": system,
                    "sentence": str(number + 1),
                    **{label: score.sentences[number] for label, score in found.items()},
                }
                for number in range(count)
            ]
    return rows
