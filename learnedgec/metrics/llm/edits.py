"""LLM-E: a large language model rates edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from learnedgec.data.m2 import Edit
from learnedgec.edits.annotator import extract_edits
from learnedgec.edits.max_match import reference_edits
from learnedgec.edits.parsing import describe_annotator
from learnedgec.metrics.llm.answers import HIGHEST, LOWEST
from learnedgec.metrics.llm.sentences import LlmS
from learnedgec.runtime.runtime import Runtime

__all__ = [
    "LlmE",
]


@dataclass(frozen=True)
class LlmE(LlmS):
    """LLM-E: a large language model rates corrections from 1 to 5 by the edits that make them.

    Like LLM-S (`llm-s`), except for what the model sees of a correction, and for the criteria: `overall`
    quality, the `difficulty` of the corrections, or the `impact` of the edits on the sentence. By default,
    edits come from the shortest token alignment, with neighbouring changes merged, and no parser is needed;
    with an `annotator` they are ERRANT's, as in the study.

    Source: Kobayashi et al., "Large Language Models Are State-of-the-Art Evaluator for Grammatical Error
    Correction" (BEA 2024).

    Attributes:
        criterion: `overall` quality, `difficulty` of the corrections, or `impact` on the sentence.
        annotator: the spaCy pipeline for ERRANT, such as `en-ewt-sm`, or `None` for alignment alone.

    Example:
        >>> from learnedgec import load_metric
        >>> plan = load_metric("llm-e").plan(["He go to home ."], {"a": ["He goes home ."]})
        >>> print(plan.prompt.splitlines()[7])
        1. [go to → goes]
    """

    name: ClassVar[str] = "llm-e"
    shown: ClassVar[str] = (
        ", each shown as the edits that make it: [a → b] replaces a by b, [→ b] inserts b, [a →] deletes a"
    )
    rule: ClassVar[str] = (
        f" A correction without edits gets {HIGHEST} if the source sentence is correct, and {LOWEST} if it "
        "has an error."
    )
    criteria: ClassVar[Mapping[str, str]] = {
        "overall": "the overall quality of its edits",
        "difficulty": "the difficulty of the corrections that its edits make",
        "impact": "the good that its edits do to the sentence",
    }

    annotator: str | None = None

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return what LLM-S depends on, and the annotator."""
        found = super().describe(runtime)
        return found | (describe_annotator(self.annotator) if self.annotator else {})

    def _show(self, pairs: Sequence[tuple[str, str]], runtime: Runtime) -> list[str]:
        """Return the edits that make each correction."""
        rows: Sequence[Sequence[Edit]]
        if self.annotator is None:
            rows = [reference_edits(*pair) for pair in pairs]
        else:
            rows = extract_edits(pairs, self.annotator, types=False, runtime=runtime)
        return [
            " ".join(_arrow(source.split(), edit) for edit in edits) or "no edits"
            for (source, _), edits in zip(pairs, rows, strict=True)
        ]


def _arrow(tokens: Sequence[str], edit: Edit) -> str:
    """Return an edit as `[a → b]`, `[→ b]` or `[a →]`."""
    return f"[{' '.join([*tokens[edit.start : edit.end], '→', *edit.correction.split()])}]"
