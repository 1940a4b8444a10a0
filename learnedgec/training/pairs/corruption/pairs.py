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

    system         what a real system did and no reference has
    misapplied     a gold edit, or a system's wrong one, made elsewhere in the same context
    reversed       a learner's error, made in text that is right
    inflected      another form of the word
    confused       a word that was once corrected to this one or from it

One file, though long: it is one source of pairs, from its settings to its pairs.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from learnedgec.catalog.corrections import load_corrections
from learnedgec.catalog.outputs import OUTPUTS, load_outputs
from learnedgec.catalog.parallel import PARALLEL, load_parallel
from learnedgec.catalog.sentences import load_sentences
from learnedgec.edits.parsing import default_annotator, describe_annotator
from learnedgec.errors import ConfigError, UnknownNameError
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.m2 import apply_edits
from learnedgec.training.pairs.balance import edit_balance
from learnedgec.training.pairs.base import PairSource, RankedPair, positive
from learnedgec.training.pairs.corruption.inventory import Replacement
from learnedgec.training.pairs.corruption.kinds import (
    KINDS,
    CorruptionPlan,
    Sides,
    make_sides,
)
from learnedgec.training.pairs.corruption.mistakes import (
    Material,
    Mistakes,
    choose,
    edit_key,
    spoilt,
)
from learnedgec.training.pairs.corruption.observations import (
    Observation,
    Parsed,
    observe,
    parse_corrections,
    plain,
)

__all__ = [
    "SHARES",
    "CorruptedPairs",
]

# How many edits the sides differ by, each with how often: most pairs differ by one.
_COUNTS = {1: 0.6, 2: 0.28, 3: 0.12}

# How often both sides have a wrong edit in common, as outputs of weak systems do.
_SHARED = 0.2

# How many variants of a sentence make pairs: the rest would be much the same.
_VARIANTS = 2

# How many materials are tried for a plan before it is given up for good.
_MATERIALS = 300

# Errors in a clean sentence, at most, and the words of one.
_MOST_ERRORS = 6

_SHORTEST, _LONGEST = 6, 45

