"""The database of a study: its tables, and rows that are added to them."""

from __future__ import annotations

import contextlib
import json
import secrets
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from learnedgec.data.m2 import Edit

DATABASE = "study.sqlite"

# The number of seconds for which a thread or process waits while another one writes.
_PATIENCE = 60.0


def create(path: Path, raters: Sequence[tuple[int, str, str]]) -> None:
    """Create the database of a study with its raters: number, name and token of each."""
    with contextlib.closing(connect(path)) as database:
        database.executescript(Path(__file__).with_name("study.sql").read_text(encoding="utf-8"))
        database.executemany("INSERT INTO raters VALUES (?, ?, ?)", raters)


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection; what is committed survives a kill and a loss of power."""
    database = sqlite3.connect(
        path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
    )
    database.row_factory = sqlite3.Row
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    return database


def version_of(database: sqlite3.Connection, item: int) -> int:
    """Return how often an item was answered."""
    query = "SELECT count(*) FROM answers WHERE item = ?"
    return int(database.execute(query, (item,)).fetchone()[0])


def add_question(
    database: sqlite3.Connection,
    sentence: int,
    groups: Sequence[Sequence[str]],
    edits: Sequence[Edit],
    weight: float,
    slot: int | None,
) -> int:
    """Store a question and return its number.

    Args:
        database: the database of the study.
        sentence: number of the sentence.
        groups: the systems of each text.
        edits: the edits that are asked about.
        weight: what its answers count in the informative order.
        slot: its place among the questions that all raters answer, or `None`.
    """
    stored = _dump_edits(edits)
    cursor = database.execute(
        "INSERT INTO questions (sentence, groups, edits, weight, slot) VALUES (?, ?, ?, ?, ?)",
        (sentence, json.dumps(groups), stored, weight, slot),
    )
    return int(cursor.lastrowid or 0)


def add_item(
    database: sqlite3.Connection,
    rater: int,
    question: int,
    random: np.random.Generator,
    repeats: int | None = None,
) -> int:
    """Give a rater a question, with its texts in a random order, and return the number of the item.

    Args:
        database: the database of the study.
        rater: number of the rater.
        question: number of the question.
        random: draws the order.
        repeats: the item that this one repeats, if it does.
    """
    query = "SELECT json_array_length(groups) FROM questions WHERE question = ?"
    texts = database.execute(query, (question,)).fetchone()[0]
    cursor = database.execute(
        "INSERT INTO items (rater, position, question, arrangement, repeats) VALUES "
        "(?, (SELECT count(*) FROM items WHERE rater = ?), ?, ?, ?)",
        (rater, rater, question, json.dumps(random.permutation(texts).tolist()), repeats),
    )
    return int(cursor.lastrowid or 0)


def rater_number(database: sqlite3.Connection, name: str) -> int:
    """Return the number of the rater with this name, who is added if there is none."""
    rater = database.execute("SELECT number FROM raters WHERE name = ?", (name,)).fetchone()
    if rater:
        return int(rater["number"])
    query = "INSERT INTO raters (name, token) VALUES (?, ?)"
    return int(database.execute(query, (name, secrets.token_urlsafe(16))).lastrowid or 0)


def find_item(
    database: sqlite3.Connection,
    rater: int,
    sentence: int,
    groups: Sequence[Sequence[str]],
    edits: Sequence[Edit],
    number: int,
) -> sqlite3.Row:
    """Return a rater's item with these texts, added if there is none, with its latest `answer`.

    Args:
        database: the database of the study.
        rater: number of the rater.
        sentence: number of the sentence.
        groups: the systems of each text.
        edits: the edits that are asked about.
        number: how many items with these texts the rater has before this one.
    """
    query = "SELECT question FROM questions WHERE sentence = ? AND groups = ? AND edits = ?"
    texts = (sentence, json.dumps(groups), _dump_edits(edits))
    found = database.execute(query, texts).fetchone()
    question = found[0] if found else add_question(database, sentence, groups, edits, 1.0, None)
    query = (
        "SELECT *, (SELECT answer FROM answers WHERE answers.item = asked.item ORDER BY number DESC LIMIT 1) "
        "AS answer FROM asked WHERE rater = ? AND question = ? ORDER BY position LIMIT 1 OFFSET ?"
    )
    place = (rater, question, number)
    if not database.execute(query, place).fetchone():
        add_item(database, rater, question, np.random.default_rng(place))
    item: sqlite3.Row = database.execute(query, place).fetchone()
    return item


def _dump_edits(edits: Sequence[Edit]) -> str:
    return json.dumps([[edit.start, edit.end, edit.correction, edit.type] for edit in edits])


def load_edits(stored: str) -> tuple[Edit, ...]:
    """Return the edits of a question."""
    return tuple(Edit(*row) for row in json.loads(stored))
