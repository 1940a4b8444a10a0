"""Ranked pairs in which one text has another meaning than its source.

kind        the change
negation    `not` or `never` left out, or `not` put in after an auxiliary verb
opposite    a word exchanged for one of opposite or incompatible meaning (`meaning.yaml`)
number      a digit or a word for a number exchanged
name        a name exchanged for another, of this sentence or of another one
word        a noun, verb, adjective or adverb exchanged for another in a similar form
dropped     up to four words left out, one of them with a meaning of its own
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import yaml
from jsonargparse.typing import PositiveInt

from learnedgec.data.catalog.sentences import TreebankWord, load_words
from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs.base import PairSource, RankedPair, check_shares, warn_of_few
from learnedgec.training.pairs.mistakes import Words, others

# Default share of each kind.
CHANGES = dict.fromkeys(("negation", "opposite", "number", "name", "word", "dropped"), 1.0)

_LISTS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
_OPPOSITES, _NUMBERS = (
    others(group.split() for group in _LISTS[name].split("|")) for name in ("opposites", "numbers")
)
_NEGATED, _NEGATIONS = (frozenset(_LISTS[name].split()) for name in ("negated", "negations"))
_CONTENT = frozenset(("NOUN", "VERB", "ADJ", "ADV"))
# The largest number of words to leave out, and of attempts to make a pair.
_DROPPED, _TRIES = 4, 50


@dataclass
class MeaningPairs(PairSource):
    """Pairs of a text that means what its source means and one that does not.

    The texts come from other pairs: sources, better sides, and correct texts. They differ in the number of
    corrections, and either side may be the more correct one, so corrections do not show which side is better.
    The worse side is one of these texts with one or two changes of meaning, in words that it shares with its
    source. The margin is the number of changes.

    Not every change alters the meaning: a sentence may mean the same without the word that is left out.

    Args:
        pairs: the pair sources, such as `CorruptedPairs`.
        number: number of pairs.
        words: treebanks (`ud-ewt:train`), whose words are exchanged for each other.
        kinds: kind -> share of the changes; by default, all kinds are equally frequent where a text allows.
        seed: seed of all draws.
    """

    pairs: list[PairSource]
    number: PositiveInt
    words: list[str]
    kinds: dict[str, float] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        self.kinds = self.kinds or dict(CHANGES)
        check_shares("kinds", self.kinds, CHANGES)

    def datasets(self) -> list[str]:
        """Return the datasets of the pairs and the treebanks."""
        return list(dict.fromkeys([*super().datasets(), *self.words]))

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs, each from a draw of its own."""
        rows = [pair for source in self.pairs for pair in source.made(folder.parent, runtime)[0]]
        texts = [" ".join(filter(None, (row.source, row.better, row.correct))) for row in rows]
        words = (word for name in self.words for sentence in load_words(name) for word in sentence)
        changes = Changes(words, (text.split() for text in texts), self.kinds or CHANGES)
        made: dict[RankedPair, None] = {}
        for number in range(self.number):
            generator = random.Random(f"{self.seed} {number}")
            for _ in range(_TRIES):
                pair = _pair(generator.choice(rows), changes, generator)
                if pair and pair not in made:
                    made[pair] = None
                    break
        warn_of_few(self, len(made), self.number)
        return list(made)


def _pair(row: RankedPair, changes: Changes, generator: random.Random) -> RankedPair | None:
    """Return a pair of two texts of a row, one with changes, or `None` if no change is possible."""
    texts = list(dict.fromkeys(filter(None, (row.source, row.better, row.correct))))
    better, text = generator.choice(texts), generator.choice(texts)
    edits = changes.draw(row.source.split(), text.split(), generator)
    if not edits:
        return None
    worse = apply_edits(text, edits)
    return RankedPair(row.source, better, worse, float(len(edits)), row.group, row.origin)


