"""`learnedgec score`: scores of system outputs by one or more metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jsonargparse import ArgumentParser, Namespace

from learnedgec.cli.edit_text import attribution_rows, attribution_text, edit_text, with_edits
from learnedgec.cli.explanation import explain_scores
from learnedgec.cli.options import (
    AnnotatorFlag,
    add_field_arguments,
    add_group,
    add_runtime_arguments,
    make_parser,
    read_metrics,
)
from learnedgec.cli.output import (
    add_output_arguments,
    emit,
    emit_text,
    notice,
    shows_bold,
    with_format,
)
from learnedgec.cli.score_corpus import add_corpus_arguments, score_blocks, wants_blocks
from learnedgec.cli.scoring import (
    Scoring,
    add_scoring_arguments,
    flat_row,
    read_scoring,
    system_row,
)
from learnedgec.edits.error_types import Tier
from learnedgec.errors import InputError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.protocols import CountsByType, LearnsWeights, PlansRequests
from learnedgec.metrics.scores import Score
from learnedgec.scoring import score_metrics

SystemScores = Mapping[Metric, Mapping[str, Score]]


@dataclass
class _Shown(AnnotatorFlag):
    """What is printed.

    Attributes:
        level: sentence: also print the score of every sentence.
        by: print counts by error type instead: R:VERB:SVA (type), VERB:SVA (category) or R (operation).
        show: print every edit with the gold edits instead (edits: m2, errant, …), or the contribution of
            each edit to the score (attribution: added alone, left out, and Shapley value).
        annotator: --show attribution: spaCy pipeline that extracts edits: en-ewt-sm, an installed package or
            a directory (default: en_core_web_sm if installed, else en-ewt-sm).
        explain: also explain each score on stderr: its place among rated outputs, and the share of similar
            changes that human raters preferred (some, impara and preference with the released evaluator).
    """

    level: Literal["corpus", "sentence"] = "corpus"
    by: Tier | None = None
    show: Literal["edits", "attribution"] | None = None
    explain: bool = False


@dataclass
class _SingleMetrics:
    """Options of single metrics.

    Attributes:
        dry_run: llm-s, llm-e: print one prompt and count the requests.
        weights: gotoscorer: read difficulty weights from this file.
        save_weights: gotoscorer: learn weights from these systems and write them to this file.
    """

    dry_run: bool = False
    weights: str | None = None
    save_weights: str | None = None


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec score`."""
    parser = make_parser("score", "Score system outputs with one or more metrics.")
    add_scoring_arguments(parser)
    add_field_arguments(parser.add_argument, _Shown)
    add_group(parser, _SingleMetrics, "options of single metrics")
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
    if wants_blocks(options):
        return score_blocks(_prepared(read_metrics(options), options), options)
    scoring = read_scoring(options)
    scoring.metrics[:] = _prepared(scoring.metrics, options)
    if options.dry_run:
        emit_text("".join(_plan(metric, scoring) for metric in scoring.metrics), options)
        return 0
    if options.show == "attribution":
        _emit_attribution(scoring, options)
        return 0
    if options.save_weights:
        _save_weights(scoring, options.save_weights)
    inputs = scoring.inputs
    scores = score_metrics(
        scoring.metrics, inputs.sources, inputs.systems, inputs.references, runtime=scoring.runtime
    )
    if options.show:
        _emit_edits(scores, scoring, options)
    elif options.by:
        rows = _type_rows(scores, options.by)
        caption = f"Counts by {options.by} of error."
        _emit_rows(rows, scoring, options, payload={"types": rows}, caption=caption)
    else:
        _emit_scores(scores, scoring, options)
    if options.explain:
        for sentence in explain_scores(scores, scoring):
            notice(sentence)
    return 0


def _prepared(metrics: Sequence[Metric], options: Namespace) -> list[Metric]:
    """Return the metrics with error types or weights, if the options ask for them."""
    return [_weighted(_typed(metric) if options.by else metric, options) for metric in metrics]


def _typed(metric: Metric) -> Metric:
    """Return the metric with the error types that counts by type need."""
    if not isinstance(metric, CountsByType):
        raise InputError(
            f"{metric.label} does not compare edits; --by works for errant, m2 and similar metrics."
        )
    return metric.typed()


def _weighted(metric: Metric, options: Namespace) -> Metric:
    """Return a metric that learns weights with those of a file; other metrics as they are."""
    if options.weights and isinstance(metric, LearnsWeights):
        return metric.with_weights(options.weights)
    return metric


def _save_weights(scoring: Scoring, path: str) -> None:
    """Learn a metric's weights from the systems and write them."""
    inputs = scoring.inputs
    for metric in scoring.metrics:
        if isinstance(metric, LearnsWeights) and inputs.references is not None:
            metric.learn(
                inputs.sources, inputs.systems, inputs.references, runtime=scoring.runtime
            ).save(path)
            return
    raise InputError(
        "--save-weights needs gotoscorer among the metrics, and references (--ref or --gold)."
    )


