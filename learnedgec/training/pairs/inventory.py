"""Mistakes from lists instead of corpora: confused words, inflected forms, articles, spelling, word order.

The lists are in `inventory.yaml`. Inflected forms are those of a treebank's lemmas.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from learnedgec.data.catalog.corrections import load_corrections
from learnedgec.data.catalog.sentences import Labelled, TreebankWord, load_words
from learnedgec.data.m2 import Edit
from learnedgec.training.pairs.mistakes import Words, lower

if TYPE_CHECKING:
    from learnedgec.training.pairs.corrupted import CorruptedPairs


_LISTS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
_LIGHT: Mapping[str, str] = _LISTS["light"]
_VOWELS = "aeiou"
_SHORTEST_STEM = 4


class Inventory:
    """Mistakes that could be made in a correct text, by ERRANT's types of the edits that correct them.

    Args:
        words: words of a treebank, whose lemmas tell inflected forms.
        counts: type -> how often corrections of it were observed; a type is drawn by the square root of it.
        rates: word -> how often learners use it wrongly, from 0 to 1; a mistake whose words they seldom use
            wrongly is drawn less often.
    """

    def __init__(
        self, words: Iterable[TreebankWord], counts: Mapping[str, int], rates: Mapping[str, float]
    ) -> None:
        self.rates = rates
        self.instead = _confusions(words)
        kinds = {*self.instead, "R:SPELL", "R:WO"}
        kinds |= {f"{letter}:{name}" for letter in "MU" for name in _LIGHT}
        pooled: Counter[str] = Counter()
        for kind, count in counts.items():
            pooled[kind if kind in kinds else _general(kind)] += count
        self.shares = {kind: pooled[kind] ** 0.5 for kind in sorted(kinds) if pooled[kind]}

    def draw(self, tokens: Words, generator: random.Random, tries: int) -> Iterator[Edit]:
        """Yield some mistakes in a text, in random order; of each try comes one at most.

        Args:
            tokens: the text.
            generator: source of randomness.
            tries: how many types are drawn.
        """
        kinds = generator.choices(list(self.shares), list(self.shares.values()), k=tries)
        for kind in kinds:
            if edits := list(self._of_kind(kind, tokens, generator)):
                edit = generator.choice(edits)
                used = lower(edit.correction.split() or tokens[edit.start : edit.end])
                if generator.random() < max(self.rates.get(word, 0.1) for word in used) / 0.2:
                    yield edit

    def replacements(self, word: str) -> list[str]:
        """Return all words that are mistaken for a word."""
        return [new for table in self.instead.values() for new in table.get(word.lower(), ())]

    def _of_kind(self, kind: str, tokens: Words, generator: random.Random) -> Iterator[Edit]:
        """Yield the mistakes of a type that are possible in a text."""
        operation, _, name = kind.partition(":")
        if operation == "U":
            words = _LIGHT[name].split()
            for place in range(1, len(tokens)):
                yield Edit(place, place, generator.choice(words), kind)
        elif operation == "M":
            words = _LIGHT[name].split()
            for place, token in enumerate(tokens):
                if token.lower() in words and len(tokens) > 2:
                    yield Edit(place, place + 1, "", kind)
        elif kind == "R:WO":
            for place, (first, second) in enumerate(pairwise(tokens)):
                alphabetic = first.isalpha() and second.isalpha()
                if place and alphabetic and first.lower() != second.lower():
                    yield Edit(place, place + 2, f"{second} {first}", kind)
        elif kind == "R:SPELL":
            for place, token in enumerate(tokens):
                if token.isalpha() and len(token) > 3:
                    yield Edit(place, place + 1, _misspelt(token, generator), kind)
        else:
            table = self.instead[kind]
            for place, token in enumerate(tokens):
                for other in table.get(token.lower(), ()):
                    new = other.capitalize() if token[0].isupper() else other
                    yield Edit(place, place + 1, new, kind)


def load_inventory(settings: CorruptedPairs, labelled: Sequence[Labelled]) -> Inventory:
    """Return the mistakes of lists, with the frequencies that corrections and labelled words have."""
    counts = Counter(
        edit.type
        for name in settings.corrections
        for row in load_corrections(name)
        for edit in row.edits or ()
    )
    seen: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for row in labelled:
        words = row.sentence.lower().split()
        seen.update(words)
        wrong.update(word for word, label in zip(words, row.wrong, strict=True) if label)
    usual = wrong.total() / max(seen.total(), 1)
    rates = {word: (wrong[word] + 5 * usual) / (count + 5) for word, count in seen.items()}
    words_of = (
        word for name in settings.words or () for sentence in load_words(name) for word in sentence
    )
    return Inventory(words_of, counts, rates)


def _general(kind: str) -> str:
    """Return the type of this class that comes nearest to one of ERRANT's, if any."""
    operation, _, name = kind.partition(":")
    head = name.partition(":")[0]
    if operation == "R":
        return "R:VERB:FORM" if head == "VERB" and ":" in name else "R:OTHER"
    return f"{operation}:{head if head in _LIGHT else 'OTHER'}"


