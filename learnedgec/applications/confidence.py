"""The confidence of each edit of a correction, by an evaluator, its error type and its form.

The log-odds that a careful annotator accepts an edit e of a hypothesis are

    b + v · r(e) + Σ_h  w_h · (h({e}) − h(∅)) + t(type of e) + u · traits of e

where r(e) is the mean log-odds that the words of e, or the word after a deletion, are right in the
hypothesis, by a head that reads words, and h(T) the value of another head for the source with the edits T
applied. So E edits need E + 2 texts. The weights were fitted by logistic regression to edits of systems on
BEA-19 dev; about 79 % of these edits are in a reference (`scripts/fit_edit_confidence.py`). Results are in
docs/lab/edit-confidence.md.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files
from itertools import combinations, compress, permutations, product
from typing import Any

import numpy as np
import torch
from rapidfuzz.fuzz import ratio
from scipy.special import expit, logit

from learnedgec.applications.safeguards import is_correction
from learnedgec.data.corpus import Corpus
from learnedgec.data.m2 import Edit, apply_edits, edit_cells
from learnedgec.data.sentences import Sentences
from learnedgec.edits.annotator import available_annotator, extract_edits
from learnedgec.errors import InputError
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.evaluators.inference import (
    encode,
    padded_batches,
    warn_of_truncation,
    word_places,
)
from learnedgec.evaluators.precision import evaluator_precision
from learnedgec.metrics.contract import check_corpus
from learnedgec.runtime.runtime import Runtime
from learnedgec.table import Column, Table
from learnedgec.types import Floats, Texts

WEIGHTS = "edit_confidence.json"

# The numbers of an edit that do not come from the evaluator.
TRAITS = ("removed", "inserted", "similarity", "place", "edits", "density")

# An article that one edit removes and another inserts has seldom moved.
_ARTICLES = {"a", "an", "the"}

# If a removed and an inserted word are at least this similar (`ratio`, 0 to 100), they may be one word that
# moved and was misspelt.
_MOVED_WORD = 80

# The head `likelihood` never moved an edit across a threshold if the log-odds without this head were farther
# than this from that of the threshold (docs/lab/edit-confidence.md).
_DECIDED = 1.5

# Edits with at most this many tokens between them may need each other.
_NEAR = 3
# They need each other if both together gain more than the sum of their single gains by this margin, by this
# head of this evaluator (docs/lab/edit-confidence.md).
_NEEDED, _JUDGE, _HEAD = 0.05, "open-mpnet", "quality"


@dataclass(frozen=True, slots=True)
class JudgedEdits:
    """The edits of N hypotheses with their confidence.

    Attributes:
        sources: the N sources.
        edits: the edits of each source from left to right, each with its confidence from 0 to 1.
        runtime: how `sure` runs.
    """

    sources: tuple[str, ...]
    edits: tuple[tuple[tuple[Edit, float], ...], ...]
    runtime: Runtime = field(default=Runtime(dtype="auto"), repr=False)

    def __repr__(self) -> str:
        number = sum(map(len, self.edits))
        return f"JudgedEdits(sentences={len(self.sources):,}, edits={number:,})"

    def table(self) -> Table:
        """Return a row for each edit: its sentence, from 1, its place and change, and its confidence."""
        rows = [
            {"sentence": number, **edit_cells(source, edit), "confidence": round(confidence, 4)}
            for number, (source, row) in enumerate(zip(self.sources, self.edits, strict=True), 1)
            for edit, confidence in row
        ]
        columns = ("sentence", "start", "end", "original", "correction", "type", "confidence")
        return Table([*map(Column, columns)], rows)

    def _repr_html_(self) -> str:
        return self.table().html()

    def texts(self, threshold: float) -> list[str]:
        """Return each source with its `sure` edits applied.

        Args:
            threshold: a number from 0 to 1.

        Raises:
            InputError: the threshold is no number from 0 to 1.
        """
        return list(map(apply_edits, self.sources, self.sure(threshold)))

    def sure(self, threshold: float) -> list[list[Edit]]:
        """Return the edits of each source whose confidence is above a threshold.

        Edits that need each other stay or go together, by the least of their confidences, so that no text is
        half corrected. They move a word, other than an article, which one removes and another inserts,
        perhaps spelt otherwise. Or at most three tokens are between them, and they change verbs, as in
        `is always keep` → `always keeps`, or gain more together than apart by the head `quality` of
        `open-mpnet`. If the result cannot be a correction of the source (`is_correction`), such as a blank
        line, no edit stays.

        Args:
            threshold: a number from 0 to 1.

        Raises:
            InputError: the threshold is no number from 0 to 1.

        Example:
            >>> edits = (Edit(0, 0, "soon"), 0.9), (Edit(3, 4, ""), 0.1), (Edit(8, 9, "."), 0.8)
            >>> judged = JudgedEdits(("he will come soon and then he sleeps ,",), (edits,))
            >>> judged.texts(0.6)
            ['he will come soon and then he sleeps .']
        """
        if not 0 <= threshold <= 1:
            raise InputError(
                f"the threshold is {threshold:g}, but confidences are from 0 to 1; write 60 % as 0.6."
            )
        edits = [[edit for edit, _ in row] for row in self.edits]
        groups = list(map(_group_edits, self.sources, edits))
        # An edit with confidence 0 is impossible, so no other edit needs it.
        near = [
            (number, first, second)
            for number, row in enumerate(self.edits)
            for first, second in combinations(range(len(row)), 2)
            if row[second][0].start - row[first][0].end <= _NEAR
            and row[first][1]
            and row[second][1]
        ]
        while True:
            stays = [
                [min(row[place][1] for place in group) > threshold for group in row_groups]
                for row, row_groups in zip(self.edits, groups, strict=True)
            ]
            # The model reads a pair once, and only if one of its edits would stay without the other.
            parted = [
                (n, first, second)
                for n, first, second in near
                if stays[n][first] != stays[n][second]
            ]
            if not parted:
                break
            near = sorted({*near}.difference(parted))
            for number, first, second in self._needing_each_other(parted):
                _join(groups[number], first, second)
        sure = [list(compress(*row)) for row in zip(edits, stays, strict=True)]
        possible = is_correction(self.sources, list(map(apply_edits, self.sources, sure)))
        return [row if keep else [] for row, keep in zip(sure, possible, strict=True)]

    def _needing_each_other(
        self, pairs: Sequence[tuple[int, int, int]]
    ) -> list[tuple[int, int, int]]:
        """Return the pairs of edits that need each other; a pair is a source's number and two places."""
        texts = []
        for number, first, second in pairs:
            edits = [edit for edit, _ in self.edits[number]]
            for left_out in ((), (first,), (second,), (first, second)):
                applied = [edit for place, edit in enumerate(edits) if place not in left_out]
                texts.append(apply_edits(self.sources[number], applied))
        sources = [self.sources[number] for number, *_ in pairs for _ in range(4)]
        judge = Evaluator.load(_JUDGE, runtime=self.runtime)
        values = judge.predict(sources, texts, [_HEAD], runtime=self.runtime)[_HEAD]
        gains = values.reshape(-1, 4) @ (1, -1, -1, 1)
        return list(compress(pairs, gains > _NEEDED))


