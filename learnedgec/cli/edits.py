"""`learnedgec edits`, `filter` and `rerank`: extract edits, undo unsure ones, choose among corrections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jsonargparse import Namespace
from jsonargparse.typing import ClosedUnitInterval

from learnedgec.applications.rerank import (
    Guards,
    MinimumBayesRisk,
    Reranking,
    as_selector,
    rerank,
    vote,
)
from learnedgec.cli import flags, inputs, output
from learnedgec.cli.tables import edit_cells
from learnedgec.data.m2 import AnnotatedSentence, Edit, apply_edits, read_m2, write_m2
from learnedgec.data.references import References
from learnedgec.data.text import write_lines
from learnedgec.edits.annotator import (
    available_annotator,
    default_annotator,
    describe_annotator,
    extract_edits,
)
from learnedgec.errors import InputError
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import bind_one
from learnedgec.table import Row
from learnedgec.types import Texts

if TYPE_CHECKING:
    from learnedgec.applications.confidence import JudgedEdits

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
        rows = References.from_annotated(read_m2(options.gold))
        write_lines(options.out, [row[0].text for row in rows])
    elif options.confidence:
        output.emit(_judged(output.with_format(options, _FORMATS)), options)
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


def _judged(options: Namespace) -> list[Row]:
    """Return a row for each edit of every file of corrections, with its confidence."""
    names, numbers, sources, hypotheses = inputs.read_inputs(options).corpus.outputs()
    judged = _judge(sources, hypotheses, options)
    return [
        {"system": name, "sentence": number}
        | edit_cells(source, edit)
        | {"confidence": round(confidence, 4)}
        for name, number, source, edits in zip(names, numbers, sources, judged.edits, strict=True)
        for edit, confidence in edits
    ]


def _judge(
    sources: Texts, hypotheses: Texts, options: Namespace, threshold: float | None = None
) -> JudgedEdits:
    """Return the edits of hypotheses with their confidence, as far as it matters for a threshold."""
    from learnedgec.applications.confidence import edit_confidence

    settings = {"annotator": options.annotator, "runtime": flags.read_runtime(options)}
    return edit_confidence(sources, hypotheses, threshold=threshold, **settings)


# -- learnedgec filter -------------------------------------------------------------------------------


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
        "Changed meaning is not seen.",
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
    judged = _judge(texts.sources, hypotheses, options, keep)
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


# -- learnedgec rerank -------------------------------------------------------------------------------

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
    runtime = flags.read_runtime(options)
    if options.by == "vote":
        texts = _voted(options, runtime)
        rows: Sequence[Mapping[str, Any]] = [
            {"sentence": number, "text": text} for number, text in enumerate(texts, 1)
        ]
        payload: dict[str, Any] = {"sentences": rows}
    else:
        reranking = _choose(options, runtime)
        texts, rows, payload = list(reranking.texts), reranking.rows(), reranking.to_dict()
    if options.format == "text":
        write_lines(options.out, texts)
    else:
        output.emit(rows, options, payload=payload)


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
