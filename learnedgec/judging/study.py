"""A study: texts that people judge, what each rater was asked, and the answers, in one folder.

    mystudy/
      study.yaml        what is asked (`StudySettings`)
      guidelines.md     shown beside each item
      context.jsonl     the sentences before and after each one, if the texts are documents
      study.sqlite      raters, questions, items and answers; every answer is a transaction
      source.txt  systems/NAME.txt  gold.m2 or ref0.txt …  rankings.csv  ratings.csv

The last line is the layout of a benchmark (`learnedgec.data.benchmarks.base`), so every command that
reads a benchmark reads a study while it grows.

A question is a sentence with the texts to judge. An item is a question as one rater sees it, in an order of
its own. Several processes and threads may use a study at the same time: each remembers what it has read from
the database, and reads what is new before it asks. Reading writes nothing.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Container, Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path

import numpy as np

from learnedgec.data.benchmarks.base import Benchmark, read_benchmark, read_outputs
from learnedgec.data.corpus import Corpus
from learnedgec.data.m2 import Edit
from learnedgec.data.references import ReferenceRows
from learnedgec.data.sentences import Sentences, Systems
from learnedgec.data.text import read_jsonl, read_lines
from learnedgec.edits.annotator import describe_annotator
from learnedgec.errors import InputError, OutputError, UnknownNameError
from learnedgec.judging.asking import Given, Question, Questions, plan_next
from learnedgec.judging.creation import write_study
from learnedgec.judging.records import (
    CONTEXT_FILE,
    Answer,
    AnsweredError,
    Item,
    Judgement,
    StudySettings,
    append_tables,
    read_settings,
    table_sizes,
    write_tables,
)
from learnedgec.runtime.files import PathLike, atomic_folder

DATABASE = "study.sqlite"
OWNER = "owner"

# The number of seconds for which a thread or process waits while another one writes.
_PATIENCE = 60.0

_TABLES = """
CREATE TABLE raters (number INTEGER PRIMARY KEY, name TEXT UNIQUE, token TEXT UNIQUE);
CREATE TABLE questions (
  question INTEGER PRIMARY KEY, sentence INTEGER, groups TEXT, edits TEXT, weight REAL,
  slot INTEGER UNIQUE);
CREATE TABLE items (
  item INTEGER PRIMARY KEY, rater INTEGER, position INTEGER, question INTEGER, arrangement TEXT,
  repeats INTEGER, UNIQUE (rater, position));
CREATE TABLE answers (
  number INTEGER PRIMARY KEY, item INTEGER, key TEXT UNIQUE, answer TEXT, seconds REAL, at TEXT,
  texts TEXT);
CREATE INDEX answers_of_items ON answers (item);
CREATE INDEX items_of_questions ON items (question);
CREATE INDEX questions_of_sentences ON questions (sentence);
"""

# An item with its question, its latest answer, and how often it was answered.
_ITEM = """
SELECT *,
  (SELECT count(*) FROM answers WHERE answers.item = items.item) AS version,
  (SELECT answer FROM answers WHERE answers.item = items.item ORDER BY number DESC LIMIT 1) AS answer,
  (SELECT item FROM items AS earlier WHERE earlier.rater = items.rater
    AND earlier.position = items.position - 1) AS previous
FROM items JOIN questions USING (question) WHERE item = ?"""

# The answers after one, each the latest to its item.
_LATEST = """
SELECT * FROM answers JOIN items USING (item) JOIN questions USING (question)
  JOIN raters ON rater = raters.number
WHERE answers.number > ?
  AND NOT EXISTS (
    SELECT 1 FROM answers AS later WHERE later.item = answers.item AND later.number > answers.number)
