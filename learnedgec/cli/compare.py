"""`learnedgec compare`: differences from a baseline, with intervals, tests and a sentence for a paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jsonargparse import Namespace
from jsonargparse.typing import NonNegativeFloat

from learnedgec.analysis.comparison import BaselineComparison, comparisons_with, table_of
from learnedgec.analysis.conclusions import about_gold, compared, listed, verdict
from learnedgec.analysis.ranking import rank_systems
from learnedgec.cli import flags, inputs, output, tables
from learnedgec.data.input_warnings import misaligned, style_notices
from learnedgec.errors import InputError
from learnedgec.metrics.bound import BoundMetric, names_in_text, short_labels
from learnedgec.metrics.contract import ShowsEdits, Statistics
from learnedgec.metrics.sentinels import is_sentinel
from learnedgec.stats.significance import (
    describe_tests,
    sentences_needed,
    too_few_sentences,
)


@dataclass
class _Comparison(inputs.Baseline):
    """The baseline, what p-values are corrected for, and which result is a failure.

    Attributes:
        fail_if_worse: exit with 1 if a system is significantly worse than the baseline by any of the metrics
            (other than edit-count, length, constant and random), or has no score. The paired bootstrap draws
            the sentences again and again, the same for both systems, and p is how often chance alone makes a
            difference of this size; below 1 minus --confidence, after Holm's correction for several systems,
            it is significant. Exit with 2 if that depends on gold edits that errant does not extract itself
            (see --reannotate), if the baseline makes hardly any of the gold edits, if lines seem to belong to
            other sources or are written in another style (raw, numbered, in lower case), or if a system is
            worse on some sentences, but differs on too few for any significance.
        margin: --fail-if-worse: allow a significant loss of up to this much. It is compared with the
            difference in the table; the test still asks whether there is any difference at all.
        all_pairs: correct p-values for all pairs of systems, as `rank` and `report` do without a baseline,
            and not for the comparisons with the baseline alone.
    """

    fail_if_worse: bool = False
    margin: NonNegativeFloat = 0.0
    all_pairs: bool = False


@dataclass(frozen=True)
class _Comparisons:
    """The comparisons of all other systems with the baseline by one metric.

    Attributes:
        metric: the metric.
        name: its short label.
        baseline: the statistics of the baseline.
        rows: a comparison for each other system.
        own: the comparisons, by system, with the edits that the metric extracts from the references; none
            if it does so anyway, or reads no gold edits.
    """

    metric: BoundMetric
    name: str
    baseline: Statistics
    rows: list[BaselineComparison]
    own: Mapping[str, BaselineComparison]

    def undecided(self, result: Callable[[BaselineComparison], object]) -> list[BaselineComparison]:
        """Return the comparisons whose result differs by the metric's own edits of the references."""
        return [
            row
            for row in self.rows
            if row.system in self.own and result(row) != result(self.own[row.system])
        ]

    def conclusions(
        self, rows: Sequence[BaselineComparison], by_gate: Sequence[BaselineComparison] = ()
    ) -> list[str]:
        """Return verdicts on systems in words, and which verdicts depend on who marked gold edits.

        Args:
            rows: some of the comparisons.
            by_gate: undecided comparisons that the gate reports, so that they are left out here.
        """
        undecided = self.undecided(lambda row: row.verdict)
        decided = [row for row in rows if row not in undecided]
        undecided = [row for row in rows if row in undecided and row not in by_gate]
        return [
            *([compared(decided, self.name)] if decided else []),
            *([self.about_gold(undecided)] if undecided else []),
        ]

    def about_gold(self, rows: Sequence[BaselineComparison]) -> str:
        """Return in one sentence why the metric decides nothing about some systems."""
        given, own = (
            listed([f"{each.system} {each.difference:+.4f} ({each.p_in_words})" for each in side])
            for side in (rows, [self.own[row.system] for row in rows])
        )
        return about_gold(self.name, f"differences from {rows[0].baseline} are {given}", own)


def _read_options(arguments: Sequence[str]) -> Namespace:
    """Return the options of the command, checked."""
    about = "Compare systems with a baseline by one or more metrics."
    common = "src hyp ref gold metric baseline fail_if_worse margin format out"
    parser = flags.make_parser("compare", about, common)
    flags.add_fields(parser, _Comparison)
    inputs.add_scoring(parser)
    flags.add_evaluation(parser, plot=False)
    options = output.with_format(parser.parse_args(arguments))
    flags.require(options, baseline="old.txt")
    if options.margin and not options.fail_if_worse:
        raise InputError("--margin is for --fail-if-worse; give both, or neither.")
    return options


