"""Ranked pairs from corrections: by the impact of edits (IMPARA), with other capitals or another meaning."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import yaml
from jsonargparse.typing import PositiveInt

from learnedgec.data.catalog.cases import TreebankWord, load_sentences, load_words
from learnedgec.data.catalog.parallel import Correction, load_corrections, load_parallel
from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.edits.annotator import default_annotator, extract_edits
from learnedgec.errors import ConfigError
from learnedgec.evaluators.inference import cosines, sentence_vectors
from learnedgec.evaluators.loading import checkpoint_digest
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.store import RowStore
from learnedgec.training.pairs.base import (
    PairSource,
    RankedPair,
    draw_some,
    stored_scores,
    warn_of_few,
)
from learnedgec.training.pairs.mistakes import Words, others

Procedure = Literal["maeda2022", "goto2022"]
Subset: TypeAlias = frozenset[int]
# The index of a correction, and two subsets of its edits that are to be ranked.
Candidate: TypeAlias = tuple[int, Subset, Subset]
# Number of candidates that are ranked together. An interruption loses the work on one block.
_BLOCK = 4096


def sample_subsets(
    count: int, procedure: Procedure, generator: random.Random
) -> list[tuple[Subset, Subset]]:
    """Return pairs of subsets of a correction's edits, numbered from 0.

    The first subset's size is uniform; the second flips each edit's membership with probability 1/n.
    Pairs of equal subsets are left out.

    Args:
        count: n, the number of edits of the correction.
        procedure: `maeda2022` follows the authors' code: sizes 0 to n and min(10, n(n−1)/2) tries, so a
            correction with one edit gives no pair. `goto2022` follows the common re-implementation: sizes 1
            to n, 30 tries, and each pair only once.
        generator: generator of random numbers.

    Example:
        >>> sample_subsets(1, "goto2022", random.Random(0))
        [(frozenset({0}), frozenset())]
    """
    smallest, tries = (
        (0, min(10, count * (count - 1) // 2)) if procedure == "maeda2022" else (1, 30)
    )
    pairs: list[tuple[Subset, Subset]] = []
    seen: set[frozenset[Subset]] = set()
    for _ in range(tries if count else 0):
        size = generator.randint(smallest, count)
        first = frozenset(generator.sample(range(count), size))
        second = first ^ {edit for edit in range(count) if generator.random() < 1 / count}
        if first == second or (procedure == "goto2022" and {first, second} in seen):
            continue
        seen.add(frozenset((first, second)))
        pairs.append((first, second))
    return pairs


def impacts(
    texts: Sequence[tuple[str, str]], encoder: str, runtime: Runtime = Runtime()
) -> list[float]:
    """Return the impact of single edits: the rotation of the sentence's vector without the edit.

    The impact is `1 − min(1, cos(v(T), v(T without e)))`, where T is the source with all edits of the
    correction applied, and v the mean of the encoder's last states over all tokens, [CLS] and [SEP] included.
    Each distinct text is encoded once.

    Source: Maeda, Kaneko and Okazaki, "IMPARA: Impact-Based Metric for GEC Using Parallel Data"
    (COLING 2022), equation 1.

    Args:
        texts: T and T without the edit, for each edit (`texts_of_edit`).
        encoder: name of a pretrained encoder; see `learnedgec.evaluators.loading`.
        runtime: device, precision, batches, progress.
    """
    if not texts:
        return []
    flat = [text for pair in texts for text in pair]
    vectors = sentence_vectors(encoder, flat, runtime, description="impacts")
    angles = 1 - np.minimum(1.0, cosines(vectors[::2], vectors[1::2]))
    # Equal texts have equal vectors, whose cosine is 1 apart from rounding.
    same = np.array([first == second for first, second in texts])
    return [float(value) for value in np.where(same, 0.0, angles)]


def texts_of_edit(source: str, edits: tuple[Edit, ...], number: int) -> tuple[str, str]:
    """Return the source with all edits applied, and with all but one.

    Args:
        source: a sentence.
        edits: its edits in order.
        number: index of the edit to leave out.
    """
    return apply_edits(source, edits), apply_edits(source, [*edits[:number], *edits[number + 1 :]])


@dataclass
class ImpactPairs(PairSource):
    """Pairs of partly corrected sentences; the sentence whose edits have more impact is better.

    The impact of a side is the sum over its edits. Only edits that one side lacks are measured, because
    shared edits add the same to both sums. Pairs with equal texts or equal impacts are left out. A pair of
    texts that is drawn again is kept by `maeda2022`, as in the authors' code, and left out by `goto2022`.

    Source: Maeda et al. (2022), as for `impacts`.

    Args:
        corrections: datasets or files with corrections; see `load_corrections`.
        procedure: procedure for drawing subsets; see `sample_subsets`.
        number: number of pairs, drawn from all candidates; by default, all. The paper uses 4,096.
        encoder: pretrained encoder whose states measure the impact; it is not fine-tuned.
        edits: `errant` to extract edits with the annotator, `m2` to take the dataset's gold edits.
        annotator: spaCy pipeline for `errant`; by default, the pipeline of the metric `errant`.
        seed: seed of all draws.
    """

    named: ClassVar = ("corrections",)
    corrections: list[str]
    procedure: Procedure = "goto2022"
    number: PositiveInt | None = None
    encoder: str = "bert-base-cased"
    edits: Literal["errant", "m2"] = "errant"
    annotator: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.edits == "errant":
            # Resolve the default here, so that the manifest names the annotator.
            self.annotator = self.annotator or default_annotator()

    def digests(self) -> dict[str, str]:
        """Return the digests of the datasets and the encoder, and the version of the annotator, if any."""
        return super().digests() | {self.encoder: checkpoint_digest(self.encoder)}

    def material(self) -> Iterator[str]:
        """Yield the sources and targets of all corrections."""
        for name in self.corrections:
            for row in load_corrections(name):
                yield from (row.source, row.target)

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs; impacts that an interrupted run measured are read from the folder."""
        named = [(name, row) for name in self.corrections for row in load_corrections(name)]
        edits = self._edits([row for _, row in named], runtime)
        candidates = self._candidates(edits)
        store = RowStore(folder, ["impact"], width=1)
        pairs: list[RankedPair] = []
        texts_of_pairs: set[tuple[str, str]] = set()
        for start in range(0, len(candidates), _BLOCK):
            if self.number is not None and len(pairs) >= self.number:
                break
            block = candidates[start : start + _BLOCK]
            # Maps (correction, edit) to its texts with and without the edit, for edits that one side lacks.
            texts = {
                (number, edit): texts_of_edit(named[number][1].source, edits[number], edit)
                for number, first, second in block
                for edit in sorted(first ^ second)
            }
            impact = stored_scores(
                store, texts.values(), lambda rows: impacts(rows, self.encoder, runtime)
            )
            for number, first, second in block:
                name, row = named[number]
                better, worse = (
                    apply_edits(row.source, [edits[number][edit] for edit in sorted(subset)])
                    for subset in (first, second)
                )
                more, less = (
                    sum(impact[texts[number, edit]] for edit in sorted(subset))
                    for subset in (first - second, second - first)
                )
                if more < less:
                    better, worse = worse, better
                is_repeated = (better, worse) in texts_of_pairs and self.procedure == "goto2022"
                if better == worse or more == less or is_repeated:
                    continue
                texts_of_pairs.add((better, worse))
                margin = abs(more - less)
                pairs.append(
                    RankedPair(row.source, better, worse, margin, row.group, name, row.target)
                )
        warn_of_few(self, len(pairs), self.number)
        return pairs[: self.number]

    def _edits(self, rows: Sequence[Correction], runtime: Runtime) -> list[tuple[Edit, ...]]:
        """Return each correction's edits."""
        if self.edits == "errant":
            assert self.annotator is not None
            texts = [(row.source, row.target) for row in rows]
            return extract_edits(texts, self.annotator, types=False, runtime=runtime)
        if any(row.edits is None for row in rows):
            raise ConfigError(
                f"data.pairs: not all of {', '.join(self.corrections)} have gold edits; use edits: errant."
            )
        return [row.edits or () for row in rows]

    def _candidates(self, edits: Sequence[tuple[Edit, ...]]) -> list[Candidate]:
        """Return the candidates of all corrections in random order."""
        candidates = [
            (number, first, second)
            for number, row in enumerate(edits)
            for first, second in sample_subsets(
                len(row), self.procedure, random.Random(f"{self.seed} {number}")
            )
        ]
        random.Random(self.seed).shuffle(candidates)
        return candidates


