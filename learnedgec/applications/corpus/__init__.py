"""Score corpora that are too large for memory or for one machine, block by block."""

from __future__ import annotations

import dataclasses
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, get_args

import numpy as np

from learnedgec._version import __version__
from learnedgec.applications.corpus.reading import CorpusFiles
from learnedgec.data.references import Reference, References
from learnedgec.data.text import read_json, write_json, write_jsonl
from learnedgec.errors import ConfigError, InputError, check_choice, collected
from learnedgec.metrics.bound import BoundMetric
from learnedgec.metrics.contract import Statistics, check_corpus, score_table
from learnedgec.runtime.files import PathLike, atomic_path, check_writable
from learnedgec.runtime.runtime import Runtime, track
from learnedgec.scoring import AnyMetric, bind, shared_statistics
from learnedgec.table import plain
from learnedgec.types import Array

SentenceFormat: TypeAlias = Literal["jsonl", "parquet"]
"""The formats of files with the scores of sentences."""

# The errors of reading a damaged file of a block.
_DAMAGED = (OSError, ValueError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True, slots=True)
class CorpusScore:
    """The score of one system by one metric over the finished blocks.

    Attributes:
        value: the corpus score.
        details: further corpus numbers.
        signature: signature as in `Score`; if blocks failed, it also has the number of scored sentences.
    """

    value: float
    details: Mapping[str, float]
    signature: str


@dataclass(frozen=True, slots=True)
class CorpusScores:
    """The result of scoring a corpus.

    Attributes:
        scores: label of a metric -> system -> score.
        size: number of sentences in the corpus.
        notices: warnings of metrics about blocks, such as truncated inputs, with their lines.
    """

    scores: Mapping[str, Mapping[str, CorpusScore]]
    size: int
    notices: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the rows of `score_table`, the number of sentences and the notices for JSON."""
        rows = score_table(self.scores).records()
        return {"rows": rows, "sentences": self.size, "notices": [*self.notices]}


@dataclass(frozen=True)
class BlockScorer:
    """A function that scores a block and stores its statistics; it can be sent to other processes.

    Attributes:
        metrics: the metrics.
        corpus: the corpus.
        folder: folder of the run.
        sentences: format of the scores of sentences, if they are requested.
        retries: maximum number of further attempts after an error. Errors of the input are not retried.
    """

    metrics: tuple[BoundMetric, ...]
    corpus: CorpusFiles
    folder: Path
    sentences: SentenceFormat | None
    retries: int

    def __call__(self, block: int) -> tuple[int, str]:
        """Score a block; return its number, and the reason if it failed."""
        reason = ""
        for _ in range(self.retries + 1):
            try:
                self._score(block)
            except InputError as error:
                return block, str(error)
            except Exception as error:
                # Any error fails this block alone: the run reports the error and scores the other blocks.
                reason = f"{type(error).__name__}: {error}"
            else:
                return block, ""
        return block, reason

    def entry(self, block: int) -> dict[str, Array] | None:
        """Return the `notices` and the least and largest number of `references` of a block, if it is done."""
        if self.sentences and not self._sentences_path(block).exists():
            return None
        return self._arrays(block, "entry.") or None

    def statistics(
        self, metric: BoundMetric, system: str, blocks: Sequence[int]
    ) -> Iterator[Statistics]:
        """Yield the statistics of finished blocks.

        Args:
            metric: one of the metrics.
            system: one of the corpus's systems.
            blocks: numbers of finished blocks.

        Raises:
            InputError: a file is damaged.
        """
        for block in blocks:
            arrays = self._arrays(block, self._prefix(metric, system))
            if arrays is None:
                raise InputError(f"{self._path(block)} is damaged; delete it and run again.")
            yield Statistics(arrays)

    def _arrays(self, block: int, prefix: str) -> dict[str, Array] | None:
        """Return a block's arrays whose names have a prefix, without it; `None` for a damaged file."""
        try:
            # NumPy would leave a damaged file open.
            with self._path(block).open("rb") as opened, np.load(opened) as file:
                names = [name for name in file.files if name.startswith(prefix)]
                return {name.removeprefix(prefix): file[name] for name in names}
        except _DAMAGED:
            return None

    def _score(self, block: int) -> None:
        runtime = self.metrics[0].runtime
        corpus, ids = self.corpus.read(block, runtime.tokenise)
        counts = [len(row) for row in corpus.references] if corpus.references is not None else [0]
        scores: dict[tuple[str, str], Any] = {}
        arrays: dict[str, Array] = {}
        with collected() as notices:
            check_corpus([bound.metric for bound in self.metrics], corpus, runtime)
            for metric, statistics_of in shared_statistics(
                self.metrics, lambda m: m.compute(corpus)
            ):
                for system, statistics in statistics_of.items():
                    prefix = self._prefix(metric, system)
                    arrays |= {prefix + name: array for name, array in statistics.arrays.items()}
                    if self.sentences:
                        scores[system, metric.label] = metric.metric.sentence_scores(statistics)
        if self.sentences:
            self._write_sentences(block, corpus.first, ids, scores)
        arrays["entry.references"] = np.array([min(counts), max(counts)])
        arrays["entry.notices"] = np.array(list(dict.fromkeys(map(str, notices))), dtype=np.str_)
        with atomic_path(self._path(block)) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

    def _path(self, block: int) -> Path:
        return self.folder / "blocks" / f"{block:09}.npz"

    def _sentences_path(self, block: int) -> Path:
        return self.folder / "sentences" / f"{block:09}.{self.sentences}"

    def _prefix(self, metric: BoundMetric, system: str) -> str:
        """Return the prefix of the names of a metric's and a system's arrays in a block's file."""
        return f"{self.metrics.index(metric)}.{list(self.corpus.systems).index(system)}."

    def _write_sentences(
        self, block: int, first: int, ids: Sequence[Any], scores: Mapping[tuple[str, str], Any]
    ) -> None:
        """Write the scores of a block's sentences: a row for each sentence, system and metric."""
        rows = [
            {
                "sentence": first + place,
                "id": name,
                "system": system,
                "metric": label,
                "score": float(values[place]),
            }
            for place, name in enumerate(ids)
            for (system, label), values in scores.items()
        ]
        path = self._sentences_path(block)
        if self.sentences == "jsonl":
            write_jsonl(path, [plain(row) for row in rows])
            return
        import pyarrow
        import pyarrow.parquet

        with atomic_path(path) as temporary:
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), temporary)


