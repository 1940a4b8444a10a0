"""Where a sentence can be changed without touching what was corrected in it.

Words that the correction touches, and the words next to them, stay as they are. Of the others, only those
that can usually be changed without an error are changed: nouns, adjectives and adverbs are substituted by
words of the same tag (`an` stays before a vowel), and modifiers (adjectives before a noun, adverbs of degree
and manner before an adjective or a verb) are inserted and deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from learnedgec.data.m2 import Edit
from learnedgec.edits.max_match import reference_edits

Action: TypeAlias = Literal["substitute", "insert", "delete"]
ACTIONS: tuple[Action, ...] = get_args(Action)

_NOUNS = frozenset({"NN", "NNS"})
SUBSTITUTED = _NOUNS | {"NNP", "JJ", "RB"}
_ADVERBS = frozenset({"RB", "RBR", "RBS"})
_VERBS = frozenset({"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"})
# Adverbs that a sentence can do without; others carry its negation or join its parts.
_LOOSE = frozenset("also always even just often quite rather really so still very".split())  # noqa: SIM905
# Adjectives that determine the article or number of the words around them.
_QUANTIFIERS = frozenset("few first last many more most much other own same several such".split())  # noqa: SIM905
_AUXILIARIES = frozenset("am are be been being did do does had has have is was were".split())  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class Site:
    """A place where a sentence can be changed.

    Attributes:
        action: what is done there.
        place: the source token that is substituted or deleted, or before which a word is inserted.
        position: the same place in the target.
        tokens: the tokens of the target.
        tags: the tags of these tokens.
    """

    action: Action
    place: int
    position: int
    tokens: tuple[str, ...]
    tags: tuple[str, ...]

    def fits(self, word: str) -> bool:
        """Return whether a word can be put here: it must be new and agree with an article before it."""
        if not word.isalpha() or word.lower() in _AUXILIARIES:
            return False
        here = self.tokens[self.position]
        before = self.tokens[self.position - 1]
        if self.action == "substitute":
            if word.lower() == here.lower() or word[0].isupper() != here[0].isupper():
                return False
        elif word.lower() in (before.lower(), here.lower()):
            return False
        return _article_fits(before, word)


def _article_fits(before: str, word: str) -> bool:
    """Return whether `a` or `an` is right before a word, as far as its first letter tells."""
    if before.lower() not in ("a", "an"):
        return True
    return (before.lower() == "an") == word.lower().startswith(("a", "e", "i", "o", "u"))


def plan_sites(
    source: str,
    target: str,
    tags: tuple[str, ...],
    actions: Sequence[Action],
    count: int,
    random: np.random.Generator,
) -> list[Site]:
    """Return some places to change, in the order in which to try them; actions take turns by chance.

    Args:
        source: the source, tokens separated by spaces.
        target: its correction.
        tags: Penn Treebank tags of the target's tokens.
        actions: kinds of change.
        count: number of changes that are needed.
        random: random generator.
    """
    tokens = tuple(target.split())
    context = dict(_context(reference_edits(source, target), len(source.split())))
    by_action: dict[Action, list[Site]] = {action: [] for action in actions}
    for place, position in context.items():
        for action, sites in by_action.items():
            site = Site(action, place, position, tokens, tags)
            # Both neighbours of an insertion are context; the first word stays because of its capital.
            if place and (action != "insert" or place - 1 in context) and _changeable(site):
                sites.append(site)
    return take_turns(by_action, count, random)


def take_turns(
    by_action: Mapping[Action, Sequence[Site]], count: int, random: np.random.Generator
) -> list[Site]:
    """Return some of the sites in random order, each action with the same probability.

    Args:
        by_action: action -> its sites.
        count: how many at most.
        random: draws.
    """
    remaining = {
        action: [sites[n] for n in random.permutation(len(sites))]
        for action, sites in by_action.items()
        if sites
    }
    chosen: list[Site] = []
    while remaining and len(chosen) < count:
        action = list(remaining)[random.integers(len(remaining))]
        chosen.append(remaining[action].pop())
        remaining = {action: sites for action, sites in remaining.items() if sites}
    return chosen


def _context(edits: Iterable[Edit], size: int) -> list[tuple[int, int]]:
    """Return the source tokens that are in no edit and beside none, each with its place in the target."""
    shift, start = 0, 0
    free: list[tuple[int, int]] = []
    for edit in [*edits, Edit(size + 1, size + 1, "")]:
        free += [(place, place + shift) for place in range(start, min(edit.start - 1, size))]
        start = edit.end + 1
        shift += len(edit.correction.split()) - (edit.end - edit.start)
    return free


def _changeable(site: Site) -> bool:
    """Return whether language allows the action here, as far as tags tell."""
    word, tag = site.tokens[site.position], site.tags[site.position]
    if site.action == "insert":
        return tag in _NOUNS or (tag in _VERBS | {"JJ"} and word.lower() not in _AUXILIARIES)
    before, following = site.tags[site.position - 1], (*site.tags, "")[site.position + 1]
    if site.action == "delete":
        then = (*site.tokens, "")[site.position + 1]
        fits = _article_fits(site.tokens[site.position - 1], then)
        return modifies(word, tag, following) and before not in _ADVERBS and fits
    return tag in SUBSTITUTED and is_free(word, tag)


def is_free(word: str, tag: str) -> bool:
    """Return whether nothing else in a sentence depends on a noun, adjective or adverb of this tag."""
    if tag == "RB":
        return word.lower() in _LOOSE or (word.lower().endswith("ly") and len(word) > 4)
    return word.isalpha() and word.lower() not in _QUANTIFIERS


def modifies(word: str, tag: str, following: str) -> bool:
    """Return whether a word is an adjective before a noun, or a loose adverb before an adjective or verb.

    Args:
        word: the word.
        tag: its Penn Treebank tag.
        following: tag of the next token.
    """
    if tag == "JJ":
        return following in _NOUNS and is_free(word, tag)
    return tag == "RB" and is_free(word, tag) and following in _VERBS | {"JJ"}