def run_compare(arguments: Sequence[str]) -> int:
    """Run the command; return the exit code, which is that of the gate with `--fail-if-worse`."""
    options = _read_options(arguments)
    task = inputs.read_task(options)
    if options.fail_if_worse:
        _check_gate(options, task)
    results = _compare(task, options)
    code, verdicts, fields, by_gate = 0, list[str](), dict[str, Any](), list[BaselineComparison]()
    if options.fail_if_worse:
        code, verdicts, fields = _gate(task, results, options.margin)
        # The gate reports what it leaves undecided, so the conclusions do not repeat it.
        by_gate = [row for each in results for row in each.undecided(_fails(options.margin))]
    first = results[0].rows[0]
    comparisons = [row for each in results for row in each.rows]
    table = table_of(
        comparisons,
        [text for each in results for row in each.rows for text in each.conclusions([row])],
        task.signatures,
    )
    drawn = flags.read_resampling(options, task.corpus.documents)
    size = drawn.size(len(task.corpus))
    output.notice(*too_few_sentences(first.comparisons, size, drawn.level, unit=drawn.unit))
    output.emit_table(
        replace(table, caption=_caption(results), short=short_labels(task.labels)),
        options,
        details=fields,
        conclusions=[text for c in results for text in c.conclusions(c.rows, by_gate)] + verdicts,
        notes=[f"Wins, ties and losses count sentences; {_about_p(results)}"],
        signatures=dict.fromkeys(row["signature"] for row in table.rows if "signature" in row),
    )
    if options.out != "-" or options.format != "table":
        output.notice(*verdicts)
    return code


def _compare(task: inputs.Task, options: Namespace) -> list[_Comparisons]:
    """Return the comparisons of every system with the first, by each metric."""
    baseline, *_ = task.corpus.systems
    tested = None if options.all_pairs else baseline
    settings: dict[str, Any] = {
        "baseline": tested,
        "resampling": flags.read_resampling(options, task.corpus.documents),
    }
    names = names_in_text(task.labels)
    results = []
    for metric, statistics in task.statistics():
        rows = comparisons_with(baseline, rank_systems(metric, statistics, **settings))
        own = {}
        if other := metric.reannotated(task.corpus.references):
            ranking = rank_systems(other, other.compute(task.corpus), **settings)
            own = {row.system: row for row in comparisons_with(baseline, ranking)}
        name = names[metric.label]
        results.append(_Comparisons(metric, name, statistics[baseline], rows, own))
    return results


# -- the gate ----------------------------------------------------------------------------------------


def _fails(margin: float) -> Callable[[BaselineComparison], bool]:
    """Return a function that tells whether a comparison is a failure with this margin."""
    return lambda row: bool(row.failure("", margin))


def _gate(
    task: inputs.Task, results: Sequence[_Comparisons], margin: float
) -> tuple[int, list[str], dict[str, Any]]:
    """Return what `--fail-if-worse` decides: the exit code, the verdict in words, and fields for programs.

    Sentinels have no say.
    """
    fails = _fails(margin)
    decided: list[BaselineComparison] = []
    sources, systems, _ = task.corpus.texts
    undecided = [
        *misaligned(task.corpus),
        *style_notices(sources, systems),
    ]
    # Where texts are in another order or style, no difference says anything about a system.
    is_unfit = bool(undecided)
    for each in results:
        if is_sentinel(each.metric.label):
            continue
        others = each.undecided(fails)
        decided += [row for row in each.rows if row not in others]
        undecided += _too_few_differ(each, margin)
        if others:
            why = each.about_gold(others)
            undecided.append(why[0].lower() + why[1:])
        elif not is_unfit and not any(map(fails, each.rows)):
            undecided += _too_few_correct(each)
    decided = [] if is_unfit else decided
    names = {each.metric.label: each.name for each in results}
    failures = [why for row in decided if (why := row.failure(names[row.metric], margin))]
    sentences = [verdict(decided, names, margin)] if failures or not undecided else []
    return (
        1 if failures else 2 if undecided else 0,
        [*sentences, *(f"not decided: {why}" for why in undecided)],
        {"margin": margin, "failures": failures, "undecided": undecided},
    )


