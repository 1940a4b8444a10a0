from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from learnedgec.catalog import (
    Case,
    Pair,
    Ranking,
    load_cases,
    load_outputs,
    load_parallel,
    load_sentences,
    read_appraise,
    read_cases,
    read_pairs,
    write_cases,
)
from learnedgec.errors import FormatError, InputError, LengthError, UnknownNameError

PutDataset = Callable[[str, dict[str, str]], None]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# -- parallel ---------------------------------------------------------------------------------


def test_conll14_has_gold_edits(put_dataset: PutDataset) -> None:
    put_dataset(
        "conll14",
        {
            "data/source": "He go .\nFine .\n",
            "data/reference.m2": "S He go .\nA 1 2|||Vform|||goes|||REQUIRED|||-NONE-|||1\n\nS Fine .\n\n",
        },
    )
    data = load_parallel("conll14")
    assert data.sources == ("He go .", "Fine .")
    assert data.references.texts() == [["He goes ."], ["Fine ."]]
    assert [row[0].annotator for row in data.references] == [1, 0]
    assert data.references[0][0].edits is not None
    assert data.references[0][0].edits[0].type == "Vform"


def test_texts_and_split_sentences(put_dataset: PutDataset) -> None:
    names = ("src", "ref0", "ref1", "ref2", "ref3")
    put_dataset("jfleg", {f"dev/dev.{name}": f"{name} .\n\n" for name in names})
    data = load_parallel("jfleg:dev")
    assert data.sources == ("src .", "")
    assert data.references.texts() == [["ref0 .", "ref1 .", "ref2 .", "ref3 ."], [""] * 4]
    put_dataset("wiki-split", {"tune.tsv": "A b , c d .\tA b . <::::> C d .\n"})
    assert load_parallel("wiki-split:tune").references.texts() == [["A b . C d ."]]
    assert load_sentences("wiki-split:tune") == ["A b , c d ."]


def test_references_of_another_length_are_refused(put_dataset: PutDataset) -> None:
    texts = {f"dev/dev.ref{number}": "A .\n" for number in range(4)}
    put_dataset("jfleg", {"dev/dev.src": "A .\nB .\n", **texts})
    with pytest.raises(LengthError, match="sources has 2 sentences but references has 1"):
        load_parallel("jfleg:dev")


# -- outputs ----------------------------------------------------------------------------------


def test_gjg15_outputs_have_single_spaces(put_dataset: PutDataset) -> None:
    folder = "data/original/official_submissions"
    put_dataset("gjg15", {f"{folder}/INPUT": "A  b .  \r\n \r\n", f"{folder}/AMU": "A b .\nC\n"})
    assert load_outputs("gjg15") == {"AMU": ("A b .", "C"), "INPUT": ("A b .", "")}


def test_attack_outputs_are_named_after_the_metric(put_dataset: PutDataset) -> None:
    folder = "experiments/attack_results"
    put_dataset(
        "attack", {f"{folder}/conll14-some.txt": "A .\n", f"{folder}/bea19-dev-some.txt": "B .\n"}
    )
    assert load_outputs("attack:conll14") == {"some": ("A .",)}
    assert load_outputs("attack:bea19-dev") == {"some": ("B .",)}


# -- robustness cases -------------------------------------------------------------------------

LABELS = ("O", "A1", "A2", "A3", "A4", "A5")
BLOCK = "".join(f"{label}-S {label} go .\n{label}-T\n" for label in LABELS)


def test_cases(tmp_path: Path) -> None:
    file = write(tmp_path / "para.txt", f"{BLOCK}\n{BLOCK}\n")
    case = Case(Pair("O go .", ""), tuple(Pair(f"A{n} go .", "") for n in range(1, 6)))
    assert read_cases(file) == [case, case]
    assert read_cases(write(tmp_path / "joined.txt", BLOCK + BLOCK)) == [case, case]
    assert [pair.source for pair in case.pairs] == ["O go .", *(f"A{n} go ." for n in range(1, 6))]


