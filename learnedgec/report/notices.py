"""What a reader should notice before believing a number, such as blank lines or a closed gate.

Every function returns sentences, none if there is nothing to notice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from learnedgec.edits.parsing import RELEASED, USUAL
from learnedgec.formats.references import References
from learnedgec.formats.sentences import changed_sentences
from learnedgec.formats.unusual import alignment_notices, token_notices
from learnedgec.metrics.base import Metric
from learnedgec.models.packages import find_evaluator
from learnedgec.report.sentences import Annotated

__all__ = ["annotator_notices", "gate_notices", "text_notices", "unknown_edits", "unknown_tokens"]


def text_notices(
    sources: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    references: References | None = None,
) -> list[str]:
    """Return what is unusual about the texts.

    That are blank lines, systems that change nothing, lines out of step with their sources, and texts that
    are cut into tokens otherwise than the others.
    """
    found = []
    blank = sum(not source.strip() for source in sources)
    if blank:
        found.append(f"{_of(blank, len(sources), 'sources')} blank.")
    for name, hypotheses in systems.items():
        blank = sum(not text.strip() for text in hypotheses)
        if blank:
            found.append(f"{name}: {_of(blank, len(sources), 'outputs')} blank.")
        if not any(changed_sentences(sources, hypotheses)):
            found.append(f"{name} is the source, unchanged.")
    return [
        *found,
        *alignment_notices(sources, systems),
        *token_notices(sources, systems, references),
    ]


def annotator_notices(annotator: str, metrics: Sequence[Metric]) -> list[str]:
    """Return a sentence if edits are made by the annotator that comes with learnedgec.

    Args:
        annotator: of the edits that the report shows.
        metrics: some of which may have an annotator of their own.
    """
    members = [each for metric in metrics for each in (metric, *getattr(metric, "metrics", ()))]
    if RELEASED not in (annotator, *(getattr(each, "annotator", None) for each in members)):
        return []
    return [
        f"Edits are made by the annotator {RELEASED}, and scores that depend on them differ a little from "
        f"published ones, which are made with spaCy's {USUAL}."
    ]


def gate_notices(described: Mapping[Metric, Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each metric whose gate gave nothing to some outputs."""
    counts = {metric: sum(map(sum, each.get("rejected", ()))) for metric, each in described.items()}
    return [
        f"{metric.label}: {number:,} outputs are too unlike their source and score 0 (gate)."
        for metric, number in counts.items()
        if number
    ]


def unknown_edits(annotated: Annotated) -> list[str]:
    """Return a sentence if ERRANT saw errors that it could not correct or name."""
    count = sum(
        edit.type == "UNK" for rows in annotated.edits.values() for edits in rows for edit in edits
    )
    return (
        [f"{count:,} edits of systems have the type UNK and count in detection only."]
        if count
        else []
    )


def unknown_tokens(metric: Metric, systems: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a sentence for each evaluator of a metric whose tokenizer does not know all of the outputs."""
    found = []
    for name in metric.evaluators():
        from learnedgec.models.loading import load_tokenizer

        tokenizer: Any = load_tokenizer(str(find_evaluator(name)))
        unknown = tokenizer.unk_token_id
        if unknown is None:
            continue
        texts = list(dict.fromkeys(text for each in systems.values() for text in each))
        rows = tokenizer(texts, add_special_tokens=False)["input_ids"]
        tokens = sum(row.count(unknown) for row in rows)
        if tokens:
            lines = sum(unknown in row for row in rows)
            found.append(
                f"{metric.label}: the tokenizer of {name} does not know {tokens:,} tokens in {lines:,} of "
                f"{len(texts):,} distinct outputs, and reads them all alike."
            )
    return found


def _of(number: int, whole: int, what: str) -> str:
    """Return the beginning of a sentence about some of many."""
    return f"{number:,} of {whole:,} {what} {'is' if number == 1 else 'are'}"