def _plan(metric: Metric, scoring: Scoring) -> str:
    """Return the plan of a language-model metric: one prompt, and the number of requests."""
    if not isinstance(metric, PlansRequests):
        raise InputError(
            f"{metric.label} does not use a language model; --dry-run is for llm-s and llm-e."
        )
    plan = metric.plan(scoring.inputs.sources, scoring.inputs.systems, runtime=scoring.runtime)
    return (
        f"{metric.label}: {plan.requests} requests, {plan.kept} of them cached, "
        f"{plan.characters} characters of prompts in all. The first prompt:\n\n{plan.prompt}\n"
    )


def _emit_scores(scores: SystemScores, scoring: Scoring, options: Namespace) -> None:
    """Print the scores of the corpus, and of sentences if asked for."""
    records = _records(scores, by_sentence=options.level == "sentence")
    inputs = scoring.inputs
    emit(
        [row for record in records for row in _rows_of(record)],
        options,
        payload={"scores": records},
        caption=f"Scores by {', '.join(scoring.short_names.values())} of "
        f"{len(inputs.systems)} systems on {len(inputs.sources):,} sentences.",
        table_rows=[row for name in inputs.systems for row in _wide_rows(name, scores, options)],
        metrics=scoring.labels,
        signatures=scoring.signatures.values(),
    )


def _records(scores: SystemScores, *, by_sentence: bool) -> list[dict[str, Any]]:
    """Return the JSON objects, one per system and metric."""
    records = []
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
                details = score.sentence_details.items()
                record["sentences"] = [
                    {"score": value, **{key: column[number] for key, column in details}}
                    for number, value in enumerate(score.sentences)
                ]
            records.append(record)
    return records


def _rows_of(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for a system and metric, or one for each sentence, for programs."""
    if "sentences" not in record:
        return [flat_row(record)]
    head = {"system": record["system"], "metric": record["metric"]}
    return [
        {**head, "sentence": number, **sentence}
        for number, sentence in enumerate(record["sentences"], 1)
    ]


def _wide_rows(system: str, scores: SystemScores, options: Namespace) -> list[dict[str, Any]]:
    """Return a row of a system, and of each sentence if asked for, with a column per metric, for readers."""
    row = system_row(system, scores, everything=options.wide)
    if options.level == "corpus":
        return [row]
    columns = {metric.label: systems[system].sentences for metric, systems in scores.items()}
    return [
        {**row, "sentence": "corpus"},
        *(
            {"system": system, "sentence": str(number), **dict(zip(columns, values, strict=True))}
            for number, values in enumerate(zip(*columns.values(), strict=True), 1)
        ),
    ]


def _type_rows(scores: SystemScores, tier: Tier) -> list[dict[str, Any]]:
    """Return one row per metric, system and error type."""
    return [
        {"system": system, "metric": metric.label, tier: kind, **counts}
        for metric, systems in scores.items()
        if isinstance(metric, CountsByType)
        for system, score in systems.items()
        for kind, counts in metric.by_type(score.statistics, tier).items()
    ]


def _emit_rows(
    rows: Sequence[Mapping[str, Any]], scoring: Scoring, options: Namespace, **others: Any
) -> None:
    """Print rows of several metrics."""
    signatures = scoring.signatures.values()
    emit(rows, options, groups=("metric",), metrics=scoring.labels, signatures=signatures, **others)


def _emit_edits(scores: SystemScores, scoring: Scoring, options: Namespace) -> None:
    """Print every edit of the systems and of the gold: under their sentences, or as rows."""
    inputs = scoring.inputs
    if options.format == "table":
        texts = [
            edit_text(metric, systems, inputs.sources, inputs.systems, colour=shows_bold(options))
            for metric, systems in scores.items()
        ]
        emit_text("\n".join(texts), options, list(scoring.signatures.values()))
        return
    rows = [
        {"system": system, "metric": metric.label, **row}
        for metric, systems in scores.items()
        for system, score in systems.items()
        for row in with_edits(metric).edit_rows(score.statistics)
    ]
    _emit_rows(rows, scoring, options, payload={"edits": rows})


def _emit_attribution(scoring: Scoring, options: Namespace) -> None:
    """Print the contribution of each edit: under their sentences, or as rows."""
    rows = attribution_rows(scoring, options.annotator)
    if options.format == "table" and not options.wide:
        inputs, colour = scoring.inputs, shows_bold(options)
        text = attribution_text(rows, inputs.sources, inputs.systems, colour=colour)
        emit_text(text, options, list(scoring.signatures.values()))
        return
    caption = "Contribution of each edit to the score."
    _emit_rows(rows, scoring, options, payload={"attribution": rows}, caption=caption)
