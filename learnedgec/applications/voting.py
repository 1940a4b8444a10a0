"""Combine the edits of several candidates: an edit is kept if enough of them made it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from learnedgec.applications.rerank import Candidates, as_candidates, check_candidates
from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.data.sentences import Systems
from learnedgec.edits.annotator import extract_edits
from learnedgec.errors import ConfigError
from learnedgec.runtime.runtime import Runtime


def vote(
    sources: Sequence[str],
    systems: Systems | Candidates,
    *,
    annotator: str,
    threshold: float = 0.5,
    runtime: Runtime = Runtime(),
) -> list[str]:
    """Return each source with the edits applied that more than a share of its candidates made.

    Source: Tarnavskyi, Chernodub and Omelianchuk, "Ensembling and Knowledge Distilling of Large Sequence
    Taggers for Grammatical Error Correction" (ACL 2022), who keep the edits that a minimum number of systems
    made.

    Args:
        sources: N sources.
        systems: each system's N texts, by name, or for each source a list of one or more candidates.
        annotator: the name of the spaCy pipeline that finds the edits.
        threshold: the share of votes that an edit must exceed, from 0 up to, but not including, 1.
        runtime: `jobs` and `progress`.

    Raises:
        InputError: a source has no candidate.
        ConfigError: the threshold is out of range.

    Example:
        >>> candidates = [["He goes home", "He goes home", "He went home"]]
        >>> vote(["He go home"], candidates, annotator="en-ewt-sm")
        ['He goes home']
    """
    if not 0 <= threshold < 1:
        raise ConfigError(f"threshold is {threshold:g}; give a share of votes from 0 to below 1.")
    candidates = as_candidates(systems)
    check_candidates(sources, candidates)
    pairs = [
        (source, text) for source, row in zip(sources, candidates, strict=True) for text in row
    ]
    extracted = iter(extract_edits(pairs, annotator, types=False, runtime=runtime))
    texts = []
    for source, row in zip(sources, candidates, strict=True):
        votes = Counter(edit for _ in row for edit in dict.fromkeys(next(extracted)))
        shares = {edit: count / len(row) for edit, count in votes.items()}
        texts.append(apply_edits(source, _compatible(shares, threshold)))
    return texts


def _compatible(shares: Mapping[Edit, float], threshold: float) -> list[Edit]:
    """Return the edits above a share of votes that can be applied together.

    Where they overlap, which takes a threshold below one half, the one with more votes stays, then the one
    further left, then the shorter one. Two insertions at one place overlap too.
    """
    voted = [edit for edit, share in shares.items() if share > threshold]
    voted.sort(key=lambda edit: (-shares[edit], edit.start, edit.end, edit.correction))
    chosen: list[Edit] = []
    for edit in voted:
        if not any(_overlap(edit, other) for other in chosen):
            chosen.append(edit)
    return chosen


def _overlap(first: Edit, second: Edit) -> bool:
    """Return whether two edits change the same tokens, or insert at the same place."""
    if (first.start, first.end) == (second.start, second.end):
        return True
    return first.start < second.end and second.start < first.end
