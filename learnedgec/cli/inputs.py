"""Input arguments of commands that score, and reading the sentences of the files that they name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace

from learnedgec.cli.options import add_group, check_absent
from learnedgec.cli.output import notice
from learnedgec.data.input_warnings import alignment_notices, blank_notices, token_notices
from learnedgec.data.m2 import is_m2, read_m2
from learnedgec.data.records import check_same_sentences, check_sentence_record
from learnedgec.data.references import References
from learnedgec.data.text import check_lengths, read_jsonl, read_lines
from learnedgec.errors import FormatError, InputError
from learnedgec.metrics.base import Metric

__all__ = [
    "Inputs",
    "LINES",
    "add_input_arguments",
    "named_files",
    "read_inputs",
    "read_systems",
    "system_files",
    "system_names",
]

LINES = "UTF-8 text, one sentence per line; a file may be gzipped (.gz), - is stdin"
"""What the files of sentences hold, for the help of a group of arguments."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a command scores: N sources, systems of N hypotheses by name, and their references."""

    sources: list[str]
    systems: dict[str, list[str]]
    references: References | None


@dataclass
class _Files:
    """The files that are read.

    Attributes:
        src: the source sentences (default: those of --gold).
        hyp: system outputs, or a folder of them (all its files except README, *.md and hidden ones); a
            system's name is the stem of its file.
        ref: reference texts, one file per annotator.
        gold: references with gold edits, as an M2 file.
        jsonl: instead of the above: one JSONL file per system with the keys source, hypothesis and,
            optionally, references (a list of texts or nulls).
    """

    src: str | None = None
    hyp: list[str] | None = None
    ref: list[str] | None = None
    gold: str | None = None
    jsonl: list[str] | None = None


def add_input_arguments(parser: ArgumentParser) -> None:
    """Add `--src`, `--hyp`, `--ref`, `--gold` and `--jsonl`."""
    add_group(parser, _Files, "input", LINES)


def read_inputs(options: Namespace, metrics: Sequence[Metric] = ()) -> Inputs:
    """Read and check the files that the input flags name, for these metrics.

    Raises:
        InputError: a flag is missing or contradicts another, a file cannot be used, or a metric needs
            references.
        LengthError: the files are not parallel.
    """
    inputs = _read_jsonl(options) if options.jsonl else _read_files(options)
    if options.tokenise == "spacy":
        inputs = _tokenised(inputs)
    for message in (
        *blank_notices(inputs.sources, inputs.systems),
        *alignment_notices(inputs.sources, inputs.systems),
        *token_notices(inputs.sources, inputs.systems, inputs.references),
    ):
        notice(message)
    for metric in metrics:
        if metric.needs_references and inputs.references is None:
            raise InputError(
                f"{metric.name} needs references: give reference files (--ref) or an M2 file (--gold); in "
                "--jsonl they are the key 'references'."
            )
    return inputs


def named_files(options: Namespace) -> list[str]:
    """Return the files that the input flags name, without standard input."""
    flags = [options.src, *(options.hyp or ()), *(options.ref or ())]
    flags += [options.gold, *(options.jsonl or ())]
    return [path for path in flags if path and path != "-"]


def _tokenised(inputs: Inputs) -> Inputs:
    """Return the input in tokens, so that everything that is printed shows the text that was scored."""
    from learnedgec.edits.tokenisation import tokenise, tokenise_references

    references = inputs.references
    return Inputs(
        tokenise(inputs.sources),
        {name: tokenise(texts) for name, texts in inputs.systems.items()},
        references and tokenise_references(references, inputs.sources),
    )


def _read_files(options: Namespace) -> Inputs:
    """Read what `--src`, `--hyp`, `--ref` and `--gold` name."""
    if not options.hyp:
        raise InputError("no system output was given; name at least one file with --hyp.")
    if options.ref and options.gold:
        raise InputError("--ref and --gold were both given; references come from one of them.")
    if options.src:
        sources = _read_sentences(options.src)
    elif options.gold:
        sources = [sentence.source for sentence in read_m2(options.gold)]
    else:
        raise InputError("no source was given; name the file with the source sentences with --src.")
    paths = system_files(options.hyp)
    inputs = Inputs(sources, read_systems(paths), None)
    source_name = options.src or options.gold
    for path, hypotheses in zip(paths, inputs.systems.values(), strict=True):
        check_lengths((source_name, sources), (path, hypotheses))
    if options.gold and options.tokenise == "spacy":
        return _with_tokens_of_gold(inputs, source_name, options.gold)
    if options.gold:
        return replace(inputs, references=_read_gold(inputs, options.gold, paths))
    if options.ref:
        references = References.from_files(*options.ref)
        check_lengths((source_name, sources), (options.ref[0], references.texts()))
        return replace(inputs, references=references)
    return inputs


