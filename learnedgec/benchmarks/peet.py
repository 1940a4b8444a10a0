"""PEET: what an editor still changed in two systems' corrections of BEA-2019 test."""

from __future__ import annotations

from typing import Literal

import numpy as np

from learnedgec.benchmarks.base import Benchmark
from learnedgec.catalog.files import dataset_file
from learnedgec.catalog.judgements import Ranking
from learnedgec.catalog.parallel import load_parallel
from learnedgec.formats.references import References
from learnedgec.formats.text import read_lines
from learnedgec.metrics.hter import Hter

__all__ = [
    "peet",
]

_PARTS = ("gecpd", "gector")


def peet(part: Literal["all", "gecpd", "gector"] = "all") -> Benchmark:
    """Return the post-edited outputs of PEET: each output beside what an editor made of it.

    Args:
        part: the outputs of one system, or of both after one another: 4,477 sentences each.

    What learners wrote is not in the files. An editor preferred the own text to the output in each sentence
    that was changed (2,402 and 2,389), and it is asked whether a metric does; the two texts are the `systems`
    `output` and `edited`, and nothing is measured between them. As source each such sentence stands here
    twice: first the output, which `edited` corrects, and behind all of those the edited text, which `output`
    spoils. Whatever only likes or dislikes changes is right in half of these; a metric that does not read the
    source has the same answer twice.

    The dimension `effort` (`--human effort`) asks whether a metric's score of an output tracks the edits that
    it still needed: 1 less the edits per token (`hter` with the editor's text as its reference), of every
    output, with itself as source. The references are what an editor made of the learners' sentences without
    a system.

    No released evaluator learns from these sentences: they are held out.

    Source: the files of Vadehra and Poupart's PEET Scorer.
    """
    outputs: list[str] = []
    edited: list[str] = []
    corrections: list[str] = []
    for each in _PARTS if part == "all" else (part,):
        parallel = load_parallel(f"peet:{each}")
        outputs += parallel.sources
        edited += [row[0].text for row in parallel.references]
        corrections += read_lines(dataset_file("peet", "Dataset/BEA19/source_EC.txt"))
    changed = [
        number
        for number, (output, text) in enumerate(zip(outputs, edited, strict=True))
        if output.split() != text.split()
    ]
    needed = Hter().score(outputs, outputs, [[text] for text in edited]).sentences
    rows = [*range(len(outputs)), *changed]
    judged = [*changed, *range(len(outputs), len(rows))]
    nothing = np.full(len(changed), np.nan)
    return Benchmark(
        name="peet" if part == "all" else f"peet:{part}",
        sources=(*outputs, *(edited[number] for number in changed)),
        systems={
            name: tuple(texts[number] for number in rows)
            for name, texts in (("output", outputs), ("edited", edited))
        },
        references=References.from_texts([corrections[number] for number in rows]),
        rankings=tuple(Ranking(row, {"edited": 1, "output": 2}) for row in judged),
        ratings={
            "effort": {
                "output": np.concatenate([needed, nothing]),
                "edited": np.full(len(rows), np.nan),
            }
        },
        notices=(
            "each pair of texts stands here twice, with either of them as the source, since what learners "
            "wrote is not published; whoever likes all changes is right in half of the comparisons.",
        ),
        anonymous=True,
    )
