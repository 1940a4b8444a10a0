"""Mutated files for every reader of users' files: a result or one sentence, within seconds and memory.

What is read is sound: a sentence is one line of whole characters.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from trial import Trial, expect_sentence, kept, main, mutate

from learnedgec.benchmarks.folder import read_benchmark
from learnedgec.catalog.cases import read_cases
from learnedgec.catalog.corrections import read_corrections
from learnedgec.catalog.judgements import read_appraise, read_pairs
from learnedgec.catalog.ratings import read_ratings
from learnedgec.cli.inputs import read_inputs
from learnedgec.cli.options import make_parser
from learnedgec.formats.configuration import check_yaml
from learnedgec.formats.m2 import read_m2
from learnedgec.formats.references import References
from learnedgec.formats.text import read_json, read_jsonl, read_lines
from learnedgec.metrics.gotoscorer import Difficulties
from learnedgec.metrics.tuned import read_tuned_file
from learnedgec.training.pairs.base import read_ranked_pairs

LINES = "He go home .\nShe likes it .\n\nÜber − all .\n"
M2 = (
    "S He go home .\nA 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0\n"
    "A 1 2|||R:OTHER|||went||had gone|||REQUIRED|||-NONE-|||1\n\n"
    "S She likes it .\nA -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0\n\nS \n\nS Über − all .\n"
)
PAIRS = {
    "source": "He go .",
    "better": "He goes .",
    "worse": "He go .",
    "margin": 0.5,
    "group": "g",
}
RECORD = {"source": "He go .", "hypothesis": "He goes .", "references": ["He goes .", None]}
RATED = {"source": "He go .", "hypothesis": "He goes .", "fluency": 3.5, "system": "a"}
CASE = {"source": "a b", "target": "a c", "variants": [{"source": "x b", "target": "x c"}]}
BLOCKS = "".join(f"{k}-S {k} go .\n{k}-T {k} goes .\n" for k in ("O", "A1", "A2")) * 2
APPRAISE = (
    '<r><ranking-item src-id="0" user="a"><translation rank="2" system="X Y"/>'
    '<translation rank="1" system="Z"/></ranking-item></r>\n'
)
TUNED = {"metric": "m2(beta=0.4)", "tuned_on_test": False, "study": {"objective": "kendall"}}
YAML = (
    "src: s.txt\nhyp: [a.txt, &b b.txt]\nref: [*b]\nmetric:\n  - gleu(n=2)\n  - m2\n"
    "resamples: 10\nconfidence: 0.9\nquiet: true\n"
)
GOLD = {"source": "He go .", "gold": [[1, 2, ["goes"]]], "weights": [0.5, 1, 0.25]}
BENCHMARK = {
    "source.txt": "He go .\nShe like .\n",
    "systems/a.txt": "He goes .\nShe like .\n",
    "systems/b.txt": "He go .\nShe likes .\n",
    "gold.m2": "S He go .\nA 1 2|||R|||goes|||REQUIRED|||-NONE-|||0\n\nS She like .\n",
    "rankings.csv": "id,better,worse,tie\n0,a,b,0\n1,b,a,0\n1,a,source,1\n",
    "ratings.csv": "id,system,fluency\n0,a,3\n0,b,2.5\n1,a,\n1,source,1\n",
    "scores.csv": "system,EW\na,0.5\nb,-0.5\nsource,0\n",
    "judgements.xml": APPRAISE.replace("X Y", "a source").replace("Z", "b"),
}


def lines_of(*records: object) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def options(path: Path) -> object:
    """Read a configuration as a command does, and every value that YAML holds there."""
    parser = make_parser("score", "")
    for name in ("src", "metric", "hyp", "ref"):
        parser.add_argument(f"--{name}", type=str if name == "src" else list[str])
    parser.add_argument("--resamples", type=int)
    parser.add_argument("--confidence", type=float)
    parser.add_argument("--space", type=dict)
    parser.add_argument("--quiet", action="store_true")
    from argparse import ArgumentError

    try:
        return str(parser.parse_args(["--config", str(path)]))
    except ArgumentError:
        return None


def jsonl_inputs(path: Path) -> object:
    from jsonargparse import Namespace

    given: Any = dict.fromkeys(("src", "hyp", "ref", "gold", "tokenise"))
    return read_inputs(Namespace({**given, "jsonl": [str(path)], "quiet": True}))  # type: ignore[no-untyped-call]


def checked(path: Path) -> str:
    text = path.read_text("latin-1")
    check_yaml(text)
    return text


def annotated(path: Path) -> object:
    return References.from_annotated(read_m2(path))


# Reader -> how a file for it is named, how it is read, and what it usually holds.
READERS: Mapping[str, tuple[str, Callable[[Path], object], bytes]] = {
    "lines": ("f.txt", read_lines, LINES.encode()),
    "gzip": ("f.txt.gz", read_lines, gzip.compress(LINES.encode() * 20, mtime=0)),
    "m2": ("f.m2", read_m2, M2.encode()),
    "references": ("f.m2", annotated, M2.encode()),
    "jsonl": ("f.jsonl", read_jsonl, lines_of(RECORD, RECORD)),
    "json": ("f.json", read_json, json.dumps(TUNED, indent=1).encode()),
    "inputs": ("f.jsonl", jsonl_inputs, lines_of(RECORD, {**RECORD, "references": None})),
    "ratings-csv": ("f.csv", read_ratings, b'hypothesis,fluency,source\n"A, b",3,A b\nC,1.5,C c\n'),
    "ratings-tsv": ("f.tsv", read_ratings, b"hypothesis\tfluency\tgroup\nA b\t3\tg\nC\t\tg\n"),
    "ratings-jsonl": ("f.jsonl", read_ratings, lines_of(RATED, {**RATED, "fluency": 1})),
    "corrections-m2": ("f.m2", read_corrections, M2.encode()),
    "corrections-jsonl": ("f.jsonl", read_corrections, lines_of(RECORD, RECORD)),
    "corrections-tsv": ("f.tsv", read_corrections, b"He go .\tHe goes .\tHe went .\nA\tB\n"),
    "cases": ("f.txt", read_cases, BLOCKS.encode()),
    "cases-jsonl": ("f.jsonl", read_cases, lines_of(CASE, CASE)),
    "pairs": (
        "f.csv",
        lambda path: read_pairs(path, 9),
        b"id,better,worse,tie\n0,a,b,0\n8,b,a,1\n",
    ),
    "appraise": ("f.xml", read_appraise, APPRAISE.encode()),
    "ranked-pairs": (
        "f.jsonl",
        read_ranked_pairs,
        lines_of(PAIRS, {**PAIRS, "better": "He went ."}),
    ),
    "difficulties": ("f.json", lambda p: Difficulties.load(str(p)), b""),
    "tuned": ("f.json", read_tuned_file, json.dumps(TUNED).encode()),
    "yaml": ("f.yaml", options, YAML.encode()),
    "yaml-check": ("f.yaml", checked, YAML.encode()),
    **{
        f"benchmark-{Path(name).stem}": (name, lambda path: None, text.encode())
        for name, text in BENCHMARK.items()
    },
}

_SURROGATE = re.compile(r"[\ud800-\udfff]")


def check_sound(value: object, *, lines: bool) -> None:
    """Raise unless every text in a value is of whole characters and, if it should be, one line."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            assert not _SURROGATE.search(item), f"half a character in {item[:60]!r}"
            assert not (lines and "\n" in item), f"a line feed in {item[:60]!r}"
        elif isinstance(item, Mapping):
            left += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple):
            left += item
        elif dataclasses.is_dataclass(item):
            left += [getattr(item, each.name) for each in dataclasses.fields(item)]


