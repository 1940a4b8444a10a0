from __future__ import annotations

import dataclasses
import itertools
import json
import math
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from learnedgec import Resampling
from learnedgec.analysis.meta.evaluation import evaluate
from learnedgec.analysis.meta.measures import Protocol
from learnedgec.data.benchmarks import Benchmark, Ranking, load_benchmark
from learnedgec.data.benchmarks.base import read_benchmark
from learnedgec.data.catalog import load_outputs, load_parallel, load_ratings
from learnedgec.data.references import References
from learnedgec.data.text import write_lines
from learnedgec.errors import (
    FormatError,
    InputError,
    LearnedgecError,
    LengthError,
    UnknownNameError,
)

PutDataset = Callable[[str, dict[str, str]], None]


def small() -> Benchmark:
    return Benchmark(
        name="small",
        sources=("a", "b", "c"),
        systems={"X": ("a", "x", "c"), "Y": ("y", "y", "y"), "Z": ("z", "b", "z")},
        references=References.from_texts(["r", "r", "r"], [None, "s", "s"]),
        rankings=(
            Ranking(1, {"Z": 3, "X": 1, "W": 2, "Y": 1}, "me"),
            Ranking(2, {"Y": 2, "W": 1}),
            Ranking(1, {"Y": 5, "Z": 4}),
        ),
        ratings={"quality": {"X": np.array([1.0, math.nan, 3.0]), "Y": np.array([4.0, 5.0, 6.0])}},
        official={"EW": {"X": 0.5, "Y": 0.25, "Z": 0.125}},
    )


# -- the shape --------------------------------------------------------------------------------


def test_comparisons_follow_the_rankings() -> None:
    comparisons = small().comparisons()
    systems, *columns = dataclasses.astuple(comparisons)
    assert systems == ("X", "Y", "Z")
    rows = [[1, 2, 0, -1], [1, 2, 1, -1], [1, 0, 1, 0], [1, 1, 2, -1]]
    assert np.column_stack(columns).tolist() == rows
    assert len(comparisons) == 4
    others = small().comparisons(["W", "Y"])
    assert (others.systems, others.first.tolist()) == (("W", "Y"), [0, 1])
    assert others.outcome.tolist() == [-1, -1]
    assert small().ranked_systems == ("X", "Y", "Z", "W")


def test_select_keeps_everything_parallel() -> None:
    selection = small().select(["Y", "X"], [2, 1])
    assert selection.sources == ("c", "b")
    assert selection.systems == {"Y": ("y", "y"), "X": ("c", "x")}
    assert selection.references == References.from_texts(["r", "r"], ["s", "s"])
    assert [ranking.sentence for ranking in selection.rankings] == [1, 0, 1]
    assert selection.ratings["quality"]["X"] == pytest.approx([3.0, math.nan], nan_ok=True)
    assert selection.ratings["quality"]["Y"] == pytest.approx([6.0, 5.0])
    assert selection.official == {"EW": {"Y": 0.25, "X": 0.5}}
    # Rankings of other sentences are dropped.
    assert [ranking.sentence for ranking in small().select(sentences=[0, 1]).rankings] == [1, 1]
    with pytest.raises(UnknownNameError, match="system of small"):
        small().select(["V"])


@pytest.mark.parametrize(
    "change",
    [
        {"systems": {}},
        {"systems": {"X": ("a", "b")}},
        {"references": References.from_texts(["r"])},
        {"rankings": (Ranking(3, {"X": 1, "Y": 2}),)},
        {"ratings": {"quality": {"X": np.zeros(2)}}},
    ],
)
def test_what_is_not_parallel_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(InputError):
        dataclasses.replace(small(), **change)  # type: ignore[arg-type]


def test_a_system_is_not_its_own_reference_unless_there_is_no_other() -> None:
    systems = {"X": ("r  1", "r 2"), "Y": ("r 1", "y")}
    references = References.from_texts(["r 1", "r 2"], ["s 1", "s 2"])
    benchmark = Benchmark("b", ("a", "b"), systems, references).exclude_own_references()
    assert benchmark.excluded == {"X": frozenset({0})}
    assert benchmark.notices == (
        "X is the reference of annotator 0, which is left out when X is scored.",
    )
    groups = benchmark.corpora
    assert [list(corpus.systems) for corpus in groups] == [["X"], ["Y"]]
    texts = [corpus.references.texts() for corpus in groups if corpus.references is not None]
    assert texts == [[["s 1"], ["s 2"]], [["r 1", "s 1"], ["r 2", "s 2"]]]
    only = dataclasses.replace(benchmark, references=references.without([1]), excluded={})
    assert only.exclude_own_references().excluded == {}
    assert "there is no other" in only.exclude_own_references().notices[-1]