def _too_few_differ(result: _Comparisons, margin: float) -> list[str]:
    """Return which systems lose sentences, but too few for any difference to be significant.

    A difference within the margin is allowed in any case.
    """
    needed = sentences_needed(1, result.rows[0].resampling.level)
    return [
        f"by {result.name}, {row.system} and {row.baseline} differ on only {row.differing} of "
        f"{row.resampling.counted(row.wins + row.ties + row.losses)}, and a significant difference needs "
        f"{needed}; compare them on more {row.resampling.unit}s."
        for row in result.rows
        if row.losses and row.differing < needed and not (margin and row.difference >= -margin)
    ]


def _too_few_correct(result: _Comparisons) -> list[str]:
    """Return why a system that is not worse need not be good: the baseline itself makes no gold edits."""
    metric, row = result.metric.metric, result.rows[0]
    details = metric.sentence_details(result.baseline) if isinstance(metric, ShowsEdits) else {}
    if "tp" not in details:
        return []
    correct = details["tp"] > 0
    with_gold = int((correct | (details["recall"] < 1)).sum())
    right = int(correct.sum())
    needed = sentences_needed(row.comparisons, row.resampling.level)
    if right >= needed:
        return []
    return [
        f"{row.baseline} scores {row.baseline_score:.4f} by {result.name}, with a correct edit in "
        f"{right:,} of {with_gold:,} sentences that have gold edits, so hardly any system could be worse "
        f"(at least {needed:,} are needed); check the gold edits."
    ]


def _check_gate(options: Namespace, task: inputs.Task) -> None:
    """Raise `InputError` if `--fail-if-worse` could not fail, whatever the scores."""
    if all(map(is_sentinel, task.labels)):
        raise InputError(
            f"--fail-if-worse was given with {', '.join(task.labels)} alone, which cannot tell better from "
            "worse; name another metric, such as --metric gleu."
        )
    references = task.corpus.references
    reading = [metric.label for metric in task.metrics if isinstance(metric.metric, ShowsEdits)]
    if reading and references is not None and not references.corrects(task.corpus.sources):
        given = options.gold or ", ".join(options.ref or options.jsonl)
        raise InputError(
            f"--fail-if-worse could pass any system by {', '.join(reading)}: {given} corrects none of the "
            f"{len(references):,} sentences, so there is no edit to find; give references with the "
            "annotators' edits."
        )
    systems, drawn = (
        len(task.corpus.systems),
        flags.read_resampling(options, task.corpus.documents),
    )
    size = drawn.size(len(task.corpus))
    count = systems * (systems - 1) // 2 if options.all_pairs else systems - 1
    if size < sentences_needed(count, drawn.level):
        [reason] = too_few_sentences(count, size, drawn.level, unit=drawn.unit)
        raise InputError(f"--fail-if-worse could never fail: {reason}")


# -- the table ---------------------------------------------------------------------------------------


def _about_p(results: Sequence[_Comparisons]) -> str:
    """Return which tests the p-values are from, and what they are corrected for."""
    rows = [row for each in results for row in each.rows]
    first = rows[0]
    tests = describe_tests([row.test for row in rows if row.test], counted=len(results) == 1)
    if first.comparisons == 1:
        return f"p is two-sided, by {tests}."
    return (
        f"p is two-sided, by {tests}; p_adjusted is p{first.correction}. Each interval is for a single "
        "difference, without that correction: if it excludes 0 but p_adjusted is not below "
        f"{1 - first.resampling.level:.2g}, the difference is not significant after the correction."
    )


def _caption(results: Sequence[_Comparisons]) -> str:
    """Return the caption of the table for a paper."""
    first = results[0].rows[0]
    bold = f" Bold: scores significantly above that of {first.baseline}."
    labels = [each.metric.label for each in results]
    return (
        f"Differences from {first.baseline} by {', '.join(each.name for each in results)}, with "
        f"{100 * first.resampling.level:g}% intervals; win/tie/loss counts sentences; {_about_p(results)}"
        f"{tables.explain_bold(bold, labels)} All with {first.resampling.resamples:,} resamples."
    )
