"""CLEME and CLEME2.0: chunks of a hypothesis against chunks of references, cut at the same places.

The source, the hypothesis and all references of a sentence are cut into chunks together
(`learnedgec.metrics.chunk_overlap`). Each chunk then counts as one of five things; r is the reference's
chunk in the same place:

    tp      the hypothesis and r change the chunk to the same tokens
    fp_ne   both change the chunk, to different tokens: a wrong correction that was necessary
    fp_un   the hypothesis changes the chunk, and r does not: an unnecessary correction
    fn      the hypothesis does not change the chunk, and r does
    tn      neither changes the chunk

Under the *dependent* assumption a hypothesis is compared with one reference at a time, and the best
is chosen. Under the *independent* assumption every chunk is compared with all references: it is tp if any
reference has the same tokens, fp_ne if any changes the chunk, and fn if all change it.

A chunk counts 1, or has a weight by length or by similarity. By **length**, with x the larger number of
tokens of the hypothesis' chunk and its source, L the mean of that number over all changed chunks of
references, and σ(z) = 1/(1 + exp(−z)),

    w = α·σ(x − L − ln(α − 1)) for tp and fn,   w = α·σ(L − x − ln(α − 1)) for fp,   clipped to [least, most]

By **similarity** to the reference's text R: w = |BERTScore(S[chunk], R) − BERTScore(S, R)|, where
S[chunk] is the source with this chunk alone changed, as the hypothesis has it (for fn, as r has
it). A tn counts 1.

Sources: Ye et al., "CLEME: Debiasing Multi-reference Evaluation for Grammatical Error Correction"
(EMNLP 2023); Ye et al., "CLEME2.0: Towards Interpretable Evaluation by Disentangling Edits for
Grammatical Error Correction" (ACL 2025).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from learnedgec.data.corpus import Corpus
from learnedgec.errors import ParameterError
from learnedgec.metrics.chunk_overlap import CLASSES, ChunkOverlap
from learnedgec.metrics.edit_overlap import rates
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats


@dataclass(frozen=True)
class Cleme(ChunkOverlap):
    """CLEME: F over chunks that the hypothesis and all references share.

    With tp, fp = fp_ne + fp_un, fn and tn as in `learnedgec.metrics.cleme`: P = tp/(tp+fp) and R =
    tp/(tp+fn), 1 where the denominator is 0; F = (1+β²)·P·R/(β²·P+R), 0 if P = R = 0; accuracy =
    (tp+tn)/(tp+fp+fn+tn), 0 if there is no chunk. At the corpus level the reference is the one with
    the largest F so far, then the sentence's largest tp, smallest fp, smallest fn, largest tn; for
    a sentence by itself the largest F, P, R, accuracy; then the first. All of F, P, R and accuracy
    are rounded to four decimals for this choice, and in sentence scores. `cleme(level='sentence')`,
    also named `sentcleme`, is the mean of sentence scores.

    Equal to the official code, version 1.1.0, on M2 files; the score of a corpus is not rounded to
    four decimals.

    Deviations:
    - The released code ignores the weights it is given, and uses the weights of the corpus level everywhere:
      `weights='released'` does so. By default `level='sentence'` has the sentence weights of the paper
      (AMU's F on CoNLL-14 is .3624, not .3464).
    - Ties between references follow version 1.1.0 (the larger accuracy).
    - Sentence scores follow `beta`; the official ones are always F0.5.
    - If no reference changes anything, every chunk has weight 1; the official weights are NaN there.
    - A weight of similarity that is 0 counts 0; the official F would count it as 1.
    - Chunks of more than 63 tokens get the weight of 63 tokens: the same to the last digit if L is below 25.
    - An annotator without a line in a block is not a reference; of overlapping edits of one annotator
      the first by position counts, and of alternatives the first. The official reader merges such
      annotators and takes `a||b` literally.
    - Empty sources are scored. As in the official code, references without any token are left out if there
      are others.

    Hypotheses are texts, from which edits are extracted; the official code reads edits from M2 files, and
    `compare` accepts such edits. The edits of plain-text references are extracted likewise; the signature
    then says `gold:aligned`.

    Source: Ye et al., "CLEME: Debiasing Multi-reference Evaluation for Grammatical Error
    Correction" (EMNLP 2023).

    Attributes:
        weights: `length` as in the paper, `released` as in the current official command, `similarity` or
            `none`.
        beta: the weight of recall against precision; 0.5 counts precision twice as much.

    Example:
        >>> from learnedgec import References, load_metric
        >>> cleme = load_metric("cleme(edits='aligned', weights='none')")
        >>> references = References.from_texts(["He goes to school ."], ["He went to the school ."])
        >>> score = cleme.score(["He go to school ."], ["He went to school ."], references)
        >>> [score.details[name] for name in ("tp", "fp", "fn", "tn")]
        [1.0, 0.0, 1.0, 3.0]
    """

    name: ClassVar[str] = "cleme"
    counted: ClassVar[tuple[str, ...]] = ("tp", "fp", "fn", "tn")
    rounded: ClassVar[bool] = True
    aggregate_parameters: ClassVar[frozenset[str]] = ChunkOverlap.aggregate_parameters | {"beta"}
    beta: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.beta < math.inf:
            raise ParameterError(f"{self}: beta must be 0 or a positive number.")

    @property
    def score_name(self) -> str:
        """F."""
        return f"f{self.beta:g}"

    def figures(self, counts: Floats) -> dict[str, Floats]:
        """Return F, precision, recall and accuracy."""
        tp, fp_ne, fp_un, fn, tn = counts
        edits = rates(np.stack([tp, tp + fp_ne + fp_un, tp + fn]), self.beta)
        every = counts.sum(axis=0)
        return {
            self.score_name: edits.pop(self.score_name),
            **edits,
            "accuracy": np.divide(tp + tn, every, out=np.zeros_like(every), where=every > 0),
        }

    def sentence_preference(self, counts: Floats) -> tuple[Array, ...]:
        """Return F, precision, recall and accuracy."""
        return tuple(self.sentence_figures(counts).values())

    def totals(self, counts: Floats) -> dict[str, Floats]:
        """Return tp, fp, fn and tn."""
        tp, fp_ne, fp_un, fn, tn = counts
        return {"tp": tp, "fp": fp_ne + fp_un, "fn": fn, "tn": tn}


_FACTORS = {"corpus": (0.45, 0.35, 0.15, 0.05), "sentence": (0.35, 0.25, 0.2, 0.2)}


@dataclass(frozen=True)
class Cleme2(ChunkOverlap):
    """CLEME2.0: a weighted sum of the rates of hit, wrong, under- and over-correction.

    With the counts of `learnedgec.metrics.cleme` and the necessary corrections NE = tp + fp_ne + fn: hit =
    tp/NE, wrong = fp_ne/NE, under = fn/NE, over = fp_un/(tp + fp_ne + fp_un), each 0 if its denominator is
    0; the score is h·hit + w·(1 − wrong) + u·(1 − under) + o·(1 − over) with the `factors` h, w, u, o. At
    the corpus level the reference is the one with the largest score so far, then the sentence's largest tp,
    smallest fp, smallest fn, largest tn; for a sentence by itself the largest score and hit, the smallest
    wrong, under and over; then the first. `cleme2(level='sentence')`, also named `sentcleme2`, is the mean
    of sentence scores.

    A sentence that needs no correction and gets none has the score 1 − h, not 1.

    Equal to the official code, version 1.1.0, on M2 files. Nothing is rounded.

    Deviations:
    - Systems and references without any edit are scored, where the official code stops.
    - Weights by length are computed as by `cleme`, with its deviations. M2 files are read as by `cleme`.
    - A warning says that systems have blank outputs: a blank output changes all chunks together, and by this
      rule may score above an unchanged sentence.
    - The encoder's fast tokenizer is used, and texts are encoded once; weights agree to about 1e-6.

    Source: Ye et al., "CLEME2.0: Towards Interpretable Evaluation by Disentangling Edits for
    Grammatical Error Correction" (ACL 2025).

    Attributes:
        weights: `similarity` as in the paper, `none`, `length` (see `cleme`) or `released`.
        factors: the weights of hit, wrong, under and over, which sum to 1. `None` uses the weights of the
            official command: 0.45, 0.35, 0.15, 0.05 at the corpus level and 0.35, 0.25, 0.2, 0.2 at
            the sentence level.

    Example:
        >>> from learnedgec import References, load_metric
        >>> cleme2 = load_metric("cleme2(edits='aligned', weights='none')")
        >>> references = References.from_texts(["He goes to the school ."])
        >>> score = cleme2.score(["He go to school ."], ["He went to school ."], references)
        >>> score.details["wrong"], score.details["under"], round(score.value, 3)
        (0.5, 0.5, 0.3)
    """

    name: ClassVar[str] = "cleme2"
    counted: ClassVar[tuple[str, ...]] = CLASSES
    score_name: ClassVar[str] = "score"
    aggregate_parameters: ClassVar[frozenset[str]] = ChunkOverlap.aggregate_parameters | {"factors"}
    weights: Literal["length", "released", "similarity", "none"] = "similarity"
    factors: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.factors is not None and not abs(sum(self.factors) - 1) <= 1e-5:
            raise ParameterError(
                f"{self}: the factors sum to {sum(self.factors):g}; give four that sum to 1."
            )

    def notices(self, corpus: Corpus, runtime: Runtime) -> list[str]:
        """Return which systems have blank outputs."""
        return [
            f"{self.label}: {name} has blank outputs, which by the rule of CLEME2.0 may score above "
            "unchanged sentences; compare with another metric."
            for name, texts in corpus.systems.items()
            if any(
                source.strip() and not text.strip()
                for source, text in zip(corpus.sources, texts, strict=True)
            )
        ]

    def figures(self, counts: Floats) -> dict[str, Floats]:
        """Return the score, and hit, wrong, under and over."""
        tp, fp_ne, fp_un, fn, _ = counts
        necessary, proposed = tp + fp_ne + fn, tp + fp_ne + fp_un

        def share(part: Floats, whole: Floats) -> Floats:
            return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)

        shares = {
            "hit": share(tp, necessary),
            "wrong": share(fp_ne, necessary),
            "under": share(fn, necessary),
            "over": share(fp_un, proposed),
        }
        hit, *others = shares.values()
        factor, *factors = self.factors or _FACTORS[self.level]
        score = factor * hit
        for weight, part in zip(factors, others, strict=True):
            score = score + weight * (1 - part)
        return {"score": score, **shares}

    def sentence_preference(self, counts: Floats) -> tuple[Array, ...]:
        """Return the score, hit, −wrong, −under and −over."""
        score, hit, *others = self.sentence_figures(counts).values()
        return score, hit, *(-part for part in others)
