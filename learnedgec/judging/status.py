"""What the owner of a study sees: the ranking so far, the raters' agreement, and each rater's answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import fmean, median
from typing import Any, Literal

import numpy as np

from learnedgec.analysis.ranking import SystemRanking
from learnedgec.data.rows import Row, plain
from learnedgec.errors import MissingDependencyError
from learnedgec.judging.items import Judgement
from learnedgec.judging.sampling import count_wins
from learnedgec.judging.settings import StudySettings
from learnedgec.judging.study import Study
from learnedgec.judging.tables import comparisons, counted, rating_rows
from learnedgec.stats.bradley_terry import bradley_terry, expected_win_rates
from learnedgec.stats.quotients import quotient
from learnedgec.stats.resampling import intervals, multiplicities, resample
from learnedgec.stats.significance import enough_resamples, holm, paired_bootstrap
from learnedgec.types import Floats

# The standard normal quantiles of a two-sided test at 5 % and of a power of 80 %.
_QUANTILES = 1.960 + 0.842
# A rater is compared with chance after so many answers, at this quantile of the standard normal distribution.
_ENOUGH, _CHANCE = 20, 1.645


@dataclass(frozen=True)
class StudyStatus:
    """How a study stands.

    Attributes:
        ranking: of the systems by people, or `None` as long as there are too few judgements.
        separations: for each two systems that are neighbours in the ranking, `more`: how many more judgements
            of the two tell them apart (two-sided test at 5 %, power 80 %) if the difference is as it looks.
        agreement: `cohen` (mean κ of two raters), `fleiss` (κ of all raters), `alpha` (Krippendorff's) and
            how many `units` have two raters or more; NaN where there is nothing to compare.
        raters: for each rater how many items are `done` and `left`, `skipped`, `seconds` (median), the share
            of `ties`, `consistent` (share of repeated questions with the same answer), `above_chance` (z of
            the agreement with everyone else, of mean 0 and deviation 1 for random answers) and `random`.
    """

    ranking: SystemRanking | None
    separations: list[Row]
    agreement: Row
    raters: list[Row]

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        record: dict[str, Any] = plain(
            {
                "ranking": self.ranking and self.ranking.to_dict()["systems"],
                "separations": self.separations,
                "agreement": self.agreement,
                "raters": self.raters,
            }
        )
        return record


def study_status(study: Study, *, resamples: int | None = None, level: float = 0.95) -> StudyStatus:
    """Return how a study stands.

    Args:
        study: the study.
        resamples: of the sentences, for intervals and tests, as for `rank`.
        level: of the intervals; differences are tested at 1 − `level`.

    Raises:
        MissingDependencyError: the extra `judge` is not installed.
    """
    judgements = study.judgements()
    ranking, separations = _rank(study, judgements, resamples, level)
    values = _values(judgements, study.settings)
    return StudyStatus(
        ranking,
        separations,
        agreement(values, study.raters, study.settings),
        [_rater(study, name, judgements, values) for name in study.raters],
    )


# -- the ranking -----------------------------------------------------------------------------------


def _rank(
    study: Study, judgements: Sequence[Judgement], resamples: int | None, level: float
) -> tuple[SystemRanking | None, list[Row]]:
    """Return the ranking by people, and what would separate its neighbours.

    Pairs and rankings give expected win rates of Bradley and Terry's model, ratings their mean.
    """
    names = list(study.systems)
    number, size = {name: n for n, name in enumerate(names)}, len(names)
    pairs = list(combinations(range(size), 2))
    if not pairs:
        return None, []
    count = resamples or enough_resamples(len(pairs), level)
    samples = resample(len(study.sources), count, 0)
    drawn = np.vstack([np.ones(len(study.sources)), multiplicities(samples, len(study.sources))])
    compared = study.settings.task in ("pairs", "ranking")
    games = np.zeros((size, size))
    if compared:
        wins = np.zeros((len(study.sources), size, size))
        for each in counted(judgements):
            wins[each.sentence] += count_wins(comparisons([each], number), size)
            games += count_wins(((a, b, 0, 2.0) for a, b, *_ in comparisons([each], number)), size)
        skills = bradley_terry(np.tensordot(drawn, wins, axes=1))[0]
        scores = expected_win_rates(skills)
        ties = _tie_share(judgements)
        chance = 1 / (1 + np.exp(skills[0] - skills[0][:, None]))
        mean = (1 - ties) * (2 * chance - 1)
        spread = np.sqrt(np.maximum(1 - ties - mean**2, 0))
    else:
        sums, counts = _rating_sums(judgements, number, len(study.sources))
        scores = quotient(drawn @ sums, drawn @ counts)
        rated = quotient(sums, counts)
        differences = rated[:, :, None] - rated[:, None]
        games = (~np.isnan(differences)).sum(axis=0).astype(float)
        mean = np.where(games > 0, np.nansum(differences, axis=0) / np.maximum(games, 1), 0.0)
        squares = np.nansum((differences - mean) ** 2, axis=0)
        spread = np.sqrt(squares / np.maximum(games - 1, 1))
    if games.sum() == 0 or np.isnan(scores[0]).any():
        return None, []
    many = np.where(np.isnan(scores[1:]), scores[0], scores[1:])
    tested = [
        paired_bootstrap(scores[0][a] - scores[0][b], many[:, a] - many[:, b]) for a, b in pairs
    ]
    p_values, adjusted = np.eye(size), np.eye(size)
    for matrix, row in ((p_values, np.array(tested)), (adjusted, holm(np.array(tested)))):
        for (a, b), p in zip(pairs, row, strict=True):
            matrix[a, b] = matrix[b, a] = p
    ranking = SystemRanking(
        metric="people",
        by="expected-wins" if compared else "mean",
        systems=tuple(names),
        scores=scores[0],
        many=many,
        intervals=intervals(many, level),
        wins=np.zeros((size, size)),
        p_values=p_values,
        adjusted=adjusted,
        resamples=count,
        level=level,
        signature=f"judge|task:{study.settings.task}|order:{study.settings.order}|resamples:{count}",
    )
    order = ranking.order
    separations: list[Row] = []
    for a, b in pairwise(order):
        needed = judgements_needed(mean[a, b], spread[a, b])
        separations.append(
            {
                "better": names[a],
                "worse": names[b],
                "judged": int(games[a, b]),
                "more": max(math.ceil(needed - games[a, b]), 0) if needed < 1e6 else None,
            }
        )
    return ranking, separations


def shown_status(study: Study) -> dict[str, Any]:
    """Return what the owner's page shows (`status.html`)."""
    status = study_status(study)
    return {"status": status, "rows": ranking_rows(status), "raters": status.raters, "study": study}


def ranking_rows(status: StudyStatus) -> list[Row]:
    """Return a row for each system, best first."""
    if (ranking := status.ranking) is None:
        return []
    return [
        {
            "system": ranking.systems[number],
            "cluster": int(ranking.cluster[number]),
            "ranks": ranking.ranks_of(number),
            "score": float(ranking.scores[number]),
            "low": float(ranking.intervals[number, 0]),
            "high": float(ranking.intervals[number, 1]),
        }
        for number in ranking.order
    ]


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
    """Return float64 (N, S): the sums of a system's ratings of a sentence, and how many there are.

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


def _values(judgements: Sequence[Judgement], settings: StudySettings) -> _Values:
    """Return what each rater said, in units that raters can be compared on; repetitions too."""
    values: _Values = {}
    for each in judgements:
        if not each.answer.skip:
            of_rater = values.setdefault(each.rater, {})
            of_rater[each.item] = {(each.question, *unit): value for unit, value in _units(each)}
    return values


def _units(each: Judgement) -> Iterator[tuple[tuple[Any, ...], float]]:
    said = each.answer
    for (a, rank), (b, other) in combinations(enumerate(said.ranks), 2):
        yield (a, b), float((rank < other) - (rank > other))
    yield from (((name,), value) for name, value in said.values.items())
    yield from (((number,), float(value)) for number, value in enumerate(said.edits))


def agreement(values: _Values, raters: Sequence[str], settings: StudySettings) -> Row:
    """Return the agreement of raters on what several of them judged (`StudyStatus`).

    Args:
        values: rater -> item -> unit -> value; a unit is a pair of texts, a dimension or an edit.
        raters: their names.
        settings: of the study; ratings have an interval scale, everything else is nominal.
    """
    first = {name: _first_values(values.get(name, {})) for name in raters}
    units = sorted({unit for of_rater in first.values() for unit in of_rater}, key=str)
    table = np.array([[first[name].get(unit, np.nan) for unit in units] for name in raters])
    table = table[:, (~np.isnan(table)).sum(axis=0) > 1] if units else np.empty((len(raters), 0))
    nan = float("nan")
    if table.shape[1] == 0 or len(np.unique(table[~np.isnan(table)])) < 2:
        return {"cohen": nan, "fleiss": nan, "alpha": nan, "units": table.shape[1]}
    try:
        import krippendorff
    except ImportError:
        raise MissingDependencyError("krippendorff", "judge", "the agreement of raters") from None
    import torch
    from torchmetrics.functional.classification import multiclass_cohen_kappa
    from torchmetrics.functional.nominal import fleiss_kappa

    kinds, codes = np.unique(table[~np.isnan(table)], return_inverse=True)
    coded = np.full(table.shape, -1)
    coded[~np.isnan(table)] = codes
    both = [
        (torch.tensor(a[shared]), torch.tensor(b[shared]))
        for a, b in combinations(coded, 2)
        if (shared := (a >= 0) & (b >= 0)).any()
    ]
    kappas = [float(multiclass_cohen_kappa(a, b, num_classes=len(kinds))) for a, b in both]
    complete = coded[:, (coded >= 0).all(axis=0)].T
    counts = (complete[:, :, None] == np.arange(len(kinds))).sum(axis=1)
    level: Literal["interval", "nominal"] = "interval" if settings.task == "ratings" else "nominal"
    return {
        "cohen": fmean(kappas),
        "fleiss": float(fleiss_kappa(torch.tensor(counts), mode="counts")) if len(counts) else nan,
        "alpha": float(krippendorff.alpha(reliability_data=table, level_of_measurement=level)),
        "units": table.shape[1],
    }


def _first_values(
    items: Mapping[int, Mapping[tuple[Any, ...], float]],
) -> dict[tuple[Any, ...], float]:
    """Return the value of each unit, of a repeated question that of its first time."""
    first: dict[tuple[Any, ...], float] = {}
    for item in sorted(items):
        for unit, value in items[item].items():
            first.setdefault(unit, value)
    return first


def _rater(study: Study, name: str, judgements: Sequence[Judgement], values: _Values) -> Row:
    """Return how a rater answers."""
    own = [each for each in judgements if each.rater == name]
    answered = [each for each in own if not each.answer.skip]
    of_rater = values.get(name, {})
    repeated = [
        of_rater[each.repeats] == of_rater[each.item]
        for each in answered
        if each.repeats in of_rater
    ]
    said = [value for units in of_rater.values() for value in units.values()]
    z = above_chance(study, name, judgements, values)
    return {
        "rater": name,
        "done": len(own),
        "left": max(study.settings.total - len(own), 0),
        "skipped": len(own) - len(answered),
        "seconds": median(each.seconds for each in answered) if answered else None,
        "ties": fmean(value == 0 for value in said)
        if said and study.settings.task != "ratings"
        else None,
        "consistent": fmean(repeated) if repeated else None,
        "above_chance": z,
        "random": bool(len(answered) >= _ENOUGH and z is not None and z < _CHANCE),
    }


def above_chance(
    study: Study, name: str, judgements: Sequence[Judgement], values: _Values
) -> float | None:
    """Return how far a rater agrees with everyone else beyond chance, in standard deviations.

    Each answer is multiplied by what to expect: the mean of the other raters' answers to the same question,
    the rater's own first answer to a repeated one, or else what the others' judgements of the same systems
    predict. A rater who answers at random has sums around 0, whose variance is the sum of squares (a sign
    test with weights), so that 95 % of such raters stay below 1.645.
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
