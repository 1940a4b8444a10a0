"""Variants of corrected sentences, made by small changes far from what was corrected.

A word of the context is substituted, inserted or deleted, in source and target alike. Words that the
correction touches, and the words next to them, stay as they are. Of the other words, only those are changed
that can usually be changed without an error: nouns, adjectives and adverbs are substituted by words of the
same tag (`an` stays before a vowel), and modifiers (adjectives before a noun, adverbs of degree and manner
before an adjective or a verb) are inserted and deleted. New words come from the corpus itself: words of the
same tag, or between the same two tags, drawn by frequency. No human checks the variants; some are odd, and a
few are ungrammatical.

With `procedure='zhang2023'`, sentences are changed as in RobustGEC's paper. A random word outside errors is
replaced by the word that a masked language model finds most probable in the correction, or deleted, or a
random word of the model's vocabulary is inserted at a random place outside errors. The three actions are
equally probable. Many of these variants are ungrammatical.

Source: Zhang et al., "RobustGEC: Robust Grammatical Error Correction Against Subtle Context Perturbation"
(EMNLP 2023), appendix B, which does not say how a word is drawn from the model's distribution. Deviations by
default: which words may be changed, and words from the corpus instead of a masked language model.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from learnedgec.data.catalog.cases import Case, Pair
from learnedgec.data.m2 import Edit
from learnedgec.data.text import check_lengths
from learnedgec.edits.annotator import RELEASED, tag_sentences
from learnedgec.edits.max_match import reference_edits
from learnedgec.errors import InputError
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Texts

Action: TypeAlias = Literal["substitute", "insert", "delete"]
ACTIONS: tuple[Action, ...] = get_args(Action)


@dataclass(frozen=True, slots=True)
class Changes:
    """Which variants of a sentence are made.

    Attributes:
        variants: the maximum number of variants of a case. A short sentence, or one full of errors, has
            fewer variants or none.
        actions: the allowed actions, each used equally often where it is possible.
        seed: the seed of the random choices. A sentence's variants depend on its number and on the corpus.

    Raises:
        InputError: no variant, or no known action, is asked for.
    """

    variants: int = 5
    actions: Sequence[Action] = ACTIONS
    seed: int = 0

    def __post_init__(self) -> None:
        if self.variants < 1 or not self.actions or not set(self.actions) <= set(ACTIONS):
            raise InputError(
                f"{self.variants} variants by {', '.join(self.actions) or 'no action'} were asked for; give "
                f"at least one variant and actions among {', '.join(ACTIONS)}."
            )


# The number of times that each place of a sentence is tried.
_ROUNDS = 3
# The largest number of draws for a word that fits.
_TRIES = 20


def perturb(
    sources: Texts,
    targets: Texts,
    changes: Changes = Changes(),
    *,
    encoder: str | None = None,
) -> list[Case]:
    """Return a case for each sentence: itself, and variants with one word of the context changed.

    Args:
        sources: N sentences, tokens separated by spaces.
        targets: their corrections.
        changes: which variants are made.
        encoder: a masked language model, with its head, by whose words any word outside errors is changed, as
            Zhang et al. (2023) did; by default, nouns, adjectives and adverbs are changed by words of the
            corpus.

    Returns:
        N cases, in order. Variants differ from each other and from the original; runs of spaces
        become one.

    Raises:
        LengthError: sources and targets differ in length.
        ModelError: the masked language model is not available.

    Example:
        >>> sources = ["She go to a small school in the old town ."]
        >>> case, = perturb(sources, ["She goes to a small school in the old town ."],
        ...                 Changes(variants=1, actions=["delete"]))
        >>> case.variants[0].source
        'She go to a small school in the town .'
    """
    check_lengths(("sources", sources), ("targets", targets))
    plans: Iterable[Iterable[tuple[Site, str]]]
    if encoder is None:
        plans = _plans_from_corpus(sources, targets, changes)
    else:
        plans = _random_changes(sources, targets, changes, encoder)
    cases = []
    for source, target, plan in zip(sources, targets, plans, strict=True):
        pairs = [Pair(" ".join(source.split()), " ".join(target.split()))]
        for site, word in plan:
            if len(pairs) > changes.variants:
                break
            changed = _changed(source.split(), target.split(), site, word)
            pairs += [changed] if changed not in pairs else []
        cases.append(Case(Pair(source, target), tuple(pairs[1:])))
    return cases


def _plans_from_corpus(
    sources: Texts, targets: Texts, changes: Changes
) -> Iterator[Iterator[tuple[Site, str]]]:
    """Yield each sentence's places to change, with a word of the corpus for each."""
    tags = tag_sentences(targets, RELEASED)
    lexicon = _Lexicon(tags)
    for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
        random = np.random.default_rng([changes.seed, number])
        count = 2 * changes.variants
        plan = plan_sites(source, target, tags[target], changes.actions, count, random)
        yield _with_words(plan, lexicon, np.random.default_rng([changes.seed, number, 1]))