@dataclass
class CapitalPairs(PairSource):
    """Pairs of a correct text and the same text with changed capitals in one to three words.

    The better texts are references, and sentences that are assumed to be correct. In the worse text, the
    first letters of one to three random words are small instead of capital, or capital instead of small. The
    pairs are for the objective `capitals`, which learns from the better text alone; the worse text shows on
    the dev part what a head has learned.

    Args:
        corrections: datasets with references, such as `jfleg:dev`.
        number: number of pairs, drawn at random; by default, one for each distinct text.
        sentences: correct sentences (`load_sentences`), such as `ud-ewt:train`.
        seed: seed of the draw.
    """

    named: ClassVar = ("corrections", "sentences")
    corrections: list[str]
    number: PositiveInt | None = None
    sentences: list[str] | None = None
    seed: int = 0

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs in the order of the data, unless they are drawn."""
        generator = random.Random(self.seed)
        texts: dict[str, tuple[str, str]] = {}
        for name in self.corrections:
            data = load_parallel(name)
            for source, row in zip(data.sources, data.references, strict=True):
                for reference in row:
                    texts.setdefault(reference.text, (source, name))
        for name in self.sentences or ():
            for sentence in load_sentences(name):
                texts.setdefault(sentence, (sentence, name))
        pairs = [
            RankedPair(source, text, worse, group=source, origin=name)
            for text, (source, name) in texts.items()
            if (worse := recase(text, generator)) != text
        ]
        return draw_some(pairs, self.number, generator)


def recase(text: str, generator: random.Random) -> str:
    """Return a text with changed case of the first letters of one to three words, if it has such words.

    Example:
        >>> recase("Ann .", random.Random(0))
        'ann .'
    """
    words = text.split(" ")
    places = [place for place, word in enumerate(words) if word[:1].swapcase() != word[:1]]
    for place in generator.sample(places, min(len(places), generator.randint(1, 3))):
        words[place] = words[place][0].swapcase() + words[place][1:]
    return " ".join(words)


# The share of each kind.
CHANGES = dict.fromkeys(("negation", "opposite", "number", "name", "word", "dropped"), 1.0)

_LISTS = yaml.safe_load(Path(__file__).with_name("meaning.yaml").read_text("utf-8"))
_OPPOSITES, _NUMBERS = (
    others(group.split() for group in _LISTS[name].split("|")) for name in ("opposites", "numbers")
)
_NEGATED, _NEGATIONS = (frozenset(_LISTS[name].split()) for name in ("negated", "negations"))
_CONTENT = frozenset(("NOUN", "VERB", "ADJ", "ADV"))
# The largest number of words to leave out, and the largest number of attempts to make a pair.
_MAX_DROPPED, _MAX_TRIES = 4, 50


@dataclass
class MeaningPairs(PairSource):
    """Pairs of a text that means what its source means and one that does not.

    The texts come from other pairs: sources, better sides, and correct texts. They differ in the number of
    corrections, and either side may be the more correct one, so corrections do not show which side is better.
    The worse side is one of these texts with one or two changes of meaning, in words that it shares with its
    source. The margin is the number of changes. All kinds of changes are equally frequent where a text
    allows them.

    Not every change alters the meaning: a sentence may mean the same without the word that is left out.

    Args:
        pairs: the pair sources, such as `CorruptedPairs`.
        number: number of pairs.
        words: treebanks (`ud-ewt:train`), whose words are exchanged for each other.
        seed: seed of all draws.
    """

    named: ClassVar = ("words",)
    pairs: list[PairSource]
    number: PositiveInt
    words: list[str]
    seed: int = 0

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs, each from a draw of its own."""
        rows = [pair for source in self.pairs for pair in source.load(folder.parent, runtime)[0]]
        texts = [" ".join(filter(None, (row.source, row.better, row.correct))) for row in rows]
        words = (word for name in self.words for sentence in load_words(name) for word in sentence)
        changes = Changes(words, (text.split() for text in texts), CHANGES)
        pairs: dict[RankedPair, None] = {}
        for number in range(self.number):
            generator = random.Random(f"{self.seed} {number}")
            for _ in range(_MAX_TRIES):
                pair = _pair(generator.choice(rows), changes, generator)
                if pair and pair not in pairs:
                    pairs[pair] = None
                    break
        warn_of_few(self, len(pairs), self.number)
        return list(pairs)


