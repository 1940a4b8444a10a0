"""`learnedgec rerank`: choose one of several corrections of each sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jsonargparse import ArgumentParser, Namespace

from learnedgec.cli.inputs import add_input_arguments, read_inputs
from learnedgec.cli.options import add_runtime_arguments, make_parser, read_runtime
from learnedgec.cli.output import add_output_arguments, emit, with_format
from learnedgec.edits.parsing import default_annotator
from learnedgec.errors import FormatError, InputError
from learnedgec.formats.text import read_jsonl, write_lines
from learnedgec.metrics.base import Metric
from learnedgec.metrics.needs import check_metrics
from learnedgec.metrics.registry import load_metric
from learnedgec.use.candidates import candidates_of_systems
from learnedgec.use.rerank import Guards, MinimumBayesRisk, Reranking, load_selector, rerank
from learnedgec.use.voting import vote

_FORMATS = ("text", "json", "csv", "tsv")

VOTE = "vote"


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec rerank`."""
    parser = make_parser("rerank", "Choose the best of several corrections of each sentence.")
    parser.add_argument(
        "--by",
        type=str,
        help='a metric or ensemble, such as impara; minimum Bayes risk, such as "mbr(gleu)"; or '
        "vote: keep the edits that more than --threshold of the candidates share",
    )
    add_input_arguments(parser)
    parser.add_argument(
        "--nbest",
        type=str,
        help="instead of --src and --hyp: a JSONL file with the keys source and candidates (a list of "
        "texts), and optionally weights (a list of numbers)",
    )
    group = parser.add_argument_group("guards")
    group.add_argument(
        "--fallback",
        choices=("none", "source", "first"),
        default="none",
        help="the output if no candidate gains enough: the source, the first candidate, or no fallback",
    )
    group.add_argument(
        "--minimum-gain",
        type=float,
        default=0.0,
        help="minimum score of the best candidate above that of the fallback",
    )
    group.add_argument(
        "--longest-edit",
        type=int,
        help="maximum number of tokens that one edit may delete or insert",
    )
    group.add_argument(
        "--gate", type=str, help="a metric; candidates below --gate-minimum are excluded"
    )
    group.add_argument("--gate-minimum", type=float, default=0.0, help="minimum score by --gate")
    group = parser.add_argument_group("votes")
    group.add_argument(
        "--threshold",
        type=float,
        default=0.5,
        help="vote: the share of candidates that an edit must exceed",
    )
    group.add_argument("--annotator", type=str, help="vote: the annotator that extracts the edits")
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
    selector = None if options.by == VOTE else load_selector(options.by)
    gate = load_metric(options.gate) if options.gate else None
    judge = selector.utility if isinstance(selector, MinimumBayesRisk) else selector
    check_metrics([metric for metric in (judge, gate) if metric is not None], runtime)
    if options.nbest:
        if options.src or options.hyp or options.jsonl:
            raise InputError(
                "--nbest contains the whole input; leave out --src, --hyp and --jsonl."
            )
        sources, candidates, weights = _read_nbest(options.nbest)
        references = None
        names: list[str] = []
    else:
        inputs = read_inputs(options, [selector] if isinstance(selector, Metric) else [])
        sources, references, weights = inputs.sources, inputs.references, None
        candidates = candidates_of_systems(inputs.systems)
        names = list(inputs.systems)
    if selector is None:
        texts = vote(
            sources,
            candidates,
            annotator=options.annotator or default_annotator(),
            threshold=options.threshold,
            weights=weights,
            runtime=runtime,
        )
        _print(
            [{"sentence": number, "text": text} for number, text in enumerate(texts, 1)], options
        )
        return
    found = rerank(
        sources,
        candidates,
        selector,
        guards=Guards(
            options.fallback,
            options.minimum_gain,
            options.longest_edit,
            gate,
            options.gate_minimum,
        ),
        references=references,
        weights=weights,
        runtime=runtime,
    )
    _print(_rows(found, names), options)


def _read_nbest(
    path: str,
) -> tuple[list[str], list[list[str]], list[list[float]] | None]:
    """Return the sources, candidates and weights of a JSONL file; weights in all records or in none."""
    records = read_jsonl(path, required=("source", "candidates"))
    for number, record in enumerate(records, 1):
        place = f"{path}:{number}"
        texts = record["candidates"]
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise FormatError(f"{place}: 'candidates' must be a list of texts, not {texts!r:.60}.")
        if not isinstance(record["source"], str):
            raise FormatError(f"{place}: 'source' must be a text, not {record['source']!r:.60}.")
        weights = record.get("weights")
        if ("weights" in record) != ("weights" in records[0]):
            raise FormatError(f"{place}: some records have weights and others do not.")
        if weights is not None and (
            not isinstance(weights, list)
            or not all(type(weight) in (int, float) for weight in weights)
        ):
            raise FormatError(f"{place}: 'weights' must be a list of numbers, not {weights!r:.60}.")
    given = bool(records) and "weights" in records[0]
    return (
        [record["source"] for record in records],
        [record["candidates"] for record in records],
        [record["weights"] for record in records] if given else None,
    )


def _rows(found: Reranking, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return one row per sentence: the text, which candidate it is, its scores and its margin."""
    return [
        {
            "sentence": number,
            "text": text,
            "chosen": "source" if place < 0 else names[place] if names else place + 1,
            "margin": margin,
            "scores": scores.tolist(),
        }
        for number, (text, place, margin, scores) in enumerate(
            zip(found.texts, found.chosen.tolist(), found.margins, found.scores, strict=True), 1
        )
    ]


def _print(rows: Sequence[Mapping[str, Any]], options: Namespace) -> None:
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
