"""Judgements that were collected elsewhere, and a study as a project of Label Studio.

`write_project` writes two files for Label Studio: `labeling_config.xml` and `tasks.json`. A task has no name
of a system. Its texts say what was judged: `read_judgements` finds the sentence by its source, and systems by
their outputs. Thus it also reads other projects of Label Studio whose tasks have

    source          the sentence
    text1, text2    two outputs, judged by Pairwise, or by Choices of `first`, `second`, `equal` and `bad`
    items           outputs with `id` and `body` (or `title`), judged by Ranker: in order, or in buckets that
                    are named by ranks
    text            one output, judged by Rating, Number or Choices with the name of each dimension
    text, edits     one output, and its edits with `start`, `end`, `correction` and `type`, judged by Choices
                    of `accept`, `reject` and `unsure` with the names `edit_0`, `edit_1`, …

Other files have the formats of a benchmark (`learnedgec.data.benchmarks.base`): `.xml` of Appraise, and
tables with the columns of `rankings.csv` or `ratings.csv`. Their ids number the lines
of a file of sources from 0.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader

from learnedgec.data.benchmarks.base import read_outputs
from learnedgec.data.catalog.outputs import Ranking, read_appraise, read_pairs
from learnedgec.data.catalog.ratings import dimensions
from learnedgec.data.m2 import Edit
from learnedgec.data.records import suffix
from learnedgec.data.tables import read_table, whole_number
from learnedgec.data.text import read_json, read_lines, write_json, write_text
from learnedgec.errors import FormatError, InputError, UnknownNameError
from learnedgec.judging.records import RANKED, SETTINGS_FILE, Answer, Judgement, Task, write_tables
from learnedgec.judging.sampling import group_equal
from learnedgec.judging.study import Study
from learnedgec.runtime.files import PathLike
from learnedgec.types import Texts

CONFIG_FILE, TASKS_FILE = "labeling_config.xml", "tasks.json"

# The choices about a pair: value -> text, key and answer.
_PAIR_CHOICES = {
    "first": ("The first is better", "1", Answer(ranks=[1, 2])),
    "second": ("The second is better", "2", Answer(ranks=[2, 1])),
    "equal": ("Equal", "0", Answer(ranks=[1, 1])),
    "bad": ("Both are bad", "3", Answer(ranks=[1, 1], bad=True)),
}
_PAIRWISE = {"left": "first", "right": "second"}
# The results that answer a task; relations between regions, for one, do not.
_CONTROLS = ("choices", "number", "pairwise", "ranker", "rating")
_EDIT_ANSWERS = {"accept": 1, "reject": -1, "unsure": 0}


def write_project(study: Study, folder: PathLike) -> int:
    """Write a study's questions as a project of Label Studio, and return how many there are.

    Questions that nobody was asked yet are drawn, as many as the study has in all.

    Args:
        study: the study.
        folder: the folder for `labeling_config.xml` and `tasks.json`.

    Raises:
        OutputError: the files cannot be written.
    """
    settings = study.settings
    environment = Environment(loader=PackageLoader("learnedgec.judging"), autoescape=True)
    config = environment.get_template("label_studio.xml").render(
        title=settings.title,
        task=settings.task,
        dimensions=settings.dimensions,
        ranks=range(1, RANKED + 1),
        pair_choices=_PAIR_CHOICES,
        edit_choices=list(_EDIT_ANSWERS),
    )
    tasks = [{"data": _task(settings.task, *question)} for question in study.questions()]
    write_text(Path(folder) / CONFIG_FILE, config + "\n")
    write_json(Path(folder) / TASKS_FILE, tasks)
    return len(tasks)


def _task(
    task: str, sentence: int, source: str, texts: Texts, edits: Sequence[Edit]
) -> dict[str, Any]:
    """Return the data of a task; `sentence` tells sentences with the same source apart."""
    data: dict[str, Any] = {"sentence": sentence, "source": source}
    if task == "pairs":
        return data | {"text1": texts[0], "text2": texts[1]}
    if task == "ranking":
        numbered = enumerate(texts, 1)
        items = [{"id": str(n), "title": f"{n}", "body": text} for n, text in numbered]
        return data | {"items": items}
    data["text"] = texts[0]
    if task == "edits":
        tokens = source.split()
        data["edits"] = [
            {
                "start": edit.start,
                "end": edit.end,
                "correction": edit.correction,
                "type": edit.type,
                "shown": f"{' '.join(tokens[edit.start : edit.end])} → {edit.correction}".strip(),
            }
            for edit in edits
        ]
    return data


# -- reading ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Imported:
    """The numbers of judgements in a file that were imported, known or left out.

    Attributes:
        new: judgements that were added; for a benchmark, rows of its first table.
        known: judgements that were there before.
        absent: judgements that are left out because their sentence is not in the folder.
        unasked: judgements that are left out because the study does not ask about their texts, such as equal
            outputs.
    """

    new: int
    known: int
    absent: int
    unasked: int = 0


def import_judgements(
    folder: PathLike, path: PathLike, numbered: Sequence[str] | None = None
) -> Imported:
    """Add the judgements of a file to a study or to the folder of a benchmark.

    A study stores them in its database. In a benchmark, they are rows of its tables, such as `rankings.csv`,
    which may be absent before.

    Args:
        folder: the study, or a folder with `source.txt` and `systems/`.
        path: as for `read_judgements`.
        numbered: as for `read_judgements`. A study has a sample of the sentences, so that files with ids need
            it.

    Raises:
        InputError: the folder lacks the texts, a judgement does not fit the study's task, or `numbered` is
            needed.
        FormatError, UnknownNameError: as for `read_judgements`.
    """
    folder = Path(folder)
    if (folder / SETTINGS_FILE).is_file():
        study = Study(folder)
        if numbered is None and _kind(path) != "json" and Path(path).exists():
            raise InputError(
                f"the ids in {path} are numbers of sentences, and {folder} may have only some of these "
                "sentences; give all of them ",
                hint="as numbered.",
                flag=f"with --src (for the study's own tables, --src {folder / 'source.txt'}).",
            )
        judgements, absent = read_judgements(path, study.sources, study.systems, numbered)
        new, known = study.add(judgements)
        study.write_tables()
        return Imported(new, known, absent, len(judgements) - new - known)
    sources = read_lines(folder / "source.txt")
    systems = {**read_outputs(folder / "systems", sources), "source": sources}
    judgements, absent = read_judgements(path, sources, systems, numbered)
    task: Task = "pairs"
    if any(each.answer.edits for each in judgements):
        task = "edits"
    elif any(each.answer.values for each in judgements):
        task = "ratings"
    new, known = write_tables(folder, task, sources, systems, judgements, keep=True)
    return Imported(new, known, absent)


def read_judgements(
    path: PathLike,
    sources: Texts,
    systems: Mapping[str, Texts],
    numbered: Sequence[str] | None = None,
) -> tuple[list[Judgement], int]:
    """Return the judgements in a file of Label Studio or Appraise, or a table, and how many are left out.

    Args:
        path: `.json`, what Label Studio exports as JSON; `.xml`, what Appraise exports, with `src-id` from 0;
            or a table with the columns of `rankings.csv` (`id`, `better`, `worse`) or `ratings.csv` (`id`,
            `system`, a column for each dimension).
        sources: N sentences.
        systems: system -> N outputs.
        numbered: the sentences that ids number, `sources` by default. Judgements of others are left out.

    Raises:
        FormatError: the file is none of these, or a text in it is not among the sources or outputs.
        UnknownNameError: the file names a system without outputs.
    """
    kind = _kind(path)
    if kind == "json":
        return _latest(_read_label_studio(path, sources, systems)), 0
    numbered = sources if numbered is None else numbered
    if kind == "ratings":
        judgements = list(_read_ratings(path, len(numbered)))
    else:
        read = read_appraise(path) if kind == "xml" else read_pairs(path, len(numbered))
        judgements = list(map(_ranked, read))
    lines: list[int | None] = list(range(len(numbered)))
    if numbered is not sources:
        place = {tuple(t.split()): number for number, t in reversed(list(enumerate(sources)))}
        lines = [place.get(tuple(text.split())) for text in numbered]
    placed = list(_placed(judgements, lines, systems, os.fspath(path)))
    return placed, len(judgements) - len(placed)


def _kind(path: PathLike) -> str:
    """Return what a file holds: `json` of Label Studio, `xml` of Appraise, `rankings` or `ratings`."""
    if suffix(path) in (".json", ".xml"):
        return suffix(path)[1:]
    _, first = next(read_table(path), ("", {"better": ""}))
    if first.keys().isdisjoint(("better", "system")):
        raise FormatError(
            f"{path}:1: no column 'better' or 'system'; found {', '.join(first)[:200]}. Name the columns id, "
            "better and worse, as in rankings.csv, or id, system and each dimension, as in ratings.csv."
        )
    return "rankings" if "better" in first else "ratings"


def _placed(
    judgements: Sequence[Judgement],
    lines: Sequence[int | None],
    systems: Mapping[str, Texts],
    path: str,
) -> Iterator[Judgement]:
    """Yield checked judgements with the number that their line has among our sentences, if it has one."""
    for each in judgements:
        for name in (name for group in each.groups for name in group):
            if name not in systems:
                raise UnknownNameError("output", name, systems, hint=f"{path} judges it.")
        if not 0 <= each.sentence < len(lines):
            raise FormatError(
                f"{path}: sentence {each.sentence} is judged, and the sentences are numbered from 0 to "
                f"{len(lines) - 1}."
            )
        if (sentence := lines[each.sentence]) is None:
            continue
        yield replace(each, sentence=sentence)
        texts: dict[tuple[str, ...], int] = {}
        for (name,), rank in zip(each.groups, each.answer.ranks, strict=False):
            # Appraise shows equal outputs once, so other ranks mean other sentences.
            text = tuple(systems[name][sentence].split())
            if texts.setdefault(text, rank) != rank and suffix(path) == ".xml":
                raise FormatError(
                    f"{path}: two systems with the same output have different ranks in sentence "
                    f"{each.sentence}, so the sentences are not those of source.txt; number them from 0."
                )


def _ranked(ranking: Ranking) -> Judgement:
    """Return a ranking as a judgement."""
    ranks = list(ranking.ranks.values())
    dense = [1 + sorted(ranks).index(rank) for rank in ranks]
    groups = tuple((name,) for name in ranking.ranks)
    return Judgement(ranking.annotator, ranking.sentence, groups, Answer(ranks=dense))


def _read_ratings(path: PathLike, sentences: int) -> Iterator[Judgement]:
    for place, record in read_table(path, required=("id", "system")):
        number = whole_number(record["id"], sentences, f"{place}: 'id'")
        if values := dimensions(record, place):
            rater = record.get("annotator", "")
            yield Judgement(rater, number, ((record["system"],),), Answer(values=values))


def _latest(judgements: Iterable[Judgement]) -> list[Judgement]:
    """Return the latest version of each annotation; exports have repeated tasks, and may be joined."""
    latest: dict[Hashable, Judgement] = {}
    for number, each in enumerate(judgements):
        texts = (each.rater, each.sentence, each.groups, each.edits)
        annotation = (each.identity, *texts) if each.identity else number
        if annotation not in latest or latest[annotation].at <= each.at:
            latest[annotation] = each
    return list(latest.values())


def _read_label_studio(
    path: PathLike, sources: Texts, systems: Mapping[str, Texts]
) -> Iterator[Judgement]:
    """Yield the judgements of an export, skipped ones too."""
    tasks = read_json(path)
    if not isinstance(tasks, list) or not all(
        isinstance(task, dict) and {"data", "annotations"} <= task.keys() for task in tasks
    ):
        raise FormatError(
            f"{path}: tasks with data and annotations were expected; export from Label Studio as JSON, not "
            "as JSON-MIN."
        )
    lines: dict[tuple[str, ...], list[int]] = {}
    for number, text in enumerate(sources):
        lines.setdefault(tuple(text.split()), []).append(number)
    for number, task in enumerate(tasks, 1):
        place = f"{path}: task {task.get('id', number)}"
        data = task["data"]
        try:
            texts = _judged_texts(data)
            edits = [
                Edit(e["start"], e["end"], e["correction"], e.get("type", ""))
                for e in data.get("edits", ())
            ]
            numbers = lines.get(tuple(data["source"].split()), [])
            sentence, groups = _find(data, texts, numbers, systems, place)
            for annotation in task["annotations"]:
                yield Judgement(
                    _annotator(annotation.get("completed_by")),
                    sentence,
                    groups,
                    _answer(annotation, data, place),
                    tuple(edits),
                    seconds=float(annotation.get("lead_time") or 0),
                    at=str(annotation.get("updated_at") or annotation.get("created_at") or ""),
                    identity=f"annotation-{annotation['id']}" if "id" in annotation else "",
                )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(
                f"{place} cannot be read ({type(error).__name__}: {error}); name its data and "
                "controls as the exported project does."
            ) from None


def _judged_texts(data: Mapping[str, Any]) -> list[str]:
    """Return the outputs that a task is about."""
    if "text1" in data:
        return [data["text1"], data["text2"]]
    if "items" in data:
        return [item.get("body") or item["title"] for item in data["items"]]
    return [data["text"]]


def _find(
    data: Mapping[str, Any],
    texts: Texts,
    numbers: Sequence[int],
    systems: Mapping[str, Texts],
    place: str,
) -> tuple[int, tuple[tuple[str, ...], ...]]:
    """Return which of these sentences has a task's texts, and the systems that wrote each of them."""
    numbers = sorted(numbers, key=lambda number: number != data.get("sentence"))
    names = list(systems)
    for number in numbers:
        outputs = [systems[name][number] for name in names]
        by_text = {tuple(outputs[group[0]].split()): group for group in group_equal(outputs)}
        groups = [by_text.get(tuple(text.split()), ()) for text in texts]
        if all(groups):
            written = ([names[n] for n in group if names[n] != "source"] for group in groups)
            return number, tuple(tuple(group) or ("source",) for group in written)
    if not numbers:
        raise FormatError(
            f"{place}: its source is not among the sentences of the folder ({data['source'][:80]})."
        )
    raise FormatError(
        f"{place}: one of its texts is not a system's output; the outputs must be those that were judged."
    )


