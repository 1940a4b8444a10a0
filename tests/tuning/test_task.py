"""Tuning from Python: it writes what the command writes, and refuses what the command refuses."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas
import pytest

import learnedgec
from learnedgec import Goal, Resampling, SearchPlan
from learnedgec.data.benchmarks import Ranking, load_benchmark
from learnedgec.data.benchmarks.rated import of_table
from learnedgec.data.catalog.ratings import load_ratings
from learnedgec.errors import (
    ConfigError,
    FormatError,
    InputError,
    LeakageError,
    OutputError,
    UnknownNameError,
)

MIX = "ensemble(length=0.25, random=0.75)"
SHORT: Any = {"objective": "sentence-accuracy", "trials": 12}
BRIEF: Any = {**SHORT, "trials": SearchPlan(12, folds=2)}
UNTESTED: Any = {**SHORT, "trials": SearchPlan(12, validation="none")}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_it_finds_and_writes_what_the_command_does() -> None:
    from learnedgec.cli.main import main

    command = (
        "tune --metric MIX --benchmark sample --objective sentence-accuracy --trials 12 --folds 2"
    )
    command += " --compare sample --resamples 20 --quiet --output command"
    assert main([MIX if word == "MIX" else word for word in command.split()]) == 0
    tuned = learnedgec.tune(MIX, "sample", **BRIEF, compare=["sample"], resampling=Resampling(20))
    assert tuned.file == Path("checkpoints/ensemble@sample+sentence-accuracy.json")
    assert json.loads(tuned.file.read_text()) == json.loads(
        Path("command", tuned.file.name).read_text()
    )
    assert learnedgec.load_metric(tuned.name) == tuned.metric
    assert len(tuned.history) == 12
    assert tuned.metric == tuned.best.metric
    assert [row["candidate"] for row in tuned.table().rows] == ["tuned", "given", "uniform"] * 2
    assert "expect no gain" in tuned.conclusions[0]
    lines = repr(tuned).splitlines()
    assert lines[0] == f"{tuned.name}: {tuned.metric.label}"
    assert lines[3:] == [f"  {sentence}" for sentence in tuned.conclusions]
    assert "expect no gain" in lines[3]
    assert tuned._repr_html_().count("<tr>") == 7


def test_a_benchmark_may_be_an_object_and_nothing_need_be_written() -> None:
    benchmark = learnedgec.load_benchmark("sample")
    tuned = learnedgec.tune(learnedgec.load_metric(MIX), benchmark, **UNTESTED, output=None)
    assert tuned.file is None
    assert list(Path().iterdir()) == []


def test_benchmarks_of_one_name_are_told_apart() -> None:
    sample = learnedgec.load_benchmark("sample")
    sources = tuple(f"Then {source}" for source in sample.sources)
    other = dataclasses.replace(sample, sources=sources, references=None)
    options: Any = {**BRIEF, "output": None, "resampling": Resampling(9)}
    tuned = learnedgec.tune(MIX, sample, compare=[other, sample], **options)
    assert list(tuned.comparisons) == ["compare[0]", "compare[1]"]
    marked = {row["benchmark"]: row["tuned_here"] for row in tuned.table().rows}
    assert marked == {"sample": 70, "compare[0]": 0, "compare[1]": 70}
    assert tuned.conclusions[0].startswith("On compare[0], which had no part in the search")


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"metric": "gleu"}, ConfigError, "space: gleu has no weights"),
        ({"benchmark": "smaple"}, UnknownNameError, "did you mean 'sample'"),
        ({"objective": "bleu"}, InputError, "no objective 'bleu'"),
        ({"trials": 0}, ConfigError, "trials is 0; a number of at least 1 was expected"),
        (
            {"name": "a/b"},
            ConfigError,
            "'a/b' cannot be the name of the tuned metric, by which it is found",
        ),
        ({"trials": SearchPlan(space={"weights": 3})}, ConfigError, "3 is not a range"),
        (
            {"trials": SearchPlan(validation="systems"), "objective": "kendall"},
            ConfigError,
            "Hold out",
        ),
    ],
)
def test_what_the_command_refuses_is_refused(
    options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        learnedgec.tune(**{"metric": MIX, "benchmark": "sample", **SHORT, **options})
    assert list(Path().iterdir()) == []


def test_a_plan_that_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="validation is 'x'; one of k-fold, systems, none was"):
        SearchPlan(validation="x")  # type: ignore[arg-type]


def test_a_tuned_metric_is_not_replaced_unless_asked() -> None:
    learnedgec.tune(MIX, "sample", **UNTESTED)
    with pytest.raises(OutputError, match=r"or replace it with overwrite=True\.$"):
        learnedgec.tune(MIX, "sample", **UNTESTED)
    learnedgec.tune(MIX, "sample", **UNTESTED, overwrite=True)


@pytest.mark.realdata
def test_test_data_are_refused_or_marked() -> None:
    with pytest.raises(LeakageError, match=r"tuned_on_test=True"):
        learnedgec.tune(MIX, "seeda-s", **SHORT)


RATED = [
    {
        "source": r.source,
        "hypothesis": r.hypothesis,
        "system": r.system,
        "fluency": r.values["fluency"],
    }
    for r in load_ratings("sample")
]
FLUENCY: Any = {
    "objective": Goal("segment-pearson", human="fluency"),
    "trials": SearchPlan(4, folds=2),
    "output": None,
    "resampling": Resampling(9),
}


def test_a_table_of_rated_outputs_is_a_benchmark() -> None:
    """The sample's table has the same outputs, so it leads to the same metric."""
    frame = pandas.DataFrame(RATED)
    frame.to_csv("mine.csv", index=False)
    expected = learnedgec.tune(MIX, "sample", **FLUENCY)
    tables: dict[str, Any] = {
        "DataFrame": frame,
        "list": load_ratings("sample"),
        "Dataset": datasets.Dataset.from_list(RATED),
        "mine.csv": "mine.csv",
    }
    for name, table in tables.items():
        tuned = learnedgec.tune(MIX, table, **FLUENCY)
        assert tuned.name == f"ensemble@{name.removesuffix('.csv')}+segment-pearson"
        assert tuned.metric.weights == pytest.approx(expected.metric.weights)
        assert tuned.notices == []
    assert learnedgec.tune(MIX, frame, name="m1", **FLUENCY).name == "ensemble@m1"
    short = learnedgec.tune(MIX, frame[1:], **FLUENCY)
    assert short.notices == [
        "DataFrame: 1 of 72 sources have no output of some system, or several, and are left out."
    ]


