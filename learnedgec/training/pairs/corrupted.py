"""Ranked pairs whose worse side lacks corrections, has plausible wrong corrections, or both.

The worse side is made from the better one. Some gold edits are removed, or replaced by wrong corrections of
the same words, and wrong edits are added where no reference has an edit. The mixture of kinds decides whether
more edits predict the better side; by default they do not.

    kind           the worse side                                             its number of edits
    missing        lacks gold edits                                           smaller
    added          has wrong edits besides                                    larger
    miscorrected   has other corrections of the same words                    the same
    displaced      lacks gold edits, has equally many wrong ones elsewhere    the same
    mixed          lacks gold edits and has more or fewer wrong ones          either

Wrong edits come from

    system         an edit that a real system made and no reference has
    misapplied     a gold edit, made elsewhere beside one of its neighbours
    reversed       a learner's error, made in text that is right
    confused       a word that was corrected to this word, or this word to it, anywhere
    listed         a mistake of `Inventory`, in text that is right
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from jsonargparse.typing import PositiveInt

from learnedgec.data.catalog.cases import Labelled, load_labelled, load_sentences, load_words
from learnedgec.data.catalog.outputs import load_outputs
from learnedgec.data.catalog.parallel import load_corrections, load_parallel
from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.edits.annotator import default_annotator, extract_edits
from learnedgec.errors import ConfigError
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs.base import PairSource, RankedPair, T, check_shares, warn_of_few
from learnedgec.training.pairs.mistakes import (
    Inventory,
    Ngrams,
    Rules,
    Words,
    is_plain,
    lower,
    touch,
    undone,
)

# Default share of each kind.
KINDS = {"missing": 0.25, "added": 0.25, "miscorrected": 0.2, "displaced": 0.2, "mixed": 0.1}
# The number of edits by which the sides differ -> its share; most pairs differ by one.
_COUNTS = {1: 0.6, 2: 0.28, 3: 0.12}
# The share of pairs whose sides have a wrong edit in common.
_SHARED = 0.2
# The share of pairs whose better side has all gold edits.
_COMPLETE = 0.35
# The number of variants of a case from which pairs are made.
_VARIANTS = 2
# The number of sentences to try for a pair.
_SENTENCE_TRIES = 100
# The number of candidates to try for a wrong edit.
_EDIT_TRIES = 12
# Weight of each origin of wrong edits in the draw of the origin that is tried first.
_ORIGINS = {"system": 20.0, "misapplied": 1.5, "reversed": 1.5, "confused": 0.5, "listed": 3.0}
# A clean sentence has this many words.
_MIN_WORDS, _MAX_WORDS = 6, 45
# At most this many errors are inserted into a clean sentence.
_MAX_ERRORS = 6
# The smallest loss (in nats) by an error in a clean sentence.
_MIN_ERROR_LOSS = 0.7
# The loss (in nats) by a wrong edit is large enough to be wrong and too small to be nonsense. Above the
# minimum, the share of edits that are taken falls by _DECAY with each nat.
_MIN_LOSS, _MAX_LOSS, _DECAY = 1.5, 12.0, 0.3


class Change(NamedTuple):
    """An edit of a side: a gold edit, or a wrong one with its origin."""

    edit: Edit
    origin: str = ""


class Sides(NamedTuple):
    """The edits of both sides of a pair."""

    better: tuple[Change, ...]
    worse: tuple[Change, ...]


@dataclass
class CorruptedPairs(PairSource):
    """Pairs of a partly corrected sentence and a sentence that is worse in a plausible way.

    A wrong edit touches no gold edit of any reference of its source, except one that replaces a gold edit;
    the worse text is not a reference; and n-grams of correct text judge it worse. The margin is the number of
    edits that only one side has. The kinds have the given shares, and sides more often differ by one edit
    than by several, whatever the corrections. Groups are drawn equally often; two of the variants of a
    RobustGEC case are used. In one pair out of five, both sides share a wrong edit elsewhere.

    Not every edit that is meant to be wrong is wrong: some leave the text as good as before.

    Args:
        corrections: datasets or files with corrections, from which mistakes are learnt and pairs made; see
            `load_corrections`.
        number: number of pairs.
        sentences: sentences that are assumed to be correct (`load_sentences`). Errors are inserted into them,
            in the numbers that the corrections have.
        sentence_share: share of the pairs that are made from such sentences; by default, half if there are
            any.
        outputs: outputs of systems on sentences with references (`gmeg:fce`, `gmeg:wiki`). An edit that no
            reference has is used as a real mistake.
        kinds: kind -> share of the pairs. By default the number of edits does not tell which side is better.
            The shares are divided by their sum.
        words: treebanks (`ud-ewt:train`). With them, mistakes also come from lists and from the forms of
            their lemmas (`Inventory`), by the types of the corrections' gold edits.
        labelled: sentences with labelled words (`multiged:realec`). For the mistakes of `words`, they show
            which words are often wrong, and how many mistakes a sentence has.
        labelled_share: share of the pairs that are made from such a sentence, which is the better side as it
            is. Its right words are changed on the worse side, so only `added` pairs can be made from it, and
            their correct text is unknown.
        annotator: spaCy pipeline; by default, the pipeline of the metric `errant`.
        seed: seed of all draws.
    """

    named: ClassVar = ("corrections", "outputs", "sentences", "words", "labelled")
    corrections: list[str]
    number: PositiveInt
    sentences: list[str] | None = None
    sentence_share: float | None = None
    outputs: list[str] | None = None
    kinds: dict[str, float] | None = None
    words: list[str] | None = None
    labelled: list[str] | None = None
    labelled_share: float = 0.0
    annotator: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.sentence_share is None:
            self.sentence_share = 0.5 if self.sentences else 0.0
        for name, share, needed in (
            ("sentence_share", self.sentence_share, "sentences"),
            ("labelled_share", self.labelled_share, "labelled"),
        ):
            if not 0 <= share <= bool(getattr(self, needed)):
                raise ConfigError(
                    f"data.pairs: {name} is {share}; a share from 0 to 1 was expected, and 0 without "
                    f"{needed}."
                )
        self.kinds = self.kinds or KINDS
        check_shares("kinds", self.kinds, KINDS)
        # Resolve the default here, so that the manifest names the annotator.
        self.annotator = self.annotator or default_annotator()

    def material(self) -> Iterator[str]:
        """Yield the corrections, outputs and sentences that mistakes are learnt from or inserted into."""
        for name in self.corrections:
            for row in load_corrections(name):
                yield from (row.source, row.target)
        for name in self.outputs or ():
            for hypotheses in load_outputs(name).values():
                yield from hypotheses
        for name in self.sentences or ():
            yield from load_sentences(name)
        for name in self.labelled or ():
            yield from (row.sentence for row in load_labelled(name))

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs."""
        return [pair for _, pair, _ in self.make_with_sides(runtime)]

    def make_with_sides(self, runtime: Runtime = Runtime()) -> list[tuple[str, RankedPair, Sides]]:
        """Return the kind, the texts and the edits of each pair."""
        maker = _Maker(self, runtime)
        pairs: dict[tuple[str, str, str], tuple[str, RankedPair, Sides]] = {}
        for number in range(self.number):
            generator = random.Random(f"{self.seed} {number}")
            kind = _draw(self.kinds or KINDS, generator)
            for _ in range(_SENTENCE_TRIES):
                if not (made := maker.pair(kind, generator)):
                    continue
                pair, sides = made
                key = pair.source, pair.better, pair.worse
                if key not in pairs:
                    pairs[key] = kind, pair, sides
                    break
        warn_of_few(self, len(pairs), self.number)
        return list(pairs.values())


