"""Training from Python: tables in memory train what files train, and are checked as they are."""

from __future__ import annotations

from pathlib import Path

import datasets
import pandas
import pytest
from training_files import arguments, ranked_pairs, trained

import learnedgec
from learnedgec.data.catalog.ratings import load_ratings
from learnedgec.errors import ConfigError, FormatError, InputError, UnknownNameError

HEADS = {"fluency": "hypothesis", "meaning": {"input": "pair"}}
SHORT = {"max_epochs": 1, "accelerator": "cpu"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows() -> list[dict[str, object]]:
    """Return the sample's ratings, of which some are missing."""
    ratings = load_ratings("sample")
    made = [{"source": r.source, "hypothesis": r.hypothesis, **r.values} for r in ratings]
    return made[:5] + [{**row, "fluency": None} for row in made[5:9]] + made[9:]


def test_tables_of_every_kind_train_what_a_file_trains(tmp_path: Path, tiny_encoder: Path) -> None:
    frame = pandas.DataFrame(rows())
    frame.to_csv("ratings.csv", index=False)
    heads = {"fluency": {"input": "hypothesis"}, "meaning": {"input": "pair"}}
    words = arguments(tmp_path, {"ratings": ["ratings.csv"]}, encoder=tiny_encoder, heads=heads)
    expected = trained(words).results
    assert expected["test"]["fluency"]["n"] > 30
    tables = {"frame": frame, "list": rows(), "dataset": datasets.Dataset.from_pandas(frame)}
    for name, table in tables.items():
        result = learnedgec.train(
            table,
            output=f"out/{name}",
            heads=HEADS,
            encoder=tiny_encoder,
            trainer=SHORT,
            seed_everything=2,
            progress=False,
        )
        assert result.results == expected, name
        assert result.package == Path("out", name)
    # Equal tables are one file, whose name is in the manifest; the run continues with it.
    assert len(list(Path("runs/tables").iterdir())) == 1
    assert result.evaluator.outputs == ("fluency", "meaning")
    assert result.history[-1].keys() >= {"step", "dev/score"}
    lines = repr(result).splitlines()
    assert lines[0] == "Evaluator in out/dataset"
    assert len(lines) == 5


def test_a_continued_run_is_the_run_without_an_interruption(tiny_encoder: Path) -> None:
    def train(epochs: int, name: str, **settings: bool) -> learnedgec.TrainingResult:
        return learnedgec.train(
            load_ratings("sample"),
            output=name,
            heads=HEADS,
            encoder=tiny_encoder,
            model={"schedule": "constant", "warmup": 0.0},  # the same in one epoch and in two
            trainer=SHORT | {"max_epochs": epochs},
            progress=False,
            **settings,
        )

    whole = train(2, "whole")
    train(1, "parts")
    with pytest.raises(ConfigError, match=r"with resume=True, or replace both with overwrite=True"):
        train(2, "parts")
    assert train(2, "parts", resume=True).results == whole.results


def test_pairs_columns_and_a_configuration(tiny_encoder: Path) -> None:
    Path("mine.yaml").write_text("trainer: {max_epochs: 1, accelerator: cpu}\nbits: 16\n")
    table = [
        {"learner": pair.source, "better": pair.better, "worse": pair.worse}
        for pair in ranked_pairs()
    ]
    result = learnedgec.train(
        pairs={"quality": table},
        output="out/ranker",
        heads={"quality": {"objective": "logistic"}},
        encoder=tiny_encoder,
        columns={"source": "learner"},
        config="mine.yaml",
        progress=False,
    )
    assert result.results["test"]["quality"]["n"] == 12
    # Objects of this kind need no columns.
    other = learnedgec.train(
        pairs={"quality": ranked_pairs()},
        output="out/other",
        heads={"quality": {"objective": "logistic"}},
        encoder=tiny_encoder,
        config="mine.yaml",
        progress=False,
    )
    assert other.results == result.results


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"trainer": {"max_epoch": 1}}, UnknownNameError, "did you mean 'max_epochs'"),
        ({"epochs": 3}, UnknownNameError, "no key is named 'epochs'"),
        ({"bits": 3}, ConfigError, "bits is '3'; one of 16, 4 was expected"),
        ({"heads": {"flu": "hypothesis"}}, ConfigError, "rates fluency, grammaticality, meaning"),
        ({"heads": None}, ConfigError, "model.heads is missing"),
        ({"ratings": None}, ConfigError, "neither ratings nor pairs"),
        ({"ratings": []}, InputError, "a table of ratings is empty"),
        ({"ratings": [3]}, InputError, "row 1 of a table is of type int"),
        (
            {"ratings": [{"hypothesis": "a", "fluency": "x"}]},
            FormatError,
            "jsonl:1: .* must hold a number",
        ),
        ({"ratings": "absent.csv"}, InputError, "absent.csv"),
        ({"trainer": {"devices": 2, "accelerator": "cpu"}}, ConfigError, "uses one device"),
    ],
)
def test_what_the_command_refuses_is_refused(
    tiny_encoder: Path, options: dict[str, object], kind: type[Exception], message: str
) -> None:
    given = {"ratings": rows(), "heads": HEADS, "encoder": tiny_encoder, "output": "out/mine"}
    with pytest.raises(kind, match=message):
        learnedgec.train(**{**given, "progress": False, **options})
    assert not Path("out").exists()
