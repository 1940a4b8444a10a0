"""Benchmarks from a folder: a user's own, the embedded sample, and JFLEG with a user's outputs.

    mine/
      source.txt          N sentences
      systems/NAME.txt    N hypotheses each; the system is called NAME
      gold.m2             references with gold edits, or
      ref0.txt ref1.txt … references as texts; neither is needed
      rankings.csv        id,better,worse,tie[,annotator]: a comparison a line, tie 0 or 1; or
      judgements.xml      an Appraise export, src-id from 0
      ratings.csv         id,system,DIMENSION…: a rated hypothesis a line, an empty cell is no rating
      scores.csv          system,SCORE…: human scores of whole systems, where they are published

`id` is the number of the sentence, from 0. Where `source` is ranked or rated, the sources themselves
are a system. At least one of the four files with judgements is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from learnedgec.benchmarks.base import Benchmark, Floats, Ranking
from learnedgec.benchmarks.rated import rating_means
from learnedgec.catalog.files import path
from learnedgec.catalog.judgements import read_appraise, read_pairs
from learnedgec.catalog.parallel import load_parallel
from learnedgec.catalog.ratings import dimensions
from learnedgec.catalog.tables import read_table, sentence_number
from learnedgec.errors import FormatError, InputError, UnknownNameError
from learnedgec.references import References
from learnedgec.text import PathLike, check_lengths, read_lines

__all__ = ["jfleg", "read_benchmark"]

JUDGEMENTS = ("rankings.csv", "judgements.xml", "ratings.csv", "scores.csv")


def read_benchmark(folder: PathLike, name: str = "") -> Benchmark:
    """Read a benchmark from a folder; the module's documentation draws the format.

    Args:
        folder: the folder.
        name: what to call it; the folder if absent.

    Raises:
        InputError: a file is missing or cannot be used.
        FormatError: a line cannot be used; the message names it.
        LengthError: an output or a reference has not as many lines as `source.txt`.

    Example:
        >>> from learnedgec.catalog.sample import sample_folder
        >>> benchmark = read_benchmark(sample_folder(), "sample")
        >>> sorted(benchmark.systems), len(benchmark.rankings)
        (['careful', 'eager', 'source', 'strong', 'weak'], 351)
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError(
            f"{root} is not a folder; a benchmark folder with source.txt was expected."
        )
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
    judged = {name for ranking in rankings for name in ranking.ranks}
    judged |= {name for values in ratings.values() for name in values}
    judged |= {name for values in scores.values() for name in values}
    systems = _read_outputs(root / "systems", sources)
    if "source" in judged:
        systems = {"source": tuple(sources), **systems}
    for system in sorted(judged):
        if system not in systems:
            raise UnknownNameError(
                f"output in {root / 'systems'}",
                system,
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


def jfleg(outputs: PathLike) -> Benchmark:
    """Return JFLEG dev with the pairwise judgements of Napoles et al. (2017).

    The judged outputs are not public. The folder `outputs` holds those that the user has, 754 lines
    each: `AMU.txt`, `CAMB.txt`, `NMT.txt`, `NUS.txt`, `turk.txt`; `orig`, the source, needs no file.
    Judgements of the others remain in `rankings`, and a notice names them.

    The judgements number sentences by their GUG `Id`; JFLEG dev is the GUG test split in order.
    """
    data = load_parallel("jfleg:dev")
    order = [
        record["Id"]
        for _, record in read_table(path("gug", "gug_annotations.tsv"), "\t")
        if record["Dataset"] == "test"
    ]
    number = {identity: position for position, identity in enumerate(order)}
    check_lengths(("JFLEG dev", data.sources), ("the GUG test split", order))
    rankings = []
    for place, record in read_table(path("jfleg", "EACL_exp/mturk/pairwise.csv")):
        if record["srcIndex"] not in number:
            raise FormatError(
                f"{place}: srcIndex {record['srcIndex']} is not in the GUG test split."
            )
        ranks = {record[f"system{side}Id"]: int(record[f"system{side}rank"]) for side in (1, 2)}
        rankings.append(Ranking(number[record["srcIndex"]], ranks, record["judgeId"]))
    judged = {name for ranking in rankings for name in ranking.ranks}
    found = _read_outputs(Path(outputs), data.sources)
    if not judged & set(found):
        raise InputError(
            f"{outputs} has no output of a system that was judged on JFLEG; add one of "
            f"{', '.join(f'{name}.txt' for name in sorted(judged - {'orig'}))}."
        )
    systems = {"orig": data.sources, **{n: text for n, text in found.items() if n in judged}}
    missing = sorted(judged - set(systems))
    benchmark = Benchmark(
        name=f"jfleg:{outputs}",
        sources=data.sources,
        systems=systems,
        references=data.references,
        rankings=tuple(rankings),
        notices=(f"no output of {', '.join(missing)} was given.",) if missing else (),
    )
    return benchmark.exclude_own_references()


def _read_outputs(folder: Path, sources: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Read `NAME.txt` (or `NAME`) -> lines, checking the lengths."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; one with an output per system was expected.")
    sources = list(sources)
    systems = {}
    for file in sorted(folder.iterdir()):
        if file.is_file() and not file.name.startswith("."):
            lines = read_lines(file)
            check_lengths(("the source", sources), (str(file), lines))
            systems[file.name.removesuffix(".gz").removesuffix(".txt")] = tuple(lines)
    if not systems:
        raise InputError(f"{folder} is empty; one output per system was expected.")
    return systems


def _read_references(root: Path, sources: list[str]) -> References | None:
    """Read `gold.m2`, or else `ref0.txt`, `ref1.txt`, …."""
    if (root / "gold.m2").is_file():
        return References.from_m2(root / "gold.m2", sources)
    files = sorted(root.glob("ref*.txt"))
    if not files:
        return None
    references = References.from_files(*files)
    check_lengths(("source.txt", sources), (files[0].name, references))
    return references


def _read_ratings(file: Path, sentences: int) -> dict[str, dict[str, Floats]]:
    """Read dimension -> system -> ratings, NaN where there is none; the mean where there are several."""
    if not file.is_file():
        return {}
    found: dict[str, dict[str, list[list[float]]]] = {}
    for place, record in read_table(file, required=("id", "system")):
        number = sentence_number(record["id"], sentences, place)
        for dimension, value in dimensions(record, place).items():
            columns = found.setdefault(dimension, {})
            column = columns.setdefault(record["system"], [[] for _ in range(sentences)])
            column[number].append(value)
    return {
        dimension: {
            system: np.array([np.mean(values) if values else np.nan for values in column])
            for system, column in columns.items()
        }
        for dimension, columns in found.items()
    }


def _read_scores(file: Path) -> dict[str, dict[str, float]]:
    """Read score -> system -> value."""
    if not file.is_file():
        return {}
    found: dict[str, dict[str, float]] = {}
    for place, record in read_table(file, required=("system",)):
        for score, value in dimensions(record, place).items():
            found.setdefault(score, {})[record["system"]] = value
    return found
