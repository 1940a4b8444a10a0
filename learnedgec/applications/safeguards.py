"""What a learned metric overrates: texts that are no corrections of their source, and changed meanings.

Metrics of meaning miss some negations and most exchanged facts, such as another weekday. In English, both can
be counted by words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Indel

from learnedgec.metrics.gate import kept_shares
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import AnyMetric, bind_one
from learnedgec.types import Floats, Texts

SENTENCE_ENDS = (".", "!", "?")
_TOKEN = re.compile(r"\w+|[^\w\s]")


def tokens_of(text: str) -> list[str]:
    """Return the words and marks of a text, whether or not spaces separate them.

    Example:
        >>> tokens_of('"Titanic" is well-known.') == tokens_of('" Titanic " is well - known .')
        True
    """
    return _TOKEN.findall(text)


# -- texts that are no corrections -----------------------------------------------------------------

# At most .2 % of strong systems' outputs on BEA-19 dev (`pillars:dev`) keep less or have a longer edit, and
# .1 to 5.8 % of human rewritings (the references of `jfleg:dev` and `gmeg`). At most .2 % of systems' outputs
# on SEEDA, and .03 % of these rewritings, add or drop a sentence of two words.
_MIN_KEPT_SHARE = 0.4
_MIN_LIMIT, _MAX_LIMIT = 2, 4


def is_correction(sources: Texts, texts: Texts) -> npt.NDArray[np.bool_]:
    """Return whether each text may be a correction of its source, whatever a metric scores it.

    A text is no correction if it is empty, if it shares less than .4 of its trigrams of characters with its
    source, or the source with it (`kept_shares`), if one edit changes the number of tokens by more than a
    quarter of the source's (at least 2 and at most 4 tokens), or if one adds or drops a sentence of two words
    or more. So truncated, padded, repeated and unrelated texts are no corrections.

    Args:
        sources: N sentences.
        texts: N sentences.

    Example:
        >>> source = "He go to school because he like to learn ."
        >>> texts = ["He goes to school because he likes to learn .", "He goes to school .", source * 2, ""]
        >>> is_correction([source] * 4, texts).tolist()
        [True, False, False, False]
    """
    return np.array(
        [
            bool(text.split()) and kept >= _MIN_KEPT_SHARE and _has_local_edits(source, text)
            for source, text, kept in zip(sources, texts, kept_shares(sources, texts), strict=True)
        ],
        dtype=bool,
    )


def _has_local_edits(source: str, text: str) -> bool:
    """Return whether no edit changes the length more than an honest one does, or adds or drops a sentence."""
    before, after = (tokens_of(without_contractions(each.casefold())) for each in (source, text))
    limit = np.clip(len(before) // 4, _MIN_LIMIT, _MAX_LIMIT)
    for _, *places in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        removed, inserted = before[places[0] : places[1]], after[places[2] : places[3]]
        ends = _count_sentence_ends(inserted) - _count_sentence_ends(removed)
        words = _count_words(inserted) - _count_words(removed)
        if abs(len(inserted) - len(removed)) > limit or (ends * words > 0 and abs(words) > 1):
            return False
    return True


def _count_sentence_ends(tokens: Sequence[str]) -> int:
    return sum(token in SENTENCE_ENDS for token in tokens)


def _count_words(tokens: Sequence[str]) -> int:
    return sum(map(str.isalnum, tokens))


# -- changed meanings ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MeaningPenalty:
    """The penalty of a reward for a changed meaning.

    It is the sum of weight · max(0, m(source) − m(text) − slack) + fact · n over the sentences that differ
    (`changed_sentences`). m is the score of a metric that reads source and text after contractions such as
    *don't* are written out; honest corrections lose a little of it. n counts the English negations, such as
    *not* and *nobody*, that the text lacks or adds (`changed_negations`), and the facts, such as numbers and
    weekdays, that it exchanges (`exchanged_facts`), because metrics miss some of these. With the defaults
    (docs/explanation/hacking.md), a changed meaning mostly costs more than a small correction earns in the
    default reward.

    Attributes:
        metric: the metric m, or its name.
        weight: reward per unit of m.
        slack: the part of m that a text may lose without a charge.
        fact: reward per negation or fact that changes.

    Example:
        >>> from learnedgec import reward
        >>> kind = reward("constant", meaning=MeaningPenalty("length", weight=0.5, slack=1))
        >>> kind(completions=["He goes .", "He .", "He does not go ."], source=["He go home ."] * 3)
        [0.0, -0.5, -12.0]
    """

    metric: AnyMetric = "head[open-mpnet.meaning]"
    weight: float = 3.0
    slack: float = 2.0
    fact: float = 12.0

    def charges(self, sources: Texts, texts: Texts, runtime: Runtime) -> Floats:
        """Return the penalty of each text, the sum over its changed sentences, float64 (N,).

        Args:
            sources: N sentences.
            texts: N corrections.
            runtime: how to run.
        """
        penalties, metric = np.zeros(len(texts)), bind_one(self.metric, runtime)
        changed = [changed_sentences(*pair) for pair in zip(sources, texts, strict=True)]
        if pairs := [pair for sentences in changed for pair in sentences]:
            before, after = (
                list(map(without_contractions, sentences)) for sentences in zip(*pairs, strict=True)
            )
            systems = metric.statistics(before, {"text": after, "source": before})
            of_source, of_text = map(
                metric.metric.sentence_scores, (systems["source"], systems["text"])
            )
            charges = self.weight * np.maximum(0, of_source - of_text - self.slack)
            for count_changes in (changed_negations, exchanged_facts):
                charges += self.fact * np.array(list(map(count_changes, before, after)))
            rows = np.repeat(np.arange(len(texts)), list(map(len, changed)))
            np.add.at(penalties, rows, charges)
        return penalties


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
