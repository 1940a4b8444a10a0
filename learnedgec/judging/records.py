"""The records of a study: its settings in `study.yaml`, items, answers, judgements, and these as tables.

The tables are `rankings.csv` or `ratings.csv`, and of judged edits also `edits.csv` and `pairs.csv`. A
judgement of a text counts for every system that wrote it. Repetitions tell how consistent a rater is and are
not in the tables; nor are items that were skipped.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.data.tables import read_table
from learnedgec.data.text import read_text, write_text
from learnedgec.errors import ConfigError, InputError, OutputError, UnknownNameError
from learnedgec.judging.sampling import Group
from learnedgec.table import Row
from learnedgec.types import Texts


@dataclass(frozen=True)
class Answer:
    """A rater's answer to an item; which fields are given depends on the task.

    Attributes:
        ranks: the ranks of the texts, in the order shown; 1 is the best, equal ranks are a tie.
        bad: whether neither of two texts is acceptable; their ranks are then equal.
        values: dimension -> rating, a whole number.
        edits: the answer for each edit, from left to right: 1 to accept, -1 to reject, 0 for unsure.
        skip: why the item is not answered; the other fields but the comment are empty.
        comment: a comment by the rater.

    Example:
        >>> Answer(ranks=[1, 2]).ranks
        [1, 2]
    """

    ranks: list[int] = field(default_factory=list)
    bad: bool = False
    values: dict[str, float] = field(default_factory=dict)
    edits: list[int] = field(default_factory=list)
    skip: str = ""
    comment: str = ""

    def check(self, settings: StudySettings, texts: int, edits: int) -> None:
        """Raise `InputError` unless this answers an item with this number of texts and edits."""
        if max(len(self.skip), len(self.comment)) > 4000:
            raise InputError("a reason or comment is longer than 4,000 characters; shorten it.")
        fields = {"ranks": self.ranks or self.bad, "values": self.values, "edits": self.edits}
        given = [name for name, value in fields.items() if value]
        if self.skip:
            if given:
                raise InputError("the item is skipped and answered; do one of them.")
            return
        wanted = {"ratings": "values", "edits": "edits"}.get(settings.task, "ranks")
        if others := [name for name in given if name != wanted]:
            raise InputError(
                f"an answer has {' and '.join(others)}, and the task {settings.task} takes {wanted}."
            )
        if settings.task in ("pairs", "ranking"):
            if len(self.ranks) != texts or not all(1 <= rank <= texts for rank in self.ranks):
                raise InputError(
                    f"ranks is {self.ranks}; one rank from 1 to {texts} for each of {texts} texts was "
                    "expected."
                )
            if self.bad and (settings.task != "pairs" or len(set(self.ranks)) > 1):
                raise InputError("bad says that two texts are equally bad; give them equal ranks.")
        elif settings.task == "ratings":
            _check_values(self.values, settings.dimensions)
        elif len(self.edits) != edits or not set(self.edits) <= {-1, 0, 1}:
            raise InputError(
                f"edits is {self.edits}; 1 (accept), 0 (unsure) or -1 (reject) for each of {edits} edits was "
                "expected."
            )


def _check_values(values: Mapping[str, Any], dimensions: Mapping[str, Dimension]) -> None:
    """Raise `InputError` unless every dimension has a rating on its scale."""
    if values.keys() != dimensions.keys():
        raise InputError(
            f"ratings of {', '.join(values) or 'nothing'} were given; {', '.join(dimensions)} were expected."
        )
    for name, dimension in dimensions.items():
        if values[name] not in range(dimension.low, dimension.high + 1):
            raise InputError(
                f"{name} is {values[name]}; a whole number from {dimension.low} to {dimension.high} was "
                "expected."
            )


class AnsweredError(InputError):
    """An answer to an item that has been answered since it was shown."""


@dataclass(frozen=True, slots=True)
class Item:
    """The content of an item as a rater sees it.

    Attributes:
        number: number of the item in the study.
        source: the sentence.
        texts: outputs in the order shown; equal outputs are one text.
        edits: with the task `edits`, the edits of the only text.
        position: the number of items that the rater has before this one.
        total: the number of items that the rater has in all.
        version: the number of times that the item was answered.
        answer: the latest answer, in the order shown; `None` if there is none.
        previous: number of the item before this one; `None` for the first.
        context: the sentences before and after in the document; empty where there is none.
    """

    number: int
    source: str
    texts: tuple[str, ...]
    edits: tuple[Edit, ...]
    position: int
    total: int
    version: int
    answer: Answer | None
    previous: int | None
    context: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer that counts for an item, or one that was collected elsewhere.

    Attributes:
        rater: name of the rater.
        sentence: number of the sentence, from 0.
        groups: the systems that wrote each text.
        answer: the answer, in the order of `groups`.
        edits: with the task `edits`, what was judged.
        seconds: from showing the item to the answer, as the page measured it.
        at: when it was given, in UTC.
        item: number of the item; this and the following are of a study.
        question: number of the question.
        weight: the weight of the judgement in the study's own ranking (`Cells.draw`).
        repeats: number of the rater's earlier item with the same question, or `None`.
        identity: what names the judgement where it was collected, without spaces, so that it replaces its
            earlier version; may be empty.
    """

    rater: str
    sentence: int
    groups: tuple[tuple[str, ...], ...]
    answer: Answer
    edits: tuple[Edit, ...] = ()
    seconds: float = 0.0
    at: str = ""
    item: int = 0
    question: int = 0
    weight: float = 1.0
    repeats: int | None = None
    identity: str = ""


