"""Metrics that ask a causal language model how probable sentences are."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from rapidfuzz.distance import Indel

from learnedgec.catalog.ratings import load_ratings
from learnedgec.encoding import (
    autocast,
    checkpoint_digest,
    load_model,
    load_tokenizer,
    model_inputs,
    padded_batches,
)
from learnedgec.errors import InputError, ModelError, ParameterError
from learnedgec.metrics.base import Array, Floats, Metric, Statistics
from learnedgec.metrics.meteor import meteor
from learnedgec.references import References
from learnedgec.runtime import Runtime

__all__ = ["Asano", "Likelihood", "Scribendi", "TokenScores", "as_written", "token_scores"]

# The largest table of logits at a time, in numbers: 256 MiB in float32.
_LOGITS = 1 << 26
# fuzzywuzzy drops these before it compares, as not ASCII; it leaves what lies above.
_DROPPED = dict.fromkeys(range(128, 256))


@dataclass(frozen=True, slots=True)
class TokenScores:
    """What a language model says of a sentence of T tokens: their numbers and natural log-probabilities.

    Attributes:
        ids: int64 (T,).
        logs: float64 (T,), each given the beginning-of-sentence token and all tokens before it.
    """

    ids: npt.NDArray[np.int64]
    logs: Floats


def token_scores(name: str, texts: Sequence[str], runtime: Runtime) -> list[TokenScores]:
    """Return the log-probability of every token of every text; each distinct text runs once.

    A text longer than the model's context is read in windows that overlap by half, so that every
    token after the first window sees at least half a context; shorter ones are read at once.

    Args:
        name: hub id or directory of a causal language model.
        texts: N texts, as they are; `""` has no tokens.
        runtime: device, precision, token budget, progress.

    Raises:
        ModelError: the model cannot be loaded, or its tokenizer has no token to begin with.
    """
    tokenizer = load_tokenizer(name)
    model: Any = load_model(name, runtime, "AutoModelForCausalLM")
    start = tokenizer.bos_token_id
    if start is None:
        raise ModelError(
            f"the tokenizer of {name} has no beginning-of-sentence token; use a model that has one."
        )
    distinct = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    encoded = (
        tokenizer(list(distinct), add_special_tokens=False, verbose=False)["input_ids"]
        if distinct
        else []
    )
    found = [TokenScores(np.array(ids, dtype=np.int64), np.zeros(len(ids))) for ids in encoded]
    context = getattr(model.config, "max_position_embeddings", None) or 1 << 30
    windows: list[list[int]] = []
    # For each window: the text, its first token's position, and how many tokens were scored before.
    places: list[tuple[int, int, int]] = []
    for number, ids in enumerate(encoded):
        sequence = [start, *ids]
        first = scored = 0
        while scored < len(ids):
            windows.append(sequence[first : first + context])
            places.append((number, first, scored))
            scored = min(first + context, len(sequence)) - 1
            first += context - context // 2
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
                number, first, scored = places[window]
                end = first + len(windows[window]) - 1
                found[number].logs[scored:end] = row[scored - first : end - first]
    return [found[distinct[text]] for text in texts]


@dataclass(frozen=True)
class Scribendi(Metric):
    """Scribendi Score: is the correction more probable than the source, and close to it?

    0 if the hypothesis is the source; −1 if ppl(source) ≤ ppl(hypothesis); else 1 if the larger of two
    similarities is at least `threshold`, else −1. The corpus score is the **sum** over sentences.

    ppl is the exponential of minus the mean token log-probability of a causal language model, a
    beginning-of-sentence token before the text; longer texts than its context are read in overlapping
    windows, and the perplexity of an empty text is infinite. The similarities are the token-sort ratio
    (lower-cased words sorted; rounded to 0.01, as fuzzywuzzy does), and 1 − d/(|s| + |h|) over
    characters, where d counts insertions and deletions, 2 for a substitution.

    Source: Islam and Magnani, "Is this the end of the gold standard? A straightforward reference-less
    grammatical error correction metric" (EMNLP 2021).

    Attributes:
        model: hub id or directory of the language model.
        threshold: of the similarity, from 0 to 1.

    Example:
        >>> from learnedgec import parse_metric
        >>> parse_metric("scribendi(threshold=0.9)").label
        'scribendi(threshold=0.9)'
    """

    name: ClassVar[str] = "scribendi"
    needs_references: ClassVar[bool] = False
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"threshold"})
    model: str = "gpt2"
    threshold: float = 0.8

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise ParameterError(f"{self}: threshold must be from 0 to 1.")

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return `source_perplexity`, `perplexity` and `similarity` float64, `unchanged` bool; (N,) each."""
        scores = token_scores(self.model, [*sources, *hypotheses], runtime)
        perplexities = np.array([_perplexity(score) for score in scores])
        return Statistics(
            {
                "source_perplexity": perplexities[: len(sources)],
                "perplexity": perplexities[len(sources) :],
                "similarity": np.array(
                    [
                        max(token_sort_ratio(s, h), indel_ratio(s, h))
                        for s, h in zip(sources, hypotheses, strict=True)
                    ]
                ),
                "unchanged": np.array(
                    [s == h for s, h in zip(sources, hypotheses, strict=True)], dtype=bool
                ),
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

    def aggregate_many(self, statistics: Statistics, samples: npt.NDArray[np.intp]) -> Floats:
        """Return the sum of the sentence scores of each resample."""
        sums: Floats = self.sentence_scores(statistics)[samples].sum(axis=1)
        return sums

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return how many sentences became better and worse, and how many are unchanged."""
        scores = self.sentence_scores(statistics)
        return {
            "better": float((scores > 0).sum()),
            "worse": float((scores < 0).sum()),
            "unchanged": float((scores == 0).sum()),
        }

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return both perplexities and the similarity."""
        return {
            name: statistics[name] for name in ("source_perplexity", "perplexity", "similarity")
        }

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the weights' SHA-256 and the precision."""
        return {"sha256": checkpoint_digest(self.model), "dtype": runtime.dtype}


@dataclass(frozen=True)
class Likelihood(Metric):
    """How probable a causal language model finds the hypothesis: the mean of log P(h)/n over sentences.

    log P(h) is the natural logarithm of the probability of all tokens after a beginning-of-sentence token, and
    n the number of characters, tokens or words, or 1. A perplexity per token is exp(−score) with
    `per='token'`, but shorter sentences are less surprising as a whole and those of rarer words per token; per
    character both count for less (bits per character, but for sign and base). The source is not read.

    Corpora of this field put blanks around punctuation, which no text of the model's did: `written` removes
    them first (`as_written`). Longer texts than the model's context are read in overlapping windows. An
    empty hypothesis counts as one token, as probable as any other of the vocabulary.

    Attributes:
        model: hub id or directory of the language model.
        per: what log P(h) is divided by.
        written: remove the blanks of tokenised text.

    Example:
        >>> from learnedgec import parse_metric
        >>> parse_metric("likelihood(per='token')").label
        "likelihood(per='token')"
    """

    name: ClassVar[str] = "likelihood"
    needs_references: ClassVar[bool] = False
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"per"})
    model: str = "gpt2"
    per: Literal["character", "token", "word", "sentence"] = "character"
    written: bool = True

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
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
        """Return each sentence's log-probability, divided as `per` says."""
        logs: Floats = statistics["log_probability"]
        return logs if self.per == "sentence" else logs / statistics[self.per]

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return the log-probability and what it may be divided by."""
        return dict(statistics.arrays)

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the weights' SHA-256 and the precision."""
        return {"sha256": checkpoint_digest(self.model), "dtype": runtime.dtype}