def test_a_row_for_each_judge_counts_as_their_mean() -> None:
    once = of_table(RATED)
    judges = [
        {**row, "fluency": row["fluency"] + change, "annotator": judge}
        for judge, change in (("ann", 1), ("ben", -1))
        for row in RATED
    ]
    twice = of_table(judges)
    assert twice.sources == once.sources
    for system, ratings in once.ratings["fluency"].items():
        assert twice.ratings["fluency"][system] == pytest.approx(ratings)
    count = len(RATED)
    assert twice.notices == (
        f"{count} of {2 * count} ratings are of an output that an earlier row rates; the mean of such rows "
        "counts.",
    )
    pasted = of_table([*RATED, *RATED[:8]])
    assert pasted.sources == once.sources
    assert pasted.notices[0].startswith(
        f"8 of {count + 8} ratings are of an output that an earlier"
    )
    ranked, means = (
        of_table([{**row, "rank": row["fluency"] + 5, "fluency": None} for row in rows]).rankings
        for rows in (judges, RATED)
    )
    assert ranked == means
    # Two different outputs of one system are no two ratings of one.
    other = of_table([*RATED, {**RATED[0], "hypothesis": "Another ."}])
    assert len(other.sources) == len(once.sources) - 1


def test_a_table_may_have_columns_of_other_names() -> None:
    names = {"source": "learner", "hypothesis": "text", "system": "by"}
    options: Any = {**SHORT, "objective": "segment-pearson", "output": None}
    expected = learnedgec.tune(MIX, pandas.DataFrame(RATED), **options)
    frame = pandas.DataFrame(RATED).rename(columns=names)
    frame.to_csv("mine.csv", index=False)
    for table in (frame, "mine.csv"):
        benchmark = learnedgec.load_benchmark(table, names)
        assert learnedgec.tune(MIX, benchmark, **options).gain == expected.gain
    with pytest.raises(FormatError, match=r"^DataFrame, row 1: no column 'source'; found learner"):
        learnedgec.tune(MIX, frame, **options)
    with pytest.raises(FormatError, match=r"no column 'wrong'"):
        learnedgec.load_benchmark(frame, {**names, "system": "wrong"})


