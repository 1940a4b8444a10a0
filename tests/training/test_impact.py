"""IMPARA's pairs: subsets as published, impacts as a literal computation, ranked, kept and resumed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from embedded import SAMPLE_FOLDER
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModel, AutoTokenizer

from learnedgec.data.catalog.parallel import load_corrections
from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.errors import ConfigError, UnknownNameError
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs import corrections
from learnedgec.training.pairs.corrections import (
    ImpactPairs,
    impacts,
    sample_subsets,
    texts_of_edit,
)

SOURCE = "He go to school in yesterday ."
EDITS = (Edit(1, 2, "went"), Edit(4, 5, ""), Edit(3, 3, "the"))
GOLD = str(SAMPLE_FOLDER / "gold.m2")


@cache
def load(encoder: Path) -> tuple[Any, Any]:
    return AutoTokenizer.from_pretrained(encoder), AutoModel.from_pretrained(encoder)


@cache
def literal_impact(encoder: Path, source: str, edits: tuple[Edit, ...], number: int) -> float:
    """Equation 1 of the paper, one text at a time."""
    tokenizer, model = load(encoder)
    vectors = []
    for chosen in (edits, [edit for other, edit in enumerate(edits) if other != number]):
        inputs = tokenizer(apply_edits(source, chosen), return_tensors="pt")
        with torch.inference_mode():
            vectors.append(model.eval()(**inputs).last_hidden_state[0].mean(dim=0))
    cosine = torch.cosine_similarity(vectors[0], vectors[1], dim=0).item()
    return 1 - min(1.0, cosine)


def pairs_of(encoder: Path, folder: Path, **parameters: Any) -> ImpactPairs:
    defaults: dict[str, Any] = {"edits": "m2", "encoder": str(encoder)}
    return ImpactPairs([GOLD], **(defaults | parameters))


def test_impacts_are_those_of_a_literal_computation(tiny_encoder: Path) -> None:
    edits = tuple(sorted(EDITS, key=lambda edit: edit.start))
    requests = [(SOURCE, edits, number) for number in range(3)]
    requests += [("She like it .", (Edit(1, 2, "likes"),), 0)]
    expected = [literal_impact(tiny_encoder, *request) for request in requests]
    assert min(expected) > 0
    texts = [texts_of_edit(*request) for request in requests]
    assert impacts(texts, str(tiny_encoder)) == pytest.approx(expected, abs=1e-6)
    assert impacts([("A b .", "A b .")], str(tiny_encoder)) == [0.0]


def test_ranked_by_the_sums_of_impacts(tiny_encoder: Path, tmp_path: Path) -> None:
    source = pairs_of(tiny_encoder, tmp_path, procedure="maeda2022")
    pairs = source.make(tmp_path, Runtime())
    assert len(pairs) > 100
    rows = load_corrections(GOLD)
    for pair in pairs[:40]:
        # Every way to get the two texts by subsets of one annotator's edits, by brute force.
        margins = []
        for row in rows:
            if row.source != pair.source or row.edits is None:
                continue
            sums: dict[str, float] = {}
            effects = [
                literal_impact(tiny_encoder, row.source, row.edits, n)
                for n in range(len(row.edits))
            ]
            for bits in range(2 ** len(effects)):
                chosen = [n for n in range(len(effects)) if bits >> n & 1]
                text = apply_edits(row.source, [row.edits[n] for n in chosen])
                sums[text] = sum(effects[n] for n in chosen)
            if {pair.better, pair.worse} <= sums.keys():
                margins.append(sums[pair.better] - sums[pair.worse])
        assert any(abs(margin - pair.margin) < 1e-6 for margin in margins)
        assert pair.margin > 0
        assert (pair.group, pair.origin) == (pair.source, GOLD)


@given(st.integers(0, 9), st.sampled_from(["maeda2022", "goto2022"]), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_subsets(count: int, procedure: Any, seed: int) -> None:
    subsets = sample_subsets(count, procedure, random.Random(seed))
    everything = set(range(count))
    assert all(first <= everything and second <= everything for first, second in subsets)
    assert all(first != second for first, second in subsets)
    assert subsets == sample_subsets(count, procedure, random.Random(seed))
    if procedure == "maeda2022":
        assert len(subsets) <= min(10, count * (count - 1) // 2)
        assert count > 1 or not subsets
    else:
        assert all(first for first, _ in subsets)
        assert len({frozenset(pair) for pair in subsets}) == len(subsets) <= 30


@pytest.mark.parametrize(
    ("procedure", "sizes"), [("maeda2022", range(4)), ("goto2022", range(1, 4))]
)
def test_sizes_are_uniform_and_one_edit_in_n_flips(procedure: Any, sizes: range) -> None:
    generator = random.Random(1)
    counts: Counter[int] = Counter()
    flips = []
    for _ in range(4000):
        # The first draw of each call: later ones are thinned out where pairs must differ.
        for first, second in sample_subsets(3, procedure, generator)[:1]:
            counts[len(first)] += 1
            flips.append(len(first ^ second))
    for size in sizes:
        assert counts[size] / counts.total() == pytest.approx(1 / len(sizes), abs=0.03)
    # Each of 3 flips with 1/3: 12/27, 6/27 and 1/27 for one, two and three, of the 19/27 that flip any.
    share = [flips.count(number) / len(flips) for number in (1, 2, 3)]
    assert share == pytest.approx([12 / 19, 6 / 19, 1 / 19], abs=0.03)


def test_interrupted_making_goes_on(
    tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corrections, "_BLOCK", 50)
    original = corrections.impacts
    measured: list[int] = []
    limit = 10**9

    def counting(texts: Sequence[tuple[str, str]], *rest: Any) -> list[float]:
        if len(measured) == limit:
            raise KeyboardInterrupt
        measured.append(len(texts))
        return original(texts, *rest)

    monkeypatch.setattr(corrections, "impacts", counting)
    whole = pairs_of(tiny_encoder, tmp_path, number=120).make(tmp_path / "whole", Runtime())
    blocks, limit = list(measured), 2
    assert len(blocks) > 2
    measured.clear()
    with pytest.raises(KeyboardInterrupt):
        pairs_of(tiny_encoder, tmp_path, number=120).make(tmp_path / "part", Runtime())
    limit = 10**9
    again = pairs_of(tiny_encoder, tmp_path, number=120).make(tmp_path / "part", Runtime())
    assert again == whole
    # The first two blocks are not measured again.
    assert measured == blocks


def test_number_and_duplicates(tiny_encoder: Path, tmp_path: Path) -> None:
    source = pairs_of(tiny_encoder, tmp_path, number=40)
    pairs = source.make(tmp_path / "a", Runtime())
    assert len(pairs) == 40
    assert len({(pair.better, pair.worse) for pair in pairs}) == 40
    # The authors' code keeps a pair that is drawn twice.
    drawn = pairs_of(tiny_encoder, tmp_path, procedure="maeda2022").make(tmp_path / "b", Runtime())
    assert len({(pair.better, pair.worse) for pair in drawn}) < len(drawn)
    with pytest.warns(UserWarning, match="of 999999 requested"):
        pairs_of(tiny_encoder, tmp_path, number=999_999).make(tmp_path / "c", Runtime())


def test_plain_texts_need_errant(tiny_encoder: Path, tmp_path: Path) -> None:
    table = tmp_path / "pairs.tsv"
    table.write_text("He go home .\tHe goes home .\tHe went home .\n")
    source = ImpactPairs([str(table)], edits="m2", encoder=str(tiny_encoder))
    with pytest.raises(ConfigError, match="use edits: errant"):
        source.make(tmp_path, Runtime())
    source = ImpactPairs([str(table)], encoder=str(tiny_encoder), annotator="en-ewt-sm")
    pairs = {(pair.better, pair.worse) for pair in source.make(tmp_path / "made", Runtime())}
    assert pairs == {("He goes home .", "He go home ."), ("He went home .", "He go home .")}
    with pytest.raises(UnknownNameError, match="jfleg:dev"):
        load_corrections("jfleg:dve")


def test_user_files_of_corrections(tmp_path: Path) -> None:
    lines = tmp_path / "c.jsonl"
    lines.write_text('{"source": "A", "references": ["B", null, "C"]}\n')
    assert [row.target for row in load_corrections(str(lines))] == ["B", "C"]
    gold = tmp_path / "g.m2"
    # The second edit overlaps the first and cannot be applied with it.
    gold.write_text(
        "S A b c\nA 0 2|||X|||D|||REQUIRED|||-NONE-|||0\nA 1 2|||X|||E|||REQUIRED|||-NONE-|||0\n"
    )
    (row,) = load_corrections(str(gold))
    assert row.target == "D c"
    assert row.edits is not None
    assert len(row.edits) == 1