Task = Literal["pairs", "ranking", "ratings", "edits"]
Order = Literal["informative", "random"]
Scale = Literal["1-4", "0-100"]

SETTINGS_FILE, GUIDELINES_FILE, CONTEXT_FILE = "study.yaml", "guidelines.md", "context.jsonl"

_HERE = files("learnedgec.judging")

# The largest number of outputs that a rater ranks at a time.
RANKED = 5


@dataclass(frozen=True, slots=True)
class Dimension:
    """One thing that is rated.

    Attributes:
        low: the worst rating.
        high: the best rating.
        anchors: ratings with what they mean, worst first.
    """

    low: int
    high: int
    anchors: Mapping[int, str]


@dataclass(frozen=True)
class StudySettings:
    """The settings of a study.

    Attributes:
        task: question: pairs, which of two outputs is better; ranking, of up to five; ratings, of one output;
            edits, which changes of an output to accept.
        sentences: number of sentences that questions are about, drawn from those where it makes a difference.
        questions: number of different questions, over all raters (default: as many as sentences). The order
            chooses them, so some sentences come several times and others never.
        raters: number of raters; each has a link.
        overlap: share of the questions that all raters answer, for their agreement.
        repeats: share of a rater's questions that come twice, for the rater's consistency.
        order: informative: ask what tells most about the ranking; random: a plain sample.
        scale: the scale of ratings; 1-4: grammaticality, fluency and meaning; 0-100: quality.
        source_is_candidate: whether the uncorrected sentence is one of the outputs.
        title: heading of the page.
        annotator: what finds edits: a spaCy pipeline, or plain for any language that separates words by
            spaces (default: as for errant with the task edits, else plain).
        seed: the seed of every random choice.

    Example:
        >>> settings = StudySettings(task="ratings", sentences=100, raters=2)
        >>> settings.shared, settings.own, settings.repeated, settings.total
        (20, 40, 6, 66)
    """

    task: Task = "pairs"
    sentences: int = 200
    questions: int | None = None
    raters: int = 3
    overlap: float = 0.2
    repeats: float = 0.1
    order: Order = "informative"
    scale: Scale = "1-4"
    source_is_candidate: bool = False
    title: str = "Judge corrections"
    annotator: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, kind in (("task", Task), ("order", Order), ("scale", Scale)):
            if getattr(self, name) not in get_args(kind):
                raise UnknownNameError(name, str(getattr(self, name)), get_args(kind))
        numbers = {
            "sentences": (self.sentences, 1),
            "questions": (self.different, 1),
            "raters": (self.raters, 1),
            "seed": (self.seed, 0),
        }
        for name, (number, least) in numbers.items():
            if not isinstance(number, int) or number < least:
                raise ConfigError(
                    f"{name} is {number!r}; a number of at least {least} was expected."
                )
        for name in ("overlap", "repeats"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(
                    f"{name} is {getattr(self, name)}; a share from 0 to 1 was expected."
                )

    @property
    def different(self) -> int:
        """The number of different questions, over all raters."""
        return self.questions or self.sentences

    @property
    def shared(self) -> int:
        """The number of questions that all raters answer; all of them where there is one rater."""
        return self.different if self.raters == 1 else round(self.overlap * self.different)

    @property
    def own(self) -> int:
        """The number of questions that a rater answers alone."""
        return (self.different - self.shared) // self.raters

    @property
    def repeated(self) -> int:
        """The number of questions that come a second time."""
        return round(self.repeats * (self.shared + self.own))

    @property
    def total(self) -> int:
        """The number of items that each rater answers."""
        return self.shared + self.own + self.repeated

    @property
    def dimensions(self) -> Mapping[str, Dimension]:
        """A scale of ratings (`scales.yaml`)."""
        scales = yaml.safe_load(_HERE.joinpath("scales.yaml").read_text(encoding="utf-8"))
        return {name: Dimension(**scale) for name, scale in scales[self.scale].items()}

    def write(self, folder: Path) -> None:
        """Write the settings, and the guidelines to start from, into the folder of a study."""
        text = yaml.safe_dump(asdict(self), sort_keys=False, allow_unicode=True)
        write_text(folder / SETTINGS_FILE, text)
        if not (folder / GUIDELINES_FILE).exists():
            guidelines = _HERE.joinpath(f"guidelines/{self.task}.md").read_text(encoding="utf-8")
            write_text(folder / GUIDELINES_FILE, guidelines)


def read_settings(folder: Path) -> StudySettings:
    """Read the settings of a study.

    Raises:
        InputError: the folder has no study.
        ConfigError: the file cannot be used; the message names the key.
        UnknownNameError: a key is unknown.
    """
    path = folder / SETTINGS_FILE
    if not path.is_file():
        raise InputError(
            f"{folder} is not a study, because it has no {SETTINGS_FILE}; make one ",
            hint="with Study.create.",
            flag="with learnedgec judge --src FILE --hyp FILES --out FOLDER.",
        )
    try:
        values = yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not YAML ({' '.join(str(error).split())[:200]}).") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path} holds no settings; keys such as task: pairs were expected.")
    known = {field.name: field.type for field in fields(StudySettings)}
    for key in values:
        if key not in known:
            raise UnknownNameError(f"key of {path}", str(key), known)
    try:
        return StudySettings(**values)
    except TypeError as error:
        raise ConfigError(f"{path} cannot be used ({error}).") from None