def test_ranks_of_several_judges_are_rankings() -> None:
    rows = [
        {"source": "He go .", "hypothesis": text, "system": system, "ann": ann, "ben": ben}
        for text, system, ann, ben in [
            ("He goes .", "x", 1, 1),
            ("He going .", "y", 2, 1),
            ("He go .", "z", 3, 2.5),
        ]
    ]
    benchmark = of_table(rows, {"rank": ["ann", "ben"]})
    ann, ben = {"x": 1, "y": 2, "z": 3}, {"x": 1, "y": 1, "z": 2}
    assert benchmark.rankings == (Ranking(0, ann), Ranking(0, ben))
    assert benchmark.ratings == benchmark.official == {}
    # Without ben's rank of one output, the mean ranks are a ranking.
    assert of_table(
        [rows[0], {**rows[1], "ben": None}, rows[2]], {"rank": ["ann", "ben"]}
    ).rankings == (Ranking(0, ann),)
    ranked = [{**row, "rank": 5 - row["fluency"]} for row in RATED]
    tuned = learnedgec.tune(MIX, ranked, **SHORT, output=None)
    assert "sentence-accuracy on held-out judgements of list" in repr(tuned)


CHOICES = [
    {"src": "He go .", "a": "He goes .", "b": "He going .", "who": "a"},
    {"src": "He go .", "a": "He goes .", "b": "He going .", "who": "2"},
    {"src": "She go .", "a": "She go .", "b": "She goes .", "who": "tie"},
    {"src": "We goes .", "a": "We go .", "b": "We goes .", "who": ""},
]
NAMES: Any = {"source": "src", "outputs": ["a", "b"], "best": "who"}


@pytest.mark.parametrize("from_file", [True, False])
def test_choices_between_columns_of_outputs_are_rankings(from_file: bool) -> None:
    frame = pandas.DataFrame(CHOICES)
    frame.to_csv("choices.csv", index=False)
    benchmark = load_benchmark("choices.csv" if from_file else frame, NAMES)
    assert benchmark.sources == ("He go .", "She go .", "We goes .")
    assert benchmark.systems["b"] == ("He going .", "She goes .", "We goes .")
    assert benchmark.rankings == (
        Ranking(0, {"a": 1, "b": 2}),
        Ranking(0, {"a": 2, "b": 1}),
        Ranking(1, {"a": 1, "b": 1}),
    )
    assert not benchmark.anonymous
    assert benchmark.notices == ("1 of 3 judgements are ties.",)
    with pytest.raises(InputError, match=r"no row has a judgement; ranks, or a best or worst"):
        of_table(CHOICES[3:], NAMES)
    with pytest.raises(FormatError, match=r"^list, row 1: 'outputs' is 'None'; a list of at least"):
        of_table(CHOICES, {"source": "src", "best": "who"})
    with pytest.raises(
        InputError, match=r"pairs of a better and a worse text do not say which sys"
    ):
        of_table("choices.csv", {"source": "src", "better": "a", "worse": "b"})