Runner: TypeAlias = Callable[[BlockScorer, Sequence[int]], Iterable[tuple[int, str]]]
"""A function such as `map` or `RayBlocks`, which calls the scorer with the number of each block and yields
its results."""


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """How the blocks of a corpus are scored, and what is written about them.

    Attributes:
        runner: the function that scores blocks; by default `map`, in this process.
        sentences: format in which to write the scores of sentences, if requested.
        retries: maximum number of further attempts at a block after an error.

    Raises:
        ConfigError: there is no such format of sentences.
    """

    runner: Runner = map
    sentences: SentenceFormat | None = None
    retries: int = 1

    def __post_init__(self) -> None:
        if self.sentences is not None:
            check_choice("sentences", self.sentences, get_args(SentenceFormat))


def score_corpus(
    metrics: AnyMetric | Sequence[AnyMetric],
    corpus: CorpusFiles,
    folder: PathLike,
    blocks: Blocks = Blocks(),
    *,
    runtime: Runtime = Runtime(),
) -> CorpusScores:
    """Score a corpus with metrics in blocks, and continue an interrupted run.

    Corpus scores equal the scores of all sentences at once: exactly for metrics that count, and to 1e-6
    for models, whose results depend slightly on the batch.

    Args:
        metrics: one or more metrics.
        corpus: a corpus from `open_lines` or `open_records`.
        folder: folder of the run; all workers need access to it under this path.
        blocks: how blocks are scored.
        runtime: how to run.

    Raises:
        ConfigError: the folder belongs to another run.
        InputError: a metric needs references and there are none, or it cannot score in blocks; or a block
            could not be scored, after all others have been.
        ModelError: a model does not exist.
    """
    folder = Path(folder).absolute()
    quiet = dataclasses.replace(runtime, progress=False).bound()
    bound = [dataclasses.replace(metric, runtime=quiet) for metric in bind(metrics, quiet)]
    _check_blocks(bound, corpus, blocks.sentences)
    check_writable(folder / "run.json")
    _check_run(folder / "run.json", bound, corpus)
    scorer = BlockScorer(tuple(bound), corpus, folder, blocks.sentences, blocks.retries)
    unscored = [block for block in range(corpus.blocks) if scorer.entry(block) is None]
    results = blocks.runner(scorer, unscored) if unscored else ()
    errors = dict(track(results, "blocks", total=len(unscored), show=runtime.progress))
    scores = _aggregate(scorer, errors)
    write_json(folder / "scores.json", scores.to_dict())
    return scores


def _check_blocks(
    metrics: Sequence[BoundMetric], corpus: CorpusFiles, sentences: SentenceFormat | None
) -> None:
    """Raise `InputError` unless the metrics can score blocks by themselves, and have what they need."""
    for bound in metrics:
        metric = bound.metric
        if sentences is not None:
            metric.check_alone()
        elif metric.statistics_depend_on_others:
            raise InputError(f"{bound.label}: {metric.statistics_depend_on_others}.")
        if metric.needs_references and not corpus.has_references:
            raise InputError(
                f"{metric.name} needs references, and there are none; give files of them, or records with "
                "the key 'references'."
            )


