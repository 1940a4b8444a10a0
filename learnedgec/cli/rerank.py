"""`learnedgec rerank`: choose the best of several corrections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jsonargparse import Namespace

from learnedgec.applications.rerank import (
    Guards,
    MinimumBayesRisk,
    Reranking,
    as_selector,
    rerank,
    vote,
)
from learnedgec.cli import flags, inputs, output
from learnedgec.data.text import write_lines
from learnedgec.edits.annotator import available_annotator
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import bind_one
from learnedgec.table import Column, Table

_TEXT_FORMATS = ("text", "json", "csv", "tsv")


@dataclass
class _Method:
    """Options of how to choose a candidate.

    Attributes:
        by: a metric or ensemble, such as quality; minimum Bayes risk, such as "mbr(gleu)"; or vote: keep the
            edits that more than --threshold of the candidates share.
        threshold: with --by vote, the share of candidates that an edit must exceed.
        annotator: with --by vote, the annotator that extracts the edits.
    """

    by: str | None = None
    threshold: float = 0.5
    annotator: str | None = None


def run_rerank(arguments: Sequence[str]) -> None:
    """Run the command."""
    about = "Choose the best of several corrections of each sentence."
    common = "src hyp ref gold by threshold fallback format out"
    parser = flags.make_parser("rerank", about, common)
    flags.add_fields(parser, _Method)
    inputs.add_inputs(parser)
    flags.add_fields(parser, Guards, title="guards")
    flags.add_runtime(parser)
    output.add_output_flags(parser, _TEXT_FORMATS)
    options = output.with_format(parser.parse_args(arguments), _TEXT_FORMATS)
    flags.require(options, by="quality, --by 'mbr(gleu)' or --by vote")
    given = parser.parse_args(arguments, defaults=False)
    if options.by == "vote":
        flags.check_absent(given, ("fallback", "longest_edit"), "--by vote takes no metric")
    else:
        flags.check_absent(given, ("threshold", "annotator"), f"--by {options.by} takes no vote")
    runtime = flags.read_runtime(options)
    if options.by == "vote":
        texts = _voted(options, runtime)
        rows = [{"sentence": number, "text": text} for number, text in enumerate(texts, 1)]
        table = Table([Column("sentence"), Column("text")], rows)
    else:
        reranking = _choose(options, runtime)
        texts, table = list(reranking.texts), reranking.table()
    if options.format == "text":
        write_lines(options.out, texts)
    else:
        output.emit_table(table, options)


def _choose(options: Namespace, runtime: Runtime) -> Reranking:
    """Return the best candidate of each sentence."""
    selector = as_selector(options.by)
    guards = flags.read_fields(Guards, options)
    if isinstance(selector, MinimumBayesRisk):
        metric = bind_one(selector.utility, runtime)
    else:
        selector = metric = bind_one(selector, runtime)
    flags.introduce_evaluator([metric], options)
    texts = inputs.read_inputs(options, [metric] if selector is metric else []).corpus
    return rerank(selector, *texts.texts, guards=guards, runtime=runtime)


def _voted(options: Namespace, runtime: Runtime) -> list[str]:
    """Return each sentence with the edits that enough candidates share."""
    texts = inputs.read_inputs(options).corpus
    return vote(
        texts.sources,
        texts.systems,
        annotator=options.annotator or available_annotator(),
        threshold=options.threshold,
        runtime=runtime,
    )
