"""The two benchmarks on CoNLL-2014: SEEDA and GJG15."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Literal

from learnedgec.benchmarks.base import Benchmark
from learnedgec.catalog.files import path
from learnedgec.catalog.judgements import read_appraise
from learnedgec.catalog.outputs import load_outputs
from learnedgec.catalog.parallel import load_parallel
from learnedgec.references import References
from learnedgec.text import read_lines

__all__ = ["GJG15_SPLITS", "SEEDA_SETS", "gjg15", "seeda"]

Rewrites = Literal["official", "rewrites"]

# Which of the 15 systems Kobayashi et al. (2024) leave out of each set.
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

GJG15_SPLITS = ("dev10", "test90")


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
    data = _conll14(references)
    outputs = load_outputs("seeda")
    rankings = read_appraise(path("seeda", f"data/judgments_{granularity[:4]}.xml"), first=1)
    official = {
        score: dict(
            zip(
                sorted(outputs),
                map(
                    float, read_lines(path("seeda", f"scores/human/{score}_{granularity[:4]}.txt"))
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


def gjg15(
    systems: Literal["12", "13"] = "13", split: str = "", references: Rewrites = "official"
) -> Benchmark:
    """Return GJG15 (Grundkiewicz et al. 2015): rankings of the CoNLL-2014 systems.

    Args:
        systems: 13 with INPUT, or 12 without.
        split: nothing for all 1,312 sentences; `dev10` for a tenth of the 663 judged sentences, on
            which sentence-level weights may be tuned, and `test90` for the rest of them. The judged
            sentences are ordered by the SHA-256 of `gjg15:NUMBER` and the first tenth is dev10, so all
            judgements of one sentence are on one side. (Yoshimura et al. 2020 drew their tenth at
            random and did not publish it.)
        references: as for `seeda`.
    """
    data = _conll14(references)
    rankings = read_appraise(path("gjg15", "data/judgments.xml"))
    words = ["gjg15", systems]
    words += [split] if split else []
    words += [references] if references != "official" else []
    outputs = load_outputs("gjg15")
    whole = Benchmark(
        name=":".join(words),
        sources=data[0],
        systems=outputs,
        references=data[1],
        rankings=tuple(rankings),
        official=_GJG15_SCORES,
    )
    sentences = None
    if split:
        judged = sorted({ranking.sentence for ranking in rankings}, key=_split_key)
        cut = round(len(judged) / 10)
        sentences = sorted(judged[:cut] if split == "dev10" else judged[cut:])
    return whole.select([name for name in outputs if systems == "13" or name != "INPUT"], sentences)


def _split_key(sentence: int) -> bytes:
    return hashlib.sha256(f"gjg15:{sentence}".encode()).digest()


def _conll14(references: Rewrites) -> tuple[tuple[str, ...], References]:
    """Return the sources and the references of the two annotators, or of them and eight rewriters."""
    official = load_parallel("conll14")
    if references == "official":
        return official.sources, official.references
    rewrites = load_parallel("reassess").references
    return official.sources, References(
        tuple(
            (*row, *(dataclasses.replace(r, annotator=r.annotator + 2) for r in rewritten))
            for row, rewritten in zip(official.references, rewrites, strict=True)
        )
    )
