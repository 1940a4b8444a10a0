"""What a report holds: the library's own numbers, each in its place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from learnedgec import Resampling
from learnedgec.analysis.meta.evaluation import Protocol, evaluate
from learnedgec.analysis.ranking import rank_systems
from learnedgec.data.benchmarks import load_benchmark
from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.data.references import Reference, References
from learnedgec.edits import parsing
from learnedgec.errors import InputError, LengthError
from learnedgec.metrics.bound import BoundMetric
from learnedgec.metrics.registry import load_metric
from learnedgec.report.data import (
    ReportSettings,
    build_benchmark_report,
    build_report,
    misjudged_outputs,
    misjudged_pairs,
)
from learnedgec.report.overview import describe_effects, licences, precision_notice
from learnedgec.report.sentences import operations
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import bind_one

ERRANT = load_metric("errant(annotator='en-ewt-sm')")
SETTINGS = ReportSettings(annotator="en-ewt-sm", resampling=Resampling(50))


def outputs_of(case: Any) -> Iterator[tuple[int, int]]:
    """Return the number of a system and that of a sentence, for every output."""
    return product(range(len(case.systems)), range(len(case.sources)))


def test_scores_and_details_are_the_metrics_own(case: Any) -> None:
    for metric, shown in zip(case.metrics, case.report["sentences"]["metrics"], strict=True):
        scores = metric.score(case.sources, case.systems, case.references)
        for number, score in enumerate(scores.values()):
            assert shown["scores"][number] == score.sentences.tolist()
            assert set(shown["details"]) == set(score.sentence_details)
            for name, column in score.sentence_details.items():
                assert shown["details"][name]["values"][number] == column.tolist()


def test_words_are_those_of_the_tokens_that_are_scored() -> None:
    report = build_report(
        "m2",
        ["Well, he go."],
        {"a": ["Well, he goes."]},
        [["Well, he goes."]],
        settings=ReportSettings(annotator="plain", resampling=Resampling(50)),
        runtime=Runtime(tokenise="spacy"),
    )
    (output,) = report["sentences"]["outputs"][0]
    assert output["text"] == "Well , he goes ."
    assert output["edits"][0][:3] == [3, 4, "goes"]


def test_each_text_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def parse(pipeline: Any, texts: Iterator[str]) -> dict[str, parsing.Sentence]:
        sentences = parse_sentences(pipeline, texts)
        parsed.extend(sentences)
        return sentences

    parse_sentences = parsing.parse_sentences
    monkeypatch.setattr(parsing, "parse_sentences", parse)
    parsing._parsed_sources.cache_clear()
    benchmark = load_benchmark("sample").select(["weak", "strong"], range(12))
    texts = benchmark.sources, benchmark.systems, benchmark.references
    build_report(["gleu", ERRANT], *texts, settings=SETTINGS)
    assert len(parsed) == len(set(parsed)) > 12


def test_texts_and_edits_make_each_other(case: Any) -> None:
    texts, types = case.report["sentences"], case.report["types"]
    for number, hypotheses in enumerate(case.systems.values()):
        for row, text in enumerate(hypotheses):
            output = texts["outputs"][row][texts["of"][number][row]]
            assert output["text"] == text
            edits = [Edit(*edit[:3], types[edit[3]]) for edit in output["edits"]]
            assert apply_edits(case.sources[row], edits).split() == text.split()
    assert all(len(outputs) <= 4 for outputs in texts["outputs"])
    assert any(len(outputs) < 4 for outputs in texts["outputs"])
    shown = [[reference["text"] for reference in row] for row in texts["references"]]
    assert shown == [[reference.text for reference in row] for row in case.references]


def test_findings_count_what_the_metric_counts(case: Any) -> None:
    lens = case.report["sentences"]["lenses"][0]
    details = case.report["sentences"]["metrics"][0]["details"]
    assert lens["name"] == case.metrics[0].label
    for number, row in outputs_of(case):
        comparison = lens["lists"][row][lens["of"][number][row]]
        expected = {name: detail["values"][number][row] for name, detail in details.items()}
        matched = sum(edit[4] for edit in comparison["edits"])
        assert matched == expected["tp"]
        assert len(comparison["edits"]) == expected["proposed"]
        assert matched + len(comparison["missed"]) == expected["gold"]
        assert comparison["annotator"] in (None, expected["annotator"])


def test_worth_sums_to_the_gain(case: Any) -> None:
    (attribution,) = case.report["sentences"]["attribution"]
    texts = case.report["sentences"]
    scores = texts["metrics"][3]["scores"]
    for number, row in outputs_of(case):
        worth = attribution["values"][row][texts["of"][number][row]]
        gain = scores[number][row] - attribution["source"][row]
        if worth:
            assert sum(edit[2] for edit in worth) == pytest.approx(gain, abs=1e-4)


def test_error_types_are_errants_own(case: Any) -> None:
    errant = load_metric("errant(annotator='en-ewt-sm', types=True)")
    statistics = bind_one(errant).statistics(case.sources, case.systems, case.references)
    errors = case.report["errors"]
    for tier in ("type", "category", "operation"):
        tables = [errant.by_type(arrays, tier) for arrays in statistics.values()]
        for kind, row in errors["tiers"][tier].items():
            for table, counts in zip(tables, row, strict=True):
                expected = table.get(kind, {"tp": 0, "fp": 0, "fn": 0})
                assert counts == [expected[name] for name in ("tp", "fp", "fn")]
    # Every gold edit is in one row, every edit of the system in one column.
    for (name, arrays), table in zip(statistics.items(), errors["operations"], strict=True):
        details = errant.details(arrays)
        assert sum(map(sum, table[:3])) == details["gold"], name
        assert sum(row[column] for row in table for column in range(3)) == details["proposed"]
        assert table[3][3] == 0


def test_error_types_are_of_one_set_whatever_is_cached(tmp_path: Path) -> None:
    gold = References(((Reference("He goes home .", (Edit(1, 3, "goes home", "SVA"),), 0),),))
    inputs: Any = (ERRANT, ["He go home ."], {"a": ["He goes home ."]}, gold)
    runtime = Runtime(cache_dir=str(tmp_path))
    reports = []
    for _ in range(2):
        with pytest.warns(UserWarning, match="1 of 1 gold edits"):
            reports.append(build_report(*inputs, settings=SETTINGS, runtime=runtime))
    for report in reports:
        assert report["errors"]["tiers"]["type"] == {"R:VERB:SVA": [[1, 0, 0]]}
        assert "reannotate=True" in report["errors"]["metric"]
        # What is read from the cache is said as it was when it was computed.
        notices = [
            notice.replace("when cached statistics were computed, ", "")
            for notice in report["provenance"]["notices"]
        ]
        assert notices == reports[0]["provenance"]["notices"]
        # Each notice names its metric once.
        (about,) = (notice for notice in notices if "1 of 1 gold edits" in notice)
        assert about.startswith("errant(annotator='en-ewt-sm'): 1 of 1 gold edits")
        assert sum("The annotator en-ewt-sm finds the edits" in notice for notice in notices) == 1


def test_operations_pair_edits_that_touch() -> None:
    errant = load_metric("errant(annotator='en-ewt-sm', types=True)")
    gold = (Edit(0, 1, "x", "R:NOUN"), Edit(2, 2, "y", "M:DET"), Edit(4, 5, "", "U:PREP"))
    edits = (Edit(0, 1, "z", "R:VERB"), Edit(2, 3, "", "U:DET"), Edit(6, 6, "q", "M:PUNCT"))
    references = References(((Reference("x b y c d f", gold, 0),),))
    statistics = errant.compare(["a b c d e f"], [edits], references)
    assert operations(errant, statistics) == [
        [0, 0, 1, 0],
        [0, 1, 0, 0],
        [0, 0, 0, 1],
        [1, 0, 0, 0],
    ]


def test_rankings_are_rank_systems(case: Any) -> None:
    statistics = bind_one(case.metrics[0]).statistics(case.sources, case.systems, case.references)
    expected = rank_systems(case.metrics[0], statistics, resampling=Resampling(200))
    ranking = case.report["overview"]["rankings"][0]
    for name in ("scores", "intervals", "cluster", "p_adjusted", "tests"):
        assert ranking[name] == getattr(expected, name).tolist()


def test_effects() -> None:
    lengths = np.array([1.0, 1.0, 2.0, 3.0])
    scores = np.array([[0.0, 1.0, 4.0, 6.0], [0.0, 0.0, 2.0, 3.0]])
    edits = np.array([[0.0, 1.0, 2.0, 3.0], [1.0, 1.0, 1.0, 1.0]])
    effects = describe_effects([scores], lengths, edits)
    assert effects["length"] == {
        "labels": ["1", "2", "3"],
        "counts": [[2, 1, 1], [2, 1, 1]],
        "means": [[[0.5, 4.0, 6.0], [0.0, 2.0, 3.0]]],
    }
    assert effects["edits"]["labels"] == ["0", "1", "2", "3"]
    assert effects["edits"]["counts"] == [[1, 1, 1, 1], [0, 4, 0, 0]]
    assert effects["edits"]["means"][0][1] == [None, 1.25, None, None]
    assert effects["correlation"][0]["systems"] == 1.0
    # Sentences without a score have no part in the means.
    effects = describe_effects([np.where(scores == 1, np.nan, scores)], lengths, edits)
    assert effects["length"]["means"] == [[[0.0, 4.0, 6.0], [0.0, 2.0, 3.0]]]
    assert effects["edits"]["means"][0][0] == [0.0, None, 4.0, 6.0]


def test_meaning(case: Any) -> None:
    assert [entry is None for entry in case.report["meaning"]] == [True, True, False, True]
    meaning = case.report["meaning"][2]
    scores = case.report["sentences"]["metrics"][2]["scores"]
    careful = meaning["sentences"][0]
    assert "; half of these score above 20% of 1,000 changed sentences of bench, " in careful
    for number, row in outputs_of(case):
        assert meaning["percentiles"][number][row] == min(round(scores[number][row] * 10), 100)


def test_the_title_names_the_systems() -> None:
    for names, title in (("abcd", "a, b, c, d"), ("abcde", "a, b, c and 2 more")):
        systems = {name: ["He go ."] for name in names}
        assert build_report("length", ["He go ."], systems, settings=SETTINGS)["title"] == title


def test_provenance(case: Any) -> None:
    provenance = case.report["provenance"]
    for metric, signature in zip(case.metrics, provenance["signatures"], strict=True):
        assert signature.startswith(bind_one(metric).signature(case.references))
        assert "resamples:200" in signature
    assert provenance["command"] == "learnedgec report --title '<script>'"
    notices = " ".join(provenance["notices"])
    assert "weak: 1 of 41 hypotheses is blank where the source is not (line 11)." in notices
    assert re.search(r"impara\(.*: outputs .* \(gate\): \d+ \(lines? \d+", notices)
    assert provenance["software"]["annotator en-ewt-sm"].startswith("0.1.0")
    assert [row["data"] for row in licences([], "swedish")] == ["swedish"]
    assert [row["data"] for row in licences([], "seeda-s:base")] == ["seeda", "conll14"]


def test_licences_are_those_of_the_parts() -> None:
    # The terms of exam questions allow research alone, under a repository's MIT licence.
    rows = licences([bind_one("quality[open-mpnet]")])
    assert {row["data"]: row["licence"] for row in rows} == {
        "sentence-transformers/all-mpnet-base-v2": "Apache-2.0",
        "eracond": "MIT",
        "robustgec:tem8": "LicenseRef-robustgec",
        "ud-ewt:train": "CC-BY-SA-4.0",
        "wiki-split:short": "CC-BY-SA-4.0",
        "multiged:realec": "CC-BY-SA-4.0",
        "en-ewt-sm": "CC-BY-SA-4.0",
        "HuggingFaceTB/SmolLM2-135M-Instruct": "Apache-2.0",
    }
    assert [row["role"] for row in rows[:2]] == ["encoder of open-mpnet", "data of open-mpnet"]
    assert not any("non-commercial" in row["allows"] for row in rows)


def test_bfloat16_is_noticed() -> None:
    signature = bind_one("quality", Runtime(dtype="bfloat16")).signature()
    (notice,) = precision_notice(["gleu|version:1", signature])
    assert notice.startswith("Evaluators computed in bfloat16")
    assert precision_notice([bind_one("quality", Runtime(dtype="float32")).signature()]) == []


def test_it_begins_with_what_decides() -> None:
    sources = ["a b c d e f g h"] * 40
    systems = {
        "none": ["a b c d e f g h"] * 40,
        "one": ["a b c d e f g x"] * 40,
        "two": ["a b c d e f y x"] * 40,
    }
    references = [["a b c d e f y x"]] * 40
    settings = replace(SETTINGS, resampling=Resampling(200))
    overview = build_report("gleu", sources, systems, references, settings=settings)["overview"]
    assert overview["warning"].startswith(
        "gleu orders the 3 systems exactly as the number of edited"
    )
    assert overview["guidance"] == []
    assert overview["leaders"].startswith("By gleu, two is ")
    few = {name: texts[:5] for name, texts in systems.items()}
    report = build_report("gleu", sources[:5], few, references[:5], settings=SETTINGS)
    undecided = (
        "By gleu, 5 sentences do not tell the 3 systems apart (exact paired permutation, p <"
    )
    assert report["overview"]["leaders"].startswith(undecided)
    # People come first, where they judged.
    report = build_benchmark_report("gleu", load_benchmark("sample"), settings=SETTINGS)
    [evaluation] = report["evaluations"]
    assert evaluation["people"].startswith("People (EW) put the systems in the order ")
    assert " gleu, " in evaluation["people"]


def test_cut_inputs_and_unknown_tokens_are_noticed(tiny_evaluator: Any) -> None:
    metric = load_metric("some", model=str(tiny_evaluator))
    long = " ".join(["a"] * 400)
    with pytest.warns(UserWarning, match="were truncated"):
        report = build_report(metric, ["a b", long], {"ours": ["a 漢 b", "a"]}, settings=SETTINGS)
    notices = report["provenance"]["notices"]
    assert (
        f"{metric.label}: 1 of 2 inputs were longer than 256 tokens and were truncated (line 2)."
        in notices
    )
    assert any(
        "has no entry for 1 tokens in 1 of 2 distinct outputs (line 1);" in n for n in notices
    )
    assert any(
        licence["allows"].startswith("your own file")
        for licence in report["provenance"]["licences"]
    )


def test_one_system_without_references() -> None:
    metric = load_metric("length")
    report = build_report(metric, ["He go ."], {"ours": ["He goes ."]}, settings=SETTINGS)
    assert report["errors"] is None
    assert report["sentences"]["lenses"] == []
    assert report["sentences"]["references"] == [[]]
    assert json.dumps(report, allow_nan=False)


def test_edits_are_found_without_an_edit_metric(case: Any) -> None:
    systems, references = {"ours": case.systems["strong"][:3]}, case.references.select(range(3))
    report = build_report("length", case.sources[:3], systems, references, settings=SETTINGS)
    (lens,) = report["sentences"]["lenses"]
    assert lens["name"] == "errant(annotator='en-ewt-sm', types=True)"


def test_benchmark(case: Any) -> None:
    benchmark = load_benchmark("sample")
    metrics = [load_metric("gleu(iterations=1)"), load_metric("length")]
    report = build_benchmark_report(metrics, benchmark, settings=SETTINGS)
    (evaluation,) = report["evaluations"]
    expected = evaluate(
        metrics, benchmark, Protocol(resampling=Resampling(50)), human=evaluation["human"]
    )
    # Names are short; the whole ones are among the report's metrics.
    labels = [(metric["label"], metric["short"]) for metric in report["metrics"]]
    assert labels == [("gleu(iterations=1)", "gleu"), ("length", "length")]
    for ours, theirs in zip(evaluation["metrics"], expected.metrics, strict=True):
        assert ours["metric"] == theirs.metric.partition("(")[0]
        for name, estimate in theirs.estimates.items():
            value = ours["estimates"][name]["value"]
            assert value == estimate.value or np.isnan(estimate.value)
        assert ours["scores"] == theirs.scores.tolist()
    scores = report["sentences"]["metrics"][0]["scores"]
    assert evaluation["misjudged"][0]["kind"] == "comparisons"
    entries = evaluation["misjudged"][0]["entries"]
    assert len({entry["sentence"] for entry in entries}) == len(entries) > 5
    for entry in entries:
        better, worse = entry["systems"]
        names = [report["systems"][number] for number in (better, worse)]
        ranks = [
            [ranking.ranks.get(name) for name in names]
            for ranking in benchmark.rankings
            if ranking.sentence == entry["sentence"]
        ]
        votes = [np.sign(second - first) for first, second in ranks if None not in (first, second)]
        assert [votes.count(1), votes.count(0), votes.count(-1)] == entry["votes"]
        assert scores[better][entry["sentence"]] < scores[worse][entry["sentence"]]
    dimensions = list(benchmark.ratings)
    rated = build_benchmark_report(metrics[0], benchmark, dimensions, settings=SETTINGS)
    kinds = [evaluation["misjudged"][0]["kind"] for evaluation in rated["evaluations"]]
    assert kinds == ["ratings"] * len(dimensions)


def test_sentences_without_a_score_are_not_misjudged() -> None:
    benchmark = load_benchmark("sample")
    scores = np.random.default_rng(0).random((len(benchmark.systems), len(benchmark.sources)))
    pairs = misjudged_pairs(scores, benchmark)
    assert pairs
    assert misjudged_pairs(np.full_like(scores, np.nan), benchmark) == []


def test_outputs_that_are_misjudged() -> None:
    scores = np.array([[1.0, 2.0], [3.0, 4.0]])
    ratings = np.array([[4.0, np.nan], [2.0, 3.0]])
    first, *_ = misjudged_outputs(scores, ratings)
    assert (first["system"], first["sentence"], first["rating"]) == (0, 0, 4.0)
    assert first["gap"] == pytest.approx(-66.67, abs=0.01)


@pytest.mark.parametrize(
    ("metric", "message"),
    [("gotoscorer", "learns its weights from all sentences"), ("gleu", "gleu needs references")],
)
def test_what_cannot_be_attributed_is_refused_before_anything_is_computed(
    metric: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundMetric, "compute", lambda *_: pytest.fail("a score was computed"))
    settings = ReportSettings(annotator="plain", attribution=(metric,))
    references = [["a"]] if metric == "gotoscorer" else None
    with pytest.raises(InputError, match=message):
        build_report("length", ["a"], {"x": ["a"]}, references, settings=settings)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="at least one metric"):
        build_report([], ["a"], {"x": ["a"]}, settings=SETTINGS)
    with pytest.raises(LengthError, match="sources has 1 sentence but x has 2"):
        build_report("length", ["a"], {"x": ["a", "b"]}, settings=SETTINGS)
