"""Time CLEME on M2 files against the official procedure, and against the official code where it is at hand.

    python scripts/benchmark/cleme.py [--ref G.m2 --hyp A.m2 B.m2] [--official DIR] [--annotator NAME|none]

Without files, the sample data is used, its systems' edits aligned. Both sides go from M2 files to the four
official rows (corpus and sentence, with and without weights) under both assumptions.

The literal procedure is that of the official code, version 1.1.0, for one system and assumption at a
time: read both files, parse each text by itself with spaCy (only its tokens are read, and those are
the ones that were given), pool the edits, map tokens, cut chunks, count and weigh them, and choose
references in turn. `--annotator none` leaves the parsing out, as version 1.0 did. The official code
runs in a process of its own, loading included: DIR is a checkout whose `core` can be imported by
this Python.

Seconds are the processor's, of one thread, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from learnedgec.edits.max_match import reference_edits
from learnedgec.edits.parsing import RELEASED, find_annotator
from learnedgec.formats.m2 import AnnotatedSentence, read_m2, write_m2
from learnedgec.formats.references import References
from learnedgec.formats.text import read_lines
from learnedgec.metrics.cleme import Cleme

ROOT = Path(__file__).resolve().parents[2]
ASSUMPTIONS = ("dependent", "independent")
ROWS = tuple(
    (level, weights) for level in ("corpus", "sentence") for weights in ("none", "released")
)

# What a row has: tp, fp, fn, tn, P, R, F, accuracy.
Row = list[float]
Results = dict[tuple[str, str, str, str], Row]
Interval = list[int]
Tokens = list[str]

OFFICIAL = """
import json, sys
sys.path.insert(0, sys.argv[1])
from core.evaluation.metrics import DependentCLEME, IndependentCLEME
from core.evaluation.scorers import ScorerType
from core.evaluation.weighers import LengthWeigher
from core.readers import M2DataReaderWriter
kind = DependentCLEME if sys.argv[4] == "dependent" else IndependentCLEME
metric = kind(lang="eng", scorer_type=ScorerType.PRF, weigher=LengthWeigher())
score, _ = metric.evaluate(M2DataReaderWriter().read(sys.argv[3]), M2DataReaderWriter().read(sys.argv[2]))
names = ("tp", "fp", "fn", "tn", "p", "r", "f", "acc")
found = {name: [float(getattr(row, key)) for key in names] for name, row in score.scores.items()}
print("RESULT " + json.dumps(found))
"""


# -- ours ------------------------------------------------------------------------------------------


def ours(ref: Path, systems: Sequence[Path]) -> Results:
    """Return all rows of all systems."""
    references = References.from_m2(ref)
    results: Results = {}
    for path in systems:
        blocks = read_m2(path)
        sources = [block.source for block in blocks]
        edits = [block.annotations[0] for block in blocks]
        for assumption in ASSUMPTIONS:
            metric = Cleme(assumption=assumption, edits="aligned")  # type: ignore[arg-type]
            statistics = metric.compare(sources, edits, references)
            for level, weights in ROWS:
                row = Cleme(
                    level=level,  # type: ignore[arg-type]
                    assumption=assumption,  # type: ignore[arg-type]
                    weights=weights,  # type: ignore[arg-type]
                    edits="aligned",
                )
                details = row.details(statistics)
                results[path.stem, assumption, level, weights] = [
                    *(details[name] for name in ("tp", "fp", "fn", "tn", "precision", "recall")),
                    row.aggregate(statistics),
                    details["accuracy"],
                ]
    return results


# -- the literal procedure ---------------------------------------------------------------------------


class Target:
    """A correction: its tokens, its edits as (source interval, target interval), and where tokens go."""

    def __init__(self, source: Tokens, edits: Sequence[tuple[int, int, Tokens]]) -> None:
        self.tokens = list(source)
        self.edits: list[tuple[Interval, Interval]] = []
        offset = 0
        for start, end, correction in edits:
            begin = start + offset
            self.tokens[begin : end + offset] = correction
            offset += len(correction) - (end - start)
            self.edits.append(([start, end], [begin, begin + len(correction)]))
        self.edits.sort(key=lambda edit: edit[0][0])
        self.place: dict[int, int] = {}
        here = there = 0
        for (start, end), (begin, stop) in self.edits:
            self.place[start], self.place[end] = begin, stop
            while here < start:
                self.place[here] = there
                here, there = here + 1, there + 1
            here, there = end, stop
        while here <= len(source):
            self.place[here] = there
            here, there = here + 1, there + 1


class LiteralChunk:
    """A chunk of one target."""

    def __init__(self, source: Tokens, target: Tokens, changed: bool) -> None:
        self.source, self.target, self.changed = source, target, changed
        self.length = max(len(source), len(target))


def literal_chunks(source: Tokens, targets: Sequence[Target]) -> list[list[LiteralChunk]]:
    """Return the chunks of each target."""
    pooled = sorted(
        chain.from_iterable(target.edits for target in targets), key=lambda edit: edit[0][0]
    )
    shared: list[Interval] = []
    for (start, end), _ in pooled:
        if shared and start <= shared[-1][1]:
            shared[-1][1] = max(end, shared[-1][1])
        else:
            shared.append([start, end])
    intervals: list[Interval] = []
    here = number = 0
    while here <= len(source):
        if number == len(shared):
            if here != len(source):
                intervals.append([here, len(source)])
            break
        start, end = shared[number]
        if here == start == end or start <= here < end:
            intervals.append([start, end])
            here, number = end, number + 1
        else:
            intervals.append([here, start])
            here = start
    found = []
    for target in targets:
        merged = [
            next(span for span in shared if start >= span[0] and end <= span[1])
            for (start, end), _ in target.edits
        ]
        row = []
        for interval in intervals:
            start, end = interval
            changed = interval in merged
            if changed:
                begin = target.place[start - 1] + 1 if start else 0
                stop = target.place[end]
            else:
                begin = target.place[start]
                stop = target.place[end - 1] + 1 if end else 0
            row.append(LiteralChunk(source[start:end], target.tokens[begin:stop], changed))
        found.append(row)
    return found


def literal_sentence(
    chunks: Sequence[Sequence[LiteralChunk]], assumption: str
) -> list[dict[str, list[LiteralChunk]]]:
    """Return the hypothesis' chunks by what they count as, for each reference."""
    hypothesis, *references = chunks
    results = []
    for reference in references:
        result: dict[str, list[LiteralChunk]] = {"tp": [], "fp": [], "fn": [], "tn": []}
        for number, own in enumerate(hypothesis):
            others = [other[number] for other in references]
            if assumption == "dependent":
                right = own.target == reference[number].target
                missed = not right
            else:
                right = any(own.target == other.target for other in others)
                missed = all(other.changed for other in others)
            if own.changed:
                result["tp" if right else "fp"].append(own)
            else:
                result["fn" if missed else "tn"].append(own)
        results.append(result)
    return results


