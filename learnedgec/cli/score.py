"""`learnedgec score`: scores of system outputs by one or more metrics."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from jsonargparse import ArgumentParser, Namespace

from learnedgec.cli.inputs import Inputs, add_input_arguments, read_inputs
from learnedgec.cli.options import (
    add_metric_argument,
    add_reannotate_argument,
    add_runtime_arguments,
    make_parser,
    read_metrics,
    read_runtime,
)
from learnedgec.cli.output import (
    add_output_arguments,
    emit,
    remark,
    with_format,
    with_notes,
    write_result,
)
from learnedgec.cli.score_corpus import add_corpus_arguments, score_blocks, wants_blocks
from learnedgec.cli.score_rows import flat_row, system_row
from learnedgec.cli.show import able_to_show, show_edits
from learnedgec.cli.show_attribution import add_attribution_arguments, show_attribution
from learnedgec.cli.show_explanation import add_explanation_argument, explain_scores
from learnedgec.cli.table import Layout
from learnedgec.edits.error_types import TIERS, Tier
from learnedgec.errors import InputError
from learnedgec.execution.runtime import Runtime
from learnedgec.metrics.abilities import CountsByType, LearnsWeights, PlansRequests
from learnedgec.metrics.base import Metric, score_metrics
from learnedgec.metrics.labels import short_labels
from learnedgec.metrics.scores import Score

SystemScores = Mapping[Metric, Mapping[str, Score]]


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec score`."""
    parser = make_parser("score", "Score system outputs with one or more metrics.")
    add_metric_argument(parser)
    add_reannotate_argument(parser)
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
        help="print counts by error type instead: R:VERB:SVA (type), VERB:SVA (category) or R (operation)",
    )
    parser.add_argument(
        "--show",
        choices=("edits", "attribution"),
        help="print every edit with the gold edits instead (edits: m2, errant, …), or the contribution of "
        "each edit to the score (attribution: added alone, left out, and Shapley value)",
    )
    add_attribution_arguments(parser)
    add_explanation_argument(parser)
    group = parser.add_argument_group("options of single metrics")
    group.add_argument(
        "--dry-run",
        action="store_true",
        help="llm-s, llm-e: print one prompt and count the requests",
    )
    group.add_argument(
        "--weights", type=str, help="gotoscorer: read difficulty weights from this file"
    )
    group.add_argument(
        "--save-weights",
        type=str,
        help="gotoscorer: learn weights from these systems and write them to this file",
    )
    add_corpus_arguments(parser)
    add_runtime_arguments(parser)
    add_output_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run the command; return 1 if a part of a large corpus could not be scored, else 0."""
    options = build_parser().parse_args(list(arguments))
    options = with_format(options, table=not (options.show or options.dry_run))
    if options.by and options.show:
        raise InputError("--by and --show were both given; each replaces the table of scores.")
    blocks = wants_blocks(options)
    metrics = read_metrics(options)
    if options.by:
        metrics = [_typed(metric) for metric in metrics]
    if options.weights:
        metrics = [_weighted(metric, options.weights) for metric in metrics]
    if blocks:
        return score_blocks(metrics, options)
    runtime = read_runtime(options)
    inputs = read_inputs(options, metrics)
    if options.dry_run:
        write_result("".join(_plan(metric, inputs, runtime) for metric in metrics), options.out)
        return 0
    if options.show == "attribution":
        show_attribution(metrics, inputs, options, runtime)
        return 0
    if options.save_weights:
        _save_weights(metrics, inputs, options.save_weights, runtime)
    scores = score_metrics(
        metrics, inputs.sources, inputs.systems, inputs.references, runtime=runtime
    )
    _print(scores, inputs, options)
    if options.explain:
        explain_scores(scores, inputs, runtime)
    return 0


def _print(scores: SystemScores, inputs: Inputs, options: Namespace) -> None:
    """Print the scores, the counts by type or the edits, as the options say."""
    by_sentence = options.level == "sentence"
    signatures = [next(iter(systems.values())).signature for systems in scores.values()]
    if options.show and options.format == "table":
        colour = options.out == "-" and sys.stdout.isatty()
        shown = [
            show_edits(metric, systems, inputs.sources, inputs.systems, colour=colour)
            for metric, systems in scores.items()
        ]
        text = with_notes("\n".join(shown), options.out, [], signatures)
        write_result(text, options.out, quiet=options.quiet)
        for signature in signatures:
            remark(signature, options, whole=True)
    elif options.show:
        rows = [
            {"system": system, "metric": metric.label, **row}
            for metric, systems in scores.items()
            for system, score in systems.items()
            for row in able_to_show(metric).edit_rows(score.statistics)
        ]
        emit(
            rows,
            options,
            payload={"edits": rows},
            layout=_layout(scores),
            signatures=signatures,
        )
    elif options.by:
        rows = _type_rows(scores, options.by)
        emit(
            rows,
            options,
            payload={"types": rows},
            caption=f"Counts by {options.by} of error.",
            layout=_layout(scores, options.by),
            signatures=signatures,
        )
    else:
        emit(
            _long_rows(scores, by_sentence),
            options,
            payload={"scores": _payload(scores, by_sentence)},
            caption=f"Scores by {', '.join(short_labels([metric.label for metric in scores]).values())} of "
            f"{len(inputs.systems)} systems on {len(inputs.sources):,} sentences.",
            table_rows=_wide_rows(scores, by_sentence, everything=options.wide),
            layout=_layout(scores, "sentence"),
            signatures=signatures,
        )


def _layout(scores: SystemScores, *keys: str) -> Layout:
    """Return how a table of scores may be folded."""
    return Layout(
        groups=("metric",),
        keys=("system", *keys),
        names=[metric.label for metric in scores],
    )


def _weighted(metric: Metric, path: str) -> Metric:
    """Return a metric that learns weights with those of a file; other metrics as they are."""
    return metric.with_weights(path) if isinstance(metric, LearnsWeights) else metric


def _save_weights(metrics: Sequence[Metric], inputs: Inputs, path: str, runtime: Runtime) -> None:
    """Learn a metric's weights from the systems and write them."""
    for metric in metrics:
        if isinstance(metric, LearnsWeights) and inputs.references is not None:
            found = metric.learn(inputs.sources, inputs.systems, inputs.references, runtime=runtime)
            found.save(path)
            return
    raise InputError(
        "--save-weights needs gotoscorer among the metrics, and references (--ref or --gold)."
    )


