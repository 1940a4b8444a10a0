"""Make variants of corrected sentences by small changes far from what was corrected.

A word of the context is substituted, inserted or deleted, in source and target alike; `sites` says where that
is allowed. New words come from

    the corpus itself     words of the same tag, or between the same two tags, drawn by frequency
    a masked LM           words that a masked language model fills in, drawn by probability

The variants are not checked by humans: some are odd, a few ungrammatical.

Source: Zhang et al., "RobustGEC: Robust Grammatical Error Correction Against Subtle Context Perturbation"
(EMNLP 2023), appendix B. Deviations: which words may be changed, and words from the corpus.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate

import numpy as np

from learnedgec.data.catalog.cases import Case, Pair
from learnedgec.data.text import check_lengths
from learnedgec.edits.parsing import RELEASED, tag_sentences
from learnedgec.errors import InputError, ModelError
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

# The places of a sentence are visited this often.
_ROUNDS = 3
# The number of draws until a word fits.
_TRIES = 20
_CANDIDATES = 32
# The scores of a whole vocabulary at every token need much memory.
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
        variants: the maximum number of variants of a case. It has fewer, or none, where nothing can be
            changed: a short sentence, or one full of errors.
        language_model: a masked language model (hub id, directory or `pkg:module/folder`) that proposes the
            new words; `None` draws them from the targets.
        actions: the allowed actions, each used equally often where it is possible.
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
        plan_sites(
            source, target, tags[target], actions, 2 * variants, np.random.default_rng([seed, n])
        )
        for n, (source, target) in enumerate(zip(sources, targets, strict=True))
    ]
    fill: Callable[[Site], _Words] = lexicon.words
    if language_model is not None:
        sites = [site for plan in plans for site in plan if site.action != "delete"]
        fill = dict(
            zip(sites, _predict_words(sites, language_model, lexicon, runtime), strict=True)
        ).__getitem__
    return [
        _case(source, target, plan, variants, fill, np.random.default_rng([seed, n, 1]))
        for n, (source, target, plan) in enumerate(zip(sources, targets, plans, strict=True))
    ]


def _case(
    source: str,
    target: str,
    plan: Sequence[Site],
    variants: int,
    fill: Callable[[Site], _Words],
    random: np.random.Generator,
) -> Case:
    """Carry out a plan: visit its places, and again with other words, until there are enough variants."""
    original = Pair(source, target)
    pairs = {Pair(" ".join(source.split()), " ".join(target.split())): None}
    for site in [*plan] * _ROUNDS:
        if len(pairs) > variants:
            break
        word = "" if site.action == "delete" else fill(site).draw(site, random)
        if word is not None:
            pairs[_changed(source.split(), target.split(), site, word)] = None
    return Case(original, tuple(pairs)[1:])


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
        self.tags: defaultdict[str, set[str]] = defaultdict(set)
        for text, tags in tagged.items():
            tokens = text.split()
            for place, (word, tag) in enumerate(zip(tokens, tags, strict=True)):
                self.tags[word.lower()].add(tag)
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

    def allows(self, word: str, site: Site) -> bool:
        """Return whether a word may have a tag that fits: words that the corpus lacks may have any."""
        wanted = {"JJ", "RB"} if site.action == "insert" else {site.tags[site.position]}
        return word.lower() not in self.tags or bool(self.tags[word.lower()] & wanted)


def _predict_words(
    sites: Sequence[Site], name: str, lexicon: _Lexicon, runtime: Runtime
) -> list[_Words]:
    """Return what a masked language model fills into each place of the target.

    Args:
        sites: the places.
        name: name of the masked language model.
        lexicon: words of the corpus, which restrict the predictions.
        runtime: device, precision, batches and progress bar.

    Raises:
        ModelError: the model cannot be loaded, or has no mask token.
    """
    import torch

    from learnedgec.evaluators.batching import Batch, model_inputs
    from learnedgec.evaluators.inference import run
    from learnedgec.evaluators.loading import load_model, load_tokenizer

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

    @cache
    def word_of(number: int) -> str | None:
        text = tokenizer.decode([number]).strip()
        # A piece of a word is not read back as itself.
        return text if tokenizer.encode(f" {text}", add_special_tokens=False) == [number] else None

    words = []
    for site, row in zip(sites, rows, strict=True):
        weights, numbers = row.reshape(2, -1).tolist()
        proposed = {word_of(int(n)): weight for n, weight in zip(numbers, weights, strict=True)}
        fitting = {
            word: weight
            for word, weight in proposed.items()
            if word and weight > 0 and site.fits(word) and lexicon.allows(word, site)
        }
        words.append(_Words(fitting))
    return words
