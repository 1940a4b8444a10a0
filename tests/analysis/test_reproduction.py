"""Published figures beside ours, on the sample."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learnedgec import Resampling
from learnedgec.analysis import reproduction
from learnedgec.analysis.meta.agreement import Ties
from learnedgec.analysis.meta.evaluation import evaluate
from learnedgec.analysis.meta.measures import Protocol
from learnedgec.analysis.reproduction import (
    STATES,
    Answer,
    Reproduction,
    read_figures,
    state_key,
    table_of_counts,
)
from learnedgec.cli.main import main
from learnedgec.cli.reproduce import page
from learnedgec.data.benchmarks import load_benchmark
from learnedgec.edits.annotator import USUAL
from learnedgec.evaluators import locations
from learnedgec.metrics.registry import load_metric, read_name
from learnedgec.runtime.runtime import Runtime
from learnedgec.stats.resampling import Estimate

HEADER = "table,row,column,value,metric,benchmark,human,measure,needs,source\n"


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that puts papers' figures in the place of those of learnedgec."""
    monkeypatch.setattr(reproduction, "included_folder", lambda *_: tmp_path / "papers")
    (tmp_path / "papers").mkdir()
    monkeypatch.chdir(tmp_path)

    def put(**rows: str) -> None:
        for name, text in rows.items():
            (tmp_path / "papers" / f"{name}.csv").write_text(HEADER + text, encoding="utf-8")

    return put


def test_every_state(papers: Callable[..., None]) -> None:
    [entry] = evaluate("gleu", load_benchmark("sample"), human="EW", sentinels=False).metrics
    r = entry.estimates["pearson"].value
    best = max(
        zip(
            entry.scores,
            evaluate("gleu", load_benchmark("sample"), human="EW").systems,
            strict=True,
        )
    )
    gleu = "gleu,sample,EW,mean pearson,,"
    papers(
        mine="".join(
            [
                f"1,GLEU,a,{r + 0.004:.3f},{gleu}\n",
                f"1,GLEU,b,{r - 0.04:.3f},{gleu}\n",
                f"1,GLEU,c,{r - 0.2:.3f},{gleu}\n",
                f"1,GLEU,d,,{gleu}\n",
                f"1,rank 1,GLEU,{best[1]},gleu,sample,EW,rank 1,,\n",
                "1,BART,e,0.5,bartscore,sample,EW,mean pearson,,\n",
                "2,GPT-4,f,0.5,,,,,MODEL: GPT-4,\n",
                "2,example,g,0.5,,,,,data: the sentences,\n",
            ]
        )
    )
    figures = read_figures(["mine"])
    work = Reproduction(figures, runtime=Runtime(cache_dir="cache"), resampling=Resampling(9))
    assert len(work.pending()) == 1
    assert {answer.state for answer in work.answers()} >= {"not run", "needs MODEL"}
    assert list(work.run()) == ["sample, gleu, EW, mean"]
    answers = work.answers()
    assert [answer.state for answer in answers] == [
        *("met", "not met", "not met", "not at hand", "met"),
        *("needs MODEL", "needs MODEL", "needs data"),
    ]
    assert answers[0].ours == pytest.approx(r)
    assert answers[0].own
    assert answers[5].differs == "MODEL: facebook/bart-base"
    none = dict.fromkeys(map(state_key, STATES), 0)
    assert table_of_counts(answers).rows == [
        {"paper": "mine", "kind": "metrics", "figures": 4, **none, "met": 2, "not_met": 2},
        {"paper": "mine", "kind": "unanswered", "figures": 4, **none}
        | {"needs_model": 2, "needs_data": 1, "not_at_hand": 1},
    ]
    text = page("mine", answers, "reproduce mine")
    assert (
        "- 4 results of metrics by the paper's own models or by none: 2 met, 2 not met.\n" in text
    )
    # A figure of ours has a row; what is missing is a line for each table and reason.
    assert "| GLEU | d | – |" in text
    assert "| BART |" not in text
    assert "- 1 figure needs a model: facebook/bart-base (BART).\n" in text
    assert "- 1 figure needs a model: GPT-4 (GPT-4).\n" in text
    # A second run has nothing to compute.
    again = Reproduction(figures, runtime=Runtime(cache_dir="cache"), resampling=Resampling(9))
    assert not again.pending()
    assert again.answers() == answers