ORDER BY answers.number"""

# Up to which answer the tables are written, and their sizes then.
_WRITTEN = "CREATE TABLE IF NOT EXISTS written (answer INTEGER, sizes TEXT)"


class Study:
    """A study in a folder.

    Args:
        folder: the folder of a study; `create` makes one.

    Raises:
        InputError: the folder has no study, or a file is missing.
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
        context = self.folder / CONTEXT_FILE
        self.context = [
            (str(row["before"]), str(row["after"]))
            for row in (read_jsonl(context) if context.is_file() else ())
        ]
        path = self.folder / DATABASE
        if not path.is_file():
            raise InputError(
                f"{self.folder} has no {DATABASE}; it is not a study, or is incomplete."
            )
        self._lock = threading.Lock()
        # Held by the thread that waits to update the tables.
        self._waiting = threading.Lock()
        self._database = _connect(path)
        self._forget()

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
        corpus = Corpus.of(sources, systems, references)
        return cls.of(folder, corpus, settings=settings, overwrite=overwrite)

    @classmethod
    def of(
        cls,
        folder: PathLike,
        corpus: Corpus,
        *,
        settings: StudySettings = StudySettings(),
        overwrite: bool = False,
    ) -> Study:
        """Make a study of a corpus as `create` does.

        If the corpus has documents, raters see the sentences before and after each in its document.
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
            settings = write_study(place, corpus, settings)
            names = [OWNER, *(f"rater-{number}" for number in range(1, settings.raters + 1))]
            rows = [(number, name, secrets.token_urlsafe(16)) for number, name in enumerate(names)]
            with contextlib.closing(_connect(place / DATABASE)) as database:
                # What is committed survives a kill and a loss of power.
                database.executescript(f"PRAGMA journal_mode = WAL; {_TABLES}")
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
        with self._transaction(writes=False) as database:
            return dict(
                map(tuple, database.execute("SELECT name, token FROM raters ORDER BY number"))
            )

    @property
    def raters(self) -> list[str]:
        """The names of the raters."""
        return [name for name in self.tokens if name != OWNER]

    def find_rater(self, token: str) -> str | None:
        """Return the name that a token belongs to, or `None`; the time does not depend on the token."""
        return self._find_rater(token) or (self._find_rater(token) if self._reread() else None)

    def _reread(self) -> bool:
        """Read raters and settings again; return whether there are other raters than before."""
        before = self.raters
        self.__dict__.pop("tokens", None)
        self.settings = read_settings(self.folder)
        return self.raters != before

    def _find_rater(self, token: str) -> str | None:
        given = token.encode()
        same = {name: hmac.compare_digest(t.encode(), given) for name, t in self.tokens.items()}
        return next((name for name, equal in same.items() if equal), None)

    def add_raters(self, count: int) -> None:
        """Add raters until the settings have so many; the new ones get their share of the questions.

        A page that is being served knows their links at once.

        Raises:
            InputError: the study has more raters.
        """
        if count < self.settings.raters:
            raise InputError(
                f"the study has {self.settings.raters} raters, and {count} were asked for; raters can only "
                "be added."
            )
        names = [f"rater-{number}" for number in range(self.settings.raters + 1, count + 1)]
        with self._transaction() as database:
            rows = [(name, secrets.token_urlsafe(16)) for name in names]
            database.executemany("INSERT OR IGNORE INTO raters (name, token) VALUES (?, ?)", rows)
            replace(self.settings, raters=count).write(self.folder)
        self._reread()

    # -- asking ------------------------------------------------------------------------------------

    def next(self, rater: str) -> Item | None:
        """Return the item that a rater answers next: the one that is open, or else a new one.

        It stays the same until it is answered, in every process. `None` says that all is answered.

        Raises:
            UnknownNameError: there is no such rater.
        """
        number = self._number(rater)
        with self._transaction() as database:
            self._catch_up(database)
            item = self._unanswered.get(number)
            if item is None:
                item = self._ask(database, number)
            return None if item is None else self._shown(database, number, item)

    def item(self, rater: str, number: int) -> Item:
        """Return an item of a rater, with its answer, so that it can be changed.

        Raises:
            InputError: the rater has no such item.
        """
        with self._transaction(writes=False) as database:
            return self._shown(database, self._number(rater), number)

    def record(
        self,
        number: int,
        answer: Answer,
        *,
        rater: str | None = None,
        seconds: float = 0.0,
        version: int | None = None,
        key: str | None = None,
    ) -> None:
        """Store the answer to an item; it is on the disk when this returns.

        Args:
            number: number of the item.
            answer: the answer, in the order in which the item shows its texts.
            rater: the rater, whose item it must be; `None`: whoever has it.
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
        owner = None if rater is None else self._number(rater)
        with self._transaction() as database:
            row = database.execute(_ITEM, (number,)).fetchone()
            if row is None or owner not in (None, row["rater"]):
                raise InputError(f"there is no item {number} to answer; ask for the next one.")
            if database.execute("SELECT 1 FROM answers WHERE key = ?", (key,)).fetchone():
                return
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
            self._store(database, row, answer, key, seconds=seconds)

    def add(self, judgements: Iterable[Judgement]) -> tuple[int, int]:
        """Store judgements that were collected elsewhere; return how many are new, and how many were known.

        Judgements of texts that the study does not ask about, such as equal outputs, are neither.

        Raters are added by their names. A judgement replaces the one that had its identity before, or else,
        if it is the n-th of the same texts by a rater, the n-th that the study has of them. So a file may be
        read again.

        Args:
            judgements: the judgements of outputs of the study's systems.

        Raises:
            InputError: a judgement is no answer to what the study asks.
        """
        stored, known = 0, 0
        matched: dict[Hashable, set[int]] = defaultdict(set)
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
                same = matched[each.rater, each.sentence, each.groups, each.edits]
                row = _find_item(database, each, groups, same)
                same.add(row["item"])
                if row["answer"] == json.dumps(asdict(answer)):
                    known += 1
                    continue
                key = f"{each.identity} {secrets.token_hex(16)}".strip()
                self._store(database, row, answer, key, seconds=each.seconds, at=each.at)
                stored += 1
        self.__dict__.pop("tokens", None)
        return stored, known

    # -- the judgements ----------------------------------------------------------------------------

    def judgements(self) -> list[Judgement]:
        """Return the latest answer to each item, skipped ones too, in the order in which they came.

        Answers to texts that have changed since are left out.
        """
        with self._transaction(writes=False) as database:
            return list(self._read_judgements(database))

    def write_tables(self) -> None:
        """Write the tables that the task has, such as `rankings.csv`, from the answers."""
        with self._transaction() as database:
            self._write_tables(database)

    def update_tables(self) -> None:
        """Add new answers to the tables; if an earlier answer or a table was changed, write them anew.

        If another thread waits to do so, it does so for both.
        """
        if not self._waiting.acquire(blocking=False):
            return
        with contextlib.ExitStack() as waiting:
            waiting.callback(self._waiting.release)
            with self._transaction() as database:
                waiting.close()
                self._update_tables(database)

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
            try:
                self._catch_up(database)
                while self._last["question"] < self.settings.different:
                    random = np.random.default_rng([self.settings.seed, self._last["question"]])
                    if self._new(database, random) is None:
                        break
                    self._catch_up(database)
            except BaseException:
                # The database takes the questions back.
                self._forget()
                raise
            rows = database.execute("SELECT * FROM questions ORDER BY question").fetchall()
        questions = []
        for row in rows:
            texts = self._questions.texts(row["sentence"], json.loads(row["groups"]))
            np.random.default_rng([self.settings.seed, row["question"]]).shuffle(texts)
            source = self.sources[row["sentence"]]
            questions.append((row["sentence"], source, texts, _load_edits(row["edits"])))
        return questions

    # -- what was asked and answered ---------------------------------------------------------------

    def _forget(self) -> None:
        """Forget what was read from the database."""
        self._questions = Questions(self.settings, self.sources, self.systems)
        self._last = {"question": 0, "item": 0, "number": 0}
        self._given: dict[int, list[Given]] = defaultdict(list)
        # The open item of each rater, by numbers, and what the latest answers to items say.
        self._unanswered: dict[int, int] = {}
        self._answered: dict[int, Judgement] = {}

    def _catch_up(self, database: sqlite3.Connection) -> None:
        """Read what was asked and answered since the last time."""
        query = "SELECT * FROM questions WHERE question > ? ORDER BY question"
        for row in database.execute(query, (self._last["question"],)):
            self._questions.close(row["sentence"], json.loads(row["groups"]))
            self._last["question"] = row["question"]
        query = (
            "SELECT item, rater, question, slot, repeats FROM items JOIN questions USING (question) "
            "WHERE item > ? ORDER BY item"
        )
        for row in database.execute(query, (self._last["item"],)):
            given = Given(row["item"], row["question"], row["slot"], row["repeats"])
            self._given[row["rater"]].append(given)
            self._unanswered[row["rater"]] = self._last["item"] = row["item"]
        query = "SELECT number, item, rater FROM answers JOIN items USING (item) WHERE number > ?"
        after = self._last["number"]
        for row in database.execute(query, (after,)):
            if self._unanswered.get(row["rater"]) == row["item"]:
                del self._unanswered[row["rater"]]
            self._last["number"] = max(self._last["number"], row["number"])
        for judgement in self._read_judgements(database, after) if self._questions.learns else ():
            if judgement.item in self._answered:
                self._questions.weigh(self._answered[judgement.item], -1)
            self._questions.weigh(judgement)
            self._answered[judgement.item] = judgement

    def _ask(self, database: sqlite3.Connection, rater: int) -> int | None:
        """Give a rater the next item: a repetition, a question for all raters, or one of the rater's own."""
        given = self._given[rater]
        random = np.random.default_rng([self.settings.seed, rater, len(given)])
        plan = plan_next(self.settings, given, random)
        if plan is None:
            return None
        if plan.repeats:
            repeated = plan.repeats
            return _add_item(database, rater, repeated.question, random, repeated.item)
        slot = plan.shared if plan.for_all else None
        # No question has the slot NULL.
        query = "SELECT question FROM questions WHERE slot = ?"
        row = database.execute(query, (slot,)).fetchone()
        question = row["question"] if row else self._new(database, random, slot)
        if question is None:
            query = "SELECT question FROM questions WHERE slot >= ? ORDER BY slot"
            left = database.execute(query, (plan.shared,)).fetchone()
            question = left["question"] if left else None
        return None if question is None else _add_item(database, rater, question, random)

    def _new(
        self, database: sqlite3.Connection, random: np.random.Generator, slot: int | None = None
    ) -> int | None:
        """Store a question that nobody was asked, and return its number; `None` if there is none left."""
        question = self._questions.draw(random)
        return None if question is None else _add_question(database, question, slot)

    def _read_judgements(self, database: sqlite3.Connection, after: int = 0) -> Iterator[Judgement]:
        """Yield the answers after one, each the latest to its item and about the texts as they are."""
        for row in database.execute(_LATEST, (after,)):
            groups = json.loads(row["groups"])
            if row["texts"] == self._questions.digest(row["sentence"], groups):
                yield Judgement(
                    row["name"],
                    row["sentence"],
                    tuple(map(tuple, groups)),
                    Answer(**json.loads(row["answer"])),
                    _load_edits(row["edits"]),
                    row["seconds"],
                    row["at"],
                    row["item"],
                    row["question"],
                    row["weight"],
                    row["repeats"],
                )

    def _write_tables(self, database: sqlite3.Connection) -> None:
        """Write all tables, and note which answers they have."""
        judgements = list(self._read_judgements(database))
        write_tables(self.folder, self.settings.task, self.sources, self.systems, judgements)
        self._note_written(database)

    def _update_tables(self, database: sqlite3.Connection) -> None:
        """Add new answers to the tables, or write the tables anew."""
        database.execute(_WRITTEN)
        row = database.execute("SELECT answer, sizes FROM written").fetchone()
        task = self.settings.task
        if row is None or row["sizes"] != json.dumps(table_sizes(self.folder, task)):
            self._write_tables(database)
            return
        changed = (
            "SELECT 1 FROM answers AS new JOIN answers AS old USING (item) "
            "WHERE new.number > ? AND old.number < new.number"
        )
        if database.execute(changed, (row["answer"],)).fetchone():
            self._write_tables(database)
            return
        new = list(self._read_judgements(database, row["answer"]))
        append_tables(self.folder, task, self.sources, self.systems, new)
        self._note_written(database)

    def _note_written(self, database: sqlite3.Connection) -> None:
        sizes = json.dumps(table_sizes(self.folder, self.settings.task))
        database.execute(_WRITTEN)
        database.execute("DELETE FROM written")
        query = "INSERT INTO written SELECT coalesce(max(number), 0), ? FROM answers"
        database.execute(query, (sizes,))

    # -- the database ------------------------------------------------------------------------------

    def _store(
        self,
        database: sqlite3.Connection,
        item: sqlite3.Row,
        answer: Answer,
        key: str,
        *,
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
    def _transaction(self, *, writes: bool = True) -> Iterator[sqlite3.Connection]:
        """Yield the database in a transaction, of the only writer if it writes; an error rolls it back."""
        with self._lock:
            try:
                self._database.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
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
        row = database.execute(_ITEM, (number,)).fetchone()
        if row is None or row["rater"] != rater:
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
            _load_edits(row["edits"]),
            row["position"],
            self.settings.total,
            row["version"],
            answer,
            row["previous"],
            self.context[row["sentence"]] if self.context else ("", ""),
        )