def test_judged_lists_of_outputs_are_rankings() -> None:
    rows = [
        {"source": "s", "outputs": ["x", "y", "z"], "best": "y", "worst": None},
        {"source": "t", "outputs": ["x", "y"], "best": 1, "worst": None},
    ]
    Path("judged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    benchmark = of_table("judged.jsonl")
    assert benchmark.systems == {
        "output-1": ("x", "x"),
        "output-2": ("y", "y"),
        "output-3": ("z", "t"),
    }
    # The choice of y says nothing about x and z.
    assert [dict(ranking.ranks) for ranking in benchmark.rankings] == [
        {"output-1": 2, "output-2": 1},
        {"output-2": 1, "output-3": 2},
        {"output-1": 1, "output-2": 2},
    ]
    assert benchmark.anonymous
    ranked = {"source": "s", "outputs": ["x", "y", "z"], "ranks": [2.5, -1, 1]}
    assert of_table([ranked]).rankings == (Ranking(0, {"output-1": 2, "output-3": 1}),)


@pytest.mark.parametrize("validation", ["k-fold", "none"])
def test_the_gain_on_other_data_is_the_conclusion(validation: Any) -> None:
    others = [{**row, "source": f"Then {row['source']}"} for row in RATED]
    tuned = learnedgec.tune(
        MIX,
        RATED,
        compare=[others],
        **FLUENCY | {"trials": SearchPlan(4, validation=validation, folds=2)},
    )
    gain = {each.label: each.gain for each in tuned.comparisons["compare[0]"]}["given"]
    said = "On compare[0], which had no part in the search, the tuned metric's gain over the given one is "
    assert tuned.conclusions[0].startswith(f"{said}{gain.value:+.4f} [")
    assert not any("held-out" in text for text in tuned.conclusions)
    assert ("expect no gain" in tuned.conclusions[0]) == (gain.low <= 0)


@pytest.mark.parametrize(
    ("sentences", "said"),
    [
        (
            5,
            "too few judgements to tell whether the tuned metric is better (sentences with judgements ",
        ),
        (6, "."),
    ],
)
def test_a_gain_on_few_other_data_is_not_denied(sentences: int, said: str) -> None:
    # Each sentence has an output with more words, which is better, and one with more edits.
    def rows(word: str, count: int) -> list[dict[str, Any]]:
        sources = [f"{word} {number} has four" for number in range(count)]
        more_words = [{"hypothesis": f"{source} .", "system": "a", "rank": 1} for source in sources]
        more_edits = [{"hypothesis": word, "system": "b", "rank": 2} for source in sources]
        pairs = zip(sources * 2, more_words + more_edits, strict=True)
        return [{"source": source, **row} for source, row in pairs]

    tuned = learnedgec.tune(
        "ensemble(edit-count=0.9, length=0.1)",
        rows("dev", 10),
        objective="sentence-accuracy",
        compare=[rows("test", sentences)],
        trials=SearchPlan(4, folds=2),
        output=None,
    )
    [gain] = [row.gain.value for row in tuned.comparisons["compare[0]"] if row.label == "given"]
    assert gain == 1
    assert "the tuned metric's gain over the given one is +1.0000" in tuned.conclusions[0]
    assert said in tuned.conclusions[0]
    assert "expect no gain" not in tuned.conclusions[0]


def test_columns_hold_for_the_tables_to_compare_on() -> None:
    from learnedgec.cli.main import main

    names = {"source": "learner", "hypothesis": "corrected"}
    frame = pandas.DataFrame(RATED).rename(columns=names)
    frame.to_csv("a.csv", index=False)
    frame.to_csv("b.csv", index=False)
    command = (
        "tune --benchmark a.csv --columns.source learner --columns.hypothesis corrected --compare b.csv:test "
        "sample --human fluency --objective segment-pearson --trials 2 --folds 2 --resamples 20 --metric"
    )
    assert main([*command.split(), MIX]) == 0


def test_tuning_on_choices_in_python_and_on_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from learnedgec.cli.main import main

    choices = [
        {
            "src": f"He go {n} .",
            "a": f"He goes {n} .",
            "b": f"He go to {n} times .",
            "who": "ab"[n % 3 == 0],
        }
        for n in range(30)
    ]
    pandas.DataFrame(choices).to_csv("choices.csv", index=False)
    tuned = learnedgec.tune(MIX, learnedgec.load_benchmark(choices, NAMES), **SHORT, output=None)
    options = ["--benchmark", "choices.csv", "--columns", json.dumps(NAMES)]
    assert main(["tune", "--metric", MIX, *options]) == 2
    assert capsys.readouterr().err.endswith(
        "kendall between systems needs three or more. Choose --objective sentence-accuracy.\n"
    )
    objective = ["--objective", "sentence-accuracy", "--trials", "12"]
    assert main(["tune", "--metric", MIX, *objective, *options]) == 0
    assert learnedgec.load_metric("ensemble@choices+sentence-accuracy") == tuned.metric
    assert main(["meta", "--metric", "length", *options]) == 0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            [{"hypothesis": "a", "fluency": 1}],
            "list, row 1: no column 'source'; found hypothesis, fl",
        ),
        ([{**row, "system": None} for row in RATED], "list, row 1: no system; each rated output"),
        ([{**row, "hypothesis": None} for row in RATED], "list, row 1: 'hypothesis' is missing"),
        (
            [{**row, "fluency": "good"} for row in RATED],
            "list, row 1: the column 'fluency' must hold",
        ),
        ([{**row, "fluency": None} for row in RATED], "list: no row has a rating"),
        (
            [row for row in RATED if row["system"] == "weak"][:1],
            "folds: 1 sentence is too few to tune on; judge 8 or more.",
        ),
        ([RATED[0], RATED[-1]], "list: 2 of 2 sources have no output of some system, or"),
        (3, "int: a data frame, a dataset or a list of mappings"),
    ],
)
def test_a_table_that_is_no_benchmark_is_refused(table: Any, message: str) -> None:
    with pytest.raises((InputError, ConfigError), match=f"^({message})"):
        learnedgec.tune(MIX, table, **FLUENCY)


