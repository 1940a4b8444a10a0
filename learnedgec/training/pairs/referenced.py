"""Ranked pairs and wrong words that metrics and references give for outputs."""

from __future__ import annotations

import random
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jsonargparse.typing import PositiveFloat, PositiveInt

from learnedgec.data.catalog.outputs import load_outputs
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.data.references import Reference, References
from learnedgec.edits.annotator import default_annotator, extract_edits
from learnedgec.errors import ConfigError, LeakageError
from learnedgec.evaluators.package import was_checked
from learnedgec.metrics.contract import Metric, PretrainedMetric
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.plugins import origin
from learnedgec.runtime.runtime import Runtime, track
from learnedgec.runtime.store import RowStore
from learnedgec.scoring import bind
from learnedgec.training.pairs.base import (
    BALANCE,
    PairSource,
    RankedPair,
    check_shares,
    draw_balanced,
    draw_some,
    stored_scores,
)

# The number of texts that are scored together. An interruption loses the work on one block.
_BLOCK = 2048


@dataclass
class ReferencedPairs(PairSource):
    """Pairs of outputs for one source on whose order several metrics with references agree.

    Strong systems choose different corrections among several good ones, unlike corrupted text. References
    show which output is better, and more references show it more reliably. Metrics of different kinds make
    different mistakes, so a pair is kept only if every metric prefers the same side by at least the margin.

    All references that the datasets have for a source are pooled. An output of several systems counts once.
    The margin of a pair is the mean of the metrics' differences, for `objective: difference`.

    Args:
        outputs: datasets with outputs of systems, such as `pillars:train`.
        references: datasets with references for the same sources, such as `pillars:train` and `jelv:train`.
        metrics: names of metrics with references, all of which must agree; by default `gleu` and `green`.
        margin: smallest difference between the scores of both sides.
        balance: shares of pairs whose better side is `nearer` to the source than the worse one, `equal` or
            `farther`, by edited words. The rarest kind limits the number of pairs. By default, pairs are not
            balanced.
        number: number of pairs, drawn at random; by default, all.
        seed: seed of the draw.
    """

    named: ClassVar = ("outputs", "references")
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

    def digests(self) -> dict[str, str]:
        """Return the digests of the datasets, and everything that the metrics' scores depend on."""
        return super().digests() | {str(metric): metric.signature() for metric in bind(self.judges)}

    def material(self) -> Iterator[str]:
        """Yield the references, which decide which side is better."""
        yield from reference_texts(self.references)

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs in the order of the data, unless they are drawn."""
        references = pooled_references(self.references)
        # (dataset, source) -> its distinct outputs
        outputs: dict[tuple[str, str], dict[str, None]] = {}
        for name in self.outputs:
            for source, text in outputs_with_references(name, references):
                outputs.setdefault((name, source), {})[text] = None
        rows = dict.fromkeys(
            (source, text) for (_, source), texts in outputs.items() for text in texts
        )
        if not rows:
            return []
        sources, hypotheses = zip(*rows, strict=True)
        row_references = References(tuple(references[source] for source in sources))
        by_metric = []
        for metric in self.judges:
            statistics = metric.statistics(sources, hypotheses, row_references, runtime=runtime)
            by_metric.append(metric.sentence_scores(statistics))
        scores = dict(zip(rows, np.stack(by_metric, axis=1), strict=True))
        margin = self.margin - 1e-9  # scores are rounded
        pairs = []
        for (name, source), texts in outputs.items():
            for better, worse in combinations(texts, 2):
                differences = scores[source, better] - scores[source, worse]
                if (differences <= -margin).all():
                    better, worse, differences = worse, better, -differences
                if (differences >= margin).all():
                    mean = float(differences.mean())
                    pairs.append(RankedPair(source, better, worse, mean, source, name))
        return draw_balanced(pairs, self.balance, self.number, self.seed)


@dataclass
class EditPairs(PairSource):
    """Pairs of a system's output and the same output without one of its edits.

    The output is better if a reference has the edit, at the same place with the same correction; otherwise
    the output without the edit is better. A head with the objective `logistic` then learns the log-odds that
    an annotator accepts an edit, as the difference of its values with and without the edit. References leave
    out good edits, so some of the edits that count as wrong are right.

    Args:
        outputs: datasets with outputs of systems, such as `pillars:train/single`.
        references: datasets with references for the same sources; all references of a source are pooled.
        annotator: spaCy pipeline that finds the edits; by default, the pipeline of the metric `errant`.
        number: number of pairs, drawn at random; by default, all.
        seed: seed of the draw.
    """

    named: ClassVar = ("outputs", "references")
    outputs: list[str]
    references: list[str]
    annotator: str | None = None
    number: PositiveInt | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        self.annotator = self.annotator or default_annotator()

    def material(self) -> Iterator[str]:
        """Yield the references, which decide which side is better."""
        yield from reference_texts(self.references)

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs in the order of the data, unless they are drawn."""
        assert self.annotator is not None
        references = pooled_references(self.references)
        # (source, output) -> its dataset
        outputs = {
            row: name for name in self.outputs for row in outputs_with_references(name, references)
        }
        pairs = [
            *outputs,
            *((source, row.text) for source, rows in references.items() for row in rows),
        ]
        edits = extract_edits(pairs, self.annotator, runtime=runtime)
        accepted: dict[str, set[tuple[int, int, str]]] = {}
        for (source, _), row in zip(pairs[len(outputs) :], edits[len(outputs) :], strict=True):
            accepted.setdefault(source, set()).update(map(_key, row))
        # A dictionary, because several systems often make the same edits together.
        ranked: dict[RankedPair, None] = {}
        for ((source, _), name), row in zip(outputs.items(), edits, strict=False):
            for edit in row:
                better = apply_edits(source, row)
                worse = apply_edits(source, [other for other in row if other != edit])
                if _key(edit) not in accepted[source]:
                    better, worse = worse, better
                ranked[RankedPair(source, better, worse, 1.0, source, name)] = None
        return draw_some(list(ranked), self.number, random.Random(self.seed))


