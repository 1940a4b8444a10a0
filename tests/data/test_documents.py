"""Documents: essays and lines as units that a source and its corrections have in common."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from embedded import SAMPLE_FOLDER

from learnedgec.data.documents import align, align_documents, language_of, read_documents
from learnedgec.data.text import read_lines
from learnedgec.errors import InputError

ESSAYS = SAMPLE_FOLDER / "essays"


def essays(name: str) -> dict[str, list[str]]:
    return read_documents(ESSAYS / f"{name}.md", language_of(ESSAYS / f"{name}.md"))


def test_a_file_of_essays_in_the_layout_of_multigec() -> None:
    assert essays("de-sample-orig-dev") == {
        "a1": [
            "Gestern ich habe meine Oma besucht .",
            "Sie wohnt in ein kleines Dorf .",
            "Weil es dort ruhig ist .",
        ],
        "a2": [
            "Liebe Anna ,",
            "ich danke dir für deinen Brief ich habe mich sehr gefreut .",
            "Viele Grüsse",
        ],
    }
    # A heading and a title are no sentences' ends, and an abbreviation is none in its language.
    first, second = essays("en-sample-orig-dev").values()
    assert first[0] == "My weekend"
    assert second[0] == "Dear Mr. Brown ,"


def test_blank_lines_divide_lines_into_documents(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("\nA  b .\nC .\n\n\nD.\r\n")
    assert read_documents(path) == {"1": ["A  b .", "C ."], "2": ["D."]}


def test_units_are_common_to_all_texts() -> None:
    source = essays("en-sample-orig-dev")
    corpus = align_documents(
        source,
        {"ours": essays("en-sample-hypo1-dev"), "source": source},
        [essays("en-sample-ref1-dev"), essays("en-sample-ref2-dev")],
        language="en",
    )
    assert corpus.documents == ("1", "1", "1", "1", "2", "2", "2", "2")
    # The first reference joins two sentences, and so does the unit of each system.
    assert corpus.sources[2] == "We was swimming . And we eat ice cream ."
    assert corpus.systems["ours"][2] == "We were swimming . And we ate ice cream ."
    assert corpus.systems["source"] == corpus.sources
    # The second annotator corrected the second essay alone.
    assert corpus.references is not None
    assert [len(row) for row in corpus.references] == [1] * 4 + [2] * 4
    assert corpus.references[2][0].text == "We were swimming , and we ate ice cream ."
    assert (
        corpus.references[3][0].text
        == "The weather was very hot . It was the best day of the month ."
    )
    assert corpus.context(4) == ("", corpus.sources[5])


def test_joined_and_divided_sentences_are_found_again() -> None:
    """Joins a fifth of the pairs of the sample's sentences in the correction or in the source."""
    draw = random.Random(1)
    lines = list(
        zip(*(read_lines(SAMPLE_FOLDER / f"{n}.txt") for n in ("source", "ref1")), strict=True)
    )
    for start in range(0, len(lines), 12):
        block, source, other, expected = lines[start : start + 12], list[str](), list[str](), []
        while block:
            (first, corrected), kind = block.pop(0), draw.random()
            one, others = [first], [corrected]
            if kind < 0.4 and block:
                after, corrected_after = block.pop(0)
                joined = kind < 0.2
                one = [first, after] if joined else [f"{first.rstrip(' .')} {after}"]
                both = [corrected, corrected_after]
                others = [f"{corrected.rstrip(' .')} , and {corrected_after}"] if joined else both
            source += one
            other += others
            expected.append((len(one), len(others)))
        assert align(source, other) == expected


@pytest.mark.parametrize(
    ("source", "other"),
    [
        ([], ["Added ."]),
        (["A b .", "C d ."], []),
        (["A b c ."], ["Before .", "A b c .", "After .", "Then ."]),
        (["x"] * 30, ["x", "y"]),
    ],
)
def test_no_text_is_dropped(source: list[str], other: list[str]) -> None:
    corpus = align_documents({"1": source}, {"ours": {"1": other}})
    assert " ".join(corpus.sources).split() == " ".join(source).split()
    assert " ".join(corpus.systems["ours"]).split() == " ".join(other).split()


def test_a_system_needs_every_document() -> None:
    with pytest.raises(InputError, match="ours lacks the document '2' of the source"):
        align_documents({"1": ["A"], "2": ["B"]}, {"ours": {"1": ["A"]}})
