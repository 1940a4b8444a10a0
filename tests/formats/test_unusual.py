"""What a notice is given of, and of what not."""

from __future__ import annotations

import pytest

from learnedgec import References
from learnedgec.formats.unusual import blank_notices, token_notices


def test_blank_hypotheses_are_counted_where_the_source_is_not() -> None:
    sources = ["a", "b", " ", "c"]
    systems = {"one": ["", "b", "", "c"], "two": ["", " ", "", "\t"], "none": ["a", "b", "", "c"]}
    assert blank_notices(sources, systems) == [
        "one: 1 of 4 hypotheses is blank where the source is not (line 1).",
        "two: 3 of 4 hypotheses are blank where the source is not (lines 1, 2, 4).",
    ]
    (found,) = blank_notices(["a"] * 9, {"x": [""] * 9})
    assert found.endswith("(lines 1, 2, 3, 4, 5, …).")


def test_a_text_that_is_cut_otherwise_is_named() -> None:
    cut, whole, mixed = (
        ["I go .", "Yes !", "no"],
        ["I go.", "Yes!", "no"],
        ["I go .", "etc.", "Yes ?"],
    )
    systems = {"cut": cut, "whole": whole, "mixed": mixed, "none": ["a", "b", "c"]}
    (found,) = token_notices(cut, systems, References.from_texts(cut))
    assert found == (
        'whole: 100 % of sentences end like "school.", in the sources 0 %; metrics compare tokens, and take '
        "every such full stop for an edit: cut all alike with tokenise='spacy'."
    )
    named = [
        each.partition(":")[0] for each in token_notices(whole, systems, References.from_texts(cut))
    ]
    assert named == ["cut", "mixed", "the references"]
    assert token_notices(cut, {"cut": cut, "none": ["a", "b", "c"]}) == []
    (found,) = token_notices(whole, {"whole": whole}, References.from_texts(whole))
    assert found == (
        'no text is cut into tokens (sentences end like "school."), so metrics that compare tokens take a '
        "word and its full stop for one: cut all, as for English, with tokenise='spacy'."
    )


@pytest.mark.parametrize("sources", [["a", "b"], []])
def test_sources_without_full_stops_say_nothing(sources: list[str]) -> None:
    assert token_notices(sources, {"a": ["b"] * len(sources)}) == []
    if sources:
        (found,) = token_notices(sources, {"x": ["a .", "b ."], "y": ["a.", "b."]})
        assert found.startswith('y: 100 % of sentences end like "school.", in x 0 %;')
