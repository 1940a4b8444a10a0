"""Benchmarks from a folder: custom ones, the embedded sample, and JFLEG with a user's outputs.

    mine/
      source.txt          N sentences
      systems/NAME.txt    N hypotheses each; the system is called NAME
      gold.m2             references with gold edits; or else
      ref0.txt ref1.txt … references as texts; neither is needed
      rankings.csv        id,better,worse,tie[,annotator]: one comparison per line, tie 0 or 1
      judgements.xml      an Appraise export, src-id from 0
      ratings.csv         id,system,DIMENSION…: one hypothesis per line; an empty cell is no rating, and
                          a line of empty cells is an unrated hypothesis
      scores.csv          system,SCORE…: human scores of whole systems, if they are published

`id` is the number of the sentence, from 0. At least one of the last four files, which hold judgements, is
needed. If `source` is judged in one of them, the sources themselves are a system.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from learnedgec.data.benchmarks.base import Benchmark, rating_means
from learnedgec.data.catalog.outputs import Ranking, read_appraise, read_pairs
from learnedgec.data.catalog.ratings import dimensions, read_rated_lines
from learnedgec.data.m2 import AnnotatedSentence, write_m2
from learnedgec.data.references import References
from learnedgec.data.tables import read_table
from learnedgec.data.text import check_lengths, read_lines, write_lines
from learnedgec.errors import FormatError, InputError, UnknownNameError
from learnedgec.runtime.writing import PathLike
from learnedgec.types import Floats

JUDGEMENTS = ("rankings.csv", "judgements.xml", "ratings.csv", "scores.csv")


def read_benchmark(folder: PathLike, name: str = "") -> Benchmark:
    """Read a benchmark from a folder; see the module's documentation for the format.

    Args:
        folder: the folder.
        name: the benchmark's name; by default, the folder.

    Raises:
        InputError: a file is missing or cannot be used.
        FormatError: a line cannot be used; the message names it.
        LengthError: an output or a reference does not have the same number of lines as `source.txt`.
        UnknownNameError: judgements name a system without an output.

    Example:
        >>> from learnedgec.data.catalog.files import sample_folder
        >>> benchmark = read_benchmark(sample_folder(), "sample")
        >>> sorted(benchmark.systems), len(benchmark.rankings)
        (['careful', 'eager', 'source', 'strong', 'weak'], 351)
    """
    root = Path(folder)
    if not any((root / file).is_file() for file in JUDGEMENTS):
        raise InputError(
            f"{root} has no judgements; at least one of {', '.join(JUDGEMENTS)} was expected."
        )
    sources = read_lines(root / "source.txt")
    rankings: list[Ranking] = []
    if (root / "rankings.csv").is_file():
        rankings += read_pairs(root / "rankings.csv", len(sources))
    if (root / "judgements.xml").is_file():
        rankings += read_appraise(root / "judgements.xml")
    ratings = _read_ratings(root / "ratings.csv", len(sources))
    scores = _read_scores(root / "scores.csv")
    judged: set[str] = set().union(
        *(ranking.ranks for ranking in rankings), *ratings.values(), *scores.values()
    )
    systems = read_outputs(root / "systems", sources)
    if "source" in judged:
        systems = {"source": tuple(sources), **systems}
    if missing := sorted(judged - systems.keys()):
        raise UnknownNameError(
            f"output in {root / 'systems'}",
            missing[0],
            systems,
            hint="It is judged, so it is needed.",
        )
    official = scores or {dimension: rating_means(values) for dimension, values in ratings.items()}
    return Benchmark(
        name=name or str(folder),
        sources=tuple(sources),
        systems=systems,
        references=_read_references(root, sources),
        rankings=tuple(rankings),
        ratings=ratings,
        official=official,
    ).exclude_own_references()


def half(benchmark: Benchmark, part: str) -> Benchmark:
    """Return a half of a benchmark's sentences, so that one half can tune or train what the other tests.

    The SHA-256 of a source decides. Sentences thus stay in their half while judgements are added, and equal
    sources are in the same half.

    Args:
        benchmark: the whole benchmark.
        part: `dev` or `test`.

    Raises:
        UnknownNameError: the part is neither of these.
    """
    if part not in ("dev", "test"):
        raise UnknownNameError(f"part of {benchmark.name}", part, ("dev", "test"))
    digests = (hashlib.sha256(" ".join(text.split()).encode()) for text in benchmark.sources)
    chosen = [n for n, d in enumerate(digests) if (d.digest()[0] < 128) == (part == "dev")]
    name = f"{benchmark.name}:{part}"
    # Scores of whole systems come from all judgements, so a half has none.
    return dataclasses.replace(benchmark.select(sentences=chosen), name=name, official={})


def read_outputs(folder: Path, sources: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the lines of each file by its name without `.txt`, or raise `InputError` or `LengthError`."""
    systems = {}
    for file in sorted(folder.glob("[!.]*")):
        if file.is_file():
            lines = read_lines(file)
            check_lengths(("the source", sources), (str(file), lines))
            systems[file.name.removesuffix(".gz").removesuffix(".txt")] = tuple(lines)
    if not systems:
        raise InputError(f"{folder} has no file; a folder with an output per system was expected.")
    return systems


