"""Make variants of corrected sentences by small changes far from what was corrected.

A word of the context is substituted, inserted or deleted, in source and target alike; `sites` says where that
is allowed. New words come from the corpus itself: words of the same tag, or between the same two tags, drawn
by frequency. The variants are not checked by humans: some are odd, a few ungrammatical.

Source: Zhang et al., "RobustGEC: Robust Grammatical Error Correction Against Subtle Context Perturbation"
(EMNLP 2023), appendix B. Deviations: which words may be changed, and words from the corpus instead of a
masked language model; `procedure='zhang2023'` changes sentences as the paper does (`masked`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Literal, TypeAlias

import numpy as np

from learnedgec.data.catalog.cases import Case, Pair
from learnedgec.data.text import check_lengths
from learnedgec.edits.parsing import RELEASED, tag_sentences
from learnedgec.errors import InputError
from learnedgec.robustness.sites import (
    ACTIONS,
    SUBSTITUTED,
    Action,
    Site,
    is_free,
    modifies,
    plan_sites,
)
from learnedgec.runtime.runtime import Runtime

Procedure: TypeAlias = Literal["corpus", "zhang2023"]

# The places of a sentence are visited this often.
_ROUNDS = 3
# The number of draws until a word fits.
_TRIES = 20


def perturb(
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    variants: int = 5,
    actions: Sequence[Action] = ACTIONS,
    procedure: Procedure = "corpus",
    encoder: str = "bert-base-cased",
    seed: int = 0,
    runtime: Runtime = Runtime(),
) -> list[Case]:
    """Return a case for each sentence: itself, and variants with one word of the context changed.

    Args:
        sources: N sentences, tokens separated by spaces.
        targets: their corrections.
        variants: the maximum number of variants of a case. It has fewer, or none, where nothing can be
            changed: a short sentence, or one full of errors.
        actions: the allowed actions, each used equally often where it is possible.
        procedure: `corpus`, or `zhang2023`: any word outside errors is changed, by words of a masked language
            model.
        encoder: that model; it needs its head of masked language modelling.
        runtime: how to run it.
        seed: of the random choices. A sentence's variants depend on its number and on the corpus.

    Returns:
        N cases, in order. Variants differ from each other and from the original; runs of spaces
        become one.

    Raises:
        LengthError: sources and targets differ in length.
        InputError: no variant, or no known action, is asked for.
        ModelError: the masked language model is not available.

    Example:
        >>> sources = ["She go to a small school in the old town ."]
        >>> case, = perturb(sources, ["She goes to a small school in the old town ."], variants=1,
        ...                 actions=["delete"])
        >>> case.variants[0].source
        'She go to a small school in the town .'
    """
    check_lengths(("sources", sources), ("targets", targets))
    if variants < 1 or not actions or not set(actions) <= set(ACTIONS):
        raise InputError(
            f"{variants} variants by {', '.join(actions) or 'no action'} were asked for; give at least one "
            f"variant and actions among {', '.join(ACTIONS)}."
        )
    plans: Iterable[Iterable[tuple[Site, str]]]
    plans = _plans_from_corpus(sources, targets, actions, variants, seed)
    if procedure == "zhang2023":
        from learnedgec.robustness.masked import random_changes

        plans = random_changes(sources, targets, actions, variants, seed, encoder, runtime)
    cases = []
    for source, target, plan in zip(sources, targets, plans, strict=True):
        pairs = [Pair(" ".join(source.split()), " ".join(target.split()))]
        for site, word in plan:
            if len(pairs) > variants:
                break
            changed = _changed(source.split(), target.split(), site, word)
            pairs += [changed] if changed not in pairs else []
        cases.append(Case(Pair(source, target), tuple(pairs[1:])))
    return cases


def _plans_from_corpus(
    sources: Sequence[str],
    targets: Sequence[str],
    actions: Sequence[Action],
    variants: int,
    seed: int,
) -> Iterator[Iterator[tuple[Site, str]]]:
    """Yield each sentence's places to change, with a word of the corpus for each."""
    tags = tag_sentences(targets, RELEASED)
    lexicon = _Lexicon(tags)
    for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
        random = np.random.default_rng([seed, number])
        plan = plan_sites(source, target, tags[target], actions, 2 * variants, random)
        yield _with_words(plan, lexicon, np.random.default_rng([seed, number, 1]))


def _with_words(
    plan: list[Site], lexicon: _Lexicon, random: np.random.Generator
) -> Iterator[tuple[Site, str]]:
    """Yield places with words, as long as there are words; places come again with other words."""
    for site in plan * _ROUNDS:
        word = "" if site.action == "delete" else lexicon.words(site).draw(site, random)
        if word is not None:
            yield site, word


def _changed(source: list[str], target: list[str], site: Site, word: str) -> Pair:
    """Return both sentences with the same change."""
    sides = []
    for tokens, place in ((source, site.place), (target, site.position)):
        after = tokens[place + (site.action != "insert") :]
        sides.append(" ".join([*tokens[:place], *([word] if word else []), *after]))
    return Pair(*sides)


class _Words:
    """Words with weights, to be drawn from."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._words = list(weights)
        self._sums = list(accumulate(weights.values()))

    def draw(self, site: Site, random: np.random.Generator) -> str | None:
        """Return a word that fits, or `None` if none was drawn."""
        for _ in range(_TRIES if self._words else 0):
            place = bisect_right(self._sums, random.random() * self._sums[-1])
            word = self._words[min(place, len(self._words) - 1)]
            if site.fits(word):
                return word
        return None


class _Lexicon:
    """The words of a corpus by tag, and its modifiers by the tags around them."""

    def __init__(self, tagged: Mapping[str, Sequence[str]]) -> None:
        by_tag: defaultdict[str, Counter[str]] = defaultdict(Counter)
        between: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for text, tags in tagged.items():
            tokens = text.split()
            for place, (word, tag) in enumerate(zip(tokens, tags, strict=True)):
                # The first word's capital says nothing about it.
                if place == 0 or tag not in SUBSTITUTED or not is_free(word, tag):
                    continue
                by_tag[tag][word] += 1
                following = (*tags, "")[place + 1]
                if modifies(word, tag, following):
                    between[tags[place - 1], following][word] += 1
        self._by_tag = {tag: _Words(counts) for tag, counts in by_tag.items()}
        self._between = {around: _Words(counts) for around, counts in between.items()}

    def words(self, site: Site) -> _Words:
        """Return the words that the corpus has for a place."""
        tag = site.tags[site.position]
        if site.action == "insert":
            return self._between.get((site.tags[site.position - 1], tag), _Words({}))
        return self._by_tag.get(tag, _Words({}))
