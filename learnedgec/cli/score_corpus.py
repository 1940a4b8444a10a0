"""`learnedgec score --stream` and `--engine ray`: corpora that are scored in blocks, in a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse import ArgumentParser, Namespace

from learnedgec.cli.inputs import system_files, system_names
from learnedgec.cli.options import read_runtime
from learnedgec.cli.output import emit, notice
from learnedgec.cli.score_rows import flat_row, system_row
from learnedgec.cli.table import Layout
from learnedgec.errors import InputError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.labels import short_labels

if TYPE_CHECKING:
    from learnedgec.corpus.reading import Corpus
    from learnedgec.corpus.results import CorpusScores
    from learnedgec.execution.blocks import BlockRunner

# Options of corpora in blocks, and of their workers on a Ray cluster, with their defaults.
_OF_BLOCKS = {"out_dir": None, "block_size": 5000, "sentences": None, "parquet": None, "retries": 1}
_OF_RAY = {"address": None, "workers": 1, "cpus_per_worker": 1.0, "gpus_per_worker": 0.0}

# What belongs to scores of all sentences at once.
_ALONE = ("gold", "by", "show", "explain", "dry_run", "save_weights")

# The most notices about inputs that are printed.
_NOTICES = 3


def add_corpus_arguments(parser: ArgumentParser) -> None:
    """Add `--stream` and what goes with it."""
    group = parser.add_argument_group(
        "large corpora",
        "scored in blocks of sentences, each kept in a folder when it is done; the same command goes on "
        "where it was stopped, and tries again what failed",
    )
    group.add_argument(
        "--stream",
        action="store_true",
        help="read the input in blocks, so that memory does not grow with its size; .zst files and URLs "
        "(s3://…) are also accepted",
    )
    group.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="where to score blocks: in this process, or by workers on a Ray cluster (extra `ray`); ray "
        "implies --stream",
    )
    group.add_argument(
        "--out-dir", type=str, help="output folder; Ray's workers must have access to it"
    )
    group.add_argument(
        "--block-size",
        type=int,
        default=_OF_BLOCKS["block_size"],
        help="number of sentences in a block",
    )
    group.add_argument(
        "--sentences",
        choices=("jsonl", "parquet"),
        help="also write the scores of each sentence, to OUT_DIR/sentences",
    )
    group.add_argument(
        "--parquet",
        nargs="+",
        type=str,
        help="instead of --src and --hyp: one Parquet file, folder or URL per system with the columns "
        "source, hypothesis and, optionally, references (lists of texts) and id",
    )
    group.add_argument(
        "--retries",
        type=int,
        default=_OF_BLOCKS["retries"],
        help="number of further attempts after a block fails",
    )
    group.add_argument(
        "--address",
        type=str,
        help="ray: address of the cluster, such as auto (default: start one on this machine)",
    )
    group.add_argument(
        "--workers",
        type=int,
        default=_OF_RAY["workers"],
        help="ray: number of processes, each with its own models",
    )
    group.add_argument(
        "--cpus-per-worker",
        type=float,
        default=_OF_RAY["cpus_per_worker"],
        help="ray: processor cores of each process",
    )
    group.add_argument(
        "--gpus-per-worker",
        type=float,
        default=_OF_RAY["gpus_per_worker"],
        help="ray: GPUs of each process, such as 0.25",
    )


def wants_blocks(options: Namespace) -> bool:
    """Return whether the options ask for a corpus in blocks.

    Raises:
        InputError: they ask for what only goes with it, or for what does not.
    """
    blocks = bool(options.stream or options.engine == "ray")
    given = {name for name, usual in (_OF_BLOCKS | _OF_RAY).items() if options[name] != usual}
    for name in sorted(given):
        if name in _OF_RAY and options.engine != "ray":
            raise InputError(f"{_flag(name)} is for a Ray cluster; give --engine ray, too.")
        if not blocks:
            raise InputError(f"{_flag(name)} is for large corpora; give --stream, too.")
    if not blocks:
        return False
    for name in _ALONE:
        if options[name]:
            raise InputError(f"{_flag(name)} is for input that is read whole; leave out --stream.")
    if options.level == "sentence":
        raise InputError("with --stream, scores of sentences are written by --sentences jsonl.")
    if not options.out_dir:
        raise InputError("no folder was given for the blocks; name one with --out-dir.")
    return True


def score_blocks(metrics: Sequence[Metric], options: Namespace) -> int:
    """Score a corpus and print what came of it; return 1 if a block failed, else 0."""
    from learnedgec.corpus.scoring import score_corpus

    runtime = read_runtime(options)
    folder = Path(options.out_dir)
    with _opened(options, folder) as corpus, _runner(options) as runner:
        found = score_corpus(
            metrics,
            corpus,
            folder,
            runtime=runtime,
            runner=runner,
            sentences=options.sentences,
            retries=options.retries,
        )
    _print(found, options)
    for text in found.notices[:_NOTICES]:
        notice(text)
    if len(found.notices) > _NOTICES:
        notice(
            f"{len(found.notices) - _NOTICES:,} more such notices are in {folder / 'scores.json'}."
        )
    for block in found.failed:
        notice(str(block))
    if found.failed:
        notice(
            f"{found.size - found.scored:,} of {found.size:,} sentences were not scored; run the same "
            "command again to try only these."
        )
        return 1
    return 0


@contextmanager
def _opened(options: Namespace, folder: Path) -> Iterator[Corpus]:
    """Open what the input flags name."""
    from learnedgec.corpus.reading import open_lines, open_records

    copies = folder / "input"
    if options.parquet or options.jsonl:
        if options.src or options.hyp or options.ref or (options.parquet and options.jsonl):
            raise InputError(
                "--jsonl and --parquet each hold everything; give one of them, and leave out --src, --hyp "
                "and --ref."
            )
        paths = options.parquet or options.jsonl
        systems = dict(zip(system_names(paths), paths, strict=True))
        kind: Any = "parquet" if options.parquet else "jsonl"
        with open_records(systems, kind, options.block_size, copies) as corpus:
            yield corpus
        return
    if not options.hyp:
        raise InputError("no system output was given; name at least one file with --hyp.")
    if not options.src:
        raise InputError("no source was given; name the file with the source sentences by --src.")
    paths = system_files(options.hyp)
    systems = dict(zip(system_names(paths), paths, strict=True))
    with open_lines(options.src, systems, options.ref or (), options.block_size, copies) as corpus:
        yield corpus


@contextmanager
def _runner(options: Namespace) -> Iterator[BlockRunner]:
    """Start what scores the blocks."""
    if options.engine == "local":
        from learnedgec.execution.blocks import LocalBlocks

        yield LocalBlocks()
        return
    from learnedgec.execution.ray import RayBlocks

    with RayBlocks(
        address=options.address,
        workers=options.workers,
        cpus=options.cpus_per_worker,
        gpus=options.gpus_per_worker,
    ) as runner:
        yield runner


def _print(found: CorpusScores, options: Namespace) -> None:
    """Print the corpus scores as those of a small corpus are printed."""
    from learnedgec.corpus.results import as_payload

    if not found.scores:
        return
    payload = as_payload(found)
    table = [
        system_row(system, found.scores, everything=options.wide)
        for system in next(iter(found.scores.values()))
    ]
    names = [metric.label for metric in found.scores]
    emit(
        [flat_row(record) for record in payload["scores"]],
        options,
        payload=payload,
        caption=f"Scores by {', '.join(short_labels(names).values())} of {len(table)} systems on "
        f"{found.scored:,} sentences.",
        table_rows=table,
        layout=Layout(groups=("metric",), keys=("system", "sentence"), names=names),
        signatures=[next(iter(systems.values())).signature for systems in found.scores.values()],
    )


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
