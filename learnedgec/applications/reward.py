"""A metric as the reward of reinforcement learning, with safeguards against gaming.

A completion of a policy is a text or a chat, and `extract_correction` finds the correction in it.

A policy that is trained on a learned metric finds what the metric overrates: texts that read well but mean
something else, truncated texts, or chatter around the source. So a reward has a floor for outputs that
cannot be corrections of their source (`is_correction`), may charge for a changed meaning (`MeaningPenalty`)
and for edits, and can watch a second metric that the policy is not trained on: where the reward rises and the
watched metric falls, the policy is gaming. Small edits that change the meaning, such as a negation, pass
`some`, `quality` and `preference`, which need the penalty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from rapidfuzz.distance import Indel

from learnedgec.applications.completions import Completion, completed_text, extract_correction
from learnedgec.applications.safeguards import MeaningPenalty, is_correction
from learnedgec.data.references import References, references_of_record
from learnedgec.data.sentences import as_items, as_sentences
from learnedgec.data.tokenisation import tokenise
from learnedgec.errors import ConfigError, InputError, UnknownNameError
from learnedgec.metrics.bound import BoundMetric
from learnedgec.metrics.contract import Gated
from learnedgec.metrics.sentinels import EditCount
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import AnyMetric, bind_one, corpus_for
from learnedgec.types import Floats

if TYPE_CHECKING:
    from typing_extensions import Unpack

# A mark between spaces shows that a text is tokenised.
_SEPARATE_MARK = re.compile(r"(?:^|\s)[.,!?;:](?:\s|$)")


def _message(source: Any, place: str) -> Any:
    """Return a source, or the text of the last message if it is a chat."""
    is_chat = isinstance(source, Sequence) and not isinstance(source, str)
    return completed_text(source, place) if is_chat else source


def _logged(metric: BoundMetric) -> str:
    """Return the name of a metric in a log: its label in letters, digits, dots and hyphens."""
    return re.sub(r"[^\w.]+", "-", metric.label).strip("-")


def _spaced_like_source(source: str, text: str) -> str:
    """Return a text tokenised if its source is, and the source itself if only their spaces differ."""
    if source.replace(" ", "") == text.replace(" ", ""):
        return source
    needs_spaces = _SEPARATE_MARK.search(source) and not _SEPARATE_MARK.search(text)
    return tokenise([text])[0] if needs_spaces else text


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
        source: the column that holds the sources: texts, or chats, whose last message counts. `prompts` is
            what the policy reads.
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
        other_tasks: whether a row whose source is `None` is of another task and earns `None`, as TRL expects.
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
    other_tasks: bool = False
    watch: BoundMetric | None = None
    history: list[Watched] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        # Trainers log a reward under its name, and some loggers take no other characters.
        self.__name__ = _logged(self.metric)
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
    ) -> list[float | None]:
        """Return the reward of each completion of one step.

        Outside a trainer, call it with two lists: `completions=[…], source=[…]`.

        Args:
            prompts: N texts or chats, which trainers give; only read as the column `prompts`.
            completions: N texts or chats; the last message of a chat counts.
            columns: the data set's columns, each of length N, and any other arguments of the trainer. A
                function `log_metric` receives the means of this step by name: `quality/score`,
                `quality/floored`, and of the watched metric `gleu/watched`. Of a label, letters, digits and
                dots are kept: `head[open-mpnet.quality]` is `head-open-mpnet.quality`.

        Raises:
            InputError: the completions or the column of the sources are not there, are no lists, or are not
                parallel, or references are `None`.
        """
        answers = as_items(completions, "completions", self._lists)
        if prompts is not None:
            columns["prompts"] = prompts
        rewards: list[float | None] = [None] * len(answers)
        if rows := self._own_rows(columns, len(answers)):
            step = self._read_step(rows, answers, columns)
            for row, earned in zip(
                rows, self._earned(*step, columns.get("log_metric")), strict=True
            ):
                rewards[row] = float(earned)
        return rewards

    def _own_rows(self, columns: Mapping[str, Any], size: int) -> list[int]:
        """Return the numbers of the rows that are not of another task."""
        if not (self.other_tasks and size):
            return list(range(size))
        sources = self._column(columns, self.source, size)
        return [row for row, source in enumerate(sources) if source is not None]

    def _earned(
        self, sources: Sequence[str], texts: Sequence[str], references: References | None, log: Any
    ) -> Floats:
        """Return the reward of each correction, and record the step."""
        metric = self.metric.metric
        systems = {"completions": texts, **({"sources": sources} if self.centre else {})}
        statistics = self.metric.statistics(sources, systems, references)
        scores = metric.sentence_scores(statistics["completions"])
        unchanged = metric.sentence_scores(statistics["sources"]) if self.centre else 0
        rewards = scores - unchanged
        if self.edit_penalty:
            edits = EditCount().statistics(sources, texts)["score"]
            sizes = np.array([max(len(source.split()), 1) for source in sources])
            rewards -= self.edit_penalty * edits / sizes
        if self.meaning is not None:
            rewards -= self.meaning.charges(sources, texts, self.metric.runtime)
        rejected = ~is_correction(sources, texts)
        if isinstance(metric, Gated):
            rejected |= ~metric.accepted(statistics["completions"])
        if self.floor is not None:
            distances = np.array(list(map(Indel.normalized_distance, sources, texts)))
            rewards[rejected] = self.floor - distances[rejected]
        watched = np.array([np.nan])
        if self.watch is not None:
            (watched_statistics,) = self.watch.statistics(sources, {"": texts}, references).values()
            watched = self.watch.metric.sentence_scores(watched_statistics)
        means = map(float, map(np.mean, (rewards, scores, watched, rejected)))
        self._record(Watched(*means), log)
        return rewards

    def _read_step(
        self, rows: Sequence[int], completions: Sequence[Completion], columns: Mapping[str, Any]
    ) -> tuple[list[str], list[str], References | None]:
        """Return the sources, the corrections and the references of these rows, or raise `InputError`."""
        answers = [completed_text(completions[row], f"completions[{row}]") for row in rows]
        column = self._column(columns, self.source, len(completions))
        sources = as_sentences(
            [_message(column[row], f"{self.source}[{row}]") for row in rows], self.source
        )
        references = None
        if self.references is not None:
            column = self._column(columns, self.references, len(completions))
            place = f"the column {self.references!r} in row"
            references = References.from_rows(
                [references_of_record(column[row], f"{place} {row + 1}") for row in rows]
            )
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
            corpus_for([self.metric], sources, {"completions": texts}, references)
        return sources, texts, references

    def _record(self, step: Watched, log: Any) -> None:
        """Add the means of a step to the history, and to the log of a trainer that gives one."""
        self.history.append(step)
        if callable(log):
            log(f"{self.__name__}/score", step.score)
            log(f"{self.__name__}/floored", step.floored)
            if self.watch is not None:
                log(f"{_logged(self.watch)}/watched", step.watched)

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
    other_tasks: bool
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
