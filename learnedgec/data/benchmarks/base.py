"""One form for every benchmark: sources, system outputs, references and human judgements."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from learnedgec.data.catalog.outputs import Ranking, read_appraise, read_pairs
from learnedgec.data.catalog.ratings import dimensions, read_rated_lines
from learnedgec.data.corpus import Corpus
from learnedgec.data.m2 import AnnotatedSentence, write_m2
from learnedgec.data.references import References
from learnedgec.data.tables import read_table
from learnedgec.data.text import check_lengths, read_lines, write_lines
from learnedgec.errors import FormatError, InputError, UnknownNameError
from learnedgec.runtime.files import PathLike
from learnedgec.table import Table
from learnedgec.types import Floats, Indices, Texts


@dataclass(frozen=True, slots=True)
class Comparisons:
    """C human comparisons of two systems on one sentence, as parallel arrays of length C.

    Attributes:
        systems: the names that `first` and `second` number.
        sentence: number of the source.
        first: number of the system that the annotation lists first.
        second: number of the other system.
        outcome: 1 where the first is better, -1 where the second is, 0 for a tie.
    """

    systems: tuple[str, ...]
    sentence: Indices
    first: Indices
    second: Indices
    outcome: Indices

    def __len__(self) -> int:
        return len(self.outcome)


@dataclass(frozen=True)
class Benchmark:
    """Sources, the outputs of the systems under evaluation, references and human judgements.

    Attributes:
        name: the name with which `load_benchmark` returns this benchmark.
        sources: N sentences.
        systems: system -> N hypotheses.
        references: references of the N sentences, with gold edits where known; `None` if there are none.
        rankings: human rankings. They may rank systems that are not among `systems`, because the human
            scores of some systems come from all judgements.
        ratings: dimension -> system -> float64 (N,), NaN where a hypothesis was not rated.
        official: published human score (`EW`: expected wins, `TS`: TrueSkill, `mean`) -> system ->
            value, only for `systems`; empty if none are published.
        excluded: system -> annotators whose references are that system's own texts and are left out when
            the system is scored.
        notices: caveats for a reader of results, one sentence each.
        anonymous: whether it is unknown which system wrote which output. `systems` are then the first outputs
            of all sentences, the second outputs and so on, and are not compared as systems.

    Raises:
        InputError: there is no system, or a ranking is of a sentence that does not exist.
        LengthError: outputs, references or ratings differ in number from the sources.

    Example:
        >>> from learnedgec import load_benchmark
        >>> benchmark = load_benchmark("sample")
        >>> len(benchmark.sources), sorted(benchmark.systems)
        (72, ['careful', 'eager', 'source', 'strong', 'weak'])
    """

    name: str
    sources: tuple[str, ...]
    systems: Mapping[str, tuple[str, ...]]
    references: References | None = None
    rankings: tuple[Ranking, ...] = ()
    ratings: Mapping[str, Mapping[str, Floats]] = field(default_factory=dict)
    official: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    excluded: Mapping[str, frozenset[int]] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    anonymous: bool = False

    def __post_init__(self) -> None:
        if not self.systems:
            raise InputError(f"the benchmark {self.name} has no system; add at least one output.")
        sources: tuple[str, Sequence[object]] = (f"{self.name}: the source", self.sources)
        check_lengths(sources, *self.systems.items())
        if self.references is not None:
            check_lengths(sources, ("the references", self.references))
        for values in self.ratings.values():
            check_lengths(sources, *((name, column.tolist()) for name, column in values.items()))
        for ranking in self.rankings:
            if not 0 <= ranking.sentence < len(self.sources):
                raise InputError(
                    f"{self.name}: a ranking is about sentence {ranking.sentence}, but the sentences "
                    f"are numbered from 0 to {len(self.sources) - 1}."
                )

    def __repr__(self) -> str:
        parts = [f"{len(self.sources):,} sentences", f"{len(self.systems)} systems"]
        parts += [] if self.references is None else ["references"]
        parts += [f"{len(self.rankings):,} rankings"] if self.rankings else []
        parts += [f"ratings of {', '.join(self.ratings)}"] if self.ratings else []
        return f"Benchmark({self.name!r}: {', '.join(parts)})"

    def _repr_html_(self) -> str:
        rows = [
            {
                "system": system,
                **{score: values.get(system) for score, values in self.official.items()},
                **{
                    dimension: float(np.nanmean(columns[system])) if system in columns else None
                    for dimension, columns in self.ratings.items()
                },
            }
            for system in self.systems
        ]
        return Table.of(rows, caption=repr(self), note=" ".join(self.notices)).html()

    def select(
        self, systems: Iterable[str] | None = None, sentences: Iterable[int] | None = None
    ) -> Benchmark:
        """Return the benchmark with only these systems and sentences, in this order.

        Rankings keep the systems that are left out; rankings of other sentences are dropped.

        Raises:
            UnknownNameError: there is no such system.
        """
        names = list(self.systems if systems is None else systems)
        for name in names:
            if name not in self.systems:
                raise UnknownNameError(f"system of {self.name}", name, self.systems)
        numbers = list(range(len(self.sources)) if sentences is None else sentences)
        place = {number: position for position, number in enumerate(numbers)}

        def chosen(values: Mapping[str, Any]) -> dict[str, Any]:
            return {name: values[name] for name in names if name in values}

        return dataclasses.replace(
            self,
            sources=tuple(self.sources[number] for number in numbers),
            systems={
                name: tuple(self.systems[name][number] for number in numbers) for name in names
            },
            references=None if self.references is None else self.references.select(numbers),
            rankings=tuple(
                dataclasses.replace(ranking, sentence=place[ranking.sentence])
                for ranking in self.rankings
                if ranking.sentence in place
            ),
            ratings={
                dimension: {name: column[numbers] for name, column in chosen(values).items()}
                for dimension, values in self.ratings.items()
            },
            official={score: chosen(values) for score, values in self.official.items()},
            excluded=chosen(self.excluded),
        )

    def exclude_own_references(self) -> Benchmark:
        """Return the benchmark with every system excluded from references that are its own text.

        A system that equals one annotator's reference in every sentence *is* that reference (REF-F and
        REF-M of SEEDA are expert rewrites) and would be compared with itself. It is scored against the other
        references; if there are none, it is scored against its own text. A notice reports either case.
        """
        if self.references is None:
            return self
        texts: dict[int, dict[int, str]] = {}
        for number, row in enumerate(self.references):
            for reference in row:
                texts.setdefault(reference.annotator, {})[number] = reference.text
        excluded, notices = dict(self.excluded), list(self.notices)
        for name, hypotheses in self.systems.items():
            annotators = frozenset(
                annotator
                for annotator, column in texts.items()
                if all(hypotheses[n].split() == text.split() for n, text in column.items())
            )
            if not annotators:
                continue
            same = f"{name} is the reference of annotator {', '.join(map(str, sorted(annotators)))}"
            if all(
                any(r.annotator not in annotators for r in row) for row in self.references if row
            ):
                excluded[name] = annotators
                notices.append(f"{same}, which is left out when {name} is scored.")
            else:
                notices.append(
                    f"{same} and there is no other reference: its reference-based score is perfect."
                )
        return dataclasses.replace(self, excluded=excluded, notices=tuple(notices))

    def comparisons(self, systems: Iterable[str] | None = None) -> Comparisons:
        """Return every ranked pair of the given systems, ties included.

        Pairs are in the order of the rankings and, within a ranking, in the order of its file: first with
        second, first with third, …, second with third. Each annotation counts, even if a sentence has
        several. Systems are numbered in the order of `systems`, whatever the order in a ranking.

        Args:
            systems: the systems to pair; by default, those under evaluation. `ranked_systems` has all.
        """
        names = tuple(self.systems if systems is None else systems)
        number = {name: position for position, name in enumerate(names)}
        rows: list[tuple[int, int, int, int]] = []
        for ranking in self.rankings:
            ranked = [
                (number[name], rank) for name, rank in ranking.ranks.items() if name in number
            ]
            for (first, rank), (second, second_rank) in combinations(ranked, 2):
                outcome = (rank < second_rank) - (rank > second_rank)
                rows.append((ranking.sentence, first, second, outcome))
        columns = np.array(rows, dtype=np.intp).reshape(-1, 4).T
        return Comparisons(names, *columns)

    @property
    def ranked_systems(self) -> tuple[str, ...]:
        """Every ranked system, those under evaluation first, then by name."""
        ranked = {name for ranking in self.rankings for name in ranking.ranks}
        return (
            *(name for name in self.systems if name in ranked),
            *sorted(ranked - set(self.systems)),
        )

    @cached_property
    def corpora(self) -> tuple[Corpus, ...]:
        """The texts, checked once, with the systems in groups that are scored against the same references.

        There is nearly always one group. A system that is itself a reference is scored against the other
        references only.
        """
        groups: dict[frozenset[int], list[str]] = {}
        for name in self.systems:
            groups.setdefault(self.excluded.get(name, frozenset()), []).append(name)
        whole = Corpus.of(self.sources, self.systems, self.references)
        return tuple(
            replace(
                whole.of_systems(names),
                references=whole.references and whole.references.without(annotators),
            )
            for annotators, names in groups.items()
        )


def rating_means(values: Mapping[str, Floats]) -> dict[str, float]:
    """Return each system's mean rating over its rated sentences."""
    return {name: float(np.nanmean(column)) for name, column in values.items()}


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
    rankings = _read_rankings(root, len(sources))
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
        notices=_repeats(rankings),
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


