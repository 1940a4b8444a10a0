"""The page with the keys of every table is that of the columns that results declare."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import get_args

import pytest

import learnedgec
from learnedgec import Resampling, load_benchmark
from learnedgec.analysis import reproduction
from learnedgec.analysis.comparison import table_of as table_of_comparisons
from learnedgec.analysis.meta.results import Show
from learnedgec.applications.confidence import JudgedEdits
from learnedgec.cli import data, evaluators, metrics
from learnedgec.judging.status import StudyStatus
from learnedgec.metrics.contract import score_table
from learnedgec.robustness.tables import (
    table_of_attacks,
    table_of_cases,
    table_of_preferences,
    table_of_systems,
)
from learnedgec.table import Column, For, Table
from learnedgec.training.run import TrainingResult
from learnedgec.tuning.search import SearchPlan
from learnedgec.tuning.sweep import Sweep, SweptTrial

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "keys.md"
FEW = Resampling(9)
SOURCES = ["He go home .", "Fine ."]
SYSTEMS = {"A": ["He goes home .", "Fine ."], "B": ["He go .", "It is fine ."]}


def tables(folder: Path) -> dict[str, Sequence[Column] | Table]:
    """Return the columns of every table, by command."""
    scores = {"length": learnedgec.score("length", SOURCES, SYSTEMS)}
    compared = learnedgec.compare("length", SOURCES, SYSTEMS, baseline="B", resampling=FEW)
    evaluation = learnedgec.evaluate(
        "length", load_benchmark("sample"), learnedgec.Protocol(resampling=FEW), human="EW"
    )
    tuned = learnedgec.tune(
        "ensemble(gleu=0.5, length=0.5)",
        "sample",
        trials=SearchPlan(trials=2, validation="none"),
        output=folder,
        resampling=FEW,
    )
    trial = SweptTrial(0, {"model.dropout": 0.1}, "complete", {0: 0.5})
    figures = {"pearson": 0.5, "pearson_low": 0.4, "pearson_high": 0.6, "n": 9}
    trained = TrainingResult(Path("mine"), {"test": {"fluency": figures}})
    status = StudyStatus(0, 0, [], [], {"units": 0}, [])
    return {
        "score": score_table(scores),
        "score --level sentence": score_table(scores, sentences=True),
        "rank": learnedgec.rank("length", SOURCES, SYSTEMS, resampling=FEW).table(),
        "compare": table_of_comparisons(compared),
        **{f"meta --show {show}": evaluation.table(show) for show in get_args(Show)},
        "robust systems": table_of_systems([]),
        "robust systems --show variants": table_of_systems([], variants=True),
        "robust metrics": table_of_preferences([]),
        "robust metrics --show variants": table_of_preferences([], variants=True),
        "robust attack": table_of_attacks([]),
        "robust cases": table_of_cases({}),
        "tune": tuned.table(),
        "train": trained.table(),
        "sweep": Sweep((trial,), trial, Path("mine"), {}, 0, {}).table(),
        "rerank": learnedgec.rerank("length", SOURCES, {"NAME": SYSTEMS["A"]}).table(),
        "edits --confidence": [Column("system"), *JudgedEdits((), ()).table().columns],
        **{f"judge --status, {name}": table for name, table in status.tables().items()},
        "reproduce": reproduction.table_of([]),
        "reproduce, summary": reproduction.table_of_counts([]),
        "metrics": metrics.INVENTORY,
        "evaluators": evaluators.INVENTORY,
        "evaluators --licences": evaluators.LICENCES,
        "data list": data.INVENTORY,
        "data verify": data.VERIFIED,
    }


def _described(columns: Sequence[Column]) -> str:
    """Return the keys, with ± for those of which there are the ends of an interval."""
    keys = [column.key for column in columns if For.DATA & column.audience]
    ends = {f"{key}_{end}": key for key in keys for end in ("low", "high")}
    shown = [
        f"`{key}`" + " ±" * (f"{key}_low" in keys) for key in keys if ends.get(key) not in keys
    ]
    return ", ".join(shown)


@pytest.mark.filterwarnings("ignore")
def test_the_page_has_the_keys_of_every_table(
    tmp_path: Path, shows: Callable[[Path, str, str], None]
) -> None:
    lines = ""
    for name, table in tables(tmp_path).items():
        columns = table.columns if isinstance(table, Table) else table
        lines += f"| `{name}` | {_described(columns)} |\n"
    text = PAGE.read_text("utf-8")
    *_, written = text.split("| table | keys |\n| --- | --- |\n")
    shows(PAGE, written, lines)
    # The keys with an explanation exist.
    explained = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", text.partition("| table |")[0], re.M)
    assert {*re.findall(r"`\w+`", " ".join(explained))} <= {*re.findall(r"`\w+`", written)}
