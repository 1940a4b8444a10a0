"""Chunks and CLEME's counts by the words of their definition: slow, obvious, in one step per sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from hypothesis import strategies as st

from learnedgec.data.m2 import Edit


class Piece(NamedTuple):
    """A chunk: its source span, and for each target its tokens and whether it has an edit there."""

    start: int
    end: int
    targets: list[tuple[tuple[str, ...], bool]]


def correct(tokens: Sequence[str], edits: Sequence[Edit]) -> list[tuple[str, int | None]]:
    """Return the target's tokens, each with the number of the source token that it keeps, or `None`."""
    corrected: list[tuple[str, int | None]] = []
    position = 0
    for edit in edits:
        corrected += [(tokens[n], n) for n in range(position, edit.start)]
        corrected += [(token, None) for token in edit.correction.split()]
        position = edit.end
    return corrected + [(tokens[n], n) for n in range(position, len(tokens))]


def pieces(tokens: Sequence[str], targets: Sequence[Sequence[Edit]]) -> list[Piece]:
    """Return the chunks of a source and its targets, whose edits are by position and apart."""
    spans = [{edit.start, edit.end} for edits in targets for edit in edits]
    joined = True
    while joined:
        joined = False
        for one, other in combinations(spans, 2):
            if min(one) <= max(other) and min(other) <= max(one):
                spans = [span for span in spans if span is not one and span is not other]
                spans.append(one | other)
                joined = True
                break
    edited = sorted((min(span), max(span)) for span in spans)
    # Runs of tokens that no edit changes; an insertion between two tokens ends a run.
    gaps: list[list[int]] = []
    for number in range(len(tokens)):
        if any(start <= number < end for start, end in edited):
            continue
        if gaps and gaps[-1][-1] == number - 1 and (number, number) not in edited:
            gaps[-1].append(number)
        else:
            gaps.append([number])
    bounds = sorted([*edited, *((gap[0], gap[-1] + 1) for gap in gaps)])
    chunks = []
    for start, end in bounds:
        row = []
        for edits in targets:
            corrected = correct(tokens, edits)
            origins = [origin for _, origin in corrected]
            if (start, end) in edited:
                first = origins.index(start - 1) + 1 if start else 0
                last = origins.index(end) if end < len(tokens) else len(corrected)
            else:
                first, last = origins.index(start), origins.index(end - 1) + 1
            changed = any(start <= edit.start and edit.end <= end for edit in edits)
            changed = changed and (start, end) in edited
            row.append((tuple(token for token, _ in corrected[first:last]), changed))
        chunks.append(Piece(start, end, row))
    return chunks


def kinds(chunks: Sequence[Piece], assumption: str) -> list[list[str]]:
    """Return for each reference what each chunk of the hypothesis, the first target, counts as."""
    rows: list[list[str]] = []
    for column in range(1, len(chunks[0].targets) if chunks else 2):
        row = []
        for chunk in chunks:
            (tokens, changed), *others = chunk.targets
            if assumption == "dependent":
                others = [chunk.targets[column]]
                missed = tokens != others[0][0]
            else:
                missed = all(other for _, other in others)
            if changed and tokens in [other for other, _ in others]:
                row.append("tp")
            elif changed:
                row.append("fp_ne" if any(other for _, other in others) else "fp_un")
            else:
                row.append("fn" if missed else "tn")
        rows.append(row)
    return rows


def length_weight(kind: str, length: int, mean: float, scales: Sequence[Sequence[float]]) -> float:
    """Return what a chunk weighs by its length; `scales` has α, least and most of tp, fp and fn."""
    if kind == "tn" or math.isnan(mean):
        return 1.0
    alpha, least, most = scales[{"tp": 0, "fn": 2}.get(kind, 1)]
    distance = length - mean if kind.startswith("fp") else mean - length
    return min(max(alpha / (1 + (alpha - 1) * math.exp(distance)), least), most)


@st.composite
def edits_of(draw: st.DrawFn, length: int) -> tuple[Edit, ...]:
    """Return edits by position and apart; some cancel themselves."""
    edits: list[Edit] = []
    position = 0
    while position <= length and len(edits) < 4:
        start = draw(st.integers(position, length))
        end = min(length, start + draw(st.integers(0, 2)))
        words = draw(st.lists(st.sampled_from("abc"), max_size=2))
        if start == end and not words:
            break
        edits.append(Edit(start, end, " ".join(words)))
        # Two insertions at one place are one edit; a replacement may follow an insertion.
        position = end if end > start else draw(st.sampled_from([end, end + 1]))
        if start == end and position == end and draw(st.booleans()):
            position = end + 1
    return tuple(edits)


@st.composite
def sentences(draw: st.DrawFn) -> tuple[list[str], list[tuple[Edit, ...]]]:
    """Return a source, and the edits of a hypothesis and of one to three references."""
    tokens = draw(st.lists(st.sampled_from("abc"), max_size=7))
    targets = draw(st.integers(2, 4))
    return tokens, [draw(edits_of(len(tokens))) for _ in range(targets)]
