"""A study: texts that people judge, what each rater was asked, and the answers, in one folder.

    mystudy/
      study.yaml        what is asked (`StudySettings`)
      guidelines.md     shown beside each item
      study.sqlite      raters, questions, items and answers; every answer is a transaction
      source.txt  systems/NAME.txt  gold.m2 or ref0.txt …  rankings.csv  ratings.csv

The last line is the layout of a benchmark (`learnedgec.data.benchmarks.base`), so every command that
reads a benchmark reads a study while it grows.

A question is a sentence with the texts to judge. An item is a question as one rater sees it, in an order of
its own. Several processes and threads may use a study at the same time.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from learnedgec.data.benchmarks.base import Benchmark, read_benchmark, read_outputs
from learnedgec.data.m2 import Edit
from learnedgec.data.references import ReferenceRows
from learnedgec.data.sentences import Sentences, Systems
from learnedgec.data.text import read_lines
from learnedgec.edits.annotator import describe_annotator
from learnedgec.errors import InputError, OutputError, UnknownNameError
from learnedgec.judging.asking import Questions, load_edits, write_study
from learnedgec.judging.records import (
    Answer,
    AnsweredError,
    Item,
    Judgement,
    StudySettings,
    read_settings,
    write_tables,
)
from learnedgec.runtime.files import PathLike, atomic_folder

DATABASE = "study.sqlite"
OWNER = "owner"

# The number of seconds for which a thread or process waits while another one writes.
_PATIENCE = 60.0


class Study:
    """A study in a folder.

    Args:
        folder: the folder of a study; `create` makes one.

    Raises:
        InputError: the folder is not that of a study, or a file is missing.
        ConfigError: the settings cannot be used.

    Example:
        >>> import tempfile
        >>> systems = {"ours": ["He goes .", "A dog ."], "theirs": ["He go .", "The dog ."]}
        >>> settings = StudySettings(sentences=2, raters=1, order="random", repeats=0)
        >>> study = Study.create(
        ...     Path(tempfile.mkdtemp()) / "study", ["He go .", "Dog ."], systems, settings=settings
        ... )
        >>> while item := study.next("rater-1"):
        ...     study.record(item.number, Answer(ranks=[1, 2]))
        >>> len(study.judgements()), len(study.benchmark().rankings)
        (2, 2)
        >>> study  # doctest: +ELLIPSIS
        Study('...study': pairs, 2 sentences, 2 systems, 1 rater, 2 of 2 answers)
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)
        self.settings = read_settings(self.folder)
        self.sources = read_lines(self.folder / "source.txt")
        self.systems: dict[str, Sequence[str]] = dict(
            read_outputs(self.folder / "systems", self.sources)
        )
        if self.settings.source_is_candidate:
            self.systems = {"source": self.sources, **self.systems}
        path = self.folder / DATABASE
        if not path.is_file():
            raise InputError(
                f"{self.folder} has no {DATABASE}; it is not a study, or is incomplete."
            )
        self._questions = Questions(self.settings, self.sources, self.systems)
        self._lock = threading.Lock()
        self._database = _connect(path)
        self._database.executescript(_statements("views.sql"))

    @classmethod
    def create(
        cls,
        folder: PathLike,
        sources: Sentences,
        systems: Systems,
        references: ReferenceRows | None = None,
        *,
        settings: StudySettings = StudySettings(),
        overwrite: bool = False,
    ) -> Study:
        """Make a study of some of the sentences, and return it.

        Args:
            folder: the new folder.
            sources: N sentences.
            systems: each system's N outputs, by name.
            references: the references of the N sentences; they are not shown, and metrics that are compared
                with the judgements can use them.
            settings: the settings; if there are fewer sentences or questions, all are asked.
            overwrite: replace a study, with its judgements.

        Raises:
            InputError: there is nothing to ask, or the folder exists.
            LengthError: outputs or references differ in number from the sources.
            UnknownNameError: there is no annotator of the name in the settings.
        """
        if settings.annotator:
            describe_annotator(settings.annotator)
        folder = Path(folder)
        if folder.exists() and not (overwrite and (folder / DATABASE).is_file()):
            raise InputError(
                f"{folder} exists; name it alone to continue a study, choose another folder, or replace a "
                "study and its judgements ",
                hint="with overwrite=True.",
                flag="with --overwrite.",
            )
        with atomic_folder(folder) as place:
            settings = write_study(place, sources, systems, references, settings)
            names = [OWNER, *(f"rater-{number}" for number in range(1, settings.raters + 1))]
            rows = [(number, name, secrets.token_urlsafe(16)) for number, name in enumerate(names)]
            with contextlib.closing(_connect(place / DATABASE)) as database:
                database.executescript(_statements("study.sql"))
                database.executemany("INSERT INTO raters VALUES (?, ?, ?)", rows)
        return cls(folder)

    def __repr__(self) -> str:
        settings, raters = self.settings, len(self.raters)
        return (
            f"Study({str(self.folder)!r}: {settings.task}, {len(self.sources):,} sentences, "
            f"{len(self.systems)} systems, {raters} rater{'' if raters == 1 else 's'}, "
            f"{len(self.judgements()):,} of {settings.total * raters:,} answers)"
        )

    # -- raters ------------------------------------------------------------------------------------

    @cached_property
    def tokens(self) -> dict[str, str]:
        """The secret in the link of each rater, and of the `owner`."""
        with self._transaction() as database:
            return dict(
                map(tuple, database.execute("SELECT name, token FROM raters ORDER BY number"))
            )

    @property
    def raters(self) -> list[str]:
        """The names of the raters."""
        return [name for name in self.tokens if name != OWNER]

    def find_rater(self, token: str) -> str | None:
        """Return the name that a token belongs to, or `None`; the time does not depend on the token."""
        given = token.encode()
        same = {name: hmac.compare_digest(t.encode(), given) for name, t in self.tokens.items()}
        return next((name for name, equal in same.items() if equal), None)

    # -- asking ------------------------------------------------------------------------------------

    def next(self, rater: str) -> Item | None:
        """Return the item that a rater answers next: the one that is open, or else a new one.

        It stays the same until it is answered, in every process. `None` says that all is answered.

        Raises:
            UnknownNameError: there is no such rater.
        """
        number = self._number(rater)
        with self._transaction() as database:
            query = "SELECT item FROM asked WHERE rater = ? AND version = 0"
            row = database.execute(query, (number,)).fetchone()
            item = row["item"] if row else self._questions.ask(database, number)
            return None if item is None else self._shown(database, number, item)

    def item(self, rater: str, number: int) -> Item:
        """Return an item of a rater, with its answer, so that it can be changed.

        Raises:
            InputError: the rater has no such item.
        """
        with self._transaction() as database:
            return self._shown(database, self._number(rater), number)

    def record(
        self,
        number: int,
        answer: Answer,
        *,
        seconds: float = 0.0,
        version: int | None = None,
        key: str | None = None,
    ) -> None:
        """Store the answer to an item; it is on the disk when this returns.

        Args:
            number: number of the item.
            answer: the answer, in the order in which the item shows its texts.
            seconds: the time that the rater took.
            version: the version of the item as it was shown, so that an answer from another window is not
                replaced; `None` replaces any.
            key: a name for this answer; an answer that comes twice with one key is stored once.

        Raises:
            InputError: there is no such item, or this is no answer to it.
            AnsweredError: the item has been answered since it was shown.
        """
        if seconds < 0:
            raise InputError(f"seconds is {seconds}; a number of at least 0 was expected.")
        key = key or secrets.token_hex(16)
        with self._transaction() as database:
            if database.execute("SELECT 1 FROM answers WHERE key = ?", (key,)).fetchone():
                return
            row = database.execute("SELECT * FROM asked WHERE item = ?", (number,)).fetchone()
            if row is None:
                raise InputError(f"the study has no item {number}; ask for the next one.")
            arrangement = json.loads(row["arrangement"])
            answer.check(self.settings, len(arrangement), len(json.loads(row["edits"])))
            if version not in (None, row["version"]):
                raise AnsweredError(
                    "this item was answered in another window; that answer is kept, and the next item "
                    "follows."
                )
            if answer.ranks:
                ranked = sorted(zip(arrangement, answer.ranks, strict=True))
                answer = replace(answer, ranks=[rank for _, rank in ranked])
            self._store(database, row, answer, key, seconds)

    def add(self, judgements: Iterable[Judgement]) -> tuple[int, int]:
        """Store judgements that were collected elsewhere; return how many are new, and how many were known.

        Judgements of texts that the study does not ask about, such as equal outputs, are neither.

        Raters are added by their names. The n-th judgement of the same texts by a rater replaces the n-th
        that the study has of it, so that a file may be read again.

        Args:
            judgements: the judgements of outputs of the study's systems.

        Raises:
            InputError: a judgement is no answer to what the study asks.
        """
        stored, known, counts = 0, 0, Counter[tuple[Any, ...]]()
        with self._transaction() as database:
            for judgement in judgements:
                each = replace(judgement, rater=judgement.rater or "unknown")
                groups, answer = self._questions.canonical(each)
                if not groups:
                    continue
                answer.check(self.settings, len(groups), len(each.edits))
                if each.rater == OWNER:
                    raise InputError(
                        f"a rater is named {OWNER}, who is the study's; rename the rater."
                    )
                key = each.rater, each.sentence, each.groups, each.edits
                row = self._questions.find_item(database, each, groups, counts[key])
                counts[key] += 1
                if row["answer"] != json.dumps(asdict(answer)):
                    self._store(database, row, answer, secrets.token_hex(16), each.seconds, each.at)
                    stored += 1
                else:
                    known += 1
        self.__dict__.pop("tokens", None)
        return stored, known

    # -- the judgements ----------------------------------------------------------------------------

    def judgements(self) -> list[Judgement]:
        """Return the latest answer to each item, skipped ones too, in the order in which they came.

        Answers to texts that have changed since are left out.
        """
        with self._transaction() as database:
            return self._questions.judgements(database)

    def write_tables(self) -> None:
        """Write the tables that the task has, such as `rankings.csv`, from the answers."""
        write_tables(self.folder, self.settings.task, self.sources, self.systems, self.judgements())

    def benchmark(self) -> Benchmark:
        """Return the study as a benchmark, with the judgements so far.

        Raises:
            InputError: there is no judgement yet.
        """
        self.write_tables()
        return read_benchmark(self.folder)

    def questions(self) -> list[tuple[int, str, list[str], tuple[Edit, ...]]]:
        """Return all questions, for another front end: sentence's number, source, texts, edits.

        Texts are in a random order. Questions that nobody was asked yet are drawn now.
        """
        with self._transaction() as database:
            query = "SELECT * FROM questions ORDER BY question"
            while len(rows := database.execute(query).fetchall()) < self.settings.different:
                random = np.random.default_rng([self.settings.seed, len(rows)])
                if self._questions.new(database, random) is None:
                    break
        questions = []
        for row in rows:
            texts = self._questions.texts(row["sentence"], json.loads(row["groups"]))
            np.random.default_rng([self.settings.seed, row["question"]]).shuffle(texts)
            source = self.sources[row["sentence"]]
            questions.append((row["sentence"], source, texts, load_edits(row["edits"])))
        return questions

    # -- the database ------------------------------------------------------------------------------

    def _store(
        self,
        database: sqlite3.Connection,
        item: sqlite3.Row,
        answer: Answer,
        key: str,
        seconds: float,
        at: str = "",
    ) -> None:
        """Store the answer to an item, in the order of the question."""
        at = at or datetime.now(timezone.utc).isoformat(timespec="seconds")
        texts = self._questions.digest(item["sentence"], json.loads(item["groups"]))
        # In this order, `max` turns NaN into 0.
        seconds = min(max(0.0, seconds), 1e6)
        database.execute(
            "INSERT INTO answers (item, key, answer, seconds, at, texts) VALUES (?, ?, ?, ?, ?, ?)",
            (item["item"], key, json.dumps(asdict(answer)), seconds, at, texts),
        )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the database in a transaction of the only writer; an error rolls it back."""
        with self._lock:
            try:
                self._database.execute("BEGIN IMMEDIATE")
                try:
                    yield self._database
                except BaseException:
                    self._database.execute("ROLLBACK")
                    raise
                self._database.execute("COMMIT")
            except sqlite3.Error as error:
                raise OutputError(
                    f"{self.folder / DATABASE} cannot be used ({error}); make room, or wait for other "
                    "programs that use it."
                ) from None

    def _number(self, rater: str) -> int:
        if rater not in self.raters:
            raise UnknownNameError("rater", rater, self.raters)
        return list(self.tokens).index(rater)

    def _shown(self, database: sqlite3.Connection, rater: int, number: int) -> Item:
        """Return an item as its rater sees it."""
        query = "SELECT * FROM asked WHERE item = ? AND rater = ?"
        row = database.execute(query, (number, rater)).fetchone()
        if row is None:
            raise InputError(f"this rater has no item {number}; ask for the next one.")
        arrangement = json.loads(row["arrangement"])
        texts = self._questions.texts(row["sentence"], json.loads(row["groups"]))
        answer = Answer(**json.loads(row["answer"])) if row["answer"] else None
        if answer and answer.ranks:
            answer = replace(answer, ranks=[answer.ranks[place] for place in arrangement])
        return Item(
            number,
            self.sources[row["sentence"]],
            tuple(texts[place] for place in arrangement),
            load_edits(row["edits"]),
            row["position"],
            self.settings.total,
            row["version"],
            answer,
            row["previous"],
        )


def _connect(path: Path) -> sqlite3.Connection:
    """Return a connection; what is committed survives a kill and a loss of power."""
    database = sqlite3.connect(
        path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
    )
    database.row_factory = sqlite3.Row
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    return database


def _statements(name: str) -> str:
    """Return the SQL of a file beside this module."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
