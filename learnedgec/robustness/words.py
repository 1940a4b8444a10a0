"""Words that can be put into a sentence, from a corpus or from a masked language model."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np

from learnedgec.errors import ModelError
from learnedgec.robustness.sites import SUBSTITUTED, Site, is_free, modifies
from learnedgec.runtime.runtime import Runtime

__all__ = ["Lexicon", "Words", "predict_words"]

# The number of draws until a word fits.
_TRIES = 20
_CANDIDATES = 32
# The scores of a whole vocabulary at every token need much memory.
_BATCH_TOKENS = 1024


class Words:
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


class Lexicon:
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
        self._by_tag = {tag: Words(counts) for tag, counts in by_tag.items()}
        self._between = {around: Words(counts) for around, counts in between.items()}

    def words(self, site: Site) -> Words:
        """Return the words that the corpus has for a place."""
        tag = site.tags[site.position]
        if site.action == "insert":
            return self._between.get((site.tags[site.position - 1], tag), Words({}))
        return self._by_tag.get(tag, Words({}))

    def allows(self, word: str, site: Site) -> bool:
        """Return whether a word may have a tag that fits: words that the corpus lacks may have any."""
        wanted = {"JJ", "RB"} if site.action == "insert" else {site.tags[site.position]}
        return word.lower() not in self.tags or bool(self.tags[word.lower()] & wanted)


def predict_words(
    sites: Sequence[Site], name: str, lexicon: Lexicon, runtime: Runtime
) -> list[Words]:
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
    whole: dict[int, str | None] = {}
    words = []
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
        words.append(Words(weights))
    return words