def literal_weight(kind: str, length: int, mean: float) -> float:
    if kind == "tn":
        return 1.0
    distance = length - mean if kind == "fp" else mean - length
    return min(max(2 / (1 + math.exp(distance)), 0.75), 1.25)


def figures(tp: float, fp: float, fn: float, tn: float) -> tuple[float, float, float, float]:
    """Return F, P, R and accuracy, rounded."""
    p = tp / (tp + fp) if tp + fp else 1.0
    r = tp / (tp + fn) if tp + fn else 1.0
    f = 1.25 * p * r / (0.25 * p + r) if p + r else 0.0
    total = tp + fp + fn + tn
    return round(f, 4), round(p, 4), round(r, 4), round((tp + tn) / total if total else 0.0, 4)


def literal_rows(counted: Sequence[Sequence[Sequence[float]]]) -> tuple[Row, Row]:
    """Return the rows of the corpus and of sentences from tp, fp, fn, tn by sentence and reference."""
    total = [0.0] * 4
    for row in counted:
        best = max(
            row,
            key=lambda own: (
                figures(*(a + b for a, b in zip(total, own, strict=True)))[0],
                own[0],
                -own[1],
                -own[2],
                own[3],
            ),
        )
        total = [a + b for a, b in zip(total, best, strict=True)]
    f, p, r, accuracy = figures(*total)
    sums, means = [0.0] * 4, [0.0] * 4
    for row in counted:
        best = max(row, key=lambda own: figures(*own))
        sums = [a + b for a, b in zip(sums, best, strict=True)]
        means = [a + b / len(counted) for a, b in zip(means, figures(*best), strict=True)]
    return [*total, p, r, f, accuracy], [*sums, means[1], means[2], means[0], means[3]]


