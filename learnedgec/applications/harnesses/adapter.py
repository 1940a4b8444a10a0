"""Score a model's completions for the documents of an evaluation harness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from learnedgec.applications.reward import extract_correction
from learnedgec.data.references import References, references_of_record
from learnedgec.errors import InputError
from learnedgec.metrics.scores import Score
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import AnyMetric, BoundMetric, bind_one, score


@dataclass(frozen=True, slots=True)
class Submission:
    """One correction to score.

    Attributes:
        source: the source.
        text: the correction, without what else the completion holds.
        references: texts, empty if the metric needs none.
    """

    source: str
    text: str
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class MetricAdapter:
    """A metric, and the keys of a document that hold its inputs; see `adapter`.

    Attributes:
        metric: the metric that scores.
        source: the key of a document's source.
        references: the key of its references, a text or a list of texts.
        extract: returns the correction in a completion.
    """

    metric: BoundMetric
    source: str = "source"
    references: str = "references"
    extract: Callable[[str], str] = extract_correction

    def read(self, document: Mapping[str, Any], completion: str) -> Submission:
        """Return the source and references of a document with the correction that a completion holds.

        Raises:
            InputError: the document lacks the source or the references that the metric needs, or these are
                `None`.
        """
        keys = [self.source, *([self.references] if self.metric.metric.needs_references else [])]
        for key in keys:
            if key not in document:
                raise InputError(
                    f"the document has no {key!r} (it has {', '.join(map(str, document)) or 'nothing'}); "
                    "name the keys by source=… and references=…."
                )
        source: str = document[self.source]
        references: tuple[str, ...] = ()
        if self.metric.metric.needs_references:
            place = f"{self.references!r} of the document with the {self.source} {source!r}"
            references = tuple(references_of_record(document[self.references], place))
        return Submission(source, self.extract(completion), references)

    def score(self, submissions: Sequence[Submission]) -> Score:
        """Return the corpus score of N submissions, with the score of each.

        Raises:
            InputError: there are no submissions, or one lacks the references that the metric needs.
        """
        references = None
        if self.metric.metric.needs_references:
            references = References.from_rows([submission.references for submission in submissions])
        return score(
            self.metric,
            [submission.source for submission in submissions],
            [submission.text for submission in submissions],
            references,
        )


def adapter(metric: AnyMetric, *, runtime: Runtime = Runtime(), **options: Any) -> MetricAdapter:
    """Return the adapter of a metric or its name.

    Args:
        metric: a metric or its name.
        runtime: how to run.
        options: the other attributes of `MetricAdapter`.

    Example:
        >>> gleu = adapter("gleu", references="target")
        >>> document = {"source": "He go home .", "target": "He goes home ."}
        >>> gleu.score([gleu.read(document, "Corrected: He goes home .")]).value
        1.0
    """
    return MetricAdapter(bind_one(metric, runtime), **options)