def _join(groups: list[set[int]], first: int, second: int) -> None:
    """Join the groups of two places; `groups` holds the group of each place."""
    joined = groups[first] | groups[second]
    for place in joined:
        groups[place] = joined


def _group_edits(source: str, edits: Sequence[Edit]) -> list[set[int]]:
    """Return the group of each edit, as places: the edits that move a word or change a verb together."""
    tokens = source.casefold().split()
    removed, inserted = [], []
    for edit in edits:
        before = Counter(tokens[edit.start : edit.end])
        after = Counter(edit.correction.casefold().split())
        removed.append([word for word in before - after if _is_movable(word)])
        inserted.append([word for word in after - before if _is_movable(word)])
    groups = [{place} for place in range(len(edits))]
    for origin, target in permutations(range(len(edits)), 2):
        between = edits[target].start - edits[origin].end
        verbs = {edits[origin].type[2:6], edits[target].type[2:6]} == {"VERB"}
        moves = any(
            (similarity := ratio(old, new)) >= _MOVED_WORD
            and similarity > max(_nearest(old, inserted[origin]), _nearest(new, removed[target]))
            for old, new in product(removed[origin], inserted[target])
        )
        if moves or (verbs and 0 <= between <= _NEAR):
            _join(groups, origin, target)
    return groups


def _nearest(word: str, words: Sequence[str]) -> float:
    """Return the similarity of a word to the most similar of some words, 0 to 100."""
    return max((ratio(word, other) for other in words), default=0.0)


def _is_movable(token: str) -> bool:
    """Return whether a token that is removed and inserted elsewhere has probably moved."""
    return token not in _ARTICLES and any(map(str.isalpha, token))


