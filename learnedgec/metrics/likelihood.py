"""Likelihood: the probability of a hypothesis in a causal language model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from learnedgec.data.references import References
from learnedgec.evaluators.loading import load_model
from learnedgec.metrics.contract import PretrainedMetric, Statistics
from learnedgec.metrics.language_models import token_scores
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Texts


@dataclass(frozen=True)
class Likelihood(PretrainedMetric):
    """The probability of the hypothesis in a causal language model: the mean of log P(h)/n over sentences.

    log P(h) is the natural logarithm of the probability of all tokens after a beginning-of-sentence token,
    and n is the number of characters, tokens or words, or 1. With `per='token'`, the perplexity is
    exp(−score). But shorter sentences are less surprising as a whole, and sentences of rarer words are less
    surprising per token; per character, both effects are weaker (up to sign and base, the score is then bits
    per character). The source is not used.

    GEC corpora put spaces around punctuation, unlike the text that language models are trained on: `written`
    removes them first (`as_written`). Longer texts than the model's context are read in overlapping windows.
    An empty hypothesis counts as one token with uniform probability over the vocabulary.

    Attributes:
        model: hub id or directory of the language model.
        per: the unit whose number is the divisor of log P(h).
        written: whether to remove the spaces that tokenisation adds.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("likelihood(per='token')").label
        "likelihood(per='token')"
    """

    name: ClassVar[str] = "likelihood"
    needs_references: ClassVar[bool] = False
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"per"})
    per_sentence: ClassVar[tuple[str, ...]] = ("log_probability", "character", "token", "word")
    model: str = "gpt2"
    per: Literal["character", "token", "word", "sentence"] = "character"
    written: bool = True

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return `log_probability` float64, `character`, `token` and `word` int64; (N,) each."""
        texts = [" ".join(text.split()) for text in hypotheses]
        if self.written:
            texts = [as_written(text) for text in texts]
        scores = token_scores(self.model, texts, runtime)
        model: Any = load_model(self.model, runtime, "AutoModelForCausalLM")
        even = -np.log(model.config.vocab_size)
        return Statistics(
            {
                "log_probability": np.array(
                    [score.logs.sum() if len(score.logs) else even for score in scores]
                ),
                "character": np.array([max(len(text), 1) for text in texts]),
                "token": np.array([max(len(score.logs), 1) for score in scores]),
                "word": np.array([max(len(text.split()), 1) for text in hypotheses]),
            }
        )

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return each sentence's log-probability, divided by its number of units."""
        logs: Floats = statistics["log_probability"]
        return logs if self.per == "sentence" else logs / statistics[self.per]


# Words written without a space before them, and words written without a space after them.
_NO_BLANK_BEFORE = re.compile(r"[.,!?;:%)\]}…]+|n[’']t|[’'](?:s|re|ve|m|ll|d)?|''", re.IGNORECASE)

_NO_BLANK_AFTER = re.compile(r"[(\[{$£€#]|``")


def as_written(text: str) -> str:
    r"""Return tokenised text as it is normally written, without spaces around punctuation.

    Straight quotation marks open and close in turn; a treebank's pairs of backticks and of apostrophes
    become such marks.

    Example:
        >>> as_written('He did n\'t say " no " ( or yes ) .')
        'He didn\'t say "no" (or yes).'
    """
    written = ""
    glued = True
    quoted = False
    for word in text.split():
        quote = word in ('"', "``", "''")
        opens = quote and (word == "``" or (word == '"' and not quoted))
        before = not opens and (quote or bool(_NO_BLANK_BEFORE.fullmatch(word)))
        written += ("" if glued or before else " ") + ('"' if quote else word)
        glued = opens or bool(_NO_BLANK_AFTER.fullmatch(word))
        quoted = opens if quote else quoted
    return written
