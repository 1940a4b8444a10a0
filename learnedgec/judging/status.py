"""The status of a study: the ranking so far, the raters' agreement, and each rater's answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import fmean, median
from typing import Any, Literal

import numpy as np

from learnedgec.analysis.ranking import clusters, ranks_in_words
from learnedgec.errors import needs
from learnedgec.judging.records import Judgement, StudySettings, comparisons, counted, rating_rows
from learnedgec.judging.sampling import count_wins
from learnedgec.judging.study import Study
from learnedgec.stats.resampling import (
    Resampling,
    intervals_of_shares,
    multiplicities,
    quotient,
    resample,
)
from learnedgec.stats.significance import (
    are_enough,
    bootstrap_test,
    holm,
    significant,
)
from learnedgec.stats.skills import bradley_terry, expected_win_rates
from learnedgec.table import Column, For, Row, Table
from learnedgec.types import Floats, Indices

# The standard normal quantiles of a two-sided test at 5 % and of a power of 80 %.
_QUANTILES = 1.960 + 0.842
# The deviation of a prior of skills that leaves shares of wins as they are.
_FLAT = 10.0
# A rater with at least _MIN_ANSWERS answers whose z is below this quantile (95 %) may answer at random.
_MIN_ANSWERS, CHANCE = 20, 1.645


_OF_RATERS = (
    *("rater", "done", "left", "skipped", "seconds"),
    *("ties", "consistent", "above_chance", "random"),
)


@dataclass(frozen=True)
class StudyStatus:
    """The status of a study.

    Attributes:
        sentences: how many sentences have judgements.
        size: how many sentences the study has.
        ranking: for each `system`, best first, its `cluster`, `best_rank` and `worst_rank`, `score` and the
            ends `low` and `high` of its interval, as for `rank`; empty if there are too few judgements.
        separations: for each two systems that are neighbours in the ranking, `more`: how many more judgements
            of the two tell them apart (two-sided test at 5 %, power 80 %) if the difference is as it looks.
        agreement: `cohen` (mean κ of two raters, over the pairs for which it exists), `fleiss` (κ of all
            raters), `alpha` (Krippendorff's) and how many `units` have two raters or more; NaN where there is
            nothing to compare.
        raters: for each rater how many items are `done` and `left`, `skipped`, `seconds` (median), the share
            of `ties`, `consistent` (share of repeated questions with the same answer), `above_chance` (z of
            the agreement with everyone else, of mean 0 and deviation 1 for random answers) and `random`
            (whether that is too low to tell the answers from random ones); `None` where there is nothing
            to say.
    """

    sentences: int
    size: int
    ranking: list[Row]
    separations: list[Row]
    agreement: Row
    raters: list[Row]

    def tables(self) -> dict[str, Table]:
        """Return the tables of the status, `ranking`, `separations`, `agreement` and `raters`."""
        of_systems = (
            Column("system"),
            Column("cluster"),
            Column("best_rank", audience=For.DATA),
            Column("worst_rank", audience=For.DATA),
            Column("ranks", show=_ranks_cell, audience=For.READERS),
            *map(Column, ("score", "low", "high")),
        )
        units = self.agreement["units"]
        return {
            "ranking": Table(
                of_systems,
                self.ranking,
                f"Systems, by judgements of {self.sentences} of {self.size} sentences",
            ),
            "separations": Table(
                [*map(Column, ("better", "worse", "judged", "more"))],
                self.separations,
                "Judgements that tell neighbours in the ranking apart",
            ),
            "agreement": Table(
                [*map(Column, ("cohen", "fleiss", "alpha", "units"))],
                [self.agreement] if units else [],
                f"Agreement on {units} answers",
            ),
            "raters": Table([*map(Column, _OF_RATERS)], self.raters, "Raters"),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON: the number of sentences with judgements, and each table's rows."""
        tables = {name: table.records() for name, table in self.tables().items()}
        return {"sentences": self.sentences, **tables}


def _ranks_cell(row: Row) -> str:
    return ranks_in_words(row["best_rank"], row["worst_rank"])


def study_status(study: Study, resampling: Resampling = Resampling()) -> StudyStatus:
    """Return how a study stands.

    Args:
        study: the study.
        resampling: how sentences are drawn for intervals and tests, as for `rank`.

    Raises:
        MissingDependencyError: the extra `judge` is not installed.
    """
    judgements = study.judgements()
    ranking, separations = rank_by_people(study, judgements, resampling)
    values = values_of(judgements)
    return StudyStatus(
        len({each.sentence for each in counted(judgements)}),
        len(study.sources),
        ranking,
        separations,
        agreement(values, study.settings),
        [_rater(study, name, judgements, values) for name in study.raters],
    )


# -- the ranking -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Evidence:
    """The evidence of the judgements about S systems.

    Attributes:
        scores: float64 (1 + B, S): by all judgements, and on each of B resamples of the sentences.
        shares: float64 (S,): the scores as shares of the possible, without the prior of the model.
        sentences: int (S,): the number of sentences with judgements of a system.
        games: float64 (S, S): how many judgements compare two systems.
        mean: float64 (S, S): the mean outcome of such a judgement.
        deviation: float64 (S, S): its standard deviation.
    """

    scores: Floats
    shares: Floats
    sentences: Indices
    games: Floats
    mean: Floats
    deviation: Floats


def rank_by_people(
    study: Study, judgements: Sequence[Judgement], resampling: Resampling
) -> tuple[list[Row], list[Row]]:
    """Return the ranking of the systems by their judgements, and what would separate neighbours in it.

    Args:
        study: the study.
        judgements: its judgements.
        resampling: how intervals are made.
    """
    names, sentences = list(study.systems), len(study.sources)
    pairs = list(combinations(range(len(names)), 2))
    if not pairs:
        return [], []
    samples = resample(sentences, resampling)
    draws = np.vstack([np.ones(sentences), multiplicities(samples, sentences)])
    compares = study.settings.task in ("pairs", "ranking")
    lowest, highest = (0, 1) if compares else _limits(study.settings)
    numbers = {name: number for number, name in enumerate(names)}
    evidence = (_compared if compares else _rated)(judgements, numbers, draws)
    scores = evidence.scores[0]
    if evidence.games.sum() == 0 or np.isnan(scores).any():
        return [], []
    resampled = np.where(np.isnan(evidence.scores[1:]), scores, evidence.scores[1:])
    level = resampling.level
    enough = are_enough(resampling, len(pairs))
    tested = [
        bootstrap_test(difference, resampled[:, a] - resampled[:, b], sentences, enough=enough)[0]
        for a, b in pairs
        for difference in [scores[a] - scores[b]]
    ]
    adjusted = np.ones((len(names), len(names)))
    for (a, b), p in zip(pairs, holm(np.array(tested)), strict=True):
        adjusted[a, b] = adjusted[b, a] = p
    better = (scores[:, None] > scores) & significant(adjusted, level)
    cluster, width = clusters(scores, better), highest - lowest
    # The prior draws the score of a system that won nothing towards the others.
    shares, share_resamples = ((rows - lowest) / width for rows in (evidence.shares, resampled))
    ends = lowest + width * intervals_of_shares(shares, share_resamples, evidence.sentences, level)
    ends = np.column_stack([np.minimum(ends[:, 0], scores), np.maximum(ends[:, 1], scores)])
    order = np.argsort(-scores, kind="stable").tolist()
    ranking: list[Row] = [
        {
            "system": names[n],
            "cluster": int(cluster[n]),
            "best_rank": 1 + int(better[:, n].sum()),
            "worst_rank": len(names) - int(better[n].sum()),
            "score": float(scores[n]),
            "low": float(ends[n, 0]),
            "high": float(ends[n, 1]),
        }
        for n in order
    ]
    return ranking, [_separation(names, evidence, a, b) for a, b in pairwise(order)]


def _compared(
    judgements: Sequence[Judgement], number: Mapping[str, int], draws: Floats
) -> _Evidence:
    """Return expected win rates of Bradley and Terry's model, for pairs and rankings."""
    size = len(number)
    wins, games = np.zeros((draws.shape[1], size, size)), np.zeros((size, size))
    for each in counted(judgements):
        wins[each.sentence] += count_wins(comparisons([each], number), size)
        games += count_wins(((a, b, 0, 2.0) for a, b, *_ in comparisons([each], number)), size)
    skills = bradley_terry(np.tensordot(draws, wins, axes=1))[0]
    plain = bradley_terry(wins.sum(axis=0), deviation=_FLAT)[0]
    met = (wins + wins.swapaxes(1, 2)).any(axis=2).sum(axis=0)
    ties = _tie_share(judgements)
    chance = 1 / (1 + np.exp(skills[0] - skills[0][:, None]))
    mean = (1 - ties) * (2 * chance - 1)
    deviation = np.sqrt(np.maximum(1 - ties - mean**2, 0))
    rates = expected_win_rates(skills)
    return _Evidence(rates, expected_win_rates(plain), met, games, mean, deviation)


def _rated(judgements: Sequence[Judgement], number: Mapping[str, int], draws: Floats) -> _Evidence:
    """Return mean ratings, or the mean share of edits that were accepted."""
    sums, counts = _rating_sums(judgements, number, draws.shape[1])
    rated = quotient(sums, counts)
    differences = rated[:, :, None] - rated[:, None]
    games = (~np.isnan(differences)).sum(axis=0).astype(float)
    mean = np.nansum(differences, axis=0) / np.maximum(games, 1)
    squares = np.nansum((differences - mean) ** 2, axis=0)
    deviation = np.sqrt(squares / np.maximum(games - 1, 1))
    scores, met = quotient(draws @ sums, draws @ counts), (counts > 0).sum(axis=0)
    return _Evidence(scores, scores[0], met, games, mean, deviation)


def _limits(settings: StudySettings) -> tuple[float, float]:
    """Return the lowest and the highest mean rating, or share of accepted edits."""
    if settings.task == "edits":
        return 0, 1
    scales = settings.dimensions.values()
    return fmean(scale.low for scale in scales), fmean(scale.high for scale in scales)


def _separation(names: Sequence[str], evidence: _Evidence, a: int, b: int) -> Row:
    """Return how many more judgements would separate two systems, the better one first."""
    needed = judgements_needed(evidence.mean[a, b], evidence.deviation[a, b])
    more = max(math.ceil(needed - evidence.games[a, b]), 0) if needed < 1e6 else None
    judged = int(evidence.games[a, b])
    return {"better": names[a], "worse": names[b], "judged": judged, "more": more}


def judgements_needed(mean: float, deviation: float) -> float:
    """Return how many judgements separate two systems: two-sided test at 5 %, power 80 %.

    Args:
        mean: the mean outcome of a judgement, such as the share won minus the share lost.
        deviation: its standard deviation.

    Example:
        >>> round(judgements_needed(0.2, 0.9))
        159
    """
    return math.inf if mean == 0 else (_QUANTILES * deviation / mean) ** 2


def _tie_share(judgements: Sequence[Judgement]) -> float:
    ties = [
        one == other
        for each in counted(judgements)
        for one, other in combinations(each.answer.ranks, 2)
    ]
    return fmean(ties) if ties else 0.0


def _rating_sums(
    judgements: Sequence[Judgement], number: Mapping[str, int], sentences: int
) -> tuple[Floats, Floats]:
    """Return the sums and the numbers of each system's ratings of each sentence, both float64 (N, S).

    A rating is the mean of its dimensions.
    """
    sums, counts = np.zeros((2, sentences, len(number)))
    for row in rating_rows(judgements):
        values = [
            v for key, v in row.items() if key not in ("id", "system", "annotator") and v != ""
        ]
        if values:
            sums[row["id"], number[row["system"]]] += fmean(values)
            counts[row["id"], number[row["system"]]] += 1
    return sums, counts


# -- the raters ------------------------------------------------------------------------------------

# rater -> item -> unit (a pair of texts, a dimension or an edit of a question) -> value
_Values = dict[str, dict[int, dict[tuple[Any, ...], float]]]


def values_of(judgements: Sequence[Judgement]) -> _Values:
    """Return each rater's answers, with those to repetitions, in units that two raters can agree on."""
    values: _Values = {}
    for each in judgements:
        if not each.answer.skip:
            items = values.setdefault(each.rater, {})
            items[each.item] = {(each.question, *unit): value for unit, value in _units(each)}
    return values


def _units(each: Judgement) -> Iterator[tuple[tuple[Any, ...], float]]:
    answer = each.answer
    for (a, rank), (b, other) in combinations(enumerate(answer.ranks), 2):
        yield (a, b), float((rank < other) - (rank > other))
    yield from (((name,), value) for name, value in answer.values.items())
    yield from (((number,), float(value)) for number, value in enumerate(answer.edits))


def agreement(values: _Values, settings: StudySettings) -> Row:
    """Return the agreement of raters on what several of them judged (`StudyStatus`).

    Args:
        values: rater -> item -> unit -> value; a unit is a pair of texts, a dimension or an edit.
        settings: the settings of the study; ratings have an interval scale, everything else is nominal.

    Raises:
        MissingDependencyError: krippendorff is not installed.
    """
    first = [_first_values(items) for items in values.values()]
    units = sorted({unit for answers in first for unit in answers}, key=str)
    table = np.array([[answers.get(unit, np.nan) for unit in units] for answers in first])
    table = table.reshape(len(first), len(units))
    table = table[:, (~np.isnan(table)).sum(axis=0) > 1]
    table = table[~np.isnan(table).all(axis=1)]
    nan = float("nan")
    kinds = np.unique(table[~np.isnan(table)])
    if len(kinds) < 2:
        return {"cohen": nan, "fleiss": nan, "alpha": nan, "units": table.shape[1]}
    with needs("judge", "the agreement of raters"):
        import krippendorff

    level: Literal["interval", "nominal"] = "interval" if settings.task == "ratings" else "nominal"
    return {
        "cohen": _mean_cohen(table),
        "fleiss": _fleiss((table[:, :, None] == kinds).sum(axis=0)),
        "alpha": float(krippendorff.alpha(reliability_data=table, level_of_measurement=level)),
        "units": table.shape[1],
    }


def _mean_cohen(table: Floats) -> float:
    """Return the mean of Cohen's κ over the pairs of raters for which it exists; NaN if there is none.

    κ does not exist for two raters who gave all that both judged one value.
    """
    from sklearn.metrics import cohen_kappa_score

    both = (pair[:, ~np.isnan(pair).any(axis=0)] for pair in map(np.stack, combinations(table, 2)))
    kappas = [cohen_kappa_score(*pair.astype(str)) for pair in both if pair.size and np.ptp(pair)]
    return fmean(kappas) if kappas else float("nan")


def _fleiss(counts: Floats) -> float:
    """Return Fleiss' κ; units may differ in how many raters judged them, two or more.

    Sources: Fleiss, "Measuring Nominal Scale Agreement Among Many Raters" (Psychological Bulletin, 1971);
    Gwet, "Handbook of Inter-Rater Reliability" (2014), for units with different numbers of raters.

    Args:
        counts: (units, kinds), how many raters gave each unit each value; two kinds or more occur.
    """
    judged = counts.sum(axis=1)
    same = ((counts * (counts - 1)).sum(axis=1) / (judged * (judged - 1))).mean()
    chance = ((counts.sum(axis=0) / judged.sum()) ** 2).sum()
    return float((same - chance) / (1 - chance))


def _first_values(
    items: Mapping[int, Mapping[tuple[Any, ...], float]],
) -> dict[tuple[Any, ...], float]:
    """Return the value of each unit; for a repeated question, the first value counts."""
    first: dict[tuple[Any, ...], float] = {}
    for item in sorted(items):
        for unit, value in items[item].items():
            first.setdefault(unit, value)
    return first


def _rater(study: Study, name: str, judgements: Sequence[Judgement], values: _Values) -> Row:
    """Return a rater's row in the status."""
    own = [each for each in judgements if each.rater == name]
    answered = [each for each in own if not each.answer.skip]
    items = values.get(name, {})
    repeated = [
        items[each.repeats] == items[each.item] for each in answered if each.repeats in items
    ]
    answers = [value for units in items.values() for value in units.values()]
    z = above_chance(study, name, judgements, values)
    # Imported judgements may lack times.
    seconds = [each.seconds for each in answered if each.seconds > 0]
    return {
        "rater": name,
        "done": len(own),
        "left": max(study.settings.total - len(own), 0),
        "skipped": len(own) - len(answered),
        "seconds": median(seconds) if seconds else None,
        "ties": fmean(value == 0 for value in answers)
        if answers and study.settings.task != "ratings"
        else None,
        "consistent": fmean(repeated) if repeated else None,
        "above_chance": z,
        "random": None if z is None or len(answered) < _MIN_ANSWERS else z < CHANCE,
    }


def above_chance(
    study: Study, name: str, judgements: Sequence[Judgement], values: _Values
) -> float | None:
    """Return how far a rater agrees with everyone else beyond chance, in standard deviations.

    Each answer is multiplied by what to expect: the mean of the other raters' answers to the same question,
    the rater's own first answer to a repeated one, or else what the others' judgements of the same systems
    predict. A rater who answers at random has sums around 0, whose variance is the sum of squares (a sign
    test with weights), so that 95 % of such raters stay below 1.645.

    Args:
        study: the study.
        name: the name of the rater.
        judgements: the judgements of all raters.
        values: rater -> item -> unit -> value.
    """
    numbers = {system: number for number, system in enumerate(study.systems)}
    others = [each for each in judgements if each.rater != name]
    theirs: dict[tuple[Any, ...], list[float]] = {}
    for rater, items in values.items():
        if rater != name:
            for unit, value in _first_values(items).items():
                theirs.setdefault(unit, []).append(value)
    skills = bradley_terry(count_wins(comparisons(others, numbers), len(numbers)))[0]
    rated = study.settings.task == "ratings"
    centre = fmean(v for vs in theirs.values() for v in vs) if rated and theirs else 0.0
    own = values.get(name, {})
    level = fmean(v for units in own.values() for v in units.values()) if rated and own else 0.0
    products = []
    for each in judgements:
        if each.rater != name or each.answer.skip:
            continue
        units = own[each.item]
        before = own.get(each.repeats, {}) if each.repeats is not None else {}
        product = 0.0
        for unit, value in units.items():
            if unit in before:
                expected = before[unit] - level
            elif unit in theirs:
                expected = fmean(theirs[unit]) - centre
            elif each.answer.ranks:
                a, b = ([numbers[system] for system in each.groups[n]] for n in unit[1:])
                expected = math.tanh((skills[a].mean() - skills[b].mean()) / 2)
            else:
                continue
            product += (value - level) * expected
        products.append(product)
    spread = math.sqrt(sum(product**2 for product in products))
    return sum(products) / spread if spread else None
