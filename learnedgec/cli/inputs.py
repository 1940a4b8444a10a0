"""Input arguments of commands that score, and reading the sentences of the files that they name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace

from learnedgec.cli.flags import with_flags
from learnedgec.cli.output import notice
from learnedgec.errors import FormatError, InputError
from learnedgec.formats.m2 import is_m2, read_m2
from learnedgec.formats.records import check_same_sentences, check_sentence_record
from learnedgec.formats.references import References
from learnedgec.formats.text import (
    check_lengths,
    read_jsonl,
    read_lines,
)
from learnedgec.formats.unusual import alignment_notices, blank_notices, token_notices
from learnedgec.metrics.base import Metric

__all__ = [
    "Inputs",
    "add_input_arguments",
    "read_inputs",
    "read_systems",
    "system_files",
    "system_names",
]


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a command scores: N sources, systems of N hypotheses by name, and their references."""

    sources: list[str]
    systems: dict[str, list[str]]
    references: References | None


def add_input_arguments(parser: ArgumentParser) -> None:
    """Add `--src`, `--hyp`, `--ref`, `--gold` and `--jsonl`."""
    group = parser.add_argument_group(
        "input", "UTF-8 text, one sentence per line; a file may be gzipped (.gz), - is stdin"
    )
    group.add_argument("--src", type=str, help="the source sentences (default: those of --gold)")
    group.add_argument(
        "--hyp",
        nargs="+",
        type=str,
        help="system outputs, or a folder of them (all its files except README, *.md and hidden ones); a "
        "system's name is the stem of its file",
    )
    group.add_argument("--ref", nargs="+", type=str, help="reference texts, one file per annotator")
    group.add_argument("--gold", type=str, help="references with gold edits, as an M2 file")
    group.add_argument(
        "--jsonl",
        nargs="+",
        type=str,
        help="instead of the above: one JSONL file per system with the keys source, hypothesis and, "
        "optionally, references (a list of texts or nulls)",
    )


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
        notice(with_flags(message))
    for metric in metrics:
        if metric.needs_references and inputs.references is None:
            raise InputError(
                f"{metric.name} needs references: give reference files (--ref) or an M2 file (--gold); in "
                "--jsonl they are the key 'references'."
            )
    return inputs


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
        sources = [block.source for block in read_m2(options.gold)]
    else:
        raise InputError("no source was given; name the file with the source sentences with --src.")
    paths = system_files(options.hyp)
    systems = read_systems(paths)
    source_name = options.src or options.gold
    for path, hypotheses in zip(paths, systems.values(), strict=True):
        check_lengths((source_name, sources), (path, hypotheses))
    references = None
    if options.gold and options.tokenise == "spacy":
        # Gold edits refer to the tokens of the M2 file; the sources may be tokenised differently.
        from learnedgec.edits.tokenisation import check_tokens, tokenise, tokenise_references

        blocks = read_m2(options.gold)
        own = [block.source for block in blocks]
        check_lengths((source_name, sources), (options.gold, own))
        check_tokens(options.gold, sources, own)
        references = tokenise_references(References.from_annotated(blocks), own)
        sources = tokenise(sources)
    elif options.gold:
        try:
            references = References.from_m2(options.gold, sources)
        except InputError as error:
            gold = [block.source.split() for block in read_m2(options.gold)]
            for path, hypotheses in zip(paths, systems.values(), strict=True):
                if [text.split() for text in hypotheses] == gold:
                    raise InputError(
                        f"{error} Its sentences are those of {path}: --src and --hyp may be swapped."
                    ) from None
            raise
    elif options.ref:
        references = References.from_files(*options.ref)
        check_lengths((source_name, sources), (options.ref[0], references.texts()))
    return Inputs(sources, systems, references)


def system_files(paths: Sequence[str]) -> list[str]:
    """Return the files of systems' outputs; a folder stands for its files, sorted.

    Hidden files, Markdown files and a README in a folder are left out, and a notice names them.

    Raises:
        InputError: a folder holds no file.
    """
    found = []
    for path in paths:
        if path == "-" or not Path(path).is_dir():
            found.append(path)
            continue
        files = sorted(each for each in Path(path).iterdir() if each.is_file())
        inside = [os.fspath(each) for each in files if not _is_beside(each)]
        left_out = [each.name for each in files if _is_beside(each)]
        if left_out:
            notice(f"{path}: {', '.join(left_out)} left out, because these are not system outputs.")
        if not inside:
            raise InputError(
                f"the folder {path} holds no file; one file for each system's output was expected."
            )
        found += inside
    return found


def _is_beside(file: Path) -> bool:
    """Return whether a file in a folder of outputs is not an output: hidden, Markdown or a README."""
    return (
        file.name.startswith(".")
        or file.suffix.lower() == ".md"
        or file.name.lower().partition(".")[0] == "readme"
    )


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
    given: set[Path] = set()
    for path in paths:
        if Path(path).absolute() in given:
            raise InputError(f"{path} was given twice as a system's output; name it once.")
        given.add(Path(path).absolute())
    # A name that cannot be decoded is shown by its bytes.
    paths = [os.fsencode(path).decode("utf-8", "backslashreplace") for path in paths]
    stems = [
        Path(path).name.removesuffix(".gz").removesuffix(".zst").rsplit(".", 1)[0] or path
        for path in paths
    ]
    if len(set(stems)) == len(stems):
        return stems
    names = [os.fspath(Path(path).with_suffix("")) for path in paths]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two system outputs are both named {twice!r}; rename one of the files.")
    return names


def _read_jsonl(options: Namespace) -> Inputs:
    """Read one JSONL file per system; all must have the same sources and references."""
    if options.src or options.hyp or options.ref or options.gold:
        raise InputError(
            "--jsonl contains the whole input; leave out --src, --hyp, --ref and --gold."
        )
    paths: list[str] = options.jsonl
    systems: dict[str, list[str]] = {}
    first: list[dict[str, Any]] = []
    for name, path in zip(system_names(paths), paths, strict=True):
        records = _read_records(path)
        for number, record in enumerate(records, 1):
            check_sentence_record(record, f"{path}:{number}")
        first = first or records
        check_lengths(
            (paths[0], [r["source"] for r in first]), (path, [r["source"] for r in records])
        )
        check_same_sentences((paths[0], first), (path, records))
        systems[name] = [record["hypothesis"] for record in records]
    sources = [record["source"] for record in first]
    rows = [record.get("references") for record in first]
    references = References.from_lists(rows) if any(row is not None for row in rows) else None
    return Inputs(sources, systems, references)


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
    return records
