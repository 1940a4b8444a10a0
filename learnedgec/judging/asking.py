"""The creation of a study, its questions, and the choice of the next question for a rater."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np

from learnedgec.data.benchmarks.base import write_texts
from learnedgec.data.m2 import Edit
from learnedgec.data.references import ReferenceRows
from learnedgec.data.sentences import Sentences, Systems
from learnedgec.edits.annotator import available_annotator, extract_edits
from learnedgec.errors import InputError, InputWarning, warn_of_inputs
from learnedgec.judging.records import RANKED, Answer, Judgement, StudySettings, comparisons
from learnedgec.judging.sampling import Cells, Group, count_wins, draw_single, group_equal, spread
from learnedgec.metrics.bound import checked_inputs
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Texts

# The number of items between a question and its repetition, if there are enough.
_APART = 8


class Questions:
    """The questions of a study.

    Args:
        settings: the settings of the study.
        sources: N sentences.
        systems: system -> N outputs, those of the candidate `source` too.
    """

    def __init__(
        self, settings: StudySettings, sources: Texts, systems: Mapping[str, Texts]
    ) -> None:
        self.settings = settings
        self.sources = sources
        self.systems = systems

    @cached_property
    def _groups(self) -> list[list[Group]]:
        """The systems, by number, that wrote each text of a possible question, for each sentence."""
        columns = list(self.systems.values())
        groups = [group_equal([column[n] for column in columns]) for n in range(len(self.sources))]
        if self.settings.task != "edits":
            return groups
        return [
            [group for group in sentence_groups if columns[group[0]][n].split() != source.split()]
            for n, (source, sentence_groups) in enumerate(zip(self.sources, groups, strict=True))
        ]

    def count(self, sentence: int) -> int:
        """Return how many different questions can be asked about a sentence."""
        texts = len(self._groups[sentence])
        pairs = texts * (texts - 1) // 2
        return {"pairs": pairs, "ranking": min(pairs, 1)}.get(self.settings.task, texts)

    @cached_property
    def _cells(self) -> Cells:
        return Cells(self._groups, len(self.systems))

    def texts(self, sentence: int, groups: Sequence[Sequence[str]]) -> list[str]:
        """Return the texts that these systems wrote."""
        return [self.systems[group[0]][sentence] for group in groups]

    def digest(self, sentence: int, groups: Sequence[Sequence[str]]) -> str:
        """Return a digest of the source and the texts, which tells whether they have changed."""
        texts = [self.sources[sentence], *self.texts(sentence, groups)]
        return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]

    def ask(self, database: sqlite3.Connection, rater: int) -> int | None:
        """Give a rater the next item: a repetition, a question for all raters, or one of the rater's own."""
        settings = self.settings
        query = "SELECT * FROM asked WHERE rater = ? ORDER BY position"
        rows = database.execute(query, (rater,)).fetchall()
        random = np.random.default_rng([settings.seed, rater, len(rows)])
        repeated = {row["repeats"] for row in rows} - {None}
        shared = sum(row["slot"] is not None and row["repeats"] is None for row in rows)
        own = len(rows) - shared - len(repeated)
        done = shared >= settings.shared and own >= settings.own
        due = settings.repeated * (len(rows) + 1) // settings.total
        if len(repeated) < (settings.repeated if done else due):
            apart = min(_APART, settings.total // 3)
            earlier = [
                row
                for row in rows[: len(rows) + 1 - apart]
                if row["repeats"] is None and row["item"] not in repeated
            ]
            if earlier:
                row = earlier[random.integers(len(earlier))]
                return _add_item(database, rater, row["question"], random, row["item"])
        if done:
            return None
        for_all = shared < settings.shared and (shared <= own or own >= settings.own)
        slot = shared if for_all else None
        # No question has the slot NULL.
        query = "SELECT question FROM questions WHERE slot = ?"
        row = database.execute(query, (slot,)).fetchone()
        question = row["question"] if row else self.new(database, random, slot)
        if question is None:
            query = "SELECT question FROM questions WHERE slot >= ? ORDER BY slot"
            left = database.execute(query, (shared,)).fetchone()
            question = left["question"] if left else None
        return None if question is None else _add_item(database, rater, question, random)

    def new(
        self, database: sqlite3.Connection, random: np.random.Generator, slot: int | None = None
    ) -> int | None:
        """Draw a question that nobody was asked, and return its number; `None` if there is none left.

        Args:
            database: the database of the study.
            random: draws the question.
            slot: its place among the questions that all raters answer, or `None`.
        """
        if (drawn := self._draw(database, random)) is None:
            return None
        sentence, groups, weight = drawn
        edits: Sequence[Edit] = ()
        if self.settings.task == "edits":
            pair = (self.sources[sentence], self.texts(sentence, groups)[0])
            edits = extract_edits([pair], self.settings.annotator or available_annotator())[0]
        return _add_question(database, sentence, groups, edits, weight, slot)

    def _draw(
        self, database: sqlite3.Connection, random: np.random.Generator
    ) -> tuple[int, list[list[str]], float] | None:
        """Return the sentence, the systems of the texts and the weight of a question that nobody was asked.

        `None` says that there is none left.
        """
        names, numbers = list(self.systems), {name: n for n, name in enumerate(self.systems)}
        asked = [
            (
                row["sentence"],
                [tuple(map(numbers.__getitem__, g)) for g in json.loads(row["groups"])],
            )
            for row in database.execute("SELECT sentence, groups FROM questions")
        ]
        informative, weight = self.settings.order == "informative", 1.0
        if self.settings.task in ("ratings", "edits"):
            done = {(sentence, groups[0]) for sentence, groups in asked}
            if (single := draw_single(self._groups, done, random, informative=informative)) is None:
                return None
            sentence, chosen = single[0], [single[1]]
        else:
            closed = {(n, *pair) for n, groups in asked for pair in combinations(sorted(groups), 2)}
            unasked = self._cells.unasked(closed)
            if not unasked.any():
                return None
            wins = np.zeros((len(names), len(names)))
            if informative:
                wins = count_wins(comparisons(self.judgements(database), numbers), len(names))
            cell, weight = self._cells.draw(wins, unasked, random, informative=informative)
            sentence, chosen = int(self._cells.sentence[cell]), list(self._cells.pairs[cell])
            if self.settings.task == "ranking":
                others = [group for group in self._groups[sentence] if group not in chosen]
                chosen += [others[n] for n in random.permutation(len(others))][: RANKED - 2]
                chosen.sort()
        return sentence, [[names[system] for system in group] for group in chosen], weight

    def canonical(self, each: Judgement) -> tuple[list[list[str]], Answer]:
        """Return the texts of a judgement by all systems that wrote them, in order, and the answer to that.

        There is no text where all that were judged are one text, or none that the study asks about.
        """
        names = list(self.systems)
        groups = [[names[n] for n in group] for group in self._groups[each.sentence]]
        place = {name: number for number, group in enumerate(groups) for name in group}
        placed = {place[group[0]]: n for n, group in enumerate(each.groups) if group[0] in place}
        chosen = sorted(placed)
        answer = each.answer
        if answer.ranks:
            ranks = [answer.ranks[placed[number]] for number in chosen]
            dense = [1 + sorted(ranks).index(rank) for rank in ranks]
            answer = replace(answer, ranks=dense)
            chosen = chosen if len(chosen) > 1 else []
        return [groups[number] for number in chosen], answer

    def find_item(
        self,
        database: sqlite3.Connection,
        each: Judgement,
        groups: Sequence[Sequence[str]],
        number: int,
    ) -> sqlite3.Row:
        """Return a rater's item with the texts of a judgement; rater and item are added if there are none.

        Args:
            database: the database of the study.
            each: the judgement.
            groups: its texts, by all systems that wrote them (`canonical`).
            number: the number of items with these texts that the rater has before this one.
        """
        query = "INSERT OR IGNORE INTO raters (name, token) VALUES (?, ?)"
        database.execute(query, (each.rater, secrets.token_urlsafe(16)))
        query = "SELECT number FROM raters WHERE name = ?"
        rater = database.execute(query, (each.rater,)).fetchone()["number"]
        query = "SELECT question FROM questions WHERE sentence = ? AND groups = ? AND edits = ?"
        texts = (each.sentence, json.dumps(groups), _dump_edits(each.edits))
        row = database.execute(query, texts).fetchone()
        question = (
            row["question"]
            if row
            else _add_question(database, each.sentence, groups, each.edits, 1.0, None)
        )
        place = (rater, question, number)
        query = "SELECT * FROM asked WHERE rater = ? AND question = ? ORDER BY position LIMIT 1 OFFSET ?"
        if not database.execute(query, place).fetchone():
            _add_item(database, rater, question, np.random.default_rng(place))
        item: sqlite3.Row = database.execute(query, place).fetchone()
        return item

    def judgements(self, database: sqlite3.Connection) -> list[Judgement]:
        """Return the latest answer to each item that is about the texts as they are."""
        return [
            Judgement(
                row["name"],
                row["sentence"],
                tuple(map(tuple, json.loads(row["groups"]))),
                Answer(**json.loads(row["answer"])),
                load_edits(row["edits"]),
                row["seconds"],
                row["at"],
                row["item"],
                row["question"],
                row["weight"],
                row["repeats"],
            )
            for row in database.execute("SELECT * FROM latest")
            if row["texts"] == self.digest(row["sentence"], json.loads(row["groups"]))
        ]


def _add_question(
    database: sqlite3.Connection,
    sentence: int,
    groups: Sequence[Sequence[str]],
    edits: Sequence[Edit],
    weight: float,
    slot: int | None,
) -> int:
    """Store a question, and return its number."""
    cursor = database.execute(
        "INSERT INTO questions (sentence, groups, edits, weight, slot) VALUES (?, ?, ?, ?, ?)",
        (sentence, json.dumps(groups), _dump_edits(edits), weight, slot),
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
        "(?, (SELECT count(*) FROM items WHERE rater = ?), ?, ?, ?)",
        (rater, rater, question, json.dumps(random.permutation(texts).tolist()), repeats),
    )
    return int(cursor.lastrowid or 0)


def _dump_edits(edits: Sequence[Edit]) -> str:
    return json.dumps([[edit.start, edit.end, edit.correction, edit.type] for edit in edits])


def load_edits(stored: str) -> tuple[Edit, ...]:
    """Return the edits of a question."""
    return tuple(Edit(*row) for row in json.loads(stored))


# Types of errors are determined for this many times the number of wanted sentences.
_POOL = 3


def write_study(
    folder: Path,
    sources: Sentences,
    systems: Systems,
    references: ReferenceRows | None,
    settings: StudySettings,
) -> StudySettings:
    """Write the texts and the settings of a new study into a folder; return settings that fit the texts.

    Args:
        folder: an empty folder.
        sources: N sentences.
        systems: each system's N outputs, by name.
        references: the references of the N sentences, or `None`.
        settings: the settings; they may ask for more sentences or questions than there are.

    Raises:
        InputError: there is nothing to ask, or a system's name cannot be used.
        LengthError: outputs or references differ in number from the sources.
    """
    texts, outputs, rows = checked_inputs((), sources, systems, references, Runtime())
    if "source" in outputs:
        raise InputError(
            "a system is named source, which stands for the uncorrected sentences; rename it, or ",
            hint="set source_is_candidate.",
            flag="use --source-is-candidate.",
        )
    settings, numbers = _choose(texts, outputs, settings)
    write_texts(
        folder,
        [texts[number] for number in numbers],
        {name: [lines[number] for number in numbers] for name, lines in outputs.items()},
        None if rows is None else rows.select(numbers),
    )
    settings.write(folder)
    return settings


def _choose(
    sources: Texts, systems: Mapping[str, Texts], settings: StudySettings
) -> tuple[StudySettings, list[int]]:
    """Return the sentences to ask about, and the settings with as many sentences and questions as there are.

    Sentences with the same texts count once. The informative order gives every type of error its share
    (`spread`): a sentence counts for the most frequent type among the edits of its outputs.
    """
    if settings.source_is_candidate:
        systems = {"source": sources, **systems}
    questions = Questions(settings, sources, systems)
    # NUL keeps the texts of a sentence apart.
    texts = [" \0 ".join(row) for row in zip(sources, *systems.values(), strict=True)]
    counts = {group[0]: questions.count(group[0]) for group in group_equal(texts)}
    useful = [number for number, count in counts.items() if count]
    if not useful:
        alone = f"{next(iter(systems))} is the only system, and a question compares two; give another, or "
        equal = "all outputs are equal, so there is nothing to ask; give outputs that differ, or "
        raise InputError(
            alone if len(systems) == 1 else equal,
            hint="set source_is_candidate.",
            flag="use --source-is-candidate.",
        )
    random = np.random.default_rng(settings.seed)
    size = min(settings.sentences, len(useful))
    if size < min(settings.sentences, len(sources)):
        nothing = "no edits" if settings.task == "edits" else "equal outputs"
        left_out = {
            nothing: len(counts) - len(useful),
            "repetitions of a sentence and its outputs": len(sources) - len(counts),
        }
        reasons = ", ".join(f"{reason} ({count})" for reason, count in left_out.items() if count)
        warn_of_inputs(
            InputWarning(
                f"the study asks about {size} of {len(sources)} sentences; left out: {reasons}."
            )
        )
    chosen = sorted(random.permutation(useful)[:size].tolist())
    if settings.order == "informative" and size < len(useful):
        pool = sorted(random.permutation(useful)[: _POOL * size].tolist())
        chosen = spread(_main_types(questions, pool), size, random)
    most = sum(counts[number] for number in chosen)
    return dataclasses.replace(
        settings, sentences=size, questions=min(settings.questions or size, most)
    ), chosen


def _main_types(questions: Questions, numbers: Sequence[int]) -> dict[int, str]:
    """Return the most frequent type among the edits of each sentence's outputs, by its number."""
    sources, columns = questions.sources, list(questions.systems.values())
    pairs = [(sources[number], column[number]) for number in numbers for column in columns]
    edits = extract_edits(pairs, questions.settings.annotator or available_annotator())
    types: dict[int, str] = {}
    for place, number in enumerate(numbers):
        rows = edits[place * len(columns) : (place + 1) * len(columns)]
        common = Counter(edit.type for row in rows for edit in row).most_common(1)
        types[number] = common[0][0] if common else ""
    return types