# -- judgements as tables -------------------------------------------------------------------------


ACCEPTED = "accepted"
"""The dimension of judged edits: the share of a text's edits that were accepted, of those not unsure."""


def write_tables(
    folder: Path,
    task: Task,
    sources: Texts,
    systems: Mapping[str, Texts],
    judgements: Sequence[Judgement],
    *,
    keep: bool = False,
) -> tuple[int, int]:
    """Write the tables of a task; return how many rows of the first one are new, and how many it had.

    Args:
        folder: the folder of the study, or a benchmark.
        task: the task of the study.
        sources: N sentences.
        systems: system -> N outputs.
        judgements: the latest answer to each item.
        keep: keep the rows that are there; otherwise, a table without rows is deleted. Where judgements have
            identities, the n-th row of a rater about the same texts replaces the n-th that is there.
    """
    replaces = any(each.identity for each in judgements)
    counts = [
        _write(folder / name, rows, keep, replaces)
        for name, rows in _tables(task, sources, systems, judgements).items()
    ]
    return counts[0]


def append_tables(
    folder: Path,
    task: Task,
    sources: Texts,
    systems: Mapping[str, Texts],
    judgements: Sequence[Judgement],
) -> None:
    """Add judgements to the tables that `write_tables` wrote.

    Args:
        folder: the folder of the tables.
        task: what was asked.
        sources: the texts of the study.
        systems: each system's texts.
        judgements: the new judgements.

    Raises:
        OutputError: a table cannot be written.
    """
    for name, rows in _tables(task, sources, systems, judgements).items():
        path = folder / name
        if text := _csv(list(rows), header=not path.is_file()):
            try:
                with path.open("a", encoding="utf-8", newline="") as file:
                    file.write(text)
            except OSError as error:
                raise OutputError(
                    f"{path} cannot be written ({error.strerror}); make room."
                ) from None


def table_sizes(folder: Path, task: Task) -> list[int]:
    """Return the size of each table of a task in bytes, -1 if there is none."""
    paths = [folder / name for name in _tables(task, (), {}, ())]
    return [path.stat().st_size if path.is_file() else -1 for path in paths]


def _tables(
    task: Task, sources: Texts, systems: Mapping[str, Texts], judgements: Sequence[Judgement]
) -> dict[str, Iterator[Row]]:
    """Return the rows of each table of a task, by the file's name."""
    if task in ("pairs", "ranking"):
        return {"rankings.csv": ranking_rows(judgements)}
    tables = {"ratings.csv": rating_rows(judgements)}
    if task == "edits":
        tables["edits.csv"] = edit_rows(judgements)
        tables["pairs.csv"] = pair_rows(judgements, sources, systems)
    return tables


def counted(judgements: Iterable[Judgement]) -> Iterator[Judgement]:
    """Yield the judgements that are neither skipped nor repetitions."""
    return (each for each in judgements if not each.answer.skip and each.repeats is None)