def _plan(metric: Metric, inputs: Inputs, runtime: Runtime) -> str:
    """Return the plan of a language-model metric: one prompt, and the number of requests."""
    if not isinstance(metric, PlansRequests):
        raise InputError(
            f"{metric.label} does not use a language model; --dry-run is for llm-s and llm-e."
        )
    plan = metric.plan(inputs.sources, inputs.systems, runtime=runtime)
    return (
        f"{metric.label}: {plan.requests} requests, {plan.kept} of them cached, "
        f"{plan.characters} characters of prompts in all. The first prompt:\n\n{plan.prompt}\n"
    )


def _typed(metric: Metric) -> Metric:
    """Return the metric with the error types that counts by type need."""
    if not isinstance(metric, CountsByType):
        raise InputError(
            f"{metric.label} does not compare edits; --by works for errant, m2 and similar metrics."
        )
    return metric.typed()


def _type_rows(scores: SystemScores, tier: Tier) -> list[dict[str, Any]]:
    """Return one row per metric, system and error type."""
    return [
        {"system": system, "metric": metric.label, tier: kind, **counts}
        for metric, systems in scores.items()
        if isinstance(metric, CountsByType)
        for system, score in systems.items()
        for kind, counts in metric.by_type(score.statistics, tier).items()
    ]


def _payload(scores: SystemScores, by_sentence: bool) -> list[dict[str, Any]]:
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


def _long_rows(scores: SystemScores, by_sentence: bool) -> list[dict[str, Any]]:
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
            rows.append(flat_row(record))
    return rows


def _wide_rows(
    scores: SystemScores, by_sentence: bool, *, everything: bool
) -> list[dict[str, Any]]:
    """Return one row per system (and sentence) with a column per metric, for readers."""
    rows: list[dict[str, Any]] = []
    for system in next(iter(scores.values())):
        row = system_row(system, scores, everything=everything)
        rows.append(row if not by_sentence else {**row, "sentence": "corpus"})
        if by_sentence:
            found = {metric.label: of[system].sentences for metric, of in scores.items()}
            rows += [
                {
                    "system": system,
                    "sentence": str(number),
                    **dict(zip(found, values, strict=True)),
                }
                for number, values in enumerate(zip(*found.values(), strict=True), 1)
            ]
    return rows
