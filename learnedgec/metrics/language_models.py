"""Metrics of causal language models: Likelihood, and the Scribendi Score, which compares with the source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from rapidfuzz.distance import Indel

from learnedgec.data.references import References
from learnedgec.errors import ModelError, ParameterError
from learnedgec.evaluators.inference import autocast, model_inputs, padded_batches
from learnedgec.evaluators.loading import load_model, load_tokenizer
from learnedgec.metrics.base import PretrainedMetric, Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Ints, Texts

# The largest number of logits at a time, which take 256 MiB in float32.
_LOGITS = 1 << 26


@dataclass(frozen=True, slots=True)
class TokenScores:
    """A language model's output for a sentence of T tokens: token IDs and natural log-probabilities.

    Attributes:
        ids: int64 (T,).
        logs: float64 (T,), the log-probability of each token given all tokens before it, including the
            beginning-of-sentence token.
    """

    ids: Ints
    logs: Floats


def token_scores(name: str, texts: Texts, runtime: Runtime) -> list[TokenScores]:
    """Return the log-probability of every token of every text; each distinct text runs once.

    A text longer than the model's context is read in windows that overlap by half, so every token after the
    first window has at least half a context before it.

    Args:
        name: hub id or directory of a causal language model.
        texts: N texts; `""` has no tokens.
        runtime: device, precision, token budget, progress.

    Raises:
        ModelError: the model cannot be loaded, or its tokenizer has no beginning-of-sentence token.
    """
    tokenizer = load_tokenizer(name)
    model: Any = load_model(name, runtime, "AutoModelForCausalLM")
    start = tokenizer.bos_token_id
    if start is None:
        raise ModelError(
            f"the tokenizer of {name} has no beginning-of-sentence token; use a model that has one."
        )
    if not texts:
        return []
    distinct = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    encoded = tokenizer(list(distinct), add_special_tokens=False, verbose=False)["input_ids"]
    scores = [TokenScores(np.array(ids, dtype=np.int64), np.zeros(len(ids))) for ids in encoded]
    context = getattr(model.config, "max_position_embeddings", None) or 1 << 30
    # The text of each window, and the parts of it that the window reads and scores.
    places = [(n, *place) for n, ids in enumerate(encoded) for place in _windows(len(ids), context)]
    windows = [[start, *encoded[number]][first:end] for number, first, _, end in places]
    budget = max(min(runtime.batch_tokens, _LOGITS // model.config.vocab_size), 1)
    limited = replace(runtime, batch_tokens=budget)
    with torch.inference_mode(), autocast(runtime):
        for group, batch in padded_batches(
            tokenizer, {"input_ids": windows}, limited, description="language model"
        ):
            logits = model(**model_inputs(batch, model)).logits[:, :-1].float()
            targets = batch["input_ids"][:, 1:, None]
            logs = logits.log_softmax(dim=-1).gather(2, targets)[..., 0].double().cpu().numpy()
            for row, window in zip(logs, group, strict=True):
                number, first, scored, end = places[window]
                scores[number].logs[scored : end - 1] = row[scored - first : end - 1 - first]
    return [scores[distinct[text]] for text in texts]


def _windows(tokens: int, context: int) -> Iterator[tuple[int, int, int]]:
    """Yield the windows in which a text is read, after a token that begins it.

    Args:
        tokens: number of the text's tokens.
        context: the largest number of tokens in a window.

    Yields:
        The window's first position, the number of tokens that earlier windows score, and its end.
    """
    first = scored = 0
    while scored < tokens:
        end = min(first + context, tokens + 1)
        yield first, scored, end
        scored = end - 1
        first += context - context // 2


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
