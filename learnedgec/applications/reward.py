"""A metric as the reward of reinforcement learning, with safeguards against gaming.

A policy that is trained on a learned metric finds what the metric overrates: texts that read well but mean
something else, truncated texts, or chatter around the source. So a reward has a floor for outputs that
cannot be corrections of their source (`is_correction`), may charge for a changed meaning (`MeaningPenalty`)
and for edits, and can watch a second metric that the policy is not trained on: where the reward rises and the
watched metric falls, the policy is gaming. Small edits that change the meaning, such as a negation, pass
`some`, `impara` and `preference`, which need the penalty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Indel

from learnedgec.applications.completions import Completion, completed_text, extract_correction
from learnedgec.applications.meaning import (
    SENTENCE_ENDS,
    changed_negations,
    changed_sentences,
    exchanged_facts,
    tokens_of,
    without_contractions,
)
from learnedgec.data.references import References, references_of_record
from learnedgec.data.sentences import as_items, as_sentences
from learnedgec.edits.tokenisation import tokenise
from learnedgec.errors import ConfigError, InputError, UnknownNameError
from learnedgec.metrics.base import Gated, Statistics
from learnedgec.metrics.bound import BoundMetric, checked_inputs
from learnedgec.metrics.counts import EditCount
from learnedgec.metrics.gated import kept_shares
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import AnyMetric, bind_one
from learnedgec.types import Floats, Texts

if TYPE_CHECKING:
    from typing_extensions import Unpack

# At most .2 % of strong systems' outputs on BEA-19 dev (`pillars:dev`) keep less or have a longer edit, and
# .1 to 5.8 % of human rewritings (the references of `jfleg:dev` and `gmeg`). At most .2 % of systems' outputs
# on SEEDA, and .03 % of these rewritings, add or drop a sentence of two words.
_MIN_KEPT_SHARE = 0.4
_MIN_LIMIT, _MAX_LIMIT = 2, 4
# A mark between spaces shows that a text is tokenised.
_SEPARATE_MARK = re.compile(r"(?:^|\s)[.,!?;:](?:\s|$)")


def is_correction(sources: Texts, texts: Texts) -> npt.NDArray[np.bool_]:
    """Return whether each text may be a correction of its source, whatever a metric scores it.

    A text is no correction if it is empty, if it shares less than .4 of its trigrams of characters with its
    source, or the source with it (`kept_shares`), if one edit changes the number of tokens by more than a
    quarter of the source's (at least 2 and at most 4 tokens), or if one adds or drops a sentence of two words
    or more. So truncated, padded, repeated and unrelated texts are no corrections.

    Args:
        sources: N sentences.
        texts: N sentences.

    Example:
        >>> source = "He go to school because he like to learn ."
        >>> texts = ["He goes to school because he likes to learn .", "He goes to school .", source * 2, ""]
        >>> is_correction([source] * 4, texts).tolist()
        [True, False, False, False]
    """
    return np.array(
        [
            bool(text.split()) and kept >= _MIN_KEPT_SHARE and _has_local_edits(source, text)
            for source, text, kept in zip(sources, texts, kept_shares(sources, texts), strict=True)
        ],
        dtype=bool,
    )


def _has_local_edits(source: str, text: str) -> bool:
    """Return whether no edit changes the length more than an honest one does, or adds or drops a sentence."""
    before, after = (tokens_of(without_contractions(each.casefold())) for each in (source, text))
    limit = np.clip(len(before) // 4, _MIN_LIMIT, _MAX_LIMIT)
    for _, *places in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        removed, inserted = before[places[0] : places[1]], after[places[2] : places[3]]
        ends = _count_sentence_ends(inserted) - _count_sentence_ends(removed)
        words = _count_words(inserted) - _count_words(removed)
        if abs(len(inserted) - len(removed)) > limit or (ends * words > 0 and abs(words) > 1):
            return False
    return True


def _spaced_like_source(source: str, text: str) -> str:
    """Return a text tokenised if its source is, and the source itself if only their spaces differ."""
    if source.replace(" ", "") == text.replace(" ", ""):
        return source
    needs_spaces = _SEPARATE_MARK.search(source) and not _SEPARATE_MARK.search(text)
    return tokenise([text])[0] if needs_spaces else text


def _count_sentence_ends(tokens: Sequence[str]) -> int:
    return sum(token in SENTENCE_ENDS for token in tokens)


def _count_words(tokens: Sequence[str]) -> int:
    return sum(map(str.isalnum, tokens))


@dataclass(frozen=True, slots=True)
class MeaningPenalty:
    """The penalty of a reward for a changed meaning.

    It is the sum of weight · max(0, m(source) − m(text) − slack) + fact · n over the sentences that differ
    (`changed_sentences`). m is the score of a metric that reads source and text after contractions such as
    *don't* are written out; honest corrections lose a little of it. n counts the English negations, such as
    *not* and *nobody*, that the text lacks or adds (`changed_negations`), and the facts, such as numbers and
    weekdays, that it exchanges (`exchanged_facts`), because metrics miss some of these. With the defaults
    (docs/explanation/hacking.md), a changed meaning mostly costs more than a small correction earns in the
    default reward.

    Attributes:
        metric: the metric m, or its name.
        weight: reward per unit of m.
        slack: the part of m that a text may lose without a charge.
        fact: reward per negation or fact that changes.

    Example:
        >>> kind = reward("constant", meaning=MeaningPenalty("length", weight=0.5, slack=1))
        >>> kind(completions=["He goes .", "He .", "He does not go ."], source=["He go home ."] * 3)
        [0.0, -0.5, -12.0]
    """

    metric: AnyMetric = "head[open-mpnet.meaning]"
    weight: float = 3.0
    slack: float = 2.0
    fact: float = 12.0


@dataclass(frozen=True, slots=True)
class Watched:
    """The means of one step: of its rewards, and of the scores by the rewarded and the watched metric.

    Attributes:
        reward: the mean reward.
        score: the mean score of the rewarded metric.
        watched: the mean score of the watched metric; NaN without one.
        floored: the share of completions that got the floor.
    """

    reward: float
    score: float
    watched: float
    floored: float


@dataclass
class Reward:
    """A callable with the signature of TRL's reward functions; see `reward`.

    Attributes:
        metric: the rewarded metric; it needs no references, or reads them from a column.
        source: the column that holds the sources.
        references: the column that holds each source's references (a text or a list of texts), for a metric
            that needs them.
        extract: function from a completion to the correction in it; by default `extract_correction`, which
            also gets the source.
        centre: whether the score of the unchanged source is subtracted, so that doing nothing earns 0.
        edit_penalty: the penalty per edited token, divided by the number of tokens of the source.
        meaning: the penalty for a changed meaning.
        floor: a completion that the metric's gate rejects, or that is no correction (`is_correction`), earns
            this minus its distance from the source, which is at most 1. So it earns less than a copy of the
            source, and a policy that writes only such texts still learns to come closer to the source.
        watch: a metric that the policy is not trained on; its means are in `history`, and in the log of a
            trainer that gives its reward functions `log_metric` (TRL).
        history: one entry for each call.

    Example: `reward`.
    """

    metric: BoundMetric
    source: str = "source"
    references: str | None = None
    extract: Callable[[str], str] | None = None
    centre: bool = False
    edit_penalty: float = 0.0
    meaning: MeaningPenalty | None = None
    floor: float | None = None
    watch: BoundMetric | None = None
    history: list[Watched] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        # Trainers log a reward under its name.
        self.__name__ = self.metric.metric.name
        if self.edit_penalty < 0:
            raise ConfigError(
                f"edit_penalty is {self.edit_penalty}; a number of 0 or more was expected."
            )
        if not isinstance(self.meaning, MeaningPenalty | None):
            raise ConfigError(
                f"meaning is {self.meaning!r}; MeaningPenalty(), perhaps with another weight, was expected."
            )
        if self.meaning is not None:
            # A metric that cannot be used raises its error now, and not in training.
            bind_one(self.meaning.metric, self.metric.runtime)
        for metric in filter(None, (self.metric, self.watch)):
            metric.metric.check_alone()
            if metric.metric.needs_references and self.references is None:
                raise ConfigError(
                    f"{metric.label} needs references; name the column that holds them by references=…"
                )

    def __repr__(self) -> str:
        values = {each.name: getattr(self, each.name) for each in fields(self)[1:] if each.repr}
        given = [
            f"{name}={(value.label if isinstance(value, BoundMetric) else value)!r}"
            for name, value in values.items()
            if value not in (None, False, 0.0)
        ]
        return f"Reward({', '.join([repr(self.metric.label), *given])})"

    def __call__(
        self,
        prompts: Sequence[Completion] | None = None,
        completions: Sequence[Completion] | None = None,
        **columns: Any,
    ) -> list[float]:
        """Return the reward of each completion of one step.

        Outside a trainer, call it with two lists: `completions=[…], source=[…]`.

        Args:
            prompts: unused; trainers give them.
            completions: N texts or chats; the last message of a chat counts.
            columns: the data set's columns, each of length N, and any other arguments of the trainer. A
                function `log_metric` receives the means of this step by name: `impara/score`,
                `impara/floored`, and of the watched metric `gleu/watched`.

        Raises:
            InputError: the completions or the column of the sources are not there, are no lists, or are not
                parallel, or references are `None`.
        """
        answers = [
            completed_text(completion, f"completions[{place}]")
            for place, completion in enumerate(as_items(completions, "completions", self._lists))
        ]
        if not answers:
            return []
        sources, references = self._read_columns(columns, len(answers))
        corrections = (
            map(self.extract, answers)
            if self.extract
            else map(extract_correction, answers, sources)
        )
        texts = list(map(_spaced_like_source, sources, corrections))
        if self.metric.runtime.tokenise == "spacy":
            sources, texts = tokenise(sources), tokenise(texts)
        if not self.history:
            # Likely mistakes are reported once, not at each step.
            inputs = (sources, {"completions": texts}, references, self.metric.runtime)
            checked_inputs([self.metric], *inputs)
        systems = {"completions": texts, **({"sources": sources} if self.centre else {})}
        statistics = self.metric.statistics(sources, systems, references)
        scores = _sentence_scores(self.metric, statistics["completions"])
        unchanged = _sentence_scores(self.metric, statistics["sources"]) if self.centre else 0
        rewards = scores - unchanged
        if self.edit_penalty:
            edits = EditCount().statistics(sources, texts)["score"]
            sizes = np.array([max(len(source.split()), 1) for source in sources])
            rewards -= self.edit_penalty * edits / sizes
        if self.meaning is not None:
            rewards -= self._meaning_charges(self.meaning, sources, texts)
        rejected = ~is_correction(sources, texts)
        if isinstance(self.metric.metric, Gated):
            rejected |= ~self.metric.metric.accepted(statistics["completions"])
        if self.floor is not None:
            distances = np.array(list(map(Indel.normalized_distance, sources, texts)))
            rewards[rejected] = self.floor - distances[rejected]
        watched = np.array([np.nan])
        if self.watch is not None:
            (watched_statistics,) = self.watch.statistics(sources, {"": texts}, references).values()
            watched = _sentence_scores(self.watch, watched_statistics)
        means = map(float, map(np.mean, (rewards, scores, watched, rejected)))
        self._record(Watched(*means), columns.get("log_metric"))
        return list(map(float, rewards))

    def _read_columns(
        self, columns: Mapping[str, Any], size: int
    ) -> tuple[list[str], References | None]:
        """Return the sources and the references of a step, or raise `InputError`."""
        sources = as_sentences(self._column(columns, self.source, size), self.source)
        if self.references is None:
            return sources, None
        rows = enumerate(self._column(columns, self.references, size), 1)
        place = f"the column {self.references!r} in row"
        return sources, References.from_rows(
            [references_of_record(row, f"{place} {number}") for number, row in rows]
        )

    def _record(self, step: Watched, log: Any) -> None:
        """Add the means of a step to the history, and to the log of a trainer that gives one."""
        self.history.append(step)
        if callable(log):
            log(f"{self.__name__}/score", step.score)
            log(f"{self.__name__}/floored", step.floored)
            if self.watch is not None:
                log(f"{self.watch.metric.name}/watched", step.watched)

    def _meaning_charges(self, penalty: MeaningPenalty, sources: Texts, texts: Texts) -> Floats:
        """Return the penalty of each text for a changed meaning, the sum over its changed sentences."""
        penalties, metric = np.zeros(len(texts)), bind_one(penalty.metric, self.metric.runtime)
        changed = [changed_sentences(*pair) for pair in zip(sources, texts, strict=True)]
        if pairs := [pair for sentences in changed for pair in sentences]:
            before, after = (
                list(map(without_contractions, sentences)) for sentences in zip(*pairs, strict=True)
            )
            systems = metric.statistics(before, {"text": after, "source": before})
            of_source, of_text = (
                _sentence_scores(metric, systems[name]) for name in ("source", "text")
            )
            charges = penalty.weight * np.maximum(0, of_source - of_text - penalty.slack)
            for count_changes in (changed_negations, exchanged_facts):
                charges += penalty.fact * np.array(list(map(count_changes, before, after)))
            rows = np.repeat(np.arange(len(texts)), list(map(len, changed)))
            np.add.at(penalties, rows, charges)
        return penalties

    def _column(self, columns: Mapping[str, Any], name: str, size: int) -> list[Any]:
        """Return a column of the data set, or raise `InputError`."""
        if name not in columns:
            names = ", ".join(sorted(columns)) or "none"
            raise InputError(
                f"there is no column {name!r} (given: {names}); {self._lists} was expected; or name the data "
                "set's column by source=… or references=… of learnedgec.reward."
            )
        column = as_items(columns[name], name, self._lists)
        if len(column) != size:
            raise InputError(
                f"{name} has {len(column)} rows, and completions has {size}; give one for each."
            )
        return column

    @property
    def _lists(self) -> str:
        """The lists that a call needs, for messages."""
        references = f", {self.references}=[…]" if self.references else ""
        return f"a list, as in completions=[…], {self.source}=[…]{references},"


# With the weight 5.5, a small correction earns 2.5 in the median (docs/explanation/hacking.md), and accepted
# texts earn more than the floor.
_METRIC = "head(model='open-mpnet', weights={'quality': 5.5})"
_FLOOR = -10.0


class Options(TypedDict, total=False):
    """The attributes of `Reward` that may be given; `watch` may be a name."""

    source: str
    references: str
    extract: Callable[[str], str] | None
    centre: bool
    edit_penalty: float
    meaning: MeaningPenalty | None
    floor: float | None
    watch: AnyMetric | None


def reward(
    metric: AnyMetric | None = None, *, runtime: Runtime = Runtime(), **options: Unpack[Options]
) -> Reward:
    """Return a metric as a reward function for TRL's trainers, or any other.

    The function gets a step's completions and the data set's columns, scores each distinct completion once
    and all of them in one batch, and returns a float for each. It computes no gradient, keeps to
    `runtime.device`, and can be pickled.

    Args:
        metric: a metric or its name. By default, 5.5 times the output `quality` of `open-mpnet`, which reads
            the hypothesis, with `centre`, a `floor` of -10 and the `MeaningPenalty`.
        runtime: how to run.
        options: the attributes of `Reward`; `watch` may be a name too.

    Raises:
        ConfigError: an option cannot be used.
        InputError: the metric's score of a sentence depends on other sentences.
        UnknownNameError, ParameterError, BadNameError: no metric or option has this name.

    Example:
        >>> shorter = reward("length", centre=True, watch="edit-count")
        >>> shorter(completions=["He goes home .", "He ."], source=["He go home ."] * 2)
        [0.0, -2.0]
        >>> shorter.history[-1].watched
        1.5
        >>> earned = reward()(completions=["He goes home .", "He go home ."], source=["He go home ."] * 2)
        >>> bool(earned[0] > earned[1] == 0)
        True
    """
    given: dict[str, Any] = dict(options)
    for name in given.keys() - Options.__annotations__:
        raise UnknownNameError("option of reward", name, Options.__annotations__)
    if metric is None:
        metric = _METRIC
        given = {"centre": True, "floor": _FLOOR, "meaning": MeaningPenalty(), **given}
    if given.get("watch") is not None:
        given["watch"] = bind_one(given["watch"], runtime)
    return Reward(bind_one(metric, runtime), **given)


def _sentence_scores(metric: BoundMetric, statistics: Statistics) -> Floats:
    """Return a system's sentence scores, float64 (N,)."""
    return np.asarray(metric.metric.sentence_scores(statistics), dtype=np.float64)
