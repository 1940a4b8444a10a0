"""Make variants of corrected sentences by small changes far from what was corrected.

A word of the context is substituted, inserted or deleted, in source and target alike. Words that the
correction touches, and the words next to them, stay as they are. What is put in comes from

    the corpus itself     words of the same tag, or between the same two tags, drawn by frequency
    a masked LM           words that a masked language model fills in, drawn by probability

Only what can mostly be changed without making an error is: nouns, adjectives and adverbs are substituted
by words of the same tag (`an` stays before a vowel), and modifiers (adjectives before a noun, adverbs of
degree and manner before an adjective or a verb) are inserted and deleted. The variants are not checked by
people: some are odd, a few ungrammatical.

Source: Zhang et al., "RobustGEC: Robust Grammatical Error Correction Against Subtle Context Perturbation"
(EMNLP 2023), appendix B. Deviations: which words may be changed, and words from the corpus.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal, TypeAlias, get_args

import numpy as np

from learnedgec.catalog.cases import Case, Pair
from learnedgec.edits.max_match import reference_edits
from learnedgec.edits.parsing import RELEASED, tag_sentences
from learnedgec.errors import InputError, ModelError
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.m2 import Edit
from learnedgec.formats.text import check_lengths

__all__ = ["ACTIONS", "Action", "perturb"]

Action: TypeAlias = Literal["substitute", "insert", "delete"]
ACTIONS: tuple[Action, ...] = get_args(Action)

_NOUNS = frozenset({"NN", "NNS"})
_SUBSTITUTED = _NOUNS | {"NNP", "JJ", "RB"}
_ADVERBS = frozenset({"RB", "RBR", "RBS"})
_VERBS = frozenset({"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"})
# Adverbs that a sentence can do without; others carry its negation or join its parts.
_LOOSE = frozenset(
    ("also", "always", "even", "just", "often", "quite", "rather", "really", "so", "still", "very")
)
# Adjectives that decide which article or number stands around them.
_QUANTIFIERS = frozenset(
    (
        "few",
        "first",
        "last",
        "many",
        "more",
        "most",
        "much",
        "other",
        "own",
        "same",
        "several",
        "such",
    )
)
_AUXILIARIES = frozenset(
    (
        "am",
        "are",
        "be",
        "been",
        "being",
        "did",
        "do",
        "does",
        "had",
        "has",
        "have",
        "is",
        "was",
        "were",
    )
)
# A word that does not fit is drawn again this often, and places are gone through this often.
_TRIES, _ROUNDS = 20, 3
_CANDIDATES = 32
# The scores of a whole vocabulary at every token take room.
_BATCH_TOKENS = 1024


def perturb(
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    variants: int = 5,
    language_model: str | None = None,
    actions: Sequence[Action] = ACTIONS,
    annotator: str = RELEASED,
    seed: int = 0,
    runtime: Runtime = Runtime(),
) -> list[Case]:
    """Return a case for each sentence: itself, and variants with one word of the context changed.

    Args:
        sources: N sentences, tokens separated by spaces.
        targets: their corrections.
        variants: how many variants a case has at most. It has fewer, or none, where there is nothing to
            change: a short sentence, or one full of errors.
        language_model: a masked language model (hub id, directory or `pkg:module/folder`) that
            says which words are put in; `None` draws them from the targets.
        actions: what may be done, each equally often where it can be.
        annotator: the spaCy pipeline that tags words: see `errant`.
        seed: of the random choices. A sentence's variants depend on its number and, if words
            come from the corpus, on the corpus.
        runtime: device, precision, batch size of the language model.

    Returns:
        N cases, in order. Variants differ from each other and from the original; runs of spaces
        become one.

    Raises:
        LengthError: sources and targets differ in length.
        InputError: no variant, or no known action, is asked for.
        ModelError: the model cannot be loaded or fills in no mask.

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
    tags = tag_sentences(targets, annotator)
    lexicon = _Lexicon(tags)
    plans = [
        _plan(source, target, tags[target], actions, 2 * variants, np.random.default_rng([seed, n]))
        for n, (source, target) in enumerate(zip(sources, targets, strict=True))
    ]
    fill: Callable[[_Site], _Words] = lexicon.words
    if language_model is not None:
        sites = [site for plan in plans for site in plan if site.action != "delete"]
        fill = dict(
            zip(sites, _predict(sites, language_model, lexicon, runtime), strict=True)
        ).__getitem__
    return [
        _case(source, target, plan, variants, fill, np.random.default_rng([seed, n, 1]))
        for n, (source, target, plan) in enumerate(zip(sources, targets, plans, strict=True))
    ]


