"""`learnedgec score --stream` and `--engine ray`: corpora that are scored in blocks, in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jsonargparse import ArgumentParser, Namespace
from jsonargparse.typing import NonNegativeFloat, NonNegativeInt, PositiveInt

from learnedgec.applications.corpus import CorpusScores, Runner, score_corpus
from learnedgec.applications.corpus.reading import Corpus, open_lines, open_records
from learnedgec.cli import flags
from learnedgec.cli.inputs import by_system, system_files
from learnedgec.cli.output import notice
from learnedgec.errors import InputError
from learnedgec.metrics.bound import BoundMetric

# Options that need blocks, and those that need all sentences at once.
_WITH_BLOCKS = ("out_dir", "sentences", "parquet", "allow_failures")
_WITHOUT_BLOCKS = ("gold", "by", "show", "dry_run", "save_weights")

# The maximum number of notices about inputs that are printed; scores.json has all of them.
_MAX_NOTICES = 3


@dataclass
class _Blocks:
    """How a corpus is divided into blocks, and the workers on a Ray cluster that score them.

    Attributes:
        stream: read the input in blocks, so that memory does not grow with its size; .zst files and URLs
            (s3://…) are also accepted.
        engine: where to score blocks: in this process, or by workers on a Ray cluster (extra `ray`); ray
            implies --stream.
        out_dir: output folder; Ray's workers must have access to it.
        block_size: number of sentences in a block.
        sentences: also write the scores of each sentence, to OUT_DIR/sentences.
        parquet: instead of --src and --hyp: one Parquet file, folder or URL per system with the columns
            source, hypothesis and, optionally, references (lists of texts) and id.
        retries: number of further attempts after a block fails.
        allow_failures: print the scores of the other blocks if some fail, and exit with 1.
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
    parquet: list[str] | None = None
    retries: NonNegativeInt = 1
    allow_failures: bool = False
    address: str | None = None
    workers: PositiveInt = 1
    cpus_per_worker: NonNegativeFloat = 1.0
    gpus_per_worker: NonNegativeFloat = 0.0


def add_corpus(parser: ArgumentParser) -> None:
    """Add the flags of large corpora: `--stream`, `--engine` and those that need one of them."""
    about = (
        "The input is scored in blocks of sentences, and the scores of each block are written to --out-dir. "
        "The same command continues an interrupted run, and tries failed blocks again."
    )
    flags.add_fields(parser, _Blocks, title="large corpora", description=about)


def wants_blocks(options: Namespace) -> bool:
    """Return whether the options ask for a corpus in blocks, after checking that they fit together.

    Raises:
        InputError: an option needs `--stream` or `--engine ray`, or excludes them; or no folder was given.
    """
    if not options.stream and options.engine != "ray":
        flags.check_absent(options, _WITH_BLOCKS, "only --stream and --engine ray score in blocks")
        return False
    flags.check_absent(options, _WITHOUT_BLOCKS, "a corpus in blocks is not read whole")
    if options.level == "sentence":
        raise InputError("with --stream, scores of sentences are written by --sentences jsonl.")
    flags.require(options, out_dir="scores")
    return True


def score_blocks(metrics: Sequence[BoundMetric], options: Namespace) -> CorpusScores:
    """Score a corpus in blocks."""
    runtime = metrics[0].runtime
    with _open_corpus(options) as corpus, _start_runner(options) as runner:
        return score_corpus(
            metrics,
            corpus,
            Path(options.out_dir),
            runtime=runtime,
            runner=runner,
            sentences=options.sentences,
            retries=options.retries,
            allow_failures=options.allow_failures,
        )


def report_failures(result: CorpusScores, folder: str) -> int:
    """Print notices about blocks, and which ones failed; return 1 if any failed, else 0."""
    notice(*result.notices[:_MAX_NOTICES])
    if len(result.notices) > _MAX_NOTICES:
        more, place = len(result.notices) - _MAX_NOTICES, Path(folder) / "scores.json"
        notice(f"{more:,} more such notices are in {place}.")
    notice(*map(str, result.failed))
    if result.failed:
        notice(
            f"{result.size - result.scored:,} of {result.size:,} sentences were not scored; run the same "
            "command again to try only these."
        )
    return 1 if result.failed else 0


def _open_corpus(options: Namespace) -> AbstractContextManager[Corpus]:
    """Open the corpus that the input flags name, with decompressed copies in the output folder."""
    copies = Path(options.out_dir) / "input"
    kinds: tuple[Literal["jsonl", "parquet"], ...] = ("jsonl", "parquet")
    for kind in kinds:
        if options[kind]:
            others = ("src", "hyp", "ref", *(other for other in kinds if other != kind))
            flags.check_absent(options, others, f"--{kind} contains the whole input")
            return open_records(by_system(options[kind]), kind, options.block_size, copies)
    flags.require(options, hyp="out/*.txt", src="source.txt")
    systems = by_system(system_files(options.hyp))
    return open_lines(options.src, systems, options.ref or (), options.block_size, copies)


def _start_runner(options: Namespace) -> AbstractContextManager[Runner]:
    """Return what runs the blocks: `map` in this process, or workers on a Ray cluster."""
    if options.engine == "local":
        return nullcontext(map)
    from learnedgec.applications.corpus.ray import RayBlocks

    return RayBlocks(
        address=options.address,
        workers=options.workers,
        cpus=options.cpus_per_worker,
        gpus=options.gpus_per_worker,
    )