def _pair(row: RankedPair, changes: Changes, generator: random.Random) -> RankedPair | None:
    """Return a pair of two texts of a row, one with changes, or `None` if no change is possible."""
    texts = list(dict.fromkeys(filter(None, (row.source, row.better, row.correct))))
    better, text = generator.choice(texts), generator.choice(texts)
    edits = changes.draw(row.source.split(), text.split(), generator)
    if not edits:
        return None
    worse = apply_edits(text, edits)
    return RankedPair(row.source, better, worse, float(len(edits)), row.group, row.origin)


class Changes:
    """Changes of a sentence's meaning.

    Args:
        words: words of a treebank.
        texts: texts whose names are exchanged for each other.
        kinds: kind -> share.
    """

    def __init__(
        self,
        words: Iterable[TreebankWord],
        texts: Iterable[Sequence[str]],
        kinds: Mapping[str, float],
    ) -> None:
        self.kinds = kinds
        tags: dict[str, Counter[str]] = defaultdict(Counter)
        for word in words:
            tags[word.form.lower()][word.tag] += 1
        self.tags = {
            form: counts.most_common(1)[0][0]
            for form, counts in tags.items()
            if form.isalpha() and counts.total() > 1
        }
        self.forms: dict[tuple[str, str], list[str]] = defaultdict(list)
        for form, tag in self.tags.items():
            if tag in _CONTENT:
                self.forms[tag, _ending(form)].append(form)
        self.names = list(dict.fromkeys(words[i] for words in texts for i in self._named(words)))

    def _named(self, tokens: Sequence[str]) -> Iterator[int]:
        """Yield the places of names: capitalised words that are no common words in the treebank."""
        for place, token in enumerate(tokens):
            known = self.tags.get(token.lower(), "PROPN") == "PROPN"
            if place and known and token.istitle() and token.isalpha() and len(token) > 2:
                yield place

    def draw(
        self, source: Sequence[str], text: Sequence[str], generator: random.Random
    ) -> list[Edit]:
        """Return one change of a text, or two in one of five cases, in order, if any is possible.

        Only words that the text shares with its source are changed.
        """
        shared = shared_places(source, text)
        edits: list[Edit] = []
        kinds, weights = zip(*self.kinds.items(), strict=True)
        for _ in range(1 + (generator.random() < 0.2)):
            kind = generator.choices(kinds, weights)[0]
            possible = [
                edit
                for edit in self._of_kind(kind, tuple(text), generator)
                if shared.issuperset(range(edit.start, max(edit.end, edit.start + 1)))
                and all(edit.start > other.end or other.start > edit.end for other in edits)
            ]
            if possible:
                edits.append(generator.choice(possible))
        return sorted(edits, key=lambda edit: edit.start)

    def _of_kind(self, kind: str, tokens: Words, generator: random.Random) -> Iterator[Edit]:
        """Yield the changes of a kind that a text allows."""
        if kind == "name":
            places = list(self._named(tokens))
            for place in places:
                own = [tokens[other] for other in places]
                new = generator.choice(own if generator.random() < 0.3 else self.names or own)
                if new.lower() != tokens[place].lower():
                    yield Edit(place, place + 1, new, kind)
            return
        for place, token in enumerate(tokens):
            word = token.lower()
            if kind == "negation":
                if word in _NEGATIONS:
                    yield Edit(place, place + 1, "", kind)
                elif word in _NEGATED and not _NEGATIONS.intersection(
                    tokens[place + 1 : place + 3]
                ):
                    yield Edit(place + 1, place + 1, "not", kind)
            elif kind == "dropped":
                end = place + generator.randint(1, _MAX_DROPPED)
                inner = tokens[place:end]
                named = any(self._content(other) for other in inner)
                if named and end < len(tokens) and place and all(map(str.isalnum, inner)):
                    yield Edit(place, end, "", kind)
            elif new := self._replacement(kind, token, generator):
                yield Edit(place, place + 1, new.capitalize() if token.istitle() else new, kind)

    def _content(self, token: str) -> bool:
        """Return whether a word is a content word, a name or a number."""
        return token.isdigit() or self.tags.get(token.lower(), "PROPN") in {*_CONTENT, "PROPN"}

    def _replacement(self, kind: str, token: str, generator: random.Random) -> str:
        """Return a word or number that can replace a token, or `""` if there is none."""
        word = token.lower()
        if kind == "number" and token.isdigit():
            place = generator.randrange(len(token))
            digits = [digit for digit in "123456789" if digit != token[place]]
            return token[:place] + generator.choice(digits) + token[place + 1 :]
        if kind == "word":
            tag = self.tags.get(word, "")
            candidates = self.forms.get((tag, _ending(word)), []) if len(word) > 3 else []
            new = generator.choice(candidates) if candidates else ""
            # A word with the same beginning may be related.
            return "" if new[:4] == word[:4] else new
        table = _OPPOSITES if kind == "opposite" else _NUMBERS
        return generator.choice(table[word]) if word in table else ""


def shared_places(source: Sequence[str], text: Sequence[str]) -> set[int]:
    """Return the places of the words that a text shares with its source."""
    matcher = SequenceMatcher(None, source, text, autojunk=False)
    return {
        place
        for block in matcher.get_matching_blocks()
        for place in range(block.b, block.b + block.size)
    }


def _ending(word: str) -> str:
    """Return the ending of a word that marks its form, if it has one."""
    return next((ending for ending in ("ing", "ed", "ly", "s") if word.endswith(ending)), "")