def comparisons(
    judgements: Iterable[Judgement], numbers: Mapping[str, int]
) -> Iterator[tuple[Group, Group, int, float]]:
    """Yield the systems of each two texts that were compared, the outcome and the weight (`count_wins`).

    Ratings and judged edits compare nothing.
    """
    for each in counted(judgements):
        if not each.answer.ranks:
            continue
        groups = [tuple(numbers[name] for name in group) for group in each.groups]
        for (first, rank), (second, other) in combinations(
            zip(groups, each.answer.ranks, strict=True), 2
        ):
            yield first, second, (rank < other) - (rank > other), each.weight


def ranking_rows(judgements: Iterable[Judgement]) -> Iterator[Row]:
    """Yield the rows of `rankings.csv`: a row for each two systems whose different texts were compared."""
    for each in counted(judgements):
        ranked = zip(each.groups, each.answer.ranks, strict=True)
        for one, other in combinations(ranked, 2):
            (better, rank), (worse, other_rank) = sorted((one, other), key=lambda pair: pair[1])
            for first in better:
                for second in worse:
                    yield {
                        "id": each.sentence,
                        "better": first,
                        "worse": second,
                        "tie": int(rank == other_rank),
                        "annotator": each.rater,
                    }


def rating_rows(judgements: Iterable[Judgement]) -> Iterator[Row]:
    """Yield the rows of `ratings.csv`: a row for each system whose text was rated, or its edits judged."""
    for each in counted(judgements):
        values: Mapping[str, float | str] = each.answer.values
        if not values:
            sure = [edit for edit in each.answer.edits if edit]
            values = {ACCEPTED: sum(edit > 0 for edit in sure) / len(sure) if sure else ""}
        for name in each.groups[0]:
            yield {"id": each.sentence, "system": name, "annotator": each.rater, **values}


def edit_rows(judgements: Iterable[Judgement]) -> Iterator[Row]:
    """Yield the rows of `edits.csv`: a row for each edit that was accepted or rejected."""
    for each in counted(judgements):
        for edit, verdict in zip(each.edits, each.answer.edits, strict=True):
            if verdict:
                yield {
                    "id": each.sentence,
                    "systems": " ".join(each.groups[0]),
                    "start": edit.start,
                    "end": edit.end,
                    "correction": edit.correction,
                    "type": edit.type,
                    "accepted": int(verdict > 0),
                    "annotator": each.rater,
                }


def pair_rows(
    judgements: Iterable[Judgement], sources: Texts, systems: Mapping[str, Texts]
) -> Iterator[Row]:
    """Yield the rows of `pairs.csv`, ranked pairs to train on (`read_ranked_pairs`).

    An output is better with an edit than without it where the edit was accepted, and worse where it was
    rejected. (`RankingPairs` makes pairs of outputs that were compared, from `rankings.csv`.)

    Args:
        judgements: the latest answer to each item.
        sources: N sentences.
        systems: system -> N outputs.
    """
    for each in counted(judgements):
        source = sources[each.sentence]
        whole = " ".join(systems[each.groups[0][0]][each.sentence].split())
        for place, verdict in enumerate(each.answer.edits):
            without = apply_edits(source, each.edits[:place] + each.edits[place + 1 :])
            if verdict and without != whole:
                better, worse = (whole, without) if verdict > 0 else (without, whole)
                yield {"source": source, "better": better, "worse": worse}


def _write(path: Path, rows: Iterable[Row], keep: bool, replaces: bool) -> tuple[int, int]:
    """Write a table, after its earlier rows if these are kept; return how many rows are new and known."""
    written: list[Row] = [row for _, row in read_table(path)] if keep and path.is_file() else []
    earlier: dict[Hashable, list[int]] = {}
    for number, row in enumerate(written):
        earlier.setdefault(_subject(row) if replaces else _cells(row), []).append(number)
    new = known = 0
    for row in rows:
        places = earlier.get(_subject(row) if replaces else _cells(row))
        if not places:
            written.append(row)
            new += 1
        elif _cells(written[place := places.pop(0)]) == _cells(row):
            known += 1
        else:
            written[place] = row
            new += 1
    if written:
        write_text(path, _csv(written))
    else:
        path.unlink(missing_ok=True)
    return new, known


def _cells(row: Row) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, str(cell)) for name, cell in row.items()))


def _subject(row: Row) -> Hashable:
    """Return what a row is about: the rater, the texts and the edit, without the answer."""
    names = ("id", "source", "system", "systems", "start", "end", "correction", "annotator")
    compared = frozenset(str(row.get(side)) for side in ("better", "worse"))
    return compared, tuple(str(row.get(name)) for name in names)


def _csv(rows: Sequence[Row], *, header: bool = True) -> str:
    """Return rows as CSV, with the columns of any of them."""
    buffer = io.StringIO()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    if header and rows:
        writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()