# -- where ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Site:
    """A place where a sentence can be changed.

    Attributes:
        action: what is done there.
        place: the source token that is substituted or deleted, or before which a word is inserted.
        position: the same place in the target.
        tokens: of the target.
        tags: of these.
    """

    action: Action
    place: int
    position: int
    tokens: tuple[str, ...]
    tags: tuple[str, ...]

    @property
    def after(self) -> int:
        """The position in the target of the first token that follows the changed ones."""
        return self.position + (self.action != "insert")

    def fits(self, word: str) -> bool:
        """Return whether a word can be put here: a new one, and as the article before it wants."""
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


def _plan(
    source: str,
    target: str,
    tags: tuple[str, ...],
    actions: Sequence[Action],
    count: int,
    random: np.random.Generator,
) -> list[_Site]:
    """Return some places to change, in the order in which to try them; actions take turns by chance."""
    tokens = tuple(target.split())
    context = dict(_context(reference_edits(source, target), len(source.split())))
    by_action: dict[Action, list[_Site]] = {action: [] for action in actions}
    for place, position in context.items():
        for action, sites in by_action.items():
            site = _Site(action, place, position, tokens, tags)
            # Both neighbours of an insertion are context; the first word is as it is for its capital.
            if place and (action != "insert" or place - 1 in context) and _changeable(site):
                sites.append(site)
    chosen: list[_Site] = []
    left = {
        action: [sites[n] for n in random.permutation(len(sites))]
        for action, sites in by_action.items()
        if sites
    }
    while left and len(chosen) < count:
        action = list(left)[random.integers(len(left))]
        chosen.append(left[action].pop())
        if not left[action]:
            del left[action]
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


def _changeable(site: _Site) -> bool:
    """Return whether language allows the action here, as far as tags tell."""
    word, tag = site.tokens[site.position], site.tags[site.position]
    if site.action == "insert":
        return tag in _NOUNS or (tag in _VERBS | {"JJ"} and word.lower() not in _AUXILIARIES)
    before, following = site.tags[site.position - 1], (*site.tags, "")[site.position + 1]
    if site.action == "delete":
        then = (*site.tokens, "")[site.position + 1]
        fits = _article_fits(site.tokens[site.position - 1], then)
        return _modifies(word, tag, following) and before not in _ADVERBS and fits
    return tag in _SUBSTITUTED and _free(word, tag)


def _free(word: str, tag: str) -> bool:
    """Return whether nothing else in a sentence depends on a noun, adjective or adverb of this tag."""
    if tag == "RB":
        return _loose(word)
    return word.isalpha() and word.lower() not in _QUANTIFIERS


def _loose(word: str) -> bool:
    return word.lower() in _LOOSE or (word.lower().endswith("ly") and len(word) > 4)


def _modifies(word: str, tag: str, following: str) -> bool:
    """Return whether a word is an adjective before a noun, or a loose adverb before an adjective or verb."""
    if tag == "JJ":
        return following in _NOUNS and _free(word, tag)
    return tag == "RB" and _free(word, tag) and following in _VERBS | {"JJ"}


# -- which words --------------------------------------------------------------------------------------


