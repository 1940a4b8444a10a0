"""Papers' figures beside ours: a summary, rows of a table, and a page for each paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from learnedgec.analysis.reproduction import STATES, Answer, Figure


def counts(answers: Iterable[Answer]) -> list[dict[str, Any]]:
    """Return a row for each paper, with the number of figures in each state, and one for all.

    A figure that several models answer counts once, by the first of them.
    """
    first: dict[Figure, Answer] = {}
    for answer in answers:
        first.setdefault(answer.figure, answer)
    answers = list(first.values())
    rows = []
    papers = dict.fromkeys(answer.figure.paper for answer in answers)
    for paper in (*papers, *(["all"] if len(papers) > 1 else [])):
        chosen = [answer for answer in answers if paper in ("all", answer.figure.paper)]
        states = Counter(answer.state for answer in chosen)
        own = sum(answer.own for answer in chosen if answer.state == "met")
        of_states = {state: states[state] for state in STATES}
        rows.append({"paper": paper, "figures": len(chosen), **of_states, "met, own model": own})
    return rows


def rows_of(answers: Iterable[Answer]) -> list[dict[str, str]]:
    """Return a row of texts for each figure: the paper's, ours with its interval, state, what differs."""
    return [
        {
            "table": answer.figure.table,
            "row": answer.figure.row,
            "column": answer.figure.column,
            "published": answer.figure.value or "–",
            "ours": _shown(answer),
            "state": answer.state,
            "differs": answer.differs or "–",
        }
        for answer in answers
    ]


def _shown(answer: Answer) -> str:
    """Return `0.869 [0.59, 0.96]`, or a system's name."""
    if answer.ours is None or isinstance(answer.ours, str):
        return answer.ours or "–"
    digits = len(answer.figure.value.partition(".")[2]) if answer.figure.value else 3
    text = f"{answer.ours:.{digits}f}"
    if answer.interval is None:
        return text
    return f"{text} [{answer.interval[0]:.2f}, {answer.interval[1]:.2f}]"


def page(paper: str, answers: Sequence[Answer], dtype: str = "float32") -> Iterator[str]:
    """Yield the lines of a paper's page.

    Args:
        paper: its name.
        answers: its figures with ours.
        dtype: the precision of the models.
    """
    yield from (f"# {paper}: published figures, and ours", "")
    command = f"learnedgec reproduce {paper}{'' if dtype == 'float32' else f' --dtype {dtype}'}"
    yield f"Written by `{command}` from `data/papers/{paper}.csv`."
    yield ""
    [summary] = counts(answers)
    del summary["paper"]
    yield from _table([{name: str(count) for name, count in summary.items()}])
    yield from ("", *_MEANING)
    sources = dict.fromkeys(answer.figure.source for answer in answers if answer.figure.source)
    yield from (f"- Read at {source}." for source in sources)
    for table, group in groupby(answers, key=lambda answer: answer.figure.table):
        yield from ("", f"## {f'Table {table}' if table.isdigit() else table}", "")
        yield from _table([{k: row[k] for k in row if k != "table"} for row in rows_of(group)])


def _table(rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for cells in (rows[0], ["---"] * len(rows[0]), *(row.values() for row in rows)):
        yield f"| {' | '.join(cells)} |"


_MEANING = """\
- A figure whose model is not at hand has a row for each model that takes its place, which the last column
  names. The first of them counts in the summary.
- *Met*: within .005 of the published figure. *Near*: within .05. *Needs MODEL* or *needs data*: the last
  column says what is missing. *Not at hand*: no copy of the table could be read. *Not run*: the command
  was stopped before it.
- Brackets are 95 % intervals, over systems for correlations and over sentences for accuracy and τ. SEEDA base
  has 12 systems, +Fluency 14, GJG15 13 and `gjg15:12` 12. With so few systems, another model may meet a
  figure by chance; *met, own model* leaves those out.
- In accuracy and τ on SEEDA, a tie of the metric is a loss of the system that is listed first, as in SEEDA's
  script. On GJG15 a tie is wrong for accuracy and counts 0 for τ.""".splitlines()