def write_texts(
    folder: Path,
    sources: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    references: References | None,
) -> None:
    """Write the texts of a benchmark into a folder, in the layout above.

    References are written as M2 if all have edits, else as texts of which all sentences have one.

    Args:
        folder: an empty folder.
        sources: N sentences.
        systems: system -> N outputs; there may be none.
        references: references of the N sentences, if there are any.

    Raises:
        InputError: a system's name cannot be that of a file.
    """
    write_lines(folder / "source.txt", sources)
    for name, lines in systems.items():
        unusable = not name or name.startswith(".") or set(name) & set("/\\\0")
        if unusable or name.endswith((".txt", ".gz")):
            raise InputError(
                f"a system is named {name!r}, which cannot be a file's name; rename it."
            )
        write_lines(folder / "systems" / f"{name}.txt", lines)
    if references is not None and references.annotated:
        blocks = [
            AnnotatedSentence(source, {r.annotator: r.edits or () for r in row})
            for source, row in zip(sources, references, strict=True)
        ]
        write_m2(folder / "gold.m2", blocks)
    elif references is not None:
        for number in range(min(len(row) for row in references)):
            write_lines(folder / f"ref{number}.txt", [row[number].text for row in references])


def _read_references(root: Path, sources: list[str]) -> References | None:
    """Return the references of `gold.m2`, or else of `ref0.txt`, `ref1.txt`, …."""
    if (root / "gold.m2").is_file():
        return References.from_m2(root / "gold.m2", sources)
    files = sorted(root.glob("ref*.txt"))
    if not files:
        return None
    references = References.from_files(*files)
    check_lengths(("source.txt", sources), (files[0].name, references))
    return references


def _read_ratings(file: Path, sentences: int) -> dict[str, dict[str, Floats]]:
    """Return each dimension's ratings of each system: the mean of several, and NaN if there is none."""
    if not file.is_file():
        return {}
    sums: dict[str, dict[str, Floats]] = {}
    for number, system, values in read_rated_lines(file, sentences):
        for dimension, value in values.items():
            columns = sums.setdefault(dimension, {})
            # The first row holds sums of ratings, and the second row the numbers of ratings.
            columns.setdefault(system, np.zeros((2, sentences)))[:, number] += value, 1
    if not sums:
        raise FormatError(f"{file}: no row has a rating; numbers were expected.")
    with np.errstate(invalid="ignore"):
        return {
            dimension: {system: total / count for system, (total, count) in columns.items()}
            for dimension, columns in sums.items()
        }


def _read_scores(file: Path) -> dict[str, dict[str, float]]:
    """Return the value of each human score for each system."""
    if not file.is_file():
        return {}
    scores: dict[str, dict[str, float]] = {}
    for place, record in read_table(file, required=("system",)):
        for score, value in dimensions(record, place).items():
            scores.setdefault(score, {})[record["system"]] = value
    return scores
