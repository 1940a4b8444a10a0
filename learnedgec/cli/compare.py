"""`learnedgec compare`: differences from a baseline, with intervals, tests and a sentence for a paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jsonargparse import Namespace
from jsonargparse.typing import NonNegativeFloat

from learnedgec.analysis.comparison import BaselineComparison, comparisons_with
from learnedgec.analysis.conclusions import about_gold, compared, verdict
from learnedgec.analysis.ranking import rank_systems
from learnedgec.cli import flags, inputs, output, terms
from learnedgec.data.input_warnings import misaligned
from learnedgec.errors import InputError
from learnedgec.metrics.base import Metric, ShowsEdits, Statistics
from learnedgec.metrics.bound import BoundMetric
from learnedgec.metrics.errant import Errant
from learnedgec.metrics.scores import is_sentinel, short_labels
from learnedgec.stats.significance import (
    describe_test,
    sentences_needed,
    too_few_resamples,
    too_few_sentences,
)

# The share of the sentences edited by a system and by annotators in which they make a common edit by
# chance. It is at most 2.5 % with the gold edits of the sentence before, for the systems of SEEDA and of the
# sample; with their own gold edits, it is at least 52 %.
_BY_CHANCE = 0.1


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
            other sources, or if a system is worse on some sentences, but differs on too few for any
            significance.
        margin: --fail-if-worse: allow a significant loss of up to this much. It is compared with the
            difference in the table; the test still asks whether there is any difference at all.
        all_pairs: correct p-values for all pairs of systems, as `rank` and `report` do without a baseline,
            and not for the comparisons with the baseline alone.
    """

    fail_if_worse: bool = False
    margin: NonNegativeFloat = 0.0
    all_pairs: bool = False


def run_compare(arguments: Sequence[str]) -> int:
    """Run the command; return the exit code, which is that of the gate with `--fail-if-worse`."""
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
    task = inputs.read_task(options)
    if options.fail_if_worse:
        _check_gate(options, task)
    baseline, *_ = task.inputs.systems
    tested = None if options.all_pairs else baseline
    resampling = {"baseline": tested, **flags.read_resampling(options)}
    of_metrics, of_baseline, of_own = [], [], []
    for metric, statistics in task.statistics():
        ranking = rank_systems(metric, statistics, **resampling)
        of_metrics.append(comparisons_with(baseline, ranking))
        of_baseline.append(statistics[baseline])
        of_own.append(_with_own_edits(task, metric, baseline, resampling))
    rows = [row for of_metric in of_metrics for row in of_metric]
    first, names = rows[0], short_labels(task.labels)
    sentences = len(task.inputs.sources)
    too_few = [
        *too_few_sentences(first.comparisons, sentences, first.level),
        *too_few_resamples(first.comparisons, first.resamples, first.level),
    ]
    test = f"|test:paired-bootstrap|resamples:{first.resamples}|seed:{options.seed}"
    signatures = {label: signature + test for label, signature in task.signatures.items()}
    conclusions, records = list[str](), []
    for of_metric, own in zip(of_metrics, of_own, strict=True):
        name = names[of_metric[0].metric]
        # What the gate does not decide is said once, by the gate.
        conclusions += _concluded(
            of_metric, own, name, options.margin if options.fail_if_worse else None
        )
        records += [
            _record(row, signatures[row.metric], *_concluded([row], own, name)) for row in of_metric
        ]
    code, verdicts, fields = (
        _gate(task, of_metrics, of_baseline, of_own, options)
        if options.fail_if_worse
        else (0, [], {})
    )
    output.emit(
        records,
        options,
        payload={"comparisons": records, **fields},
        title=f"Differences from {baseline}, with {100 * options.confidence:g}% intervals",
        caption=_caption(rows, names),
        table_rows=[
            row for of_metric in of_metrics for row in _table_rows(of_metric, alone=len(names) == 1)
        ],
        groups=("metric",),
        metrics=list(names),
        conclusions=[
            *conclusions,
            *verdicts,
        ],
        notes=[
            "Wins, ties and losses count sentences; p is two-sided"
            f"{first.correction}.{_uncorrected(first)}",
        ],
        signatures=signatures.values(),
    )
    output.notice(*too_few)
    return code


