"""The sentences of CoNLL-2014 and their references, which SEEDA and GJG15 share."""

from __future__ import annotations

import dataclasses
from typing import Literal

from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.references import References

Rewrites = Literal["official", "rewrites"]


def conll14(references: Rewrites) -> tuple[tuple[str, ...], References]:
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