@pytest.mark.parametrize("name", ["para.txt", "cases.jsonl", "cases.jsonl.gz"])
def test_cases_with_another_number_of_variants_are_written_and_read(
    tmp_path: Path, name: str
) -> None:
    pair = Pair("He go “ home ” .", "He goes “ home ” .")
    cases = [Case(pair, (Pair("", "She goes ."), pair)), Case(pair, (pair, pair))]
    write_cases(tmp_path / name, cases)
    assert read_cases(tmp_path / name) == cases


def test_cases_with_different_numbers_of_variants_are_no_blocks(tmp_path: Path) -> None:
    pair = Pair("a", "b")
    cases = [Case(pair, (pair,)), Case(pair, (pair, pair))]
    write_cases(tmp_path / "cases.jsonl", cases)
    assert read_cases(tmp_path / "cases.jsonl") == cases
    with pytest.raises(InputError, match="cases with 1 and 2 variants"):
        write_cases(tmp_path / "para.txt", cases)
    assert not (tmp_path / "para.txt").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"source": "a", "target": "b"}', "1: the key 'variants' is missing"),
        ('{"source": "a", "target": "b", "variants": []}', "with a variant or more"),
        ('{"source": "a", "target": "b", "variants": ["a"]}', "texts on one line"),
        ('{"source": "a", "target": 1, "variants": [{"source": "a", "target": "b"}]}', "texts on"),
        (
            r'{"source": "a\n", "target": "b", "variants": [{"source": "a", "target": "b"}]}',
            "texts on",
        ),
    ],
)
def test_bad_objects_name_the_line(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_cases(write(tmp_path / "cases.jsonl", line + "\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BLOCK.replace("A2-S", "A3-S"), r"para\.txt:5: a line starting with 'A2-S'"),
        (BLOCK.replace("A5-T\n", ""), "the block before this line ends before its 'A5-T' line"),
        (BLOCK.replace("A1-T\n", "A1-T\n\n"), r"para\.txt:6: a line starting with 'O-S'"),
        (BLOCK + BLOCK[: BLOCK.index("A4")], r"para\.txt:21: the block .* before its 'A4-S' line"),
        (BLOCK[: BLOCK.index("A1-S")], "ends before its 'A1-S' line"),
        ("\n", "there is no case"),
    ],
)
def test_bad_cases_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_cases(write(tmp_path / "para.txt", text))


# -- sentences --------------------------------------------------------------------------------


def test_treebank_words(put_dataset: PutDataset) -> None:
    rows = [
        "# text = I don't.", "1\tI\tX", "2-3\tdon't\t_", "2\tdo\tX", "3\tn't\tX", "3.1\tgo\tX",
        "4\t.\tX", "", "1\tYes\tX", "",
    ]  # fmt: skip
    put_dataset("ud-ewt", {"en_ewt-ud-dev.conllu": "\n".join(rows)})
    assert load_sentences("ud-ewt:dev") == ["I do n't .", "Yes"]


# -- judgements -------------------------------------------------------------------------------


def test_appraise_keeps_the_order_and_splits_shared_outputs(tmp_path: Path) -> None:
    file = write(
        tmp_path / "j.xml",
        '<a><b><ranking-item src-id="12" user="u"><translation rank="2" system="T5 PIE"/>'
        '<translation system="BART" rank="1"/></ranking-item></b></a>',
    )
    rankings = read_appraise(file, first=1)
    assert rankings == [Ranking(11, {"T5": 2, "PIE": 2, "BART": 1}, "u")]
    assert list(rankings[0].ranks) == ["T5", "PIE", "BART"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<a>\n<b></a>", r"j\.xml:2: not XML"),
        ("<a/>", "no ranking-item"),
        ('<a><ranking-item user="u"/></a>', "ranking-item 1 cannot be read"),
        (
            '<a><ranking-item src-id="1"><translation rank="x" system="A"/></ranking-item></a>',
            "item 1",
        ),
    ],
)
def test_bad_appraise(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_appraise(write(tmp_path / "j.xml", text))


def test_pairs(tmp_path: Path) -> None:
    file = write(tmp_path / "p.csv", "id,better,worse,tie,annotator\n1,X,Y,0,me\n0,Y,X,1,\n")
    assert read_pairs(file, 2) == [Ranking(1, {"X": 1, "Y": 2}, "me"), Ranking(0, {"Y": 1, "X": 1})]


@pytest.mark.parametrize("row", ["2,X,Y,0", "-1,X,Y,0", "0,X,X,0", "0,X,Y,2", "0,X,Y"])
def test_bad_pairs_name_the_line(tmp_path: Path, row: str) -> None:
    with pytest.raises(FormatError, match=r"p\.csv:2"):
        read_pairs(write(tmp_path / "p.csv", f"id,better,worse,tie\n{row}\n"), 2)


@pytest.mark.parametrize(
    ("load", "name", "near"),
    [
        (load_parallel, "jfleg:tets", "jfleg:test"),
        (load_outputs, "seda", "seeda"),
        (load_cases, "robustgec:tem", "robustgec:tem8"),
        (load_sentences, "ud-ewt:dv", "ud-ewt:dev"),
    ],
)
def test_unknown_names_suggest(load: Callable[[str], object], name: str, near: str) -> None:
    with pytest.raises(UnknownNameError, match=f"did you mean '{near}'"):
        load(name)


# -- the real data ----------------------------------------------------------------------------


@pytest.mark.realdata
@pytest.mark.usefixtures("mirror")
@pytest.mark.parametrize(
    ("name", "sentences", "references"),
    [
        ("conll14", 1312, 2 * 1088 + 224),
        ("reassess", 1312, 8 * 1312),
        ("jfleg:dev", 754, 4 * 754),
        ("jfleg:test", 747, 4 * 747),
        ("gmeg:fce", 968, 4 * 968),
        ("gmeg:wiki", 992, 4 * 992),
        ("wiki-split:test", 5000, 5000),
    ],
)
def test_real_parallel(name: str, sentences: int, references: int) -> None:
    data = load_parallel(name)
    assert len(data.sources) == sentences
    assert sum(len(row) for row in data.references) == references


@pytest.mark.realdata
@pytest.mark.usefixtures("mirror")
@pytest.mark.parametrize(
    ("name", "systems", "sentences"),
    [
        ("seeda", 15, 1312),
        ("seeda:subset", 15, 391),
        ("gjg15", 13, 1312),
        ("gmeg:fce", 7, 968),
        ("gmeg:wiki", 7, 992),
        ("attack:conll14", 4, 1312),
        ("attack:bea19-dev", 4, 4384),
    ],
)
def test_real_outputs(name: str, systems: int, sentences: int) -> None:
    outputs = load_outputs(name)
    assert len(outputs) == systems
    assert {len(lines) for lines in outputs.values()} == {sentences}


@pytest.mark.realdata
@pytest.mark.usefixtures("mirror")
def test_real_input_is_the_source() -> None:
    sources = load_parallel("conll14").sources
    assert load_outputs("gjg15")["INPUT"] == sources
    assert load_outputs("seeda")["INPUT"] == sources


@pytest.mark.realdata
@pytest.mark.usefixtures("mirror")
def test_real_cases_and_sentences() -> None:
    counts = {name: len(load_cases(f"robustgec:{name}")) for name in ("bea19", "conll14", "tem8")}
    assert counts == {"bea19": 2503, "conll14": 1312, "tem8": 1181}
    sources = set(load_parallel("conll14").sources)
    originals = [case.original.source for case in load_cases("robustgec:conll14")]
    assert sum(source in sources for source in originals) == 1306
    assert len(load_sentences("ud-ewt:train")) == 12544
    assert len(load_sentences("ud-ewt:dev")) == 2001
    assert load_sentences("ud-ewt:dev")[0] == "From the AP comes this story :"
