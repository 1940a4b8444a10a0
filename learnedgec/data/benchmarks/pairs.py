"""Benchmarks of pairwise preferences: outputs and corrections of JFLEG, and the human post-edits of PEET."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
from rapidfuzz.distance import Levenshtein

from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.benchmarks.folder import read_outputs
from learnedgec.data.catalog.files import dataset_file
from learnedgec.data.catalog.outputs import Ranking
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.references import References
from learnedgec.data.tables import read_table
from learnedgec.data.text import read_lines
from learnedgec.errors import InputError


def jfleg(outputs: str) -> Benchmark:
    """Return JFLEG dev with the pairwise judgements of Napoles et al. (2017), or with constructed ones.

    The judged outputs are not public. A folder holds those that you have, 754 lines each: `AMU.txt`,
    `CAMB.txt`, `NMT.txt`, `NUS.txt`, `turk.txt`; `orig`, the source, needs no file. Judgements of the others
    remain in `rankings`, and a notice names them.

    The judgements number sentences by their GUG `Id`; JFLEG dev is the GUG test split in order.

    Args:
        outputs: the folder, or `references` for `_jfleg_references`.

    Raises:
        InputError: no folder is named, or it has none of the judged outputs.
    """
    if not outputs:
        raise InputError(
            "jfleg needs the outputs of the judged systems, which are not public; write jfleg:FOLDER "
            "if you have them, gmeg:fce (or, for reports only, peet) for the nearest real judgements, "
            "or jfleg:references for constructed ones."
        )
    if outputs == "references":
        return _jfleg_references()
    data = load_parallel("jfleg:dev")
    gug = read_table(dataset_file("gug", "gug_annotations.tsv"), "\t")
    test_split = [record["Id"] for _, record in gug if record["Dataset"] == "test"]
    number = {identity: position for position, identity in enumerate(test_split)}
    rankings = []
    for _, record in read_table(dataset_file("jfleg", "EACL_exp/mturk/pairwise.csv")):
        ranks = {record[f"system{side}Id"]: int(record[f"system{side}rank"]) for side in (1, 2)}
        rankings.append(Ranking(number[record["srcIndex"]], ranks, record["judgeId"]))
    judged = {name for ranking in rankings for name in ranking.ranks}
    by_system = read_outputs(Path(outputs), data.sources)
    if not judged & set(by_system):
        raise InputError(
            f"{outputs} has no output of a system that was judged on JFLEG; add one of "
            f"{', '.join(f'{name}.txt' for name in sorted(judged - {'orig'}))}."
        )
    systems = {"orig": data.sources, **{n: text for n, text in by_system.items() if n in judged}}
    missing = sorted(judged - set(systems))
    return Benchmark(
        name=f"jfleg:{outputs}",
        sources=data.sources,
        systems=systems,
        references=data.references,
        rankings=tuple(rankings),
        notices=(f"no output of {', '.join(missing)} was given.",) if missing else (),
    ).exclude_own_references()


def _jfleg_references() -> Benchmark:
    """Return JFLEG dev with its four expert corrections as the systems, and the source as a fifth.

    Nobody compared these texts; the rankings are constructed. An expert's correction is preferred to the
    source that it changes. Two corrections of a sentence are ordered by their GLEU, each with the other three
    corrections as references. A metric sees the same references, and all four for the source.
    """
    data = load_parallel("jfleg:dev")
    experts = [f"expert-{number}" for number in range(1, 5)]
    rankings = []
    for sentence, (source, row) in enumerate(zip(data.sources, data.references, strict=True)):
        texts = [reference.text for reference in row]
        rankings += [
            Ranking(sentence, {name: 1, "source": 2}, "experts")
            for name, text in zip(experts, texts, strict=True)
            if text.split() != source.split()
        ]
        scores = [
            sum(_gleu(source, text, other) for other in texts[:place] + texts[place + 1 :])
            for place, text in enumerate(texts)
        ]
        better = [sum(other > score + 1e-9 for other in scores) for score in scores]
        ranks = {name: 1 + count for name, count in zip(experts, better, strict=True)}
        rankings.append(Ranking(sentence, ranks, "leave-one-out GLEU"))
    columns = zip(*data.references.texts(), strict=True)
    return Benchmark(
        name="jfleg:references",
        sources=data.sources,
        systems={**dict(zip(experts, columns, strict=True)), "source": data.sources},
        references=data.references,
        rankings=tuple(rankings),
        excluded={name: frozenset({place}) for place, name in enumerate(experts)},
        notices=(
            "constructed: nobody compared these texts; experts' corrections are preferred to the source, and "
            "ordered by GLEU with the others' as references, which favours GLEU.",
        ),
    )


def _gleu(source: str, hypothesis: str, reference: str) -> float:
    """Return GLEU of a sentence with one reference; the metric `gleu`, its equal, is beyond data's reach."""
    tokens = [text.split() for text in (source, hypothesis, reference)]
    total = min(0.0, 1 - len(tokens[2]) / max(len(tokens[1]), 1))
    for order in range(1, 5):
        s, h, r = (
            Counter(tuple(words[start : start + order]) for start in range(len(words) + 1 - order))
            for words in tokens
        )
        wrongly_kept = h & Counter({ngram: count for ngram, count in s.items() if ngram not in r})
        numerator = (h & r).total() - wrongly_kept.total()
        total += math.log(max(numerator, 1) / max(h.total(), 1)) / 4
    return math.exp(total)


def peet(part: str = "all") -> Benchmark:
    """Return the outputs of PEET, each with its human post-edit.

    Args:
        part: the outputs of one system (`gecpd`, `gector`), or of both after one another (`all`): 4,477
            sentences each.

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
    for name in ("gecpd", "gector") if part == "all" else (part,):
        parallel = load_parallel(f"peet:{name}")
        outputs += parallel.sources
        edited += [row[0].text for row in parallel.references]
        corrections += read_lines(dataset_file("peet", "Dataset/BEA19/source_EC.txt"))
    tokens = [(o.split(), e.split()) for o, e in zip(outputs, edited, strict=True)]
    changed = [number for number, (output, edit) in enumerate(tokens) if output != edit]
    effort = [1 - Levenshtein.distance(o, e) / (len(e) or 1) for o, e in tokens]
    rows = [*range(len(outputs)), *changed]
    judged = [*changed, *range(len(outputs), len(rows))]
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
                "output": np.array(effort + [np.nan] * len(changed)),
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
