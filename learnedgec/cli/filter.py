"""`learnedgec filter`: undo the edits of a correction that are not sure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jsonargparse.typing import ClosedUnitInterval

from learnedgec.cli import flags, inputs, output
from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.data.text import write_lines
from learnedgec.errors import InputError

if TYPE_CHECKING:
    from learnedgec.applications.confidence import JudgedEdits


@dataclass
class _Filter(flags.Annotator):
    """Options of what to read, and which edits to keep.

    Attributes:
        src: the source sentences.
        hyp: their corrections by one system.
        keep: the confidence that an edit must exceed; `learnedgec edits --confidence` shows those of a file.
    """

    src: str | None = None
    hyp: str | None = None
    keep: ClosedUnitInterval = 0.5


def run_filter(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser(
        "filter",
        "Undo the edits of a correction that a careful annotator would probably not accept, by the evaluator "
        "open-mpnet, and write the text with the others. Edits that need each other stay or go together. "
        "Changed meaning is not seen. This is for outputs of systems: of text at human level, it undoes good "
        "edits too.",
        common="src hyp keep annotator out",
    )
    flags.add_fields(parser, _Filter, title="input", description=inputs.LINES)
    parser.add_argument("--out", type=str, default="-", help="output file; -: stdout")
    flags.add_runtime(parser)
    parser.set_defaults(dtype="auto")
    options = output.with_format(parser.parse_args(arguments), ("text",))
    flags.require(options, hyp="ours.txt")
    options.hyp = [options.hyp]
    texts = inputs.read_inputs(options).corpus
    if len(texts.systems) > 1:
        raise InputError(f"{options.hyp[0]} holds several outputs; name one file with --hyp.")
    (hypotheses,) = texts.systems.values()
    keep = float(options.keep)
    from learnedgec.applications.confidence import edit_confidence

    settings = {"annotator": options.annotator, "runtime": flags.read_runtime(options)}
    judged = edit_confidence(texts.sources, hypotheses, threshold=keep, **settings)
    sure = judged.sure(keep)
    write_lines(options.out, map(apply_edits, judged.sources, sure))
    note = "" if options.out == "-" else f"; wrote {options.out}"
    output.remark(_summary(judged, sure, options.keep) + note, options)


def _summary(judged: JudgedEdits, sure: Sequence[Sequence[Edit]], threshold: float) -> str:
    """Return in words how many edits were undone and why, and how many sentences keep theirs."""
    rows = [(edits, kept) for edits, kept in zip(judged.edits, sure, strict=True) if edits]
    counts = Counter(
        (edit in kept, confidence > threshold) for edits, kept in rows for edit, confidence in edits
    )
    reasons = [f"{counts[False, False]:,} with a confidence of {threshold:g} or less"]
    if others := counts[False, True]:
        reasons.append(f"{others:,} surer ones that need one of these or cut the sentence short")
    whole = sum(len(edits) == len(kept) for edits, kept in rows)
    none = sum(not kept for _, kept in rows)
    return (
        f"undid {counts[False, False] + others:,} of {counts.total():,} edits: {', '.join(reasons)}. Of "
        f"{len(rows):,} sentences with edits ({len(sure):,} in all), {whole:,} keep all of them, "
        f"{len(rows) - whole - none:,} some and {none:,} none"
    )