def test_a_figure_says_that_it_excludes_ties(papers: Callable[..., None]) -> None:
    length = "length,sample,EW,"
    papers(
        mine=f"1,length,a,0.5,{length}sentence_accuracy,,\n"
        f"1,length,b,0.5,{length}excluded sentence_accuracy,,\n"
    )
    work = Reproduction(read_figures(["mine"]), runtime=Runtime(), resampling=Resampling(9))
    assert len(list(work.run())) == 2
    treatments: tuple[Ties, ...] = ("symmetric", "excluded")
    for answer, ties in zip(work.answers(), treatments, strict=True):
        protocol = Protocol(ties=ties, resampling=Resampling(9))
        benchmark = load_benchmark("sample")
        [entry] = evaluate("length", benchmark, protocol, human="EW", sentinels=False).metrics
        estimate = entry.estimates["sentence_accuracy"]
        assert (answer.ours, answer.interval) == (estimate.value, estimate.over_sentences)
    counted, excluded = (answer.ours for answer in work.answers())
    assert isinstance(counted, float)
    assert isinstance(excluded, float)
    assert counted < excluded


def test_each_model_that_stands_in_has_a_row_and_a_figure_counts_once(
    papers: Callable[..., None], tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_ins = {"Tiny": str(tiny_encoder)}
    monkeypatch.setattr(reproduction, "_STAND_INS", stand_ins)
    layers = [{"encoder": str(tiny_encoder), "layer": layer} for layer in (1, 2)]
    monkeypatch.setitem(reproduction._MODELS, "bertscore", ("the paper's", layers))
    row = "1,BERTScore,a,0.5,bertscore(encoder='absent/{}'),sample,EW,mean pearson,{},\n"
    papers(mine=row.format("none", "") + row.format("large", "MODEL: absent/large"))
    work = Reproduction(read_figures(["mine"]), resampling=Resampling(9))
    assert len(list(work.run())) == 2
    *answers, needed = work.answers()
    # Nothing stands in for a model that the figure is about.
    assert (needed.state, needed.differs) == ("needs MODEL", "MODEL: absent/large")
    assert [answer.differs for answer in answers] == ["Tiny, not the paper's"] * 2
    expected = [
        evaluate(f"bertscore(encoder='{tiny_encoder}', layer={layer})", load_benchmark("sample"))
        for layer in (1, 2)
    ]
    assert [answer.ours for answer in answers] == [
        pytest.approx(each.metrics[0].estimates["pearson"].value) for each in expected
    ]
    # A model that stands in meets nothing, even where its figure is the paper's.
    assert not any(answer.own for answer in answers)
    assert isinstance(answers[0].ours, float)
    equal = replace(answers[0].figure, value=f"{answers[0].ours:.3f}")
    assert replace(answers[0], figure=equal).state == "stand-in"
    rows = table_of_counts(answers).rows
    assert [(row["kind"], row["figures"], row["stand_in"]) for row in rows] == [("stand-ins", 1, 1)]


def test_counts_are_met_as_they_are_printed(papers: Callable[..., None]) -> None:
    papers(mine="1,CoNLL-14,words,22.98,,robustgec:conll14,,mean length in words,,\n")
    [figure] = read_figures(["mine"])
    assert Answer(figure, 22.9848, own=True).state == "met"
    assert Answer(figure, 22.9851, own=True).state == "not met"


@pytest.mark.parametrize(
    ("interval", "state"),
    [
        ((0.49, 0.519), "equivalent"),
        ((0.501, 0.519), "equivalent"),
        ((0.49, 0.53), "undecided"),
        ((0.501, 0.53), "different"),
        ((0.40, 0.45), "different"),
        (None, "stand-in"),
    ],
)
def test_the_interval_over_sentences_decides_about_a_difference(
    papers: Callable[..., None], interval: tuple[float, float] | None, state: str
) -> None:
    papers(
        mine="1,M,a,0.500,m2,sample,EW,sentence_accuracy,,\n1,M,r,0.500,m2,sample,EW,mean pearson,,\n"
    )
    accuracy, pearson = read_figures(["mine"])
    assert Answer(accuracy, 0.51, interval).state == state
    assert Answer(accuracy, 0.51, interval, own=True).state == state.replace("stand-in", "not met")
    # Whatever the interval over systems, nothing is known about sentences.
    assert Answer(pearson, 0.51, interval).state == "stand-in"


def test_kinds_count_apart_and_a_repeated_cell_once(papers: Callable[..., None]) -> None:
    papers(
        a="1,GLEU,r,0.9,gleu,sample,EW,mean pearson,,\n"
        "1,human,1,strong,gleu,sample,EW,human rank 1,,\n"
        "2,GLEU again,r,0.9,gleu,sample,EW,mean pearson,,\n"
        "2,human again,1,strong,green,sample,EW,human rank 1,,\n"
        "3,words,,9,,robustgec:conll14,,sentences,,\n",
        b="1,GLEU,r,0.9,gleu,sample,EW,mean pearson,,\n1,GLEU,r,0.8,gleu,sample,EW,mean pearson,,\n",
    )
    ours = [0.9, "strong", 0.9, "strong", 9, 0.9, 0.9]
    answers = [
        Answer(figure, value, own=True)  # type: ignore[arg-type]
        for figure, value in zip(read_figures(["all"]), ours, strict=True)
    ]
    assert [
        (row["paper"], row["kind"], row["figures"], row["met"], row["not_met"])
        for row in table_of_counts(answers).rows
    ] == [
        ("a", "metrics", 1, 1, 0),
        ("a", "human scores", 1, 1, 0),
        ("a", "counts", 1, 1, 0),
        ("a", "repeated", 2, 0, 0),
        ("b", "metrics", 1, 0, 1),
        ("b", "repeated", 1, 0, 0),
        ("all", "metrics", 2, 1, 1),
        ("all", "human scores", 1, 1, 0),
        ("all", "counts", 1, 1, 0),
        ("all", "repeated", 3, 0, 0),
    ]
    assert (
        sum(row["figures"] for row in table_of_counts(answers).rows if row["paper"] == "all") == 7
    )


def test_an_own_metric_answers_what_it_can(papers: Callable[..., None]) -> None:
    own = {
        "pt-m2": read_name("pt-m2(encoder='mine')"),
        "llm-s": read_name("llm-s(model='mine')"),
    }

    def answered(name: str) -> str | None:
        named = reproduction.answering(own, name)
        return named and named.label

    assert answered("pt-m2(level='corpus')") == "pt-m2(encoder='mine')"
    # Its encoder is for BERTScore, and no other scorer.
    assert answered("pt-m2(scorer='bartscore')") is None
    assert answered("pt-m2(encoder='bert-large-uncased', layer=18)") is None
    assert answered("pt-errant") is None
    assert answered("llm-s(criterion='fluency')") == "llm-s(model='mine')"
    # Without --with, no language model is asked.
    papers(mine="1,GPT-4,r,0.9,llm-s,sample,EW,mean pearson,MODEL: GPT-4,\n")
    work = Reproduction(read_figures(["mine"]), resampling=Resampling(9))
    assert (work.jobs(), work.answers()[0].state) == ({}, "needs MODEL")
    with_own = Reproduction(read_figures(["mine"]), own, resampling=Resampling(9))
    assert [job.metric for job in with_own.jobs()] == ["llm-s(model='mine')"]


def test_examples_are_scored_by_line(
    papers: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reproduction, "_EXAMPLES", {"sample": (3,)})
    benchmark = load_benchmark("sample")
    papers(mine="3,weak,M2,0.5,sentm2,sample,EW,line 3 of weak,,\n")
    work = Reproduction(read_figures(["mine"]), resampling=Resampling(9))
    list(work.run())
    assert benchmark.references is not None
    score = load_metric("sentm2").score(
        benchmark.sources[2:3], benchmark.systems["weak"][2:3], benchmark.references.select([2])
    )
    assert work.answers()[0].ours == pytest.approx(score.sentences[0])


@pytest.mark.filterwarnings("ignore:the spaCy package")
def test_outputs_of_correctors_answer_robustgec_s_table(papers: Callable[..., None]) -> None:
    row = "4,BART,{0},55.06,errant,robustgec:{1},,{0} of BART,data: outputs,\n"
    papers(mine=row.format("upper F0.5", "total") + row.format("upper R", "conll14"))
    results = {("total", "BART"): {"upper F0.5": Estimate(0.5506, 0.54, 0.56)}}
    given, missing = Reproduction(read_figures(["mine"]), robustness=results).answers()
    assert (given.ours, given.interval) == (pytest.approx(55.06), pytest.approx((54.0, 56.0)))
    assert given.kind in ("metrics", "stand-ins")
    assert missing.state == "needs data"


def test_counts_of_edits_name_their_annotator(
    papers: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    papers(
        mine="1,C,errors,2.60,,robustgec:conll14,,mean number of errors,,\n"
        "1,C,number,2,,robustgec:conll14,,sentences,,\n"
    )
    found = {"mean number of errors": 2.48, "sentences": 2.0}
    monkeypatch.setattr(reproduction, "_count_cases", lambda *_: found)
    monkeypatch.setattr(reproduction, "default_annotator", lambda: "en-ewt-sm")
    errors, sentences = Reproduction(read_figures(["mine"])).answers()
    assert errors.differs.startswith(f"edits by the annotator `en-ewt-sm`, not `{USUAL}`")
    assert (errors.state, sentences.state) == ("stand-in", "met")


def test_the_command_takes_own_metrics_and_writes_pages(
    papers: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    papers(
        mine="1,GLEU,a,0.9,gleu,sample,EW,mean pearson,,\n2,GREEN,a,0.9,green,sample,EW,mean pearson,,\n"
    )
    words = ["reproduce", "mine", "--resamples", "9", "--cache-dir", "cache"]

    def printed(*further: str, code: int = 0) -> tuple[str, str]:
        assert main([*words, *further]) == code
        return capsys.readouterr()

    estimate = "2, of which 0 are cached; the rest takes about 0 min on two cores."
    assert estimate in printed("--estimate")[1]
    out, _ = printed("--with", "gleu=green", "--format", "csv")
    assert len(out.splitlines()) == 2
    before = set(Path().rglob("*"))
    out, _ = printed()
    assert "2 results of metrics by the paper's own models or by none: 2 not met." in out
    assert not {path for path in set(Path().rglob("*")) - before if "cache" not in path.parts}
    printed("--pages", "own", "--dtype", "bfloat16")
    text = Path("own/mine.md").read_text(encoding="utf-8")
    assert "## Table 2" in text
    assert "Written by `learnedgec reproduce mine --dtype bfloat16 --pages own` from" in text
    assert main(["reproduce"]) == 2
    assert "no paper is named; name some of mine, or all." in capsys.readouterr().err
    assert "no table is named '3'" in printed("--table", "3", code=2)[1]
    assert "--with gleu is not NAME=METRIC" in printed("--with", "gleu", code=2)[1]


def test_a_run_that_is_stopped_writes_nothing_and_goes_on(
    papers: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    papers(
        mine="1,GLEU,a,0.9,gleu,sample,EW,mean pearson,,\n1,GREEN,a,0.9,green,sample,EW,mean pearson,,\n"
    )
    compute = reproduction._record

    def stop_at_the_second(job: Any, *rest: Any) -> Any:
        if job.metric == "green":
            raise KeyboardInterrupt
        return compute(job, *rest)

    monkeypatch.setattr(reproduction, "_record", stop_at_the_second)
    words = ["reproduce", "mine", "--resamples", "9", "--cache-dir", "cache", "--pages", "own"]
    assert main(words) == 130
    assert not Path("own").exists()
    assert main([*words, "--estimate"]) == 0
    assert "Evaluations: 2, of which 1 are cached" in capsys.readouterr().err


def test_it_says_what_to_fetch(
    papers: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(locations, "_places", lambda _: iter(()))
    some = "some(weights=(1, 1, 1))"
    papers(
        mine=f'1,SOME,a,0.9,"{some}",sample,EW,mean pearson,,\n'
        f'1,SOME,b,0.9,"{some}",sample,EW,mean spearman,,\n'
        "1,GLEU,a,0.9,gleu,sample,EW,mean pearson,,\n2,GPT-4,f,0.5,,,,,MODEL: GPT-4,\n"
    )
    assert main(["reproduce", "mine", "--estimate", "--cache-dir", "cache"]) == 0
    said = capsys.readouterr().err
    assert "2 of the figures have no model here: some" in said
    assert "run: learnedgec evaluators fetch joint-mpnet-3." in said
    assert "Figures: 4, of which 3 need a model or data that are not here. Evaluations: 1, " in said


def test_a_figure_that_is_met_needs_no_reason(
    papers: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(reproduction._REASONS, ("mine", "gleu"), "GLEU differs")
    [entry] = evaluate("gleu", load_benchmark("sample"), human="EW", sentinels=False).metrics
    r = entry.estimates["pearson"].value
    gleu = "gleu,sample,EW,mean pearson,,"
    papers(mine=f"1,GLEU,a,{r:.3f},{gleu}\n1,GLEU,b,{r - 0.04:.3f},{gleu}\n")
    work = Reproduction(read_figures(["mine"]), resampling=Resampling(9))
    assert len(list(work.run())) == 1
    assert [answer.differs for answer in work.answers()] == ["", "GLEU differs"]


@pytest.mark.filterwarnings("ignore:the spaCy package")
def test_the_papers_of_learnedgec_can_be_read() -> None:
    figures = read_figures(["all"])
    assert {figure.paper for figure in figures} >= {
        *("gong2022", "yoshimura2020", "goto2025", "zhang2023", "maeda2022"),
    }
    for figure in figures:
        assert figure.needs.startswith(("MODEL: ", "data: ")) or figure.measure, figure
        if figure.metric:
            reproduction.load_metric(figure.metric)


def test_nearest_ranks_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = "meta --benchmark sample --metric gleu --human EW TS --show ranks --resamples 9 --format json"
    assert main([*words.split(), "--quiet"]) == 0
    totals = json.loads(capsys.readouterr().out)["totals"]
    assert totals[-1]["system"] == "Σ|Δ| to the nearest of EW, TS"