# -- names ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("JFLEG", InputError, "write jfleg:FOLDER"),
        ("seeda:+fluency", UnknownNameError, "did you mean 'seeda-"),
        ("gjg14", UnknownNameError, r"did you mean 'gjg15'\?"),
        (
            "pillars",
            InputError,
            "pillars is a dataset, but no benchmark; the benchmarks are autojqe,",
        ),
        ("seeda-s:+fluent", UnknownNameError, r"did you mean '\+fluency'\?"),
        ("seeda-s:base:all", InputError, "gives both 'base' and 'all'"),
    ],
)
def test_names_that_denote_no_benchmark(
    name: str, error: type[LearnedgecError], message: str
) -> None:
    with pytest.raises(error, match=message):
        load_benchmark(name)


# -- a user's folder --------------------------------------------------------------------------


def put_folder(root: Path, contents: dict[str, str]) -> Path:
    """Write a benchmark folder of two sentences and the systems X and Y, with these further files."""
    files = {"source.txt": "a\nb\n", "systems/X.txt": "x\nb\n", "systems/Y.txt": "a\ny\n"}
    for name, text in {**files, **contents}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_a_folder_with_everything(tmp_path: Path) -> None:
    contents = {
        "rankings.csv": "id,better,worse,tie\n0,X,source,0\n",
        "judgements.xml": '<a><ranking-item src-id="1"><translation system="X Y" rank="1"/>'
        "</ranking-item></a>",
        "ratings.csv": "id,system,fluency,meaning\n0,X,1,\n0,X,2,\n1,X,5,3\n",
        "scores.csv": "system,EW\nX,0.75\nY,0.25\n",
        "ref0.txt": "r\nr\n",
        "ref1.txt": "s\ns\n",
    }
    benchmark = read_benchmark(put_folder(tmp_path, contents))
    assert list(benchmark.systems) == ["source", "X", "Y"]
    assert benchmark.rankings == (Ranking(0, {"X": 1, "source": 2}), Ranking(1, {"X": 1, "Y": 1}))
    assert benchmark.ratings["fluency"]["X"] == pytest.approx([1.5, 5.0])
    assert benchmark.ratings["meaning"]["X"] == pytest.approx([math.nan, 3.0], nan_ok=True)
    assert benchmark.official == {"EW": {"X": 0.75, "Y": 0.25}}
    assert benchmark.references is not None
    assert benchmark.references.texts() == [["r", "s"], ["r", "s"]]
    assert benchmark.name == str(tmp_path)
    (tmp_path / "scores.csv").unlink()
    assert read_benchmark(tmp_path).official == {"fluency": {"X": 3.25}, "meaning": {"X": 3.0}}


def test_repeated_comparisons_of_an_annotator_are_noticed(tmp_path: Path) -> None:
    rows = "id,better,worse,annotator\n0,X,Y,ann\n0,Y,X,ann\n0,X,Y,ben\n1,X,Y,ann\n"
    assert read_benchmark(put_folder(tmp_path, {"rankings.csv": rows})).notices == (
        "1 of 4 comparisons repeat one that the same annotator made of the same outputs; all of them count.",
    )


SCORES = {"scores.csv": "system,EW\nX,1\n"}


@pytest.mark.parametrize(
    ("contents", "error", "message"),
    [
        ({}, InputError, "has no judgements"),
        ({"ratings.csv": "id,system,a\n0,Z,1\n"}, UnknownNameError, "It is judged"),
        ({"ratings.csv": "id,system,a\n2,X,1\n"}, FormatError, r"ratings\.csv:2: 'id' is '2'"),
        ({"ratings.csv": "id,system\n0,X\n"}, FormatError, r"ratings\.csv:2: no rating"),
        ({"ratings.csv": "id,system,a\n0,X,\n"}, FormatError, r"ratings\.csv: no row has a rating"),
        ({"scores.csv": "system,EW\nX,high\n"}, FormatError, "'EW' must hold a number"),
        (
            {"scores.csv": "system,EW\nX,1\nX,2\n"},
            FormatError,
            "another EW of 'X'; keep one of them",
        ),
        ({**SCORES, "systems/X.txt": "x\n"}, LengthError, "has 2 sentences but"),
        ({**SCORES, "ref0.txt": "r\n"}, LengthError, "ref0.txt has 1"),
    ],
)
def test_bad_folders(
    tmp_path: Path, contents: dict[str, str], error: type[LearnedgecError], message: str
) -> None:
    with pytest.raises(error, match=message):
        read_benchmark(put_folder(tmp_path, contents))


