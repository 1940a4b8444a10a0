from __future__ import annotations

from collections import Counter

from learnedgec.data.catalog.bea19 import bea19_part, of_part, parts_of_sources


def test_parts_are_blocks_of_fifty_in_their_shares() -> None:
    parts = [bea19_part(number) for number in range(4384)]
    assert Counter(parts) == {"train": 3100, "dev": 650, "test": 634}
    assert all(len(set(parts[start : start + 50])) == 1 for start in range(0, 4384, 50))
    # Each quarter has some of each.
    assert all(set(parts[start : start + 1096]) == set(parts) for start in range(0, 4384, 1096))


def test_parts_are_disjoint_and_complete() -> None:
    numbers = range(4384)
    found = [number for part in ("train", "dev", "test") for number in of_part(numbers, part)]
    assert sorted(found) == of_part(numbers, "") == list(numbers)


def test_a_repeated_sentence_is_held_out() -> None:
    sources = ["a"] * 201 + ["b"] * 49 + ["c"] * 101 + ["b"]
    assert parts_of_sources(sources) == {"a": "dev", "b": "test", "c": "test"}
