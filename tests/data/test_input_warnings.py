"""What a notice is given of, and of what not."""

from __future__ import annotations

import pytest
from embedded import Sample

from learnedgec import References
from learnedgec.data.input_warnings import alignment_notices, blank_notices, token_notices


def test_blank_hypotheses_are_counted_where_the_source_is_not() -> None:
    sources = ["a", "b", " ", "c"]
    systems = {"one": ["", "b", "", "c"], "two": ["", " ", "", "\t"], "none": ["a", "b", "", "c"]}
    assert blank_notices(sources, systems) == [
        "one: 1 of 4 hypotheses is blank where the source is not (line 1).",
        "two: 3 of 4 hypotheses are blank where the source is not (lines 1, 2, 4).",
    ]
    (notice,) = blank_notices(["a"] * 9, {"x": [""] * 9})
    assert notice.endswith("(lines 1, 2, 3, 4, 5, …).")


def test_a_text_that_is_cut_otherwise_is_named() -> None:
    cut, whole = ["I go .", "Yes !", "no"], ["I go.", "Yes!", "no"]
    systems = {
        "cut": cut, "whole": whole, "mixed": ["I go .", "etc.", "Yes ?"], "none": ["a", "b", "c"],
    }  # fmt: skip
    (notice,) = token_notices(cut, systems, References.from_texts(cut))
    assert notice.startswith('whole: 100 % of sentences end like "school.", in the sources 0 %;')
    notices = token_notices(whole, systems, References.from_texts(cut))
    assert [notice.partition(":")[0] for notice in notices] == ["cut", "mixed", "the references"]
    assert token_notices(cut, {"cut": cut, "none": ["a", "b", "c"]}) == []
    (notice,) = token_notices(whole, {"whole": whole}, References.from_texts(whole))
    assert notice.startswith('no text is tokenised (sentences end like "school.")')


@pytest.mark.parametrize("sources", [["a", "b"], []])
def test_sources_without_full_stops_say_nothing(sources: list[str]) -> None:
    assert token_notices(sources, {"a": ["b"] * len(sources)}) == []
    if sources:
        (notice,) = token_notices(sources, {"x": ["a .", "b ."], "y": ["a.", "b."]})
        assert notice.startswith('y: 100 % of sentences end like "school.", in x 0 %;')


SENTENCES = [f"w{n} x{n} y{n} z{n} the ." for n in range(20)]


def test_a_lost_line_and_another_order_are_noticed() -> None:
    # Line 11 is lost, and a blank line at the end makes up for it.
    lost = [*SENTENCES[:10], *SENTENCES[11:], "The end ."]
    assert alignment_notices(SENTENCES, {"good": SENTENCES, "lost": lost}) == [
        "lost: 9 of 20 hypotheses correct the source of a line nearby, not their own (first in line 11): a "
        "line may be lost or added before it."
    ]
    assert alignment_notices(SENTENCES, {"turned": SENTENCES[::-1]}) == [
        "turned: 90 % of the hypotheses share almost no word with their source: they may belong to other "
        "sources, be in another order, or not be corrections."
    ]


def test_rewritten_short_repeated_and_unspaced_sentences_are_not_noticed() -> None:
    # A quarter is rewritten altogether.
    rewritten = [f"quite other words {n}" if n % 4 == 0 else t for n, t in enumerate(SENTENCES)]
    assert alignment_notices(SENTENCES, {"rewriter": rewritten}) == []
    short = ["Yes .", "No .", "Yes ."] * 3
    assert alignment_notices(short, {"x": ["No .", "Yes .", "No ."] * 3}) == []
    unspaced = ["私は学校に行きたいと思っています。"] * 9
    assert alignment_notices(unspaced, {"x": ["私は学校へ行きたいと思います。"] * 9}) == []


def test_the_notices_are_silent_on_the_sample(sample: Sample) -> None:
    assert alignment_notices(sample.sources, sample.systems) == []