def _annotator(user: Any) -> str:
    """Return the name of an annotator, who is given by a number, an address or a record."""
    if isinstance(user, dict):
        user = user.get("email") or user.get("id")
    return user if isinstance(user, str) else f"annotator-{user}"


def _answer(annotation: Mapping[str, Any], data: Mapping[str, Any], place: str) -> Answer:
    """Return an annotator's answer to a task."""
    values: dict[str, Mapping[str, Any]] = {}
    comments: list[str] = []
    for result in annotation["result"]:
        if result["type"] == "textarea":
            comments += _listed(result["value"]["text"])
        if result["type"] not in _CONTROLS:
            continue
        name = result["from_name"]
        if values.setdefault(name, result)["value"] != result["value"]:
            raise FormatError(
                f"{place}: {name} has two answers in one annotation; one was expected."
            )
    comment = " ".join(comments)
    if annotation.get("was_cancelled") or not values:
        return Answer(skip="skipped in Label Studio", comment=comment)
    first = next(iter(values.values()))
    answer: dict[str, Any] = {}
    if first["type"] == "pairwise" or ("text1" in data and first["type"] == "choices"):
        selected = _selected(first, place)
        choice = _PAIRWISE.get(selected, selected)
        if choice not in _PAIR_CHOICES:
            raise FormatError(
                f"{place}: {choice!r} was chosen; one of {', '.join(_PAIR_CHOICES)} was expected."
            )
        return replace(_PAIR_CHOICES[choice][2], comment=comment)
    if first["type"] == "ranker":
        ranks = _ranks(first["value"]["ranker"], first["from_name"])
        ids = [str(item["id"]) for item in data["items"]]
        if not ranks.keys() >= set(ids):
            return Answer(skip="not all texts were ranked in Label Studio", comment=comment)
        answer["ranks"] = [1 + sorted(ranks.values()).index(ranks[name]) for name in ids]
    elif "edits" in data:
        chosen = [values.get(f"edit_{number}") for number in range(len(data["edits"]))]
        if not all(chosen):
            return Answer(skip="not all edits were judged in Label Studio", comment=comment)
        answer["edits"] = [_EDIT_ANSWERS[_selected(result, place)] for result in chosen if result]
    else:
        answer["values"] = {
            name: float(_selected(result, place)) for name, result in values.items()
        }
    return Answer(**answer, comment=comment)


def _selected(result: Mapping[str, Any], place: str) -> Any:
    """Return the value of a result: the choice, rating, number or side."""
    value = result["value"]
    if result["type"] != "choices":
        return value["selected" if result["type"] == "pairwise" else result["type"]]
    choices = _listed(value["choices"])
    if len(choices) != 1:
        raise FormatError(
            f"{place}: {len(choices)} choices were made in {result['from_name']} ({', '.join(choices)}); one "
            "was expected."
        )
    return choices[0]


def _listed(value: Any) -> list[Any]:
    """Return a list; exports give a single text without one."""
    return value if isinstance(value, list) else [value]


def _ranks(ranker: Any, name: str) -> dict[str, int]:
    """Return id -> rank: its place in a list, or the number that names its bucket."""
    ordered = ranker.get(name) if isinstance(ranker, dict) else ranker
    if ordered is not None:
        return {str(identity): place for place, identity in enumerate(_listed(ordered), 1)}
    return {
        str(identity): int(bucket)
        for bucket, ids in ranker.items()
        if bucket != "_"
        for identity in _listed(ids)
    }
