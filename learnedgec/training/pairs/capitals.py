"""Ranked pairs of correct texts and the same texts with other capitals."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from jsonargparse.typing import PositiveInt

from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.catalog.sentences import load_sentences
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs.base import PairSource, RankedPair, drawn


@dataclass
class CapitalPairs(PairSource):
    """Pairs of a correct text and the same text with one to three words' capitals changed.

    The better texts are references, and sentences that are assumed to be correct. In the worse text, the
    first letters of one to three random words are small instead of capital, or capital instead of small. They
    are for the objective `capitals`, which learns from the better text alone; the worse one shows on the dev
    part what a head has learned.

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
        """Return the pairs in the order of the data, or those drawn."""
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
    """Return a text with the case of one to three words' first letters changed, if it has such words.

    Example:
        >>> recase("Ann .", random.Random(0))
        'ann .'
    """
    words = text.split(" ")
    places = [place for place, word in enumerate(words) if word[:1].swapcase() != word[:1]]
    for place in generator.sample(places, min(len(places), generator.randint(1, 3))):
        words[place] = words[place][0].swapcase() + words[place][1:]
    return " ".join(words)
