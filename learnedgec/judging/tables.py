"""Judgements as tables: `rankings.csv` or `ratings.csv`; of judged edits also `edits.csv` and `pairs.csv`.

A judgement of a text counts for every system that wrote it. Repetitions tell how consistent a rater is and
are not in the tables; nor are items that were skipped.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from learnedgec.data.m2 import apply_edits
from learnedgec.data.tables import read_table
from learnedgec.data.text import write_text
from learnedgec.judging.sampling import Group
from learnedgec.judging.settings import Judgement, Task
from learnedgec.types import Texts

Row = Mapping[str, Any]

ACCEPTED = "accepted"
"""The dimension of judged edits: the share of a text's edits that were accepted, of those not unsure."""


def write(
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
        keep: keep the rows that are there; otherwise, a table without rows is deleted.
    """
    if task in ("pairs", "ranking"):
        new = _write(folder / "rankings.csv", ranking_rows(judgements), keep)
    else:
        new = _write(folder / "ratings.csv", rating_rows(judgements), keep)
    if task == "edits":
        _write(folder / "edits.csv", edit_rows(judgements), keep)
        _write(folder / "pairs.csv", pair_rows(judgements, sources, systems), keep)
    return new


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


def _write(path: Path, rows: Iterable[Row], keep: bool) -> tuple[int, int]:
    """Write a table, after its earlier rows if these are kept; return how many rows are new and known."""
    earlier = [row for _, row in read_table(path)] if keep and path.is_file() else []
    unmatched = Counter(tuple(sorted(row.items())) for row in earlier)
    new: list[Row] = []
    known = 0
    for row in rows:
        cells = tuple(sorted((name, str(cell)) for name, cell in row.items()))
        unmatched[cells] -= 1
        if unmatched[cells] < 0:
            new.append(row)
        else:
            known += 1
    columns = dict.fromkeys(name for row in (*earlier, *new) for name in row)
    if not columns:
        path.unlink(missing_ok=True)
        return 0, 0
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows([*earlier, *new])
    write_text(path, buffer.getvalue())
    return len(new), known
