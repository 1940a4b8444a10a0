"""The baseline of Asano et al.: grammaticality, fluency and meaning from counts and a language model."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from learnedgec.data.catalog.ratings import load_ratings
from learnedgec.data.references import References
from learnedgec.errors import InputError, MissingDependencyError, ModelError
from learnedgec.evaluators.loading import model_state
from learnedgec.metrics.contract import PretrainedMetric, Statistics
from learnedgec.metrics.language_models import TokenScores, token_scores
from learnedgec.runtime.files import key_of
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Texts


@dataclass(frozen=True)
class Asano(PretrainedMetric):
    """Asano et al.'s weighted sum of grammaticality, fluency and meaning, before learned encoders.

    `α·G + β·F + γ·M`; the system score is the mean over sentences. All three are 0 for an empty hypothesis.

    - G: (x − 1)/3, where x is the grammaticality, from 1 to 4, that a ridge regression predicts. Its
      features are the numbers of words and of words missing from ERRANT's (British) word list, the language
      model's mean and lowest token log-probability, F, and the sentence's words and word pairs (tf-idf). It
      is trained on `ratings` at first use, which takes seconds. The paper's regression, from Heilman et al.
      (2014), also has parser features.
    - F: `(log P(h) − log P₁(h)) / |h|` over the tokens of the language model, where P₁ is the unigram model
      of the texts in `ratings` with one added to every count. The paper's language model is an RNN.
    - M: METEOR of the hypothesis against the source, with exact and stemmed matches only
      (`meteor`); the paper's METEOR also matches synonyms and paraphrases.

    It needs the packages of the extra `asano`: `pip install 'learnedgec[asano]'`.

    Source: Asano et al., "Reference-based Metrics can be Replaced with Reference-less Metrics in
    Evaluating Grammatical Error Correction Systems" (IJCNLP 2017), with the paper's weights. F is unbounded
    and outweighs the other two by far, as in the paper.

    Attributes:
        model: hub id or directory of a causal language model.
        ratings: the training data of G: `gug:train`, or any name or file that `load_ratings` takes, with the
            dimension `grammaticality` from 1 to 4.
        weights: α, β and γ.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("asano(weights=(0.3, 0.3, 0.4))").label
        'asano(weights=(0.3, 0.3, 0.4))'
    """

    name: ClassVar[str] = "asano"
    needs_references: ClassVar[bool] = False
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"weights"})
    per_sentence: ClassVar[tuple[str, ...]] = ("grammaticality", "fluency", "meaning")
    means: ClassVar[tuple[str, ...]] = per_sentence
    model: str = "gpt2"
    ratings: str = "gug:train"
    weights: tuple[float, float, float] = (0.07, 0.83, 0.10)

    def __post_init__(self) -> None:
        self.check_weights(self.weights)

    def english_part(self, runtime: Runtime = Runtime()) -> str:
        """Return the word list and the ratings of grammaticality."""
        return "its word list and its ratings"

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return `grammaticality`, `fluency` and `meaning`, float64 (N,) each."""
        texts, ratings = _rated(self.ratings)
        regression = _train(self.model, model_state(self.model), texts, ratings, runtime)
        scores = token_scores(self.model, hypotheses, runtime)
        empty = np.array([not text.split() for text in hypotheses])
        values: dict[str, Array | list[float]] = {
            "grammaticality": regression.predict(hypotheses, scores),
            "fluency": [regression.fluency(score) for score in scores],
            "meaning": [meteor(h, s) for s, h in zip(sources, hypotheses, strict=True)],
        }
        return Statistics({name: np.where(empty, 0.0, column) for name, column in values.items()})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the weighted sum of the three."""
        scores: Floats = np.dot(self.weights, [statistics[name] for name in self.per_sentence])
        return scores

    def check(self, runtime: Runtime) -> None:
        """Raise unless the model and the extra `asano` are available."""
        if importlib.util.find_spec("snowballstemmer") is None:
            raise MissingDependencyError("snowballstemmer", "asano", "the metric asano")
        super().check(runtime)

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the digests of the language model and of the ratings, and the precision."""
        texts, values = _rated(self.ratings)
        model = super().describe(runtime)
        return {
            "sha256": model["sha256"],
            "ratings": key_of(texts, [str(value) for value in values])[:12],
            "meteor": "exact+stem",
            "dtype": model["dtype"],
        }


