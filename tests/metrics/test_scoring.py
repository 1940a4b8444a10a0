"""`learnedgec.score` and `learnedgec.rank`: shapes, values, and what scores become outside."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from embedded import SAMPLE_FOLDER, Sample

import learnedgec
from learnedgec import Metric, References, Resampling, Score, Scores
from learnedgec.cli.main import main
from learnedgec.errors import BadNameError, InputError, MissingDependencyError, UnknownNameError
from learnedgec.metrics import Gleu, Length
from learnedgec.metrics.contract import Statistics
from learnedgec.scoring import bind_one


def test_one_metric_and_one_system_are_a_score(sample: Sample) -> None:
    texts = (sample.sources, sample.systems["eager"], sample.references)
    by_name = learnedgec.score("gleu(iterations=5)", *texts)
    by_value = learnedgec.score(Gleu(iterations=5), *texts)
    expected = learnedgec.load_metric("gleu", iterations=5).score(*texts)
    assert isinstance(by_name, Score)
    assert by_name.value == by_value.value == expected.value
    assert by_name.signature == by_value.signature == expected.signature


def test_several_systems_or_metrics_are_scores_by_name(sample: Sample) -> None:
    by_system = learnedgec.score("length", sample.sources, sample.systems)
    assert isinstance(by_system, Scores)
    assert list(by_system) == list(sample.systems)
    expected = learnedgec.load_metric("length").score(sample.sources, sample.systems)
    assert {name: score.value for name, score in by_system.items()} == {
        name: score.value for name, score in expected.items()
    }
    names: list[str | Metric] = ["sentm2", Length(), "gleu(iterations=5)"]
    gold, weak = sample.references, sample.systems["weak"]
    of_one = learnedgec.score(names, sample.sources, weak, gold)
    # A name stays the name that was given, whatever it stands for.
    assert list(of_one) == ["sentm2", "length", "gleu(iterations=5)"]
    of_all = learnedgec.score(tuple(names), sample.sources, sample.systems, gold)
    assert list(of_all) == list(of_one)
    for name, scores in of_all.items():
        assert list(scores) == list(sample.systems)
        assert scores["weak"].value == of_one[name].value


def test_a_metric_scores_the_systems_of_a_data_frame() -> None:
    pandas = pytest.importorskip("pandas")
    systems = pandas.DataFrame({"a": ["He goes ."], "b": ["He go home ."]})
    scores = Length().score(["He go ."], systems)
    assert {name: score.value for name, score in scores.items()} == {"a": 3.0, "b": 4.0}


@pytest.mark.parametrize(
    ("metric", "package"),
    [
        ("ter", "sacrebleu"),
        ("asano", "snowballstemmer"),
        ("classifier(model='nowhere', detokenised=True)", "sacremoses"),
    ],
)
def test_a_missing_package_is_named_before_anything_is_computed(
    metric: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [name for name in sys.modules if name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=f"the package '{package}"):
        bind_one(metric)


def test_a_parameter_of_the_aggregate_may_lack_a_default() -> None:
    @dataclass(frozen=True)
    class Scaled(Length):
        name: ClassVar[str] = "scaled"
        aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"factor", "shift"})
        shift: float = 0.0
        factor: float = field(kw_only=True)

        def __post_init__(self) -> None:
            assert self.factor > 0

        def aggregate(self, statistics: Statistics) -> float:
            return self.factor * super().aggregate(statistics) + self.shift

    texts = ["He go ."], ["He goes home ."]
    twice, thrice = Scaled(factor=2, shift=1), Scaled(factor=3)
    scores = learnedgec.score([twice, thrice], *texts)
    assert [score.value for score in scores.values()] == [9.0, 12.0]
    assert twice.for_statistics == Scaled(factor=2)


def test_a_metric_without_references_gets_rows_without_any(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[References] = []
    compute = Length.compute

    def record(self: Length, *inputs: Any) -> Statistics:
        given.append(inputs[2])
        return compute(self, *inputs)

    monkeypatch.setattr(Length, "compute", record)
    for references in (None, [["He goes ."], ["Yes ."]]):
        Length().score(["He go .", "Yes ."], ["He goes .", "Yes ."], references)
    assert given == [References(((), ()))] * 2


@pytest.mark.parametrize(
    ("metric", "error", "message"),
    [
        ("glue", UnknownNameError, "did you mean 'gleu'?"),
        (None, InputError, "metric is None; a metric's name such as 'gleu', a metric, or a list"),
        (3, InputError, "metric is 3; a metric's name"),
        (["gleu", 3], InputError, r"metric\[1\] is 3; one metric, or its name"),
        ([], InputError, "metric is an empty list; give at least one"),
        (Gleu, InputError, r"metric is .*; a metric's name"),
        ({"gleu"}, InputError, "metric is of type set; a metric's name"),
    ],
)
def test_what_is_no_metric_is_one_sentence(
    metric: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        learnedgec.score(metric, ["a"], ["a"], [["a"]])


def test_a_ranking_in_one_call_is_that_of_its_statistics(sample: Sample) -> None:
    metric = Gleu(iterations=5)
    ranking = learnedgec.rank(
        metric,
        sample.sources,
        sample.systems,
        sample.references,
        by="trueskill",
        resampling=Resampling(10),
    )
    expected = learnedgec.rank_systems(
        metric,
        bind_one(metric).statistics(sample.sources, sample.systems, sample.references),
        by="trueskill",
        resampling=Resampling(10),
        signature=bind_one(metric).signature(sample.references),
    )
    assert ranking.to_dict() == expected.to_dict()
    test: Any = "bootstrap"
    with pytest.raises(UnknownNameError, match="did you mean 'paired-bootstrap'"):
        Resampling(test=test)


# -- what scores become ----------------------------------------------------------------------------


def test_a_score_is_what_the_command_line_prints(
    sample: Sample, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--src", SAMPLE_FOLDER / "source.txt", "--hyp", SAMPLE_FOLDER / "systems" / "weak.txt"]
    words += ["--gold", SAMPLE_FOLDER / "gold.m2", "--metric", "m2", "--level", "sentence"]
    assert main(["score", *map(str, words), "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    references = References.from_m2(SAMPLE_FOLDER / "gold.m2")
    score = learnedgec.score("m2", sample.sources, sample.systems["weak"], references)
    record = json.loads(json.dumps(score.to_dict()))
    named = {"system": "weak", "metric": "m2"}
    assert printed["rows"] == [named | row for row in score.table().records()]
    assert [named | row for row in record["sentences"]] == [
        {key: value for key, value in row.items() if key != "sentence"} for row in printed["rows"]
    ]
    corpus = {key: record[key] for key in ("score", "signature")} | record["details"]
    assert printed["totals"] == [named | corpus]


def test_scores_as_frames(sample: Sample) -> None:
    systems = {name: sample.systems[name] for name in ("strong", "weak")}
    scores = learnedgec.score(["m2", "length"], sample.sources, systems, sample.references)
    weak = scores["m2"]["weak"]
    frame = weak.to_frame()
    assert list(frame) == ["sentence", "score", *weak.sentence_details]
    assert frame["score"].tolist() == weak.sentences.tolist()
    of_systems = scores["m2"].to_frame()
    assert list(of_systems) == ["system", "score", *weak.details, "signature"]
    assert of_systems["score"][1] == weak.value
    of_both = scores.to_frame()
    assert list(of_both) == ["system", "metric", "score", *weak.details, "signature"]
    wide = of_both.pivot(index="system", columns="metric", values="score")
    assert wide["length"].tolist() == [score.value for score in scores["length"].values()]
    texts = sample.sources, systems["weak"], sample.references
    of_metrics = learnedgec.score(["m2", "length"], *texts).to_frame()
    assert of_metrics["metric"].tolist() == ["m2", "length"]
    assert np.isnan(of_metrics["precision"][1])


def test_notebooks_show_tables(sample: Sample) -> None:
    systems = {"<ours>": sample.systems["weak"], "theirs": sample.systems["strong"]}
    score = learnedgec.score("length", sample.sources, systems["theirs"])
    rows, note = _shown(score)
    assert rows == [["score", "sentences"], [f"{score.value:.4f}", "72"]]
    assert note == score.signature
    scores = learnedgec.score(["length", "constant"], sample.sources, systems)
    rows, _ = _shown(scores)
    assert rows[0] == ["system", "length", "constant"]
    assert [row[0] for row in rows[1:]] == ["<ours>", "theirs"]
    ranking = learnedgec.rank("length", sample.sources, systems, resampling=Resampling(10))
    rows, note = _shown(ranking)
    assert rows[0] == [*ranking.table().cells()[0]]
    assert [row[0] for row in rows[1:]] == [ranking.systems[number] for number in ranking.order]
    assert note == ranking.signature


def _shown(value: Any) -> tuple[list[list[str | None]], str | None]:
    """Return the cells of the table that a notebook shows, and the note below."""
    root = ElementTree.fromstring(f"<div>{value._repr_html_()}</div>")
    rows = [[cell.text for cell in row] for row in root.iter("tr")]
    return rows, root.findtext("small")


def test_without_pandas_frames_say_what_to_install(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = learnedgec.score("length", ["a"], ["a"])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'learnedgec\[pandas\]'"):
        score.to_frame()


def test_a_name_without_scores_says_which_there_are() -> None:
    systems = {"ours": ["He goes ."], "theirs": ["He go ."]}
    scores = learnedgec.score(["length", "edit-count"], ["He go ."], systems)
    with pytest.raises(KeyError, match="no metric is named 'lenght'; did you mean 'length'"):
        scores["lenght"]
    with pytest.raises(KeyError, match="no system is named 'wrong'; known: ours, theirs"):
        scores["length"]["wrong"]
    assert scores.get("wrong") is None


def test_what_a_new_user_types_leads_to_what_is_meant() -> None:
    with pytest.raises(
        InputError, match=r"such as 'He goes \.'; give them to References\.from_rows"
    ):
        References([["He goes ."]])
    with pytest.raises(
        BadNameError, match="a metric's name is of type list; one text such as 'gleu'"
    ):
        learnedgec.load_metric(["gleu"])
