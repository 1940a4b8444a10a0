"""Score a corpus block by block: store the statistics of each block, and compute corpus scores from all.

A run has a folder:

    run.json            metrics, signatures, files with their SHA-256, block size
    blocks/             an entry for each block: result, time and machine
    statistics/         the statistics from which corpus scores are computed
    sentences/          if requested, the scores of sentences, one file per block, in the order of the input
    scores.json         the corpus scores

An interrupted run continues with the blocks that are not done. A block that fails is reported with its lines;
the scores are those of the other blocks, and the next run tries it again.
"""

from __future__ import annotations

import dataclasses
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from filelock import FileLock, Timeout

from learnedgec._version import __version__
from learnedgec.applications.corpus.reading import Corpus, CorpusBlock
from learnedgec.applications.corpus.results import (
    CorpusScore,
    CorpusScores,
    FailedBlock,
    as_payload,
    lines_of,
)
from learnedgec.data.references import Reference, References
from learnedgec.data.rows import plain
from learnedgec.data.text import read_json, write_json
from learnedgec.errors import ConfigError, InputError, ModelError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.needs import check_metrics
from learnedgec.metrics.statistics import Statistics, joined_statistics
from learnedgec.runtime.blocks import (
    BlockEntries,
    BlockEntry,
    BlockRunner,
    BlockWork,
    LocalBlocks,
    block_path,
)
from learnedgec.runtime.digests import key_of
from learnedgec.runtime.notices import collected
from learnedgec.runtime.progress import track_pace
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.writing import atomic_path, check_writable
from learnedgec.scoring import shared_statistics
from learnedgec.types import Array

__all__ = ["SentenceFormat", "score_corpus"]

SentenceFormat: TypeAlias = Literal["jsonl", "parquet"]
"""How the scores of sentences are written."""


@dataclass(frozen=True)
class _BlockScorer:
    """The work on a block, which is sent to the process that does it."""

    metrics: tuple[Metric, ...]
    corpus: Corpus
    runtime: Runtime
    folder: Path
    run: str
    sentences: SentenceFormat | None

    def __call__(self, block: int) -> dict[str, Any]:
        """Score a block, store its statistics, and return the fields of its entry."""
        given = self.corpus.read(block)
        first, last = self.corpus.lines(block)
        counts = [len(row) for row in given.references] if given.references is not None else [0]
        scores: dict[tuple[str, Metric], Any] = {}
        arrays: dict[str, Array] = {}
        with collected() as notices:
            for metric, statistics_of in shared_statistics(
                self.metrics,
                lambda m: m.statistics_of_systems(
                    given.sources, given.systems, given.references, runtime=self.runtime
                ),
            ):
                for system, statistics in statistics_of.items():
                    prefix = self._prefix(metric, system)
                    arrays |= {prefix + name: array for name, array in statistics.arrays.items()}
                    if self.sentences:
                        scores[system, metric] = metric.sentence_scores(statistics)
        with atomic_path(self._path(block)) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        if self.sentences:
            self._write(block, given, scores)
        return {
            "first": first,
            "last": last,
            "run": self.run,
            "references": [min(counts), max(counts)],
            "sentences": self.sentences,
            "notices": list(dict.fromkeys(map(str, notices))),
        }

    def statistics(
        self, metric: Metric, system: str, blocks: Sequence[int]
    ) -> Iterator[Statistics]:
        """Yield the statistics of the given blocks.

        Raises:
            InputError: a file is missing or damaged.
        """
        prefix = self._prefix(metric, system)
        for block in blocks:
            try:
                # NumPy would leave a damaged file open.
                with self._path(block).open("rb") as opened, np.load(opened) as file:
                    names = [name for name in file.files if name.startswith(prefix)]
                    arrays = {name.removeprefix(prefix): file[name] for name in names}
                yield Statistics(arrays)
            except (OSError, ValueError, zipfile.BadZipFile, zlib.error, InputError):
                entry = BlockEntries(self.folder / "blocks").path(block)
                raise InputError(
                    f"the statistics of block {block}, {self._path(block)}, are missing or damaged; delete "
                    f"{entry} and run again."
                ) from None

    def _path(self, block: int) -> Path:
        """Return the file of a block's statistics."""
        return block_path(self.folder / "statistics", block, ".npz")

    def _prefix(self, metric: Metric, system: str) -> str:
        """Return the prefix of the names of a metric's and a system's arrays in that file."""
        return f"{self.metrics.index(metric)}.{list(self.corpus.systems).index(system)}."

    def _write(
        self, block: int, given: CorpusBlock, scores: Mapping[tuple[str, Metric], Any]
    ) -> None:
        """Write the scores of a block's sentences: a row for each sentence, system and metric."""
        columns: dict[str, list[Any]] = {
            name: [] for name in ("sentence", "id", "system", "metric", "score")
        }
        for place, name in enumerate(given.ids):
            for (system, metric), values in scores.items():
                row = (given.first + place, name, system, metric.label, float(values[place]))
                for column, value in zip(columns.values(), row, strict=True):
                    column.append(value)
        path = sentences_path(self.folder, block, self.sentences or "jsonl")
        with atomic_path(path) as temporary:
            if self.sentences == "parquet":
                import pyarrow
                import pyarrow.parquet

                pyarrow.parquet.write_table(pyarrow.table(columns), temporary)
                return
            with temporary.open("w", encoding="utf-8") as file:
                for row in zip(*columns.values(), strict=True):
                    record = plain(dict(zip(columns, row, strict=True)))
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")


