"""`learnedgec edits`: parallel text in, M2 out; or M2 in, text out."""

from __future__ import annotations

from collections.abc import Sequence

from jsonargparse import ArgumentParser, Namespace

from learnedgec.cli.options import add_runtime_arguments, make_parser, read_runtime
from learnedgec.cli.output import remark
from learnedgec.errors import InputError
from learnedgec.formats.m2 import AnnotatedSentence, read_m2, write_m2
from learnedgec.formats.references import References
from learnedgec.formats.text import check_lengths, read_lines, write_lines


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec edits`."""
    parser = make_parser(
        "edits",
        "Extract the edits between sources and corrections, classify them as ERRANT does, and write them as "
        "an M2 file; or, with --gold and --apply, write the text that the edits of an M2 file produce.",
    )
    group = parser.add_argument_group(
        "input", "UTF-8 text, one sentence per line; a file may be gzipped (.gz), - is stdin"
    )
    group.add_argument("--src", type=str, help="the source sentences")
    group.add_argument(
        "--hyp",
        nargs="+",
        type=str,
        help="corrections; the n-th file is annotator n-1 in the M2 file",
    )
    group.add_argument(
        "--annotator",
        type=str,
        help="spaCy pipeline: en-ewt-sm, an installed package or a directory "
        "(default: en_core_web_sm if installed, else en-ewt-sm)",
    )
    group.add_argument("--gold", type=str, help="an M2 file, for --apply")
    group.add_argument("--apply", action="store_true", help="write the corrected text of --gold")
    group.add_argument(
        "--number",
        type=int,
        help="with --apply, the number of the annotator (default: each sentence's first one)",
    )
    parser.add_argument("--out", type=str, default="-", help="output file; -: stdout")
    add_runtime_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = build_parser().parse_args(list(arguments))
    if options.apply or options.gold:
        if not (options.apply and options.gold) or options.src or options.hyp:
            raise InputError(
                "give either --src and --hyp, to write M2, or --gold with --apply, to write text."
            )
        write_lines(options.out, _corrected(options))
    else:
        write_m2(options.out, _annotated(options))


def _annotated(options: Namespace) -> list[AnnotatedSentence]:
    """Return the sources with the edits of every file of corrections."""
    from learnedgec.edits.annotator import extract_edits
    from learnedgec.edits.parsing import default_annotator, describe_annotator
    from learnedgec.edits.tokenisation import tokenise

    if not (options.src and options.hyp):
        raise InputError("--src and --hyp name the sources and their corrections; give both.")
    sources = read_lines(options.src)
    corrections = [read_lines(path) for path in options.hyp]
    if options.tokenise == "spacy":
        sources, corrections = tokenise(sources), [tokenise(texts) for texts in corrections]
    for path, lines in zip(options.hyp, corrections, strict=True):
        check_lengths((options.src, sources), (path, lines))
    annotator = options.annotator or default_annotator()
    pairs = [(s, text) for lines in corrections for s, text in zip(sources, lines, strict=True)]
    edits = extract_edits(pairs, annotator, runtime=read_runtime(options))
    size = len(sources)
    versions = describe_annotator(annotator)
    remark("|".join([annotator, *(f"{key}:{value}" for key, value in versions.items())]), options)
    return [
        AnnotatedSentence(
            source, {number: edits[number * size + row] for number in range(len(corrections))}
        )
        for row, source in enumerate(sources)
    ]


def _corrected(options: Namespace) -> list[str]:
    """Return the text of an M2 file as one annotator corrects it."""
    path, number = options.gold, options.number
    rows = References.from_annotated(read_m2(path))
    several = sorted({each.annotator for row in rows if len(row) > 1 for each in row})
    if number is None and several:
        remark(
            f"{path} has edits of several annotators ({', '.join(map(str, several))}); those of each "
            "sentence's first annotator are applied; choose another with --number.",
            options,
        )
    texts = []
    for place, references in enumerate(rows, 1):
        found = [r.text for r in references if number in (None, r.annotator)]
        if not found:
            known = ", ".join(str(reference.annotator) for reference in references)
            raise InputError(
                f"sentence {place} of {path} has no annotator {number}, only {known}; choose with --number."
            )
        texts.append(found[0])
    return texts