# Words that stand right after the one before, and right before the one after, in writing.
_NO_BLANK_BEFORE = re.compile(r"[.,!?;:%)\]}…]+|n[’']t|[’'](?:s|re|ve|m|ll|d)?|''", re.IGNORECASE)
_NO_BLANK_AFTER = re.compile(r"[(\[{$£€#]|``")


def as_written(text: str) -> str:
    r"""Return tokenised text as people write it, without blanks around punctuation.

    Straight quotation marks open and close in turn; `` and '' become such marks.

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


def _perplexity(score: TokenScores) -> float:
    """Return the perplexity of a sentence, infinite if it has no tokens."""
    return float(np.exp(-score.logs.mean())) if len(score.logs) else np.inf


def indel_ratio(first: str, second: str) -> float:
    """Return 1 − d/(|first| + |second|), where d counts inserted and deleted characters.

    Example:
        >>> indel_ratio("abcd", "abxd")
        0.75
    """
    total = len(first) + len(second)
    return 1 - Indel.distance(first, second) / total if total else 1.0


def token_sort_ratio(first: str, second: str) -> float:
    """Return fuzzywuzzy's token-sort ratio, as a fraction of two digits.

    Characters from U+0080 to U+00FF are dropped, other than letters, digits and _ become spaces, the rest
    is lower-cased and its words sorted; then the ratio of characters, 1 if both are equal, 0 if one is
    empty.

    Example:
        >>> token_sort_ratio("new york mets !", "Mets, New York")
        1.0
    """
    left, right = (
        " ".join(sorted(re.sub(r"\W", " ", text.translate(_DROPPED)).lower().split()))
        for text in (first, second)
    )
    if left == right:
        return 1.0
    if not left or not right:
        return 0.0
    total = len(left) + len(right)
    return round(100 * ((total - Indel.distance(left, right)) / total)) / 100


@dataclass(frozen=True)
class Asano(Metric):
    """Asano et al.'s weighted sum of grammaticality, fluency and meaning, before learned encoders.

    `α·G + β·F + γ·M`; the system score is the mean over sentences. An empty hypothesis has 0 in all.

    - G: a ridge regression on human grammaticality ratings, (x − 1)/3 of the predicted 1 to 4, over what
      can be counted: tokens, words missing from ERRANT's (British) word list, the language model's mean
      and lowest token log-probability and F, and the sentence's words and word pairs (tf-idf). It is
      trained at first use, in seconds, on `ratings`. The paper's, from Heilman et al. (2014), has
      parser features besides.
    - F: `(log P(h) − log P₁(h)) / |h|` over the tokens of the language model, where P₁ is the unigram model of
      the texts in `ratings` with one added to every count. The paper's language model is an RNN.
    - M: METEOR of the hypothesis against the source, by exact and stemmed matches alone
      (`learnedgec.metrics.meteor`); the paper's has synonyms and paraphrases.

    Source: Asano et al., "Reference-based Metrics can be Replaced with Reference-less Metrics in
    Evaluating Grammatical Error Correction Systems" (IJCNLP 2017), with the paper's weights. F is not
    bounded and outweighs the others by far, there as here.

    Attributes:
        model: hub id or directory of a causal language model.
        ratings: what G learns from: `gug:train`, or any name or file that `load_ratings` takes, with the
            dimension `grammaticality` from 1 to 4.
        weights: α, β and γ.

    Example:
        >>> from learnedgec import parse_metric
        >>> parse_metric("asano(weights=(0.3, 0.3, 0.4))").label
        'asano(weights=(0.3, 0.3, 0.4))'
    """

    name: ClassVar[str] = "asano"
    needs_references: ClassVar[bool] = False
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"weights"})
    model: str = "gpt2"
    ratings: str = "gug:train"
    weights: tuple[float, float, float] = (0.07, 0.83, 0.10)

    def __post_init__(self) -> None:
        if min(self.weights) < 0 or sum(self.weights) <= 0:
            raise ParameterError(f"{self}: weights must not be negative, nor all zero.")

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return `grammaticality`, `fluency` and `meaning`, float64 (N,) each."""
        texts, values = _rated(self.ratings)
        regression = _train(self.model, texts, values, runtime)
        scores = token_scores(self.model, hypotheses, runtime)
        empty = np.array([not text.split() for text in hypotheses])
        found = {
            "grammaticality": regression.predict(hypotheses, scores),
            "fluency": np.array([regression.fluency(score) for score in scores]),
            "meaning": np.array([meteor(h, s) for s, h in zip(sources, hypotheses, strict=True)]),
        }
        return Statistics({name: np.where(empty, 0.0, column) for name, column in found.items()})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the weighted sum of the three."""
        scores: Floats = np.sum(
            [weight * statistics[n] for weight, n in zip(self.weights, _DIMENSIONS, strict=True)],
            axis=0,
        )
        return scores

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the mean of each of the three."""
        return {name: float(statistics[name].mean()) for name in _DIMENSIONS}

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return each of the three."""
        return {name: statistics[name] for name in _DIMENSIONS}

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the digests of the language model and of the ratings, and the precision."""
        from learnedgec.cache import key_of

        texts, values = _rated(self.ratings)
        return {
            "sha256": checkpoint_digest(self.model),
            "ratings": key_of(texts, [str(value) for value in values])[:12],
            "meteor": "exact+stem",
            "dtype": runtime.dtype,
        }


