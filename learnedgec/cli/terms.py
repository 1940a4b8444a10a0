"""The terms in tables that not every reader knows, which `--notes` explains where they are printed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from learnedgec.data.tables import Row, cell, columns_of
from learnedgec.metrics.scores import is_sentinel

TERMS = {
    "EW": "expected wins, a human score of a system: the mean over the other systems of the share of "
    "comparisons that it wins; ties are left out.",
    "TS": "TrueSkill, a human score of a system: its rating from won and lost comparisons, as for players of "
    "a game.",
    "Pearson r, Spearman ρ, Kendall τ": "correlations of the metric's scores with the human ones, from -1 to "
    "1, where 0 is no relation: r of the values, ρ of the ranks, τ of the order of each pair.",
    "sentence accuracy": "share of human comparisons of two outputs of a sentence in which the metric scores "
    "the better output higher; equal scores are wrong.",
    "accuracy at equal edit counts": "the same for outputs with equally many edits, where counting edits "
    "does not help.",
    "interval over systems": "where the value may lie for other systems of this kind; wide, if they are few. "
    "A measure of comparisons or single outputs has none and shows its interval over sentences.",
    "interval over sentences": "where the value may lie for these systems on other sentences.",
    "sentinel": "edit-count, length, constant or random, which do not judge corrections: agreement with "
    "people is evidence for a metric only as far as it exceeds theirs.",
    "cannot tell A from B": "swapping the two metrics' scores of a sentence (of a system, for a correlation "
    "of systems) at random often makes differences as large as theirs; p is two-sided, after Holm's "
    "correction.",
    "Holm's correction": "raises p-values where several comparisons are tested, so that the chance of any "
    "false difference among them stays below the level.",
    "paired bootstrap": "tests a difference on resamples of the sentences, the same for both systems.",
    "paired permutation": "tests a difference by swapping the two systems' outputs of sentences at random.",
    "PERM-BOTH": "asks whether two metrics are interchangeable on these outputs, by swapping their scores of "
    "outputs at random.",
    "PERM-SYS": "asks whether one metric is better on other systems too, by swapping their scores of systems "
    "at random; its p is at least 2/2^S with S systems.",
    "Williams": "tests the difference of two correlations of systems that share the human scores.",
    "tuned, given, uniform": "the metric with the parameters that were found, as it was given, and with "
    "equal weights. The gain is that of the tuned over the given one on held-out judgements.",
    "held-out folds": "parts of the sentences that had no say in the choice of the parameters: mean and "
    "standard deviation over the parts.",
    "cluster, best, worst": "every system of a cluster is significantly better than every system of a "
    "later one; best and worst are the ranks that a system may have by the same tests.",
    "judged, more": "how many judgements compare the two systems, and about how many more would tell them "
    "apart (two-sided test at 5 %, power of 80 %) if the difference is as it looks.",
    "cohen, fleiss, alpha": "agreement of raters on the same questions, beyond chance: 1 if they always "
    "agree, about 0 if as often as by chance. Mean κ of two raters (Cohen), κ of all raters (Fleiss), and α "
    "(Krippendorff).",
    "consistent, above_chance, random": "how often a rater answers a repeated question in the same way, "
    "from 0 to 1; how far the rater agrees with everyone else, in standard deviations (random answers have "
    "mean 0); and whether that is below 1.645 after 20 answers or more, as for 95 % of those who answer at "
    "random.",
}
"""Term -> its meaning; docs/reference/glossary.md has the same."""

_PRINTED = {
    "Pearson r, Spearman ρ, Kendall τ": r"Pearson r|Spearman ρ|Kendall τ",
    "sentinel": "sentinels?",
    "cannot tell A from B": "cannot tell",
    "Holm's correction": "Holm",
    "tuned, given, uniform": "gain of the tuned",
    "cluster, best, worst": "best worst",
    "judged, more": "judged more",
    "cohen, fleiss, alpha": "cohen fleiss",
    "consistent, above_chance, random": "above_chance",
}


def explain_terms(rows: Sequence[Row], sentences: Sequence[str]) -> list[str]:
    """Return a sentence for each of the terms in a table or in the sentences around it.

    Example:
        >>> explain_terms([{"human": "EW"}], ["p after Holm's correction"])[0][:17]
        'EW: expected wins'
    """
    cells = [cell(value) for row in rows for value in row.values()]
    text = " ".join([*sentences, *columns_of(rows), *cells])
    return [
        f"{term}: {meaning}"
        for term, meaning in TERMS.items()
        if re.search(rf"\b(?:{_PRINTED.get(term, re.escape(term))})\b", text)
    ]


def explain_bold(meaning: str, metrics: Sequence[str]) -> str:
    """Return the meaning of bold scores, and which metrics have none; nothing if all are sentinels.

    Args:
        meaning: one sentence.
        metrics: the metrics' labels.
    """
    sentinels = [metric for metric in metrics if is_sentinel(metric)]
    if len(sentinels) == len(metrics):
        return ""
    return meaning + (f" None for the sentinels ({', '.join(sentinels)})." if sentinels else "")
