"""UOT-ERRANT: edits as vectors, compared by optimal transport between hypothesis and reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from learnedgec.data.m2 import Edit, apply_edits, without_overlaps
from learnedgec.data.references import Reference, References
from learnedgec.edits.annotator import extract_edits
from learnedgec.edits.error_types import Tier, at_tier, check_types
from learnedgec.edits.parsing import default_annotator, describe_annotator
from learnedgec.edits.targets import edits_of_targets
from learnedgec.errors import InputError, ParameterError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.edit_counts import EditCounts
from learnedgec.metrics.edit_overlap import EditOverlap, overlap_statistics
from learnedgec.metrics.m2 import edit_record
from learnedgec.metrics.needs import need_model
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.stats.transport import unbalanced_plans
from learnedgec.types import Array, Floats

__all__ = ["UotErrant"]

# A source and edits of it: what a vector of each edit is made from.
_Target: TypeAlias = tuple[str, tuple[Edit, ...]]
# Vectors of a hypothesis' edits and of a reference's.
_Problem: TypeAlias = tuple[Floats, Floats]

_MAX_TOKENS = 128
# A scaling vector above this is absorbed by the released solver, and 1e-16 is added to what it divides by.
_ABSORBED, _TINY = 1e5, 1e-16


@dataclass(frozen=True)
class UotErrant(EditOverlap):
    """UOT-ERRANT: F over the mass that optimal transport moves from a hypothesis' edits to a reference's.

    The edits are those of `errant`. With e(·) the mean of an encoder's last states over all tokens
    of a text, the vector of edit u is what it changes (`vectors`):

        ref-remove    e(source with all edits) − e(source with all but u)
        src-add       e(source with u alone) − e(source)

    The mass of an edit is the length of its vector, or 1 divided by the number of edits (`mass`). To
    transport one unit of mass between two edits costs the distance of their vectors (`cost`). With the plan T
    of unbalanced optimal transport (`learnedgec.stats.transport`), tp = Σ T, e = Σ mass of the hypothesis'
    edits and g = Σ mass of the reference's; precision, recall and F are those of any edit overlap. The
    reference is the one with the largest F so far, then the largest tp, then the smallest e−tp, then the
    smallest g−tp, then the first.

    A perfect hypothesis does not score 1: one edit of mass m has P = R = m^(1/3), which is above 1
    for m > 1.

    Equal to the authors' code over `gec-metrics` 0.1 where its solver converges. With `official=True`, it is
    also equal where the solver does not converge: the solver stops at once if no mass reaches some edit of
    the reference, because its mass is 0 or all costs are too large for 32 bits. The plan is then
    aᵢ·bⱼ·exp(−costᵢⱼ/reg), times up to 1e16.

    Deviations:
    - Edits of zero mass (such as changes of case, if the encoder ignores case) take no part in transport. The
      released code fails on them as above: an F of 27,765 was seen.
    - The plan is solved to 1e-9 in logarithms. The released solver stops when the plan changes by 1e-6, which
      may leave an error of 5e-5 in mass where costs reach 6, and adds 1e-16 to divisors.
    - Costs are the vectors' distances in 64 bits. The released code's can be 5e-4 between equal
      vectors, which moves tp by up to 0.6 %; `official=True` computes them as it does.
    - A vector of zeros is orthogonal to all others (cosine); the F of the released code is NaN there.
    - Gold edits of an M2 file are taken as they are; the released code annotates the reference's text again.
    - Runs of spaces in a source are one space; the released code misplaces edits there.

    Source: Goto, Sakai and Watanabe, "Grammatical Error Correction Evaluation by Optimally Transporting
    Edit Representation" (TACL 2026).

    Attributes:
        beta: the weight of recall against precision; 0.5 counts precision twice as much.
        level: what the corpus score is: `corpus`, of summed counts, or `sentence`, a mean of sentence scores.
        encoder: hub id, directory or `pkg:module/folder`; texts are cut after 128 tokens.
        vectors: `ref-remove`, the effect of taking the edit away from all edits, or `src-add`, of adding it
            to the source.
        mass: `norm` or `uniform`.
        cost: `euclidean` or `cosine` (1 − cos).
        reg: the weight of entropy in the transport problem.
        reg_m: the weight of mass that is not transported.
        official: follow the released code where its solver fails.
        annotator: the spaCy pipeline that finds edits: see `errant`.
        types: classify a system's edits even if the score does not need their types, for `by_type`.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("uot-errant(encoder='bert-base-cased', annotator='en-ewt-sm')").label
        "uot-errant(encoder='bert-base-cased', annotator='en-ewt-sm')"
    """

    name: ClassVar[str] = "uot-errant"
    encoder: str = "google/electra-base-discriminator"
    vectors: Literal["ref-remove", "src-add"] = "ref-remove"
    mass: Literal["norm", "uniform"] = "norm"
    cost: Literal["euclidean", "cosine"] = "euclidean"
    reg: float = 0.1
    reg_m: float = 0.1
    official: bool = False
    annotator: str = field(default_factory=default_annotator)
    types: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0 < self.reg < np.inf and 0 < self.reg_m < np.inf):
            raise ParameterError(f"{self}: reg and reg_m must be above 0.")

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return the masses of every sentence and reference, with the edits as records."""
        assert references is not None
        extract = partial(
            extract_edits, annotator=self.annotator, types=self.types, runtime=runtime
        )
        edits, annotated = edits_of_targets(sources, hypotheses, references, extract)
        if self.types:
            check_types(edits, references, "give the references as texts, without gold edits")
        return self.compare(sources, edits, annotated, runtime=runtime)

    def compare(
        self,
        sources: Sequence[str],
        edits: Sequence[Sequence[Edit]],
        references: References,
        *,
        runtime: Runtime = Runtime(),
    ) -> Statistics:
        """Return the statistics of given edits, such as those of an M2 file.

        Args:
            sources: N sentences.
            edits: a system's edits in each sentence.
            references: references with edits.
            runtime: how to run the encoder.

        Raises:
            InputError: a reference has no edits.
        """
        pairs = [
            ((source, _corrected(made)), (source, _corrected(_gold(reference))))
            for source, made, row in zip(sources, edits, references, strict=True)
            for reference in row
        ]
        vectors = self._edit_vectors([target for pair in pairs for target in pair], runtime)
        masses = {target: self._masses(found) for target, found in vectors.items()}
        plans = iter(self._plans([(vectors[ours], vectors[theirs]) for ours, theirs in pairs]))
        remaining = iter(pairs)
        sums: list[list[EditCounts]] = []
        records: list[list[dict[str, Any]]] = []
        for row in references:
            sums.append([])
            records.append([])
            for reference in row:
                (ours, theirs), plan = next(remaining), next(plans)
                a, b = masses[ours], masses[theirs]
                sums[-1].append(EditCounts(float(plan.sum()), float(a.sum()), float(b.sum())))
                records[-1].append(_record(reference, ours, theirs, (a, b), plan))
        return overlap_statistics(sums, references, records)

    def preference(self, counts: EditCounts) -> tuple[Array, ...]:
        """Return F, tp, −fp and −fn."""
        tp, fp, fn = map(np.asarray, (counts.tp, counts.fp, counts.fn))
        return counts.f(self.beta), tp, -fp, -fn

    def typed(self) -> Metric:
        """Return the metric with types for the edits of systems."""
        return replace(self, types=True)

    def check(self, runtime: Runtime) -> None:
        """Raise unless the model is available."""
        need_model(self, "encoder", self.encoder)

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the versions of annotator and encoder, and the precision."""
        from learnedgec.evaluators.loading import checkpoint_digest
        from learnedgec.evaluators.precision import model_precision

        return {
            **describe_annotator(self.annotator),
            "sha256": checkpoint_digest(self.encoder),
            "dtype": model_precision(runtime),
        }

    def by_type(self, statistics: Statistics, tier: Tier = "type") -> dict[str, dict[str, float]]:
        """Return tp, fp, fn, precision, recall and F by error type, over the chosen references.

        The mass of the hypothesis, transported or not, has the type of the hypothesis' edit; mass of the
        reference that is not reached has the type of the reference's edit. The type with the largest mass in
        references comes first.

        Raises:
            InputError: the edits of systems have no types; use `uot-errant(types=True)`.
        """
        if not self.types:
            raise InputError(
                f"the edits of {self.label} have no types; score with {self.name}(types=True)."
            )
        sums: dict[str, Floats] = {}
        for record, choice in zip(statistics.records, self.chosen(statistics), strict=True):
            for side, columns in (("edits", (0, 1)), ("gold", (None, 2))):
                for edit in record[choice][side]:
                    moved, mass = edit["transported"], edit["mass"]
                    total = sums.setdefault(at_tier(edit.get("type", ""), tier), np.zeros(3))
                    for column, amount in zip(columns, (moved, mass - moved), strict=True):
                        if column is not None:
                            total[column] += amount
        table: dict[str, dict[str, float]] = {}
        for kind, total in sorted(sums.items(), key=lambda item: (-item[1][[0, 2]].sum(), item[0])):
            tp, fp, fn = total
            counts = EditCounts(tp, tp + fp, tp + fn)
            figures = {
                "precision": counts.precision,
                "recall": counts.recall,
                f"f{self.beta:g}": counts.f(self.beta),
            }
            table[kind] = {
                **dict(zip(("tp", "fp", "fn"), total.tolist(), strict=True)),
                **{name: float(value) for name, value in figures.items()},
            }
        return table

    # -- vectors --------------------------------------------------------------------------------

    def _edit_vectors(self, targets: Sequence[_Target], runtime: Runtime) -> dict[_Target, Floats]:
        """Return the vectors of each distinct target's edits, float (E, H), from one pass of the encoder."""
        from learnedgec.evaluators.inference import sentence_vectors

        texts: dict[str, int] = {}
        places = {
            target: [texts.setdefault(text, len(texts)) for text in self._texts(*target)]
            for target in dict.fromkeys(targets)
        }
        states = sentence_vectors(
            self.encoder, list(texts), runtime, max_length=_MAX_TOKENS, description="edit vectors"
        )
        sign = 1 if self.vectors == "ref-remove" else -1
        return {
            target: sign * (states[base] - states[others])
            for target, (base, *others) in places.items()
        }

    def _texts(self, source: str, edits: tuple[Edit, ...]) -> list[str]:
        """Return the text that edits are taken from or added to, and what each edit makes of it."""
        if not edits:
            return [apply_edits(source, ())]
        if self.vectors == "src-add":
            return [apply_edits(source, ()), *(apply_edits(source, [edit]) for edit in edits)]
        without = (edits[:number] + edits[number + 1 :] for number in range(len(edits)))
        return [apply_edits(source, edits), *(apply_edits(source, rest) for rest in without)]

    def _masses(self, vectors: Floats) -> Floats:
        """Return the mass of each vector, float (E,)."""
        if self.mass == "uniform":
            return np.full(len(vectors), 1 / max(len(vectors), 1))
        masses: Floats = np.linalg.norm(vectors, axis=1)
        return masses

    # -- transport ------------------------------------------------------------------------------

    def _plans(self, problems: Sequence[_Problem]) -> list[Floats]:
        """Return how much mass each edit of a hypothesis sends to each of the reference, float (E, G).

        Problems with equally many edits on either side are solved together.
        """
        plans = [np.zeros((len(ours), len(theirs))) for ours, theirs in problems]
        alike: dict[tuple[int, int], list[tuple[int, Array, Array, Floats]]] = {}
        for number, (ours, theirs) in enumerate(problems):
            a, b = self._masses(ours), self._masses(theirs)
            if self.official and plans[number].size:
                ours, theirs = ours.astype(np.float32), theirs.astype(np.float32)
                failed = self._failed_plan(ours, theirs)
                if failed is not None:
                    plans[number] = failed
                    continue
            rows, columns = np.flatnonzero(a), np.flatnonzero(b)
            if len(rows) and len(columns):
                costs = self._costs(ours[rows], theirs[columns])
                shape = (len(rows), len(columns))
                alike.setdefault(shape, []).append((number, rows, columns, costs))
        for group in alike.values():
            found = unbalanced_plans(
                np.stack([self._masses(problems[number][0])[rows] for number, rows, _, _ in group]),
                np.stack([self._masses(problems[number][1])[cols] for number, _, cols, _ in group]),
                np.stack([costs for *_, costs in group]),
                entropy=self.reg,
                marginal=self.reg_m,
            )
            for (number, rows, columns, _), plan in zip(group, found, strict=True):
                plans[number][np.ix_(rows, columns)] = plan
        return plans

    def _costs(self, ours: Array, theirs: Array) -> Array:
        """Return the cost of transport between vectors, float (E, G)."""
        costs: Array
        if self.cost == "cosine":
            costs = np.nan_to_num(cdist(ours, theirs, "cosine"), nan=1.0)
        elif self.official:
            squares = (ours**2).sum(axis=1)[:, None] + (theirs**2).sum(axis=1)
            costs = np.sqrt(np.maximum(squares - 2 * (ours @ theirs.T), 0))
        else:
            costs = cdist(ours, theirs)
        return costs

    def _failed_plan(self, ours: Array, theirs: Array) -> Floats | None:
        """Return the released solver's plan if it stops in its first iteration, else `None`.

        Args:
            ours: the hypothesis' vectors, float32 (E, H).
            theirs: the reference's, float32 (G, H).
        """
        a, b = (self._masses(vectors) for vectors in (ours, theirs))
        share = self.reg_m / (self.reg_m + self.reg)
        with np.errstate(divide="ignore", over="ignore"):
            kernel = np.exp(np.log(a[:, None] * b) - self._costs(ours, theirs) / self.reg)
        u = (a / (kernel.sum(axis=1) + _TINY)) ** share
        reached = kernel.T @ u
        if reached.all():
            return None
        v = (b / (reached + _TINY)) ** share
        scale = float(u.max()) * float(v.max()) if max(u.max(), v.max()) > _ABSORBED else 1.0
        plan: Floats = scale * kernel.astype(np.float64)
        return plan


def _gold(reference: Reference) -> Sequence[Edit]:
    if reference.edits is None:
        raise InputError("a reference without edits was given; give an M2 file's.")
    return reference.edits


def _corrected(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Return the edits that correct something, by position and without overlaps."""
    return tuple(without_overlaps(edit for edit in edits if edit.type != "UNK"))


def _record(
    reference: Reference,
    ours: _Target,
    theirs: _Target,
    masses: tuple[Floats, Floats],
    plan: Floats,
) -> dict[str, Any]:
    """Return the record that explains the transport between the edits of a sentence and of a reference."""
    source, edits = ours
    gold = theirs[1]
    matched = [
        (number, other)
        for number, edit in enumerate(edits)
        for other, wanted in enumerate(gold)
        if (edit.start, edit.end) == (wanted.start, wanted.end)
        and edit.correction in wanted.corrections
    ]
    left, right = {number for number, _ in matched}, {other for _, other in matched}
    record = edit_record(source, reference, edits, gold, left, right)
    for axis, side in ((1, "edits"), (0, "gold")):
        sent = plan.sum(axis=axis).tolist()
        for entry, mass, moved in zip(record[side], masses[1 - axis].tolist(), sent, strict=True):
            entry |= {"mass": mass, "transported": moved}
    return record
