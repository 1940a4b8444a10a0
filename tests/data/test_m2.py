from __future__ import annotations

import re
from pathlib import Path

import pytest
from embedded import SAMPLE_FOLDER
from hypothesis import given
from hypothesis import strategies as st

from learnedgec.data.m2 import (
    AnnotatedSentence,
    Edit,
    apply_edits,
    parse_m2,
    read_m2,
    write_m2,
)
from learnedgec.data.references import References
from learnedgec.errors import FormatError, InputError, LengthError, TextWarning


def parse(text: str) -> list[AnnotatedSentence]:
    return parse_m2(text.split("\n"))


def test_alternatives_deletions_noop_and_missing_annotators() -> None:
    (block,) = parse(
        "S He go to  school yesterday morning\n"
        "A 1 2|||Vt|||went||had gone|||REQUIRED|||-NONE-|||0\n"
        "A 4 6|||Wci|||yesterday||-NONE-|||REQUIRED|||-NONE-|||0\n"
        "A 0 1|||U:PRON||||||REQUIRED|||-NONE-|||0\n"
        "A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||2\n"
    )
    assert block.source == "He go to  school yesterday morning"
    assert block.annotations == {
        0: (
            Edit(1, 2, "went", "Vt", ("had gone",)),
            Edit(4, 6, "yesterday", "Wci", ("",)),
            Edit(0, 1, "", "U:PRON"),
        ),
        2: (),
    }
    assert block.annotations[0][1].corrections == ("yesterday", "")


def test_a_block_without_annotation_has_one_annotator() -> None:
    assert parse("S a b\n\nS c")[0].annotations == {0: ()}
    assert [block.source for block in parse("S a b\n\nS c\nS \nS")] == ["a b", "c", "", ""]


@pytest.mark.parametrize(
    "edit",
    [
        Edit(0, 1, "||"),
        Edit(0, 1, "|||"),
        Edit(0, 1, "|"),
        Edit(0, 1, "a |"),
        Edit(0, 1, "a ||| b"),
        Edit(0, 1, "-NONE-"),
        Edit(0, 1, "a", alternatives=("b", "c || d")),
        Edit(0, 1, "a", alternatives=("-NONE-",)),
    ],
)
def test_what_m2_cannot_hold_is_not_written(edit: Edit, tmp_path: Path) -> None:
    blocks = [AnnotatedSentence("a", {0: ()}), AnnotatedSentence("a", {0: (), 1: (edit,)})]
    with pytest.raises(
        InputError, match=r"line 2, annotator 1: M2 cannot hold the correction '.*[|-]"
    ):
        write_m2(tmp_path / "edits.m2", blocks)
    assert not (tmp_path / "edits.m2").exists()


@pytest.mark.parametrize("correction", ["a|b", "a -NONE-", "<|>", ""])
def test_other_tokens_come_back(correction: str, tmp_path: Path) -> None:
    block = AnnotatedSentence("a", {0: (Edit(0, 1, correction, "R:OTHER", ("b",)),)})
    write_m2(tmp_path / "edits.m2", [block])
    assert read_m2(tmp_path / "edits.m2") == [block]


@pytest.mark.parametrize("correction", ["|", "||", "|||", "|||x", "x|||y", "x|"])
def test_a_correction_that_the_separators_took_apart_is_refused(correction: str) -> None:
    with pytest.raises(FormatError, match=r"^M2:2: a correction holds `\|`"):
        parse(f"S a b\nA 0 1|||R:OTHER|||{correction}|||REQUIRED|||-NONE-|||0")


def test_writing_is_the_inverse_of_reading(tmp_path: Path) -> None:
    blocks = read_m2(SAMPLE_FOLDER / "gold.m2")
    write_m2(tmp_path / "copy.m2", blocks)
    assert read_m2(tmp_path / "copy.m2") == blocks
    # Trailing blank lines apart, byte for byte.
    original = (SAMPLE_FOLDER / "gold.m2").read_text()
    assert (tmp_path / "copy.m2").read_text().rstrip("\n") == original.rstrip("\n")


