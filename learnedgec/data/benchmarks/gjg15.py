"""GJG15: the systems of CoNLL-2014, ranked by human annotators."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Literal

from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.benchmarks.conll14 import Rewrites, conll14
from learnedgec.data.catalog.judgements import load_rankings
from learnedgec.data.catalog.outputs import load_outputs

__all__ = [
    "GJG15_SPLITS",
    "gjg15",
]

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
    data = conll14(references)
    rankings = load_rankings("gjg15")
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
