"""`learnedgec edits`: extract the edits between texts, or apply those of an M2 file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jsonargparse import Namespace

from learnedgec.cli import flags, inputs, output
from learnedgec.data.m2 import AnnotatedSentence, write_m2
from learnedgec.data.references import References
from learnedgec.data.text import write_lines
from learnedgec.edits.annotator import (
    default_annotator,
    describe_annotator,
    extract_edits,
)
from learnedgec.errors import InputError
from learnedgec.table import Column, Table

if TYPE_CHECKING:
    pass

_FORMATS = ("table", "json", "csv", "tsv")


@dataclass
class _Files(flags.Annotator):
    """Options of what to read, and what to do with it.

    Attributes:
        src: the source sentences.
        hyp: corrections; the n-th file is annotator n-1 in the M2 file.
        gold: an M2 file, for --apply.
        apply: write the text of --gold as each sentence's first annotator corrects it.
        confidence: write a row for each edit, with the probability that a careful annotator accepts it, by
            the evaluator open-mpnet, which does not see whether an edit changes the meaning. filter undoes
            surer edits as well if they need an unsure one.
    """

    src: str | None = None
    hyp: list[str] | None = None
    gold: str | None = None
    apply: bool = False
    confidence: bool = False


def run_edits(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser(
        "edits",
        "Extract the edits between sources and corrections, classify them as ERRANT does, and write them as "
        "an M2 file, or with --confidence as rows that say how sure each is; or, with --gold and --apply, "
        "write the text that the edits of an M2 file produce.",
        common="src hyp gold apply confidence annotator format out",
    )
    flags.add_fields(parser, _Files, title="input", description=inputs.LINES)
    flags.add_runtime(parser)
    parser.set_defaults(dtype="auto")
    output.add_output_flags(parser, _FORMATS)
    options = parser.parse_args(arguments)
    if options.apply or options.gold:
        if not (options.apply and options.gold) or options.src or options.hyp:
            raise InputError(
                "give either --src and --hyp, to write M2, or --gold with --apply, to write text."
            )
        output.with_format(options, ("text",))
        rows = References.from_m2(options.gold)
        write_lines(options.out, [row[0].text for row in rows])
    elif options.confidence:
        output.emit_table(_judged(output.with_format(options, _FORMATS)), options)
    elif options.format:
        raise InputError(
            "--format is for rows with --confidence; without it, edits are written as M2."
        )
    else:
        output.with_format(options, ("m2",))
        write_m2(options.out, _annotated(options))


def _annotated(options: Namespace) -> list[AnnotatedSentence]:
    """Return the sources with the edits of every file of corrections."""
    task = inputs.read_inputs(options)
    annotator = options.annotator or default_annotator()
    _, _, sources, hypotheses = task.corpus.outputs()
    pairs = list(zip(sources, hypotheses, strict=True))
    edits = extract_edits(pairs, annotator, runtime=flags.read_runtime(options))
    versions = describe_annotator(annotator)
    output.remark(
        "|".join([annotator, *(f"{key}:{value}" for key, value in versions.items())]), options
    )
    size = len(task.corpus.sources)
    return [
        AnnotatedSentence(source, dict(enumerate(edits[row::size])))
        for row, source in enumerate(task.corpus.sources)
    ]


def _judged(options: Namespace) -> Table:
    """Return a row for each edit of every file of corrections, with its confidence."""
    names, numbers, sources, hypotheses = inputs.read_inputs(options).corpus.outputs()
    from learnedgec.applications.confidence import edit_confidence

    runtime = flags.read_runtime(options)
    judged = edit_confidence(sources, hypotheses, annotator=options.annotator, runtime=runtime)
    table = judged.table()
    rows = [
        {**row, "system": names[place], "sentence": numbers[place]}
        for row in table.rows
        for place in [row["sentence"] - 1]
    ]
    return replace(table, columns=[Column("system"), *table.columns], rows=rows)