def literal(ref: Path, hyp: Path, assumption: str, pipeline: Any) -> Results:
    """Return the four rows of one system under one assumption."""

    @cache
    def tokenise(text: str) -> tuple[str, ...]:
        if pipeline is None:
            return tuple(text.split())
        from spacy.tokens import Doc

        return tuple(token.text for token in pipeline(Doc(pipeline.vocab, text.split())))

    partitioned: list[list[list[LiteralChunk]]] = []
    lengths: list[int] = []
    for own, gold in zip(read_m2(hyp), read_m2(ref), strict=True):
        source = own.source.split()
        targets = [
            Target(source, [(edit.start, edit.end, edit.correction.split()) for edit in edits])
            for edits in (own.annotations[0], *gold.annotations.values())
        ]
        kept = [target for target in targets[1:] if target.tokens] or targets[1:2]
        tokenise(own.source)
        for target in (targets[0], *kept):
            tokenise(" ".join(target.tokens))
        partitioned.append(literal_chunks(source, [targets[0], *kept]))
        lengths += [chunk.length for row in partitioned[-1][1:] for chunk in row if chunk.changed]
    mean = sum(lengths) / len(lengths)
    results: Results = {}
    counted = [literal_sentence(chunks, assumption) for chunks in partitioned]
    for weights in ("none", "released"):
        sums = [
            [
                [
                    sum(
                        literal_weight(kind, chunk.length, mean) if weights == "released" else 1.0
                        for chunk in chunks
                    )
                    for kind, chunks in result.items()
                ]
                for result in row
            ]
            for row in counted
        ]
        for level, found in zip(("corpus", "sentence"), literal_rows(sums), strict=True):
            results[hyp.stem, assumption, level, weights] = found
    return results


# -- the official code -------------------------------------------------------------------------------


def official(folder: Path, ref: Path, hyp: Path, assumption: str) -> tuple[Results, float]:
    """Return the four rows of one system under one assumption, and the processor seconds it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", OFFICIAL, str(folder), str(ref), str(hyp), assumption]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("RESULT "))
    found = json.loads(line.removeprefix("RESULT "))
    names = {"none": "unweighted", "released": "weighted"}
    rows = {
        (hyp.stem, assumption, level, weights): found[f"prf_{level}_{names[weights]}"]
        for level, weights in ROWS
    }
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return rows, spent


# -- comparison ----------------------------------------------------------------------------------------


def difference(found: Results, expected: Results) -> float:
    """Return the largest difference; a corpus' figures are rounded to four decimals first."""
    worst = 0.0
    for key, row in expected.items():
        for place, value in enumerate(row):
            own = found[key][place]
            own = round(own, 4) if key[2] == "corpus" and place >= 4 else own
            worst = max(worst, abs(own - value))
    return worst


def sample_files(folder: Path) -> tuple[Path, list[Path]]:
    """Write the sample's systems as M2 files, and return its gold file and these."""
    sample = ROOT / "data" / "sample"
    sources = read_lines(sample / "source.txt")
    systems = []
    for path in sorted((sample / "systems").glob("*.txt")):
        made = zip(sources, read_lines(path), strict=True)
        systems.append(folder / f"{path.stem}.m2")
        blocks = [
            AnnotatedSentence(source, {0: reference_edits(source, text)}) for source, text in made
        ]
        write_m2(systems[-1], blocks)
    return sample / "gold.m2", systems


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--ref", type=Path)
    parser.add_argument("--hyp", type=Path, nargs="+")
    parser.add_argument("--official", type=Path, help="checkout of the official code")
    parser.add_argument(
        "--annotator", default=RELEASED, help="what the literal procedure parses with"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ref, systems = options.ref, options.hyp
        if not (ref and systems):
            ref, systems = sample_files(Path(folder))
        ours(ref, systems[:1])  # loads what is loaded at first use
        begin = time.process_time()
        found = ours(ref, systems)
        spent = {"learnedgec": time.process_time() - begin}
        pipeline = None
        if options.annotator != "none":
            import spacy

            pipeline = spacy.load(find_annotator(options.annotator), disable=["ner"])
        begin = time.process_time()
        expected: Results = {}
        for system in systems:
            for assumption in ASSUMPTIONS:
                expected |= literal(ref, system, assumption, pipeline)
        spent["literal procedure"] = time.process_time() - begin
        differences = {"literal procedure": difference(found, expected)}
        if options.official:
            expected, total = {}, 0.0
            for system in systems:
                for assumption in ASSUMPTIONS:
                    rows, seconds = official(options.official, ref, system, assumption)
                    expected |= rows
                    total += seconds
            spent["official code"] = total
            differences["official code"] = difference(found, expected)
    settings = len(systems) * len(ASSUMPTIONS)
    table = Table(title=f"{len(systems)} systems, {len(read_m2(ref))} sentences, two assumptions")
    for column in ("", "seconds", "a system and setting", "times ours", "largest difference"):
        table.add_column(column, justify="right")
    for name, seconds in spent.items():
        ratio = f"{seconds / spent['learnedgec']:.1f}"
        worst = f"{differences[name]:.0e}" if name in differences else ""
        table.add_row(name, f"{seconds:.2f}", f"{seconds / settings:.3f}", ratio, worst)
    Console().print(table)
    if max(differences.values()) > 1e-6:
        raise SystemExit("the scores differ")


if __name__ == "__main__":
    main()
