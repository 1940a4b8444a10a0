"""Benchmarks with rankings of the systems' outputs: SEEDA, GJG15, JFLEG and PEET."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
from rapidfuzz.distance import Levenshtein

from learnedgec.data.benchmarks.base import Benchmark, read_outputs
from learnedgec.data.catalog.files import dataset_file
from learnedgec.data.catalog.outputs import Outputs, Ranking, load_outputs, load_rankings
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.references import References
from learnedgec.data.tables import read_table
from learnedgec.data.text import read_lines
from learnedgec.errors import InputError

# -- CoNLL-2014: SEEDA and GJG15 --------------------------------------------------------------------


# The systems, of 15, that Kobayashi et al. (2024) leave out of each set.
SEEDA_SETS: Mapping[str, tuple[str, ...]] = {
    "base": ("INPUT", "REF-F", "GPT-3.5"),
    "+fluency": ("INPUT",),
    "+input": ("REF-F", "GPT-3.5"),
    "all": (),
}

# Table 3 of Grundkiewicz et al. (2015), best system first.
_GJG15_SCORES: Mapping[str, Mapping[str, float]] = {
    "EW": {
        "AMU": 0.628, "RAC": 0.566, "CAMB": 0.561, "CUUI": 0.550, "POST": 0.539, "UFC": 0.513,
        "PKU": 0.506, "UMC": 0.495, "IITB": 0.485, "SJTU": 0.463, "INPUT": 0.456, "NTHU": 0.437,
        "IPN": 0.300,
    },
    "TS": {
        "AMU": 0.273, "CAMB": 0.182, "RAC": 0.114, "CUUI": 0.105, "POST": 0.080, "PKU": -0.001,
        "UMC": -0.022, "UFC": -0.041, "IITB": -0.055, "INPUT": -0.062, "SJTU": -0.074,
        "NTHU": -0.142, "IPN": -0.358,
    },
}  # fmt: skip


def seeda(
    granularity: Literal["sentence", "edit"],
    systems: str = "base",
    text: str = "subset",
    references: str = "official",
) -> Benchmark:
    """Return SEEDA (Kobayashi et al. 2024): rankings of 15 systems on 391 sentences of CoNLL-2014.

    Args:
        granularity: SEEDA-S (whole sentences were judged) or SEEDA-E (the edits).
        systems: `base`, the 12 systems without INPUT, REF-F and GPT-3.5; `+fluency` adds REF-F and
            GPT-3.5; `+input` adds INPUT; `all` has the 15.
        text: `subset`, the 391 judged sentences; `full`, all 1,312, for a metric's system scores; `dev` or
            `test`, a half of the judged sentences. They are ordered by the SHA-256 of `seeda:NUMBER`, and
            `dev` has the first 196. SEEDA-S and SEEDA-E have the same halves.
        references: `official`, the two annotators of CoNLL-2014; `rewrites`, these and the eight rewrites
            of Sakaguchi et al. (2016). REF-F is the experts' fluency rewrite A, and REF-M their minimal
            rewrite A.

    The official scores `EW` and `TS` are computed from the judgements of all 15 systems. The halves have no
    official scores: theirs are computed from their own judgements.
    """
    outputs = load_outputs("seeda")
    official = {}
    if text in ("subset", "full"):
        for score in ("EW", "TS"):
            file = dataset_file("seeda", f"scores/human/{score}_{granularity[:4]}.txt")
            official[score] = dict(zip(sorted(outputs), map(float, read_lines(file)), strict=True))
    name = _name(f"seeda-{granularity[0]}:{systems}", text, references)
    whole = _ranked(name, f"seeda:{granularity}", outputs, references, official)
    dev, test = _split(whole, "seeda", 1 / 2)
    sentences = {"subset": sorted(dev + test), "full": None, "dev": dev, "test": test}[text]
    chosen = whole.select([name for name in outputs if name not in SEEDA_SETS[systems]], sentences)
    rewrites = [name for name in ("REF-F", "REF-M") if name in chosen.systems]
    if rewrites and references == "official":
        verb = "is an expert rewrite" if len(rewrites) == 1 else "are expert rewrites"
        notice = f"{' and '.join(rewrites)} {verb}, not among the references of the two annotators."
        return dataclasses.replace(chosen, notices=(notice,))
    # With `rewrites`, REF-F and REF-M are references as well as systems.
    return chosen.exclude_own_references()


def gjg15(systems: str = "13", split: str = "", references: str = "official") -> Benchmark:
    """Return GJG15 (Grundkiewicz et al. 2015): rankings of the CoNLL-2014 systems.

    Args:
        systems: `13` with INPUT, or `12` without.
        split: nothing for all 1,312 sentences; `dev10` for a tenth of the 663 judged sentences, on
            which sentence-level weights may be tuned, and `test90` for the rest of them. The judged
            sentences are ordered by the SHA-256 of `gjg15:NUMBER` and the first tenth is dev10, so all
            judgements of one sentence are on one side. (Yoshimura et al. 2020 drew their tenth at
            random and did not publish it.) Published scores are of all judgements, so parts have none.
        references: as for `seeda`.
    """
    outputs = load_outputs("gjg15")
    name = _name(f"gjg15:{systems}", split, references)
    whole = _ranked(name, "gjg15", outputs, references, {} if split else _GJG15_SCORES)
    dev, test = _split(whole, "gjg15", 1 / 10)
    sentences = {"": None, "dev10": dev, "test90": test}[split]
    return whole.select([name for name in outputs if systems == "13" or name != "INPUT"], sentences)


def _name(*words: str) -> str:
    """Return the name of a benchmark, without the words that choose a default."""
    return ":".join(word for word in words if word not in ("", "subset", "official"))


def _ranked(
    name: str,
    dataset: str,
    outputs: Outputs,
    references: str,
    official: Mapping[str, Mapping[str, float]],
) -> Benchmark:
    """Return all of CoNLL-2014 with outputs and the rankings of a dataset; see `seeda` for `references`."""
    sentences = load_parallel("conll14")
    rows = sentences.references.rows
    if references == "rewrites":
        # Annotators 0 and 1 are the official ones.
        rows = tuple(
            (*row, *(dataclasses.replace(r, annotator=r.annotator + 2) for r in rewrites))
            for row, rewrites in zip(rows, load_parallel("reassess").references, strict=True)
        )
    return Benchmark(
        name=name,
        sources=sentences.sources,
        systems=outputs,
        references=References(rows),
        rankings=tuple(load_rankings(dataset)),
        official=official,
    )


def _split(benchmark: Benchmark, dataset: str, share: float) -> tuple[list[int], list[int]]:
    """Return a share of the judged sentences, drawn by the SHA-256 of `DATASET:NUMBER`, and the others."""
    drawn = sorted(
        {ranking.sentence for ranking in benchmark.rankings},
        key=lambda number: hashlib.sha256(f"{dataset}:{number}".encode()).digest(),
    )
    size = round(share * len(drawn))
    return sorted(drawn[:size]), sorted(drawn[size:])


# -- JFLEG and PEET ---------------------------------------------------------------------------------


def jfleg(outputs: str) -> Benchmark:
    """Return JFLEG dev with the pairwise judgements of Napoles et al. (2017).

    The judged outputs are not public. A folder holds those that you have, of 754 lines each: `AMU.txt`,
    `CAMB.txt`, `NMT.txt`, `NUS.txt`, `turk.txt`; `orig`, the source, needs no file. Judgements of systems
    without a file remain in `rankings`, and a notice names these systems.

    The judgements number sentences by their GUG `Id`; JFLEG dev is the GUG test split in order.

    Args:
        outputs: the folder.

    Raises:
        InputError: no folder is named, or it has none of the judged outputs.
    """
    if not outputs:
        raise InputError(
            "jfleg needs the outputs of the judged systems, which are not public; write jfleg:FOLDER "
            "if you have them, or gmeg:fce (for reports only, peet) for the nearest judgements."
        )
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
    names = ("gecpd", "gector") if part == "all" else (part,)
    files = [load_parallel(f"peet:{name}") for name in names]
    outputs = [text for file in files for text in file.sources]
    edited = [row[0].text for file in files for row in file.references]
    corrections = read_lines(dataset_file("peet", "Dataset/BEA19/source_EC.txt")) * len(files)
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
