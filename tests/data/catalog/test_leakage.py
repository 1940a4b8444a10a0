from __future__ import annotations

import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from learnedgec.data.catalog import leakage, load_corrections, load_outputs, load_ratings
from learnedgec.data.catalog.files import dataset_file
from learnedgec.data.catalog.leakage import (
    HASH_BYTES,
    bea19_part,
    check_leakage,
    check_reserved,
    fingerprint,
    of_part,
    overlapping,
    parts_of_sources,
    share_text,
)
from learnedgec.data.text import read_lines
from learnedgec.errors import LeakageError
from learnedgec.training.data import DataSettings, TrainingData
from learnedgec.training.pairs import ImpactPairs

ROOT = Path(__file__).parents[3]


@pytest.fixture
def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forbid one invented sentence instead of the shipped ones."""
    hashes = frozenset({fingerprint("The cat 's mat is not here .")})
    monkeypatch.setattr(leakage, "read_hashes", lambda name: hashes)


@pytest.mark.usefixtures("forbid")
def test_a_sentence_is_found_however_it_is_tokenised() -> None:
    texts = [
        "The cat 's mat is here .",
        "the Cat's mat is not here",
        "",
        "The cat’s mat is not here!",
    ]
    assert overlapping(texts) == [1, 3]


@pytest.mark.usefixtures("forbid")
def test_the_error_names_the_first_and_counts_rows() -> None:
    leaking = "The cat's mat is not here."
    check_leakage(["The cat 's mat is here ."], "mine.csv")
    with pytest.raises(LeakageError) as caught:
        check_leakage(["Fine .", leaking, "The cat 's mat is not here ."], "mine")
    message = str(caught.value)
    assert "mine has 1 sentence of CoNLL-2014 (in 2 of 3 rows), on which evaluators" in message
    assert f"the first is {leaking!r}. Leave out the sentences that" in message
    assert "or say data.check_leakage: false" in message
    with pytest.raises(LeakageError, match=r"has 1 sentence of CoNLL-2014 \(in 2 of 3 rows\)"):
        check_leakage([("A .", "B ."), (leaking, leaking), ("C .", leaking)], "mine.csv")


def test_short_sentences_are_exempt() -> None:
    assert not any(map(fingerprint, ["", "...", "What is genetic risk ?", "Yes ! No !"]))


@pytest.mark.parametrize(
    ("dataset", "relatives", "strangers"),
    [
        ("gmeg:fce", ["gmeg:fce", "gmeg"], ["gmeg:wiki", "jfleg:fce"]),
        ("sts:2012", ["sts:2012/MSRpar.train"], ["sts:2013"]),
        ("robustgec:bea19/train", ["pillars:train"], ["pillars:test"]),
        ("robustgec:bea19", ["jelv:test"], []),
        ("robustgec:conll14", [], ["pillars"]),
        ("pillars:dev/single", ["jelv:dev"], ["pillars:train"]),
        ("attack:bea19-dev", ["robustgec:bea19/dev"], []),
        ("robustgec", ["robustgec:tem8", "pillars:test"], []),
    ],
)
def test_datasets_share_text(dataset: str, relatives: list[str], strangers: list[str]) -> None:
    for other in (*relatives, *strangers):
        shared = other in relatives
        assert share_text(dataset, other) == share_text(other, dataset) == shared, other


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        *((name, "the part 'test' of BEA-19 dev; train on its parts") for name in (
            "pillars", "pillars:test", "pillars:test/single", "jelv:test", "robustgec:bea19/test",
        )),
        ("peet", "those of the benchmark peet; train or tune on other"),
        ("peet:gector", "those of the benchmark peet; train or tune on other"),
    ],
)  # fmt: skip
def test_what_is_for_reports_alone_is_not_learned_from(name: str, reason: str) -> None:
    check_reserved(["jfleg:test", "pillars:train", "pillars:dev/single", "jelv:dev", "gug"])
    message = f"^{name} has sentences that are for reports only, {reason}"
    with pytest.raises(LeakageError, match=message):
        check_reserved(["jfleg:test", name])
    pairs: Any = {"quality": [ImpactPairs([name], encoder="none", annotator="en-ewt-sm")]}
    for data in (
        TrainingData(DataSettings(ratings=[name])),
        TrainingData(DataSettings(pairs=pairs)),
    ):
        with pytest.raises(LeakageError, match=message):
            data.load()


def test_parts_are_blocks_of_fifty_in_their_shares() -> None:
    parts = [bea19_part(number) for number in range(4384)]
    assert Counter(parts) == {"train": 3100, "dev": 650, "test": 634}
    for part in set(parts):
        assert of_part(range(4384), part) == [n for n in range(4384) if parts[n] == part]
    assert of_part(parts, "") == parts
    assert all(len(set(parts[start : start + 50])) == 1 for start in range(0, 4384, 50))
    # Each quarter has some of each.
    assert all(set(parts[start : start + 1096]) == set(parts) for start in range(0, 4384, 1096))


def test_a_repeated_sentence_is_held_out() -> None:
    sources = ["a"] * 201 + ["b"] * 49 + ["c"] * 101 + ["b"]
    assert parts_of_sources(sources) == {"a": "dev", "b": "test", "c": "test"}


@pytest.mark.parametrize(
    ("file", "count"), [(leakage.HASHES, 23003), (leakage.RESERVED_HASHES, 5535)]
)
def test_shipped_hashes_are_sorted_and_distinct(file: str, count: int) -> None:
    content = (Path(leakage.__file__).parent / file).read_bytes()
    hashes = [content[i : i + HASH_BYTES] for i in range(0, len(content), HASH_BYTES)]
    assert len(hashes) == count
    assert hashes == sorted(set(hashes))


def test_training_leaves_reserved_sentences_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserved = frozenset({fingerprint("The cat 's mat is not here .")})
    hashes = {leakage.RESERVED_HASHES: reserved, leakage.HASHES: frozenset()}
    monkeypatch.setattr(leakage, "read_hashes", hashes.__getitem__)
    rows = [f"A good sentence of number {number} .,{number % 4},{number}" for number in range(9)]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["hypothesis,fluency,group", *rows, "the cat's mat is not here,4,9"]))
    parts = TrainingData(DataSettings(ratings=[str(path)])).load()
    texts = {text for rows in parts.values() for row in rows for _, text in row.texts}
    assert len(texts) == 9
    assert leakage.is_reserved("the cat's mat is not here")


def test_the_sample_may_be_trained_on() -> None:
    for file in sorted((ROOT / "data" / "sample").rglob("*.txt")):
        check_leakage(read_lines(file), file.name)


@pytest.mark.realdata
def test_shipped_hashes_are_what_the_script_writes() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "leakage_hashes.py"))
    hashes = {fingerprint(sentence) for sentence in script["forbidden_sentences"]()} - {None}
    assert hashes == leakage.read_hashes(leakage.HASHES)


@pytest.mark.realdata
def test_conll_is_refused_and_the_training_sets_are_not() -> None:
    sources = read_lines(dataset_file("conll14", "data/source"))
    with pytest.raises(LeakageError, match=f"in {len(overlapping(sources)):,} of 1,312 rows"):
        check_leakage(sources, "conll14")
    short = [s for s in sources if fingerprint(s) is None]
    assert len(overlapping(sources)) == 1312 - len(short)
    # Each distinct text of the training sets once.
    texts = {text for outputs in load_outputs("pillars").values() for text in outputs}
    for name in ("tmu-gfm", "gug", "sts", "lau"):
        texts |= {text for r in load_ratings(name) for text in (r.source, r.hypothesis)}
    for name in ("jelv", "peet"):
        texts |= {text for c in load_corrections(name) for text in (c.source, c.target)}
    for domain in ("bea19", "tem8"):
        texts |= set(read_lines(dataset_file("robustgec", f"benchmark/{domain}/input.txt")))
    check_leakage(sorted(texts), "the training sets")
