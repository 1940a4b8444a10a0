from __future__ import annotations

from collections.abc import Callable

import pytest

from learnedgec.data.catalog import load_corrections, load_parallel, read_corrections, sample_folder
from learnedgec.errors import LengthError

PutDataset = Callable[[str, dict[str, str]], None]


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


def test_references_in_text_files(put_dataset: PutDataset) -> None:
    names = ("src", "ref0", "ref1", "ref2", "ref3")
    put_dataset("jfleg", {f"{p}/{p}.{n}": f"{p} {n} .\n\n" for p in ("dev", "test") for n in names})
    data = load_parallel("jfleg:dev")
    assert data.sources == ("dev src .", "")
    assert data.references.texts() == [[f"dev {name} ." for name in names[1:]], [""] * 4]
    both = load_parallel("jfleg")
    assert both.sources == ("dev src .", "", "test src .", "")
    assert both.references[:2] == data.references.rows
    assert both.references[2][3].text == "test ref3 ."


def test_split_sentences(put_dataset: PutDataset) -> None:
    put_dataset("wiki-split", {"tune.tsv": "A b , c d .\tA b . <::::> C d .\n"})
    assert load_parallel("wiki-split:tune").references.texts() == [["A b . C d ."]]


def test_references_of_another_length_are_refused(put_dataset: PutDataset) -> None:
    texts = {f"dev/dev.ref{number}": "A .\n" for number in range(4)}
    put_dataset("jfleg", {"dev/dev.src": "A .\nB .\n", **texts})
    with pytest.raises(LengthError, match="sources has 2 sentences but references has 1"):
        load_parallel("jfleg:dev")


def test_post_edits_are_the_references_of_outputs(put_dataset: PutDataset) -> None:
    files = {
        f"{system}_{what}": f"{system} {what}"
        for system in ("gecpd", "gector")
        for what in ("OP", "EC")
    }
    put_dataset(
        "peet", {f"Dataset/BEA19/{name}.txt": f"{text} .\n" for name, text in files.items()}
    )
    assert load_parallel("peet:gector").sources == ("gector OP .",)
    assert load_parallel("peet:gector").references.texts() == [["gector EC ."]]
    assert load_parallel("peet").sources == ("gecpd OP .", "gector OP .")


def test_a_part_of_bea19_has_its_blocks_and_its_references(put_dataset: PutDataset) -> None:
    blocks = (
        f"S He go {number} .\nA 1 2|||R:VERB|||goes|||REQUIRED|||-NONE-|||0\n"
        "A 1 2|||R:VERB|||went|||REQUIRED|||-NONE-|||3\n\n\n"
        for number in range(260)
    )
    put_dataset("jelv", {"data/train/BEA-dev-expanded.m2": "".join(blocks)})
    dev = load_parallel("jelv:dev")
    assert dev.sources == tuple(f"He go {number} ." for number in range(200, 250))
    assert dev.references.texts()[0] == ["He goes 200 .", "He went 200 ."]
    assert len(load_parallel("jelv").sources) == 260
    assert len(load_parallel("jelv:train").sources) == 210


def test_the_corrections_of_the_sample_are_its_gold_edits() -> None:
    assert load_corrections("sample") == read_corrections(sample_folder() / "gold.m2")


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
        ("pillars", 4384, 4384),
        ("pillars:train", 3100, 3100),
        ("pillars:dev", 650, 650),
        ("pillars:test", 634, 634),
        ("jelv", 4384, 17896),
        ("jelv:test", 634, 2674),
        ("peet:gecpd", 4477, 4477),
        ("peet:gector", 4477, 4477),
    ],
)
def test_real_parallel(name: str, sentences: int, references: int) -> None:
    data = load_parallel(name)
    assert len(data.sources) == sentences
    assert sum(len(row) for row in data.references) == references


@pytest.mark.realdata
@pytest.mark.usefixtures("mirror")
def test_real_references_of_bea19_hold_the_gold_one() -> None:
    gold, more = load_parallel("pillars"), load_parallel("jelv")
    assert gold.sources == more.sources
    found = zip(gold.references, more.references, strict=True)
    assert sum(row[0].text in {other.text for other in others} for row, others in found) == 4382
