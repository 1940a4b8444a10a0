"""`learnedgec rerank`: choose one of several corrections of each sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from jsonargparse import ArgumentParser, Namespace

from learnedgec.applications.candidates import candidates_of_systems
from learnedgec.applications.rerank import (
    Guards,
    MinimumBayesRisk,
    Reranking,
    load_selector,
    rerank,
)
from learnedgec.applications.voting import vote
from learnedgec.cli.inputs import add_input_arguments, read_inputs
from learnedgec.cli.options import (
    add_field_arguments,
    add_group,
    add_runtime_arguments,
    check_absent,
    make_parser,
    read_runtime,
)
from learnedgec.cli.output import add_output_arguments, emit, with_format
from learnedgec.data.references import References
from learnedgec.data.text import read_jsonl, write_lines
from learnedgec.edits.parsing import default_annotator
from learnedgec.errors import FormatError, InputError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.needs import check_metrics
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.runtime import Runtime

_FORMATS = ("text", "json", "csv", "tsv")

VOTE = "vote"


@dataclass
class _Method:
    """What chooses, and what from.

    Attributes:
        by: a metric or ensemble, such as impara; minimum Bayes risk, such as "mbr(gleu)"; or vote: keep the
            edits that more than --threshold of the candidates share.
        nbest: instead of --src and --hyp: a JSONL file with the keys source and candidates (a list of texts),
            and optionally weights (a list of numbers).
    """

    by: str | None = None
    nbest: str | None = None


@dataclass
class _Guards:
    """What keeps a candidate from being chosen.

    Attributes:
        fallback: the output if no candidate gains enough: the source, the first candidate, or no fallback.
        minimum_gain: minimum score of the best candidate above that of the fallback.
        longest_edit: maximum number of tokens that one edit may delete or insert.
        gate: a metric; candidates below --gate-minimum are excluded.
        gate_minimum: minimum score by --gate.
    """

    fallback: Literal["none", "source", "first"] = "none"
    minimum_gain: float = 0.0
    longest_edit: int | None = None
    gate: str | None = None
    gate_minimum: float = 0.0


@dataclass
class _Votes:
    """How candidates vote.

    Attributes:
        threshold: vote: the share of candidates that an edit must exceed.
        annotator: vote: the annotator that extracts the edits.
    """

    threshold: float = 0.5
    annotator: str | None = None


class _Choices(NamedTuple):
    """Sources with candidates, and what is known about them."""

    sources: list[str]
    candidates: list[list[str]]
    weights: list[list[float]] | None
    references: References | None
    systems: list[str]


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec rerank`."""
    parser = make_parser("rerank", "Choose the best of several corrections of each sentence.")
    add_field_arguments(parser.add_argument, _Method)
    add_input_arguments(parser)
    add_group(parser, _Guards, "guards")
    add_group(parser, _Votes, "votes")
    add_runtime_arguments(parser)
    add_output_arguments(parser, _FORMATS)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = with_format(build_parser().parse_args(list(arguments)), _FORMATS)
    if not options.by:
        raise InputError(
            "no method was given; name one with --by impara, --by 'mbr(gleu)' or --by vote."
        )
    runtime = read_runtime(options)
    if options.by == VOTE:
        choices = _read_choices(options)
        _emit(_vote(choices, options, runtime), options)
        return
    selector = load_selector(options.by)
    gate = load_metric(options.gate) if options.gate else None
    judge = selector.utility if isinstance(selector, MinimumBayesRisk) else selector
    check_metrics([metric for metric in (judge, gate) if metric is not None], runtime)
    choices = _read_choices(options, [selector] if isinstance(selector, Metric) else [])
    guards = Guards(
        options.fallback, options.minimum_gain, options.longest_edit, gate, options.gate_minimum
    )
    reranking = rerank(
        choices.sources,
        choices.candidates,
        selector,
        guards=guards,
        references=choices.references,
        weights=choices.weights,
        runtime=runtime,
    )
    _emit(_rows(reranking, choices.systems), options)


def _read_choices(options: Namespace, metrics: Sequence[Metric] = ()) -> _Choices:
    """Return the candidates of an n-best list, or the outputs of systems."""
    if options.nbest:
        check_absent(options, ("src", "hyp", "jsonl"), "--nbest contains the whole input")
        return _read_nbest(options.nbest)
    inputs = read_inputs(options, metrics)
    candidates = candidates_of_systems(inputs.systems)
    return _Choices(inputs.sources, candidates, None, inputs.references, list(inputs.systems))


def _read_nbest(path: str) -> _Choices:
    """Return the sources, candidates and weights of a JSONL file; weights in all records or in none."""
    records = read_jsonl(path, required=("source", "candidates"))
    weighted = bool(records) and "weights" in records[0]
    for number, record in enumerate(records, 1):
        place = f"{path}:{number}"
        source, texts, weights = record["source"], record["candidates"], record.get("weights")
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise FormatError(f"{place}: 'candidates' must be a list of texts, not {texts!r:.60}.")
        if not isinstance(source, str):
            raise FormatError(f"{place}: 'source' must be a text, not {source!r:.60}.")
        if ("weights" in record) != weighted:
            raise FormatError(f"{place}: some records have weights and others do not.")
        if weights is not None and (
            not isinstance(weights, list)
            or not all(type(weight) in (int, float) for weight in weights)
        ):
            raise FormatError(f"{place}: 'weights' must be a list of numbers, not {weights!r:.60}.")
    return _Choices(
        [record["source"] for record in records],
        [record["candidates"] for record in records],
        [record["weights"] for record in records] if weighted else None,
        None,
        [],
    )


def _vote(choices: _Choices, options: Namespace, runtime: Runtime) -> list[dict[str, Any]]:
    """Return one row per sentence: the text with the edits that enough candidates share."""
    texts = vote(
        choices.sources,
        choices.candidates,
        annotator=options.annotator or default_annotator(),
        threshold=options.threshold,
        weights=choices.weights,
        runtime=runtime,
    )
    return [{"sentence": number, "text": text} for number, text in enumerate(texts, 1)]


def _rows(reranking: Reranking, systems: Sequence[str]) -> list[dict[str, Any]]:
    """Return one row per sentence: the text, which candidate it is, its scores and its margin."""
    columns = (reranking.texts, reranking.chosen.tolist(), reranking.margins, reranking.scores)
    return [
        {
            "sentence": number,
            "text": text,
            "chosen": "source" if place < 0 else systems[place] if systems else place + 1,
            "margin": margin,
            "scores": scores.tolist(),
        }
        for number, (text, place, margin, scores) in enumerate(zip(*columns, strict=True), 1)
    ]


def _emit(rows: Sequence[dict[str, Any]], options: Namespace) -> None:
    """Print only the texts, or all fields of each choice."""
    if options.format == "text":
        write_lines(options.out, [row["text"] for row in rows])
        return
    flat = [
        {key: value for key, value in row.items() if key != "scores"}
        | {f"score {n}": score for n, score in enumerate(row.get("scores", ()), 1)}
        for row in rows
    ]
    emit(flat, options, payload={"sentences": list(rows)})
