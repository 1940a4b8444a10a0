"""Attribution: what each edit of a correction contributes to the score of a metric.

A metric that reads whole sentences does not score edits. But a set of edits T has a value v(T): the score of
the source with the edits T applied. From v follow three values of an edit e among the edits E of a
hypothesis:

    add one          v({e}) − v(∅)             the value of the edit alone
    leave one out    v(E) − v(E∖{e})           what is lost without it
    Shapley value    Σ_T |T|! (|E|−|T|−1)! / |E|! · (v(T∪{e}) − v(T)),   T ⊆ E∖{e}

The Shapley values share out exactly what the hypothesis gains: they sum to v(E) − v(∅), the score of the
hypothesis minus the score of the source. The other two need not.

Source: Goto, Vasselli and Watanabe, "Improving Explainability of Sentence-level Metrics via Edit-level
Attribution for Grammatical Error Correction" (2024), who scale the first two to the sum of the third; here
they are not scaled. Sampling: Castro, Gómez and Tejada, "Polynomial calculation of the Shapley value based on
sampling" (2009), with each permutation followed by its reverse (Mitchell et al., JMLR 2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from math import factorial

import numpy as np

from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.data.references import ReferenceRows, as_references
from learnedgec.data.sentences import Sentences, as_sentences
from learnedgec.data.text import check_lengths
from learnedgec.edits.annotator import available_annotator, extract_edits
from learnedgec.errors import InputError
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import AnyMetric, bind_one
from learnedgec.types import Floats, Indices


@dataclass(frozen=True, slots=True)
class Attribution:
    """The contributions of the E edits of one hypothesis to the metric's sentence score, in its units.

    Attributes:
        edits: from left to right.
        source_score: the score of the source left as it is.
        score: the score of the hypothesis, which is the source where there is no edit.
        add_one: float64 (E,), what each edit gains alone.
        leave_one_out: float64 (E,), what is lost without each edit.
        shapley: float64 (E,), the Shapley values; they sum to `score - source_score`.
        standard_error: float64 (E,), of the Shapley values; 0 where they are exact.
        exact: whether every set of edits was scored.
    """

    edits: tuple[Edit, ...]
    source_score: float
    score: float
    add_one: Floats
    leave_one_out: Floats
    shapley: Floats
    standard_error: Floats
    exact: bool


def attribute_edits(
    metric: AnyMetric,
    sources: Sentences,
    hypotheses: Sentences,
    references: ReferenceRows | None = None,
    *,
    edits: Sequence[Sequence[Edit]] | str | None = None,
    exact_up_to: int = 8,
    seed: int = 0,
    runtime: Runtime = Runtime(),
) -> list[Attribution]:
    """Return what each edit of each of N hypotheses contributes to a metric's sentence score.

    The metric is called once, with every distinct text that any set of edits makes. Sentences do not
    influence one another: neither the sample nor the result depends on what else is attributed.

    Args:
        metric: a metric's name such as `quality`, or a `Metric`; a metric that needs references gets the
            sentence's references with each text.
        sources: N sentences.
        hypotheses: N sentences.
        references: the references of the N sentences, if the metric needs them.
        edits: for each sentence, the edits that turn the source into the hypothesis; or the spaCy pipeline
            with which ERRANT finds them, by default the one that `errant` uses.
        exact_up_to: up to this many edits, each of the 2^E sets is scored; above, Shapley values are sampled
            from 64 orders of the edits, each of which takes up to E−1 texts.
        seed: the seed of the sample.
        runtime: how to run.

    Raises:
        LengthError: sources, hypotheses, references and edits differ in length.
        InputError: the metric's score of a sentence depends on other sentences, edits do not
            turn the source into the hypothesis, or a number is out of range.

    Example:
        >>> from learnedgec import Edit
        >>> edits = [[Edit(1, 2, "goes"), Edit(2, 2, "to")]]
        >>> attribution, = attribute_edits(
        ...     "length", ["He go school"], ["He goes to school"], edits=edits
        ... )
        >>> attribution.shapley.tolist(), attribution.score - attribution.source_score
        ([0.0, 1.0], 1.0)
    """
    if exact_up_to < 0 or exact_up_to > _MAX_EXACT:
        raise InputError(
            f"exact_up_to is {exact_up_to}; give a number from 0 to {_MAX_EXACT}: E edits have 2^E sets."
        )
    bound = bind_one(metric, runtime)
    bound.metric.check_alone()
    sources, hypotheses = (
        as_sentences(sources, "sources"),
        as_sentences(hypotheses, "hypotheses"),
    )
    gold = as_references(references, sources)
    check_lengths(("sources", sources), ("hypotheses", hypotheses))
    if edits is None or isinstance(edits, str):
        pairs = list(zip(sources, hypotheses, strict=True))
        edits = extract_edits(pairs, edits or available_annotator(), runtime=runtime)
    check_lengths(("sources", sources), ("edits", edits))
    games = [
        _Game(number, source, hypothesis, sentence_edits, exact_up_to, seed)
        for number, (source, hypothesis, sentence_edits) in enumerate(
            zip(sources, hypotheses, edits, strict=True), 1
        )
    ]
    # The metric computes equal texts of equal sentences once.
    rows = [number for number, game in enumerate(games) for _ in game.texts]
    statistics = bound.statistics(
        [sources[number] for number in rows],
        {"": [text for game in games for text in game.texts]},
        None if gold is None else gold.select(rows),
    )
    scores = iter(np.asarray(bound.metric.sentence_scores(statistics[""]), dtype=np.float64))
    return [game.attribution(np.array(list(islice(scores, len(game.texts))))) for game in games]


_MAX_EXACT, _ORDERS = 16, 64


class _Game:
    """One sentence: the sets of edits whose texts are scored, and what follows from the scores.

    A set is a number whose bits say which edits are in it: bit 0 for the leftmost.

    Attributes:
        sets: every set that is scored.
        texts: the text of each of them.
    """

    def __init__(
        self,
        number: int,
        source: str,
        hypothesis: str,
        edits: Sequence[Edit],
        exact_up_to: int,
        seed: int,
    ) -> None:
        # Sets of edits are told apart by position, and edits are applied from left to right.
        self.edits = tuple(sorted(edits, key=lambda edit: (edit.start, edit.end)))
        if apply_edits(source, self.edits).split() != hypothesis.split():
            raise InputError(
                f"the edits of sentence {number} make {apply_edits(source, self.edits)!r} from its source, "
                f"not the hypothesis {hypothesis!r}; give the edits that belong to it."
            )
        size = len(edits)
        whole = (1 << size) - 1
        self.exact = size <= exact_up_to
        if self.exact:
            self.sets = list(range(whole + 1))
        else:
            self.orders = _orders(size, seed)
            # Each order goes through E+1 sets, from none to all edits.
            self.chains = [
                list(accumulate((1 << place for place in order), initial=0))
                for order in self.orders.tolist()
            ]
            alone = [1 << place for place in range(size)]
            without = [whole ^ bit for bit in alone]
            ordered = [chosen for chain in self.chains for chosen in chain]
            self.sets = list(dict.fromkeys([0, whole, *alone, *without, *ordered]))
        # Both ends are scored as they were given.
        ends = {whole: hypothesis, 0: source}
        self.texts = [
            ends[chosen]
            if chosen in ends
            else apply_edits(
                source, [edit for place, edit in enumerate(self.edits) if chosen >> place & 1]
            )
            for chosen in self.sets
        ]

    def attribution(self, scores: Floats) -> Attribution:
        """Return what follows from the scores of the texts."""
        size = len(self.edits)
        value = dict(zip(self.sets, scores, strict=True))
        bits = [1 << place for place in range(size)]
        none, whole = value[0], value[(1 << size) - 1]
        shapley, error = (
            (_shapley(scores, size), np.zeros(size)) if self.exact else self._sampled(value)
        )
        return Attribution(
            edits=self.edits,
            source_score=float(none),
            score=float(whole),
            add_one=np.array([value[bit] - none for bit in bits]),
            leave_one_out=np.array([whole - value[(1 << size) - 1 ^ bit] for bit in bits]),
            shapley=shapley,
            standard_error=error,
            exact=self.exact,
        )

    def _sampled(self, value: dict[int, np.float64]) -> tuple[Floats, Floats]:
        """Return the mean gain of each edit over the orders, and its standard error.

        The gains of one order sum to the whole difference, and so do their means.
        """
        gains = np.empty(self.orders.shape)
        for row, (order, chain) in enumerate(zip(self.orders, self.chains, strict=True)):
            gains[row, order] = np.diff([value[chosen] for chosen in chain])
        # An order and its reverse are not independent; pairs of them are.
        pairs = gains.reshape(-1, 2, len(self.edits)).mean(axis=1)
        return gains.mean(axis=0), pairs.std(axis=0, ddof=1) / np.sqrt(len(pairs))


def _orders(size: int, seed: int) -> Indices:
    """Return int (P, E): random orders of the edits, each followed by its reverse."""
    random = np.random.default_rng([seed, size])
    orders = [random.permutation(size) for _ in range(_ORDERS // 2)]
    return np.array([both for order in orders for both in (order, order[::-1])])


def _shapley(values: Floats, size: int) -> Floats:
    """Return the Shapley values, (E,), from the value of every set of edits, (2^E,)."""
    sets = np.arange(1 << size)
    counts = np.array([chosen.bit_count() for chosen in sets.tolist()])
    weights = np.array(
        [factorial(k) * factorial(size - k - 1) / factorial(size) for k in range(size)]
    )
    shapley = np.empty(size)
    for place in range(size):
        without = sets[sets >> place & 1 == 0]
        gains = values[without | 1 << place] - values[without]
        shapley[place] = weights[counts[without]] @ gains
    return shapley
