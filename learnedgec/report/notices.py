"""Notices that a reader of the report should know, such as blank lines or a closed gate.

Every function returns a list of sentences, which is empty if there is nothing to report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from learnedgec.data.input_warnings import alignment_notices, token_notices
from learnedgec.data.references import References
from learnedgec.data.sentences import changed_sentences
from learnedgec.edits.parsing import RELEASED, USUAL
from learnedgec.evaluators.packages import find_evaluator
from learnedgec.metrics.base import Metric
from learnedgec.report.sentences import Annotated

__all__ = ["annotator_notices", "gate_notices", "text_notices", "unknown_edits", "unknown_tokens"]


def text_notices(
    sources: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    references: References | None = None,
) -> list[str]:
    """Return notices about unusual texts.

    These are blank lines, systems that change nothing, lines that do not match their sources, and texts that
    are tokenised differently from the others.

    Args:
        sources: N sentences.
        systems: system -> N hypotheses.
        references: references of the sentences, if there are any.
    """
    notices = []
    blank = sum(not source.strip() for source in sources)
    if blank:
        notices.append(f"{_of(blank, len(sources), 'sources')} blank.")
    for name, hypotheses in systems.items():
        blank = sum(not text.strip() for text in hypotheses)
        if blank:
            notices.append(f"{name}: {_of(blank, len(sources), 'outputs')} blank.")
        if not any(changed_sentences(sources, hypotheses)):
            notices.append(f"{name} equals the source: it changes nothing.")
    return [
        *notices,
        *alignment_notices(sources, systems),
        *token_notices(sources, systems, references),
    ]


def annotator_notices(annotator: str, metrics: Sequence[Metric]) -> list[str]:
    """Return a notice if edits are found by the annotator that is part of learnedgec.

    Args:
        annotator: annotator of the edits that the report shows.
        metrics: the metrics, which may have other annotators.
    """
    members = [part for metric in metrics for part in (metric, *getattr(metric, "metrics", ()))]
    if RELEASED not in (annotator, *(getattr(member, "annotator", None) for member in members)):
        return []
    return [
        f"The annotator {RELEASED} finds the edits, so scores that depend on them differ slightly from "
        f"published scores, which use spaCy's {USUAL}."
    ]


def gate_notices(described: Mapping[Metric, Mapping[str, Any]]) -> list[str]:
    """Return a notice for each metric whose gate rejected some outputs."""
    counts = {
        metric: sum(map(sum, scores.get("rejected", ()))) for metric, scores in described.items()
    }
    return [
        f"{metric.label}: {number:,} outputs are too different from their source and get a low score "
        "(gate)."
        for metric, number in counts.items()
        if number
    ]


def unknown_edits(annotated: Annotated) -> list[str]:
    """Return a notice if edits have the type UNK: errors that were detected but not corrected."""
    count = sum(
        edit.type == "UNK" for rows in annotated.edits.values() for edits in rows for edit in edits
    )
    return (
        [f"{count:,} edits of systems have the type UNK and count only in detection."]
        if count
        else []
    )


def unknown_tokens(metric: Metric, systems: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a notice for each evaluator whose tokenizer has no token for parts of the outputs."""
    notices = []
    for name in metric.evaluators():
        from learnedgec.evaluators.loading import load_tokenizer

        tokenizer: Any = load_tokenizer(str(find_evaluator(name)))
        unknown = tokenizer.unk_token_id
        if unknown is None:
            continue
        texts = list(dict.fromkeys(text for hypotheses in systems.values() for text in hypotheses))
        rows = tokenizer(texts, add_special_tokens=False)["input_ids"]
        tokens = sum(row.count(unknown) for row in rows)
        if tokens:
            lines = sum(unknown in row for row in rows)
            notices.append(
                f"{metric.label}: the tokenizer of {name} has no entry for {tokens:,} tokens in {lines:,} of "
                f"{len(texts):,} distinct outputs; all of them look the same to the model."
            )
    return notices


def _of(number: int, whole: int, what: str) -> str:
    """Return the beginning of a sentence about some of a number of things."""
    return f"{number:,} of {whole:,} {what} {'is' if number == 1 else 'are'}"