def _gate(
    task: inputs.Task,
    of_metrics: Sequence[Sequence[BaselineComparison]],
    of_baseline: Sequence[Statistics],
    of_own: Sequence[Mapping[str, BaselineComparison]],
    options: Namespace,
) -> tuple[int, list[str], dict[str, Any]]:
    """Return what `--fail-if-worse` decides: the exit code, the verdict in words, and fields for programs.

    Sentinels have no say.
    """
    margin, names = options.margin, short_labels(task.labels)
    decided: list[BaselineComparison] = []
    # Of gold edits of other sentences, every system makes a few by chance.
    undecided = [*misaligned(*task.inputs), *_foreign_gold(task, of_metrics[0][0])]
    foreign = bool(undecided)
    for metric, rows, statistics, own in zip(
        task.metrics, of_metrics, of_baseline, of_own, strict=True
    ):
        if is_sentinel(metric.label):
            continue
        others = _otherwise(rows, own, lambda row: bool(row.failure("", margin)))
        decided += [row for row in rows if row not in others]
        undecided += _too_few_differ(rows, names[metric.label], margin)
        if others:
            why = _undecided(others, own, names[metric.label])
            undecided.append(why[0].lower() + why[1:])
        elif not foreign and not any(row.failure("", margin) for row in rows):
            undecided += _too_few_correct(metric.metric, statistics, rows[0], names[metric.label])
    # Texts in another order are no worse, but others.
    decided = [] if foreign else decided
    failures = [why for row in decided if (why := row.failure(names[row.metric], margin))]
    sentences = [verdict(decided, names, margin)] if failures or not undecided else []
    return (
        1 if failures else 2 if undecided else 0,
        [*sentences, *(f"not decided: {why}" for why in undecided)],
        {"margin": margin, "failures": failures, "undecided": undecided},
    )


def _with_own_edits(
    task: inputs.Task,
    metric: BoundMetric,
    baseline: str,
    resampling: Mapping[str, Any],
) -> dict[str, BaselineComparison]:
    """Return the comparisons, by system, with the edits that the metric extracts from the references.

    There are none if it does so anyway, or reads no gold edits.
    """
    if not (anew := metric.reannotated(task.inputs.references)):
        return {}
    ranking = rank_systems(anew, anew.compute(task.inputs), **resampling)
    return {row.system: row for row in comparisons_with(baseline, ranking)}


def _otherwise(
    rows: Sequence[BaselineComparison],
    own: Mapping[str, BaselineComparison],
    result: Callable[[BaselineComparison], object],
) -> list[BaselineComparison]:
    """Return the comparisons that have another result by the metric's own edits of the references."""
    return [row for row in rows if row.system in own and result(row) != result(own[row.system])]


def _concluded(
    rows: Sequence[BaselineComparison],
    own: Mapping[str, BaselineComparison],
    name: str,
    margin: float | None = None,
) -> list[str]:
    """Return what a metric of this name says of systems, or that this depends on who marked gold edits.

    With a margin, the systems are left out about which the gate says the latter.
    """
    undecided = _otherwise(rows, own, lambda row: row.verdict)
    decided = [row for row in rows if row not in undecided]
    if margin is not None:
        gate = _otherwise(rows, own, lambda row: bool(row.failure("", margin)))
        undecided = [row for row in undecided if row not in gate]
    return [
        *([compared(decided, name)] if decided else []),
        *([_undecided(undecided, own, name)] if undecided else []),
    ]


def _undecided(
    rows: Sequence[BaselineComparison], own: Mapping[str, BaselineComparison], metric: str
) -> str:
    """Return in one sentence why a metric of this name decides nothing about some systems."""
    differences = (
        f"{row.system} {row.difference:+.4f} ({row.p}) and {other.difference:+.4f} ({other.p})"
        for row in rows
        for other in [own[row.system]]
    )
    return about_gold(
        metric,
        f"differences from {rows[0].baseline} by the given gold edits, and by those that {metric} extracts "
        f"from the same texts: {'; '.join(differences)}",
    )


def _foreign_gold(task: inputs.Task, row: BaselineComparison) -> list[str]:
    """Return why gold edits may belong to other sentences: the baseline edits these in other ways.

    Edits are extracted from the texts of the references, which every metric with references reads. Edits
    that annotators mark otherwise than a metric extracts them are another matter (`_too_few_correct`).

    Args:
        task: the texts and the metrics.
        row: a comparison with the baseline.
    """
    sources, systems, references = task.inputs
    needing = any(metric.metric.needs_references for metric in task.metrics)
    if not needing or references is None or not references.annotated:
        return []
    plain = Errant(annotator="plain", reannotate=True)
    statistics = plain.compute(sources, systems[row.baseline], references, task.metrics[0].runtime)
    details = plain.sentence_details(statistics)
    both = int(((details["proposed"] > 0) & (details["gold"] > 0)).sum())
    right = int((details["tp"] > 0).sum())
    if both < sentences_needed(1, row.level) or right >= _BY_CHANCE * both:
        return []
    return [
        f"{row.baseline} and the gold edits change {both:,} of the same sentences, and have a common edit in "
        f"only {right:,} of them, as if the gold edits were those of other sentences (at least "
        f"{100 * _BY_CHANCE:g} % are expected); check the gold edits."
    ]


def _too_few_differ(rows: Sequence[BaselineComparison], name: str, margin: float) -> list[str]:
    """Return which systems lose sentences, but too few for any difference by a metric to be significant.

    A difference within the margin is allowed in any case.
    """
    needed = sentences_needed(1, rows[0].level)
    return [
        f"by {name}, {row.system} and {row.baseline} differ on only {row.differing} of "
        f"{row.wins + row.ties + row.losses:,} sentences, and a significant difference needs {needed}; "
        "compare them on more sentences."
        for row in rows
        if row.losses and row.differing < needed and not (margin and row.difference >= -margin)
    ]


