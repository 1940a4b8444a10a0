"""Conclusions from rankings in words: significant differences, disagreement of metrics, and advice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from learnedgec.analysis.comparison import BaselineComparison
from learnedgec.analysis.ranking import SystemRanking, rank_systems
from learnedgec.data.corpus import Corpus
from learnedgec.metrics.bound import BoundMetric, names_in_text
from learnedgec.metrics.sentinels import is_sentinel
from learnedgec.stats.correlation import ranks
from learnedgec.stats.significance import describe_tests, is_significant, significant
from learnedgec.types import Floats

if TYPE_CHECKING:
    from learnedgec.analysis.meta.results import Evaluation

# The largest number of systems that a sentence lists by name.
_FEW_SYSTEMS = 4

# The verbs of verdicts that differ in the plural.
_OF_SEVERAL = {"scores": "score", "has": "have"}

# docs/explanation/which-metric.md gives the same advice.
_ABOUT_REFERENCES = (
    "Metrics with references punish good rewrites that the references lack, and metrics without references "
    "often favour more edits. For systems that make small edits, start with gleu; for systems that "
    "rewrite, with quality beside green."
)
_ABOUT_READING = (
    "Report both results, and read the sentences on which the metrics disagree: learnedgec report lists them "
    "first."
)


def about_gold(metric: str, given: str, own: str) -> str:
    """Return in one sentence that a verdict depends on who marked the edits of the references.

    Args:
        metric: the name of the metric in the sentence.
        given: what follows from the given gold edits.
        own: what follows from those that the metric extracts from the same texts.
    """
    return (
        f"By {metric}, the verdict depends on the gold edits: {given} by the given ones, but {own} by "
        f"{metric}'s own; give --reannotate to decide by the latter."
    )


def undecided_rankings(
    rankings: Mapping[BoundMetric, SystemRanking], corpus: Corpus, **settings: Any
) -> dict[str, SystemRanking]:
    """Return the rankings by the metrics' own edits of the references, by label, where others are best.

    The notice about gold edits has parsed a sample of the references; this parses the others.

    Args:
        rankings: metric -> its ranking of the systems.
        corpus: the texts.
        settings: the settings of the rankings (`rank_systems`).
    """
    undecided = {}
    for metric, ranking in rankings.items():
        if len(ranking.systems) > 1 and (other := metric.reannotated(corpus.references)):
            own = rank_systems(other, other.compute(corpus), **settings)
            if _leading(own) != _leading(ranking):
                undecided[metric.label] = own
    return undecided


def leaders(
    rankings: Sequence[SystemRanking], undecided: Mapping[str, SystemRanking] | None = None
) -> str:
    """Return in a sentence or two which systems are best, or better than the baseline, by each metric.

    Sentinels do not count; the text is empty if there is no other metric.

    Args:
        rankings: the rankings.
        undecided: metric -> its ranking by other edits of the references (`undecided_rankings`).
    """
    names = names_in_text([ranking.metric for ranking in rankings])
    judges = [ranking for ranking in rankings if not is_sentinel(ranking.metric)]
    if not judges or len(judges[0].systems) == 1:
        return " ".join(map(_of_one_system, judges))
    by_result: dict[str, list[str]] = {}
    sentences = []
    for ranking in judges:
        if own := (undecided or {}).get(ranking.metric):
            sentences.append(about_gold(names[ranking.metric], _leading(ranking), _leading(own)))
            continue
        by_result.setdefault(_leading(ranking), []).append(names[ranking.metric])
    parts = [f"by {listed(metrics)}, {result}" for result, metrics in by_result.items()]
    text, first = "; ".join(parts), judges[0]
    test = f" ({used_tests(judges)}, p < {1 - first.resampling.level:.2g}{first.correction})"
    if all(np.isnan(ranking.scores).all() for ranking in judges):
        test = ""
    decided = [f"{text[0].upper()}{text[1:]}{test}."] if text else []
    return " ".join([*decided, *sentences])


def used_tests(rankings: Sequence[SystemRanking]) -> str:
    """Return the tests that rankings ran, in words; of one ranking, with their numbers of pairs."""
    tests = [test for ranking in rankings for test in ranking.tests_run]
    return describe_tests(tests, counted=len(rankings) == 1)


def _of_one_system(ranking: SystemRanking) -> str:
    """Return the score of the only system, with its interval."""
    [name], [score], [(low, high)] = ranking.systems, ranking.scores, ranking.intervals
    if np.isnan(score):
        return f"{name} has no score."
    known = f", {100 * ranking.resampling.level:g}% CI [{low:.4f}, {high:.4f}]"
    return f"{name} scores {score:.4f}{'' if np.isnan(low) else known}."


def _leading(ranking: SystemRanking) -> str:
    """Return which systems are best, or significantly better than the baseline, or that this is undecided."""
    names = ranking.systems
    drawn = ranking.resampling
    does = "do" if drawn.size(ranking.sentences) > 1 else "does"
    alike = f"{drawn.counted(ranking.sentences)} {does} not tell"
    if ranking.baseline:
        if not ranking.better.any():
            return f"{alike} {_few([n for n in names if n != ranking.baseline])} from {ranking.baseline}"
        above = ranking.better[:, names.index(ranking.baseline)]
        better = [names[number] for number in ranking.order if above[number]]
        verb = "are" if len(better) > 1 else "is"
        return f"{_few(better)} {verb} significantly better than {ranking.baseline}"
    first, *others = [names[number] for number in ranking.best] or [""]
    if not first:
        return "no system has a score"
    if others and not np.ptp(ranking.scores[ranking.best]):
        return f"{_few([first, *others])} have the same score" + (
            "" if len(others) + 1 == len(names) else ", which is the best"
        )
    if others and not ranking.better.any():
        apart = f"{first} and {others[0]}" if len(others) == 1 else f"the {len(others) + 1} systems"
        return f"{alike} {apart} apart"
    return (
        f"{first} is not significantly better than {_few(others)}" if others else f"{first} is best"
    )


def about_people(evaluation: Evaluation, names: Mapping[str, str]) -> str:
    """Return people's order of the systems, and the system whose rank by each metric differs most from it.

    Sentinels do not count.

    Args:
        evaluation: the metrics meta-evaluated on a benchmark.
        names: the metrics' labels -> their names in the sentence.
    """
    people = ranks(evaluation.human_scores)
    order = []
    for number in evaluation.order:
        low, high = evaluation.human_intervals[number]
        known = "" if not low < high else f" [{low:.2f}, {high:.2f}]"
        order.append(f"{evaluation.systems[number]} ({evaluation.human_scores[number]:.3f}{known})")
    by_difference: dict[str, list[str]] = {}
    for entry in evaluation.metrics:
        if not (entry.sentinel or np.isnan(entry.scores).any()):
            own = ranks(entry.scores)
            number = int(np.argmax(np.abs(own - people)))
            system, rank = evaluation.systems[number], own[number]
            difference = f"{system} is on rank {rank}, by people on {people[number]}"
            if np.array_equal(own, people):
                difference = "the order is the same"
            by_difference.setdefault(difference, []).append(names[entry.metric])
    parts = [f"by {listed(metrics)}, {text}" for text, metrics in by_difference.items()]
    places = f" B{'; '.join(parts)[1:]}." if parts else ""
    judgement = f"People ({evaluation.human}) put the systems in the order {_few(order)}."
    return judgement + _significance_by_people(evaluation) + places


def _significance_by_people(evaluation: Evaluation) -> str:
    """Return which systems differ significantly from people's best; empty if that cannot be tested."""
    others = evaluation.order[1:]
    p_values, level = evaluation.human_p_values[others], evaluation.protocol.resampling.level
    # With fewer resamples, no difference could be significant.
    enough = 2 * len(others) / (evaluation.protocol.resampling.resamples + 1) < 1 - level
    if not len(others) or np.isnan(p_values).any() or not enough:
        return ""
    pairs = zip(others, significant(p_values, level), strict=True)
    alike = [evaluation.systems[number] for number, better in pairs if not better]
    verdict = (
        f"do not tell the first from {_few(alike)}" if alike else "tell the first from all others"
    )
    return f" Their judgements {verdict}."