def _key(edit: Edit) -> tuple[int, int, str]:
    return edit.start, edit.end, edit.correction


def wrong_words(hypothesis: Sequence[str], correct: Sequence[str]) -> list[bool]:
    """Return for each word, and for the end of the sentence, whether it differs from the correct sentence.

    A word is wrong if it has to be replaced or removed, or if a word is missing before it. The end is wrong
    if a word is missing there.

    Example:
        >>> wrong_words("He go to school".split(), "He goes to the school .".split())
        [False, True, False, True, True]
    """
    wrong = [False] * (len(hypothesis) + 1)
    matcher = SequenceMatcher(None, hypothesis, correct, autojunk=False)
    for tag, start, end, _, _ in matcher.get_opcodes():
        if tag != "equal":
            for place in range(start, max(end, start + 1)):
                wrong[place] = True
    return wrong


def pooled_references(names: Sequence[str]) -> dict[str, tuple[Reference, ...]]:
    """Return the references that datasets have for each source, whose words are joined by single spaces.

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


def reference_texts(names: Sequence[str]) -> Iterator[str]:
    """Yield the texts of the references that are pooled from datasets."""
    for row in pooled_references(names).values():
        yield from (reference.text for reference in row)


def outputs_with_references(name: str, references: Container[str]) -> Iterator[tuple[str, str]]:
    """Yield the source and the output of each system for each source that has references.

    Words are joined by single spaces.

    Args:
        name: dataset of outputs (`load_outputs`).
        references: the sources that have references (`pooled_references`).
    """
    # The sources do not depend on the kind of systems, as in pillars:train/single.
    sources = load_parallel(re.sub(r"/(single|ensemble)$", "", name)).sources
    for sentence, *texts in zip(sources, *load_outputs(name).values(), strict=True):
        source = " ".join(sentence.split())
        if source in references:
            yield from ((source, " ".join(text.split())) for text in texts)


@dataclass
class DistilledPairs(PairSource):
    """The pairs of other pair sources, with the margin that a metric gives them.

    The margin is the teacher's score of the better text, minus its score of the worse. A teacher that needs
    references can teach an evaluator that needs none; pairs without a reference are left out.

    The text with the higher score is the better one, whatever the other source says; pairs with equal scores
    are left out. This is knowledge distillation (Hinton, Vinyals and Dean 2015). Use the objective
    `difference`, which learns margins; ranking objectives learn only the order.

    Args:
        pairs: the pair sources.
        teacher: a metric's name, such as `quality(model='large')` or an `ensemble`.
        number: number of pairs, the first ones of all sources in their order; by default, all.
        references: datasets with references for the sources of the pairs, for a teacher that needs
            references.
    """

    pairs: list[PairSource]
    teacher: str
    number: PositiveInt | None = None
    references: list[str] | None = None

    def __post_init__(self) -> None:
        self.metric: Metric = load_metric(self.teacher)
        self.metric.check_alone()
        if self.metric.needs_references != bool(self.references):
            needs = "references" if self.metric.needs_references else "no references"
            raise ConfigError(
                f"data.pairs: the teacher {self.teacher} needs {needs}; name datasets that have them under "
                "the key references, or leave the key out."
            )

    def describe(self) -> dict[str, Any]:
        """Return the parameters, and everything that the teacher's scores depend on."""
        teacher = self.metric.describe(Runtime()) | origin(type(self.metric))
        described = super().describe() | {"teacher": str(self.metric)}
        return described | {f"teacher:{key}": value for key, value in teacher.items()}

    def datasets(self) -> list[str]:
        """Return the datasets of the pairs and the training data of the teacher."""
        taught = (name for package in self.metric.packages() for name in package.datasets)
        return list(dict.fromkeys([*super().datasets(), *taught, *(self.references or [])]))

    def tools(self) -> list[str]:
        """Return the tools of the pair sources, and the pretrained models that the teacher reads."""
        metrics = [self.metric, *getattr(self.metric, "metrics", ())]
        read = (metric for metric in metrics if isinstance(metric, PretrainedMetric))
        return [*super().tools(), *(getattr(metric, metric.model_parameter) for metric in read)]

    def material(self) -> Iterator[str]:
        """Yield the material of the pair sources.

        Raises:
            LeakageError: the teacher was trained on text that was not checked for leakage.
        """
        for package in self.metric.packages():
            if not was_checked(package.manifest):
                raise LeakageError(
                    f"data.pairs: the teacher {package.name} learned from text that was not checked against "
                    "SEEDA, GJG15 and CoNLL-2014, so its pupil cannot be tested on them; to accept that, "
                    "set data.check_leakage: false."
                )
        yield from super().material()
        yield from reference_texts(self.references or [])

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs; scores that an interrupted run computed are read from the folder."""
        # The parent folder holds the pairs, so that other sources that use the same pairs find them.
        pairs = [pair for source in self.pairs for pair in source.load(folder.parent, runtime)[0]]
        references = pooled_references(self.references or [])
        if references:
            pairs = [pair for pair in pairs if " ".join(pair.source.split()) in references]
        pairs = pairs[: self.number]
        store = RowStore(folder, ["teacher"], width=1)
        quiet = replace(runtime.bound(), progress=False)

        def score(rows: Sequence[tuple[str, str]]) -> list[float]:
            sources, texts = zip(*rows, strict=True)
            known = References(((),) * len(rows))
            if references:
                pooled = (references[" ".join(source.split())] for source in sources)
                known = References(tuple(pooled))
            statistics = self.metric.compute(sources, texts, known, quiet)
            scores: list[float] = self.metric.sentence_scores(statistics).tolist()
            return scores

        texts = ((pair.source, text) for pair in pairs for text in (pair.better, pair.worse))
        rows = list(dict.fromkeys(texts))
        scores: dict[tuple[str, str], float] = {}
        for start in track(range(0, len(rows), _BLOCK), "teacher", show=runtime.progress):
            scores |= stored_scores(store, rows[start : start + _BLOCK], score)
        taught = []
        for pair in pairs:
            margin = scores[pair.source, pair.better] - scores[pair.source, pair.worse]
            if margin:
                sides = (pair.better, pair.worse) if margin > 0 else (pair.worse, pair.better)
                taught.append(replace(pair, better=sides[0], worse=sides[1], margin=abs(margin)))
        return taught