class _Words:
    """Words with weights, to be drawn from."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._words = list(weights)
        self._sums = list(accumulate(weights.values()))

    def draw(self, site: _Site, random: np.random.Generator) -> str | None:
        """Return a word that fits, or nothing where none was drawn."""
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
        self.tags: defaultdict[str, set[str]] = defaultdict(set)
        for text, tags in tagged.items():
            tokens = text.split()
            for place, (word, tag) in enumerate(zip(tokens, tags, strict=True)):
                self.tags[word.lower()].add(tag)
                # The first word's capital says nothing about it.
                if place == 0 or tag not in _SUBSTITUTED or not _free(word, tag):
                    continue
                by_tag[tag][word] += 1
                following = (*tags, "")[place + 1]
                if _modifies(word, tag, following):
                    between[tags[place - 1], following][word] += 1
        self._by_tag = {tag: _Words(counts) for tag, counts in by_tag.items()}
        self._between = {around: _Words(counts) for around, counts in between.items()}

    def words(self, site: _Site) -> _Words:
        """Return the words that the corpus has for a place."""
        tag = site.tags[site.position]
        if site.action == "insert":
            return self._between.get((site.tags[site.position - 1], tag), _Words({}))
        return self._by_tag.get(tag, _Words({}))

    def allows(self, word: str, site: _Site) -> bool:
        """Return whether a word may have a tag that fits: words that the corpus lacks may have any."""
        wanted = {"JJ", "RB"} if site.action == "insert" else {site.tags[site.position]}
        return word.lower() not in self.tags or bool(self.tags[word.lower()] & wanted)


def _predict(
    sites: Sequence[_Site], name: str, lexicon: _Lexicon, runtime: Runtime
) -> list[_Words]:
    """Return what a masked language model fills into each place of the target."""
    import torch

    from learnedgec.models.batching import Batch, model_inputs
    from learnedgec.models.inference import run
    from learnedgec.models.loading import load_model, load_tokenizer

    tokenizer = load_tokenizer(name)
    if tokenizer.mask_token is None:
        raise ModelError(f"the model {name!r} has no mask token; name a masked language model.")
    model = load_model(name, runtime, "AutoModelForMaskedLM")

    def forward(batch: Batch) -> torch.Tensor:
        masks = batch["input_ids"] == tokenizer.mask_token_id
        logits = model(**model_inputs(batch, model)).logits
        # Where a long sentence was cut before its mask, there is nothing to read.
        rows = logits[torch.arange(len(logits)), masks.int().argmax(dim=1)].float()
        values, numbers = rows.softmax(dim=1).topk(min(_CANDIDATES, rows.shape[1]), dim=1)
        return torch.cat([values * masks.any(dim=1, keepdim=True), numbers.float()], dim=1)

    masked = [
        " ".join([*s.tokens[: s.position], tokenizer.mask_token, *s.tokens[s.after :]])
        for s in sites
    ]
    small = replace(runtime, batch_tokens=min(runtime.batch_tokens, _BATCH_TOKENS))
    rows = run(forward, tokenizer, masked, small, description="filling masks")
    whole: dict[int, str | None] = {}
    found = []
    for site, row in zip(sites, rows, strict=True):
        half = len(row) // 2
        weights: dict[str, float] = {}
        for weight, number in zip(
            row[:half].tolist(), row[half:].astype(int).tolist(), strict=True
        ):
            if number not in whole:
                text = tokenizer.decode([number]).strip()
                # A piece of a word is not read back as itself.
                alone = tokenizer.encode(f" {text}", add_special_tokens=False)
                whole[number] = text if alone == [number] else None
            word = whole[number]
            if word and weight > 0 and site.fits(word) and lexicon.allows(word, site):
                weights[word] = weight
        found.append(_Words(weights))
    return found


# -- variants -------------------------------------------------------------------------------------------


def _case(
    source: str,
    target: str,
    plan: Sequence[_Site],
    variants: int,
    fill: Callable[[_Site], _Words],
    random: np.random.Generator,
) -> Case:
    """Carry out a plan: visit its places, and again with other words, until there are enough variants."""
    original = Pair(source, target)
    found = {Pair(" ".join(source.split()), " ".join(target.split())): None}
    for site in [*plan] * _ROUNDS:
        if len(found) > variants:
            break
        word = "" if site.action == "delete" else fill(site).draw(site, random)
        if word is not None:
            found[_changed(source.split(), target.split(), site, word)] = None
    return Case(original, tuple(found)[1:])


def _changed(source: list[str], target: list[str], site: _Site, word: str) -> Pair:
    """Return both sentences with the same change."""
    sides = []
    for tokens, place in ((source, site.place), (target, site.position)):
        after = tokens[place + (site.action != "insert") :]
        sides.append(" ".join([*tokens[:place], *([word] if word else []), *after]))
    return Pair(*sides)
