"""Ranked pairs from corrections: by the impact of their edits (IMPARA), and with other capitals."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from jsonargparse.typing import PositiveInt

from learnedgec.data.catalog.parallel import Correction, load_corrections, load_parallel
from learnedgec.data.catalog.sentences import load_sentences
from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.edits.annotator import extract_edits
from learnedgec.edits.annotators import default_annotator
from learnedgec.errors import ConfigError
from learnedgec.evaluators.inference import cosines, sentence_vectors
from learnedgec.evaluators.loading import checkpoint_digest
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.store import RowStore
from learnedgec.training.pairs.base import PairSource, RankedPair, drawn, stored_scores, warn_of_few

Procedure = Literal["maeda2022", "goto2022"]
Subset: TypeAlias = frozenset[int]
# The index of a correction, and two subsets of its edits that are to be ranked.
Candidate: TypeAlias = tuple[int, Subset, Subset]
# Number of candidates that are ranked together. An interruption loses the work on one block.
_BLOCK = 4096


def sample_subsets(
    count: int, procedure: Procedure, generator: random.Random
) -> list[tuple[Subset, Subset]]:
    """Return pairs of subsets of a correction's edits, numbered from 0.

    The first subset's size is uniform; the second flips each edit's membership with probability 1/n.
    Pairs of equal subsets are left out.

    Args:
        count: n, the number of edits of the correction.
        procedure: `maeda2022` follows the authors' code: sizes 0 to n and min(10, n(n−1)/2) tries, so a
            correction with one edit gives no pair. `goto2022` follows the common re-implementation: sizes 1
            to n, 30 tries, and each pair only once.
        generator: generator of random numbers.

    Example:
        >>> sample_subsets(1, "goto2022", random.Random(0))
        [(frozenset({0}), frozenset())]
    """
    smallest, tries = (
        (0, min(10, count * (count - 1) // 2)) if procedure == "maeda2022" else (1, 30)
    )
    pairs: list[tuple[Subset, Subset]] = []
    seen: set[frozenset[Subset]] = set()
    for _ in range(tries if count else 0):
        size = generator.randint(smallest, count)
        first = frozenset(generator.sample(range(count), size))
        second = first ^ {edit for edit in range(count) if generator.random() < 1 / count}
        if first == second or (procedure == "goto2022" and {first, second} in seen):
            continue
        seen.add(frozenset((first, second)))
        pairs.append((first, second))
    return pairs


def impacts(
    texts: Sequence[tuple[str, str]], encoder: str, runtime: Runtime = Runtime()
) -> list[float]:
    """Return the impact of single edits: the rotation of the sentence's vector without the edit.

    The impact is `1 − min(1, cos(v(T), v(T without e)))`, where T is the source with all edits of the
    correction applied, and v the mean of the encoder's last states over all tokens, [CLS] and [SEP] included.
    Each distinct text is encoded once.

    Source: Maeda, Kaneko and Okazaki, "IMPARA: Impact-Based Metric for GEC Using Parallel Data"
    (COLING 2022), equation 1.

    Args:
        texts: T and T without the edit, for each edit (`texts_of_edit`).
        encoder: name of a pretrained encoder; see `learnedgec.evaluators.loading`.
        runtime: device, precision, batches, progress.
    """
    if not texts:
        return []
    flat = [text for pair in texts for text in pair]
    vectors = sentence_vectors(encoder, flat, runtime, description="impacts")
    angles = 1 - np.minimum(1.0, cosines(vectors[::2], vectors[1::2]))
    # Equal texts have equal vectors, whose cosine is 1 apart from rounding.
    same = np.array([first == second for first, second in texts])
    return [float(value) for value in np.where(same, 0.0, angles)]


def texts_of_edit(source: str, edits: tuple[Edit, ...], number: int) -> tuple[str, str]:
    """Return the source with all edits applied, and with all but one.

    Args:
        source: a sentence.
        edits: its edits in order.
        number: index of the edit to leave out.
    """
    return apply_edits(source, edits), apply_edits(source, [*edits[:number], *edits[number + 1 :]])


@dataclass
class ImpactPairs(PairSource):
    """Pairs of partly corrected sentences, of which the one whose edits have more impact is better.

    The impact of a side is the sum over its edits. Only edits that one side lacks are measured, because
    shared edits add the same to both sums. Pairs with equal texts or equal impacts are left out. A pair of
    texts that is drawn again is kept by `maeda2022`, as in the authors' code, and left out by `goto2022`.

    Source: Maeda et al. (2022), as for `impacts`.

    Args:
        corrections: datasets or files with corrections; see `load_corrections`.
        procedure: procedure for drawing subsets; see `sample_subsets`.
        number: number of pairs, drawn from all candidates; by default, all. The paper uses 4,096.
        encoder: pretrained encoder whose states measure the impact; it is not fine-tuned.
        edits: `errant` to extract edits with the annotator, `m2` to take the dataset's gold edits.
        annotator: spaCy pipeline for `errant`; by default, that of the metric `errant`.
        seed: seed of all draws.
    """

    corrections: list[str]
    procedure: Procedure = "goto2022"
    number: PositiveInt | None = None
    encoder: str = "bert-base-cased"
    edits: Literal["errant", "m2"] = "errant"
    annotator: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.edits == "errant":
            # Resolve the default here, so that the manifest names the annotator.
            self.annotator = self.annotator or default_annotator()

    def datasets(self) -> list[str]:
        """Return the datasets with corrections."""
        return self.corrections

    def digests(self) -> dict[str, str]:
        """Return the digests of the datasets and the encoder, and the version of the annotator, if any."""
        return super().digests() | {self.encoder: checkpoint_digest(self.encoder)}

    def material(self) -> Iterator[str]:
        """Yield the sources and targets of all corrections."""
        for name in self.corrections:
            for row in load_corrections(name):
                yield from (row.source, row.target)

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs; impacts that an interrupted run measured are read from the folder."""
        named = [(name, row) for name in self.corrections for row in load_corrections(name)]
        edits = self._edits([row for _, row in named], runtime)
        candidates = self._candidates(edits)
        store = RowStore(folder, ["impact"], width=1)
        pairs: list[RankedPair] = []
        seen: set[tuple[str, str]] = set()
        for start in range(0, len(candidates), _BLOCK):
            if self.number is not None and len(pairs) >= self.number:
                break
            block = candidates[start : start + _BLOCK]
            # Maps (correction, edit) to its texts with and without the edit, for edits that one side lacks.
            texts = {
                (number, edit): texts_of_edit(named[number][1].source, edits[number], edit)
                for number, first, second in block
                for edit in sorted(first ^ second)
            }
            impact = stored_scores(
                store, texts.values(), lambda rows: impacts(rows, self.encoder, runtime)
            )
            for number, first, second in block:
                name, row = named[number]
                better, worse = (
                    apply_edits(row.source, [edits[number][edit] for edit in sorted(subset)])
                    for subset in (first, second)
                )
                more, less = (
                    sum(impact[texts[number, edit]] for edit in sorted(subset))
                    for subset in (first - second, second - first)
                )
                if more < less:
                    better, worse = worse, better
                again = (better, worse) in seen and self.procedure == "goto2022"
                if better == worse or more == less or again:
                    continue
                seen.add((better, worse))
                margin = abs(more - less)
                pairs.append(
                    RankedPair(row.source, better, worse, margin, row.group, name, row.target)
                )
        warn_of_few(self, len(pairs), self.number)
        return pairs[: self.number]

    def _edits(self, rows: Sequence[Correction], runtime: Runtime) -> list[tuple[Edit, ...]]:
        """Return each correction's edits."""
        if self.edits == "errant":
            assert self.annotator is not None
            texts = [(row.source, row.target) for row in rows]
            return extract_edits(texts, self.annotator, types=False, runtime=runtime)
        if any(row.edits is None for row in rows):
            raise ConfigError(
                f"data.pairs: not all of {', '.join(self.corrections)} have gold edits; use edits: errant."
            )
        return [row.edits or () for row in rows]

    def _candidates(self, edits: Sequence[tuple[Edit, ...]]) -> list[Candidate]:
        """Return the candidates of all corrections in random order."""
        candidates = [
            (number, first, second)
            for number, row in enumerate(edits)
            for first, second in sample_subsets(
                len(row), self.procedure, random.Random(f"{self.seed} {number}")
            )
        ]
        random.Random(self.seed).shuffle(candidates)
        return candidates


