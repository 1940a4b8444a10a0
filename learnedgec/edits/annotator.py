"""ERRANT's edits: parse two sentences with a spaCy pipeline, align them, and extract typed edits.

`learnedgec.edits.annotators` describes the names of annotators.

The `errant` package compares tokens, finds an alignment in a table of costs, merges edits and types them.
`learnedgec.edits.parsing` fills its table faster and passes it plain Python tokens instead of spaCy's, whose
attributes are slow to access. The edits are the same.

Source: Bryant, Felice and Briscoe, "Automatic Annotation and Evaluation of Error Types for Grammatical Error
Correction" (ACL 2017); alignment: Felice, Bryant and Briscoe (COLING 2016).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from learnedgec.data.m2 import Edit
from learnedgec.data.references import References
from learnedgec.edits.annotators import (
    ANNOTATORS,
    BLOCK,
    find_annotator,
    registered_annotator,
)
from learnedgec.errors import InputError
from learnedgec.runtime.runtime import Runtime, parallel_map
from learnedgec.types import Texts

# The number of pairs whose edits a bound runtime remembers, unless one call has more.
_MAX_REMEMBERED = 100_000
# The number of sources, some 20 MB, whose parses a pipeline remembers before it forgets all.
_MAX_PARSED = 2_000


def extract_edits(
    pairs: Sequence[tuple[str, str]],
    annotator: str,
    *,
    types: bool = True,
    runtime: Runtime = Runtime(),
) -> list[tuple[Edit, ...]]:
    """Return ERRANT's edits between each source and target.

    Args:
        pairs: N sources and targets, tokens separated by spaces. Repeated pairs are annotated once, and
            sentences are parsed once.
        annotator: name of the annotator.
        types: whether edits have types; without types, dependencies are not parsed.
        runtime: number of processes and progress bar; a bound one remembers the edits.

    Returns:
        The edits of each pair, from left to right; empty if the tokens are equal.

    Raises:
        UnknownNameError, ModelError, PluginError: the annotator does not exist or cannot be loaded.

    Example:
        >>> edits, = extract_edits([("She go home .", "She goes home .")], "en-ewt-sm")
        >>> edits
        (Edit(start=1, end=2, correction='goes', type='R:VERB:SVA', alternatives=()),)
    """
    memory, typed = (runtime.open(_memory, annotator, kind) for kind in (types, True))
    edits: dict[tuple[str, str], tuple[Edit, ...]] = {}
    # Pairs are grouped by source, so that it is parsed once; pairs without a change need no parse.
    targets: dict[str, dict[str, None]] = {}
    untyped = not types and registered_annotator(annotator) is None
    for pair in dict.fromkeys(pairs):
        source, target = pair
        if source.split() == target.split():
            edits[pair] = ()
        elif untyped and (edit := _edit_of_one_token(source, target)):
            edits[pair] = (edit,)
        elif (known := memory.get(pair)) is not None:
            edits[pair] = known
        elif (known := typed.get(pair)) is not None:
            edits[pair] = tuple(replace(edit, type="") for edit in known)
        else:
            targets.setdefault(source, {})[target] = None
    new = _extract(targets, annotator, types, runtime)
    if len(memory) + len(new) > _MAX_REMEMBERED:
        memory.clear()
    memory |= new
    edits |= new
    return [edits[pair] for pair in pairs]


def _memory(annotator: str, types: bool) -> dict[tuple[str, str], tuple[Edit, ...]]:
    """Return an empty table, in which a bound runtime remembers the edits that an annotator finds."""
    return {}


def _extract(
    targets: Mapping[str, Iterable[str]], annotator: str, types: bool, runtime: Runtime
) -> dict[tuple[str, str], tuple[Edit, ...]]:
    """Return the edits between each source and its targets."""
    if registered_annotator(annotator) is None:
        work = partial(_extract_block, find_annotator(annotator).resolve(), types)
    else:
        work = partial(_annotate_block, annotator, types)
    blocks: list[list[tuple[str, str]]] = []
    size = BLOCK
    for source, changed in targets.items():
        if size >= BLOCK:
            blocks.append([])
            size = 0
        source_pairs = [(source, target) for target in changed]
        blocks[-1] += source_pairs
        size += len(source_pairs) + 1
    results = parallel_map(work, blocks, "edits", runtime, chunk_size=1)
    return dict(zip(chain(*blocks), chain(*results), strict=True))


def _annotate_block(
    annotator: str, types: bool, pairs: Sequence[tuple[str, str]]
) -> list[tuple[Edit, ...]]:
    """Return the edits of some pairs from an annotator that is not a pipeline."""
    return [tuple(edits) for edits in ANNOTATORS.find(annotator).annotate(pairs, types=types)]


def _extract_block(
    path: Path, types: bool, pairs: Sequence[tuple[str, str]]
) -> list[tuple[Edit, ...]]:
    """Return the edits of some pairs from a pipeline."""
    from learnedgec.edits.parsing import annotate, load_pipeline, parse_sentences, parsed_sources

    memory = parsed_sources(path, types)
    # Other threads may clear the memory meanwhile.
    known = memory.copy()
    texts = (text for pair in pairs for text in pair if text not in known)
    parsed = known | parse_sentences(load_pipeline(path, types), texts)
    if len(memory) > _MAX_PARSED:
        memory.clear()
    memory |= {source: parsed[source] for source, _ in pairs}
    return [annotate(parsed[source], parsed[target], types) for source, target in pairs]


def _edit_of_one_token(source: str, target: str) -> Edit | None:
    """Return the only edit if it has at most one token on each side, and so does not depend on a pipeline.

    Its alignment is the cheapest one, unless an inserted or deleted token repeats, apart from case, the token
    before it.
    """
    words, other = source.split(), target.split()
    while words and other and words[-1] == other[-1]:
        del words[-1], other[-1]
    start = 0
    while words[start : start + 1] == other[start : start + 1] != []:
        start += 1
    old, new = words[start:], other[start:]
    before = [word.lower() for word in words[start - 1 : start]]
    repeated = len(old) != len(new) and before == [word.lower() for word in old + new]
    if len(old) > 1 or len(new) > 1 or repeated:
        return None
    return Edit(start, start + len(old), " ".join(new))


def edits_of_targets(
    sources: Texts,
    hypotheses: Texts,
    references: References,
    extract: Callable[[Sequence[tuple[str, str]]], Sequence[tuple[Edit, ...]]],
) -> tuple[list[tuple[Edit, ...]], References]:
    """Return the edits of N hypotheses, and the references with edits for all of them.

    Args:
        sources: N sentences.
        hypotheses: N corrections of them.
        references: references of the N sentences. Gold edits are kept; edits of plain texts are extracted as
            for hypotheses.
        extract: function that returns the edits between each source and target; it is called once.

    Example:
        >>> from learnedgec.edits.max_match import reference_edits
        >>> edits, gold = edits_of_targets(
        ...     ["a b"], ["a c"], References.from_texts(["d b"]),
        ...     lambda pairs: [reference_edits(*pair) for pair in pairs],
        ... )
        >>> edits[0][0].correction, gold[0][0].edits[0].correction
        ('c', 'd')
    """
    pairs = list(zip(sources, hypotheses, strict=True)) + references.pairs_without_edits(sources)
    edits = extract(pairs)
    annotated = references.with_edits(sources, dict(zip(pairs, edits, strict=True)))
    return list(edits[: len(hypotheses)]), annotated


# -- error types at three levels of detail ----------------------------------------------------------


Tier: TypeAlias = Literal["type", "category", "operation"]
"""The level of detail of an error type: `R:VERB:SVA`, `VERB:SVA` or `R`."""

# The types of ERRANT and of `plain`, and the type that stands for no edit.
_ERRANTS = re.compile(r"[MRU](:|$)|noop$")

TIERS: tuple[Tier, ...] = get_args(Tier)


def at_tier(error_type: str, tier: Tier) -> str:
    """Return the name of an error type in a tier; types that are not ERRANT's are unchanged.

    Example:
        >>> at_tier("R:VERB:SVA", "category"), at_tier("Vform", "operation")
        ('VERB:SVA', 'Vform')
    """
    operation, colon, category = error_type.partition(":")
    if tier == "type" or not colon or operation not in ("M", "R", "U"):
        return error_type
    return category if tier == "category" else operation


def foreign_types(types: Iterable[str]) -> list[str]:
    """Return the sorted error types that are not ERRANT's; `UNK` belongs to every set of types.

    Example:
        >>> foreign_types(["R:NOUN:NUM", "Mec", "M", "UNK", "ArtOrDet"])
        ['ArtOrDet', 'Mec']
    """
    return sorted({kind for kind in types if not _ERRANTS.match(kind)} - {"UNK"})


def check_types(edits: Iterable[Iterable[Edit]], references: References) -> None:
    """Raise `InputError` if gold edits and a system's edits have different sets of error types.

    Args:
        edits: edits of a system in each sentence; its annotator may have its own set of types.
        references: references with gold edits.

    Raises:
        InputError: the gold edits' types are not ERRANT's, and the system's are.
    """
    foreign = foreign_types(
        edit.type for row in references for reference in row for edit in reference.edits or ()
    )
    if foreign and not foreign_types(edit.type for row in edits for edit in row):
        shown = ", ".join(foreign[:3]) + (", …" if len(foreign) > 3 else "")
        raise InputError(
            f"the gold edits' types ({shown}) are not ERRANT's, so counts by type would mix two sets; give "
            "the references as texts, without gold edits, or use errant(reannotate=True)."
        )
