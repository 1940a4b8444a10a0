"""UOT-ERRANT: edits as vectors, compared by optimal transport between hypothesis and reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from learnedgec.data.m2 import Edit, apply_edits, without_overlaps
from learnedgec.data.references import Reference, References
from learnedgec.edits.annotator import default_annotator
from learnedgec.errors import ParameterError
from learnedgec.metrics.contract import Statistics, describe_model, need_model
from learnedgec.metrics.edit_overlap import (
    EditCounts,
    EditRows,
    Record,
    TypedOverlap,
    edit_record,
    gold_edits,
    overlap_statistics,
)
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Texts

# A source and edits of it, for which vectors are computed.
_Target: TypeAlias = tuple[str, tuple[Edit, ...]]
# The vectors of a hypothesis' edits and of a reference's edits.
_Problem: TypeAlias = tuple[Floats, Floats]

_MAX_TOKENS = 128


@dataclass(frozen=True)
class UotErrant(TypedOverlap):
    """UOT-ERRANT: F over the mass that optimal transport moves from a hypothesis' edits to a reference's.

    `errant` extracts the edits. With e(·) the mean of an encoder's last states over all tokens
    of a text, the vector of edit u is the change that it makes (`vectors`):

        ref-remove    e(source with all edits) − e(source with all but u)
        src-add       e(source with u alone) − e(source)

    The mass of an edit is the length of its vector, or 1 divided by the number of edits (`mass`). To
    transport one unit of mass between two edits costs the distance of their vectors (`cost`). With the plan T
    of unbalanced optimal transport (`unbalanced_plans`), tp = Σ T, e = Σ mass of the hypothesis'
    edits and g = Σ mass of the reference's; precision, recall and F follow as in `m2`. The
    reference with the largest F so far is used. Among equal references, the largest tp decides, then the
    smallest e−tp, then the smallest g−tp, then the order.

    A perfect hypothesis does not score 1: one edit of mass m has P = R = m^(1/3), which is above 1
    for m > 1.

    Equal to the authors' code over `gec-metrics` 0.1 where its solver converges. That solver stops at once if
    no mass reaches some edit of the reference, because its mass is 0 or all costs are too large for 32 bits.

    Deviations:
    - Edits of zero mass (such as changes of case, if the encoder ignores case) take no part in transport. The
      released code fails on them as above: an F of 27,765 was seen.
    - The plan is solved to 1e-9 in logarithms. The released solver stops when the plan changes by 1e-6, which
      may leave an error of 5e-5 in mass where costs reach 6, and adds 1e-16 to divisors.
    - Costs are the vectors' distances in 64 bits. The released code's can be 5e-4 between equal
      vectors, which moves tp by up to 0.6 %.
    - A vector of zeros is orthogonal to all others (cosine); the F of the released code is NaN there.
    - Gold edits of an M2 file are taken as they are; the released code annotates the reference's text again.
    - Runs of spaces in a source are one space; the released code misplaces edits there.

    Source: Goto, Sakai and Watanabe, "Grammatical Error Correction Evaluation by Optimally Transporting
    Edit Representation" (TACL 2026).

    Attributes:
        encoder: hub id, directory or `pkg:module/folder`; texts are cut after 128 tokens.
        vectors: `ref-remove`, the effect of taking the edit away from all edits, or `src-add`, of adding it
            to the source.
        mass: `norm` or `uniform`.
        cost: `euclidean` or `cosine` (1 − cos).
        reg: the weight of entropy in the transport problem.
        reg_m: the weight of mass that is not transported.
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
    annotator: str = field(default_factory=default_annotator)
    types: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0 < self.reg < np.inf and 0 < self.reg_m < np.inf):
            raise ParameterError(f"{self}: reg and reg_m must be above 0.")

    def compare(
        self, sources: Texts, edits: EditRows, references: References, runtime: Runtime = Runtime()
    ) -> Statistics:
        """Return the masses of given edits; see `TypedOverlap.compare`."""
        pairs = [
            ((source, _corrected(sentence_edits)), (source, _corrected(gold_edits(reference))))
            for source, sentence_edits, row in zip(sources, edits, references, strict=True)
            for reference in row
        ]
        vectors = self._edit_vectors([target for pair in pairs for target in pair], runtime)
        plans = self._plans([(vectors[ours], vectors[theirs]) for ours, theirs in pairs])
        compared = iter(zip(pairs, plans, strict=True))
        rows: list[list[tuple[EditCounts, Record]]] = []
        for row in references:
            rows.append([])
            for reference in row:
                (ours, theirs), plan = next(compared)
                masses = self._masses(vectors[ours]), self._masses(vectors[theirs])
                counts = float(plan.sum()), float(masses[0].sum()), float(masses[1].sum())
                rows[-1].append((counts, _record(reference, ours, theirs, masses, plan)))
        return overlap_statistics(rows, references)

    def check(self, runtime: Runtime) -> None:
        """Raise unless model and annotator are available."""
        need_model(self, "encoder", self.encoder)
        super().check(runtime)

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the versions of annotator and encoder, and the precision."""
        return super().describe(runtime) | describe_model(self.encoder, runtime)

    def type_counts(self, record: Record) -> Iterator[tuple[str, Sequence[float]]]:
        """Yield the mass that each edit sends or receives, and that it does not.

        The mass of the hypothesis, transported or not, has the type of the hypothesis' edit. The mass of the
        reference that nothing is transported to has the type of the reference's edit.
        """
        for edit in record["edits"]:
            sent = edit["transported"]
            yield edit.get("type", ""), (sent, edit["mass"] - sent, 0.0)
        for edit in record["gold"]:
            yield edit["type"], (0.0, 0.0, edit["mass"] - edit["transported"])

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
        """Return the text that edits are added to or removed from, and the result for each edit."""
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
        """Return the mass that each edit of a hypothesis sends to each edit of the reference, float (E, G).

        Problems with equally many edits on either side are solved together.
        """
        plans = [np.zeros((len(ours), len(theirs))) for ours, theirs in problems]
        by_shape: dict[tuple[int, int], list[tuple[Any, ...]]] = {}
        for plan, (ours, theirs) in zip(plans, problems, strict=True):
            a, b = self._masses(ours), self._masses(theirs)
            rows, columns = np.flatnonzero(a), np.flatnonzero(b)
            if len(rows) and len(columns):
                costs = self._costs(ours[rows], theirs[columns])
                place = plan, np.ix_(rows, columns)
                by_shape.setdefault(costs.shape, []).append((place, a[rows], b[columns], costs))
        for group in by_shape.values():
            places, *numbers = zip(*group, strict=True)
            solved = unbalanced_plans(
                *map(np.stack, numbers), entropy=self.reg, marginal=self.reg_m
            )
            for (plan, cells), part in zip(places, solved, strict=True):
                plan[cells] = part
        return plans

    def _costs(self, ours: Array, theirs: Array) -> Array:
        """Return the cost of transport between vectors, float (E, G)."""
        costs: Array = cdist(ours, theirs, self.cost)
        return np.nan_to_num(costs, nan=1.0) if self.cost == "cosine" else costs


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
    _, gold = theirs
    record = edit_record(
        source,
        reference,
        [(edit, any(_is_same(edit, gold_edit) for gold_edit in gold)) for edit in edits],
        [(gold_edit, any(_is_same(edit, gold_edit) for edit in edits)) for gold_edit in gold],
    )
    for axis, side in ((1, "edits"), (0, "gold")):
        sent = plan.sum(axis=axis).tolist()
        for entry, mass, moved in zip(record[side], masses[1 - axis].tolist(), sent, strict=True):
            entry |= {"mass": mass, "transported": moved}
    return record


def _is_same(edit: Edit, gold: Edit) -> bool:
    """Return whether an edit is a gold edit, with any of its corrections."""
    return (edit.start, edit.end) == (gold.start, gold.end) and edit.correction in gold.corrections


# The largest relative error of a plan.
_TOLERANCE = 1e-9


def unbalanced_plans(
    first: Floats, second: Floats, costs: Floats, *, entropy: float, marginal: float
) -> Floats:
    """Return the plans that solve B problems of entropic unbalanced optimal transport.

    Each plan P minimises ⟨P, M⟩ + ε·KL(P | a·bᵀ) + ρ·KL(P·1 | a) + ρ·KL(Pᵀ·1 | b). It has the form
    P = aᵢ·bⱼ·exp(fᵢ + gⱼ − Mᵢⱼ/ε), and the scaling algorithm finds f and g in turns, here as
    logarithms, so that nothing underflows:

        fᵢ = −φ·log Σⱼ bⱼ·exp(gⱼ − Mᵢⱼ/ε),   gⱼ = −φ·log Σᵢ aᵢ·exp(fᵢ − Mᵢⱼ/ε),   φ = ρ/(ρ + ε)

    Each turn multiplies their distance to the solution by at most φ², so the algorithm always ends.

    Source: Chizat et al., "Scaling Algorithms for Unbalanced Optimal Transport Problems" (2018).

    Args:
        first: the masses a, above 0, float (B, n).
        second: the masses b, above 0, float (B, m).
        costs: M, float (B, n, m).
        entropy: ε, above 0.
        marginal: ρ, above 0.

    Returns:
        float64 (B, n, m).

    Example:
        >>> one = np.ones((1, 1))
        >>> plan = unbalanced_plans(one, one, np.full((1, 1, 1), 0.3), entropy=0.1, marginal=0.1)
        >>> round(float(plan[0, 0, 0]), 4), round(float(np.exp(-1)), 4)
        (0.3679, 0.3679)
    """
    share = marginal / (marginal + entropy)
    log_first, log_second = np.log(first), np.log(second)
    scaled = -costs / entropy
    f, g = np.zeros_like(log_first), np.zeros_like(log_second)
    bound = _TOLERANCE * (1 - share * share)
    change = np.inf
    while change > bound:
        before = f
        f = -share * logsumexp(scaled + (log_second + g)[:, None, :], axis=2)
        g = -share * logsumexp(scaled + (log_first + f)[:, :, None], axis=1)
        change = float(np.abs(f - before).max(initial=0.0))
    plans: Floats = np.exp((log_first + f)[:, :, None] + (log_second + g)[:, None, :] + scaled)
    return plans
