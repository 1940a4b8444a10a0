"""The essays of FCE as sentences with gold edits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from learnedgec.data.catalog.files import dataset_file
from learnedgec.data.catalog.sentences import read_labelled
from learnedgec.data.m2 import AnnotatedSentence, Edit, without_overlaps
from learnedgec.data.text import read_jsonl

FCE_PARTS = ("train", "dev")

# MultiGED normalises these characters one by one.
_PLAIN = str.maketrans("’‘´`“”–—", "''''\"\"--")
_TOKEN = re.compile(r"\w+(?=n't\b)|n't\b|'(?:s|re|ve|ll|d|m)\b|\w+(?:-\w+)*|[^\w\s]")


def read_fce(part: str) -> Iterator[AnnotatedSentence]:
    """Yield the sentences of FCE's essays with their edits.

    Sentences and tokens are those of MultiGED-2023, which has the essays in the same order; edits of
    characters become edits of whole tokens. Edits without a correction are left out, and those
    across sentences too.

    Args:
        part: `train` or `dev`.
    """
    text, changes = "", []
    for essay in read_jsonl(dataset_file("fce", f"data/fce/json/fce-{part}.json")):
        for _, character_edits in essay["edits"]:
            changes += [
                (start + len(text), end + len(text), correction)
                for start, end, correction, *_ in character_edits
                if correction is not None
            ]
        text += essay["text"] + "\n"
    text = text.translate(_PLAIN)
    changes.sort(reverse=True)
    place = 0
    for row in read_labelled(dataset_file("multiged", f"english/en_fce_{part}.tsv")):
        spans: list[tuple[int, int]] = []
        sentence = row.sentence.replace(r"\"", '"')
        for token in sentence.translate(_PLAIN).split(" "):
            place = text.index(token, place)
            spans.append((place, place + len(token)))
            place += len(token)
        first, last = spans[0][0], spans[-1][1]
        edits: list[Edit] = []
        while changes and changes[-1][0] <= last:
            start, end, correction = changes.pop()
            if first <= start and end <= last:
                edits.append(_of_tokens(text, spans, start, end, correction))
        yield AnnotatedSentence(sentence, {0: tuple(without_overlaps(edits))})


def _of_tokens(
    text: str, spans: list[tuple[int, int]], start: int, end: int, correction: str
) -> Edit:
    """Return the edit of tokens that an edit of characters is.

    Args:
        text: all essays.
        spans: where each token of the sentence begins and ends in it.
        start: where the edit begins.
        end: where it ends.
        correction: what it puts there.
    """
    touched = [
        number
        for number, (begin, stop) in enumerate(spans)
        if (begin < end and start < stop) or begin < start == end < stop
    ]
    if not touched:
        number = sum(stop <= start for _, stop in spans)
        return Edit(number, number, " ".join(_TOKEN.findall(correction)))
    begin, stop = spans[touched[0]][0], spans[touched[-1]][1]
    new = text[begin:start] + correction.translate(_PLAIN) + text[end:stop]
    return Edit(touched[0], touched[-1] + 1, " ".join(_TOKEN.findall(new)))
