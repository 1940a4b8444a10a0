"""Scribendi Score: whether a correction is more probable than its source, and close to it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from rapidfuzz.distance import Indel

from learnedgec.data.references import References
from learnedgec.errors import ParameterError
from learnedgec.metrics.contract import PretrainedMetric, Statistics
from learnedgec.metrics.language_models import token_scores
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Texts

# fuzzywuzzy drops these characters before it compares, because they are not ASCII, but keeps those above.
_DROPPED = dict.fromkeys(range(128, 256))


@dataclass(frozen=True)
class Scribendi(PretrainedMetric):
    """Scribendi Score: whether a correction is more probable than its source, and close to it.

    The score of a sentence is 0 if the hypothesis is the source, and −1 if ppl(source) ≤ ppl(hypothesis).
    Otherwise it is 1 if the larger of two similarities is at least `threshold`, and −1 if not. The corpus
    score is the **sum** over sentences.

    ppl is the exponential of minus the mean token log-probability of a causal language model, with a
    beginning-of-sentence token before the text. Texts longer than its context are read in overlapping
    windows, and the perplexity of an empty text is infinite. The similarities are the token-sort ratio
    (of the sorted lower-cased words, rounded to 0.01 as by fuzzywuzzy), and 1 − d/(|s| + |h|) over
    characters, where d counts insertions and deletions, and a substitution as 2.

    Source: Islam and Magnani, "Is this the end of the gold standard? A straightforward reference-less
    grammatical error correction metric" (EMNLP 2021).

    Attributes:
        model: hub id or directory of the language model.
        threshold: the smallest similarity, from 0 to 1.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("scribendi(threshold=0.9)").label
        'scribendi(threshold=0.9)'
    """

    name: ClassVar[str] = "scribendi"
    needs_references: ClassVar[bool] = False
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"threshold"})
    per_sentence: ClassVar[tuple[str, ...]] = ("source_perplexity", "perplexity", "similarity")
    model: str = "gpt2"
    threshold: float = 0.8

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise ParameterError(f"{self}: threshold must be from 0 to 1.")

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return `source_perplexity`, `perplexity` and `similarity` float64, `unchanged` bool; (N,) each."""
        unchanged = [s == h for s, h in zip(sources, hypotheses, strict=True)]
        scores = token_scores(self.model, [*sources, *hypotheses], runtime)
        # The perplexity of a sentence without tokens is infinite.
        perplexities = np.array(
            [np.exp(-score.logs.mean()) if len(score.logs) else np.inf for score in scores]
        )
        return Statistics(
            {
                "source_perplexity": perplexities[: len(sources)],
                "perplexity": perplexities[len(sources) :],
                "similarity": np.array(
                    [
                        max(token_sort_ratio(s, h), Indel.normalized_similarity(s, h))
                        for s, h in zip(sources, hypotheses, strict=True)
                    ]
                ),
                "unchanged": np.array(unchanged, dtype=bool),
            }
        )

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return 1, 0 or −1 for each sentence."""
        better = statistics["perplexity"] < statistics["source_perplexity"]
        close = statistics["similarity"] >= self.threshold
        return np.where(statistics["unchanged"], 0.0, np.where(better & close, 1.0, -1.0))

    def aggregate(self, statistics: Statistics) -> float:
        """Return the sum of the sentence scores."""
        return float(self.sentence_scores(statistics).sum())

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return how many sentences became better and worse, and how many are unchanged."""
        scores = self.sentence_scores(statistics)
        return {
            "better": float((scores > 0).sum()),
            "worse": float((scores < 0).sum()),
            "unchanged": float((scores == 0).sum()),
        }


def token_sort_ratio(first: str, second: str) -> float:
    """Return fuzzywuzzy's token-sort ratio, as a fraction of two digits.

    Characters from U+0080 to U+00FF are dropped, characters other than letters, digits and _ become spaces,
    and the words of the rest are lower-cased and sorted. The ratio of characters follows: 1 if both texts are
    equal, and 0 if one is empty.

    Example:
        >>> token_sort_ratio("new york mets !", "Mets, New York")
        1.0
    """
    left, right = (
        " ".join(sorted(re.sub(r"\W", " ", text.translate(_DROPPED)).lower().split()))
        for text in (first, second)
    )
    total = len(left) + len(right) or 1
    return round(100 * ((total - Indel.distance(left, right)) / total)) / 100
