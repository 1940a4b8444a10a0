"""How often metrics prefer a correction to the same text with another meaning, by the kind of change.

    LEARNEDGEC_MIRROR=… python scripts/lab/meaning.py "preference[open-mpnet]" preference … [--number 200]

The corrections are the first references of JFLEG's test part, from which no evaluator here has learned the
meaning. One change is made in words that the correction shares with its source
(`learnedgec.training.pairs.meaning`): a negation, an opposite, a number, a name, another word, or words left
out. A tie counts as wrong. docs/lab/open-mpnet.md has the table.
"""

from __future__ import annotations

import argparse
import random

from learnedgec import Runtime, load_metric
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.catalog.sentences import load_words
from learnedgec.data.m2 import apply_edits
from learnedgec.training.pairs.meaning import CHANGES, Changes


def changed_corrections(number: int) -> dict[str, list[tuple[str, str, str]]]:
    """Return kind -> sources, each with a correction and the same with one change of this kind."""
    data = load_parallel("jfleg:test")
    rows = [(s, row[0].text) for s, row in zip(data.sources, data.references, strict=True)]
    words = [word for sentence in load_words("ud-ewt:train") for word in sentence]
    texts = [text.split() for _, text in rows]
    made: dict[str, list[tuple[str, str, str]]] = {}
    for kind in CHANGES:
        changes = Changes(words, texts, {kind: 1.0})
        for row, (source, text) in enumerate(rows):
            edits = changes.draw(source.split(), text.split(), random.Random(f"{kind} {row}"))
            if edits and source != text:
                made.setdefault(kind, []).append((source, text, apply_edits(text, edits[:1])))
        random.Random(0).shuffle(made[kind])
        made[kind] = made[kind][:number]
    return made


def main() -> None:
    """Score the pairs and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("metrics", nargs="+")
    parser.add_argument("--number", type=int, default=200, help="pairs of a kind")
    options = parser.parse_args()
    made = changed_corrections(options.number)
    print(
        "| metric |", " | ".join(f"{kind} ({len(rows)})" for kind, rows in made.items()), "| mean |"
    )
    print("| --- |" + " --- |" * (len(made) + 1))
    for name in options.metrics:
        metric = load_metric(name)
        shares = []

        for rows in made.values():
            sources = [source for source, _, _ in rows] * 2
            texts = [text for _, text, _ in rows] + [text for _, _, text in rows]
            statistics = metric.statistics(sources, texts, runtime=Runtime(dtype="auto"))
            scores = metric.sentence_scores(statistics).reshape(2, -1)
            shares.append(float((scores[0] > scores[1]).mean()))

        cells = " | ".join(f"{share:.3f}" for share in [*shares, sum(shares) / len(shares)])
        print(f"| `{name}` | {cells} |", flush=True)


if __name__ == "__main__":
    main()
