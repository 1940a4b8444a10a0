"""Do evaluators mark the same words as wrong in every context?

    LEARNEDGEC_MIRROR=… python scripts/lab/detection.py robustgec:conll14 PACKAGE-SEED … [--plot FILE]

A word is marked if the log-odds that the head `detection` gives it are above a threshold. A variant is
consistent if the words that it shares with its original, by edit distance, have the same marks. CRS is the
share of cases in which all variants are consistent, and P-CRS the share of consistent variants. P, R and F0.5
compare the marks of originals with the words that their corrections change.

A head that marks less is more consistent, so there are two tables: with the threshold 0, a probability of ½,
and with that at which a head marks as many words of the originals as are wrong, so that P equals R. Packages
whose names differ in their last number are seeds of one training: figures are of all seeds together, and
intervals resample cases. The last column is the difference of CRS from the first package, on the same cases.
`--plot` draws both CRS in the order of the packages. docs/lab/robustness.md has the tables.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rapidfuzz.distance import Levenshtein

from learnedgec import Runtime
from learnedgec.applications.confidence import word_log_odds
from learnedgec.data.catalog.cases import Case, load_cases
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.plotting import new_figure, style
from learnedgec.stats.resampling import Bootstrap, Estimate
from learnedgec.training.pairs.referenced import wrong_words
from learnedgec.types import Floats

_TABLES = ("a probability above ½", "as many marks as wrong words")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases")
    parser.add_argument("packages", nargs="+")
    parser.add_argument("--plot")
    options = parser.parse_args()
    cases = load_cases(options.cases)
    counts: dict[str, list[Floats]] = {}
    for name in options.packages:
        counts.setdefault(re.sub(r"-\d+$", "", Path(name).name), []).append(evaluate(name, cases))
    means = {name: np.mean(of_seeds, axis=0) for name, of_seeds in counts.items()}
    first = next(iter(means.values()))
    results = {name: [*map(figures, mean, first)] for name, mean in means.items()}
    for number, title in enumerate(_TABLES):
        print(f"\n| {title} | P | R | F0.5 | CRS | P-CRS | more CRS |\n|{' --- |' * 7}")
        for name, tables in results.items():
            cells = (f"{e.value:.3f} [{e.low:.3f}, {e.high:.3f}]" for e in tables[number])
            print(f"| {name} | {' | '.join(cells)} |")
    if options.plot:
        draw(results, options.plot)


def evaluate(name: str, cases: Sequence[Case]) -> Floats:
    """Return the counts of a package with both thresholds (`count_marks`), float64 (2, 6, N)."""
    texts = [pair.source for case in cases for pair in case.pairs]
    runtime = Runtime(dtype="auto")
    rows = word_log_odds(Evaluator.load(name), texts, texts, "detection", runtime=runtime)
    # What the model did not read is not marked.
    odds = {text: np.nan_to_num(row, nan=-np.inf) for text, row in zip(texts, rows, strict=True)}
    gold = [
        wrong_words(case.original.source.split(), case.original.target.split()) for case in cases
    ]
    of_originals = np.sort(np.concatenate([odds[case.original.source] for case in cases]))
    as_many = float(of_originals[-1 - sum(map(sum, gold))])
    return np.stack([count_marks(odds, cases, gold, threshold) for threshold in (0.0, as_many)])


def count_marks(
    odds: dict[str, Floats], cases: Sequence[Case], gold: Sequence[list[bool]], threshold: float
) -> Floats:
    """Return what the marks of words whose log-odds are above a threshold amount to, float64 (6, N).

    For each of N cases: the marked words of the original that are wrong, its marked words, its wrong words,
    the consistent variants, all variants, and whether all are consistent.
    """
    hits, marked, wrong, same, variants = np.zeros((5, len(cases)))
    for number, (case, of_gold) in enumerate(zip(cases, gold, strict=True)):
        source = case.original.source
        marks = odds[source] > threshold
        hits[number], marked[number] = (marks & np.array(of_gold)).sum(), marks.sum()
        wrong[number], variants[number] = sum(of_gold), len(case.variants)
        for variant in case.variants:
            # The end of the sentence is a word, too.
            first, second = ([*text.split(), None] for text in (source, variant.source))
            others = odds[variant.source] > threshold
            same[number] += all(
                np.array_equal(
                    marks[block.a : block.a + block.size], others[block.b : block.b + block.size]
                )
                for block in Levenshtein.opcodes(first, second).as_matching_blocks()
            )
    return np.stack([hits, marked, wrong, same, variants, same == variants])


def figures(counts: Floats, first: Floats) -> list[Estimate]:
    """Return P, R, F0.5, CRS, P-CRS, and how much more CRS than the first package has, from their counts."""
    hits, marked, wrong, same, variants, robust = counts
    bootstrap = Bootstrap(len(hits))
    return [
        bootstrap.ratio(hits, marked),
        bootstrap.ratio(hits, wrong),
        bootstrap.ratio(hits, 0.8 * marked + 0.2 * wrong),
        bootstrap.share(robust),
        bootstrap.share(same, variants),
        bootstrap.mean(robust - first[-1]),
    ]


def draw(results: dict[str, list[list[Estimate]]], file: str) -> None:
    """Draw the CRS of each package with both thresholds."""
    with style():
        figure, axis = new_figure(4.5, 2.8)
        for number, label in enumerate(_TABLES):
            values = [tables[number][3] for tables in results.values()]
            reach = [[e.value - e.low for e in values], [e.high - e.value for e in values]]
            axis.errorbar(list(results), [e.value for e in values], reach, marker="o", label=label)
        axis.set_ylabel("CRS")
        axis.legend()
        figure.savefig(file, metadata={"Date": None})


if __name__ == "__main__":
    main()
