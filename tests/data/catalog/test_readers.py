"""What is read of each dataset: of a small copy exactly, of the real files by their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from learnedgec.data.catalog import (
    Labelled,
    Parallel,
    Rating,
    load_cases,
    load_corrections,
    load_labelled,
    load_outputs,
    load_parallel,
    load_rankings,
    load_ratings,
    load_sentences,
)
from learnedgec.data.catalog.parallel import read_fce
from learnedgec.data.m2 import apply_edits
from learnedgec.errors import InputError, LengthError

PutDataset = Callable[[str, dict[str, str]], None]

TMU = """source,output,grammer,fluency,meaning,system,ave_g,ave_f,ave_m
S b .,"S, b .","3,4","2,2","0,4","lstm,cnn",3.5,2.0,4.0
"""
GUG = """Id\tSentence\tExpert Judgement\tCrowd Flower Judgements\tAverage\tDataset\r
1\t"A ""b"" c."\t3\t[3, 4]\t3.33\ttrain\r
2\tD.\t0\t[0]\t0\tnone\r
3\tE.\t1\t[1, 1]\t1.0\ttest\r
"""
LAU_HEADER = "ID,translated,source-language,sentence,context,full-ratings,mean-ratings\n"
TREEBANK = [
    "# text = I don't.", "1\tI\ti\tPRON\t_", "2-3\tdon't\t_\t_\t_",
    "2\tdo\tdo\tAUX\t_", "3\tn't\tnot\tPART\t_", "3.1\tgo\tgo\tVERB\t_", "4\t.\t.\tPUNCT\t_", "",
    "1\tYes\tyes\tINTJ\t_", "",
]  # fmt: skip

FCE = (
    r'{"text": "He go home.\n\nI can’t", "edits": [[0, [[3, 5, "goes", "AGV"], [6, 6, "back", "M"], '
    r"""[15, 20, "couldn't", "TV"], [0, 2, null, "R"]]]]}"""
)

FILES: dict[str, dict[str, str]] = {
    "tmu-gfm": {"tmu-gfm-dataset.csv": TMU},
    "gug": {"gug_annotations.tsv": GUG},
    "sts": {"data/sts/semeval-sts/2012/MSRpar.train.tsv": '4.5\t"A" b.\tC.\n\tD.\tE.\n'},
    "lau": {
        f"human-ratings/context-{part}-ratings.csv": f'{LAU_HEADER}1,0,en,"a, b",x,"4,{rating}",{mean}\n'
        for part, rating, mean in (("none", 2, 3.0), ("random", 4, 4.0), ("real", 1, 2.5))
    },
    "ud-ewt": {"en_ewt-ud-dev.conllu": "\n".join(TREEBANK)},
    "wiki-split": {
        f"{part}.tsv": "A b , c d .\tA b . <::::> C d .\n"
        for part in ("tune", "validation", "test")
    },
    # A space is a token of its own, and is removed.
    "eracond": {
        "data/1/m2/10.m2": "S Hi\nA -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0\n",
        "data/1/m2/2.m2": "S it is   bad\nA 2 3|||U:SPACE||||||3|||-NONE-|||0\n"
        "A 4 4|||M:PUNCT|||.|||1|||-NONE-|||0\n",
        "data/1/m2/3.m2": "",
    },
    "multiged": {
        "english/en_realec_dev.tsv": "He\tc\ngo\ti\n\nFine\tc\n\n",
        "english/en_fce_dev.tsv": "He\tc\ngo\ti\nhome\tc\n.\tc\n\nI\tc\nca\tc\nn't\tc\n",
    },
    "fce": {"data/fce/json/fce-dev.json": FCE},
    "conll14": {
        "data/source": "He go .\nFine .\n",
        "data/reference.m2": "S He go .\nA 1 2|||Vform|||goes|||REQUIRED|||-NONE-|||1\n\nS Fine .\n\n",
    },
    "jfleg": {
        f"{part}/{part}.{name}": f"{part} {name} .\n\n"
        for part in ("dev", "test")
        for name in ("src", "ref0", "ref1", "ref2", "ref3")
    },
    "peet": {
        f"Dataset/BEA19/{system}_{kind}.txt": f"{system} {kind} .\n"
        for system in ("gecpd", "gector")
        for kind in ("OP", "EC")
    },
    "gjg15": {
        "data/original/official_submissions/INPUT": "A  b .  \r\n \r\n",
        "data/original/official_submissions/AMU": "A b .\nC\n",
    },
    "attack": {
        "experiments/attack_results/conll14-some.txt": "A .\n",
        "experiments/attack_results/bea19-dev-some.txt": "B .\n",
    },
}
JFLEG_DEV = (("dev src .", ""), [[f"dev ref{number} ." for number in range(4)], [""] * 4])


def rated(dimension: str, hypothesis: str, value: float, *raters: float) -> Rating:
    """Return a rating on one dimension, of a sentence without a source."""
    by_rater = {dimension: raters} if raters else {}
    return Rating("", hypothesis, {dimension: value}, "", hypothesis, by_rater)


GUG_TRAIN = rated("grammaticality", 'A "b" c.', 3.33, 3, 3, 4)
GUG_TEST = rated("grammaticality", "E.", 1.0, 1, 1, 1)
# A sentence is one group in every context.
LAU = [rated("fluency", "a, b", mean, 4, rating) for mean, rating in ((3.0, 2), (4.0, 4), (2.5, 1))]
TMU_MEANS = {"grammaticality": 3.5, "fluency": 2.0, "meaning": 4.0}
TMU_RATERS = {"grammaticality": (3, 4), "fluency": (2, 2), "meaning": (0, 4)}
STS = Rating('"A" b.', "C.", {"meaning": 4.5}, "2012/MSRpar.train", '"A" b.')


@pytest.mark.parametrize(
    ("load", "name", "expected"),
    [
        (load_ratings, "tmu-gfm", [Rating("S b .", "S, b .", TMU_MEANS, "lstm,cnn", "S b .", TMU_RATERS)]),
        (load_ratings, "gug:train", [GUG_TRAIN]),
        (load_ratings, "gug:dev", []),
        # Sentences that no rater could judge belong to no split.
        (load_ratings, "gug", [GUG_TRAIN, GUG_TEST]),
        # Pairs without a score are left out.
        (load_ratings, "sts:2012/MSRpar.train", [STS]),
        (load_ratings, "lau", LAU),
        (load_sentences, "ud-ewt:dev", ["I do n't .", "Yes"]),
        (load_sentences, "wiki-split:tune", ["A b , c d ."]),
        (load_sentences, "wiki-split", 3 * ["A b , c d ."]),
        (load_sentences, "wiki-split:short", 3 * ["A b .", "C d ."]),
        (load_parallel, "eracond", (("it is bad", "Hi"), [["it is bad ."], ["Hi"]])),
        (load_labelled, "multiged:realec", [Labelled("He go", (False, True)), Labelled("Fine", (False,))]),
        (load_parallel, "wiki-split:tune", (("A b , c d .",), [["A b . C d ."]])),
        (load_parallel, "conll14", (("He go .", "Fine ."), [["He goes ."], ["Fine ."]])),
        (load_parallel, "jfleg:dev", JFLEG_DEV),
        (load_parallel, "peet:gector", (("gector OP .",), [["gector EC ."]])),
        (load_parallel, "peet", (("gecpd OP .", "gector OP ."), [["gecpd EC ."], ["gector EC ."]])),
        # White space is normalised.
        (load_outputs, "gjg15", {"AMU": ("A b .", "C"), "INPUT": ("A b .", "")}),
        # Attacks are named after the metric.
        (load_outputs, "attack:conll14", {"some": ("A .",)}),
        (load_outputs, "attack", {"some": ("A .", "B .")}),
    ],
)  # fmt: skip
def test_a_small_copy(
    put_dataset: PutDataset, load: Callable[[str], Any], name: str, expected: object
) -> None:
    dataset = name.partition(":")[0]
    put_dataset(dataset, FILES[dataset])
    data = load(name)
    if isinstance(data, Parallel):
        data = (data.sources, data.references.texts())
    assert data == expected


def test_parts_that_do_not_fit_are_refused(put_dataset: PutDataset) -> None:
    put_dataset("jfleg", {**FILES["jfleg"], "dev/dev.src": "A .\nB .\nC .\n"})
    with pytest.raises(LengthError, match="sources has 3 sentences but references has 2"):
        load_parallel("jfleg:dev")
    folder = "experiments/attack_results"
    put_dataset(
        "attack", {f"{folder}/conll14-some.txt": "A .\n", f"{folder}/bea19-dev-impara.txt": "B .\n"}
    )
    with pytest.raises(InputError, match=r"different systems \(some; impara\); name one part"):
        load_outputs("attack")


def test_edits_of_characters_become_edits_of_tokens(put_dataset: PutDataset) -> None:
    for name in ("fce", "multiged"):
        put_dataset(name, FILES[name])
    corrected = [apply_edits(row.source, row.annotations[0]) for row in read_fce("dev")]
    assert corrected == ["He goes back home .", "I could n't"]


def test_cases_follow_their_sentence_into_its_part_of_bea19(put_dataset: PutDataset) -> None:
    sources = [f"{number} ." for number in range(400)]
    # A sentence in two parts is kept out of the one that is learned from.
    sources[3] = sources[210] = sources[360]
    texts = ["0 .", "200 .", sources[3], "359 ."]
    labels = ("A1-S", "A1-T", "A2-S", "A2-T")
    blocks = [[f"O-S {text}", "O-T", *labels] for text in texts]
    lines = "\n".join(line for block in blocks for line in block)
    put_dataset("robustgec", {"benchmark/bea19/para.txt": lines})
    put_dataset("pillars", {"data/evaluation_sets/bea-dev.txt": "\n".join(sources) + "\n"})
    parts = {p: load_cases(f"robustgec:bea19/{p}") for p in ("train", "dev", "test")}
    sentences = {part: [c.original.source for c in cases] for part, cases in parts.items()}
    assert sentences == {"train": ["0 ."], "dev": ["200 ."], "test": [sources[3], "359 ."]}
    assert [case.original.source for case in load_cases("robustgec:bea19")] == texts
    assert [row.group for row in load_corrections("robustgec:bea19/dev")] == ["200 ."] * 3


# -- the real data ----------------------------------------------------------------------------


def size(data: Any) -> Any:
    """Return how many sentences and references there are, systems and outputs of each, or items."""
    if isinstance(data, Parallel):
        return len(data.sources), sum(len(row) for row in data.references)
    if isinstance(data, dict):
        (sentences,) = {len(lines) for lines in data.values()}
        return len(data), sentences
    return len(data)


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("load", "sizes"),
    [
        (load_parallel, {
            "conll14": (1312, 2 * 1088 + 224), "reassess": (1312, 8 * 1312), "jfleg:dev": (754, 4 * 754),
            "jfleg:test": (747, 4 * 747), "gmeg:fce": (968, 4 * 968), "gmeg:wiki": (992, 4 * 992),
            "wiki-split:test": (5000, 5000), "pillars": (4384, 4384), "pillars:train": (3100, 3100),
            "pillars:dev": (650, 650), "pillars:test": (634, 634), "jelv": (4384, 17896),
            "jelv:test": (634, 2674), "peet:gecpd": (4477, 4477), "peet:gector": (4477, 4477),
            "eracond": (1725, 2017), "wi-locness:train": (34221, 34221), "wi-locness:dev/dev": (650, 650),
            "fce:dev": (2027, 2027),
        }),
        (load_outputs, {
            "seeda": (15, 1312), "seeda:subset": (15, 391), "gjg15": (13, 1312), "cleme": (13, 1312),
            "gmeg:fce": (7, 968), "gmeg:wiki": (7, 992), "attack:conll14": (4, 1312),
            "attack:bea19-dev": (4, 4384), "pillars": (15, 4384), "pillars:dev/single": (7, 650),
            "pillars:test/ensemble": (8, 634),
        }),
        # GPT-4's choice, where three systems differ.
        (load_rankings, {"seeda:sentence": 600, "seeda:edit": 600, "gjg15": 2319, "pillars": 2331}),
        (load_cases, {
            "robustgec:bea19": 2503, "robustgec:conll14": 1312, "robustgec:tem8": 1181,
            "robustgec": 2503 + 1312 + 1181,
        }),
        (load_sentences, {"ud-ewt:train": 12544, "ud-ewt:dev": 2001}),
        (load_labelled, {"multiged:realec": 4067}),
    ],
)  # fmt: skip
def test_real_sizes(load: Callable[[str], Any], sizes: dict[str, Any]) -> None:
    assert {name: size(load(name)) for name in sizes} == sizes


@pytest.mark.realdata
def test_real_parts_of_bea19_share_no_sentence() -> None:
    parts = [load_cases(f"robustgec:bea19/{part}") for part in ("train", "dev", "test")]
    assert [len(cases) for cases in parts] == [1749, 383, 371]
    whole = load_cases("robustgec:bea19")
    assert Counter(case for cases in parts for case in cases) == Counter(whole)
    learned = {case.original.source for case in parts[0]}
    for part in ("dev", "test"):
        assert learned.isdisjoint(load_parallel(f"pillars:{part}").sources)


@pytest.mark.realdata
def test_real_datasets_agree() -> None:
    sources = load_parallel("conll14").sources
    assert load_outputs("gjg15")["INPUT"] == sources
    assert load_outputs("seeda")["INPUT"] == sources
    # The edits of CLEME's demonstration make the outputs of GJG15.
    assert load_outputs("cleme") == load_outputs("gjg15")
    assert load_parallel("cleme").sources == sources
    assert {ranking.sentence for ranking in load_rankings("gjg15")} <= set(range(len(sources)))
    originals = [case.original.source for case in load_cases("robustgec:conll14")]
    assert len([source for source in originals if source in set(sources)]) == 1306
    gold, more = load_parallel("pillars"), load_parallel("jelv")
    assert gold.sources == more.sources
    rows = zip(gold.references.texts(), more.references.texts(), strict=True)
    assert sum(row[0] in texts for row, texts in rows) == 4382
    assert load_sentences("ud-ewt:dev")[0] == "From the AP comes this story :"
    assert sum(sum(row.wrong) for row in load_labelled("multiged:realec")) == 8103


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "count", "groups", "means"),
    [
        ("tmu-gfm", 4221, 1378, {"grammaticality": 3.197939, "fluency": 3.088415, "meaning": 3.445080}),
        ("gug:train", 1518, 1518, {"grammaticality": 2.999780}),
        ("gug:dev", 747, 747, {"grammaticality": 3.075413}),
        ("gug:test", 754, 754, {"grammaticality": 3.052608}),
        ("gug", 3019, 3019, {"grammaticality": 3.031688}),
        ("sts:2012/MSRpar.train", 750, 750, {"meaning": 3.322064}),
        ("sts", 13278, 10799, {"meaning": 2.933725}),
        ("lau:none", 250, 250, {"fluency": 2.775233}),
        ("lau", 750, 250, {"fluency": 2.809701}),
    ],
)  # fmt: skip
def test_real_ratings(name: str, count: int, groups: int, means: dict[str, float]) -> None:
    ratings = load_ratings(name)
    assert len(ratings) == count
    assert len({rating.group for rating in ratings}) == groups
    for dimension, mean in means.items():
        values = [rating.values[dimension] for rating in ratings]
        assert sum(values) / count == pytest.approx(mean, abs=1e-6)
