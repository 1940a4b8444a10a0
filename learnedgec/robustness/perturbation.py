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

from collections.abc import Callable, Sequence

import numpy as np

from learnedgec.data.catalog.cases import Case, Pair
from learnedgec.data.text import check_lengths
from learnedgec.edits.parsing import RELEASED, tag_sentences
from learnedgec.errors import InputError
from learnedgec.robustness.sites import ACTIONS, Action, Site, plan_sites
from learnedgec.robustness.words import Lexicon, Words, predict_words
from learnedgec.runtime.runtime import Runtime

__all__ = ["perturb"]

# The places of a sentence are visited this often.
_ROUNDS = 3


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
    lexicon = Lexicon(tags)
    plans = [
        plan_sites(
            source, target, tags[target], actions, 2 * variants, np.random.default_rng([seed, n])
        )
        for n, (source, target) in enumerate(zip(sources, targets, strict=True))
    ]
    fill: Callable[[Site], Words] = lexicon.words
    if language_model is not None:
        sites = [site for plan in plans for site in plan if site.action != "delete"]
        fill = dict(
            zip(sites, predict_words(sites, language_model, lexicon, runtime), strict=True)
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
    fill: Callable[[Site], Words],
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