def _too_few_correct(
    metric: Metric, statistics: Statistics, row: BaselineComparison, name: str
) -> list[str]:
    """Return why a system that is not worse need not be good: the baseline itself makes no gold edits.

    Args:
        metric: the metric.
        statistics: the baseline's.
        row: a comparison with the baseline.
        name: the metric's name in the sentence.
    """
    details = metric.sentence_details(statistics) if isinstance(metric, ShowsEdits) else {}
    if "tp" not in details:
        return []
    correct = details["tp"] > 0
    with_gold = int((correct | (details["recall"] < 1)).sum())
    right = int(correct.sum())
    needed = sentences_needed(row.comparisons, row.level)
    if right >= needed:
        return []
    return [
        f"{row.baseline} scores {row.baseline_score:.4f} by {name}, with a correct edit in {right:,} of "
        f"{with_gold:,} sentences that have gold edits, so hardly any system could be worse (at least "
        f"{needed:,} are needed); check the gold edits."
    ]


def _check_gate(options: Namespace, task: inputs.Task) -> None:
    """Raise `InputError` if `--fail-if-worse` could not fail, whatever the scores."""
    if all(map(is_sentinel, task.labels)):
        raise InputError(
            f"--fail-if-worse was given with {', '.join(task.labels)} alone, which cannot tell better from "
            "worse; name another metric, such as --metric gleu."
        )
    references = task.inputs.references
    reading = [metric.label for metric in task.metrics if isinstance(metric.metric, ShowsEdits)]
    if reading and references is not None and not references.corrects(task.inputs.sources):
        given = options.gold or ", ".join(options.ref or options.jsonl)
        raise InputError(
            f"--fail-if-worse could pass any system by {', '.join(reading)}: {given} corrects none of the "
            f"{len(references):,} sentences, so there is no edit to find; give references with the "
            "annotators' edits."
        )
    systems, sentences, level = (
        len(task.inputs.systems),
        len(task.inputs.sources),
        options.confidence,
    )
    count = systems * (systems - 1) // 2 if options.all_pairs else systems - 1
    reasons = (
        [] if options.resamples is None else too_few_resamples(count, options.resamples, level)
    )
    if sentences < sentences_needed(count, level):
        reasons = too_few_sentences(count, sentences, level)
    if reasons:
        raise InputError(f"--fail-if-worse could never fail: {reasons[0]}")


def _record(row: BaselineComparison, signature: str, sentence: str) -> dict[str, Any]:
    """Return all fields of a comparison as a flat record, for programs."""
    record = asdict(row)
    for field in ("", "difference_", "baseline_"):
        record[f"{field}low"], record[f"{field}high"] = record.pop(f"{field}bounds")
    return {**record, "significant": row.significant, "sentence": sentence, "signature": signature}


def _uncorrected(row: BaselineComparison) -> str:
    """Return the reason why an interval and a p-value may seem to differ, if there are several systems."""
    if row.comparisons == 1:
        return ""
    return (
        " Each interval is for a single difference, without that correction: if it excludes 0 but p is not "
        f"below {1 - row.level:.2g}, the difference is not significant after the correction."
    )


def _caption(rows: Sequence[BaselineComparison], names: Mapping[str, str]) -> str:
    """Return the caption of the table for a paper."""
    row = rows[0]
    test = describe_test("paired-bootstrap", [each.differing for each in rows])
    bold = f" Bold: scores significantly above that of {row.baseline}."
    return (
        f"Differences from {row.baseline} by {', '.join(names.values())}, with {100 * row.level:g}% "
        f"intervals; win/tie/loss counts sentences. p: of the difference from {row.baseline}{row.correction}."
        f"{_uncorrected(row)}{terms.explain_bold(bold, list(names))} All by {test} with "
        f"{row.resamples:,} resamples."
    )


def _table_rows(rows: Sequence[BaselineComparison], *, alone: bool) -> list[dict[str, Any]]:
    """Return the rows of one metric for readers: the baseline's, and one for each other system.

    Scores significantly above the baseline's are in bold, except those of sentinels. The name of a single
    metric is left out.
    """
    first = rows[0]
    name = {} if alone else {"metric": first.metric}
    dashes = dict.fromkeys(("Δ", "interval", "p", "win/tie/loss"), "–")
    table = [{**name, "system": first.baseline, "score": first.baseline_score, **dashes}]
    for row in rows:
        better = row.significant and row.difference > 0 and not is_sentinel(row.metric)
        table.append(
            {
                **name,
                "system": row.system,
                "score": output.Bold(row.score) if better else row.score,
                "Δ": "–" if np.isnan(row.difference) else f"{row.difference:+.4f}",
                "interval": "–"
                if np.isnan(row.difference_bounds[0])
                else "[{:+.4f}, {:+.4f}]".format(*row.difference_bounds),
                "p": row.p.removeprefix("p ").removeprefix("= "),
                "win/tie/loss": f"{row.wins}/{row.ties}/{row.losses}",
            }
        )
    return table