def _connect(path: Path) -> sqlite3.Connection:
    """Return a connection; where nothing can be written beside the file, it reads the file as it is."""

    def connect(how: str) -> sqlite3.Connection:
        database = sqlite3.connect(
            f"{path.absolute().as_uri()}?{how}",
            timeout=_PATIENCE,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )
        database.row_factory = sqlite3.Row
        # What is committed survives a kill and a loss of power.
        database.execute("PRAGMA synchronous = FULL")
        return database

    try:
        database = connect("mode=rwc")
        database.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError:
        wal = path.with_name(f"{path.name}-wal")
        if wal.exists() and wal.stat().st_size:
            raise OutputError(
                f"{path} cannot be read without writing beside it, because {wal.name} has answers; copy the "
                "study to a place that can be written."
            ) from None
        database = connect("mode=ro&immutable=1")
    return database


def _add_question(database: sqlite3.Connection, question: Question, slot: int | None = None) -> int:
    """Store a question, and return its number."""
    groups, edits = json.dumps(question.groups), _dump_edits(question.edits)
    cursor = database.execute(
        "INSERT INTO questions (sentence, groups, edits, weight, slot) VALUES (?, ?, ?, ?, ?)",
        (question.sentence, groups, edits, question.weight, slot),
    )
    return int(cursor.lastrowid or 0)