_DIMENSIONS = ("grammaticality", "fluency", "meaning")


def _rated(name: str) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Return the sentences that are rated for grammaticality, and the ratings."""
    rated = [
        (rating.hypothesis, rating.values["grammaticality"])
        for rating in load_ratings(name)
        if "grammaticality" in rating.values and rating.hypothesis.split()
    ]
    if len(rated) < 2:
        raise InputError(
            f"{name} has {len(rated)} sentences rated for grammaticality; at least 2 are needed."
        )
    texts, values = zip(*rated, strict=True)
    return texts, values


class _Grammaticality:
    """A regression from a sentence's counts and probabilities to its grammaticality."""

    def __init__(
        self, texts: Sequence[str], values: Sequence[float], scores: Sequence[TokenScores]
    ) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import Ridge
        from sklearn.preprocessing import StandardScaler

        self._unigrams = Counter(int(i) for score in scores for i in score.ids)
        # One for all tokens that the texts lack: the vocabulary's size hardly matters beside their number.
        self._total = sum(self._unigrams.values()) + len(self._unigrams) + 1
        self._words = TfidfVectorizer(
            ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\S+", dtype=np.float64
        )
        self._scaler = StandardScaler()
        self._ridge = Ridge(alpha=10.0, solver="lsqr", tol=1e-8)
        counts = self._scaler.fit_transform(self._counts(texts, scores))
        self._ridge.fit(self._stack(self._words.fit_transform(texts), counts), values)

    def fluency(self, score: TokenScores) -> float:
        """Return the mean log-probability of a token beyond what its frequency explains."""
        if not len(score.ids):
            return 0.0
        frequencies = [(self._unigrams[int(i)] + 1) / self._total for i in score.ids]
        return float(np.mean(score.logs - np.log(frequencies)))

    def predict(self, texts: Sequence[str], scores: Sequence[TokenScores]) -> Floats:
        """Return the grammaticality of sentences, from 0 to 1."""
        counts = self._scaler.transform(self._counts(texts, scores))
        rating = self._ridge.predict(self._stack(self._words.transform(texts), counts))
        predicted: Floats = (np.clip(rating, 1, 4) - 1) / 3
        return predicted

    @staticmethod
    def _stack(words: Any, counts: Floats) -> Any:
        """Return the words' sparse features and the others side by side."""
        from scipy.sparse import csr_matrix, hstack

        return hstack([words, csr_matrix(counts)]).tocsr()

    def _counts(self, texts: Sequence[str], scores: Sequence[TokenScores]) -> Floats:
        """Return the features that are numbers, (N, 7)."""
        rows = []
        for text, score in zip(texts, scores, strict=True):
            words = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", text)
            unknown = sum(not _is_word(word) for word in words)
            logs = score.logs if len(score.logs) else np.zeros(1)
            rows.append(
                (
                    np.log1p(len(words)),
                    unknown,
                    np.log1p(unknown),
                    unknown / max(len(words), 1),
                    logs.mean(),
                    logs.min(),
                    self.fluency(score),
                )
            )
        return np.array(rows, dtype=np.float64)


@lru_cache(maxsize=4)
def _train(
    model: str, texts: tuple[str, ...], values: tuple[float, ...], runtime: Runtime
) -> _Grammaticality:
    return _Grammaticality(texts, values, token_scores(model, texts, runtime))


def _is_word(text: str) -> bool:
    """Return whether a word, or what stands before its apostrophe, is in the word list."""
    lower = text.lower().replace("’", "'")
    words = _word_list()
    return lower in words or lower.partition("'")[0] in words


@lru_cache(maxsize=1)
def _word_list() -> frozenset[str]:
    """Return ERRANT's word list, lower-cased; found without importing ERRANT, which imports spaCy."""
    spec = importlib.util.find_spec("errant")
    if spec is None or not spec.submodule_search_locations:
        raise ModelError("ERRANT's word list is missing; run: pip install errant")
    path = Path(spec.submodule_search_locations[0]) / "en" / "resources" / "en_GB-large.txt"
    return frozenset(path.read_text("utf-8").lower().split())