def _few(names: Sequence[str]) -> str:
    """Return names as prose; of more than four, the first three and the number of the others."""
    shown = names[: _FEW_SYSTEMS - 1]
    if len(names) > _FEW_SYSTEMS:
        names = [*shown, f"{len(names) - len(shown)} more"]
    return listed(names) if names else "no system"


def compared(comparisons: Sequence[BaselineComparison], metric: str) -> str:
    """Return the comparisons with the baseline by one metric in one sentence for a paper.

    Args:
        comparisons: one or more.
        metric: the name of the metric in the sentence.
    """
    first, *others = comparisons
    about = f" Neither direction of {metric} is better." if is_sentinel(first.metric) else ""
    if not others:
        return first.sentence_about(metric) + about
    groups: dict[str, list[str]] = {}
    for row in comparisons:
        known = "" if np.isnan(row.difference) else f" ({row.difference:+.4f}, {row.p_in_words})"
        groups.setdefault(row.verdict, []).append(row.system + known)
    parts = []
    for relation, systems in groups.items():
        verb, _, rest = relation.partition(" ")
        verb = verb if len(systems) == 1 else _OF_SEVERAL.get(verb, verb)
        parts.append(f"{listed(systems)} {verb} {rest} {first.baseline}")
    test = describe_tests([row.test for row in comparisons if row.test])
    sentences = first.wins + first.ties + first.losses
    return (
        f"By {metric}, {'; '.join(parts)} (p{first.correction}, {test} over {sentences:,} sentences with "
        f"{first.resampling.resamples:,} resamples).{about}"
    )