# -- catalog benchmarks on small files ------------------------------------------------------------


def test_jfleg_maps_gug_numbers_to_lines(put_dataset: PutDataset, tmp_path: Path) -> None:
    put_dataset(
        "jfleg",
        {
            "dev/dev.src": "a\nb\n",
            **{f"dev/dev.ref{n}": f"r{n}\nr\n" for n in range(4)},
            "EACL_exp/mturk/pairwise.csv": "srcIndex,judgeId,system1Id,system2Id,system1rank,system2rank\n"
            "9,me,CAMB,orig,2,1\n5,me,AMU,CAMB,3,3\n",
        },
    )
    put_dataset(
        "gug", {"gug_annotations.tsv": "Id\tDataset\n5\ttest\n7\ttrain\n9\ttest\n10\tdev\n"}
    )
    folder = tmp_path / "out"
    folder.mkdir()
    for name in ("CAMB", "mine"):
        (folder / f"{name}.txt").write_text("x\ny\n")
    benchmark = load_benchmark(f"jfleg:{folder}")
    assert benchmark.systems == {"orig": ("a", "b"), "CAMB": ("x", "y")}
    assert benchmark.rankings == (
        Ranking(1, {"CAMB": 2, "orig": 1}, "me"),
        Ranking(0, {"AMU": 3, "CAMB": 3}, "me"),
    )
    assert benchmark.notices == ("no output of AMU was given.",)
    assert len(benchmark.comparisons()) == 1
    (folder / "CAMB.txt").unlink()
    with pytest.raises(InputError, match=r"add one of AMU\.txt, CAMB\.txt"):
        load_benchmark(f"jfleg:{folder}")


def test_tmu_gfm_keeps_sources_that_every_system_corrected_once(put_dataset: PutDataset) -> None:
    header = "source,output,grammer,fluency,meaning,system,ave_g,ave_f,ave_m\n"
    rows = [
        'a,a1,"1","2","3","s,t",1,2,3\n',
        'b,b1,"1","1","1",s,1,1,1\n',
        'c,c1,"4","4","4",t,4,4,4\n',
        'c,c2,"2","3","4",s,2,3,4\n',
        'd,d1,"4","4","4",s,4,4,4\n',
        'd,d2,"4","4","4","s,t",4,4,4\n',
    ]
    put_dataset("tmu-gfm", {"tmu-gfm-dataset.csv": header + "".join(rows)})
    benchmark = load_benchmark("tmu-gfm")
    assert benchmark.sources == ("a", "c")
    assert benchmark.systems == {"s": ("a1", "c2"), "t": ("a1", "c1")}
    assert benchmark.ratings["fluency"]["s"] == pytest.approx([2.0, 3.0])
    assert benchmark.official["meaning"] == {"s": 3.5, "t": 3.5}
    assert benchmark.notices[0].startswith("2 of 4 sources")


