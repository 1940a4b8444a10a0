"""Benchmarks whose outputs people rated: GMEG, TMU-GFM, the Swedish sentences and autoJQE."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from statistics import fmean
from typing import Any

import numpy as np

from learnedgec.data.benchmarks.base import Benchmark, rating_means
from learnedgec.data.catalog.files import dataset_file
from learnedgec.data.catalog.outputs import JudgementRow, Ranking, load_outputs
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.catalog.ratings import Rating, load_ratings, read_ratings
from learnedgec.data.records import Columns, Rows, read_records
from learnedgec.data.tables import read_table
from learnedgec.errors import InputError


def gmeg(domain: str = "dev") -> Benchmark:
    """Return GMEG dev (Napoles et al. 2019): six systems and the source, rated from 0 to 100.

    Args:
        domain: learner essays (`fce`, 968 sentences), Wikipedia edits (`wiki`, 992) or both after one
            another (`dev`).

    The dimension is `quality`. Six and twelve sentences were not rated. `official["mean"]` is the mean
    rating of a system, which for one domain is the published corpus score. One of the four references was
    rated as well, but it is not published which, so it is not a system here.
    """
    domains = ("fce", "wiki") if domain == "dev" else (domain,)
    dataset = "gmeg" if domain == "dev" else f"gmeg:{domain}"
    data = load_parallel(dataset)
    systems = {"source": data.sources, **load_outputs(dataset)}
    del systems["source+error"]
    files = [dataset_file("gmeg", f"data/dev/{name}-segment-scores.csv") for name in domains]
    rows = [record for file in files for _, record in read_table(file)]
    ratings = {name: np.array([float(row[name] or "nan") for row in rows]) for name in systems}
    return Benchmark(
        name=f"gmeg:{domain}",
        sources=data.sources,
        systems=systems,
        references=data.references,
        ratings={"quality": ratings},
        official={"mean": rating_means(ratings)},
        notices=("`source`, the uncorrected text, is one of the seven systems.",),
    ).exclude_own_references()


def tmu_gfm() -> Benchmark:
    """Return TMU-GFM (Yoshimura et al. 2020): five systems rated from 1 to 4 on three dimensions.

    There are no references. Of the 1,378 sources, 1,369 have one rated output of every system; the
    others are left out.
    """
    return of_ratings("tmu-gfm", load_ratings("tmu-gfm"))


def of_table(table: str | Rows, columns: Columns | None = None) -> Benchmark:
    """Return the benchmark of a table of outputs that people rated or ranked, without references.

    It has the columns `source`, `hypothesis`, `system` and one for each rated dimension. Numbers in a column
    `rank` rank the outputs of a source, from 1, the best. Several columns of a dimension are its
    judges. Several rows of an output, such as one for each judge, count as their mean.

    A row may also hold several outputs of a source, with the columns `source` and `outputs`, and `ranks`,
    `best` or `worst`, as ranked pairs do (`learnedgec.training.pairs.judged.read_ranked_pairs`). Each column
    of outputs is then a system; in a column of lists, it is unknown which system wrote which output.

    Args:
        table: a data frame, a `datasets.Dataset`, a list of its rows, or the name of a file.
        columns: our name of a column -> its name in the table; see `read_ratings`.

    Raises:
        InputError, FormatError: the table cannot be used; the message names the row.
    """
    columns = columns or {}
    name = table if isinstance(table, str) else type(table).__name__
    # The rows of an iterator can be read only once.
    table = list(table) if isinstance(table, Iterator) else table
    _, first = next(read_records(table), ("", None))
    if first is None:
        raise InputError(f"{name} is empty; a table with rows was expected.")
    if "outputs" in first or not columns.keys().isdisjoint(("outputs", "ranks", "best", "worst")):
        judged = read_records(table, ("source",), columns)
        judgements = (JudgementRow(row, place, columns) for place, row in judged)
        return _of_judgements(name, judgements, columns)
    given = columns.keys() | first.keys()
    if "worse" in given and "hypothesis" not in given:
        raise InputError(
            f"{name}: pairs of a better and a worse text do not say which systems wrote them; a row for each "
            "output, with system and rank, or columns of outputs and one for the best were expected."
        )
    return of_ratings(name, read_ratings(table, columns, as_outputs=True), several=True)


def _of_judgements(name: str, rows: Iterable[JudgementRow], columns: Columns) -> Benchmark:
    """Return a benchmark of ranked or chosen outputs; rows with equal texts judge one sentence.

    Several columns of outputs are the systems. Raise `InputError` if no row has a judgement.
    """
    numbers: dict[tuple[str, ...], int] = {}  # of a source with its outputs
    judged: list[tuple[int, dict[int, int]]] = []
    for row in rows:
        outputs = row.outputs()
        number = numbers.setdefault((row.text("source"), *outputs), len(numbers))
        judged += ((number, ranks) for ranks in row.rankings(outputs))
    if not judged:
        raise InputError(
            f"{name}: no row has a judgement; ranks, or a best or worst output, were expected."
        )
    size = max(map(len, numbers)) - 1
    tied = sum(len(set(ranks.values())) == 1 for _, ranks in judged)
    named = columns.get("outputs", "")
    anonymous = isinstance(named, str)
    systems = [f"output-{place + 1}" for place in range(size)] if anonymous else list(named)
    return Benchmark(
        name,
        tuple(source for source, *_ in numbers),
        {
            # A source with fewer outputs than others stands for those that it lacks.
            system: tuple(texts[place] if place < len(texts) else texts[0] for texts in numbers)
            for place, system in enumerate(systems, 1)
        },
        rankings=tuple(
            Ranking(number, {systems[place]: rank for place, rank in ranks.items()})
            for number, ranks in judged
        ),
        anonymous=anonymous,
        notices=(f"{tied:,} of {len(judged):,} judgements are ties.",) if tied else (),
    )


def of_ratings(name: str, ratings: Iterable[Rating], *, several: bool = False) -> Benchmark:
    """Return a benchmark of rated outputs, without references.

    Only sources with one rated output of every system are kept; a notice reports the number of the others. A
    dimension `rank` becomes rankings.

    Args:
        name: the name of the benchmark.
        ratings: the rated outputs, each with its systems, joined by commas.
        several: whether an output may have several ratings, such as the ratings of judges, whose mean counts.

    Raises:
        InputError: a rating names no source or system, no source has an output of each system, or no output
            has a rating.
    """
    by_source: dict[str, dict[str, list[Rating]]] = {}
    for number, rating in enumerate(ratings, 1):
        if not (rating.source and rating.system):
            raise InputError(
                f"{name}, row {number}: no {'system' if rating.source else 'source'}; each rated output "
                "needs its source and its system."
            )
        for system in rating.system.split(","):
            by_source.setdefault(rating.source, {}).setdefault(system, []).append(rating)
    names = sorted({system for systems in by_source.values() for system in systems})
    notices: list[str] = []
    if several:
        by_source, notices = _merged(by_source)
    complete = {
        source: {system: systems[system][0] for system in names}
        for source, systems in by_source.items()
        if all(len(systems.get(system, ())) == 1 for system in names)
    }
    if len(complete) < len(by_source):
        notices.append(
            f"{len(by_source) - len(complete)} of {len(by_source)} sources have no output of some system, or "
            "several, and are left out."
        )
    if not complete:
        raise InputError(f"{name}: {notices[-1]} One rated output of each system was expected.")
    columns = {system: [row[system] for row in complete.values()] for system in names}
    if not any(rating.values for rating in chain(*columns.values())):
        raise InputError(f"{name}: no row has a rating; numbers were expected.")
    rankings = tuple(chain(*map(_rankings, range(len(complete)), complete.values())))
    return _of_columns(name, columns, notices=tuple(notices), rankings=rankings)


def _merged(
    by_source: Mapping[str, Mapping[str, Sequence[Rating]]],
) -> tuple[dict[str, dict[str, list[Rating]]], list[str]]:
    """Return the mean ratings of each text of each source and system, and a notice if some had several."""
    merged = {
        source: {system: _means(rows) for system, rows in systems.items()}
        for source, systems in by_source.items()
    }
    before, after = (
        sum(len(rows) for systems in sources.values() for rows in systems.values())
        for sources in (by_source, merged)
    )
    if before == after:
        return merged, []
    return merged, [
        f"{before - after:,} of {before:,} ratings are of an output that an earlier row rates; the mean of "
        "such rows counts."
    ]


def _means(rows: Iterable[Rating]) -> list[Rating]:
    """Return one rating of each text, with the mean of its ratings."""
    by_text: dict[str, list[Rating]] = {}
    for row in rows:
        by_text.setdefault(row.hypothesis, []).append(row)
    return [
        same[0] if len(same) == 1 else replace(same[0], values=_mean_values(same), raters={})
        for same in by_text.values()
    ]


def _mean_values(rows: Sequence[Rating]) -> dict[str, float]:
    """Return the mean of each dimension over the rows that rate it."""
    dimensions = dict.fromkeys(chain.from_iterable(row.values for row in rows))
    return {
        name: fmean(row.values[name] for row in rows if name in row.values) for name in dimensions
    }


def _rankings(sentence: int, outputs: Mapping[str, Rating]) -> Iterator[Ranking]:
    """Yield a ranking by each judge of a sentence, or one by mean ranks if judges left outputs out."""
    judge_ranks = {system: rating.raters.get("rank", ()) for system, rating in outputs.items()}
    if len(set(map(len, judge_ranks.values()))) > 1 or not all(judge_ranks.values()):
        judge_ranks = {
            system: (rating.values["rank"],)
            for system, rating in outputs.items()
            if "rank" in rating.values
        }
    for ranks in zip(*judge_ranks.values(), strict=True):
        order = sorted(set(ranks))
        yield Ranking(
            sentence, {s: 1 + order.index(rank) for s, rank in zip(judge_ranks, ranks, strict=True)}
        )


# The agreement of the raters in the published data (docs/lab/languages.md). The noise ceiling is the
# highest correlation that a metric can have with them.
_SWEDISH_RATERS = {
    "grammaticality": "91 %, r .85, weighted kappa .82; noise ceiling of one annotator .92",
    "fluency": "75 %, r .77, weighted kappa .76; noise ceiling of one annotator .88",
    "meaning": "91 %, r .74, weighted kappa .66; noise ceiling of one annotator .86",
}
_JAPANESE_RATERS = {
    "all": "8,954 outputs: r .77 and weighted kappa .76 per pair; noise ceiling of their mean .95",
    "flutec": "4,707 outputs: r .82 and weighted kappa .82 per pair; noise ceiling of their mean .97",
    "tecjl": "4,247 outputs: r .70 and weighted kappa .69 per pair; noise ceiling of their mean .94",
}


def swedish(references: str = "corpus") -> Benchmark:
    """Return the Swedish benchmark (Östling et al. 2024): 192 sentences, five systems, three dimensions.

    Args:
        references: `corpus`, the learner corpus's one reference of each sentence; `post-edits`, for every
            system the annotator's corrections of *its* outputs, and no other reference, as a targeted edit
            rate (`hter`) requires. The annotator who wrote them also gave the ratings.

    The ratings, 1 to 4, are by the annotator who rated everything, as in the paper. A notice reports
    the agreement with a second annotator.
    """
    parallel, systems = load_parallel("swedish"), load_outputs("swedish")
    rated = load_ratings("swedish")
    columns = {name: [rating for rating in rated if rating.system == name] for name in systems}
    corpus, post_edits = frozenset({0}), frozenset(range(1, len(systems) + 1))
    left_out, excluded = post_edits, dict[str, frozenset[int]]()
    if references == "post-edits":
        left_out = corpus
        excluded = {name: post_edits - {number} for number, name in enumerate(systems, 1)}
    return _of_columns(
        "swedish" if references == "corpus" else f"swedish:{references}",
        columns,
        references=parallel.references.without(left_out),
        excluded=excluded,
        notices=tuple(
            f"{dimension}: two annotators gave 55 outputs equal ratings in {agreement}."
            for dimension, agreement in _SWEDISH_RATERS.items()
        ),
    )


def autojqe(part: str = "all") -> Benchmark:
    """Return autoJQE (Suzuki et al. 2022): up to four rated outputs of each Japanese sentence.

    Args:
        part: the sentences of `flutec`, of `tecjl`, or of both after one another (`all`).

    The dimension is `quality`, 1 to 4, the mean of three raters. Equal outputs of a sentence are merged. It
    is not published which system wrote which output: `output-1` to `output-4` are not systems but the outputs
    in the order of the file. If a sentence has fewer outputs, its unrated source is used instead. There are
    no references. The sentences are not tokenised.
    """
    by_source: dict[tuple[str, str], list[Rating]] = {}
    for name in ("flutec", "tecjl") if part == "all" else (part,):
        for rating in load_ratings(f"autojqe:{name}"):
            by_source.setdefault((name, rating.source), []).append(rating)
    rows = list(by_source.values())
    columns = {
        f"output-{place + 1}": [
            row[place] if place < len(row) else Rating(row[0].source, row[0].source, {})
            for row in rows
        ]
        for place in range(max(map(len, rows)))
    }
    return _of_columns(
        "autojqe" if part == "all" else f"autojqe:{part}",
        columns,
        official={},
        notices=(
            "which system wrote which output is not published, so systems are not compared.",
            f"agreement of three raters on {_JAPANESE_RATERS[part]}.",
        ),
        anonymous=True,
    )


def _of_columns(name: str, columns: Mapping[str, list[Rating]], **others: Any) -> Benchmark:
    """Return a benchmark of each system's ratings and their means; NaN marks an output without a rating."""
    ratings = {
        dimension: {
            system: np.array([rating.values.get(dimension, np.nan) for rating in column])
            for system, column in columns.items()
        }
        for dimension in dict.fromkeys(chain(*(row.values for row in chain(*columns.values()))))
        if dimension != "rank"
    }
    means = {dimension: rating_means(values) for dimension, values in ratings.items()}
    texts = {system: tuple(r.hypothesis for r in column) for system, column in columns.items()}
    sources = tuple(rating.source for rating in next(iter(columns.values())))
    return Benchmark(name, sources, texts, ratings=ratings, **{"official": means, **others})