def verdict(
    comparisons: Sequence[BaselineComparison], names: Mapping[str, str], margin: float = 0.0
) -> str:
    """Return in one sentence whether any comparison stops a release (`BaselineComparison.failure`).

    Args:
        comparisons: comparisons of systems with one baseline, by any number of metrics.
        names: the metrics' labels -> their names in the sentence.
        margin: a significant difference of at most this much is no reason.
    """
    first = comparisons[0]
    failures = {row: why for row in comparisons if (why := row.failure(names[row.metric], margin))}
    if len(failures) == 1:
        return f"failed: {next(iter(failures.values()))}"
    beyond = f" by more than the margin of {margin:g}" if margin else ""
    if not failures:
        return f"passed: no system is significantly worse than {first.baseline}{beyond}."
    worse = _by_metrics([row for row in failures if not np.isnan(row.difference)], names)
    unscored = _by_metrics([row for row in failures if np.isnan(row.difference)], names)
    parts = []
    for number, (metrics, systems) in enumerate(worse.items()):
        verb = "are" if len(systems) > 1 else "is"
        than = "" if number else f" {verb} significantly worse than {first.baseline}{beyond}"
        parts.append(f"{_few(systems)}{than} by {metrics}")
    if parts:
        parts[-1] += f" (p < {1 - first.resampling.level:.2g}{first.correction})"
    for metrics, systems in unscored.items():
        parts.append(
            f"{_few(systems)} {'have' if len(systems) > 1 else 'has'} no score by {metrics}"
        )
    return f"failed: {'; '.join(parts)}."