def test_swedish_has_references_of_the_corpus_and_post_edits(put_dataset: PutDataset) -> None:
    def rated(meaning: int, corrected: str) -> dict[str, object]:
        ratings = {"Grammaticality": 4, "Fluency": 2, "Meaning Preservation": meaning}
        return {**ratings, "corrected": corrected}

    def rows(name: str, systems: dict[str, dict[str, object]]) -> list[dict[str, object]]:
        outputs = {
            system: {"annotators": ratings, "output": f"{name} {system}  ."}
            for system, ratings in systems.items()
        }
        return [{"original": name, "reference": f"{name}r", "systems": outputs}]

    first = {"y": {"katarina": rated(0, "ey")}, "x": {"katarina": rated(3, "ex")}}
    # The second annotator rated one output.
    files = {
        "A/katarina": rows("a", first),
        "A/robert": rows("a", {"x": {"robert": rated(4, "other")}, "y": {}}),
        "B/katarina": rows("b", {**first, "y": {"katarina": rated(3, "ey")}}),
        "B/robert": rows("b", {"x": {}, "y": {}}),
        "C/katarina": [],
        "C/robert": [],
    }
    put_dataset(
        "swedish",
        {f"annotations/balanced_{f}.json": json.dumps({"data": d}) for f, d in files.items()},
    )
    benchmark = load_benchmark("swedish")
    assert benchmark.sources == ("a", "b")
    assert benchmark.systems == {"x": ("a x .", "b x ."), "y": ("a y .", "b y .")}
    assert benchmark.references == References.from_texts(["ar", "br"])
    assert benchmark.ratings["meaning"]["x"] == pytest.approx([3.0, 3.0])
    assert benchmark.ratings["meaning"]["y"] == pytest.approx([math.nan, 3.0], nan_ok=True)
    assert load_ratings("swedish")[0].raters["meaning"] == (3.0, 4.0)
    groups = [corpus.texts for corpus in load_benchmark("swedish:post-edits").corpora]
    texts = [(list(systems), references.texts()) for _, systems, references in groups if references]
    assert texts == [(["x"], [["ex"], ["ex"]]), (["y"], [["ey"], ["ey"]])]


def test_autojqe_has_outputs_of_no_system(put_dataset: PutDataset) -> None:
    header = "原文\t訂正\t個別評価\t評価\n"
    put_dataset(
        "autojqe",
        {
            "datasets/human_qe_FLUTEC.csv": f'{header}猫\t犬\t"4,4,3"\t3.5\n鳥\t鳥\t"0,0,1"\t0\n'
            '猫\t猫\t"1,2,1"\t1.25\n',
            "datasets/human_qe_TECJL.csv": f'{header}魚\t魚\t"2,2,2"\t2.0\n',
        },
    )
    benchmark = load_benchmark("autojqe")
    assert benchmark.sources == ("猫", "鳥", "魚")
    assert benchmark.systems == {"output-1": ("犬", "鳥", "魚"), "output-2": ("猫", "鳥", "魚")}
    for name, expected in (
        ("output-1", [3.5, math.nan, 2]),
        ("output-2", [1.25, math.nan, math.nan]),
    ):
        assert benchmark.ratings["quality"][name] == pytest.approx(expected, nan_ok=True)
    assert load_benchmark("autojqe:tecjl").sources == ("魚",)
    # Nothing is measured between outputs of no system.
    assert benchmark.anonymous


def test_peet_asks_from_either_side(put_dataset: PutDataset) -> None:
    texts = {
        "gecpd_OP": "He go .\nFine .\n",
        "gecpd_EC": "He goes .\nFine .\n",
        "gector_OP": "He go home .\nFine .\n",
        "gector_EC": "He went .\nFine  .\n",
        "source_EC": "He went .\nFine !\n",
    }
    put_dataset("peet", {f"Dataset/BEA19/{name}.txt": text for name, text in texts.items()})
    benchmark = load_benchmark("peet:gecpd")
    assert benchmark.sources == ("He go .", "Fine .", "He goes .")
    assert benchmark.systems == {
        "output": ("He go .", "Fine .", "He go ."),
        "edited": ("He goes .", "Fine .", "He goes ."),
    }
    assert benchmark.references is not None
    assert benchmark.references.texts() == [["He went ."], ["Fine !"], ["He went ."]]
    assert [(r.sentence, r.ranks["edited"]) for r in benchmark.rankings] == [(0, 1), (2, 1)]
    assert benchmark.ratings["effort"]["output"] == pytest.approx([2 / 3, 1, math.nan], nan_ok=True)
    both = load_benchmark("peet")
    # More white space is no change.
    assert both.sources == ("He go .", "Fine .", "He go home .", "Fine .", "He goes .", "He went .")
    evaluation = evaluate("hter", both, Protocol(resampling=Resampling(20)), sentinels=False)
    estimates = evaluation.metrics[0].estimates
    # HTER against `source_EC`: "go" and "goes" are as far from it, "He went ." is it.
    assert estimates["sentence_accuracy"].value == pytest.approx(0.5)
    assert "pearson" not in estimates
    tracked = evaluate(
        "hter", both, Protocol(resampling=Resampling(20)), human="effort", sentinels=False
    )
    estimate = tracked.metrics[0].estimates["segment_pearson"]
    assert (estimate.count, tracked.systems) == (4, ("output",))
    # 1 - 1/3, 1 - 1/2, 1 - 2/3, 1 - 1/2 with what the outputs needed, 2/3, 1, 1/3, 1.
    assert estimate.value == pytest.approx(np.corrcoef([4, 3, 2, 3], [2, 3, 1, 3])[0, 1])


