"""How often metrics prefer a correction to the same text with another meaning, by the kind of change.

    LEARNEDGEC_MIRROR=… python scripts/lab/meaning.py "preference[open-mpnet]" reward … [--number 200]

`reward` is the default of `learnedgec.reward`. The last column: the share of corrections above their source.

The corrections are the first references of JFLEG's test part, from which no evaluator here has learned the
meaning. One change is made in words that the correction shares with its source
(`learnedgec.training.pairs.corrections`): a negation, an opposite, a number, a name, another word, words left
out, another tense, or a phrase more. A tie counts as wrong. docs/lab/open-mpnet.md and
docs/explanation/hacking.md have the tables.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence

import numpy as np

from learnedgec import Runtime, reward
from learnedgec.data.catalog.cases import load_words
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.training.pairs.corrections import CHANGES, Changes, shared_places

# Verbs with the same verb in another tense, and phrases that say something more.
TENSES = {"is": "was", "are": "were", "was": "is", "were": "are", "has": "had", "have": "had"}
TENSES |= {"had": "have", "do": "did", "does": "did", "did": "do", "will": "would", "can": "could"}
TENSES |= {"would": "will", "could": "can"}
ADDED = (
    "in Paris",
    "with my mother",
    "last year",
    "every Monday",
    "for no reason",
    "because of him",
)


def other_change(
    kind: str, source: Sequence[str], text: Sequence[str], generator: random.Random
) -> list[Edit]:
    """Return another tense of a verb that both texts have, or a phrase more; none where there is no place."""
    if kind == "tense":
        places = [place for place in shared_places(source, text) if text[place] in TENSES]
        place = generator.choice(sorted(places)) if places else None
        return [] if place is None else [Edit(place, place + 1, TENSES[text[place]])]
    end = len(text) - 1
    return [Edit(end, end, generator.choice(ADDED))] if end > 7 and text[end] in ".!?" else []


def changed_corrections(number: int) -> dict[str, list[tuple[str, str, str]]]:
    """Return kind -> sources, each with a correction and the same with one change of this kind."""
    data = load_parallel("jfleg:test")
    rows = [(s, row[0].text) for s, row in zip(data.sources, data.references, strict=True)]
    words = [word for sentence in load_words("ud-ewt:train") for word in sentence]
    texts = [text.split() for _, text in rows]
    made: dict[str, list[tuple[str, str, str]]] = {}
    for kind in (*CHANGES, "tense", "addition"):
        changes = Changes(words, texts, {kind: 1.0}) if kind in CHANGES else None
        for row, (source, text) in enumerate(rows):
            drawn = (source.split(), text.split(), random.Random(f"{kind} {row}"))
            edits = changes.draw(*drawn) if changes else other_change(kind, *drawn)
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
    kinds = " | ".join(f"{kind} ({len(rows)})" for kind, rows in made.items())
    print(f"| metric | {kinds} | mean | above the source |")
    print("| --- |" + " --- |" * (len(made) + 2))
    runtime = Runtime(dtype="auto")
    for name in options.metrics:
        function = (
            reward(runtime=runtime)
            if name == "reward"
            else reward(name, centre=True, runtime=runtime)
        )
        shares, above = [], []
        for rows in made.values():
            sources = [source for source, _, _ in rows] * 2
            texts = [text for _, text, _ in rows] + [text for _, _, text in rows]
            earned = np.array(function(completions=texts, source=sources), dtype=float)
            right, changed = earned.reshape(2, -1)
            shares.append(float((right > changed).mean()))
            above.append(float((right > 0).mean()))
        means = [sum(column) / len(column) for column in (shares, above)]
        cells = " | ".join(f"{share:.3f}" for share in [*shares, *means])
        print(f"| `{name}` | {cells} |", flush=True)


if __name__ == "__main__":
    main()
