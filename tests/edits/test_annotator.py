from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from embedded import Sample

from learnedgec.data.m2 import Edit
from learnedgec.edits import annotator, parsing
from learnedgec.edits.annotator import (
    describe_annotator,
    extract_edits,
    find_annotator,
)
from learnedgec.errors import ModelError, UnknownNameError
from learnedgec.runtime.runtime import Runtime

NAME = "en-ewt-sm"
Found = list[tuple[int, int, str, str]]


@pytest.fixture(scope="module")
def official() -> Any:
    """Return ERRANT's own annotator with the same pipeline."""
    import errant
    import spacy

    return errant.load("en", spacy.load(find_annotator(NAME)))


def official_edits(annotator: Any, pairs: Sequence[tuple[str, str]]) -> list[Found]:
    parsed = {text: annotator.parse(text) for pair in pairs for text in pair}
    return [
        [
            (edit.o_start, edit.o_end, edit.c_str, edit.type)
            for edit in annotator.annotate(parsed[source], parsed[target])
        ]
        for source, target in pairs
    ]


def our_edits(pairs: Sequence[tuple[str, str]], *, types: bool = True) -> list[Found]:
    return [
        [(edit.start, edit.end, edit.correction, edit.type) for edit in row]
        for row in extract_edits(pairs, NAME, types=types)
    ]


def untyped(rows: Sequence[Found]) -> list[list[tuple[int, int, str]]]:
    return [[edit[:3] for edit in row] for row in rows]


def record_parses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list to which each sentence that is parsed from now on is added."""
    parsed: list[str] = []
    parse_sentences = parsing.parse_sentences

    def recording(pipeline: Any, texts: Iterable[str]) -> dict[str, parsing.Sentence]:
        sentences = parse_sentences(pipeline, texts)
        parsed.extend(sentences)
        return sentences

    monkeypatch.setattr(parsing, "parse_sentences", recording)
    return parsed


@pytest.fixture(scope="module")
def pairs(sample: Sample) -> list[tuple[str, str]]:
    return [
        (source, hypothesis)
        for hypotheses in sample.systems.values()
        for source, hypothesis in zip(sample.sources, hypotheses, strict=True)
    ]


def test_edits_are_those_of_errant(official: Any, pairs: Sequence[tuple[str, str]]) -> None:
    expected = official_edits(official, pairs)
    assert our_edits(pairs) == expected
    assert untyped(our_edits(pairs, types=False)) == untyped(expected)


def test_scrambled_sentences_too(official: Any, sample: Sample) -> None:
    """Words moved, doubled, dropped and in other case, where alignments tie and words change places."""
    draw = random.Random(5)
    pairs = []
    for source in sample.sources[:60]:
        words = source.split()
        for _ in range(draw.randint(1, 4)):
            place = draw.randrange(len(words))
            change = draw.randrange(5)
            if change == 0:
                words.insert(place, draw.choice(words))
            elif change == 1 and len(words) > 2:
                del words[place]
            elif change == 2:
                words[place] = words[place].swapcase()
            else:
                end = min(place + draw.randint(2, 4), len(words))
                words[place:end] = draw.sample(words[place:end], end - place)
        pairs.append((source, " ".join(words)))
    assert our_edits(pairs) == official_edits(official, pairs)


def test_edits_of_one_token_are_found_without_a_parse(
    official: Any, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token inserted, deleted or replaced, also beside a token that is the same or differs in case."""
    draw = random.Random(7)
    pairs = [("a A", "a A a"), ("a A b", "a A A b"), ("The the cat", "The cat"), ("b A a", "b a")]
    for source in sample.sources:
        words = source.split()
        place = draw.randrange(len(words))
        new = draw.choice([*words, words[place].swapcase(), words[place - 1].swapcase(), "cat"])
        end = place + draw.randrange(2)
        pairs.append((source, " ".join([*words[:place], new, *words[end:]])))
        pairs.append((source, " ".join([*words[:place], *words[place + 1 :]])))
    assert untyped(our_edits(pairs, types=False)) == untyped(official_edits(official, pairs))
    parsed = record_parses(monkeypatch)
    assert our_edits([("He go .", "He goes .")], types=False) == [[(1, 2, "goes", "")]]
    assert parsed == []


def test_a_source_is_parsed_once_for_all_its_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = record_parses(monkeypatch)
    source, targets = "Five dog bark loud .", ["Five dogs bark loudly .", "The dog barks loudly ."]
    first, second = (our_edits([(source, target)]) for target in targets)
    assert parsed == [source, *targets]
    assert [first, second] == [our_edits([(source, target)]) for target in targets]
    assert parsed == [source, *targets, *targets]


def test_a_bound_runtime_extracts_the_edits_of_a_pair_once(monkeypatch: pytest.MonkeyPatch) -> None:
    extracted: list[tuple[str, str]] = []

    def recording(
        path: Path, types: bool, pairs: Sequence[tuple[str, str]]
    ) -> list[tuple[Edit, ...]]:
        extracted.extend(pairs)
        return extract_block(path, types, pairs)

    extract_block = annotator._extract_block
    monkeypatch.setattr(annotator, "_extract_block", recording)
    first, second = ("We go .", "He goes ."), ("We go .", "He went .")
    runtime = Runtime().bound()
    typed = extract_edits([first, first], NAME, runtime=runtime)
    assert extract_edits([first, second], NAME, runtime=runtime)[0] == typed[0]
    assert extracted == [first, second]
    # Edits without types are those with types, but for the types.
    untyped = extract_edits([first, second], NAME, types=False, runtime=runtime)
    assert extracted == [first, second]
    assert untyped == extract_edits([first, second], NAME, types=False)
    assert typed[0][1] == Edit(1, 2, "goes", "R:VERB:SVA")
    assert extracted == [first, second] * 2
    monkeypatch.setattr(annotator, "_MAX_REMEMBERED", 2)
    extract_edits([("I go .", "I went .")], NAME, runtime=runtime)
    extract_edits([first], NAME, runtime=runtime)
    assert extracted == [first, second] * 2 + [("I go .", "I went ."), first]


def test_empty_and_blank_sentences() -> None:
    blank = [("", ""), (" ", "  "), ("", "A"), ("A b", ""), ("a  b", "a b")]
    assert our_edits(blank, types=False) == [[], [], [(0, 0, "A", "")], [(0, 2, "", "")], []]
    assert extract_edits([], NAME) == []


def test_pipelines_are_found_by_name_and_by_directory(tmp_path: Path) -> None:
    path = find_annotator(NAME)
    assert find_annotator(str(path)) == path
    assert describe_annotator(str(path.resolve())) == describe_annotator(NAME)
    assert describe_annotator(NAME)["annotator-version"].startswith("0.1.0 (sha256 ")
    with pytest.raises(UnknownNameError, match="no annotator is named 'en-ewt-md'; did you mean"):
        find_annotator("en-ewt-md")


def test_an_annotator_that_is_missing_is_not_suggested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("learnedgec.edits.annotator.lookup_folders", lambda: [tmp_path])
    with pytest.raises(UnknownNameError, match="no annotator is named 'en-ewt-sm'; known: plain"):
        find_annotator(NAME)
    for name in ("config.cfg", "meta.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(ModelError, match="cannot be loaded"):
        extract_edits([("a", "b")], str(tmp_path))