@dataclass
class CorrectedSource:
    """A source with the edits of one of its corrections, and what is known of its other corrections.

    Attributes:
        tokens: the source.
        gold: the edits of the correction.
        reference_edits: the edits of all references.
        accepted: the texts of all references.
        mistakes: edits of systems that no reference has.
        group: pairs of one group belong in one part of a split.
        origin: the dataset.
    """

    tokens: Words
    gold: Sequence[Edit]
    reference_edits: Sequence[Edit]
    accepted: set[str] = field(default_factory=set)
    mistakes: Sequence[Edit] = ()
    group: str = ""
    origin: str = ""


def _corrected_sources(settings: CorruptedPairs, runtime: Runtime) -> list[CorrectedSource]:
    """Return the corrections with all edits that references and systems make in their sources."""
    rows = [(name, row) for name in settings.corrections for row in load_corrections(name)]
    variants: dict[str, dict[str, None]] = defaultdict(dict)
    for _, row in rows:
        variants[row.group][row.source] = None
    used = {source for sources in variants.values() for source in list(sources)[:_VARIANTS]}
    rows = [(name, row) for name, row in rows if row.source in used and row.source.split()]
    references = [(row.source, row.target) for _, row in rows]
    outputs: list[tuple[str, str]] = []
    for name in settings.outputs or ():
        data = load_parallel(name)
        for source, targets in zip(data.sources, data.references, strict=True):
            references += [(source, target.text) for target in targets]
        for system, hypotheses in load_outputs(name).items():
            if system != "source+error":  # GMEG's sources with inserted errors
                outputs += zip(data.sources, hypotheses, strict=True)
    assert settings.annotator is not None
    edits = extract_edits([*references, *outputs], settings.annotator, types=False, runtime=runtime)
    gold_of: dict[str, list[Edit]] = defaultdict(list)
    accepted: dict[str, set[str]] = defaultdict(set)
    for (source, target), gold in zip(references, edits, strict=False):
        gold_of[source] += gold
        accepted[source].add(" ".join(target.split()))
    mistakes: dict[str, dict[Edit, None]] = defaultdict(dict)
    for (source, _), changes in zip(outputs, edits[len(references) :], strict=True):
        right = {(edit.start, edit.end, edit.correction.lower()) for edit in gold_of[source]}
        for edit in changes:
            old, new = source.split()[edit.start : edit.end], edit.correction.lower()
            plain = is_plain(lower(old), lower(new.split()))
            if plain and (edit.start, edit.end, new) not in right:
                mistakes[source][edit] = None
    return [
        CorrectedSource(
            tuple(row.source.split()),
            gold,
            gold_of[row.source],
            accepted[row.source],
            list(mistakes[row.source]),
            row.group,
            name,
        )
        for (name, row), gold in zip(rows, edits, strict=False)
    ]


