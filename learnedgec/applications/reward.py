"""A metric as the reward of reinforcement learning, with safeguards against gaming.

A completion of a policy is a text or a chat that may say something around the correction;
`extract_correction` finds the correction in it.

A policy that is trained on a learned metric finds what the metric overrates: texts that read well but mean
something else, truncated texts, or chatter around the source. So a reward has a floor for outputs that
cannot be corrections of their source (`is_correction`), may charge for a changed meaning (`MeaningPenalty`)
and for edits, and can watch a second metric that the policy is not trained on: where the reward rises and the
watched metric falls, the policy is gaming. Small edits that change the meaning, such as a negation, pass
`some`, `impara` and `preference`, which need the penalty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import numpy as np
from rapidfuzz.distance import Indel

from learnedgec.applications.safeguards import MeaningPenalty, is_correction
from learnedgec.data.references import References, references_of_record
from learnedgec.data.sentences import as_items, as_sentences
from learnedgec.edits.tokenisation import tokenise
from learnedgec.errors import ConfigError, InputError, UnknownNameError
from learnedgec.metrics.bound import BoundMetric, checked_inputs
from learnedgec.metrics.contract import Gated
from learnedgec.metrics.sentinels import EditCount
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import AnyMetric, bind_one

if TYPE_CHECKING:
    from typing_extensions import Unpack

# -- completions -----------------------------------------------------------------------------------


Completion: TypeAlias = str | Sequence[Mapping[str, Any]]
"""The completion of a policy, a text or the messages of a chat."""

_TAGGED = re.compile(r"<(answer|correction|corrected|output)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
# Marks of the speaker and of the end of a message, which some trainers do not remove.
_SPEAKER = re.compile(
    r"<\|[\w ]+\|>(?:assistant(?=\s*\n|<\|))?|</s>|\A\s*assistant:", re.IGNORECASE
)
_FENCED = re.compile(r"```[\w-]*\n(.*?)```", re.DOTALL)
_MARKS = {"**": "**", "*": "*", "`": "`", "'": "'", '"': '"', "“": "”", "«": "»"}

_CORRECTED = r"\b(?:correct(?:ed|ion)?|revised|fixed|improved|edited|answer|output)\b"
_AFTERWARDS = (
    r"(?:explanations?|changes?|corrections|notes?|reasons?|original|changed|replaced|here\ are"
    r"|I\ (?:\w+ed|made))\b"
)
# A label begins a line, and no space precedes its colon: a tokenised sentence may itself say "The answer
# is : ...".
_LABEL = re.compile(
    rf"""^[*\#>\ ]*(?:(?:sure|certainly|of\ course|okay|yes)\b[^\w\n]*)?
    (?:here(?:['’]s|\ is)\b[^:\n]{{,80}}?{_CORRECTED}[^:\n]{{,80}}?
    |here\ you\ go\b
    |(?:(?:the|a|my|your|final|grammatically)\ )*{_CORRECTED}
    (?:\ (?:sentence|text|version|answer|is|would|be))*
    |(?!{_AFTERWARDS})[^\n]{{,80}}{_CORRECTED}[^\n]{{,80}}?(?=:\**\s*\n))\**\ ?
    (?:(?:(?<=\S)|(?<=sentence\ )|(?<=text\ )|(?<=version\ )):(?:\*\*(?=\s))?
    |(?=\s*\n)|(?=["“«]\S[^"“”«»]*["”»]\.?$))\s*(?:>\ )?""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_REMARK = re.compile(
    rf"""(?:\n[^\w\n]*(?:\(|{_AFTERWARDS})|(?<=[.!?"”*])\s+explanation:).*\Z
    |\s\((?:{_AFTERWARDS}|(?:corrected|fixed|added|removed)\b)[^()]*\)\Z""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


def extract_correction(completion: str, source: str | None = None) -> str:
    r"""Return the corrected sentence in what a model wrote.

    Thoughts (`<think>…</think>`) and tokens such as `<|im_end|>` are dropped. Of what is left, the last
    `<answer>…</answer>` (or `<correction>`, `<corrected>`, `<output>`) counts, else a fenced block, else
    everything. Then these go:

    - all up to an announcement of the correction, such as `Corrected sentence:`, `Answer:` or
      `Sure! Here is the corrected version:`;
    - remarks after it: a new line that begins with `Explanation`, `Changes`, `Note` or a parenthesis, and
      `(Changed …)`;
    - quotation marks, `**`, JSON and the marker of a list around the whole.

    Line feeds become spaces. Where the source is given, of the texts before and after each of these steps,
    and their lines, that with the most words in common with it counts. So a sentence that itself begins with
    `Answer:` keeps that word, and other remarks go if they have lines of their own.

    Args:
        completion: the text that the model wrote.
        source: the sentence that it was to correct.

    Example:
        >>> extract_correction("<think>go needs an s</think>\nCorrected sentence: \"He goes .\"")
        'He goes .'
        >>> extract_correction("Answer: he goes.", "Answer: he go.")
        'Answer: he goes.'
    """
    text = _SPEAKER.sub("", _THOUGHT.sub(" ", completion))
    tagged = _TAGGED.findall(text)
    if tagged:
        text = tagged[-1][1]
    elif fenced := _FENCED.findall(text):
        text = fenced[-1]
    text = text.strip()
    candidates = [text]
    for start in [label.end() for label in _LABEL.finditer(text)] or [0]:
        announced = text[start:].strip()
        bare = _REMARK.sub("", announced).strip()
        lines = [] if source is None else announced.splitlines()
        candidates += [announced, *map(_unwrapped, lines), bare, _unwrapped(bare)]
    candidates = [" ".join(each.split()) for each in reversed(candidates)]
    if source is None:
        return candidates[0]
    words = source.split()
    return max(candidates, key=lambda each: Indel.normalized_similarity(words, each.split()))


def _unwrapped(text: str) -> str:
    """Return the correction in JSON, and what is in bold letters or quotation marks as a whole."""
    if text.startswith("{"):
        try:
            record = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            return text
        named = [
            key for key in record if re.search(_CORRECTED, key.replace("_", " "), re.IGNORECASE)
        ]
        values = [record[key] for key in named or record]
        if len(values) == 1 and isinstance(values[0], str):
            text = values[0].strip()
    text = re.sub(
        r"""\A(["“«][^"“”«»]*["”»])\.\Z""", r"\1", re.sub(r"\A(?:[-*•]|1[.)]) +", "", text)
    )
    for opening, closing in _MARKS.items():
        inside = text.removeprefix(opening).removesuffix(closing)
        whole = len(inside) + len(opening + closing) == len(text)
        # A tokenised text has a space after a quotation mark of its own.
        if whole and opening not in inside and not inside.startswith(" "):
            text = inside.strip()
    return text


def completed_text(completion: Completion, place: str) -> str:
    """Return a completion's text: itself, or the content of a chat's last message.

    Raises:
        InputError: it is neither; the message names the place.
    """
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Sequence) and not completion:
        return ""
    last = completion[-1] if isinstance(completion, Sequence) else None
    if not isinstance(last, Mapping):
        raise InputError(
            f"{place} is {str(completion)[:60]!r}; a text, or a list of messages such as "
            "[{'role': 'assistant', 'content': TEXT}], was expected."
        )
    content = last.get("content")
    if isinstance(content, str):
        return content
    # The content may be a list of parts, and only some of them are texts.
    return "".join(part.get("text", "") for part in content or () if isinstance(part, Mapping))


# -- rewards ---------------------------------------------------------------------------------------

# A mark between spaces shows that a text is tokenised.
_SEPARATE_MARK = re.compile(r"(?:^|\s)[.,!?;:](?:\s|$)")


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
        answers = as_items(completions, "completions", self._lists)
        if not answers:
            return []
        sources, texts, references = self._read_step(answers, columns)
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
        self._record(Watched(*means), columns.get("log_metric"))
        return list(map(float, rewards))

    def _read_step(
        self, completions: Sequence[Completion], columns: Mapping[str, Any]
    ) -> tuple[list[str], list[str], References | None]:
        """Return the sources, the corrections and the references of a step, or raise `InputError`."""
        answers = [
            completed_text(completion, f"completions[{place}]")
            for place, completion in enumerate(completions)
        ]
        sources = as_sentences(self._column(columns, self.source, len(answers)), self.source)
        references = None
        if self.references is not None:
            rows = enumerate(self._column(columns, self.references, len(answers)), 1)
            place = f"the column {self.references!r} in row"
            references = References.from_rows(
                [references_of_record(row, f"{place} {number}") for number, row in rows]
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
            inputs = (sources, {"completions": texts}, references, self.metric.runtime)
            checked_inputs([self.metric], *inputs)
        return sources, texts, references

    def _record(self, step: Watched, log: Any) -> None:
        """Add the means of a step to the history, and to the log of a trainer that gives one."""
        self.history.append(step)
        if callable(log):
            log(f"{self.__name__}/score", step.score)
            log(f"{self.__name__}/floored", step.floored)
            if self.watch is not None:
                log(f"{self.watch.metric.name}/watched", step.watched)

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