def _by_metrics(
    comparisons: Sequence[BaselineComparison], names: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return the systems by the metrics of their comparisons, the systems of most metrics first."""
    metrics_of: dict[str, list[str]] = {}
    for row in comparisons:
        metrics_of.setdefault(row.system, []).append(names[row.metric])
    systems_of: dict[str, list[str]] = {}
    for system, metrics in sorted(metrics_of.items(), key=lambda item: -len(item[1])):
        systems_of.setdefault(listed(metrics), []).append(system)
    return systems_of


# -- disagreement ----------------------------------------------------------------------------------


def conflicts(rankings: Sequence[SystemRanking]) -> list[dict[str, Any]]:
    """Return every pair of systems that two metrics order in opposite ways, the clearest first.

    Pairs that are not compared, because neither system is the baseline, are left out.

    Returns:
        Mappings with `metrics`, the indices of two metrics; `systems`, the indices of the system that the
        first metric prefers and of the other system; `p_adjusted` by each metric; and `significant`, whether
        both p-values are below 1 − the rankings' level.
    """
    pairs = []
    for (first, ranking), (second, other) in combinations(enumerate(rankings), 2):
        for a, b in combinations(range(len(ranking.systems)), 2):
            gap = ranking.scores[a] - ranking.scores[b]
            p_values = [float(ranking.p_adjusted[a, b]), float(other.p_adjusted[a, b])]
            if gap * (other.scores[a] - other.scores[b]) >= 0 or np.isnan(p_values).any():
                continue
            better, worse = (a, b) if gap > 0 else (b, a)
            pairs.append(
                {
                    "metrics": [first, second],
                    "systems": [better, worse],
                    "p_adjusted": p_values,
                    "significant": is_significant(max(p_values), ranking.resampling.level),
                }
            )
    return sorted(pairs, key=lambda pair: max(pair["p_adjusted"]))


def guidance(rankings: Mapping[BoundMetric, SystemRanking], edits: Floats) -> list[str]:
    """Return in words where metrics disagree significantly, which only count edits, and what follows.

    Sentinels have no say.

    Args:
        rankings: metric -> its ranking of the same S systems.
        edits: float64 (S,), mean number of edited tokens of each system (`edit-count`).
    """
    short = names_in_text([metric.label for metric in rankings])
    judges = {
        metric: ranking for metric, ranking in rankings.items() if not is_sentinel(metric.label)
    }
    sentences = _about_disagreement(judges, short)
    order = np.sign(edits[:, None] - edits)
    counting = [
        short[metric.label]
        for metric, ranking in judges.items()
        if np.array_equal(np.sign(ranking.scores[:, None] - ranking.scores), order)
    ]
    if counting and len(edits) > 2:
        sentences.append(
            f"{listed(counting)} order{'s' if len(counting) == 1 else ''} the {len(edits)} systems "
            "exactly as the number of edited tokens does (edit-count). This order says little about "
            "correctness: check it with a metric of another kind, or with people."
        )
    return sentences


def _about_disagreement(
    judges: Mapping[BoundMetric, SystemRanking], short: Mapping[str, str]
) -> list[str]:
    """Return a sentence about the pair of systems that most metrics order differently, and what follows."""
    rankings = list(judges.values())
    disputed = [
        tuple(sorted(pair["systems"])) for pair in conflicts(rankings) if pair["significant"]
    ]
    if not disputed:
        return []
    (a, b), _ = Counter(disputed).most_common(1)[0]
    sides = [
        [metric for metric, ranking in judges.items() if ranking.better[pair]]
        for pair in ((a, b), (b, a))
    ]
    first, other = rankings[0].systems[a], rankings[0].systems[b]
    labels = [listed([short[metric.label] for metric in side]) for side in sides]
    verbs = ["puts" if len(side) == 1 else "put" for side in sides]
    more = len(set(disputed)) - 1
    others = (
        f" This holds for {more} more pair{'s' if more > 1 else ''} of systems." if more else ""
    )
    kinds = [{metric.metric.needs_references for metric in side} for side in sides]
    advice = f"{_ABOUT_REFERENCES} " if kinds[0] != kinds[1] else ""
    return [
        f"{labels[0]} {verbs[0]} {first} above {other}, and {labels[1]} {verbs[1]} {other} above {first}, "
        f"all significantly.{others} {advice}{_ABOUT_READING}"
    ]


def listed(names: Sequence[str]) -> str:
    """Return names as prose: `A`, `A and B`, `A, B and C`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