# -- the real data ----------------------------------------------------------------------------


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "sentences", "systems", "rankings", "comparisons"),
    [
        ("seeda-s:base", 391, 12, 600, 21410),
        ("seeda-e:+fluency", 391, 14, 600, 29194),
        ("seeda-s:+input:full", 1312, 13, 600, 25157),
        ("seeda-e:all", 391, 15, 600, 33544),
        ("seeda-s:base:dev", 196, 12, 285, 10647),
        ("seeda-e:+fluency:test", 195, 14, 315, 14714),
        ("gjg15:13", 1312, 13, 2319, 109098),
        ("gjg15:12:dev10", 66, 12, 225, 8894),
        ("gjg15:13:test90", 597, 13, 2094, 98475),
        ("gmeg:fce", 968, 7, 0, 0),
        ("gmeg:wiki", 992, 7, 0, 0),
        ("gmeg:dev", 1960, 7, 0, 0),
        ("tmu-gfm", 1369, 5, 0, 0),
        ("swedish", 192, 5, 0, 0),
        ("swedish:post-edits", 192, 5, 0, 0),
        ("autojqe", 3944, 4, 0, 0),
        ("autojqe:flutec", 2098, 4, 0, 0),
        ("peet:gecpd", 6879, 2, 4804, 4804),
    ],
)
def test_real_benchmarks(
    name: str, sentences: int, systems: int, rankings: int, comparisons: int
) -> None:
    benchmark = load_benchmark(name)
    assert benchmark.name == name
    assert len(benchmark.sources) == sentences
    assert len(benchmark.systems) == systems
    assert len(benchmark.rankings) == rankings
    assert len(benchmark.comparisons()) == comparisons


@pytest.mark.realdata
def test_real_gmeg_means_are_the_published_ones() -> None:
    fce = load_benchmark("gmeg:fce").official["mean"]
    assert fce["amu"] == pytest.approx(70.12675168300169)
    assert fce["source"] == pytest.approx(67.58924425799425)
    wiki = load_benchmark("gmeg:wiki").official["mean"]
    assert wiki["lstm-r"] == pytest.approx(78.20706997084547)


@pytest.mark.realdata
def test_real_seeda_subset_and_rewrites() -> None:
    subset = load_outputs("seeda:subset")
    benchmark = load_benchmark("seeda-s:all")
    assert benchmark.systems == subset
    assert benchmark.excluded == {}
    assert benchmark.notices == (
        "REF-F and REF-M are expert rewrites, not among the references of the two annotators.",
    )
    rewritten = load_benchmark("seeda-s:all:full:rewrites")
    assert rewritten.excluded == {"REF-F": frozenset({2}), "REF-M": frozenset({4})}
    experts = load_parallel("reassess").references
    assert [row[0].text for row in experts] == list(rewritten.systems["REF-F"])
    assert [row[2].text for row in experts] == list(rewritten.systems["REF-M"])
    groups = [corpus.texts for corpus in rewritten.corpora]
    sizes = [(next(iter(systems)), texts.most) for _, systems, texts in groups if texts]
    assert sizes == [("BART", 10), ("REF-F", 9), ("REF-M", 9)]


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "dev_part", "test_part"),
    [("gjg15", "dev10", "test90"), ("seeda-s", "dev", "test"), ("seeda-e", "dev", "test")],
)
def test_real_splits_are_partitions_of_the_judged_sentences(
    name: str, dev_part: str, test_part: str
) -> None:
    dev, test = load_benchmark(f"{name}:{dev_part}"), load_benchmark(f"{name}:{test_part}")
    whole = load_benchmark(name)
    judged = {whole.sources[ranking.sentence] for ranking in whole.rankings}
    assert set(dev.sources).isdisjoint(test.sources)
    assert set(dev.sources) | set(test.sources) == judged
    assert len(dev.rankings) + len(test.rankings) == len(whole.rankings)
    # Parts are scored by their own judgements, and both kinds of SEEDA have the same ones.
    assert dev.official == test.official == {}
    if dev_part == "dev":
        assert dev.sources == load_benchmark("seeda-s:dev").sources


