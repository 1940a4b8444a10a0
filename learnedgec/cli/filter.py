"""`learnedgec filter`: corrections without the edits that are not sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jsonargparse.typing import ClosedUnitInterval

from learnedgec.cli import flags
from learnedgec.cli.inputs import LINES, read_inputs
from learnedgec.cli.output import check_out, remark
from learnedgec.data.text import write_lines
from learnedgec.errors import InputError


@dataclass
class _Filter(flags.Annotator):
    """What is read, and which edits stay.

    Attributes:
        src: the source sentences.
        hyp: their corrections by one system.
        keep: the confidence that an edit must exceed; `learnedgec edits --confidence` shows those of a file.
    """

    src: str | None = None
    hyp: str | None = None
    keep: ClosedUnitInterval = 0.6


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser(
        "filter",
        "Undo the edits of a correction that a careful annotator would probably not accept, by the evaluator "
        "joint-mpnet-3, and write the text with the others. Edits that move a word stay or go together. "
        "Changed meaning is not seen, nor whether other edits need each other.",
        common="src hyp keep annotator out",
    )
    flags.add_fields(parser, _Filter, title="input", description=LINES)
    parser.add_argument("--out", type=str, default="-", help="output file; -: stdout")
    flags.add_runtime(parser)
    parser.set_defaults(dtype="auto")
    options = parser.parse_args(arguments)
    check_out(options.out)
    flags.require(options, hyp="ours.txt")
    options.hyp = [options.hyp]
    from learnedgec.applications.confidence import edit_confidence

    inputs = read_inputs(options).inputs
    if len(inputs.systems) > 1:
        raise InputError(f"{options.hyp[0]} holds several outputs; name one file with --hyp.")
    (hypotheses,) = inputs.systems.values()
    judged = edit_confidence(
        inputs.sources, hypotheses, annotator=options.annotator, runtime=flags.read_runtime(options)
    )
    texts = judged.texts(float(options.keep))
    write_lines(options.out, texts)
    kept = list(map(len, judged.sure(float(options.keep))))
    edited = sum(map(bool, judged.edits))
    remark(
        f"kept {sum(kept):,} of {sum(map(len, judged.edits)):,} edits, in {sum(map(bool, kept)):,} of the "
        f"{edited:,} sentences with edits, of {len(texts):,} in all"
        + ("" if options.out == "-" else f"; wrote {options.out}"),
        options,
    )
