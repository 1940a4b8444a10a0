"""Choose the guard of an evaluator's output `quality` by free corrections, and count where it charges people.

    LEARNEDGEC_MIRROR=… python scripts/lab/guard.py open-mpnet [--number 200]

The rule is in docs/lab/open-mpnet.md. Corrections are those of ErAConD by people, and changed ones the same
with one change of meaning in words that they share with their source. JFLEG and GMEG choose nothing: their
references show how often the guard charges people who rewrite freely, and by how much.
"""

from __future__ import annotations

import argparse
import random

import numpy as np

from learnedgec import Evaluator, Runtime
from learnedgec.data.benchmarks import load_benchmark
from learnedgec.data.catalog.cases import load_words
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.m2 import apply_edits
from learnedgec.evaluators.package import Term, read_terms
from learnedgec.training.pairs.corrections import CHANGES, Changes
from learnedgec.types import Floats

PERCENTILE = 5
SHARES = (0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0)


def references_of(name: str, number: int) -> list[tuple[str, str]]:
    """Return the changed references of some sentences, each beside its source."""
    data = load_benchmark(name) if name.startswith("gmeg") else load_parallel(name)
    assert data.references is not None
    rows = list(zip(data.sources, data.references, strict=True))
    chosen = random.Random(0).sample(rows, min(number, len(rows)))
    pairs = [(source, each.text) for source, row in chosen for each in row]
    return list(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))


def changed(pairs: list[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Return sources, each with a correction and the same with one change of the meaning."""
    words = [word for sentence in load_words("ud-ewt:train") for word in sentence]
    changes = Changes(words, [text.split() for _, text in pairs], dict.fromkeys(CHANGES, 1.0))
    made = []
    for row, (source, text) in enumerate(pairs):
        edits = changes.draw(source.split(), text.split(), random.Random(row))
        if edits:
            made.append((source, text, apply_edits(text, edits[:1])))
    return made


def main() -> None:
    """Print the floor, the weight and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("evaluator")
    parser.add_argument(
        "--number", type=int, default=200, help="sentences, and a fifth of it for the counts"
    )
    options = parser.parse_args()
    runtime = Runtime(dtype="float32")
    evaluator = Evaluator.load(options.evaluator, runtime=runtime)
    terms = read_terms(evaluator.model.config.sums["quality"])
    plain = {head: term for head, term in terms.items() if term.below is None}

    def values(sources: list[str], texts: list[str]) -> tuple[Floats, Floats]:
        """Return `quality` without a guard, and `meaning`."""
        heads = evaluator.predict(sources, texts, [*plain, "meaning"], runtime=runtime)
        total: Floats = np.sum([term.of(heads[head]) for head, term in plain.items()], axis=0)
        return total, heads["meaning"]

    pairs = references_of("eracond", options.number)
    sources, texts = (list(side) for side in zip(*pairs, strict=True))
    quality, meaning = values(sources, texts)
    before, same = values(sources, sources)
    floor = float(np.percentile(meaning, PERCENTILE))
    unit = float(quality.std() / meaning.std())
    print(
        f"{len(pairs)} corrections: t = {floor:.4f}, sd quality / sd meaning = {unit:.4f}",
        flush=True,
    )

    rows = changed(pairs)
    of_pair = {pair: number for number, pair in enumerate(pairs)}
    kept = [of_pair[source, text] for source, text, _ in rows]
    other, lost = values([row[0] for row in rows], [row[2] for row in rows])
    shares: dict[float, tuple[float, float]] = {}
    for share in SHARES:
        guard = Term(share * unit, floor)
        right, wrong = quality + guard.of(meaning), other + guard.of(lost)
        above = float((right > before + guard.of(same)).mean())
        shares[share] = float((right[kept] > wrong).mean()), above
        print(
            f"| {share:g} | {guard.weight:.4f} | {shares[share][0]:.3f} | {above:.3f} |", flush=True
        )
    error = np.sqrt(shares[0][1] * (1 - shares[0][1]) / len(pairs))
    allowed = {k: right for k, (right, above) in shares.items() if above >= shares[0][1] - error}
    best = max(allowed.values())
    least = best - np.sqrt(best * (1 - best) / len(rows))
    share = min(k for k, right in allowed.items() if right >= least)
    floor = round(floor, 3)
    guard = Term(round(share * unit, 3), floor)
    print(f"{len(rows)} changed: w = {guard.weight:g} ({share:g}), t = {floor:g}", flush=True)

    for name in ("jfleg:dev", "gmeg:wiki", "gmeg:fce"):
        pairs = references_of(name, options.number // 5)
        sources, texts = (list(side) for side in zip(*pairs, strict=True))
        quality, meaning = values(sources, texts)
        before, same = values(sources, sources)
        below = meaning < floor
        gain, charge = quality - before, guard.of(meaning) - guard.of(same)
        print(
            f"| {name} | {len(pairs)} | {below.mean():.3f} | {np.median(charge[below]):.3f} | "
            f"{(gain < 0).mean():.3f} | {(gain + charge < 0).mean():.3f} | "
            f"{np.median((gain + charge)[below]):.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
