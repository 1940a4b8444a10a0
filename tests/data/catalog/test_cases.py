from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from learnedgec.data.catalog import Case, Pair, load_cases, load_corrections, load_parallel
from learnedgec.data.catalog.cases import read_cases, write_cases
from learnedgec.errors import FormatError

PutDataset = Callable[[str, dict[str, str]], None]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


LABELS = ("O", "A1", "A2", "A3", "A4", "A5")
BLOCK = "".join(f"{label}-S {label} go .\n{label}-T\n" for label in LABELS)


def test_cases(tmp_path: Path) -> None:
    file = write(tmp_path / "para.txt", f"{BLOCK}\n{BLOCK}\n")
    case = Case(Pair("O go .", ""), tuple(Pair(f"A{n} go .", "") for n in range(1, 6)))
    assert read_cases(file) == [case, case]
    assert read_cases(write(tmp_path / "joined.txt", BLOCK + BLOCK)) == [case, case]
    assert [pair.source for pair in case.pairs] == ["O go .", *(f"A{n} go ." for n in range(1, 6))]


def test_cases_are_read_as_they_were_written(tmp_path: Path) -> None:
    pair = Pair("He go “ home ” .", "He goes “ home ” .")
    cases = [Case(pair, (Pair("", "She goes ."), pair)), Case(pair, (pair,))]
    write_cases(tmp_path / "cases.jsonl.gz", cases)
    assert read_cases(tmp_path / "cases.jsonl.gz") == cases


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"source": "a", "target": "b"}', "1: the key 'variants' is missing"),
        ('{"source": "a", "target": "b", "variants": []}', "with a variant or more"),
        ('{"source": "a", "target": "b", "variants": ["a"]}', "1: each variant must be an object"),
        (
            r'{"source": "a\n", "target": "b", "variants": [{"source": "a", "target": "b"}]}',
            "1: 'source' must be one line",
        ),
    ],
)
def test_bad_objects_name_the_line(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_cases(write(tmp_path / "cases.jsonl", line + "\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BLOCK.replace("A2-S", "A3-S"), r"para\.txt:5: a line starting with 'A2-S'"),
        (BLOCK.replace("A5-T\n", "") + BLOCK, r"para\.txt:12: a line starting with 'A5-T'"),
        (BLOCK[: BLOCK.index("A1-S")] + BLOCK, r"para\.txt:3: a line starting with 'A1-S'"),
        (BLOCK.replace("A5-T\n", ""), r"para\.txt: the last block is incomplete"),
        ("\n", r"para\.txt: the last block is incomplete"),
    ],
)
def test_bad_cases_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_cases(write(tmp_path / "para.txt", text))


def test_cases_follow_their_sentence_into_its_part_of_bea19(put_dataset: PutDataset) -> None:
    sources = [f"{number} ." for number in range(400)]
    # A sentence in two parts is kept out of the one that is learned from.
    sources[3] = sources[210] = sources[360]
    texts = ["0 .", "200 .", sources[3], "359 ."]
    blocks = (BLOCK.replace("O go .", text) for text in texts)
    put_dataset("robustgec", {"benchmark/bea19/para.txt": "\n".join(blocks)})
    put_dataset("pillars", {"data/evaluation_sets/bea-dev.txt": "\n".join(sources) + "\n"})
    parts = {p: load_cases(f"robustgec:bea19/{p}") for p in ("train", "dev", "test")}
    sentences = {part: [c.original.source for c in cases] for part, cases in parts.items()}
    assert sentences == {"train": ["0 ."], "dev": ["200 ."], "test": [sources[3], "359 ."]}
    assert [case.original.source for case in load_cases("robustgec:bea19")] == texts
    assert [row.group for row in load_corrections("robustgec:bea19/dev")] == ["200 ."] * 6


# -- the real data ----------------------------------------------------------------------------


@pytest.mark.realdata
def test_real_cases() -> None:
    counts = {name: len(load_cases(f"robustgec:{name}")) for name in ("bea19", "conll14", "tem8")}
    assert counts == {"bea19": 2503, "conll14": 1312, "tem8": 1181}
    assert len(load_cases("robustgec")) == sum(counts.values())
    sources = set(load_parallel("conll14").sources)
    originals = [case.original.source for case in load_cases("robustgec:conll14")]
    assert sum(source in sources for source in originals) == 1306


@pytest.mark.realdata
def test_real_parts_of_bea19_share_no_sentence() -> None:
    parts = ("train", "dev", "test")
    cases = {part: load_cases(f"robustgec:bea19/{part}") for part in parts}
    assert [len(cases[part]) for part in parts] == [1749, 383, 371]
    all_cases = [case for part in parts for case in cases[part]]
    assert Counter(all_cases) == Counter(load_cases("robustgec:bea19"))
    learned = {case.original.source for case in cases["train"]}
    for part in ("dev", "test"):
        assert learned.isdisjoint(load_parallel(f"pillars:{part}").sources)