@dataclass
class CapitalPairs(PairSource):
    """Pairs of a correct text and the same text with changed capitals in one to three words.

    The better texts are references, and sentences that are assumed to be correct. In the worse text, the
    first letters of one to three random words are small instead of capital, or capital instead of small. The
    pairs are for the objective `capitals`, which learns from the better text alone; the worse text shows on
    the dev part what a head has learned.

    Args:
        corrections: datasets with references, such as `jfleg:dev`.
        number: number of pairs, drawn at random; by default, one for each distinct text.
        sentences: correct sentences (`load_sentences`), such as `ud-ewt:train`.
        seed: seed of the draw.
    """

    corrections: list[str]
    number: PositiveInt | None = None
    sentences: list[str] | None = None
    seed: int = 0

    def datasets(self) -> list[str]:
        """Return the datasets of references and of sentences."""
        return [*self.corrections, *(self.sentences or [])]

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs in the order of the data, unless they are drawn."""
        generator = random.Random(self.seed)
        texts: dict[str, tuple[str, str]] = {}
        for name in self.corrections:
            data = load_parallel(name)
            for source, row in zip(data.sources, data.references, strict=True):
                for reference in row:
                    texts.setdefault(reference.text, (source, name))
        for name in self.sentences or ():
            for sentence in load_sentences(name):
                texts.setdefault(sentence, (sentence, name))
        pairs = [
            RankedPair(source, text, worse, group=source, origin=name)
            for text, (source, name) in texts.items()
            if (worse := recase(text, generator)) != text
        ]
        return drawn(pairs, self.number, generator)


def recase(text: str, generator: random.Random) -> str:
    """Return a text with changed case of the first letters of one to three words, if it has such words.

    Example:
        >>> recase("Ann .", random.Random(0))
        'ann .'
    """
    words = text.split(" ")
    places = [place for place, word in enumerate(words) if word[:1].swapcase() != word[:1]]
    for place in generator.sample(places, min(len(places), generator.randint(1, 3))):
        words[place] = words[place][0].swapcase() + words[place][1:]
    return " ".join(words)
