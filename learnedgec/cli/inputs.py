"""Read the sources, outputs and references that the input flags name, and the metrics that score them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace

from learnedgec.cli import flags
from learnedgec.cli.output import notice, notice_daily
from learnedgec.data.benchmarks import expand_benchmarks, load_benchmark
from learnedgec.data.corpus import Corpus
from learnedgec.data.documents import align_documents, is_essays, language_of, read_documents
from learnedgec.data.m2 import is_m2, read_m2
from learnedgec.data.records import (
    check_same_sentences,
    check_sentence_record,
    read_records,
    suffix,
)
from learnedgec.data.references import References
from learnedgec.data.sentences import Sentences
from learnedgec.data.text import check_lengths, check_sources, read_lines
from learnedgec.errors import InputError, UnknownNameError
from learnedgec.metrics.bound import BoundMetric
from learnedgec.metrics.contract import Statistics, check_corpus
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import contamination, count_tuned_on, shared_statistics

LINES = "UTF-8 text, one sentence per line; a file may be gzipped (.gz), - is stdin"
"""What the files of sentences hold, for the help of a group of arguments."""


# Hidden files and READMEs in a folder of outputs are no outputs, and Markdown has no lines of sentences.
_NO_OUTPUT = re.compile(r"^\.|^readme(\.|$)", re.IGNORECASE)
_NO_LINES = re.compile(rf"{_NO_OUTPUT.pattern}|\.md$", re.IGNORECASE)


@dataclass
class _Files:
    """The files that are read.

    Attributes:
        src: the source sentences (default: those of --gold).
        hyp: system outputs, or a folder of them (all its files except README, *.md and hidden ones); a
            system's name is the stem of its file.
        ref: reference texts, one file per annotator.
        gold: references with gold edits, as an M2 file.
        table: instead of the above: a table for each system, as JSON Lines (.jsonl), .csv, .tsv or .parquet,
            with the columns source, hypothesis and, optionally, references (a text, or a list of texts or
            nulls); or, with --columns.outputs, one table with a column for each system.
        columns: the names of columns of --table: --columns.source learner, or {source: learner, outputs:
            [ours, theirs], references: [first, second]}.
        documents: align texts whose sentences differ in number, within each document: essays in Markdown as
            in MultiGEC-2025 (### essay_id = 1), or lines with a blank line after each document. Intervals
            and tests draw whole documents.
    """

    src: str | None = None
    hyp: list[str] | None = None
    ref: list[str] | None = None
    gold: str | None = None
    table: list[str] | None = None
    columns: dict[str, Any] | None = None
    documents: bool = False


@dataclass
class Baseline:
    """Option that names the baseline.

    Attributes:
        baseline: the output that the others are compared with, in addition to --hyp, or the name of a system
            among those.
    """

    baseline: str | None = None


@dataclass
class Pool:
    """Systems of a benchmark with which the outputs are compared.

    Attributes:
        pool: add the systems of a benchmark or study, such as seeda, with its sentences and references;
            --src, if it is given, tells which lines of --hyp they are.
    """

    pool: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """The metrics and the texts that a command scores.

    Attributes:
        corpus: the texts.
        files: the files that they were read from.
        metrics: the metrics.
        baseline: the system that others are compared with, which is the first; `None` if there is none.
    """

    corpus: Corpus
    files: list[str]
    metrics: list[BoundMetric] = field(default_factory=list)
    baseline: str | None = None

    @property
    def labels(self) -> list[str]:
        """The metrics' labels."""
        return [metric.label for metric in self.metrics]

    def statistics(self) -> Iterator[tuple[BoundMetric, Mapping[str, Statistics]]]:
        """Yield each metric with the statistics of each system."""
        return shared_statistics(self.metrics, lambda metric: metric.compute(self.corpus))

    @property
    def signatures(self) -> dict[str, str]:
        """The signature of each metric's scores, by label."""
        return {m.label: m.signature(self.corpus.references) for m in self.metrics}


def add_inputs(parser: ArgumentParser, *, documents: bool = False) -> None:
    """Add `--src`, `--hyp`, `--ref`, `--gold`, `--table`, `--columns` and, if asked, `--documents`."""
    left_out = () if documents else ("documents",)
    flags.add_fields(parser, _Files, title="input", description=LINES, leave_out=left_out)


def add_scoring(parser: ArgumentParser) -> None:
    """Add the flags that name metrics and inputs."""
    flags.add_metrics(parser, reannotate=True)
    add_inputs(parser, documents=True)


def read_task(options: Namespace) -> Task:
    """Read what the flags name; a baseline comes first among the systems."""
    metrics = flags.read_bound(options)
    baseline = options.get("baseline")
    if baseline and not options.get("pool"):
        baseline = _put_baseline_first(options)
    return replace(read_inputs(options, metrics), baseline=baseline)


def read_inputs(options: Namespace, metrics: Sequence[BoundMetric] = ()) -> Task:
    """Read and check the files that the input flags name, for these metrics.

    Raises:
        InputError: a flag is missing or contradicts another, a file cannot be used, or a metric needs
            references.
        LengthError: the files are not parallel.
    """
    readers = {"pool": _read_pool, "documents": _read_documents, "table": _read_tables}
    given = (reader for option, reader in readers.items() if options.get(option))
    corpus, files = next(given, _read_files)(options)
    runtime = metrics[0].runtime if metrics else Runtime(tokenise=options.get("tokenise", "none"))
    check_corpus([bound.metric for bound in metrics], corpus, runtime)
    sources = corpus.sources
    for metric in metrics:
        if tuned := count_tuned_on(metric, sources):
            notice_daily(
                f"{metric.label} was tuned on {tuned} of the {len(sources)} sentences; there it may "
                "agree with people better than elsewhere."
            )
        notice_daily(*contamination(metric, "", sources))
    return Task(corpus, files, list(metrics))


def _put_baseline_first(options: Namespace) -> str:
    """Put the baseline, which is the name of a system or else a file, before the others; return its name."""
    if outputs := _columns(options).get("outputs"):
        if options.baseline not in outputs:
            raise UnknownNameError("column of outputs", options.baseline, outputs)
        outputs.sort(key=lambda name: name != options.baseline)
        return str(options.baseline)
    files = by_system(options.table) if options.table else system_files(options.hyp or ())
    baseline: str = files.get(options.baseline, options.baseline)
    if Path(baseline).is_dir():
        raise InputError(f"--baseline {baseline} is a folder; name one output, or its file.")
    place = Path(baseline).resolve()
    others = [path for path in files.values() if path == "-" or Path(path).resolve() != place]
    if not others:
        raise InputError("no system was given besides the baseline; name one or more with --hyp.")
    paths = [baseline, *others]
    options["table" if options.table else "hyp"] = paths
    return next(iter(by_system(paths)))


def _corpus(
    options: Namespace,
    sources: Sentences,
    systems: Mapping[str, Sequence[str]],
    references: References | None,
) -> Corpus:
    """Return what was read as a corpus, tokenised as the options say: commands print what is scored."""
    tokeniser = options.get("tokenise", "none")
    return Corpus.of(sources, systems, references).tokenised(tokeniser)


# -- text files ------------------------------------------------------------------------------------


def _read_files(options: Namespace) -> tuple[Corpus, list[str]]:
    """Read what `--src`, `--hyp`, `--ref` and `--gold` name; a command may lack the last two."""
    src, gold, ref = (options.get(name) for name in ("src", "gold", "ref"))
    flags.require(options, hyp="out/*.txt")
    if options.get("columns"):
        raise InputError("--columns is for --table; give both, or neither.")
    if ref and gold:
        raise InputError("--ref and --gold were both given; references come from one of them.")
    if not gold:
        flags.require(options, src="source.txt")
    annotated = [sentence.source for sentence in read_m2(gold)] if gold else []
    sources = _read_sentences(src) if src else annotated
    named_sources = (src or gold, sources)
    paths = system_files(options.hyp)
    systems = {name: _read_sentences(path) for name, path in paths.items()}
    remedy = ", or be aligned with --documents" if "documents" in options else ""
    outputs = zip(paths.values(), systems.values(), strict=True)
    check_lengths(named_sources, *outputs, remedy=remedy)
    references = None
    if gold and options.get("tokenise") == "spacy":
        from learnedgec.data.tokenisation import tokenise, tokenise_references

        check_lengths(named_sources, (gold, annotated))
        sources = tokenise(sources)
        check_sources(gold, sources, tokenise(annotated))
        references = tokenise_references(References.from_m2(gold), annotated)
    elif gold:
        references = References.from_m2(gold, sources)
    elif ref:
        references = References.from_files(*ref)
        check_lengths(named_sources, (ref[0], references.texts()), remedy=remedy)
    files = [path for path in (src, *paths.values(), *(ref or ()), gold) if path]
    return _corpus(options, sources, systems, references), files


def _read_documents(options: Namespace) -> tuple[Corpus, list[str]]:
    """Read documents, and align the sentences of outputs and references with those of the sources."""
    absent = ("gold", "table", "columns", "pool")
    flags.check_absent(options, absent, "--documents reads texts")
    flags.require(options, src="essays.md", hyp="out/*.md")
    language = language_of(options.src)
    tokeniser = options.get("tokenise", "none")
    if language not in ("", "en") and tokeniser != "none":
        raise InputError(
            f"--tokenise {tokeniser} has rules for English, and {options.src} is in {language!r}; leave it "
            "out, because essays are tokenised by the rules of their language."
        )
    paths, ref = system_files(options.hyp, markdown=True), options.get("ref") or []
    corpus = align_documents(
        read_documents(options.src, language),
        {name: read_documents(path, language) for name, path in paths.items()},
        [read_documents(path, language) for path in ref],
        language=language,
    )
    return corpus.tokenised(tokeniser), [options.src, *paths.values(), *ref]


def system_files(paths: Sequence[str], *, markdown: bool = False) -> dict[str, str]:
    """Return the files of systems' outputs, by the system's name; a folder stands for its files, sorted.

    Hidden files, a README and, unless outputs are `markdown`, Markdown files in a folder are left out, and a
    notice names them.

    Raises:
        InputError: a folder holds no file, or one file was given twice.
    """
    files: list[str] = []
    for path in paths:
        if path == "-" or not Path(path).is_dir():
            files.append(path)
            continue
        inside = sorted(file for file in Path(path).iterdir() if file.is_file())
        left_out = [
            file.name
            for file in inside
            if (_NO_OUTPUT if markdown else _NO_LINES).search(file.name)
        ]
        if left_out:
            notice(f"{path}: {', '.join(left_out)} left out, because these are not system outputs.")
        if len(left_out) == len(inside):
            raise InputError(
                f"the folder {path} holds no file; one file for each system's output was expected."
            )
        files += [os.fspath(file) for file in inside if file.name not in left_out]
    return by_system(files)


def read_systems(paths: Sequence[str]) -> dict[str, list[str]]:
    """Return the sentences of each system, by its name; see `system_files`."""
    return {name: _read_sentences(path) for name, path in system_files(paths).items()}


def _read_sentences(path: str) -> list[str]:
    """Return the lines of a file of sentences, or raise `InputError` if it is an M2 file or a table."""
    if suffix(path) in (".csv", ".jsonl", ".parquet", ".tsv"):
        raise InputError(
            f"{path} is a table by its name, and one sentence per line was expected; commands that read "
            "tables have --table."
        )
    lines = read_lines(path)
    if is_m2(lines):
        raise InputError(
            f"{path} is an M2 file, and one sentence per line was expected; name M2 files with --gold."
        )
    if is_essays(lines[0]):
        raise InputError(
            f"{path} holds essays, and one sentence per line was expected; commands that read essays have "
            "--documents."
        )
    return lines


def by_system(paths: Sequence[str]) -> dict[str, str]:
    """Return the files by the names of their systems: the stem, or the path if stems collide.

    What has no name of its own is `stdin`, or `pipe 1` and so on, as in `--hyp <(correct …)`.

    Raises:
        InputError: one file was given twice.

    Example:
        >>> [*by_system(["out/ours.txt", "/dev/fd/63", "/dev/fd/62", "-"])]
        ['ours', 'pipe 1', 'pipe 2', 'stdin']
    """
    places: dict[Path, str] = {}
    for path in paths:
        earlier = places.setdefault(Path(path).resolve(), path)
        if earlier is not path:
            same = "" if earlier == path else f", by its own name and as {earlier}"
            raise InputError(f"{path} was given twice as a system's output{same}; name it once.")
    # A name that cannot be decoded is shown by its bytes.
    shown = [os.fsencode(path).decode("utf-8", "backslashreplace") for path in paths]
    files = [Path(path).name.removesuffix(".gz").removesuffix(".zst") for path in shown]
    names = [file.rsplit(".", 1)[0] or path for file, path in zip(files, shown, strict=True)]
    pipes = count(1)
    names = [
        "stdin" if path == "-" else f"pipe {next(pipes)}" if path.startswith("/dev/fd/") else name
        for name, path in zip(names, paths, strict=True)
    ]
    if len(set(names)) < len(names):
        names = [os.fspath(Path(path).with_suffix("")) for path in shown]
    if len(set(names)) < len(names):
        names = shown
    return dict(zip(names, paths, strict=True))


# -- a pool of systems -----------------------------------------------------------------------------


def _read_pool(options: Namespace) -> tuple[Corpus, list[str]]:
    """Read the systems of a benchmark, and outputs for its sentences; see `Pool`."""
    flags.check_absent(options, ("ref", "gold", "table"), "a pool contains its own references")
    benchmark = load_benchmark(expand_benchmarks([options.pool])[0])
    if benchmark.anonymous:
        raise InputError(
            f"{benchmark.name} does not say which system wrote which output; choose another pool."
        )
    paths = system_files(options.hyp or ())
    systems = {name: _read_sentences(path) for name, path in paths.items()}
    if options.src:
        given = _read_sentences(options.src)
        check_lengths((options.src, given), *zip(paths.values(), systems.values(), strict=True))
        lines = {tuple(text.split()): n for n, text in reversed(list(enumerate(given)))}
        missing = [text for text in benchmark.sources if tuple(text.split()) not in lines]
        if missing:
            raise InputError(
                f"{options.src} lacks {len(missing)} of the {len(benchmark.sources)} sentences of "
                f"{benchmark.name}, such as {missing[0][:80]!r}; give the file that has them all."
            )
        rows = [lines[tuple(text.split())] for text in benchmark.sources]
        systems = {name: [texts[row] for row in rows] for name, texts in systems.items()}
    for name, texts in systems.items():
        if len(texts) != len(benchmark.sources):
            raise InputError(
                f"{paths[name]} has {len(texts):,} lines and {benchmark.name} {len(benchmark.sources):,} "
                "sentences; name the sources of the lines with --src, so that those of the pool can be found."
            )
    if same := benchmark.systems.keys() & systems.keys():
        raise InputError(f"{benchmark.name} has a system {min(same)} as well; rename your file.")
    notice(*benchmark.notices)
    if benchmark.excluded:
        own = ", ".join(benchmark.excluded)
        notice(f"{own}: left out, because it is a reference and would be compared with itself.")
    pool = {n: list(t) for n, t in benchmark.systems.items() if n not in benchmark.excluded}
    corpus = _corpus(options, benchmark.sources, pool | systems, benchmark.references)
    return corpus, [path for path in (options.src, *paths.values()) if path]


# -- tables ----------------------------------------------------------------------------------------


def _columns(options: Namespace) -> dict[str, Any]:
    """Return our name -> the name in the tables of each column; those of outputs are a list."""
    columns = dict(options.get("columns") or {})
    known = ("source", "hypothesis", "outputs", "references")
    for key in columns:
        if key not in known:
            raise UnknownNameError("key of --columns", key, known)
    if isinstance(columns.get("outputs"), str):
        columns["outputs"] = [columns["outputs"]]
    options["columns"] = columns
    return columns


def _read_tables(options: Namespace) -> tuple[Corpus, list[str]]:
    """Read one table per system, or one of all; all must have the same sources and references."""
    flags.check_absent(options, ("src", "hyp", "ref", "gold"), "--table contains the whole input")
    paths: list[str] = options.table
    columns = _columns(options)
    outputs: list[str] = columns.get("outputs", [])
    if len(paths) > 1 and outputs:
        raise InputError("several tables were given with --columns.outputs; give one table.")
    required = ("source", "outputs" if outputs else "hypothesis")
    systems: dict[str, list[str]] = {}
    first: list[dict[str, Any]] = []
    sources: list[str] = []
    for name, path in by_system(paths).items():
        rows = read_records(path, required, columns)
        records = [_sentence_record(*row, outputs) for row in rows]
        first = first or records
        sources = sources or [record["source"] for record in records]
        check_lengths((paths[0], sources), (path, [record["source"] for record in records]))
        check_same_sentences((paths[0], first), (path, records))
        for system in outputs or [name]:
            key = f"outputs of {system}" if outputs else "hypothesis"
            systems[system] = [record[key] for record in records]
    corrections = [record.get("references") for record in first]
    given = any(texts is not None for texts in corrections)
    references = References.from_lists(corrections) if given else None
    return _corpus(options, sources, systems, references), paths


def _sentence_record(place: str, row: dict[str, Any], outputs: Sequence[str]) -> dict[str, Any]:
    """Return the checked sentences of a row, with a key for each of these columns of outputs."""
    if isinstance(references := row.get("references"), str):
        row["references"] = [references or None]
    elif references:
        row["references"] = [text or None for text in references]
    texts = dict(
        zip((f"outputs of {name}" for name in outputs), row.get("outputs", ()), strict=True)
    )
    check_sentence_record(row | texts, place, ("source", *(texts or ("hypothesis",))))
    return row | texts
