"""Differences between a text and its source: sentences that differ, negations, and exchanged facts.

Metrics of meaning miss some negations and most exchanged facts, such as another weekday. In English, both can
be counted by words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise, product

from rapidfuzz.distance import Indel

SENTENCE_ENDS = (".", "!", "?")
_TOKEN = re.compile(r"\w+|[^\w\s]")


def tokens_of(text: str) -> list[str]:
    """Return the words and marks of a text, whether or not spaces separate them.

    Example:
        >>> tokens_of('"Titanic" is well-known.') == tokens_of('" Titanic " is well - known .')
        True
    """
    return _TOKEN.findall(text)


def changed_sentences(source: str, text: str) -> list[tuple[str, str]]:
    """Return the pairs (sentence of the source, sentence of the text) that differ.

    Both texts are divided after the tokens `.`, `!` and `?` that they share. Metrics of meaning have learned
    from single sentences, and encoders cut off long texts.

    Example:
        >>> changed_sentences("He go . It is late .", "He goes . It is late .")
        [('He go .', 'He goes .')]
    """
    before, after = source.split(), text.split()
    shared = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    places = [
        (i + n, j + n)
        for i, j, size in shared
        for n in range(size)
        if before[i + n] in SENTENCE_ENDS
    ]
    # Words after the last shared end that only one text has belong to the sentence before it.
    ends = [(i + 1, j + 1) for i, j in places if i + 1 < len(before) and j + 1 < len(after)]
    parts = [
        (" ".join(before[start:end]), " ".join(after[at:to]))
        for (start, at), (end, to) in pairwise([(0, 0), *ends, (len(before), len(after))])
    ]
    return [(old, new) for old, new in parts if old != new]


# Contractions of "not", which may be misspelt.
_CONTRACTED = re.compile(
    r"\b(ca|wo|sha|do|does|did|is|are|was|were|has|have|had|could|would|should|must|need)"
    r"(?: ?n['’]t| ?nt)\b|\b(can)(?:not| ?n['’]t)\b",
    re.IGNORECASE,
)
_FULL = {"ca": "can", "wo": "will", "sha": "shall"}


def without_contractions(text: str) -> str:
    """Return a text with every contraction of *not*, even a misspelt one, written in full.

    Example:
        >>> without_contractions("I ca n't swim , they dont know and it won't rain .")
        'I can not swim , they do not know and it will not rain .'
    """
    return _CONTRACTED.sub(
        lambda match: f"{_FULL.get((verb := match[1] or match[2]).lower(), verb)} not", text
    )


# Words that negate a verb, and negative words such as "nobody". A clause of standard English has only one.
_NOT = re.compile(r"\b(?:not|nt)\b|['’]t\b")
_NO = re.compile(r"\b(?:no|never|nobody|none|nothing|nowhere|neither|nor)\b")
_BETWEEN_CLAUSES = re.compile(
    r"[,;:.!?()]|\b(?:and|or|but|so|because|if|whether|that|who|which|what|when|where|while|why|how|although"
    r"|though|since|unless|until|as|than)\b"
)
_OR_NOT = re.compile(r"\bwhether or not\b|\bor not?\b(?=\s*(?:[,;:.!?)]|$))")


def changed_negations(source: str, text: str) -> int:
    """Return how many negations a text without contractions lacks or adds.

    *I do not buy nothing* has two negations, or, as in many languages and dialects, one that is expressed
    twice. A correction of such a source may have either number.

    Example:
        >>> changed_negations("I do not buy nothing .", "I do not buy anything .")
        0
    """
    (least, most), (_, count) = _negations(source), _negations(text)
    return max(least - count, count - most, 0)


def _negations(text: str) -> tuple[int, int]:
    """Return the least and the largest number of negations that an English text may have."""
    clauses = _BETWEEN_CLAUSES.split(_OR_NOT.sub("", text.casefold()))
    counts = [(len(_NOT.findall(clause)), len(_NO.findall(clause))) for clause in clauses]
    return sum(max(verbs, others > 0) for verbs, others in counts), sum(map(sum, counts))


# Words of one group, separated by |, have the same meaning; words of two groups of a class do not.
_CLASSES: Sequence[Sequence[str]] = (
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".casefold().split(),
    "January February March April June July August September October November December".casefold().split(),
    ("am", "pm"),
    ("before", "after"),
    ("more", "less"),
    ("with", "without"),
    ("always", "often|usually", "sometimes", "rarely|seldom|hardly"),
    ("all|every|each|everybody|everyone|everything", "some|few|somebody|someone|something"),
    ("husband", "wife"),
    ("mother", "father"),
)
_NEGATING = ("un", "in", "il", "im", "ir", "dis")
_PREFIX = re.compile(rf"^(?:{'|'.join(_NEGATING)})(?=\w{{4}})")
_GROUPS = {
    word: (str(number), group)
    for number, groups in enumerate(_CLASSES)
    for group in groups
    for word in group.split("|")
}


def exchanged_facts(source: str, text: str) -> int:
    """Return how many facts of its source a text exchanges for others of the same kind.

    Facts are numbers in digits, weekdays, months, *before* and *after*, *all* and *some*, and others in
    `_CLASSES`; words such as *illegal* and *careless* in place of *legal* and *careful*, and the reverse; and
    the order of the names that both texts have, which counts as one.

    Example:
        >>> exchanged_facts("Mary met John at 5 pm on Monday .", "John met Mary at 6 pm on Tuesday .")
        3
    """
    old_words, new_words = (Counter(tokens_of(each.casefold())) for each in (source, text))
    gone, come = old_words - new_words, new_words - old_words
    old, new = Counter(_facts(gone)), Counter(_facts(come))
    lost, added = Counter(kind for kind, _ in old - new), Counter(kind for kind, _ in new - old)
    # "indeed" for "in deed" does not change the meaning.
    splits_prefix = any(prefix in gone or prefix in come for prefix in _NEGATING)
    opposites = sum(_are_opposites(*pair) for pair in product(gone, come)) * (not splits_prefix)
    before, after = (list(dict.fromkeys(_capitals(each))) for each in (source, text))
    names = {*_names(source), *_names(text)}.intersection(before, after)
    ordered = [[word for word in words if word in names] for words in (before, after)]
    return (lost & added).total() + opposites + (ordered[0] != ordered[1])


def _are_opposites(word: str, other: str) -> bool:
    """Return whether one word is the other with a prefix or suffix that negates it."""
    return _alike(_affirmed(word), other) != _alike(word, _affirmed(other))


def _affirmed(word: str) -> str:
    """Return a word without the prefix or suffix that negates it."""
    return _PREFIX.sub("", f"{word[:-4]}ful" if word.endswith("less") else word)


def _alike(word: str, other: str) -> bool:
    """Return whether two words differ only in inflection or spelling."""
    return word[:3] == other[:3] and Indel.normalized_similarity(word, other) >= 0.8


def _facts(tokens: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yield kind and value of each fact among tokens."""
    for token in tokens.elements():
        if token in _GROUPS:
            yield _GROUPS[token]
        elif token.isdecimal():
            yield "number", token.lstrip("0")


def _capitals(text: str) -> list[str]:
    """Return the words with a capital, without "I"."""
    return [word for word in tokens_of(text) if word[0].isupper() and len(word) > 1]


def _names(text: str) -> Iterator[str]:
    """Yield the capitalised words that begin no sentence."""
    for before, word in pairwise(tokens_of(text)):
        if word.istitle() and len(word) > 1 and before.isalnum():
            yield word
