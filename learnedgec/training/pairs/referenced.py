"""Ranked pairs of real outputs, ordered by metrics with references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from jsonargparse.typing import PositiveFloat, PositiveInt

from learnedgec.data.catalog.outputs import load_outputs
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.references import Reference, References
from learnedgec.errors import ConfigError
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs.base import (
    BALANCE,
    PairSource,
    RankedPair,
    check_shares,
    drawn_balanced,
)
from learnedgec.types import Floats


@dataclass
class ReferencedPairs(PairSource):
    """Pairs of outputs for one source whose order several metrics with references agree on.

    Outputs of strong systems differ in which of several good corrections they choose, unlike corrupted text.
    References show which is better, and more references show it more reliably. Metrics of different kinds
    make different mistakes, so a pair is kept only if every metric prefers the same side by at least the
    margin.

    All references that the datasets have for a source are pooled. An output of several systems counts once.
    The margin of a pair is the mean of the metrics' differences, for `objective: difference`.

    Args:
        outputs: datasets with outputs of systems, such as `pillars:train`.
        references: datasets with references for the same sources, such as `pillars:train` and `jelv:train`.
        metrics: names of metrics with references, which must agree; by default `gleu` and `green`.
        margin: smallest difference between the scores of both sides.
        balance: shares of pairs whose better side is `nearer` to the source than the worse one, `equal` or
            `farther`, by edited words. The rarest kind limits the number of pairs. By default, pairs are not
            balanced.
        number: number of pairs, drawn at random; by default, all.
        seed: seed of the draw.
    """

    outputs: list[str]
    references: list[str]
    metrics: list[str] | None = None
    margin: PositiveFloat = 0.02
    balance: dict[str, float] | None = None
    number: PositiveInt | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        self.judges = [load_metric(name) for name in self.metrics or ("gleu", "green")]
        for metric in self.judges:
            metric.check_alone()
            if not metric.needs_references:
                raise ConfigError(
                    f"data.pairs: {metric.label} needs no references; use it in DistilledPairs."
                )
        if self.balance:
            check_shares("balance", self.balance, BALANCE)

    def describe(self) -> dict[str, Any]:
        """Return the parameters."""
        return super().describe() | {"metrics": [str(metric) for metric in self.judges]}

    def datasets(self) -> list[str]:
        """Return the datasets of outputs and of references."""
        return list(dict.fromkeys([*self.outputs, *self.references]))

    def digests(self) -> dict[str, str]:
        """Return the digests of the datasets, and everything that the metrics' scores depend on."""
        return super().digests() | {str(metric): metric.signature() for metric in self.judges}

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
                for metric in self.judges
            ]
        )
        return drawn_balanced(
            list(self._ranked(rows, scores)), self.balance, self.number, self.seed
        )

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
                seen.setdefault(key, {}).update(dict.fromkeys(" ".join(t.split()) for t in texts))
        for source, outputs in seen.items():
            yield from ((name, source, text) for text in outputs)

    def _ranked(self, rows: Sequence[tuple[str, str, str]], scores: Floats) -> Iterator[RankedPair]:
        """Yield each pair of outputs whose order all metrics agree on."""
        places: dict[tuple[str, str], list[int]] = {}
        for place, (name, source, _) in enumerate(rows):
            places.setdefault((name, source), []).append(place)
        margin = self.margin - 1e-9  # scores are rounded
        for (name, source), outputs in places.items():
            for first, second in combinations(outputs, 2):
                differences = scores[:, first] - scores[:, second]
                if (differences <= -margin).all():
                    first, second, differences = second, first, -differences
                if (differences >= margin).all():
                    yield RankedPair(
                        source,
                        rows[first][2],
                        rows[second][2],
                        float(differences.mean()),
                        group=source,
                        origin=name,
                    )


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
