"""Synthetic variants as in RobustGEC's paper: random changes outside errors, and a masked language model.

A random word outside errors is replaced by the word that a masked language model finds most probable in the
correction, or deleted, or a random word of the model's vocabulary is inserted at a random place outside
errors; each with the same probability. Many of these variants are ungrammatical.

Source: Zhang et al., "RobustGEC: Robust Grammatical Error Correction Against Subtle Context Perturbation"
(EMNLP 2023), appendix B, which does not say how a word is drawn from the model's distribution.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from learnedgec.data.m2 import Edit
from learnedgec.edits.max_match import reference_edits
from learnedgec.evaluators.inference import Batch, model_inputs, run
from learnedgec.evaluators.loading import load_model, load_tokenizer
from learnedgec.robustness.sites import Action, Site, take_turns
from learnedgec.runtime.runtime import Runtime


def random_changes(
    sources: Sequence[str],
    targets: Sequence[str],
    actions: Sequence[Action],
    count: int,
    seed: int,
    encoder: str,
    runtime: Runtime,
) -> list[list[tuple[Site, str]]]:
    """Return up to `count` places to change in each sentence, with the new word, empty for a deletion.

    Args:
        sources: N sentences, tokens separated by spaces.
        targets: their corrections.
        actions: kinds of change.
        count: number of changes of each sentence.
        seed: of the random choices, with the sentence's number.
        encoder: name of a masked language model.
        runtime: how to run it.

    Raises:
        ModelError: the model is not available, or no masked language model.
    """
    tokenizer = load_tokenizer(encoder)
    words = _whole_words(tokenizer)
    vocabulary = list(words.values())
    generators = [np.random.default_rng([seed, number, 2]) for number in range(len(sources))]
    plans = [
        take_turns(_sites_outside_errors(source, target, actions), count, random)
        for source, target, random in zip(sources, targets, generators, strict=True)
    ]
    places = [site for plan in plans for site in plan if site.action == "substitute"]
    probable = iter(_probable_words(encoder, places, words, runtime))
    changes: list[list[tuple[Site, str]]] = []
    for plan, random in zip(plans, generators, strict=True):
        changes.append([])
        for site in plan:
            word = ""
            if site.action == "insert":
                word = vocabulary[random.integers(len(vocabulary))]
            elif site.action == "substitute":
                word = next(probable)
            changes[-1].append((site, word))
    return changes


def _sites_outside_errors(
    source: str, target: str, actions: Sequence[Action]
) -> dict[Action, list[Site]]:
    """Return the tokens outside errors, and for insertions those before which there is no error."""
    tokens = tuple(target.split())
    words: list[tuple[int, int]] = []
    gaps: list[tuple[int, int]] = []
    start = shift = 0
    size = len(source.split())
    for edit in [*reference_edits(source, target), Edit(size, size, "")]:
        region = [(place, place + shift) for place in range(start, edit.start)]
        words += region
        gaps += region if start == 0 else region[1:]
        start = edit.end
        shift += len(edit.correction.split()) - (edit.end - edit.start)
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


def _probable_words(
    encoder: str, sites: Sequence[Site], words: dict[int, str], runtime: Runtime
) -> Iterator[str]:
    """Yield the most probable word at each place of the correction that is not the word there."""
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
    for site, pair in zip(sites, run(best_two, tokenizer, texts, runtime, width=2), strict=True):
        here = site.tokens[site.position].lower()
        first, second = (words[int(number)] for number in pair)
        yield second if first.lower() == here else first