def _with_words(
    plan: list[Site], lexicon: _Lexicon, random: np.random.Generator
) -> Iterator[tuple[Site, str]]:
    """Yield places with words that fit, each place several times with another word."""
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

    def __init__(self, tagged: Mapping[str, Texts]) -> None:
        by_tag: defaultdict[str, Counter[str]] = defaultdict(Counter)
        between: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for text, tags in tagged.items():
            tokens = text.split()
            for place, (word, tag) in enumerate(zip(tokens, tags, strict=True)):
                # The first word has a capital whatever its tag.
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


# -- where a sentence can be changed ----------------------------------------------------------------


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
        action: the change to make there.
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
        """Return whether a word can be put here: it is new and agrees with the article before it."""
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
    """Return whether an article `a` or `an` agrees with the first letter of the word after it."""
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
    """Return places to change, in the order in which to try them; each action is equally probable.

    Args:
        source: the source, tokens separated by spaces.
        target: its correction.
        tags: Penn Treebank tags of the target's tokens.
        actions: kinds of change.
        count: number of changes that are needed.
        random: random generator.
    """
    tokens = tuple(target.split())
    # Words next to a correction stay as they are.
    context = dict(chain.from_iterable(_unchanged(source, target, margin=1)))
    by_action: dict[Action, list[Site]] = {action: [] for action in actions}
    for place, position in context.items():
        for action, sites in by_action.items():
            site = Site(action, place, position, tokens, tags)
            # Both neighbours of an insertion are context; the first word stays because of its capital.
            if place and (action != "insert" or place - 1 in context) and _changeable(site):
                sites.append(site)
    return _take_turns(by_action, count, random)


def _take_turns(
    by_action: Mapping[Action, Sequence[Site]], count: int, random: np.random.Generator
) -> list[Site]:
    """Return up to `count` sites in random order, each action with the same probability."""
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


def _unchanged(source: str, target: str, margin: int = 0) -> Iterator[list[tuple[int, int]]]:
    """Yield each run of source tokens outside corrections and their margins, with places in the target."""
    size = len(source.split())
    start = shift = 0
    for edit in [*reference_edits(source, target), Edit(size + margin, size + margin, "")]:
        yield [(place, place + shift) for place in range(start, min(edit.start - margin, size))]
        start = edit.end + margin
        shift += len(edit.correction.split()) - (edit.end - edit.start)


def _changeable(site: Site) -> bool:
    """Return whether the action usually causes no error here, by the tags of the words around."""
    word, tag = site.tokens[site.position], site.tags[site.position]
    if site.action == "insert":
        return tag in _NOUNS or (tag in _VERBS | {"JJ"} and word.lower() not in _AUXILIARIES)
    before, following = site.tags[site.position - 1], (*site.tags, "")[site.position + 1]
    if site.action == "delete":
        next_word = (*site.tokens, "")[site.position + 1]
        fits = _article_fits(site.tokens[site.position - 1], next_word)
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


