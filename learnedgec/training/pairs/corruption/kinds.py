"""The kinds of pairs: how the worse side differs from the better one, and the edits of both."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from learnedgec.training.pairs.corruption.mistakes import (
    Material,
    Mistakes,
)
from learnedgec.training.pairs.corruption.observations import (
    Change,
)

__all__ = [
    "KINDS",
    "CorruptionPlan",
    "Sides",
    "make_sides",
]

# How often the better side starts from all gold edits; otherwise from a random subset.
_COMPLETE = 0.35

# -- kinds -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CorruptionPlan:
    """How the worse side of a pair differs from the better one.

    Attributes:
        missing: number of gold edits that it lacks.
        replaced: number of these that it replaces with a wrong correction of the same words.
        added: number of wrong edits that it has elsewhere.
        shared: number of wrong edits that both sides have.
    """

    missing: int = 0
    replaced: int = 0
    added: int = 0
    shared: int = 0

    @property
    def margin(self) -> int:
        """The number of edits that only one side has."""
        return self.missing + self.replaced + self.added


@dataclass(frozen=True, slots=True)
class Sides:
    """The edits of both sides of a pair."""

    better: tuple[Change, ...]
    worse: tuple[Change, ...]


def missing(count: int, generator: random.Random) -> CorruptionPlan:
    """Return a plan for a worse side that lacks gold edits."""
    return CorruptionPlan(missing=count)


def added(count: int, generator: random.Random) -> CorruptionPlan:
    """Return a plan for a worse side with additional wrong edits."""
    return CorruptionPlan(added=count)


def miscorrected(count: int, generator: random.Random) -> CorruptionPlan:
    """Return a plan for a worse side that corrects the same words wrongly."""
    return CorruptionPlan(missing=count, replaced=count)


def displaced(count: int, generator: random.Random) -> CorruptionPlan:
    """Return a plan for a worse side that corrects other words instead."""
    return CorruptionPlan(missing=count, added=count)


def mixed(count: int, generator: random.Random) -> CorruptionPlan:
    """Return a plan for a worse side that lacks gold edits and has more, or fewer, wrong ones."""
    counts = [count, count + 1]
    generator.shuffle(counts)
    return CorruptionPlan(missing=counts[0], added=counts[1])


KINDS: Mapping[str, Callable[[int, random.Random], CorruptionPlan]] = MappingProxyType(
    {
        "missing": missing,
        "added": added,
        "miscorrected": miscorrected,
        "displaced": displaced,
        "mixed": mixed,
    }
)

# -- pairs -------------------------------------------------------------------------------------------


def make_sides(
    material: Material, plan: CorruptionPlan, mistakes: Mistakes, generator: random.Random
) -> Sides | None:
    """Return both sides of a pair, or `None` if the material does not allow the plan.

    Args:
        material: source and gold edits.
        plan: how the worse side differs.
        mistakes: source of wrong edits.
        generator: random generator.
    """
    size = len(material.gold)
    if size < plan.missing:
        return None
    kept = size if generator.random() < _COMPLETE else generator.randint(plan.missing, size)
    subset = sorted(generator.sample(range(size), kept))
    lost = set(generator.sample(subset, plan.missing))
    gold = {
        place: Change(material.gold[place].edit, material.gold[place].correction)
        for place in subset
    }
    instead: list[Change] = []
    for place in sorted(lost)[: plan.replaced]:
        change = mistakes.instead(material, material.gold[place], generator)
        if change is None:
            return None
        instead.append(change)
    wrong: list[Change] = []
    for _ in range(plan.shared + plan.added):
        change = mistakes.elsewhere(material, wrong, generator)
        if change is None:
            return None
        wrong.append(change)
    shared = wrong[: plan.shared]
    return Sides(
        (*gold.values(), *shared),
        (*(gold[place] for place in subset if place not in lost), *instead, *wrong),
    )
