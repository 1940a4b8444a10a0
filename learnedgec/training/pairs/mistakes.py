"""Mistakes learnt from real edits, mistakes from lists, and n-grams that recognise changes for the worse.

The lists are in `mistakes.yaml`: confused words, and words that are left out or put in. Inflected forms come
from a treebank with lemmas.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import yaml
from rapidfuzz.distance import Indel

from learnedgec.data.catalog.cases import TreebankWord
from learnedgec.data.m2 import Edit

Words: TypeAlias = tuple[str, ...]

# The largest number of words on a side of a rule.
_MAX_WORDS = 3

_LISTS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
_LIGHT: Mapping[str, str] = _LISTS["light"]
_SUFFIXES = " ".join(_LISTS["suffixes"]).split()
# Types of mistakes between forms of one lemma -> parts of speech of the lemma.
_FORMS = {
    "R:NOUN:NUM": ("NOUN",),
    "R:VERB:FORM": ("VERB", "AUX"),
    "R:ADJ:FORM": ("ADJ", "ADV"),
}
_VOWELS = "aeiou"
_SHORTEST_STEM = 4


class Rules:
    """Replacements of words that were observed, with the words beside them.

    Args:
        observed: sentences, each with an edit of it.
        least: the smallest number of observations of a replacement.
    """

    def __init__(self, observed: Iterable[tuple[Words, Edit]], least: int = 1) -> None:
        contexts: dict[tuple[Words, Words], Counter[tuple[str, str]]] = defaultdict(Counter)
        for tokens, edit in observed:
            old = lower(tokens[edit.start : edit.end])
            new = lower(edit.correction.split())
            if max(len(old), len(new)) <= _MAX_WORDS and is_plain(old, new):
                contexts[old, new][_neighbours(tokens, edit.start, edit.end)] += 1
        self.rules: dict[Words, dict[Words, Counter[tuple[str, str]]]] = defaultdict(dict)
        for (old, new), neighbours in contexts.items():
            if neighbours.total() >= least:
                self.rules[old][new] = neighbours

    def at(self, tokens: Words, start: int, end: int, anywhere: bool = False) -> Iterator[Edit]:
        """Yield the replacements of a span that were observed beside one of its neighbours, or `anywhere`.

        Words are inserted or removed only between the same two neighbours.

        Args:
            tokens: a sentence.
            start: index of the first token of the span.
            end: index after the last token; equal to `start` for an insertion.
            anywhere: whether to accept other neighbours than the observed ones.
        """
        before, after = _neighbours(tokens, start, end)
        for new, neighbours in self.rules.get(lower(tokens[start:end]), {}).items():
            if not new or start == end:
                fits = (before, after) in neighbours and (start > 0 or bool(new))
            else:
                fits = anywhere or any(before == b or after == a for b, a in neighbours)
            if fits:
                first = [new[0].capitalize()] if new and start == 0 else list(new[:1])
                yield Edit(start, end, " ".join([*first, *new[1:]]))

    def candidates(self, tokens: Words) -> Iterator[Edit]:
        """Yield all replacements in a sentence that were observed beside one of their neighbours."""
        for start in range(len(tokens)):
            for end in range(start, min(start + _MAX_WORDS, len(tokens)) + 1):
                yield from self.at(tokens, start, end)

    def swaps(self, tokens: Words) -> Iterator[Edit]:
        """Yield all replacements of one word of a sentence, beside any neighbours."""
        for start in range(len(tokens)):
            yield from self.at(tokens, start, start + 1, anywhere=True)


class Ngrams:
    """A measure of natural text, by trigrams of correct text with "stupid backoff" (Brants et al. 2007).

    Args:
        texts: correct texts.
    """

    def __init__(self, texts: Iterable[Words]) -> None:
        self.counts: Counter[Words] = Counter()
        for tokens in texts:
            self.counts.update(_ngrams(["<s>", "<s>", *lower(tokens), "</s>"]))
        self.total = sum(n for key, n in self.counts.items() if len(key) == 1) or 1

    def loss(self, tokens: Words, edit: Edit, correction: str | None = None) -> float:
        """Return ln P(text) − ln P(text with the edit), near the edit.

        Args:
            tokens: the sentence; its own n-grams do not count.
            edit: the edit.
            correction: another correction of the same words, to compare the edit with; by default, the edit
                is compared with the words themselves.
        """
        padded = ["<s>", "<s>", *lower(tokens), "</s>", "</s>"]
        before, after = padded[edit.start : edit.start + 2], padded[edit.end + 2 : edit.end + 4]
        old = padded[edit.start + 2 : edit.end + 2]
        if correction is not None:
            old = correction.lower().split()
        texts = [[*before, *new, *after] for new in (old, edit.correction.lower().split())]
        own_ngrams = set(_ngrams(texts[0]))
        natural, changed = (
            sum(self._logarithm(text, place, own_ngrams) for place in range(2, len(text)))
            for text in texts
        )
        return natural - changed

    def _logarithm(self, text: Sequence[str], place: int, own_ngrams: set[Words]) -> float:
        """Return the log-probability of a word after the two words before it."""
        for start in range(place - 2, place):
            ngram = tuple(text[start : place + 1])
            if (count := self.counts[ngram] - (ngram in own_ngrams)) > 0:
                context = self.counts[ngram[:-1]] - (ngram[:-1] in own_ngrams)
                return math.log(0.4 ** (start - place + 2) * count / max(context, count))
        word = (text[place],)
        return math.log(0.16 * max(self.counts[word] - (word in own_ngrams), 0.3) / self.total)


class Inventory:
    """Mistakes that could be made in a correct text, by ERRANT's types of the edits that correct them.

    Args:
        words: words of a treebank, whose lemmas connect inflected forms.
        counts: type -> number of observed corrections; types are drawn in proportion to its square root.
        rates: word -> the share of its uses by learners that are wrong, from 0 to 1. A mistake is drawn less
            often if learners seldom use its words wrongly.
    """

    def __init__(
        self, words: Iterable[TreebankWord], counts: Mapping[str, int], rates: Mapping[str, float]
    ) -> None:
        self.rates = rates
        self.confusions = _confusions(words)
        kinds = {*self.confusions, "R:SPELL", "R:WO"}
        kinds |= {f"{letter}:{name}" for letter in "MU" for name in _LIGHT}
        pooled: Counter[str] = Counter()
        for kind, count in counts.items():
            pooled[kind if kind in kinds else _general(kind)] += count
        self.shares = {kind: pooled[kind] ** 0.5 for kind in sorted(kinds) if pooled[kind]}

    def draw(self, tokens: Words, generator: random.Random, tries: int) -> list[Edit]:
        """Return mistakes in different places of a text, at most one for each drawn type.

        Args:
            tokens: the text.
            generator: random generator.
            tries: number of types to draw.
        """
        mistakes: dict[tuple[int, int], Edit] = {}
        for kind in generator.choices(list(self.shares), list(self.shares.values()), k=tries):
            if edits := list(self._of_kind(kind, tokens, generator)):
                edit = generator.choice(edits)
                used = lower(edit.correction.split() or tokens[edit.start : edit.end])
                if generator.random() < max(self.rates.get(word, 0.1) for word in used) / 0.2:
                    mistakes[edit.start, edit.end] = edit
        return list(mistakes.values())

    def replacements(self, word: str) -> list[str]:
        """Return all words that are mistaken for a word."""
        return [new for table in self.confusions.values() for new in table.get(word.lower(), ())]

    def _of_kind(self, kind: str, tokens: Words, generator: random.Random) -> Iterator[Edit]:
        """Yield the mistakes of a type that are possible in a text."""
        operation, _, name = kind.partition(":")
        light = _LIGHT.get(name, "").split()
        for place, token in enumerate(tokens):
            if operation == "U":
                if place:
                    yield Edit(place, place, generator.choice(light), kind)
            elif operation == "M":
                if token.lower() in light and len(tokens) > 2:
                    yield Edit(place, place + 1, "", kind)
            elif kind == "R:WO":
                second = "".join(tokens[place + 1 : place + 2])
                alphabetic = token.isalpha() and second.isalpha()
                if place and alphabetic and token.lower() != second.lower():
                    yield Edit(place, place + 2, f"{second} {token}", kind)
            elif kind == "R:SPELL":
                if token.isalpha() and len(token) > 3:
                    yield Edit(place, place + 1, _misspelt(token, generator), kind)
            else:
                for other in self.confusions[kind].get(token.lower(), ()):
                    new = other.capitalize() if token[0].isupper() else other
                    yield Edit(place, place + 1, new, kind)


def undone(tokens: Words, edits: Sequence[Edit]) -> tuple[Words, list[Edit]]:
    """Return the sentence with the edits applied, and the edits that undo these.

    Example:
        >>> undone(("He", "go"), [Edit(1, 2, "goes")])
        (('He', 'goes'), [Edit(start=1, end=2, correction='go', type='', alternatives=())])
    """
    words, back, shift = list(tokens), [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        new = edit.correction.split()
        start = edit.start + shift
        words[start : edit.end + shift] = new
        back.append(Edit(start, start + len(new), " ".join(tokens[edit.start : edit.end])))
        shift += len(new) - (edit.end - edit.start)
    return tuple(words), back


def touch(edit: Edit, other: Edit) -> bool:
    """Return whether two edits overlap or are neighbours."""
    return edit.start <= other.end and other.start <= edit.end


def lower(words: Sequence[str]) -> Words:
    """Return words in lower case."""
    return tuple(word.lower() for word in words)


def _neighbours(tokens: Words, start: int, end: int) -> tuple[str, str]:
    """Return the words before and after a span, which are `""` at the ends of a sentence."""
    before = tokens[start - 1] if start else ""
    return before.lower(), tokens[end].lower() if end < len(tokens) else ""


def is_plain(old: Words, new: Words) -> bool:
    """Return whether an edit replaces words by other words that look similar, or only changes short words."""
    if not all(any(letter.isalpha() for letter in word) and "<" not in word for word in old + new):
        return False
    texts = ["".join(filter(str.isalpha, "".join(words))) for words in (old, new)]
    short = all(len(word) <= 5 for word in old + new)
    return texts[0] != texts[1] and (short or Indel.normalized_similarity(*texts) >= 0.5)


def _ngrams(text: Sequence[str]) -> Iterator[Words]:
    """Yield the n-grams of a text, up to trigrams."""
    for end in range(1, len(text) + 1):
        yield from (tuple(text[start:end]) for start in range(max(end - 3, 0), end))


def _general(kind: str) -> str:
    """Return the type of `Inventory` that is nearest to a type of ERRANT."""
    operation, _, name = kind.partition(":")
    head = name.partition(":")[0]
    if operation == "R":
        return "R:VERB:FORM" if head == "VERB" and ":" in name else "R:OTHER"
    return f"{operation}:{head if head in _LIGHT else 'OTHER'}"


def _confusions(words: Iterable[TreebankWord]) -> dict[str, dict[str, list[str]]]:
    """Return, for each type and word, the words that are mistaken for the word."""
    tables = {
        kind: others(group.split() for group in text.split("|"))
        for kind, text in _LISTS["confused"].items()
    }
    forms: dict[tuple[str, str], list[str]] = defaultdict(list)
    # stem -> lemma -> one of the lemma's forms
    families: dict[str, dict[str, str]] = defaultdict(dict)
    for word, count in Counter(words).items():
        form, lemma = word.form.lower(), word.lemma.lower()
        if not word.form.isalpha() or word.tag not in ("NOUN", "VERB", "AUX", "ADJ", "ADV"):
            continue
        forms[lemma, word.tag].append(form)
        stems = {lemma.removesuffix(suffix) for suffix in ("", *_SUFFIXES)}
        # Sorting gives every process the same order.
        for stem in sorted(stems) if count > 1 else ():
            if len(stem) >= _SHORTEST_STEM:
                families[stem].setdefault(lemma, form)
    for kind, tags in _FORMS.items():
        tables[kind] = others(group for (_, tag), group in forms.items() if tag in tags)
    for noun in _LISTS["uncountable"].split():
        tables["R:NOUN:NUM"].setdefault(noun, []).append(f"{noun}s")
    tables["R:MORPH"] = others(
        family.values() for family in families.values() if 1 < len(family) < 6
    )
    return tables


def others(groups: Iterable[Iterable[str]]) -> dict[str, list[str]]:
    """Return, for each word, the other words of all its groups."""
    table: dict[str, dict[str, None]] = defaultdict(dict)
    for group in map(list, groups):
        for word in group:
            table[word] |= dict.fromkeys(other for other in group if other != word)
    return {word: list(others) for word, others in table.items()}


def _misspelt(word: str, generator: random.Random) -> str:
    """Return a word with one typing error: a letter lost, doubled or swapped, or a vowel changed."""
    place = generator.randrange(1, len(word) - 1)
    before, letter, after = word[:place], word[place], word[place + 1 :]
    slips = [before + after, before + letter + letter + after]
    slips.append(before + after[0] + letter + after[1:])
    if letter in _VOWELS:
        slips.append(before + generator.choice(_VOWELS) + after)
    slips = [slip for slip in slips if slip != word]
    return generator.choice(slips or [word + word[-1]])
