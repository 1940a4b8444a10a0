"""Training from Python: tables in memory train what files train, and are checked as they are."""

from __future__ import annotations

import re
import signal
from importlib import import_module
from pathlib import Path
from typing import Any

import datasets
import pandas
import pyarrow
import pytest
from training_files import arguments, ranked_pairs, trained

import learnedgec
from learnedgec.data.catalog.ratings import load_ratings
from learnedgec.errors import ConfigError, FormatError, InputError, ModelError, UnknownNameError
from learnedgec.evaluators.package import check_package
from learnedgec.training.data import DataSettings, TrainingData
from learnedgec.training.module import EvaluatorModule

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
    # The name of a table depends on its content.
    (name,) = check_package(result.package)["data"]["ratings"]
    assert re.fullmatch(r"table:Dataset-\w{12}", name)
    assert not Path("runs/tables").exists()
    assert result.evaluator.outputs == ("fluency", "meaning")
    assert result.history[-1].keys() >= {"step", "dev/score"}
    # The squared error is divided by the variance of the ratings, and a head begins near their mean.
    assert result.history[0]["train/fluency/loss"] < 2
    lines = repr(result).splitlines()
    assert lines[0] == "Evaluator in out/dataset"
    assert len(lines) == 5
    assert re.match(
        r"  dev fluency: pearson -?0\.\d{3} \[-?\d\.\d\d, -?\d\.\d\d\] \(n = \d+\)$", lines[1]
    )
    assert lines[3] == f"  test: {result.verdicts['fluency'].sentence}"


def test_outputs_of_one_source_stay_in_one_part(tiny_encoder: Path) -> None:
    frame = pandas.DataFrame(rows())
    options = {"output": "out/mine", "heads": HEADS, "encoder": tiny_encoder, "trainer": SHORT}
    alone = frame.drop(columns="source")
    for table in (alone, frame.assign(source=[*frame["source"][:-1], ""])):
        with pytest.raises(FormatError, match=r"^DataFrame: .* has no source, so outputs of one"):
            learnedgec.train(table, progress=False, **options)
    alone.to_csv("alone.csv", index=False)
    with pytest.raises(FormatError, match=r"^alone.csv: .* give the column 'source'"):
        learnedgec.train("alone.csv", progress=False, **options)
    expected = learnedgec.train(frame, progress=False, **options).results
    indexed = frame.set_index("source")
    again = learnedgec.train(indexed, progress=False, overwrite=True, **options).results
    assert again == expected
    frame.rename(columns={"source": "group"}).to_csv("grouped.csv", index=False)
    parts = TrainingData(DataSettings(["grouped.csv"])).load()
    groups = [{row.group for row in part} for part in parts.values()]
    assert len(set.union(*groups)) == sum(map(len, groups)) == frame["source"].nunique()


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