def _confusions(words: Iterable[TreebankWord]) -> dict[str, dict[str, list[str]]]:
    """Return type -> word -> words that are mistaken for it."""
    tables: dict[str, dict[str, list[str]]] = {
        kind: _others(dict.fromkeys(group.split()) for group in text.split("|"))
        for kind, text in _LISTS["confused"].items()
    }
    forms: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    families: dict[str, dict[str, str]] = defaultdict(dict)
    common = Counter(words)
    for word, count in common.items():
        if not word.form.isalpha() or word.tag not in ("NOUN", "VERB", "AUX", "ADJ", "ADV"):
            continue
        forms[word.lemma.lower(), word.tag][word.form.lower()] = None
        if count > 1:
            for stem in _stems(word.lemma.lower()):
                families[stem].setdefault(word.lemma.lower(), word.form.lower())
    for kind, tags in (
        ("R:NOUN:NUM", ("NOUN",)),
        ("R:VERB:FORM", ("VERB", "AUX")),
        ("R:ADJ:FORM", ("ADJ", "ADV")),
    ):
        tables[kind] = _others(group for (_, tag), group in forms.items() if tag in tags)
    for noun in _LISTS["uncountable"].split():
        tables["R:NOUN:NUM"].setdefault(noun, []).append(f"{noun}s")
    tables["R:MORPH"] = _others(
        dict.fromkeys(family.values()) for family in families.values() if 1 < len(family) < 6
    )
    return tables


def _others(groups: Iterable[Iterable[str]]) -> dict[str, list[str]]:
    """Return word -> the others of all groups that it is in."""
    table: dict[str, list[str]] = {}
    for group in map(list, groups):
        for word in group:
            others = table.setdefault(word, [])
            others += [other for other in group if other != word and other not in others]
    return table


def _stems(lemma: str) -> list[str]:
    """Return the stems that a word may be derived from, itself included."""
    stems = {lemma} if len(lemma) >= _SHORTEST_STEM else set()
    for suffix in " ".join(_LISTS["suffixes"]).split():
        stem = lemma.removesuffix(suffix)
        if stem != lemma and len(stem) >= _SHORTEST_STEM:
            stems.add(stem)
    return sorted(stems)  # in an order that every process has


def _misspelt(word: str, generator: random.Random) -> str:
    """Return a word with one slip: a letter lost, doubled or swapped, or a vowel changed."""
    place = generator.randrange(1, len(word) - 1)
    letter = word[place]
    slips = [
        word[:place] + word[place + 1 :],
        word[:place] + letter + word[place:],
        word[:place] + word[place + 1] + letter + word[place + 2 :],
    ]
    if letter in _VOWELS:
        slips.append(word[:place] + generator.choice(_VOWELS) + word[place + 1 :])
    slips = [slip for slip in slips if slip != word]
    return generator.choice(slips or [word + word[-1]])