words = st.lists(st.sampled_from("abc"), max_size=6)


@given(words, words)
def test_edits_between_two_texts_rebuild_the_second(source: list[str], target: list[str]) -> None:
    from difflib import SequenceMatcher

    edits = [
        Edit(i, j, " ".join(target[k:m]))
        for tag, i, j, k, m in SequenceMatcher(None, source, target, False).get_opcodes()
        if tag != "equal"
    ]
    assert apply_edits(" ".join(source), reversed(edits)) == " ".join(target)


def test_edits_at_one_place_go_in_order_and_do_not_overlap() -> None:
    assert apply_edits("a b", [Edit(1, 1, "x"), Edit(1, 1, "y"), Edit(1, 2, "c")]) == "a x y c"
    with pytest.raises(InputError, match="1:2 overlaps"):
        apply_edits("a b c", [Edit(0, 2, "x"), Edit(1, 2, "y")])
    with pytest.raises(InputError, match="3:4 lies outside the 3 tokens"):
        apply_edits("a b c", [Edit(3, 4, "x")])


def test_references_may_be_missing_but_empty_is_a_reference() -> None:
    references = References.from_texts(["a", None, ""], [None, None, "b"])
    assert [[r.text for r in row] for row in references] == [["a"], [], ["", "b"]]
    assert [[r.annotator for r in row] for row in references] == [[0], [], [0, 1]]
    assert references.select([2, 0]).texts() == [["", "b"], ["a"]]


def test_overlapping_gold_edits_keep_the_first() -> None:
    block = AnnotatedSentence("a b c", {0: (Edit(0, 2, "x"), Edit(1, 3, "y"))})
    (row,) = References.from_annotated([block])
    assert row[0].text == "x c"
    assert row[0].edits == (Edit(0, 2, "x"), Edit(1, 3, "y"))


def test_overlapping_gold_edits_of_a_file_are_counted_in_a_notice(tmp_path: Path) -> None:
    overlapping = (Edit(0, 2, "x", "R"), Edit(1, 3, "y", "R"))
    blocks = [
        AnnotatedSentence("a b", {0: ()}),
        AnnotatedSentence("a b c", {0: (), 1: overlapping}),
    ]
    write_m2(tmp_path / "g.m2", blocks)
    with pytest.warns(TextWarning) as caught:
        references = References.from_m2(tmp_path / "g.m2")
    assert references.texts()[1] == ["a b c", "x c"]
    assert str(caught[0].message) == (
        f"{tmp_path / 'g.m2'}: gold edits left out of the references' texts, because they overlap an earlier "
        "one of their annotator: 1, the first in sentence 2; metrics that compare edits, such as m2 and "
        "errant, count them."
    )


def test_m2_of_other_sentences_is_refused(tmp_path: Path) -> None:
    write_m2(tmp_path / "g.m2", [AnnotatedSentence("a b", {0: ()})])
    with pytest.raises(InputError, match=r"sentence 1 of .*g\.m2 differs from the source"):
        References.from_m2(tmp_path / "g.m2", ["a c"])
    with pytest.raises(LengthError, match=r"the source has 2 .*g\.m2 has 1"):
        References.from_m2(tmp_path / "g.m2", ["a b", "c"])
    # The first tokens that differ are shown.
    long = "How much a genetic change tells us about your chance of developing a disorder"
    write_m2(tmp_path / "long.m2", [AnnotatedSentence(f"{long} is clear .", {0: ()})])
    shown = "'is clear .' against '.';"
    with pytest.raises(InputError, match=re.escape(shown)):
        References.from_m2(tmp_path / "long.m2", [f"{long} ."])
    # Tokens decide, not the spaces between them.
    assert len(References.from_m2(tmp_path / "g.m2", [" a  b"])) == 1