def sentences_path(folder: Path, block: int, kind: SentenceFormat) -> Path:
    """Return the path of the scores of a block's sentences; names sort in the order of the input."""
    return folder / "sentences" / f"{block:09}.{kind}"


def score_corpus(
    metrics: Sequence[Metric],
    corpus: Corpus,
    folder: Path,
    *,
    runtime: Runtime = Runtime(),
    runner: BlockRunner = LocalBlocks(),
    sentences: SentenceFormat | None = None,
    retries: int = 1,
) -> CorpusScores:
    """Score a corpus with metrics in blocks, and continue an interrupted run.

    Corpus scores equal those of scoring all sentences at once: exactly for metrics that count, and to 1e-6
        for models, whose results depend slightly on the batch.

    Args:
        metrics: one or more metrics.
        corpus: a corpus from `open_lines` or `open_records`.
        folder: folder of the run; all workers need access to it under this path.
        runtime: how to run; `progress` shows speed and remaining time.
        runner: runner that processes the blocks.
        sentences: format in which to write the scores of sentences, if requested.
        retries: maximum number of further attempts at a block after an error.

    Raises:
        ConfigError: the folder belongs to another run, or another process is using it.
        InputError: a metric needs references and there are none, or it cannot score in blocks.
        ModelError: a model does not exist, or was replaced during the run.
    """
    folder = folder.absolute()
    for metric in metrics:
        if sentences is not None:
            metric.check_alone()
        elif metric.statistics_depend_on_others:
            raise InputError(f"{metric.label}: {metric.statistics_depend_on_others}.")
    needing = [metric.name for metric in metrics if metric.needs_references]
    if needing and not corpus.has_references:
        raise InputError(
            f"{needing[0]} needs references, and there are none; give files of them, or records with the "
            "key 'references'."
        )
    check_metrics(metrics, runtime)
    check_writable(folder / "run.json")
    with _alone(folder):
        about = _about(metrics, corpus, runtime)
        _check_run(folder / "run.json", about)
        quiet = dataclasses.replace(runtime, progress=False)
        work = _BlockScorer(
            tuple(metrics), corpus, quiet, folder, key_of(json.dumps(about)), sentences
        )
        entries = BlockEntries(folder / "blocks")
        done = {block for block in range(corpus.blocks) if _is_done(entries.read(block), work)}
        left = [block for block in range(corpus.blocks) if block not in done]
        finished = runner.run(BlockWork(work, entries, retries), left) if left else iter(())
        sizes = [last - first + 1 for first, last in map(corpus.lines, range(corpus.blocks))]
        counted = ((entry, sizes[entry["block"]]) for entry in finished)
        for _ in track_pace(
            counted, corpus.size, sum(sizes[block] for block in done), show=runtime.progress
        ):
            pass
        if _about(metrics, corpus, runtime) != about:
            raise ModelError(
                f"a model was replaced while the corpus was scored; delete {folder} and score it again."
            )
        scores = _aggregate(work, entries)
        write_json(folder / "scores.json", as_payload(scores))
        return scores