class Changes:
    """Changes of a sentence's meaning.

    Args:
        words: words of a treebank.
        texts: texts whose names are exchanged for each other.
        kinds: kind -> share.
    """

    def __init__(
        self,
        words: Iterable[TreebankWord],
        texts: Iterable[Sequence[str]],
        kinds: Mapping[str, float],
    ) -> None:
        self.kinds = kinds
        tags: dict[str, Counter[str]] = defaultdict(Counter)
        for word in words:
            tags[word.form.lower()][word.tag] += 1
        self.tags = {
            form: counts.most_common(1)[0][0]
            for form, counts in tags.items()
            if form.isalpha() and counts.total() > 1
        }
        self.alike: dict[tuple[str, str], list[str]] = defaultdict(list)
        for form, tag in self.tags.items():
            if tag in _CONTENT:
                self.alike[tag, _ending(form)].append(form)
        self.names = list(dict.fromkeys(words[i] for words in texts for i in self._named(words)))

    def _named(self, tokens: Sequence[str]) -> Iterator[int]:
        """Yield the places of names: capitalised words that are no common words in the treebank."""
        for place, token in enumerate(tokens):
            known = self.tags.get(token.lower(), "PROPN") == "PROPN"
            if place and known and token.istitle() and token.isalpha() and len(token) > 2:
                yield place

    def draw(
        self, source: Sequence[str], text: Sequence[str], generator: random.Random
    ) -> list[Edit]:
        """Return one change of a text, or two in one of five cases, in order, if any is possible.

        Only words that the text shares with its source are changed.
        """
        shared = shared_places(source, text)
        edits: list[Edit] = []
        kinds, weights = zip(*self.kinds.items(), strict=True)
        for _ in range(1 + (generator.random() < 0.2)):
            kind = generator.choices(kinds, weights)[0]
            possible = [
                edit
                for edit in self._of_kind(kind, tuple(text), generator)
                if shared.issuperset(range(edit.start, max(edit.end, edit.start + 1)))
                and all(edit.start > other.end or other.start > edit.end for other in edits)
            ]
            if possible:
                edits.append(generator.choice(possible))
        return sorted(edits, key=lambda edit: edit.start)

    def _of_kind(self, kind: str, tokens: Words, generator: random.Random) -> Iterator[Edit]:
        """Yield the changes of a kind that a text allows."""
        if kind == "name":
            places = list(self._named(tokens))
            for place in places:
                here = [tokens[other] for other in places]
                new = generator.choice(here if generator.random() < 0.3 else self.names or here)
                if new.lower() != tokens[place].lower():
                    yield Edit(place, place + 1, new, kind)
            return
        for place, token in enumerate(tokens):
            word = token.lower()
            if kind == "negation":
                if word in _NEGATIONS:
                    yield Edit(place, place + 1, "", kind)
                elif word in _NEGATED and not _NEGATIONS.intersection(
                    tokens[place + 1 : place + 3]
                ):
                    yield Edit(place + 1, place + 1, "not", kind)
            elif kind == "dropped":
                end = place + generator.randint(1, _DROPPED)
                inner = tokens[place:end]
                named = any(self._content(other) for other in inner)
                if named and end < len(tokens) and place and all(map(str.isalnum, inner)):
                    yield Edit(place, end, "", kind)
            elif new := self._instead(kind, token, generator):
                yield Edit(place, place + 1, new.capitalize() if token.istitle() else new, kind)

    def _content(self, token: str) -> bool:
        """Return whether a word has a meaning of its own."""
        return token.isdigit() or self.tags.get(token.lower(), "PROPN") in {*_CONTENT, "PROPN"}

    def _instead(self, kind: str, token: str, generator: random.Random) -> str:
        """Return a word or number that can replace a token, or `""` if there is none."""
        word = token.lower()
        if kind == "number" and token.isdigit():
            place = generator.randrange(len(token))
            digits = [digit for digit in "123456789" if digit != token[place]]
            return token[:place] + generator.choice(digits) + token[place + 1 :]
        if kind == "word":
            tag = self.tags.get(word, "")
            candidates = self.alike.get((tag, _ending(word)), []) if len(word) > 3 else []
            new = generator.choice(candidates) if candidates else ""
            # A word with the same beginning may be related.
            return "" if new[:4] == word[:4] else new
        table = _OPPOSITES if kind == "opposite" else _NUMBERS
        return generator.choice(table[word]) if word in table else ""


def shared_places(source: Sequence[str], text: Sequence[str]) -> set[int]:
    """Return the places of the words that a text shares with its source."""
    matcher = SequenceMatcher(None, source, text, autojunk=False)
    return {
        place
        for block in matcher.get_matching_blocks()
        for place in range(block.b, block.b + block.size)
    }


def _ending(word: str) -> str:
    """Return the ending of a word that marks its form, if it has one."""
    return next((ending for ending in ("ing", "ed", "ly", "s") if word.endswith(ending)), "")