@pytest.mark.parametrize(
    ("owner", "name"),
    [(EvaluatorModule, "training_step"), ("learnedgec.training.package", "model_card")],
)
def test_ctrl_c_reaches_the_caller_and_leaves_no_package(
    owner: type | str, name: str, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package is begun or not: after Ctrl-C there is none, and `resume=True` makes the same one."""

    def train(folder: str, **settings: Any) -> bytes:
        result = learnedgec.train(
            rows(),
            output=folder,
            heads=HEADS,
            encoder=tiny_encoder,
            trainer=SHORT,
            progress=False,
            **settings,
        )
        return (result.package / "model.safetensors").read_bytes()

    whole = train("out/whole")
    owner = owner if isinstance(owner, type) else import_module(owner)
    real = getattr(owner, name)

    def interrupted(*words: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return real(*words)

    # A shell that runs the tests in the background makes its processes ignore SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, interrupted)
            with pytest.raises(KeyboardInterrupt, match=r"resume=True in Python\.$"):
                train("out/cut")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert [path.name for path in Path("out").iterdir()] == ["whole"]
    assert train("out/cut", resume=True) == whole


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
        ({"trainer": {"epochs": 1}}, UnknownNameError, "did you mean 'max_epochs'"),
        ({"trainer": 3}, ConfigError, r"trainer is of type int; .* such as \{'max_epochs': 3\}"),
        ({"model": "bert-base-cased"}, ConfigError, "An encoder is named by encoder="),
        ({"encoder": "joint-mpnet3"}, ModelError, "Did you mean 'joint-mpnet-3'"),
        ({"encoder": "bert-base-case"}, ModelError, "Did you mean 'bert-base-cased'"),
        ({"encoder": "all-minilm-l6-v2"}, ModelError, "mean 'sentence-transformers/all-MiniLM"),
        ({"bits": 3}, ConfigError, "bits is '3'; one of 16, 4 was expected"),
        ({"heads": {"flu": "hypothesis"}}, ConfigError, "rates fluency, grammaticality, meaning"),
        ({"heads": None}, ConfigError, "model.heads is missing"),
        ({"ratings": None}, ConfigError, "neither ratings nor pairs"),
        ({"ratings": []}, InputError, r"ratings \(list\) is empty"),
        ({"ratings": [3]}, InputError, r"ratings \(int\): a data frame, a dataset or a list"),
        ({"ratings": {"hypothesis": ["a"]}}, InputError, r"\(dict\): a data frame, a dataset"),
        ({"heads": {"fluency": 3}}, ConfigError, "model.heads is"),
        ({"pairs": [{"source": "a"}]}, ConfigError, r"list; .* such as \{'quality': table\}"),
        ({"ratings": "absent.csv"}, InputError, "absent.csv"),
        ({"trainer": {"devices": 2, "accelerator": "cpu"}}, ConfigError, "uses one device"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    tiny_encoder: Path, options: dict[str, object], kind: type[Exception], message: str
) -> None:
    given = {"ratings": rows(), "heads": HEADS, "encoder": tiny_encoder, "output": "out/mine"}
    with pytest.raises(kind, match=message):
        learnedgec.train(**{**given, "progress": False, **options})
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("epochs", "trainer={'max_epochs': …}"),
        ("num_train_epochs", "trainer={'max_epochs': …}"),
        ("lr", "model={'learning_rate': …}"),
        ("learning_rates", "model={'learning_rate': …}"),
        ("batch_size", "data={'batch_size': …}"),
        ("per_device_train_batch_size", "data={'batch_size': …}"),
        ("train_dataset", "ratings=…"),
        ("seed", "seed_everything=…"),
        ("early_stopping_patience", "early_stopping={'patience': …}"),
        ("column_mapping", "columns=…"),
    ],
)
def test_the_names_of_other_libraries_lead_to_ours(name: str, meant: str) -> None:
    message = f"no argument of train is named '{name}'; did you mean \"{meant}\"?"
    if "'" not in meant:
        message = message.replace('"', "'")
    with pytest.raises(UnknownNameError, match=f"^{re.escape(message)}$"):
        learnedgec.train(rows(), output="out/mine", heads=HEADS, **{name: 1})


def test_heads_may_be_names(tiny_encoder: Path) -> None:
    options = {"encoder": tiny_encoder, "trainer": SHORT, "progress": False}
    several = learnedgec.train(rows(), output="several", heads=["fluency", "meaning"], **options)
    one = learnedgec.train(rows(), output="one", heads="fluency", **options)
    assert several.evaluator.outputs == ("fluency", "meaning")
    assert one.evaluator.outputs == ("fluency",)


MADE = {
    "DataFrame": pandas.DataFrame,
    "list": list,
    "Dataset": datasets.Dataset.from_list,
    "Table": pyarrow.Table.from_pylist,
}


@pytest.mark.parametrize("kind", MADE)
def test_messages_name_the_table_and_the_row(kind: str) -> None:
    """No encoder is needed for them: `absent` is none."""
    given = {"output": "out", "heads": HEADS, "encoder": "./absent"}
    table = rows()

    def message(changed: list[dict[str, object]]) -> str:
        with pytest.raises(FormatError) as error:
            learnedgec.train(MADE[kind](changed), **given)
        return str(error.value)

    renamed = [{"source": r["source"], "correction": r["hypothesis"], "fluency": 1} for r in table]
    assert message(renamed) == (
        f"{kind}, row 1: no column 'hypothesis'; found source, correction, fluency. Rename a "
        "column, or say what it is called by columns={'hypothesis': NAME}."
    )
    missing = [*table[:6], {**table[6], "hypothesis": None}, *table[7:]]
    expected = f"{kind}, row 7: 'hypothesis' is missing; a text was expected."
    assert message(missing) == expected
    words = [{**row, "fluency": "good"} for row in table]
    assert message(words).startswith(f"{kind}, row 1: the column 'fluency' must hold a")
    unrated = [{"hypothesis": "a", "fluency": None} for _ in range(3)]
    assert message(unrated) == f"{kind}: no row has a rating; numbers were expected."
    pairs = [{"source": "a", "chosen": "b", "rejected": "c"}]
    with pytest.raises(FormatError, match=rf"^{kind}, row 1: the column 'better' is missing"):
        learnedgec.train(pairs={"quality": MADE[kind](pairs)}, **given)


def test_every_missing_value_of_pandas_is_missing() -> None:
    frame = pandas.DataFrame(rows()).convert_dtypes()
    assert frame["fluency"].isna().sum() == 4
    frame.loc[2, "hypothesis"] = pandas.NA
    with pytest.raises(FormatError, match=r"^DataFrame, row 3: 'hypothesis' is missing"):
        learnedgec.train(frame, output="out", heads=HEADS, encoder="./absent")
    twice = pandas.concat([frame, frame[["source"]]], axis=1)
    with pytest.raises(InputError, match=r"^ratings \(DataFrame\): two columns are named 'source'"):
        learnedgec.train(twice, output="out", heads=HEADS, encoder="./absent")


def test_a_frame_of_polars_has_rows() -> None:
    class Frame:  # as Polars has it, which is no dependency
        def to_dicts(self) -> list[dict[str, object]]:
            return [{"hypothesis": "a"}]

    with pytest.raises(FormatError, match=r"^Frame, row 1: no rating"):
        learnedgec.train(Frame(), output="out", heads=HEADS, encoder="./absent")
