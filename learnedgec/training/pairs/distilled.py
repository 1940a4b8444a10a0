"""Ranked pairs in the order of a metric, so that a small evaluator can learn from a large one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from jsonargparse.typing import PositiveInt

from learnedgec.data.references import References
from learnedgec.errors import ConfigError, LeakageError
from learnedgec.evaluators.packages import check_package, find_evaluator, learned_from, was_checked
from learnedgec.metrics.base import Metric
from learnedgec.metrics.needs import PretrainedMetric
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.plugins import origin
from learnedgec.runtime.progress import track
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.store import RowStore
from learnedgec.training.pairs.base import PairSource, RankedPair, stored_scores
from learnedgec.training.pairs.referenced import pooled_references, reference_texts

# Number of texts that are scored together. An interruption loses the work on one block.
_BLOCK = 2048


@dataclass
class DistilledPairs(PairSource):
    """The pairs of other pair sources, with the margin that a metric gives them.

    The margin is the teacher's score of the better text minus that of the worse one. A teacher that needs
    references can teach an evaluator that needs none; pairs without a reference are left out.

    With `order: teacher` the text with the higher score is the better one, whatever the other source says;
    pairs with equal scores are left out. This is knowledge distillation (Hinton, Vinyals and Dean 2015). Use
    the objective `difference`, which learns margins; ranking objectives learn only the order.

    With `order: pairs` the pairs stay as they are, and the margin is below 0 where the teacher prefers the
    worse text. Use the objective `residual`, which learns what the teacher leaves wrong.

    Args:
        pairs: the pair sources.
        teacher: a metric's name, such as `impara(quality='large')` or an `ensemble`.
        number: number of pairs, the first ones of all sources in their order; by default, all.
        references: datasets with references for the sources of the pairs, for a teacher that needs
            references.
        order: which text is the better one: by the `teacher`, or as in the `pairs`.
    """

    pairs: list[PairSource]
    teacher: str
    number: PositiveInt | None = None
    references: list[str] | None = None
    order: Literal["teacher", "pairs"] = "teacher"

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
        taught = (name for package in self.metric.evaluators() for name in learned_from(package))
        return list(dict.fromkeys([*super().datasets(), *taught, *(self.references or [])]))

    def tools(self) -> list[str]:
        """Return those of the pair sources, and the pretrained models that the teacher reads."""
        metrics = [self.metric, *getattr(self.metric, "metrics", ())]
        read = (metric for metric in metrics if isinstance(metric, PretrainedMetric))
        return [*super().tools(), *(getattr(metric, metric.model_parameter) for metric in read)]

    def material(self) -> Iterator[str]:
        """Yield the material of the pair sources.

        Raises:
            LeakageError: the teacher was trained on text that was not checked for leakage.
        """
        for name in self.metric.evaluators():
            if not was_checked(check_package(find_evaluator(name))):
                raise LeakageError(
                    f"data.pairs: the teacher {name} learned from text that was not checked against "
                    "SEEDA, GJG15 and CoNLL-2014, so its pupil cannot be tested on them; to accept that, "
                    "set data.check_leakage: false."
                )
        yield from super().material()
        yield from reference_texts(self.references or [])

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs; scores that an interrupted run computed are read from the folder."""
        # In the parent folder, where other sources that use the same pairs find them.
        pairs = [pair for source in self.pairs for pair in source.made(folder.parent, runtime)[0]]
        references = pooled_references(self.references or [])
        if references:
            pairs = [pair for pair in pairs if " ".join(pair.source.split()) in references]
        pairs = pairs[: self.number]
        store = RowStore(folder, ["teacher"], width=1)
        quiet = replace(runtime.bound(), progress=False)

        def score(rows: Sequence[tuple[str, str]]) -> list[float]:
            sources, texts = zip(*rows, strict=True)
            known = None
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
            if self.order == "pairs":
                taught.append(replace(pair, margin=margin))
            elif margin:
                sides = (pair.better, pair.worse) if margin > 0 else (pair.worse, pair.better)
                taught.append(replace(pair, better=sides[0], worse=sides[1], margin=abs(margin)))
        return taught