def test_the_objectives_that_need_more_judgements() -> None:
    one = [row for row in RATED if row["system"] == "weak"]
    with pytest.raises(
        InputError,
        match=r"1 systems; kendall .* needs three or more\. Choose objective='segment-kendall'\.",
    ):
        learnedgec.tune(MIX, one, output=None)
    with pytest.raises(
        InputError, match="no comparisons of outputs, which sentence-accuracy needs"
    ):
        learnedgec.tune(MIX, RATED, **SHORT, output=None)
    with pytest.raises(UnknownNameError, match="no human score of list is named 'fluent'; did you"):
        learnedgec.tune(MIX, RATED, **FLUENCY | {"objective": Goal(human="fluent")})


@pytest.mark.parametrize(
    ("objective", "sentences", "counted"),
    [("grouped-kendall", 5, 4), ("sentence-accuracy", 8, 8), ("segment-pearson", 8, 8)],
)
def test_few_judgements_are_too_few_to_tell(objective: Any, sentences: int, counted: int) -> None:
    # The metric knows nothing. All outputs of the first sentence are rated alike.
    random = np.random.default_rng(2)
    rows = [
        {
            "source": f"The cat {number} sit .",
            "hypothesis": f"The cat {number} {'sits ' * (1 + system)}.",
            "system": f"system {system}",
            "fluency": float(random.permutation(4)[system]) if number else 1.0,
        }
        for number in range(sentences)
        for system in range(4)
    ]
    benchmark: Any = rows
    if objective == "sentence-accuracy":
        benchmark = learnedgec.load_benchmark("sample")
        of = {
            ranking.sentence: ranking
            for ranking in benchmark.rankings
            if len(set(ranking.ranks.values())) > 1
        }
        few = tuple(of.values())[:sentences]
        benchmark = dataclasses.replace(benchmark, rankings=few)
    human = None if objective == "sentence-accuracy" else "fluency"
    tuned = learnedgec.tune(
        "ensemble(length=0.5, random=0.5)",
        benchmark,
        objective=Goal(objective, human=human),
        trials=5,
        output=None,
        resampling=Resampling(50),
    )
    assert math.isnan(tuned.gain.low)
    assert math.isnan(tuned.gain.high)
    assert tuned.conclusions[0].endswith(
        ": too few judgements to tell whether the tuned metric is better (sentences with judgements that "
        f"count: {counted}; needed: 15)."
    )
    assert "nan" not in repr(tuned)