SHARES = {"missing": 0.25, "added": 0.25, "miscorrected": 0.2, "displaced": 0.2, "mixed": 0.1}


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
            in the numbers and kinds that the corrections have.
        sentence_share: share of the pairs that are made from such sentences; by default half, if there are
            any.
        outputs: outputs of systems on sentences with references (`gmeg:fce`, `gmeg:wiki`). An edit that no
            reference has is used as a real mistake.
        kinds: kind -> share of the pairs. By default the number of edits does not tell which side is better.
            The shares are divided by their sum.
        annotator: spaCy pipeline; by default as for the metric `errant`.
        seed: seed of all draws.
    """

    def __init__(
        self,
        corrections: list[str],
        number: int,
        sentences: list[str] | None = None,
        sentence_share: float | None = None,
        outputs: list[str] | None = None,
        kinds: dict[str, float] | None = None,
        annotator: str | None = None,
        seed: int = 0,
    ) -> None:
        if not corrections:
            raise ConfigError("data.pairs: corrections is empty; name a dataset or a file.")
        self.corrections = corrections
        self.number = positive(number, "number") or 1
        self.sentences = list(sentences or [])
        self.sentence_share = (
            (0.5 if self.sentences else 0.0) if sentence_share is None else sentence_share
        )
        if not 0 <= self.sentence_share <= 1 or (self.sentence_share and not self.sentences):
            raise ConfigError(
                f"data.pairs: sentence_share is {self.sentence_share}; a share from 0 to 1 was expected, "
                "and 0 without sentences."
            )
        self.outputs = list(outputs or [])
        for name in self.outputs:
            if name not in OUTPUTS or name not in PARALLEL:
                raise UnknownNameError(
                    "set of outputs with references", name, set(OUTPUTS) & set(PARALLEL)
                )
        self.kinds = dict(SHARES if kinds is None else kinds)
        for kind, share in self.kinds.items():
            if kind not in KINDS:
                raise UnknownNameError("kind of corrupted pairs", kind, KINDS)
            if share < 0:
                raise ConfigError(f"data.pairs: kinds.{kind} is {share}; a share was expected.")
        if sum(self.kinds.values()) <= 0:
            raise ConfigError("data.pairs: kinds has no share above 0; give at least one kind.")
        # Decided now, so that the manifest says which.
        self.annotator = annotator or default_annotator()
        self.seed = seed
        self._kinds: Counter[str] = Counter()
        self._origins: Counter[str] = Counter()
        self._edits: Counter[str] = Counter()

    def describe(self) -> dict[str, Any]:
        """Return the parameters."""
        return {
            "corrections": self.corrections,
            "number": self.number,
            "sentences": self.sentences,
            "sentence_share": self.sentence_share,
            "outputs": self.outputs,
            "kinds": self.kinds,
            "annotator": self.annotator,
            "seed": self.seed,
        }

    def datasets(self) -> list[str]:
        """Return the datasets with corrections, outputs and sentences."""
        return list(dict.fromkeys([*self.corrections, *self.outputs, *self.sentences]))

    def digests(self) -> dict[str, str]:
        """Return the digests of the datasets and the version of the annotator."""
        return super().digests() | describe_annotator(self.annotator)

    def material(self) -> Iterator[str]:
        """Yield the corrections, outputs and sentences that mistakes are learnt from or inserted into."""
        for name in self.corrections:
            for row in load_corrections(name):
                yield from (row.source, row.target)
        for name in self.outputs:
            for hypotheses in load_outputs(name).values():
                yield from hypotheses
        for name in self.sentences:
            yield from load_sentences(name)

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs."""
        return [pair for _, pair, _ in self.make_with_sides(runtime)]

    def make_with_sides(self, runtime: Runtime = Runtime()) -> list[tuple[str, RankedPair, Sides]]:
        """Return the kind, the texts and the edits of each pair."""
        stock = self._prepare(runtime)
        self._kinds, self._origins, self._edits = Counter(), Counter(), Counter()
        found: list[tuple[str, RankedPair, Sides]] = []
        seen: set[tuple[str, str, str]] = set()
        hopeless: set[CorruptionPlan] = set()
        for number in range(self.number):
            generator = random.Random(f"{self.seed} {number}")
            made = self._make_one(stock, generator, seen, hopeless)
            if made is not None:
                kind, pair, sides = made
                seen.add((pair.source, pair.better, pair.worse))
                self._count(kind, sides)
                found.append(made)
        if len(found) < self.number:
            warnings.warn(
                f"{', '.join(self.datasets())}: found {len(found)} pairs of {self.number} requested.",
                stacklevel=2,
            )
        return found

    def _make_one(
        self,
        stock: _Stock,
        generator: random.Random,
        seen: Set[tuple[str, str, str]],
        hopeless: set[CorruptionPlan],
    ) -> tuple[str, RankedPair, Sides] | None:
        """Return a new pair, or `None` if many materials yield none."""
        kind = choose(self.kinds, generator)
        most = choose(_COUNTS, generator)
        shared = int(generator.random() < _SHARED)
        from_clean = generator.random() < self.sentence_share
        # The plan stays until a material suits it: else kinds that rarely can be made would lose share.
        for count in range(most, 0, -1):
            plan = replace(KINDS[kind](count, generator), shared=shared)
            if plan in hopeless:
                continue
            for _ in range(_MATERIALS):
                material = stock.draw(from_clean, plan.missing, generator)
                sides = material and make_sides(material, plan, stock.mistakes, generator)
                if not material or not sides:
                    continue
                pair = _pair(material, sides, plan)
                if pair is not None and (pair.source, pair.better, pair.worse) not in seen:
                    return kind, pair, sides
            hopeless.add(plan)
        return None

    def summary(self, pairs: Sequence[RankedPair]) -> dict[str, Any]:
        """Return the numbers of pairs by kind, the origins of wrong edits, and whether more edits are better.

        `better_more_edits`, `equally_many`, `better_fewer_edits` are shares by the edits that were
        applied; the others are those of `edit_balance`.
        """
        total = max(sum(self._edits.values()), 1)
        return {
            "pairs": len(pairs),
            "groups": len({pair.group for pair in pairs}),
            "kinds": dict(sorted(self._kinds.items())),
            "wrong_edits": dict(sorted(self._origins.items())),
            **{
                key: self._edits[key] / total
                for key in ("better_more_edits", "equally_many", "better_fewer_edits")
            },
            **edit_balance(pairs),
        }

    def _count(self, kind: str, sides: Sides) -> None:
        """Add pairs to the counts of the summary."""
        self._kinds[kind] += 1
        self._origins.update(change.origin for change in sides.worse if change.origin)
        more, fewer = len(sides.better), len(sides.worse)
        key = "better_more_edits" if more > fewer else "better_fewer_edits"
        self._edits["equally_many" if more == fewer else key] += 1

    def _prepare(self, runtime: Runtime) -> _Stock:
        """Read and parse everything once."""
        annotator = self.annotator
        rows = [(name, row) for name in self.corrections for row in load_corrections(name)]
        # Only the first of several variants of a sentence is used: the others would repeat it.
        variants: dict[str, dict[str, None]] = {}
        for _, row in rows:
            variants.setdefault(row.group, {})[row.source] = None
        teachers = {group: next(iter(sources)) for group, sources in variants.items()}
        used = {
            (group, source)
            for group, sources in variants.items()
            for source in list(sources)[: 1 if self.sentence_share == 1 else _VARIANTS]
        }
        rows = [(name, row) for name, row in rows if (row.group, row.source) in used]
        extra, outputs = self._outputs()
        corrected = [(row.source, row.target) for _, row in rows] + extra
        parsed = parse_corrections(corrected + outputs, annotator, runtime)
        seen = [observe(*result) for result in parsed]
        known: dict[str, _Known] = defaultdict(_Known)
        for (source, target), edits in zip(corrected, seen, strict=False):
            known[source].accepted.add(" ".join(target.split()))
            for each in edits:
                known[source].keys[edit_key(each.edit)] = None
        wrong: list[Observation] = []
        for (source, _), edits in zip(outputs, seen[len(corrected) :], strict=True):
            for each in edits:
                if edit_key(each.edit) not in known[source].keys:
                    wrong.append(each)
                    if plain(each.original, each.correction):
                        edit = each.edit
                        mistake = Replacement(edit.start, edit.end, each.correction, 1.0, "system")
                        known[source].mistakes[mistake] = None

        groups: dict[str, dict[tuple[str, str], Material]] = {}
        # An edit that several references share counts once.
        taught: dict[tuple[str, int, int, str], Observation] = {}
        correct: dict[str, dict[Parsed, None]] = {}
        rates: list[float] = []
        for (name, row), (sentence, correction, _), edits in zip(rows, parsed, seen, strict=False):
            if not sentence.tokens:
                continue
            groups.setdefault(row.group, {})[row.source, row.target] = known[row.source].material(
                sentence, edits, row.group, name
            )
            if teachers[row.group] == row.source:
                for each in edits:
                    taught.setdefault((row.source, *edit_key(each.edit)), each)
                correct.setdefault(row.group, {})[correction] = None
                rates.append(len(edits) / len(sentence))
        clean = self._clean(annotator, runtime)
        texts = [list(targets) for targets in correct.values()]
        mistakes = Mistakes(
            list(taught.values()), wrong, [*texts, *([sentence] for _, sentence in clean)]
        )
        return _Stock([list(group.values()) for group in groups.values()], clean, rates, mistakes)

    def _outputs(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Return the references and the systems' outputs, each with its source."""
        references: list[tuple[str, str]] = []
        outputs: list[tuple[str, str]] = []
        for name in self.outputs:
            data = load_parallel(name)
            for source, row in zip(data.sources, data.references, strict=True):
                references += [(source, reference.text) for reference in row]
            for system, hypotheses in load_outputs(name).items():
                # GMEG has its sources with errors put in beside the systems.
                if system != "source+error":
                    outputs += zip(data.sources, hypotheses, strict=True)
        return references, outputs

    def _clean(self, annotator: str, runtime: Runtime) -> list[tuple[str, Parsed]]:
        """Return the sentences that look complete and correct, with their datasets."""
        named = {
            sentence: name
            for name in self.sentences
            for sentence in load_sentences(name)
            if _looks_clean(sentence.split())
        }
        wanted = round(self.number * self.sentence_share)
        chosen = list(named)
        if wanted < len(chosen):
            chosen = random.Random(self.seed).sample(chosen, wanted)
        parsed = parse_corrections([(text, text) for text in chosen], annotator, runtime)
        return [
            (named[text], sentence) for text, (sentence, _, _) in zip(chosen, parsed, strict=True)
        ]


@dataclass(slots=True)
class _Known:
    """The edits of all references, and of systems, for one source."""

    keys: dict[tuple[int, int, str], None] = field(default_factory=dict)
    accepted: set[str] = field(default_factory=set)
    mistakes: dict[Replacement, None] = field(default_factory=dict)

    def material(
        self, source: Parsed, edits: Sequence[Observation], group: str, origin: str
    ) -> Material:
        """Return the material for one correction with these edits."""
        return Material(
            source,
            tuple(edits),
            tuple(dict.fromkeys((start, end) for start, end, _ in self.keys)),
            frozenset(self.keys),
            frozenset(self.accepted),
            tuple(self.mistakes),
            group,
            origin,
        )


@dataclass(frozen=True, slots=True)
class _Stock:
    """Materials by group, clean sentences with their datasets, and the edits per word of each correction."""

    groups: list[list[Material]]
    clean: list[tuple[str, Parsed]]
    rates: list[float]
    mistakes: Mistakes

    def draw(self, from_clean: bool, least: int, generator: random.Random) -> Material | None:
        """Draw a material; return `None` if there is none or it has too few gold edits."""
        if not from_clean:
            return generator.choice(generator.choice(self.groups)) if self.groups else None
        if not self.clean:
            return None
        name, sentence = generator.choice(self.clean)
        expected = generator.choice(self.rates) * len(sentence)
        count = int(expected) + (generator.random() < expected % 1)
        if count < least:
            return None
        changes = self.mistakes.errors(sentence, min(count, _MOST_ERRORS), generator)
        return spoilt(sentence, changes, name)


def _looks_clean(tokens: Sequence[str]) -> bool:
    """Return whether a text begins and ends like a sentence, has a medium length and contains no address."""
    return (
        _SHORTEST <= len(tokens) <= _LONGEST
        and tokens[0][0].isupper()
        and tokens[-1] in (".", "?", "!")
        and all(len(token) < 25 and "@" not in token and "/" not in token for token in tokens)
    )


def _pair(material: Material, sides: Sides, plan: CorruptionPlan) -> RankedPair | None:
    """Return the texts, or `None` if they are equal or the worse one is a reference."""
    source = " ".join(material.source.tokens)
    better, worse = (
        apply_edits(source, [change.edit for change in side])
        for side in (sides.better, sides.worse)
    )
    if better == worse or worse in material.accepted:
        return None
    gold = apply_edits(source, [observation.edit for observation in material.gold])
    margin = float(plan.margin)
    return RankedPair(source, better, worse, margin, material.group, material.origin, gold)