# -- the procedure of Zhang et al. (2023) -----------------------------------------------------------


def _random_changes(
    sources: Texts,
    targets: Texts,
    changes: Changes,
    encoder: str,
) -> list[list[tuple[Site, str]]]:
    """Return the places to change in each sentence, each with its new word, `""` for a deletion.

    The number of a sentence is part of its seed.
    """
    from learnedgec.evaluators.loading import load_tokenizer

    tokenizer = load_tokenizer(encoder)
    words = _whole_words(tokenizer)
    vocabulary = list(words.values())
    generators = [
        np.random.default_rng([changes.seed, number, 2]) for number in range(len(sources))
    ]
    plans = [
        _take_turns(
            _sites_outside_errors(source, target, changes.actions), changes.variants, random
        )
        for source, target, random in zip(sources, targets, generators, strict=True)
    ]
    places = [site for plan in plans for site in plan if site.action == "substitute"]
    probable = iter(_probable_words(encoder, places, words))
    chosen: list[list[tuple[Site, str]]] = []
    for plan, random in zip(plans, generators, strict=True):
        chosen.append([])
        for site in plan:
            word = ""
            if site.action == "insert":
                word = vocabulary[random.integers(len(vocabulary))]
            elif site.action == "substitute":
                word = next(probable)
            chosen[-1].append((site, word))
    return chosen


def _sites_outside_errors(
    source: str, target: str, actions: Sequence[Action]
) -> dict[Action, list[Site]]:
    """Return the places outside errors for each action; an insertion has no error on either side."""
    tokens = tuple(target.split())
    first, *others = _unchanged(source, target)
    words, gaps = ([*first, *chain(*runs)] for runs in (others, (run[1:] for run in others)))
    return {
        action: [
            Site(action, place, position, tokens, ())
            for place, position in (gaps if action == "insert" else words)
        ]
        for action in actions
    }


def _whole_words(tokenizer: Any) -> dict[int, str]:
    """Return the numbers of the tokens that are words of letters, with the words."""
    vocabulary = tokenizer.get_vocab()
    # Byte-pair and unigram vocabularies mark the tokens that begin a word; WordPiece marks the others.
    marks = [mark for mark in "Ġ▁" if any(token.startswith(mark) for token in vocabulary)]
    mark = marks[0] if marks else ""
    return {
        number: token.removeprefix(mark)
        for token, number in sorted(vocabulary.items(), key=lambda item: item[1])
        if token.startswith(mark) and token.removeprefix(mark).isalpha()
    }


def _probable_words(encoder: str, sites: Sequence[Site], words: dict[int, str]) -> Iterator[str]:
    """Yield the most probable new word at each place of the correction."""
    import torch

    from learnedgec.evaluators.inference import Batch, KnownRows, model_inputs, run
    from learnedgec.evaluators.loading import load_model, load_tokenizer

    runtime = Runtime()
    model: Any = load_model(encoder, runtime, "AutoModelForMaskedLM")
    tokenizer = load_tokenizer(encoder)
    numbers = torch.tensor(list(words))

    def best_two(batch: Batch) -> torch.Tensor:
        masked = (batch["input_ids"] == tokenizer.mask_token_id).int().argmax(dim=1)
        logits = model(**model_inputs(batch, model)).logits[torch.arange(len(masked)), masked]
        chosen = logits[:, numbers.to(logits.device)].topk(2).indices
        return numbers.to(chosen.device)[chosen]

    texts = [
        " ".join(
            (*site.tokens[: site.position], tokenizer.mask_token, *site.tokens[site.position + 1 :])
        )
        for site in sites
    ]
    for site, pair in zip(
        sites, run(best_two, tokenizer, texts, runtime, KnownRows(2)), strict=True
    ):
        here = site.tokens[site.position].lower()
        first, second = (words[int(number)] for number in pair)
        yield second if first.lower() == here else first