def _aggregate(work: _BlockScorer, entries: BlockEntries) -> CorpusScores:
    """Return the scores from the statistics of all finished blocks."""
    good: list[int] = []
    failed = []
    notices: list[str] = []
    low, high, scored = None, 0, 0
    for block in range(work.corpus.blocks):
        first, last = work.corpus.lines(block)
        entry = entries.read(block)
        if entry is not None and _is_done(entry, work):
            good.append(block)
            scored += last - first + 1
            notices += [f"{lines_of(first, last)}: {text}" for text in entry.get("notices", ())]
            least, most = entry["references"]
            low, high = least if low is None else min(low, least), max(high, most)
        else:
            why = "it was not scored" if entry is None else entry.get("error", "it was not scored")
            failed.append(FailedBlock(first, last, why))
    scores: dict[Metric, dict[str, CorpusScore]] = {}
    references = References(tuple((Reference(""),) * count for count in (low or 0, high)))
    for metric in work.metrics if good else ():
        signature = metric.signature(references if high else None, runtime=work.runtime)
        if failed:
            signature += f"|sentences:{scored}/{work.corpus.size}"
        scores[metric] = {}
        for system in work.corpus.systems:
            with joined_statistics(
                partial(work.statistics, metric, system, good), str(work.folder)
            ) as statistics:
                scores[metric][system] = CorpusScore(
                    metric.aggregate(statistics), metric.details(statistics), signature
                )
    return CorpusScores(scores, work.corpus.size, scored, tuple(failed), tuple(notices))


def _is_done(entry: BlockEntry | None, work: _BlockScorer) -> bool:
    """Return whether a block was scored by this run with everything that is requested."""
    return (
        entry is not None
        and entry.get("status") == "done"
        and entry.get("run") == work.run
        and (work.sentences is None or entry.get("sentences") == work.sentences)
    )


def _about(metrics: Sequence[Metric], corpus: Corpus, runtime: Runtime) -> dict[str, Any]:
    """Return everything that the statistics of a run depend on, as values for JSON."""
    return {
        "learnedgec": __version__,
        "metrics": [metric.signature(runtime=runtime) for metric in metrics],
        "systems": list(corpus.systems),
        "files": corpus.describe(),
        "block_size": corpus.block_size,
    }


def _check_run(path: Path, about: Mapping[str, Any]) -> None:
    """Write the settings of a run, or raise `ConfigError` if the folder belongs to another run."""
    if not path.exists():
        write_json(path, about)
        return
    before = read_json(path)
    for key, what in {
        "files": "other input",
        "systems": "other systems",
        "metrics": "other metrics, code, models or precision",
        "block_size": "another block size",
        "learnedgec": "another version",
    }.items():
        if not isinstance(before, dict) or before.get(key) != about[key]:
            raise ConfigError(
                f"{path.parent} holds a run with {what}; choose another folder, or delete this one."
            )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock a run's folder; the lock is released however the process ends."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ConfigError(
            f"another process is using {folder}; wait for it, or choose another folder."
        ) from None
    try:
        yield
    finally:
        lock.release()
