"""`learnedgec score`: scores of system outputs by one or more metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from math import isnan
from pathlib import Path
from typing import Any, Literal

from jsonargparse import ArgumentParser, Namespace
from jsonargparse.typing import NonNegativeFloat, NonNegativeInt, PositiveInt

from learnedgec.analysis.attribution import attribute_edits
from learnedgec.analysis.conclusions import about_gold
from learnedgec.applications.corpus import Blocks, CorpusScores, Runner, score_corpus
from learnedgec.applications.corpus.reading import CorpusFiles, open_lines, open_records
from learnedgec.cli import flags, inputs, output
from learnedgec.cli.tables import WORTH, attribution_text, edit_text
from learnedgec.data.corpus import Corpus
from learnedgec.data.m2 import edit_cells
from learnedgec.data.records import suffix
from learnedgec.edits.annotator import Tier, default_annotator
from learnedgec.errors import InputError
from learnedgec.metrics.bound import BoundMetric, names_in_text, short_labels
from learnedgec.metrics.contract import (
    CorpusResult,
    CountsByType,
    PlansRequests,
    Score,
    Scores,
    ShowsEdits,
    score_table,
)
from learnedgec.metrics.ensemble import about_scale
from learnedgec.metrics.sentinels import is_sentinel
from learnedgec.scoring import score_metrics
from learnedgec.table import Row, Table

_SAME = "all systems score the same"


@dataclass
class _Shown:
    """Options of what to print.

    Attributes:
        level: sentence: also print the score of every sentence.
        by: print counts by error type instead: R:VERB:SVA (type), VERB:SVA (category) or R (operation).
        show: print every edit with the gold edits instead (edits: m2, errant, …), or the contribution of
            each edit to the score (attribution: added alone, left out, and Shapley value).
    """

    level: Literal["corpus", "sentence"] = "corpus"
    by: Tier | None = None
    show: Literal["edits", "attribution"] | None = None


@dataclass
class _SingleMetrics(flags.Annotator):
    """Options of single metrics.

    Attributes:
        dry_run: llm-s, llm-e: print one prompt and count the requests.
        annotator: --show attribution: spaCy pipeline that extracts edits: en-ewt-sm, an installed package or
            a directory (default: en_core_web_sm if installed, else en-ewt-sm).
    """

    dry_run: bool = False


def run_score(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = output.with_format(_build_parser().parse_args(arguments))
    if options.by and options.show:
        raise InputError("--by and --show were both given; each replaces the table of scores.")
    if wants_blocks(options):
        metrics = flags.read_bound(options)
        corpus = score_blocks(metrics, options)
        details = {key: value for key, value in corpus.to_dict().items() if key != "rows"}
        _emit_scores(metrics, corpus.scores, options, corpus.size, details)
        report_notices(corpus, options.out_dir)
        return
    task = inputs.read_task(options)
    task = replace(task, metrics=_prepared(task.metrics, options))
    metrics, texts = task.metrics, task.corpus
    if options.dry_run:
        output.emit_text("".join(_plan(metric, texts) for metric in metrics), options)
        return
    if options.show == "attribution":
        rows = _attribution_rows(task, options.annotator)
        caption = "Contribution of each edit to the score."
        text = partial(attribution_text, rows, texts)
        _emit_rows(rows, task, options, caption=caption, text=text)
        return
    scores = score_metrics(metrics, texts)
    if options.show:
        by_metric = {metric: _edit_rows(metric, scores[metric.label]) for metric in metrics}
        rows = [row for metric_rows in by_metric.values() for row in metric_rows]

        def as_text() -> str:
            parts = (edit_text(rows, m, scores[m.label], texts) for m, rows in by_metric.items())
            return "\n".join(parts)

        _emit_rows(rows, task, options, text=as_text)
    elif options.by:
        caption = f"Counts by {options.by} of error."
        _emit_rows(_type_rows(metrics, scores, options.by), task, options, caption=caption)
    else:
        own = {
            metric.label: other.scores(other.compute(texts))
            for metric in metrics
            if len(texts.systems) > 1 and (other := metric.reannotated(texts.references))
        }
        _emit_scores(metrics, scores, options, len(texts.sources), own=own)


def _build_parser() -> ArgumentParser:
    common = "src hyp ref gold metric level by show format out"
    parser = flags.make_parser("score", "Score system outputs with one or more metrics.", common)
    parser.usage = (
        "%(prog)s --src FILE --hyp FILE [FILE ...] --metric NAME [NAME ...]\n"
        "                        [--ref FILE [FILE ...] | --gold FILE.m2] [options]"
    )
    inputs.add_inputs(parser, documents=True)
    flags.add_metrics(parser, reannotate=True)
    flags.add_fields(parser, _Shown)
    output.add_output_flags(parser, explained=True)
    flags.add_fields(parser, _SingleMetrics, title="options of single metrics")
    flags.add_runtime(parser)
    flags.add_fields(parser, _Blocks, title="large corpora", description=_ABOUT_BLOCKS)
    return parser


# -- options of single metrics ---------------------------------------------------------------------


def _prepared(metrics: Sequence[BoundMetric], options: Namespace) -> list[BoundMetric]:
    """Return the metrics, with error types if the options ask for them.

    Raises:
        InputError: error types or edits are asked for, and a metric does not compare edits.
    """
    prepared = []
    for bound in metrics:
        if options.by and isinstance(bound.metric, CountsByType):
            prepared.append(bound.replaced(bound.metric.typed()))
        elif options.by or (options.show == "edits" and not isinstance(bound.metric, ShowsEdits)):
            flag = "--by" if options.by else "--show edits"
            raise InputError(
                f"{bound.label} does not compare edits; {flag} works for errant, m2 and similar metrics."
            )
        else:
            prepared.append(bound)
    return prepared


def _plan(bound: BoundMetric, texts: Corpus) -> str:
    """Return the plan of a language-model metric: one prompt, and the number of requests."""
    if not isinstance(bound.metric, PlansRequests):
        raise InputError(
            f"{bound.label} does not use a language model; --dry-run is for llm-s and llm-e."
        )
    plan = bound.metric.plan(texts.sources, texts.systems, runtime=bound.runtime)
    return (
        f"{bound.label}: {plan.requests} requests, {plan.cached} of them cached, "
        f"{plan.characters} characters of prompts in all. The first prompt:\n\n{plan.prompt}\n"
    )


# -- scores ----------------------------------------------------------------------------------------


def _emit_scores(
    metrics: Sequence[BoundMetric],
    scores: Mapping[str, Mapping[str, CorpusResult]],
    options: Namespace,
    size: int,
    details: Mapping[str, Any] | None = None,
    own: Mapping[str, Scores[Score]] | None = None,
) -> None:
    """Print the scores of a corpus of this many sentences, and of the sentences if asked for.

    `own` has the scores of metrics whose own edits of the references differ from the gold edits.
    """
    by_sentence = options.level == "sentence"
    side = frozenset[str]().union(*(named.metric.side_details for named in metrics))
    short = short_labels(list(scores))
    systems = next(iter(scores.values()))
    names = ", ".join(names_in_text(list(scores)).values())
    caption = f"Scores by {names} of {len(systems)} systems on {size:,} sentences."
    table = score_table(scores, sentences=by_sentence, side_details=side)
    output.emit_table(
        replace(table, caption=caption, short=short),
        options,
        details=details,
        conclusions=[] if by_sentence else _conclusions(metrics, scores, own or {}),
        signatures=[score.signature for of in scores.values() for score in of.values()],
    )


def _conclusions(
    metrics: Sequence[BoundMetric],
    scores: Mapping[str, Mapping[str, CorpusResult]],
    own: Mapping[str, Scores[Score]],
) -> list[str]:
    """Return which of several systems scores highest, and what the scale of standardised scores is."""
    names = names_in_text(list(scores))
    scales = [text for each in metrics for text in about_scale(names[each.label], each.metric)]
    by_verdict: dict[str, list[str]] = {}
    undecided = []
    for label, systems in scores.items():
        verdict = "" if is_sentinel(label) else _highest(systems)
        if label in own and (other := _highest(own[label])) != verdict:
            undecided.append(about_gold(names[label], verdict, other))
        elif verdict:
            by_verdict.setdefault(verdict, []).append(names[label])
    verdicts = "; ".join(f"{text} by {', '.join(by)}" for text, by in by_verdict.items())
    if by_verdict.keys() - {_SAME}:
        verdicts += ". Whether differences are significant: learnedgec rank"
    return [*([f"{verdicts}."] if verdicts else []), *undecided, *scales]


def _highest(scores: Mapping[str, CorpusResult]) -> str:
    """Return in words which of several systems scores highest; empty if a system has no score."""
    values = {name: score.value for name, score in scores.items()}
    if len(values) < 2 or any(map(isnan, values.values())):
        return ""
    best = [name for name, value in values.items() if value == max(values.values())]
    highest = f"{', '.join(best)} {'score' if len(best) > 1 else 'scores'} highest"
    return _SAME if len(best) == len(values) else highest


# -- edits and error types -------------------------------------------------------------------------


def _type_rows(
    metrics: Sequence[BoundMetric], scores: Mapping[str, Mapping[str, Score]], tier: Tier
) -> list[dict[str, Any]]:
    """Return one row per metric, system and error type."""
    return [
        {"system": system, "metric": bound.label, tier: kind, **counts}
        for bound in metrics
        if isinstance(bound.metric, CountsByType)
        for system, score in scores[bound.label].items()
        for kind, counts in bound.metric.by_type(score.statistics, tier).items()
    ]


def _emit_rows(
    rows: Sequence[Row],
    task: inputs.Task,
    options: Namespace,
    *,
    caption: str = "",
    text: Callable[[], str] | None = None,
) -> None:
    """Print rows of several metrics, as a table or as a text for readers."""
    signatures = list(task.signatures.values())
    if text and options.format == "table" and not options.wide:
        output.emit_text(text(), options, signatures=signatures)
        return
    short = short_labels(task.labels)
    table = Table.of(rows, caption=caption, groups=("metric",), short=short)
    output.emit_table(table, options, signatures=signatures)


# Options that need blocks, and options that need all sentences at once.
_WITH_BLOCKS = ("out_dir", "sentences")
_WITHOUT_BLOCKS = ("gold", "documents", "by", "show", "dry_run")

_ABOUT_BLOCKS = (
    "The input is scored in blocks of sentences, and the scores of each block are written to --out-dir. The "
    "same command continues an interrupted run, and tries failed blocks again."
)

# The maximum number of notices about inputs that are printed; scores.json has all of them.
_MAX_NOTICES = 3


@dataclass
class _Blocks:
    """Options of how to divide a corpus into blocks, and of workers on a Ray cluster that score them.

    Attributes:
        stream: read the input in blocks, so that memory does not grow with its size; .zst files, folders of
            Parquet files and URLs (s3://…) are also accepted.
        engine: where to score blocks: in this process, or by workers on a Ray cluster (extra `ray`); ray
            implies --stream.
        out_dir: output folder; Ray's workers must have access to it.
        block_size: number of sentences in a block.
        sentences: also write the scores of each sentence, to OUT_DIR/sentences.
        retries: number of further attempts after a block fails.
        address: ray: address of the cluster, such as auto (default: start one on this machine).
        workers: ray: number of processes, each with its own models.
        cpus_per_worker: ray: processor cores of each process.
        gpus_per_worker: ray: GPUs of each process, such as 0.25.
    """

    stream: bool = False
    engine: Literal["local", "ray"] = "local"
    out_dir: str | None = None
    block_size: PositiveInt = 5000
    sentences: Literal["jsonl", "parquet"] | None = None
    retries: NonNegativeInt = 1
    address: str | None = None
    workers: PositiveInt = 1
    cpus_per_worker: NonNegativeFloat = 1.0
    gpus_per_worker: NonNegativeFloat = 0.0


def wants_blocks(options: Namespace) -> bool:
    """Return whether the options ask for a corpus in blocks, after checking that they fit together.

    Raises:
        InputError: an option needs `--stream` or `--engine ray`, or excludes them; or no folder was given.
    """
    if not options.stream and options.engine != "ray":
        flags.check_absent(options, _WITH_BLOCKS, "only --stream and --engine ray score in blocks")
        return False
    flags.check_absent(
        options, _WITHOUT_BLOCKS, "--stream and --engine ray do not read all sentences at once"
    )
    if options.level == "sentence":
        raise InputError(
            "--level sentence was given with --stream; write scores of sentences by --sentences jsonl."
        )
    flags.require(options, out_dir="scores")
    return True


def score_blocks(metrics: Sequence[BoundMetric], options: Namespace) -> CorpusScores:
    """Score a corpus in blocks."""
    folder, runtime = Path(options.out_dir), metrics[0].runtime
    settings = flags.pick(options, "sentences", "retries")
    with _open_corpus(options) as corpus, _start_runner(options) as runner:
        blocks = Blocks(runner=runner, **settings)
        return score_corpus(metrics, corpus, folder, blocks, runtime=runtime)


def report_notices(result: CorpusScores, folder: str) -> None:
    """Print the first notices about blocks."""
    output.notice(*result.notices[:_MAX_NOTICES])
    if len(result.notices) > _MAX_NOTICES:
        more, file = len(result.notices) - _MAX_NOTICES, Path(folder) / "scores.json"
        output.notice(f"{more:,} more such notices are in {file}.")


def _open_corpus(options: Namespace) -> AbstractContextManager[CorpusFiles]:
    """Open the corpus that the input flags name, with decompressed copies in the output folder."""
    copies = Path(options.out_dir) / "input"
    if options.table:
        flags.check_absent(options, ("src", "hyp", "ref", "columns"), "--table has the whole input")
        for path in options.table:
            if suffix(path) in (".csv", ".tsv"):
                raise InputError(
                    f"{path} was given with --stream, which reads .jsonl and .parquet."
                )
        return open_records(inputs.by_system(options.table), options.block_size, copies)
    flags.require(options, hyp="out/*.txt", src="source.txt")
    return open_lines(
        options.src, inputs.system_files(options.hyp), options.ref or (), options.block_size, copies
    )


def _start_runner(options: Namespace) -> AbstractContextManager[Runner]:
    """Return the function that scores the blocks: `map` in this process, or workers on a Ray cluster."""
    if options.engine == "local":
        return nullcontext(map)
    from learnedgec.applications.corpus.ray import RayBlocks

    return RayBlocks(
        address=options.address,
        workers=options.workers,
        cpus=options.cpus_per_worker,
        gpus=options.gpus_per_worker,
    )


def _edit_rows(bound: BoundMetric, scores: Mapping[str, Score]) -> list[dict[str, Any]]:
    """Return a row for each edit that a metric counts, by system."""
    metric = bound.metric
    assert isinstance(metric, ShowsEdits)
    return [
        {"system": system, "metric": bound.label, **row}
        for system, score in scores.items()
        for row in metric.edit_rows(score.statistics)
    ]


def _attribution_rows(task: inputs.Task, annotator: str | None) -> list[dict[str, Any]]:
    """Attribute every system's edits, as ERRANT finds them; return a row per metric, system and edit.

    Args:
        task: the metrics, whose scores are attributed, and the sentences.
        annotator: the annotator that extracts the edits.

    Raises:
        UnknownNameError, ModelError: the annotator is unknown or not installed.
    """
    references = task.corpus.references
    # All systems are scored in one call.
    names, numbers, sources, hypotheses = task.corpus.outputs()
    references = references and references.select([n - 1 for n in numbers])
    annotator = annotator or default_annotator()
    settings: dict[str, Any] = {"edits": annotator, "runtime": task.metrics[0].runtime}
    return [
        {"system": name, "metric": metric.label, "sentence": number}
        | edit_cells(source, edit)
        | dict(zip(WORTH, worth, strict=True))
        for metric in task.metrics
        for name, number, source, attribution in zip(
            names,
            numbers,
            sources,
            attribute_edits(metric, sources, hypotheses, references, **settings),
            strict=True,
        )
        for edit, *worth in zip(
            attribution.edits, *(getattr(attribution, name) for name in WORTH), strict=True
        )
    ]
