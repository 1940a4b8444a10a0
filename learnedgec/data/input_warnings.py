"""Notices about unusual texts, whose effect on scores would otherwise be blamed on the systems."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from learnedgec.data.references import References

# The most lines that a notice names.
_SHOWN = 5

# Shares of words in common with a sentence (Dice's coefficient): a correction has hardly any, few, or enough.
_HARDLY, _FEW, _MANY = 0.3, 0.5, 0.6

# What most sentences have in common.
_EVERYWHERE = frozenset(".,?!")

# Lines that may look like a neighbour's by chance, and the share that may be rewritten altogether.
_BY_CHANCE, _REWRITTEN = 2, 0.3

# Characters per token from which a text is one without spaces.
_UNSPACED = 12

_AT_WORD, _APART = re.compile(r"\w[.?!]\s*$"), re.compile(r"\s[.?!]\s*$")


def blank_notices(sources: Sequence[str], systems: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a notice for each system that has blank hypotheses for sources that are not blank.

    Example:
        >>> blank_notices(["He go .", ""], {"ours": ["", ""]})
        ['ours: 1 of 2 hypotheses is blank where the source is not (line 1).']
    """
    notices = []
    for name, hypotheses in systems.items():
        pairs = enumerate(zip(sources, hypotheses, strict=True), 1)
        blank = [number for number, (source, text) in pairs if source.strip() and not text.strip()]
        if blank:
            verb, noun = ("is", "line") if len(blank) == 1 else ("are", "lines")
            shown = ", ".join(map(str, blank[:_SHOWN])) + (", …" if len(blank) > _SHOWN else "")
            notices.append(
                f"{name}: {len(blank):,} of {len(sources):,} hypotheses {verb} blank where the source is "
                f"not ({noun} {shown})."
            )
    return notices


def alignment_notices(sources: Sequence[str], systems: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a notice for each system whose lines are not aligned with the sources.

    A hypothesis that shares few words with its source (Dice's coefficient below .5) is compared with the
    sources one and two lines before and after it. If three or more correct one of those (.6 or more), the
    output has lost or gained a line. If more than 30 % correct none of them and share hardly any words with
    their source (below .3), they may belong to another file or be in another order. A sentence that is
    rewritten shares few words with any source.

    Example:
        >>> sources = ["a b c d", "e f g h", "i j k l", "m n o p"]
        >>> notice, = alignment_notices(sources, {"ours": ["e f g h", "i j k l", "m n o p", "q"]})
        >>> notice[:77]
        'ours: 3 of 4 hypotheses correct the source of a line nearby, not their own (f'
    """
    notices = []
    words = [_words(source) for source in sources]
    for name, hypotheses in systems.items():
        nearby, apart = [], 0
        for place, (source, text) in enumerate(zip(sources, hypotheses, strict=True)):
            if text == source or len(words[place]) < 3 or not text.strip():
                continue
            hypothesis_words = _words(text)
            shared = _shared(hypothesis_words, words[place])
            if shared >= _FEW:
                continue
            around = (place + step for step in (-1, 1, -2, 2) if 0 <= place + step < len(sources))
            if any(
                len(words[near]) > 2 and _shared(hypothesis_words, words[near]) >= _MANY
                for near in around
            ):
                nearby.append(place + 1)
            else:
                apart += shared < _HARDLY
        if apart > max(_BY_CHANCE, len(nearby), _REWRITTEN * len(sources)):
            share = f"{apart / len(sources):.0%}".replace("%", " %")
            notices.append(
                f"{name}: {share} of the hypotheses share almost no word with their source: they may belong "
                "to other sources, be in another order, or not be corrections."
            )
        elif len(nearby) > _BY_CHANCE:
            notices.append(
                f"{name}: {len(nearby):,} of {len(sources):,} hypotheses correct the source of a line "
                f"nearby, not their own (first in line {nearby[0]:,}): a line may be lost or added before it."
            )
    return notices


def _words(text: str) -> frozenset[str]:
    """Return the distinct words of a sentence, or its pairs of characters where no spaces part its words."""
    words = text.lower().split()
    if len(text) > _UNSPACED * len(words):
        return frozenset(first + second for first, second in pairwise(text))
    return frozenset(words) - _EVERYWHERE


def _shared(first: frozenset[str], second: frozenset[str]) -> float:
    """Return Dice's coefficient of two sets."""
    return 2 * len(first & second) / max(1, len(first) + len(second))


def token_notices(
    sources: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    references: References | None = None,
) -> list[str]:
    """Return a notice for each text that is tokenised unlike the others, or one if no text is tokenised.

    The end of most sentences shows it: `school .` in a tokenised text, `school.` in a raw text. All texts are
    compared with the sources or, if no source ends in a full stop, with the first text that does.

    Args:
        sources: N sentences.
        systems: system -> N hypotheses.
        references: references of the sentences, if there are any.

    Example:
        >>> token_notices(["He go home ."], {"ours": ["He goes home ."]})
        []
        >>> notice, = token_notices(["He go home ."], {"llm": ["He goes home."]})
        >>> notice[:71]
        'llm: 100 % of sentences end like "school.", in the sources 0 %; metrics'
    """
    texts: dict[str, Iterable[str]] = {"the sources": sources, **systems}
    if references is not None:
        texts["the references"] = [text for row in references.texts() for text in row]
    all_shares = {name: raw_share(sentences) for name, sentences in texts.items()}
    shares = {name: share for name, share in all_shares.items() if share is not None}
    if not shares:
        return []
    if min(shares.values()) > 0.5:
        return [
            'no text is tokenised (sentences end like "school."), so metrics that compare tokens treat a '
            "word and its full stop as one token: tokenise all texts, if English with --tokenise "
            "spacy (in Python tokenise='spacy')."
        ]
    first, *others = shares
    return [
        f'{name}: {shares[name]:.0%} of sentences end like "school.", in {first} {shares[first]:.0%}; '
        "metrics compare tokens, and count every such full stop as an edit: tokenise all texts alike with "
        "--tokenise spacy (in Python tokenise='spacy').".replace("%", " %")
        for name in others
        if (shares[name] > 0.5) != (shares[first] > 0.5)
    ]


def raw_share(texts: Iterable[str]) -> float | None:
    """Return how many of the sentences with a full stop have it at the last word; `None` if none has one."""
    at_word = apart = 0
    for text in texts:
        at_word += bool(_AT_WORD.search(text))
        apart += bool(_APART.search(text))
    return at_word / (at_word + apart) if at_word + apart else None