def _observed_inventory(settings: CorruptedPairs, labelled: Sequence[Labelled]) -> Inventory:
    """Return the mistakes of lists, with the frequencies of corrections and labelled words."""
    corrections = (row for name in settings.corrections for row in load_corrections(name))
    counts = Counter(edit.type for row in corrections for edit in row.edits or ())
    uses: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for row in labelled:
        words = row.sentence.lower().split()
        uses.update(words)
        wrong.update(word for word, label in zip(words, row.wrong, strict=True) if label)
    mean_rate = wrong.total() / max(uses.total(), 1)
    rates = {word: (wrong[word] + 5 * mean_rate) / (count + 5) for word, count in uses.items()}
    sentences = (sentence for name in settings.words or () for sentence in load_words(name))
    return Inventory((word for sentence in sentences for word in sentence), counts, rates)


class _Maker:
    """Makes pairs from what it has learnt from the data of `CorruptedPairs`."""

    def __init__(self, settings: CorruptedPairs, runtime: Runtime) -> None:
        self.settings = settings
        materials = _corrected_sources(settings, runtime)
        groups: dict[str, list[CorrectedSource]] = defaultdict(list)
        for material in materials:
            groups[material.group].append(material)
        self.groups = list(groups.values())
        materials = [material for group in self.groups for material in group]
        # An edit that several references share counts once.
        forward = dict.fromkeys((row.tokens, edit) for row in materials for edit in row.gold)
        reversed_rows = (undone(row.tokens, row.gold) for row in materials)
        backward = dict.fromkeys(
            (target, edit) for target, edits in reversed_rows for edit in edits
        )
        self.forward, self.backward = Rules(forward, least=2), Rules(backward, least=2)
        self.errors = Rules(backward)
        self.labelled = [
            (name, row) for name in settings.labelled or () for row in load_labelled(name)
        ]
        labelled = [row for _, row in self.labelled]
        # The number of errors per word of each sentence.
        self.rates = [
            sum(bool(now) and not before for before, now in pairwise((False, *row.wrong)))
            / len(row.wrong)
            for row in labelled
        ] or [len(row.gold) / len(row.tokens) for row in materials]
        self.inventory = _observed_inventory(settings, labelled) if settings.words else None
        clean = {
            sentence: name
            for name in settings.sentences or ()
            for sentence in load_sentences(name)
            if _looks_clean(sentence.split())
        }
        self.clean = [(name, tuple(sentence.split())) for sentence, name in clean.items()]
        correct = {tuple(text.split()) for row in materials for text in row.accepted}
        self.ngrams = Ngrams([*sorted(correct), *(tokens for _, tokens in self.clean)])

    def pair(self, kind: str, generator: random.Random) -> tuple[RankedPair, Sides] | None:
        """Return a pair of a kind from one material, or `None` if the material does not allow it."""
        material = self._draw_source(generator)
        count = _draw(_COUNTS, generator)
        sides = material and self._sides(material, kind, count, generator)
        if not material or not sides:
            return None
        source = " ".join(material.tokens)
        better, worse = (apply_edits(source, [change.edit for change in side]) for side in sides)
        if better == worse or worse in material.accepted:
            return None
        margin = float(len(set(sides.better) ^ set(sides.worse)))
        gold = apply_edits(source, material.gold) if material.accepted else ""
        group = material.group or source
        return RankedPair(source, better, worse, margin, group, material.origin, gold), sides

    def _draw_source(self, generator: random.Random) -> CorrectedSource | None:
        """Return a correction, a sentence with labelled words, or a clean sentence with errors."""
        if generator.random() < self.settings.labelled_share:
            name, row = generator.choice(self.labelled)
            tokens = tuple(row.sentence.split())
            # The labels show where the sentence is wrong, but not what would be right.
            wrong = [Edit(place, place + 1, "") for place, label in enumerate(row.wrong) if label]
            return CorrectedSource(tokens, (), wrong, group=row.sentence, origin=name)
        if generator.random() >= (self.settings.sentence_share or 0):
            return generator.choice(generator.choice(self.groups)) if self.groups else None
        if not self.clean:
            return None
        name, tokens = generator.choice(self.clean)
        expected = generator.choice(self.rates) * len(tokens)
        count = min(int(expected) + (generator.random() < expected % 1), _MAX_ERRORS)
        candidates = _some(list(self.errors.candidates(tokens)), _EDIT_TRIES * count, generator)
        if self.inventory:
            # Mix both kinds of candidates, so that those of real corrections are not drawn first.
            candidates = candidates[: _EDIT_TRIES * count // 4]
            candidates += self.inventory.draw(tokens, generator, _EDIT_TRIES * count)
            generator.shuffle(candidates)
        errors: list[Edit] = []
        for edit in candidates:
            apart = not any(touch(edit, other) for other in errors)
            if len(errors) < count and apart and self.ngrams.loss(tokens, edit) > _MIN_ERROR_LOSS:
                errors.append(edit)
        source, gold = undone(tokens, errors)
        text = " ".join(tokens)
        return CorrectedSource(source, gold, gold, {text}, group=text, origin=name)

    def _sides(
        self, material: CorrectedSource, kind: str, count: int, generator: random.Random
    ) -> Sides | None:
        """Return both sides of a pair of a kind that differ by `count` edits, or `None`."""
        missing = 0 if kind == "added" else count
        wrong = count if kind in ("added", "displaced") else 0
        if kind == "mixed":
            missing, wrong = generator.choice(((count, count + 1), (count + 1, count)))
        number = len(material.gold)
        if number < missing:
            return None
        if generator.random() >= _COMPLETE:
            number = generator.randint(missing, number)
        gold = generator.sample(material.gold, number)
        better = [Change(edit) for edit in sorted(gold, key=lambda edit: (edit.start, edit.end))]
        removed = generator.sample(better, missing)
        replaced = removed if kind == "miscorrected" else []
        miscorrections = [self._miscorrect(material, each.edit, generator) for each in replaced]
        shared = int(generator.random() < _SHARED)
        added: list[Change | None] = []
        for _ in range(shared + wrong):
            others = [change.edit for change in added if change]
            added.append(self._add_error(material, others, generator))
        mistakes = [change for change in (*miscorrections, *added) if change]
        if len(mistakes) < len(miscorrections) + len(added):
            return None
        on_both = mistakes[len(miscorrections) : len(miscorrections) + shared]
        corrected = [change for change in better if change not in removed]
        return Sides((*better, *on_both), (*corrected, *mistakes))

    def _add_error(
        self, material: CorrectedSource, others: Sequence[Edit], generator: random.Random
    ) -> Change | None:
        """Return a wrong edit that touches neither an edit of a reference nor one of the others."""
        tokens, inventory = material.tokens, self.inventory
        edits_of: dict[str, Callable[[], Iterable[Edit]]] = {
            "system": lambda: material.mistakes,
            "misapplied": lambda: self.forward.candidates(tokens),
            "reversed": lambda: self.backward.candidates(tokens),
            "confused": lambda: (*self.forward.swaps(tokens), *self.backward.swaps(tokens)),
            "listed": lambda: inventory.draw(tokens, generator, _EDIT_TRIES) if inventory else (),
        }
        for origin in sorted(
            _ORIGINS, key=lambda name: -(generator.random() ** (1 / _ORIGINS[name]))
        ):
            free = [
                Change(edit, origin)
                for edit in edits_of[origin]()
                if not any(touch(edit, other) for other in (*material.reference_edits, *others))
            ]
            if change := self._choose_wrong(free, tokens, generator):
                return change
        return None

    def _miscorrect(
        self, material: CorrectedSource, gold: Edit, generator: random.Random
    ) -> Change | None:
        """Return a wrong correction of the words that a gold edit corrects."""
        tokens, start, end = material.tokens, gold.start, gold.end
        origins = {
            edit: "system" for edit in material.mistakes if (edit.start, edit.end) == (start, end)
        }
        for edit in self.forward.at(tokens, start, end, anywhere=True):
            origins.setdefault(edit, "misapplied")
        words = tuple(gold.correction.split())
        if len(words) == 1:
            for rules in (self.forward, self.backward):
                for edit in rules.at(words, 0, 1, anywhere=True):
                    origins.setdefault(Edit(start, end, edit.correction), "confused")
            for new in self.inventory.replacements(words[0]) if self.inventory else ():
                origins.setdefault(Edit(start, end, new), "listed")
        # The correction that another reference has for one of these words may be right here as well.
        right = {edit.correction.lower() for edit in material.reference_edits if touch(edit, gold)}
        right.add(" ".join(lower(tokens[start:end])))
        wrong = [
            Change(edit, origin)
            for edit, origin in origins.items()
            if edit.correction.lower() not in right
        ]
        return self._choose_wrong(wrong, tokens, generator, gold.correction)

    def _choose_wrong(
        self,
        changes: list[Change],
        tokens: Words,
        generator: random.Random,
        correction: str | None = None,
    ) -> Change | None:
        """Return a change that makes a text worse but not nonsense; worse changes are taken less often.

        A system's edit that no reference has only needs to make the text less natural.
        """
        for change in _some(changes, _EDIT_TRIES, generator):
            loss = self.ngrams.loss(tokens, change.edit, correction)
            wrong = _MIN_LOSS < loss < _MAX_LOSS
            if change.origin == "system":
                wrong = loss > 0
            elif wrong:
                wrong = generator.random() < math.exp(_DECAY * (_MIN_LOSS - loss))
            if wrong:
                return change
        return None


def _some(rows: list[T], number: int, generator: random.Random) -> list[T]:
    """Return at most `number` rows, in random order."""
    return generator.sample(rows, min(len(rows), number))


def _looks_clean(tokens: Sequence[str]) -> bool:
    """Return whether a text begins and ends like a sentence, has a medium length and contains no address."""
    return (
        _MIN_WORDS <= len(tokens) <= _MAX_WORDS
        and tokens[0][0].isupper()
        and tokens[-1] in (".", "?", "!")
        and all(len(token) < 25 and "@" not in token and "/" not in token for token in tokens)
    )


def _draw(shares: Mapping[Any, float], generator: random.Random) -> Any:
    """Draw one of the keys by their shares."""
    return generator.choices(list(shares), list(shares.values()))[0]