def _rated(name: str) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Return the sentences rated for grammaticality, and their ratings."""
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
        self, texts: Texts, values: Sequence[float], scores: Sequence[TokenScores]
    ) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import Ridge
        from sklearn.preprocessing import StandardScaler

        self._unigrams = Counter(int(i) for score in scores for i in score.ids)
        # All unseen tokens share one count: the vocabulary size hardly matters next to the number of tokens.
        self._total = self._unigrams.total() + len(self._unigrams) + 1
        self._words = TfidfVectorizer(
            ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\S+", dtype=np.float64
        ).fit(texts)
        self._scaler = StandardScaler().fit(self._counts(texts, scores))
        self._ridge = Ridge(alpha=10.0, solver="lsqr", tol=1e-8)
        self._ridge.fit(self._features(texts, scores), values)

    def fluency(self, score: TokenScores) -> float:
        """Return the mean log-probability of a token beyond what its frequency explains."""
        if not len(score.ids):
            return 0.0
        frequencies = [(self._unigrams[int(i)] + 1) / self._total for i in score.ids]
        return float(np.mean(score.logs - np.log(frequencies)))

    def predict(self, texts: Texts, scores: Sequence[TokenScores]) -> Floats:
        """Return the grammaticality of sentences, from 0 to 1."""
        rating = self._ridge.predict(self._features(texts, scores))
        predicted: Floats = (np.clip(rating, 1, 4) - 1) / 3
        return predicted

    def _features(self, texts: Texts, scores: Sequence[TokenScores]) -> Any:
        """Return the sparse features of words and the scaled counts side by side."""
        from scipy.sparse import csr_matrix, hstack

        counts = csr_matrix(self._scaler.transform(self._counts(texts, scores)))
        return hstack([self._words.transform(texts), counts]).tocsr()

    def _counts(self, texts: Texts, scores: Sequence[TokenScores]) -> Floats:
        """Return the numeric features, float64 (N, 7)."""
        rows = []
        for text, score in zip(texts, scores, strict=True):
            words = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", text)
            unknown = sum(not _is_english(word) for word in words)
            logs = score.logs if len(score.logs) else np.zeros(1)
            share = unknown / max(len(words), 1)
            counts = (np.log1p(len(words)), unknown, np.log1p(unknown), share)
            rows.append((*counts, logs.mean(), logs.min(), self.fluency(score)))
        return np.array(rows, dtype=np.float64)


def _is_english(word: str) -> bool:
    """Return whether a word, or its part before the apostrophe, is in ERRANT's word list."""
    lower = word.lower().replace("’", "'")
    words = _word_list()
    return lower in words or lower.partition("'")[0] in words


@lru_cache(maxsize=1)
def _word_list() -> frozenset[str]:
    """Return ERRANT's word list in lower case, without importing ERRANT, which imports spaCy."""
    spec = importlib.util.find_spec("errant")
    if spec is None or not spec.submodule_search_locations:
        raise ModelError("ERRANT's word list is missing; run: pip install errant")
    path = Path(spec.submodule_search_locations[0]) / "en" / "resources" / "en_GB-large.txt"
    return frozenset(path.read_text("utf-8").lower().split())


@lru_cache(maxsize=4)
def _train(
    model: str, state: object, texts: tuple[str, ...], values: tuple[float, ...], runtime: Runtime
) -> _Grammaticality:
    return _Grammaticality(texts, values, token_scores(model, texts, runtime))


# The parameters of Lavie and Agarwal (2007) for English that every later version took as defaults.
_ALPHA, _BETA, _GAMMA = 0.9, 3.0, 0.5


def meteor(hypothesis: str, reference: str) -> float:
    """Return METEOR of a hypothesis against one reference, from 0 to 1.

    With m matched tokens, P = m/|hypothesis|, R = m/|reference|, and c chunks (runs of matches that are
    neighbours in both), METEOR is `F·(1 − 0.5·(c/m)³)` with `F = P·R/(0.9·P + 0.1·R)`, and 0 without a match.

    Lower-cased tokens match if they are equal, and in a second stage if their Porter stems are; there are no
    synonyms and no paraphrases. In each stage the longest common subsequence of the free tokens is matched
    first, and then the remaining tokens from left to right. The official programs search for the alignment
    with the fewest chunks, which between a sentence and its correction is nearly always this one.

    Source: Banerjee and Lavie, "METEOR: An Automatic Metric for MT Evaluation with Improved Correlation with
    Human Judgments" (2005); Lavie and Agarwal (2007) for the parameters.

    Example:
        >>> round(meteor("She walks to school .", "She walk to school ."), 4)
        0.996
        >>> meteor("a b", "c d")
        0.0
    """
    words = [text.lower().split() for text in (hypothesis, reference)]
    matches = _match(words[0], words[1], {})
    stems = [[_stem(word) for word in sentence] for sentence in words]
    matches = _match(stems[0], stems[1], matches)
    if not matches:
        return 0.0
    precision, recall = (len(matches) / len(sentence) for sentence in words)
    f = precision * recall / (_ALPHA * precision + (1 - _ALPHA) * recall)
    order = sorted(matches.items())
    chunks = 1 + sum((b - a, d - c) != (1, 1) for (a, c), (b, d) in pairwise(order))
    penalty: float = _GAMMA * (chunks / len(matches)) ** _BETA
    return f * (1 - penalty)


def _match(first: list[str], second: list[str], matches: dict[int, int]) -> dict[int, int]:
    """Add matches between equal tokens to the existing ones, position to position."""
    from rapidfuzz.distance import LCSseq

    left = [i for i in range(len(first)) if i not in matches]
    matched = set(matches.values())
    right = [j for j in range(len(second)) if j not in matched]
    opcodes = LCSseq.opcodes([first[i] for i in left], [second[j] for j in right])
    subsequence = {
        left[block.a + step]: right[block.b + step]
        for block in opcodes.as_matching_blocks()
        for step in range(block.size)
    }
    matches = matches | subsequence
    free = sorted(set(right) - set(subsequence.values()))
    for i in left:
        j = next((j for j in free if i not in matches and second[j] == first[i]), None)
        if j is not None:
            matches[i] = j
            free.remove(j)
    return matches


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    stem: str = _stemmer().stemWord(word)
    return stem


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("porter")