@pytest.mark.realdata
def test_real_jfleg_judgements(tmp_path: Path) -> None:
    source = load_parallel("jfleg:dev").sources
    (tmp_path / "CAMB.txt").write_text("\n".join(source) + "\n")
    benchmark = load_benchmark(f"jfleg:{tmp_path}")
    assert len(benchmark.rankings) == 1629
    assert len({ranking.sentence for ranking in benchmark.rankings}) == 176
    assert len(benchmark.comparisons()) == 148
    assert os.fspath(tmp_path) in benchmark.name


def pair_agreement(ratings: list[tuple[float, ...]]) -> tuple[int, float, float]:
    """Return how many outputs several raters rated, and the mean r and weighted kappa of their pairs."""
    table = np.array(ratings)
    table[table == 0] = np.nan
    pairs = []
    for x, y in itertools.combinations(table.T, 2):
        both = ~np.isnan(x + y)
        kappa = cohen_kappa_score(x[both].astype(int), y[both].astype(int), weights="quadratic")
        pairs.append((np.corrcoef(x[both], y[both])[0, 1], kappa))
    pearson, kappa = np.mean(pairs, axis=0)
    return int(((~np.isnan(table)).sum(axis=1) > 1).sum()), pearson, kappa


def ceiling(pearson: float, raters: int) -> float:
    """Return the square root of the reliability of the mean of raters (Spearman and Brown)."""
    return math.sqrt(raters * pearson / (1 + (raters - 1) * pearson))


@pytest.mark.realdata
def test_real_raters_agree() -> None:
    rated = load_ratings("swedish")
    assert len(rated) == 960
    counts = {name: sum(name in r.values for r in rated) for name in rated[0].raters}
    assert counts == {"grammaticality": 955, "fluency": 955, "meaning": 944}
    for dimension, notice in zip(counts, load_benchmark("swedish").notices, strict=True):
        twice = [r.raters[dimension] for r in rated if len(r.raters[dimension]) > 1]
        count, pearson, kappa = pair_agreement(twice)
        equal = np.mean([x == y for x, y in twice if x and y])
        assert notice == (
            f"{dimension}: two annotators gave {count} outputs equal ratings in {100 * equal:.0f} %, "
            f"r {pearson:.2f}, weighted kappa {kappa:.2f}; noise ceiling of one annotator "
            f"{ceiling(pearson, 1):.2f}.".replace(" 0.", " .")
        )
    for name in ("autojqe", "autojqe:flutec", "autojqe:tecjl"):
        count, pearson, kappa = pair_agreement([r.raters["quality"] for r in load_ratings(name)])
        assert load_benchmark(name).notices[1] == (
            f"agreement of three raters on {count:,} outputs: r {pearson:.2f} and weighted kappa "
            f"{kappa:.2f} per pair; noise ceiling of their mean {ceiling(pearson, 3):.2f}."
        ).replace(" 0.", " .")
    rated = load_ratings("autojqe")
    assert [len(rated), sum("quality" in rating.values for rating in rated)] == [9108, 8954]


def test_halves_of_a_folder_share_no_source_and_stay_as_judgements_are_added(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "mine"
    (folder / "systems").mkdir(parents=True)
    sources = [f"He go {number % 20} ." for number in range(40)]
    write_lines(folder / "source.txt", sources)
    for name in ("X", "Y"):
        write_lines(folder / "systems" / name, [f"{name} {number}" for number in range(40)])
    rows = [f"{number},X,Y,0" for number in range(40)]
    write_lines(folder / "rankings.csv", ["id,better,worse,tie", *rows])
    write_lines(folder / "ratings.csv", ["id,system,fluency", "0,X,1", "1,X,5"])
    dev, test = (load_benchmark(f"{folder}:{part}") for part in ("dev", "test"))
    assert sorted(dev.sources + test.sources) == sorted(sources)
    assert set(dev.sources).isdisjoint(test.sources)
    assert 10 < len(dev.sources) < 30
    assert len(dev.rankings) == len(dev.sources)
    assert dev.name == f"{folder}:dev"
    # The mean rating of the whole is not that of a half.
    assert dev.official == {}
    write_lines(folder / "rankings.csv", ["id,better,worse,tie", *rows[:9]])
    assert load_benchmark(f"{folder}:dev").sources == dev.sources
    with pytest.raises(UnknownNameError, match=r"part of .* is named 'train'"):
        load_benchmark(f"{folder}:train")
