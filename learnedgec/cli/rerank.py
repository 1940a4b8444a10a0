"""`learnedgec rerank`: choose one of several corrections of each sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from jsonargparse import ArgumentParser, Namespace

from learnedgec.applications.rerank import (
    Guards,
    MinimumBayesRisk,
    Reranking,
    as_selector,
    rerank,
)
from learnedgec.applications.voting import vote
from learnedgec.cli import flags, output
from learnedgec.cli.inputs import add_inputs, read_inputs
from learnedgec.data.references import References
from learnedgec.data.rows import Row
from learnedgec.data.text import check_sentence, read_jsonl, write_lines
from learnedgec.edits.parsing import default_annotator
from learnedgec.errors import FormatError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.needs import check_metrics
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.runtime import Runtime

_FORMATS = ("text", "json", "csv", "tsv")


@dataclass
class _Method:
    """The method of choosing, and an n-best list to choose from.

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
    """Conditions that a candidate must meet to be chosen.

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
        threshold: with --by vote, the share of candidates that an edit must exceed.
        annotator: with --by vote, the annotator that extracts the edits.
    """

    threshold: float = 0.5
    annotator: str | None = None


class _Choices(NamedTuple):
    """Sources and the candidates for each: n-best lists, perhaps with weights, or the outputs of systems."""

    sources: list[str]
    candidates: list[list[str]] | dict[str, list[str]]
    weights: list[list[float]] | None
    references: References | None = None


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec rerank`."""
    parser = flags.make_parser("rerank", "Choose the best of several corrections of each sentence.")
    flags.add_fields(parser, _Method)
    add_inputs(parser)
    flags.add_fields(parser, _Guards, title="guards")
    flags.add_fields(parser, _Votes, title="votes")
    flags.add_runtime(parser)
    output.add_output_flags(parser, _FORMATS)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = output.with_format(build_parser().parse_args(list(arguments)), _FORMATS)
    flags.require(options, by="impara, --by 'mbr(gleu)' or --by vote")
    runtime = flags.read_runtime(options)
    if options.by == "vote":
        rows: Sequence[Row] = _vote(options, runtime)
        payload: dict[str, Any] = {"sentences": rows}
    else:
        reranking = _choose(options, runtime)
        rows, payload = reranking.rows(), reranking.to_dict()
    if options.format == "text":
        write_lines(options.out, [row["text"] for row in rows])
        return
    output.emit(rows, options, payload=payload)


def _choose(options: Namespace, runtime: Runtime) -> Reranking:
    """Return the best candidate of each sentence."""
    selector = as_selector(options.by)
    gate = load_metric(options.gate) if options.gate else None
    metrics = [selector.utility if isinstance(selector, MinimumBayesRisk) else selector]
    if gate:
        metrics.append(gate)
    check_metrics(metrics, runtime)
    flags.introduce_evaluator(metrics, options)
    choices = _read_choices(options, [selector] if isinstance(selector, Metric) else [])
    return rerank(
        selector,
        choices.sources,
        choices.candidates,
        choices.references,
        guards=Guards(
            options.fallback, options.minimum_gain, options.longest_edit, gate, options.gate_minimum
        ),
        weights=choices.weights,
        runtime=runtime,
    )


def _vote(options: Namespace, runtime: Runtime) -> list[dict[str, Any]]:
    """Return one row per sentence: the text with the edits that enough candidates share."""
    choices = _read_choices(options)
    texts = vote(
        choices.sources,
        choices.candidates,
        annotator=options.annotator or default_annotator(),
        threshold=options.threshold,
        weights=choices.weights,
        runtime=runtime,
    )
    return [{"sentence": number, "text": text} for number, text in enumerate(texts, 1)]


def _read_choices(options: Namespace, metrics: Sequence[Metric] = ()) -> _Choices:
    """Return the candidates of an n-best list, or the outputs of systems."""
    if options.nbest:
        flags.check_absent(options, ("src", "hyp", "jsonl"), "--nbest contains the whole input")
        return _read_nbest(options.nbest)
    inputs = read_inputs(options, metrics)
    return _Choices(inputs.sources, inputs.systems, None, inputs.references)


def _read_nbest(path: str) -> _Choices:
    """Return the sources, candidates and weights of a JSONL file; weights in all records or in none."""
    records = read_jsonl(path, required=("source", "candidates"))
    weighted = bool(records) and "weights" in records[0]
    for number, record in enumerate(records, 1):
        place, texts = f"{path}:{number}", record["candidates"]
        check_sentence(record["source"], place, "source")
        if not isinstance(texts, list):
            raise FormatError(f"{place}: 'candidates' must be a list of texts, not {texts!r:.60}.")
        for text in texts:
            check_sentence(text, place, "candidates")
        has_weights = "weights" in record
        if has_weights != weighted or (has_weights and not _are_numbers(record["weights"])):
            raise FormatError(
                f"{place}: 'weights' must be a list of numbers in every record, or in none."
            )
    return _Choices(
        [record["source"] for record in records],
        [record["candidates"] for record in records],
        [record["weights"] for record in records] if weighted else None,
    )


def _are_numbers(values: object) -> bool:
    """Return whether a value of a record is a list of numbers; a truth value is no number."""
    return isinstance(values, list) and all(type(value) in (int, float) for value in values)
