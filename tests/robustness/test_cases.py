"""How variants differ from their originals, and which kinds they form."""

from __future__ import annotations

import pytest

from learnedgec.data.catalog import Case, Pair
from learnedgec.robustness.cases import (
    ContextChange,
    arrange_cases,
    case_statistics,
    describe_changes,
    group_variants,
)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("He go to the new old school .", ContextChange("insert", 2, 2, ())),
        ("He go to the school .", ContextChange("delete", 2, 2, ())),
        ("He go to the tiny school .", ContextChange("substitute", 2, 2, ("tiny",))),
        ("He go to the very tiny school .", ContextChange("substitute", 2, 2, ("very", "tiny"))),
        ("Tom go to the old school .", ContextChange("substitute", 0, 0, ("Tom",))),
        ("Tom go to the school .", ContextChange("mixed", None, 0, ("Tom",))),
        ("He go to the old school today !", ContextChange("substitute", 4, 4, ("today", "!"))),
        ("He go to the old school .", ContextChange("none", None, None, ())),
        ("He  go to the old school .", ContextChange("none", None, None, ())),
    ],
)
def test_action_distance_and_words(source: str, expected: ContextChange) -> None:
    original = Pair("He go to the old school .", "He goes to the old school .")
    (change,) = describe_changes(Case(original, (Pair(source, "any"),)))
    assert change == expected


def test_distance_counts_from_the_nearest_error_and_needs_one() -> None:
    right = Pair("He goes home now .", "He goes home now .")
    (change,) = describe_changes(Case(right, (Pair("He goes home late .", ""),)))
    assert change == ContextChange("substitute", None, None, ("late",))
    # Errors: `go` at 1, and a missing `the` before 5; `old` is the token before it.
    wrong = Pair("He go to his old school in city .", "He goes to his old school in the city .")
    (change,) = describe_changes(Case(wrong, (Pair("He go to his new school in city .", ""),)))
    assert (change.distance, change.nearest) == (None, 2)


def test_groups() -> None:
    changes = [
        (
            ContextChange("substitute", None, 0, ("cat", "Rare")),
            ContextChange("insert", 12, 12, ()),
        ),
        (ContextChange("none", None, None, ()), ContextChange("substitute", 3, 3, ("Cat",))),
    ]
    assert group_variants(changes, {"cat": 1000.0, "rare": 0.5}) == {
        ("action", "substitute"): [(0, 1), (1, 2)],
        ("action", "insert"): [(0, 2)],
        ("action", "none"): [(1, 1)],
        ("distance", "2-3"): [(1, 2)],
        ("distance", "11+"): [(0, 2)],
        ("nearest", "0-1"): [(0, 1)],
        ("nearest", "2-3"): [(1, 2)],
        ("nearest", "11+"): [(0, 2)],
        ("frequency", "1-10"): [(0, 1)],
        ("frequency", "101-1000"): [(1, 2)],
    }


def test_counts_are_grouped_as_in_the_paper() -> None:
    # Fewer than 10 occurrences in the training data, 10 to 50, and more than 50.
    words = {"new": 9, "big": 10, "small": 50, "red": 51}
    original, *variants = (
        Pair(f"He go to the {word} school .", f"He goes to the {word} school .")
        for word in ("old", *words, "odd")
    )
    [of_set] = arrange_cases({"mine": [Case(original, tuple(variants))]}, words)
    assert {
        name: list(rows) for (by, name), rows in of_set.groups.items() if by == "frequency"
    } == {
        "0-9": [(0, 1), (0, 5)],
        "10-50": [(0, 2), (0, 3)],
        "51+": [(0, 4)],
    }


def test_statistics_of_cases() -> None:
    original = Pair("He go to the old school .", "He goes to the old school .")
    unchanged = Pair("It rains .", "It rains .")
    cases = [
        Case(
            original,
            (
                Pair("She go to the new school .", "She goes to the new school ."),
                Pair("He go to the very old school .", "He goes to a very old school ."),
            ),
        ),
        Case(unchanged, (Pair("It often rains .", "It often rains ."), unchanged)),
    ]
    assert case_statistics(cases) == pytest.approx(
        {
            "cases": 2,
            "variants": 4,
            "tokens": (7 + 3) / 2,
            "with edits": 1 / 2,
            "edits": 1 / 2,
            "variants' tokens": (7 + 8 + 4 + 3) / 4,
            "variants' with edits": 2 / 4,
            "variants' edits": (1 + 2) / 4,
            # Two words of the first were substituted, one was inserted twice, and the last is the original.
            "changes": (2 + 1 + 1 + 0) / 4,
            "substitute": 1 / 4,
            "insert": 2 / 4,
            "delete": 0,
            "mixed": 0,
            "none": 1 / 4,
        }
    )
