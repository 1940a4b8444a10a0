from __future__ import annotations

from pathlib import Path

import pytest

from learnedgec.data.catalog import Ranking, load_rankings
from learnedgec.data.catalog.judgements import read_appraise, read_pairs
from learnedgec.errors import FormatError, UnknownNameError


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


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


@pytest.mark.realdata
def test_real_rankings() -> None:
    counts = {name: len(load_rankings(name)) for name in ("seeda:sentence", "seeda:edit", "gjg15")}
    assert counts == {"seeda:sentence": 600, "seeda:edit": 600, "gjg15": 2319}
    # GPT-4's choice, where three systems differ.
    assert len(load_rankings("pillars")) == 2331
    assert {ranking.sentence for ranking in load_rankings("gjg15")} <= set(range(1312))
    with pytest.raises(UnknownNameError, match="did you mean 'seeda:"):
        load_rankings("seeda")