def _with_tokens_of_gold(inputs: Inputs, source_name: str, gold: str) -> Inputs:
    """Return the input with references from an M2 file, whose tokens the edits refer to."""
    from learnedgec.edits.tokenisation import check_tokens, tokenise, tokenise_references

    sentences = read_m2(gold)
    gold_sources = [sentence.source for sentence in sentences]
    check_lengths((source_name, inputs.sources), (gold, gold_sources))
    check_tokens(gold, inputs.sources, gold_sources)
    references = tokenise_references(References.from_annotated(sentences), gold_sources)
    return replace(inputs, sources=tokenise(inputs.sources), references=references)


def _read_gold(inputs: Inputs, gold: str, paths: Sequence[str]) -> References:
    """Return the references of an M2 file.

    Raises:
        InputError: its sentences are not the sources; the message says so if they are a system's.
    """
    try:
        return References.from_m2(gold, inputs.sources)
    except InputError as error:
        gold_tokens = [sentence.source.split() for sentence in read_m2(gold)]
        for path, hypotheses in zip(paths, inputs.systems.values(), strict=True):
            if [text.split() for text in hypotheses] == gold_tokens:
                raise InputError(
                    f"{error} Its sentences are those of {path}: --src and --hyp may be swapped."
                ) from None
        raise


def system_files(paths: Sequence[str]) -> list[str]:
    """Return the files of systems' outputs; a folder stands for its files, sorted.

    Hidden files, Markdown files and a README in a folder are left out, and a notice names them.

    Raises:
        InputError: a folder holds no file.
    """
    files: list[str] = []
    for path in paths:
        if path == "-" or not Path(path).is_dir():
            files.append(path)
            continue
        inside = sorted(file for file in Path(path).iterdir() if file.is_file())
        outputs = [os.fspath(file) for file in inside if not _is_no_output(file.name.lower())]
        left_out = [file.name for file in inside if _is_no_output(file.name.lower())]
        if left_out:
            notice(f"{path}: {', '.join(left_out)} left out, because these are not system outputs.")
        if not outputs:
            raise InputError(
                f"the folder {path} holds no file; one file for each system's output was expected."
            )
        files += outputs
    return files


def _is_no_output(name: str) -> bool:
    """Return whether a file in a folder of outputs, by its name in lower case, is not an output."""
    return name.startswith((".", "readme.")) or name.endswith(".md") or name == "readme"


def read_systems(paths: Sequence[str]) -> dict[str, list[str]]:
    """Return each file's sentences by the name of its system."""
    return dict(zip(system_names(paths), map(_read_sentences, paths), strict=True))


def _read_sentences(path: str) -> list[str]:
    """Return the lines of a file of sentences, or raise `InputError` where it is one of gold edits."""
    lines = read_lines(path)
    if is_m2(lines):
        raise InputError(
            f"{path} is an M2 file, and one sentence per line was expected; name M2 files with --gold."
        )
    return lines


def system_names(paths: Sequence[str]) -> list[str]:
    """Return a name per file: the stem, or the path without suffixes where stems collide.

    Raises:
        InputError: one file was given twice, or two have one name.
    """
    places = [Path(path).absolute() for path in paths]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise InputError(f"{paths[number]} was given twice as a system's output; name it once.")
    # A name that cannot be decoded is shown by its bytes.
    paths = [os.fsencode(path).decode("utf-8", "backslashreplace") for path in paths]
    stems = [
        Path(path).name.removesuffix(".gz").removesuffix(".zst").rsplit(".", 1)[0] or path
        for path in paths
    ]
    if len(set(stems)) == len(stems):
        return stems
    names = [os.fspath(Path(path).with_suffix("")) for path in paths]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise InputError(
                f"two system outputs are both named {name!r}; rename one of the files."
            )
    return names


def _read_jsonl(options: Namespace) -> Inputs:
    """Read one JSONL file per system; all must have the same sources and references."""
    check_absent(options, ("src", "hyp", "ref", "gold"), "--jsonl contains the whole input")
    paths: list[str] = options.jsonl
    systems: dict[str, list[str]] = {}
    first: list[dict[str, Any]] = []
    for name, path in zip(system_names(paths), paths, strict=True):
        records = _read_records(path)
        first = first or records
        check_lengths((paths[0], _sources_of(first)), (path, _sources_of(records)))
        check_same_sentences((paths[0], first), (path, records))
        systems[name] = [record["hypothesis"] for record in records]
    rows = [record.get("references") for record in first]
    references = References.from_lists(rows) if any(row is not None for row in rows) else None
    return Inputs(_sources_of(first), systems, references)


def _sources_of(records: Sequence[Mapping[str, Any]]) -> list[str]:
    return [record["source"] for record in records]


def _read_records(path: str) -> list[dict[str, Any]]:
    """Return the records of one system's JSONL file."""
    if Path(path.removesuffix(".gz")).suffix in (".csv", ".tsv"):
        raise InputError(
            f"{path} is a table; a JSON object with the keys source and hypothesis on each line, or text "
            "files with one sentence per line (--src, --hyp), were expected."
        )
    records = read_jsonl(path, required=("hypothesis",))
    for number, record in enumerate(records, 1):
        if "source" not in record:
            raise FormatError(
                f"{path}:{number}: the key 'source' is missing; every hypothesis is scored together with "
                "the sentence that it corrects."
            )
        check_sentence_record(record, f"{path}:{number}")
    return records