def _aggregate(scorer: BlockScorer, errors: Mapping[int, str]) -> CorpusScores:
    """Return the scores from the statistics of all blocks, or raise `InputError` if some failed."""
    corpus = scorer.corpus
    failed: list[str] = []
    unscored = 0
    notices: list[str] = []
    counts: list[int] = []
    for block in range(corpus.blocks):
        first, last = corpus.lines(block)
        entry = scorer.entry(block)
        if entry is None:
            attempts = scorer.retries + 1
            killed = (
                f"its worker was killed in each attempt ({attempts}), such as for want of memory"
            )
            was = "was" if first == last else "were"
            reason = (errors.get(block) or killed).removesuffix(".")
            failed.append(f"{_lines(first, last)} {was} not scored: {reason}")
            unscored += last - first + 1
            continue
        notices += [f"{_lines(first, last)}: {text}" for text in entry["notices"]]
        counts += entry["references"].tolist()
    if failed:
        more = [f"{len(failed) - 3:,} more blocks were not scored"] if len(failed) > 3 else []
        raise InputError(
            f"{'; '.join(failed[:3] + more)}; {unscored:,} of {corpus.size:,} sentences were not scored, so "
            "there are no scores; ",
            hint="call it again to try only these.",
            flag="run the same command again to try only these.",
        )
    # A signature says the least and the largest number of references of a sentence.
    ends = ((Reference(""),) * count for count in (min(counts), max(counts)))
    references = References(tuple(ends)) if max(counts) else None
    scores: dict[str, dict[str, CorpusScore]] = {}
    for metric in scorer.metrics:
        signature = metric.signature(references)
        scores[metric.label] = {}
        for system in corpus.systems:
            read = partial(scorer.statistics, metric, system, range(corpus.blocks))
            with joined_statistics(read, str(scorer.folder)) as statistics:
                value = metric.metric.aggregate(statistics)
                details = metric.metric.details(statistics)
            scores[metric.label][system] = CorpusScore(value, details, signature)
    return CorpusScores(scores, corpus.size, tuple(notices))


def _check_run(path: Path, metrics: Sequence[BoundMetric], corpus: CorpusFiles) -> None:
    """Write what a run's statistics depend on, or raise `ConfigError` if the folder has another run."""
    files = [
        {"path": file.path, "sha256": file.sha256, "sentences": file.size} for file in corpus.files
    ]
    about = {
        "input": files,
        "systems": list(corpus.systems),
        "metrics": [metric.signature() for metric in metrics],
        "block size": corpus.files[0].block_size,
        "version": __version__,
    }
    if not path.exists():
        write_json(path, about)
        return
    before = read_json(path)
    for key, value in about.items():
        if before.get(key) != value:
            raise ConfigError(
                f"{path.parent} holds a run with other {key}; choose another folder, or delete this one."
            )


def _lines(first: int, last: int) -> str:
    """Return the lines of some sentences as text, such as `lines 1 to 5,000` or `line 7`."""
    return f"line {first:,}" if first == last else f"lines {first:,} to {last:,}"


@contextmanager
def joined_statistics(
    read: Callable[[], Iterable[Statistics]], folder: str | None = None
) -> Iterator[Statistics]:
    """Yield the statistics of a corpus that come in blocks, as one, without records.

    The arrays lie in temporary files that are mapped into memory, so that they may be larger than it. Arrays
    of references have as many places as the sentence with most references needs.

    Args:
        read: returns the blocks in the order of the sentences, at each of two calls.
        folder: for the temporary files; the system's own if absent.

    Example:
        >>> blocks = [Statistics({"length": np.array([1.0, 2.0])}), Statistics({"length": np.array([3.0])})]
        >>> with joined_statistics(lambda: blocks) as statistics:
        ...     statistics["length"].tolist()
        [1.0, 2.0, 3.0]
    """
    kinds: dict[str, tuple[np.dtype, tuple[int, ...]]] = {}
    rows = 0
    for block in read():
        rows += len(block)
        for name, array in block.arrays.items():
            dtype, shape = kinds.get(name, (array.dtype, array.shape[1:]))
            widest = tuple(map(max, zip(shape, array.shape[1:], strict=True)))
            kinds[name] = np.result_type(dtype, array.dtype), widest
    with ExitStack() as files:
        arrays: dict[str, Array] = {}
        for name, (dtype, shape) in kinds.items():
            file: IO[bytes] = files.enter_context(tempfile.TemporaryFile(dir=folder))
            arrays[name] = np.memmap(file, dtype, "w+", shape=(rows, *shape))
        start = 0
        for block in read():
            stop = start + len(block)
            for name, array in block.arrays.items():
                place = (slice(start, stop), *map(slice, array.shape[1:]))
                arrays[name][place] = array
            start = stop
        yield Statistics(arrays)