def _add_item(
    database: sqlite3.Connection,
    rater: int,
    question: int,
    random: np.random.Generator,
    repeats: int | None = None,
) -> int:
    """Give a rater a question with its texts in a random order, and return the number of the item."""
    query = "SELECT json_array_length(groups) FROM questions WHERE question = ?"
    texts = database.execute(query, (question,)).fetchone()[0]
    cursor = database.execute(
        "INSERT INTO items (rater, position, question, arrangement, repeats) VALUES "
        "(?, (SELECT coalesce(max(position), -1) + 1 FROM items WHERE rater = ?), ?, ?, ?)",
        (rater, rater, question, json.dumps(random.permutation(texts).tolist()), repeats),
    )
    return int(cursor.lastrowid or 0)


def _find_item(
    database: sqlite3.Connection,
    each: Judgement,
    groups: list[list[str]],
    matched: Container[int],
) -> sqlite3.Row:
    """Return a rater's item for a judgement; rater, question and item are added if there are none.

    Args:
        database: the database of the study.
        each: the judgement.
        groups: its texts, by all systems that wrote them (`Questions.canonical`).
        matched: the items of this rater's judgements before, of the same outputs.
    """
    query = "INSERT OR IGNORE INTO raters (name, token) VALUES (?, ?)"
    database.execute(query, (each.rater, secrets.token_urlsafe(16)))
    query = "SELECT number FROM raters WHERE name = ?"
    rater = database.execute(query, (each.rater,)).fetchone()["number"]
    query = "SELECT question FROM questions WHERE sentence = ? AND groups = ? AND edits = ?"
    texts = (each.sentence, json.dumps(groups), _dump_edits(each.edits))
    found = database.execute(query, texts).fetchone()
    question = (
        found["question"]
        if found
        else _add_question(database, Question(each.sentence, groups, each.edits))
    )
    query = (
        "SELECT item, (SELECT key FROM answers WHERE answers.item = items.item ORDER BY number DESC "
        "LIMIT 1) AS key FROM items WHERE rater = ? AND question = ? ORDER BY position"
    )
    items = database.execute(query, (rater, question)).fetchall()
    # The key of an answer with an identity is the identity and a token.
    names = {
        row["item"]: (row["key"] or "").rpartition(" ")[0]
        for row in items
        if row["item"] not in matched
    }
    same = [item for item, name in names.items() if each.identity and name == each.identity]
    free = [item for item, name in names.items() if not (each.identity and name)]
    random = np.random.default_rng((rater, question, len(items)))
    item = next(iter(same or free), None) or _add_item(database, rater, question, random)
    row: sqlite3.Row = database.execute(_ITEM, (item,)).fetchone()
    return row


def _dump_edits(edits: Sequence[Edit]) -> str:
    return json.dumps([[edit.start, edit.end, edit.correction, edit.type] for edit in edits])


def _load_edits(stored: str) -> tuple[Edit, ...]:
    return tuple(Edit(*row) for row in json.loads(stored))
