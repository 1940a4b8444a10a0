"""SEEDA: 15 systems on CoNLL-2014, ranked by human annotators by sentences and by edits."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.benchmarks.conll14 import Rewrites, conll14
from learnedgec.data.catalog.files import dataset_file
from learnedgec.data.catalog.judgements import load_rankings
from learnedgec.data.catalog.outputs import load_outputs
from learnedgec.data.text import read_lines

__all__ = [
    "SEEDA_SETS",
    "seeda",
]

# Which of the 15 systems Kobayashi et al. (2024) leave out of each set.
SEEDA_SETS: Mapping[str, tuple[str, ...]] = {
    "base": ("INPUT", "REF-F", "GPT-3.5"),
    "+fluency": ("INPUT",),
    "+input": ("REF-F", "GPT-3.5"),
    "all": (),
}


def seeda(
    granularity: Literal["sentence", "edit"],
    systems: str = "base",
    text: Literal["subset", "full"] = "subset",
    references: Rewrites = "official",
) -> Benchmark:
    """Return SEEDA (Kobayashi et al. 2024): rankings of 15 systems on 391 sentences of CoNLL-2014.

    Args:
        granularity: SEEDA-S (whole sentences were judged) or SEEDA-E (the edits).
        systems: `base`, the 12 systems without INPUT, REF-F and GPT-3.5; `+fluency` adds REF-F and
            GPT-3.5; `+input` adds INPUT; `all` has the 15.
        text: the 391 judged sentences, or all 1,312 for a metric's system scores.
        references: the two annotators of CoNLL-2014, or these and the eight rewrites of Sakaguchi et
            al. (2016), of which REF-F is the experts' fluency and REF-M their minimal rewrite A.

    The official scores `EW` and `TS` are computed from the judgements of all 15 systems.
    """
    short = granularity[0]
    data = conll14(references)
    outputs = load_outputs("seeda")
    rankings = load_rankings(f"seeda:{granularity}")
    official = {
        score: dict(
            zip(
                sorted(outputs),
                map(
                    float,
                    read_lines(
                        dataset_file("seeda", f"scores/human/{score}_{granularity[:4]}.txt")
                    ),
                ),
                strict=True,
            )
        )
        for score in ("EW", "TS")
    }
    words = [f"seeda-{short}", systems]
    words += [text] if text != "subset" else []
    words += [references] if references != "official" else []
    whole = Benchmark(
        name=":".join(words),
        sources=data[0],
        systems=outputs,
        references=data[1],
        rankings=tuple(rankings),
        official=official,
        granularity=granularity,
    )
    chosen = whole.select(
        [name for name in outputs if name not in SEEDA_SETS[systems]],
        sorted({ranking.sentence for ranking in rankings}) if text == "subset" else None,
    )
    rewrites = [name for name in ("REF-F", "REF-M") if name in chosen.systems]
    if rewrites and references == "official":
        verb = "is an expert rewrite" if len(rewrites) == 1 else "are expert rewrites"
        notice = f"{' and '.join(rewrites)} {verb}, not among the references of the two annotators."
        return dataclasses.replace(chosen, notices=(notice,))
    return chosen.exclude_own_references()
