"""Ranked pairs of real outputs, ordered by metrics with references."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from learnedgec.data.catalog.outputs import load_outputs
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.references import Reference, References
from learnedgec.errors import ConfigError
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs.base import (
    BALANCE,
    Nearness,
    PairSource,
    RankedPair,
    check_named,
    drawn,
    nearness,
    positive,
)
from learnedgec.types import Floats

__all__ = ["ReferencedPairs", "pooled_references"]


class ReferencedPairs(PairSource):
    """Pairs of outputs for one source whose order several metrics with references agree on.

    Outputs of strong systems differ in which of several good corrections they choose, unlike corrupted text.
    References show which is better, and more references show it more reliably. Metrics of different kinds
    make different mistakes, so a pair is kept only if every metric prefers the same side by at least its
    margin.

    All references that the datasets have for a source are pooled. An output of several systems counts once.
    The margin of a pair is the mean of the metrics' differences, for `objective: difference`.

    Args:
        outputs: datasets with outputs of systems, such as `pillars:train`.
        references: datasets with references for the same sources, such as `pillars:train` and `jelv:train`.
        metrics: names of metrics with references, which must agree.
        margin: smallest difference between the scores of both sides: one number for all metrics, or one for
            each.
        balance: shares of pairs whose better side is `nearer` to the source than the worse one, `equal` or
            `farther`, by edited words. The rarest kind limits the number of pairs. By default, pairs are not
            balanced.
        with_source: whether the unchanged source counts as an output.
        number: number of pairs, drawn at random; by default, all.
        seed: seed of the draw.
    """

    def __init__(
        self,
        outputs: list[str],
        references: list[str],
        metrics: list[str] | None = None,
        margin: float | list[float] = 0.02,
        balance: dict[str, float] | None = None,
        with_source: bool = False,
        number: int | None = None,
        seed: int = 0,
    ) -> None:
        check_named(outputs=outputs, references=references)
        self.outputs = outputs
        self.references = references
        self.metrics = [load_metric(name) for name in metrics or ("gleu", "green")]
        for metric in self.metrics:
            metric.check_alone()
            if not metric.needs_references:
                raise ConfigError(
                    f"data.pairs: {metric.label} needs no references; use it in DistilledPairs."
                )
        margins = margin if isinstance(margin, list) else [margin] * len(self.metrics)
        if len(margins) != len(self.metrics) or not all(margin > 0 for margin in margins):
            raise ConfigError(
                f"data.pairs: margin is {margin}; a number above 0, or one for each of the "
                f"{len(self.metrics)} metrics, was expected."
            )
        self.margin = margins
        self.balance = _shares(balance)
        self.with_source = with_source
        self.number = positive(number, "number")
        self.seed = seed

    def describe(self) -> dict[str, Any]:
        """Return the parameters."""
        return super().describe() | {"metrics": [str(metric) for metric in self.metrics]}

    def datasets(self) -> list[str]:
        """Return the datasets of outputs and of references."""
        return list(dict.fromkeys([*self.outputs, *self.references]))

    def digests(self) -> dict[str, str]:
        """Return the digests of the datasets, and everything that the metrics' scores depend on."""
        return super().digests() | {str(metric): metric.signature() for metric in self.metrics}

    def material(self) -> Iterator[str]:
        """Yield the references, which decide which side is better."""
        for row in pooled_references(self.references).values():
            yield from (reference.text for reference in row)

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs in the order of the data, or those drawn."""
        references = pooled_references(self.references)
        rows: list[tuple[str, str, str]] = []
        for name in self.outputs:
            rows += self._rows(name, references)
        if not rows:
            return []
        sources, texts = [row[1] for row in rows], [row[2] for row in rows]
        row_references = References(tuple(references[source] for source in sources))
        scores = np.stack(
            [
                metric.sentence_scores(
                    metric.statistics(sources, texts, row_references, runtime=runtime)
                )
                for metric in self.metrics
            ]
        )
        return self._drawn(list(self._ranked(rows, scores)))

    def _rows(
        self, name: str, references: Mapping[str, tuple[Reference, ...]]
    ) -> Iterator[tuple[str, str, str]]:
        """Yield the dataset, the source and each distinct output of sources that have references."""
        sources = load_parallel(name).sources
        systems = load_outputs(name)
        seen: dict[str, dict[str, None]] = {}
        for source, *texts in zip(sources, *systems.values(), strict=True):
            key = " ".join(source.split())
            if key in references:
                versions = [source, *texts] if self.with_source else texts
                seen.setdefault(key, {}).update(
                    dict.fromkeys(" ".join(t.split()) for t in versions)
                )
        for source, outputs in seen.items():
            yield from ((name, source, text) for text in outputs)

    def _ranked(self, rows: Sequence[tuple[str, str, str]], scores: Floats) -> Iterator[RankedPair]:
        """Yield each pair of outputs whose order all metrics agree on."""
        places: dict[tuple[str, str], list[int]] = {}
        for place, (name, source, _) in enumerate(rows):
            places.setdefault((name, source), []).append(place)
        margins = np.array(self.margin) - 1e-9
        for (name, source), outputs in places.items():
            for first, second in combinations(outputs, 2):
                differences = scores[:, first] - scores[:, second]
                if (differences <= -margins).all():
                    first, second, differences = second, first, -differences
                if (differences >= margins).all():
                    yield RankedPair(
                        source,
                        rows[first][2],
                        rows[second][2],
                        float(differences.mean()),
                        group=source,
                        origin=name,
                    )

    def _drawn(self, pairs: list[RankedPair]) -> list[RankedPair]:
        """Return the requested number of pairs, with the requested share of each kind."""
        generator = random.Random(self.seed)
        if self.balance is None:
            return drawn(pairs, self.number, generator)
        kinds: dict[Nearness, list[RankedPair]] = {kind: [] for kind in BALANCE}
        for pair in pairs:
            kinds[nearness(pair)].append(pair)
        most = min(len(kinds[kind]) / share for kind, share in self.balance.items() if share)
        if self.number is not None:
            most = min(most, self.number)
        balanced = [
            pair
            for kind, share in self.balance.items()
            for pair in generator.sample(kinds[kind], int(most * share + 1e-9))
        ]
        generator.shuffle(balanced)
        return balanced


def pooled_references(names: Sequence[str]) -> dict[str, tuple[Reference, ...]]:
    """Return the references that datasets have for each source; its words are joined by single spaces.

    References with equal texts count once; one with gold edits is preferred.
    """
    pooled: dict[str, dict[str, Reference]] = {}
    for name in names:
        data = load_parallel(name)
        for source, row in zip(data.sources, data.references, strict=True):
            by_text = pooled.setdefault(" ".join(source.split()), {})
            for reference in row:
                text = " ".join(reference.text.split())
                if text not in by_text or by_text[text].edits is None:
                    by_text[text] = Reference(text, reference.edits)
    return {
        source: tuple(
            Reference(reference.text, reference.edits, number)
            for number, reference in enumerate(row.values())
        )
        for source, row in pooled.items()
        if row
    }


def _shares(balance: Mapping[str, float] | None) -> dict[Nearness, float] | None:
    """Return the share of each kind, or raise `ConfigError`."""
    if balance is None:
        return None
    if not set(balance) <= set(BALANCE) or min(balance.values(), default=0) < 0:
        raise ConfigError(
            f"data.pairs: balance is {balance}; shares of 0 or more for {', '.join(BALANCE)} were expected."
        )
    total = sum(balance.values())
    if not total > 0:
        raise ConfigError("data.pairs: balance has no share above 0; leave it out, or give one.")
    return {kind: balance.get(kind, 0.0) / total for kind in BALANCE}
