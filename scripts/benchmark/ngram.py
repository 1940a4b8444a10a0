"""Time GLEU and GREEN against the package gec-metrics, on the 15 SEEDA systems and CoNLL-14's references.

    python scripts/benchmark/ngram.py --peer-python VENV/bin/python

`VENV` has `gec-metrics` (0.1.1 was measured) and need not have learnedgec: the same file runs there. Both
sides get the same sentences in memory, one thread, and only scoring is timed. GLEU is compared with the
peer's `GLEUOfficial`, GREEN with its `GREEN`, both with their defaults.

The inputs are first made such that both sides define the same score: tokens are separated by one plain space
(the peer splits at that alone, and some outputs have two, or others); sentences shorter than 4 tokens are
left out (where an order has no n-gram the peer takes a recall of 1, the official GREEN and learnedgec 0), and
so are those where a system's GREEN is 0 with every reference (the peer then takes the first one, the official
GREEN the best in shorter n-grams).
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from measuring import Stopwatch, in_process

Inputs = dict[str, Any]


def read_seeda() -> Inputs:
    """Return sources, references and systems by name."""
    from learnedgec import References, load_metric
    from learnedgec.data.catalog import dataset, dataset_file
    from learnedgec.data.text import read_lines

    systems = {
        Path(file).stem: read_lines(dataset_file("seeda", file))
        for file in dataset("seeda").files
        if file.startswith("outputs/all/")
    }
    sources = read_lines(dataset_file("conll14", "data/source"))
    references = [
        read_lines(dataset_file("conll14", f"data/reference/ref{number}")) for number in (0, 1)
    ]
    rows = list(zip(sources, *references, *systems.values(), strict=True))
    rows = [tuple(" ".join(text.split()) for text in row) for row in rows]
    rows = [row for row in rows if min(len(text.split()) for text in row) >= 4]
    source, *others = map(list, zip(*rows, strict=True))
    green, choices = load_metric("green"), References.from_texts(*others[:2])
    scores = [green.score(source, lines, choices).sentences for lines in others[2:]]
    rows = [row for row, *values in zip(rows, *scores, strict=True) if min(values) > 0]
    source, *others = map(list, zip(*rows, strict=True))
    return {
        "sources": source,
        "references": others[:2],
        "systems": dict(zip(systems, others[2:], strict=True)),
    }


def run_learnedgec(inputs: Inputs) -> dict[str, Any]:
    import learnedgec

    references = learnedgec.References.from_texts(*inputs["references"])
    results: dict[str, Any] = {}
    for name in ("gleu", "green"):
        watch = Stopwatch()
        scores = learnedgec.score(name, inputs["sources"], inputs["systems"], references)
        results[name] = {
            "seconds": watch.wall,
            "scores": {system: score.value for system, score in scores.items()},
        }
    return results


def run_peer(inputs: Inputs) -> dict[str, Any]:
    metrics = importlib.import_module("gec_metrics.metrics")

    results: dict[str, Any] = {}
    for name, kind in (("gleu", metrics.GLEUOfficial), ("green", metrics.GREEN)):
        watch = Stopwatch()
        metric = kind(kind.Config())
        scores = {
            system: metric.score_corpus(inputs["sources"], hypotheses, inputs["references"])
            for system, hypotheses in inputs["systems"].items()
        }
        results[name] = {"seconds": watch.wall, "scores": scores}
    return results


def main() -> None:
    if sys.argv[1:] == ["--job"]:
        # `errant.py` beside this script is not the package of that name.
        sys.path.pop(0)
        print(json.dumps(run_peer(json.load(sys.stdin))))
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--peer-python", default=sys.executable, help="interpreter that has gec-metrics"
    )
    options = parser.parse_args()
    inputs = read_seeda()
    print(f"{len(inputs['systems'])} systems, {len(inputs['sources'])} sentences, 2 references")
    ours = run_learnedgec(inputs)
    peer = in_process(__file__, inputs, python=options.peer_python)
    for name, result in ours.items():
        other = peer[name]
        apart = max(abs(result["scores"][s] - other["scores"][s]) for s in result["scores"])
        ratio = other["seconds"] / result["seconds"]
        print(
            f"{name:6} learnedgec {result['seconds']:7.2f} s  gec-metrics {other['seconds']:7.2f} s  "
            f"ratio {ratio:6.1f}  largest difference of a score {apart:.1e}"
        )


if __name__ == "__main__":
    main()