def _read_rankings(root: Path, size: int) -> list[Ranking]:
    """Return the rankings of a folder's files, which need not exist."""
    rankings: list[Ranking] = []
    if (root / "rankings.csv").is_file():
        rankings += read_pairs(root / "rankings.csv", size)
    if (root / "judgements.xml").is_file():
        rankings += read_appraise(root / "judgements.xml")
    return rankings


def read_outputs(folder: Path, sources: Texts) -> dict[str, tuple[str, ...]]:
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
    folder: Path, sources: Texts, systems: Mapping[str, Texts], references: References | None
) -> None:
    """Write the texts of a benchmark into a folder, in the layout above.

    References are written as M2 if all have edits, else as files of texts, as many as every sentence has.

    Args:
        folder: an empty folder.
        sources: N sentences.
        systems: system -> N outputs; there may be none.
        references: references of the N sentences, if there are any.

    Raises:
        InputError: a system's name cannot be the name of a file.
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


def _repeats(rankings: Sequence[Ranking]) -> tuple[str, ...]:
    """Return a notice of the comparisons that repeat one of the same annotator, if there are any."""
    named = [r for r in rankings if r.annotator]
    times = Counter((r.sentence, r.annotator, *sorted(r.ranks)) for r in named)
    again = len(named) - len(times)
    notice = (
        f"{again:,} of {len(named):,} comparisons repeat one that the same annotator made of the same "
        "outputs; all of them count."
    )
    return (notice,) if again else ()


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
            if scores.setdefault(score, {}).setdefault(record["system"], value) != value:
                raise FormatError(
                    f"{place}: an earlier line has another {score} of {record['system']!r}; keep one of them."
                )
    return scores