def edit_confidence(
    sources: Sentences,
    hypotheses: Sentences,
    *,
    annotator: str | None = None,
    threshold: float | None = None,
    runtime: Runtime = Runtime(dtype="auto"),
) -> JudgedEdits:
    """Return each edit of N hypotheses with the probability that a careful annotator accepts it.

    Many edits with a low probability are good, because references leave out good edits. The weights were
    fitted to edits of systems, so an edit that reads well but changes the meaning may have a high
    probability. An edit whose result cannot be a correction of its source (`is_correction`), such as a blank
    line, has 0. `texts(threshold)` of the result leaves out the edits with less confidence, and those that
    need them (`sure`). The evaluator is `open-mpnet`.

    Args:
        sources: N sources.
        hypotheses: N hypotheses.
        annotator: the spaCy pipeline that finds edits, as for `errant`.
        threshold: the only threshold that matters, if there is one, which saves about a third of the texts:
            an edit that is far above or below it without the head `likelihood` is not read by this head, so
            its confidence is rougher.
        runtime: how to run; by default in bfloat16 where the hardware has it, else in float32.

    Raises:
        LengthError: sources and hypotheses differ in length.
        InputError: there is no sentence, or an input is no list of texts.
        UnknownNameError: no annotator has this name.

    Warns:
        TextWarning: something in the texts looks like a mistake.

    Example:
        >>> judged = edit_confidence(["She go home ."], ["She goes home ."], annotator="en-ewt-sm")
        >>> [(edit.correction, confidence > 0.8) for edit, confidence in judged.edits[0]]
        [('goes', True)]
    """
    corpus = Corpus.of(sources, hypotheses).tokenised(runtime.tokenise)
    check_corpus((), corpus, runtime)
    sources, (hypotheses,) = corpus.sources, corpus.systems.values()
    pairs = list(zip(sources, hypotheses, strict=True))
    edits = extract_edits(pairs, annotator or available_annotator(), runtime=runtime)
    fitted = _weights()
    evaluator = Evaluator.load(fitted["evaluator"], runtime=runtime)
    log_odds = edit_traits(sources, edits) @ [fitted["traits"][name] for name in TRAITS]
    log_odds += fitted["intercept"]
    log_odds += [fitted["types"].get(edit.type, 0.0) for row in edits for edit in row]
    unsure = np.full(len(log_odds), True)
    rest: Sequence[Sequence[Edit]] = edits
    # The first head reads each text once, and the other one each edit alone.
    for head, weight in fitted["heads"].items():
        contributions = edit_contributions(evaluator, [head], sources, rest, runtime=runtime)[:, 0]
        log_odds[unsure] += weight * contributions
        if threshold is not None:
            unsure = np.abs(log_odds - logit(threshold)) <= _DECIDED
            numbers = iter(unsure)
            rest = [[edit for edit in row if next(numbers)] for row in edits]
    alone = [
        (source, apply_edits(source, [edit]))
        for source, row in zip(sources, edits, strict=True)
        for edit in row
    ]
    possible = is_correction([source for source, _ in alone], [text for _, text in alone])
    confidences = iter(np.where(possible, expit(log_odds), 0.0).tolist())
    return JudgedEdits(
        tuple(sources),
        tuple(tuple((edit, next(confidences)) for edit in row) for row in edits),
        runtime,
    )


def edit_contributions(
    evaluator: Evaluator,
    heads: Sequence[str],
    sources: Texts,
    edits: Sequence[Sequence[Edit]],
    *,
    runtime: Runtime = Runtime(),
) -> Floats:
    """Return what the heads of an evaluator say of each edit.

    Args:
        evaluator: the evaluator.
        heads: the names of H of its heads.
        sources: N sources.
        edits: the edits of each source, M in all.
        runtime: how to run.

    Returns:
        float64 (M, H). A head that reads tokens has the mean log-odds that the words of the edit are right in
        the text with all edits, or 0 if they were truncated; any other head has the difference that the edit
        makes alone, in the head's units.
    """
    options = evaluator.model.config.heads
    words = [head for head in heads if options.get(head, {}).get("reads") == "tokens"]
    columns = {head: _log_odds(evaluator, head, sources, edits, runtime) for head in words}
    alone = [
        (source, text)
        for source, row in zip(sources, edits, strict=True)
        for edit in row
        for text in (apply_edits(source, [edit]), source)
    ]
    if others := [head for head in heads if head not in words]:
        # Equal texts of equal sources are encoded once.
        values = evaluator.predict(
            [source for source, _ in alone], [text for _, text in alone], others, runtime=runtime
        )
        columns |= {head: value[::2] - value[1::2] for head, value in values.items()}
    contributions: Floats = np.column_stack([columns[head] for head in heads])
    return contributions


