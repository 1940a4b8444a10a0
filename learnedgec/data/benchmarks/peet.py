"""PEET: human post-edits of two systems' corrections of BEA-2019 test."""

from __future__ import annotations

from typing import Literal

import numpy as np
from rapidfuzz.distance import Levenshtein

from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.catalog.files import dataset_file
from learnedgec.data.catalog.judgements import Ranking
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.references import References
from learnedgec.data.text import read_lines

__all__ = [
    "peet",
]

_PARTS = ("gecpd", "gector")


def peet(part: Literal["all", "gecpd", "gector"] = "all") -> Benchmark:
    """Return the outputs of PEET, each with its human post-edit.

    Args:
        part: the outputs of one system, or of both after one another: 4,477 sentences each.

    The files do not include the learners' sentences. In each sentence that the editor changed (2,402 and
    2,389), the editor preferred the edited text to the output; the comparisons ask whether a metric does so
    too. The two texts are the `systems` `output` and `edited`, which are not compared as systems. Each such
    sentence occurs twice, with different sources: first the output, which `edited` corrects, and after all of
    those the edited text, which `output` spoils. A metric that only likes or dislikes changes is right in
    half of the comparisons; a metric that does not read the source gives the same answer twice.

    The dimension `effort` (`--human effort`) asks whether a metric's score for an output tracks the edits
    that it still needed. It is 1 minus the edits per token (`hter` with the editor's text as reference) for
    every output, with the output itself as source. The references are an editor's corrections of the
    learners' sentences, made without a system.

    No released evaluator is trained on these sentences: they are held out.

    Source: the files of Vadehra and Poupart's PEET Scorer.
    """
    outputs: list[str] = []
    edited: list[str] = []
    corrections: list[str] = []
    for name in _PARTS if part == "all" else (part,):
        parallel = load_parallel(f"peet:{name}")
        outputs += parallel.sources
        edited += [row[0].text for row in parallel.references]
        corrections += read_lines(dataset_file("peet", "Dataset/BEA19/source_EC.txt"))
    changed = [
        number
        for number, (output, text) in enumerate(zip(outputs, edited, strict=True))
        if output.split() != text.split()
    ]
    effort = np.array(
        [
            1 - Levenshtein.distance(output.split(), text.split()) / (len(text.split()) or 1)
            for output, text in zip(outputs, edited, strict=True)
        ]
    )
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
                "output": np.concatenate([effort, nothing]),
                "edited": np.full(len(rows), np.nan),
            }
        },
        notices=(
            "each pair of texts occurs twice, with either text as the source, because the learners' "
            "sentences are not published; a metric that prefers every change is right in half of the "
            "comparisons.",
            "for `effort`, the scored output is its own source: without edits, M2, ERRANT and CLEME say only "
            "whether it equals the reference, and `edit-count` and `preference` are undefined.",
            "`effort` is itself computed by `hter`, from the editor's text, which favours `hter`.",
        ),
        anonymous=True,
    )