# Readers whose texts need not be sentences.
_RAW = ("jsonl", "json", "yaml", "yaml-check", "tuned", "difficulties", "pairs", "appraise")


def attempt(reader: str, content: bytes, folder: Path, *, refused: bool = False) -> None:
    """Let a reader read a content; `refused`: which it should not take."""
    name, read, _ = READERS[reader]
    if reader.startswith("benchmark-"):
        root = folder / "benchmark"
        for file, text in BENCHMARK.items():
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_bytes(content if file == name else text.encode())
        found = expect_sentence(lambda: read_benchmark(root))
    else:
        path = folder / name
        path.write_bytes(content)
        found = expect_sentence(lambda: read(path))
    assert not (refused and found is not None), "it was taken"
    check_sound(found, lines=not reader.startswith(_RAW))


def past(folder: Path) -> Iterator[Trial]:
    """Yield the files that once crashed a reader: `READER.NAME`."""
    for name, content in kept("text"):
        run = partial(attempt, name.partition(".")[0], content, folder, refused=True)
        yield Trial(f"corpus/{name}", run, content)


def trials(seed: int, folder: Path) -> Iterator[Trial]:
    """Yield the past crashes, and then mutated files without end."""
    yield from past(folder)
    random = Random(seed)
    weights = folder / "weights.json"
    from learnedgec.metrics.gotoscorer import GotoScorer

    references = References.from_texts(["He goes ."])
    GotoScorer().learn(["He go ."], {"a": ["He goes ."], "b": ["He go ."]}, references).save(
        weights
    )
    seeds = {name: content or weights.read_bytes() for name, (_, _, content) in READERS.items()}
    others = list(seeds.values())
    while True:
        reader = random.choice(list(READERS))
        if reader == "gzip" and random.random() < 0.5:
            content = gzip.compress(mutate(LINES.encode(), random, others), mtime=0)
        else:
            content = mutate(seeds[reader], random, others)
        yield Trial(reader, partial(attempt, reader, content, folder), content)


if __name__ == "__main__":
    main("fuzz_text", "Any file gives a result or one sentence.", trials, count=10_000, longest=10)