def _log_odds(
    evaluator: Evaluator,
    head: str,
    sources: Texts,
    edits: Sequence[Sequence[Edit]],
    runtime: Runtime,
) -> Floats:
    """Return the mean log-odds that the words of each edit, or the word after it, are right, (M,)."""
    edited = [row for row in zip(sources, edits, strict=True) if row[1]]
    text_values = word_log_odds(
        evaluator,
        [source for source, _ in edited],
        [apply_edits(*row) for row in edited],
        head,
        runtime=runtime,
    )
    means = []
    for (_, row), word_values in zip(edited, text_values, strict=True):
        for edit in row:
            before = [other for other in row if (other.start, other.end) < (edit.start, edit.end)]
            start = edit.start + sum(
                len(other.correction.split()) - (other.end - other.start) for other in before
            )
            count = len(edit.correction.split())
            means.append(-word_values[start : start + max(count, 1)].mean())
    log_odds: Floats = np.nan_to_num(np.array(means, dtype=float))
    return log_odds


def edit_traits(sources: Texts, edits: Sequence[Sequence[Edit]]) -> Floats:
    """Return the numbers `TRAITS` of each edit.

    Args:
        sources: N sources.
        edits: the edits of each source, M in all.

    Returns:
        float64 (M, 6): the number of replaced tokens, that of new tokens, the share of characters that both
        have in common, the place in the sentence where the edit begins (0 to 1), the number of edits in the
        sentence, and their number per token.

    Example:
        >>> edit_traits(["She go home ."], [[Edit(1, 2, "goes")]]).round(2).tolist()
        [[1.0, 1.0, 0.67, 0.25, 1.0, 0.25]]
    """
    rows = []
    for source, row in zip(sources, edits, strict=True):
        tokens = source.lower().split()
        length = max(len(tokens), 1)
        for edit in row:
            removed, inserted = tokens[edit.start : edit.end], edit.correction.lower().split()
            pair = " ".join(removed), " ".join(inserted)
            similarity = SequenceMatcher(None, *pair).ratio() if all(pair) else 0.0
            numbers = (len(removed), len(inserted), similarity)
            count = len(row)
            rows.append((*numbers, edit.start / length, count, count / length))
    return np.array(rows, dtype=float).reshape(-1, len(TRAITS))


@cache
def _weights() -> Mapping[str, Any]:
    """Return the fitted weights: `intercept`, and the weights of `heads`, `types` and `traits`."""
    content = (files("learnedgec.applications") / WEIGHTS).read_text(encoding="utf-8")
    weights: Mapping[str, Any] = json.loads(content)
    return weights


# -- heads that read single words -------------------------------------------------------------------


def word_log_odds(
    evaluator: Evaluator,
    sources: Texts,
    hypotheses: Texts,
    head: str,
    *,
    runtime: Runtime = Runtime(),
) -> list[Floats]:
    """Return the log-odds log(p / (1 − p)) that each word of N hypotheses is wrong.

    Args:
        evaluator: the evaluator.
        sources: N sources; a head that reads the hypothesis alone ignores them.
        hypotheses: N hypotheses, their words separated by white space.
        head: the name of one of its heads with the objective `detection`.
        runtime: how to run.

    Returns:
        An array float64 (W + 1,) for each hypothesis of W words: the mean over the tokens of each word, and
        the log-odds that a word is missing at the end. If words were truncated, they and the end have NaN.

    Raises:
        InputError: no head has this name and reads tokens.
    """
    config = evaluator.model.config
    if config.heads.get(head, {}).get("reads") != "tokens":
        raise InputError(f"{evaluator.name} has no head {head!r} that reads single words.")
    kind = config.head(head).input
    rows = list(zip(sources, hypotheses, strict=True))
    distinct = list(dict.fromkeys(rows))
    if not distinct:
        return []
    items = distinct if kind == "pair" else [text for _, text in distinct]
    marks = {"offset_mapping"} | ({"hypothesis"} if kind == "pair" else set())
    encoded, cut = encode(evaluator.tokenizer, items, max_length=config.max_tokens, marks=marks)
    warn_of_truncation(items, cut)
    belongs = encoded.get("hypothesis") or [[1] * len(ids) for ids in encoded["input_ids"]]
    precision = evaluator_precision(runtime)
    log_odds: dict[tuple[str, str], Floats] = {}
    with torch.inference_mode():
        batches = padded_batches(evaluator.tokenizer, encoded, runtime, description=evaluator.name)
        for places, batch in batches:
            output = evaluator.encode(batch, kind, precision, config.head(head).layer)
            logits = evaluator.model.token_logits(output, head).double().cpu().numpy()
            for place, values in zip(places, logits, strict=True):
                text = distinct[place][1]
                totals, counts = np.zeros((2, len(text.split()) + 1))
                words = word_places(text, encoded["offset_mapping"][place])
                for word, marked, value in zip(words, belongs[place], values, strict=False):
                    if word is not None and marked:
                        totals[word] += value
                        counts[word] += 1
                if cut[place]:
                    counts[-1] = 0
                log_odds[distinct[place]] = np.divide(
                    totals, counts, out=np.full(len(totals), np.nan), where=counts > 0
                )
    return [log_odds[row] for row in rows]
