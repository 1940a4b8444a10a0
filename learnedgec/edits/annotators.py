"""Annotators by name: spaCy pipelines for English, `plain`, and those of other packages.

The name of an annotator is one of

    en-ewt-sm         the pipeline that is part of learnedgec, in `checkpoints/`
    en_core_web_sm    any installed spaCy package
    a directory       a pipeline that `spacy.load` reads
    plain             no pipeline, for any language that separates words by spaces
    another name      an annotator of an installed package

A pipeline has tags, parts of speech, lemmas and dependencies, with which `learnedgec.edits.parsing` extracts
edits as ERRANT does. A package adds an annotator under the entry point group `learnedgec.annotators` (name ->
`module:value`, an `Annotator`). The name is then valid wherever an annotator is named, as in
`errant(annotator='czech')`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import unicodedata
import warnings
from array import array
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib.metadata import version
from itertools import combinations, groupby
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from learnedgec.data.m2 import Edit
from learnedgec.data.text import read_json
from learnedgec.errors import FormatError, InputError, SetupWarning, UnknownNameError
from learnedgec.runtime.files import file_digest, folder_state, local_path, lookup_folders
from learnedgec.runtime.plugins import Plugin, Registry
from learnedgec.types import Floats

Step: TypeAlias = tuple[str, int, int, int, int]
"""An operation (`M`, `S`, `D`, `I` or `Tk`) with its span of tokens in the source and in the target."""

# The time to join neighbouring changes grows with the square of their number, and faster with the number of
# substitutions. With these numbers, it is seconds.
_MAX_CHANGES, _MAX_SUBSTITUTIONS = 600, 100


def alignment_tables(
    words: Sequence[str],
    other: Sequence[str],
    low: Sequence[str],
    other_low: Sequence[str],
    substitution: Floats,
) -> tuple[list[array[float]], list[list[str]]]:
    """Return the table of costs and the table of the operations that end in each cell.

    Args:
        words: H tokens of the source.
        other: W tokens of the target.
        low: the source's tokens in lower case, which reordering compares.
        other_low: the target's tokens in lower case.
        substitution: (H, W), cost of each substitution.

    Returns:
        Two tables of H+1 rows and W+1 columns.
    """
    first, other_first = _first_places(low), _first_places(other_low)
    width, height = len(other), len(words)
    row = [float(j) for j in range(width + 1)]
    # As arrays, finished rows take a quarter of the memory.
    costs = [array("d", row)]
    operations = [["O"] + ["I"] * width]
    for i in range(height):
        above, word = row, words[i]
        row = [above[0] + 1]
        operation_row = ["D"]
        operations.append(operation_row)
        substitution_row: list[float] = substitution[i].tolist()
        reaches = other_first.get(low[i], width)
        for j in range(width):
            if word == other[j]:
                row.append(above[j])
                operation_row.append("M")
                continue
            best, operation = above[j] + substitution_row[j], "S"
            insertion, deletion = row[j] + 1, above[j + 1] + 1
            if insertion < best:
                best, operation = insertion, "I"
            if deletion < best:
                best, operation = deletion, "D"
            # A reordering can end here only if both last words occur on both sides.
            if reaches <= j and first.get(other_low[j], height) <= i:
                back = _reordered(costs, low, other_low, i, j)
                if back and costs[i - back][j - back] + back <= best:
                    best, operation = costs[i - back][j - back] + back, f"T{back + 1}"
            row.append(best)
            operation_row.append(operation)
        costs.append(array("d", row))
    return costs, operations


def trace_back(operations: Sequence[Sequence[str]]) -> list[Step]:
    """Return the steps of the path to the last cell of a table of operations, from left to right.

    Example:
        >>> words, other = ["a", "b", "c"], ["b", "a"]
        >>> trace_back(alignment_tables(words, other, words, other, np.full((3, 2), 2.0))[1])
        [('T2', 0, 2, 0, 2), ('D', 2, 3, 2, 2)]
    """
    i, j = len(operations) - 1, len(operations[0]) - 1
    steps: list[Step] = []
    while i or j:
        operation = operations[i][j]
        size = int(operation[1:] or 1)
        down, right = 0 if operation == "I" else size, 0 if operation == "D" else size
        steps.append((operation, i - down, i, j - right, j))
        i, j = i - down, j - right
    return steps[::-1]


def break_long_runs(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield steps; after 600 neighbouring changes or 100 substitutions, an empty match separates edits."""
    changes = substitutions = 0
    for step in steps:
        kind, start, _, left, _ = step
        if kind[0] in "MT":
            changes = substitutions = 0
        elif changes == _MAX_CHANGES or substitutions == _MAX_SUBSTITUTIONS:
            yield "M", start, start, left, left
            changes = substitutions = 0
        changes += kind[0] not in "MT"
        substitutions += kind == "S"
        yield step


def _first_places(words: Sequence[str]) -> dict[str, int]:
    """Return the first position of each word."""
    return {word: place for place, word in reversed([*enumerate(words)])}


def _reordered(
    costs: Sequence[array[float]], low: Sequence[str], other: Sequence[str], i: int, j: int
) -> int:
    """Return the smallest k such that the k+1 words up to i and up to j are the same in another order, or 0.

    The search ends at a pair of words whose alignment costs nothing.
    """
    missing: dict[str, int] = {}
    unequal = 0
    for k in range(min(i, j) + 1):
        if k and costs[i - k + 1][j - k + 1] == costs[i - k][j - k]:
            return 0
        for word, step in ((low[i - k], 1), (other[j - k], -1)):
            before = missing.get(word, 0)
            missing[word] = before + step
            unequal += (before + step != 0) - (before != 0)
        if k and not unequal:
            return k
    return 0


# USUAL is the pipeline of most published scores, and RELEASED is part of learnedgec.
USUAL, RELEASED = "en_core_web_sm", "en-ewt-sm"

# The number of sentences parsed together: enough to keep matrices busy, few enough to keep processes busy.
BLOCK = 256

# A substitution costs 0.5 to 1.7, which is less than a deletion and an insertion. With these costs, edits are
# similar to ERRANT's on BEA-19.
_UNLIKE, _CHARACTERS = 0.5, 1.2
# Substituted tokens with a higher similarity than this are an edit of their own.
_ALIKE = 0.75


@runtime_checkable
class Annotator(Protocol):
    """Finds the edits between sentences; it loads models when it is first used.

    Attributes:
        version: version for signatures; it changes whenever edits do.
    """

    version: str

    def annotate(
        self, pairs: Sequence[tuple[str, str]], *, types: bool
    ) -> Sequence[Sequence[Edit]]:
        """Return the edits of each source and target from left to right; empty if their tokens are equal.

        Args:
            pairs: distinct pairs; spaces separate the tokens that spans count.
            types: whether edits need a type; otherwise `""` is enough.
        """


class PlainAnnotator:
    """ERRANT's alignment and merging without a parse, with the types `M`, `R` and `U`.

    Tokens are aligned at the smallest cost (`learnedgec.edits.annotators`). A substitution costs
    `0.5 + 1.2·d`, where d is the share of characters that differ (normalised insertions and deletions), and 0
    if only the case differs. Neighbouring steps that are not matches become edits as in ERRANT. Tokens that
    differ only in spaces, hyphens and apostrophes form one edit. So does a change of case with the
    punctuation or word before it. Two neighbouring substitutions are two edits, and a substitution of similar
    tokens is always an edit of its own. All other neighbouring steps form one edit.
    ERRANT's rules that need a part of speech are left out.

    Agreement with ERRANT (`en-ewt-sm`) on English in span, correction and type `M`, `R` or `U`: recall 94.6 %
    and precision 96.3 % for ERRANT's 1,209 edits in 437 pairs of BEA-19 dev (`pillars:dev`); 90.7 % and 91.6
    % for its 6,157 edits in the first 1,500 pairs of JFLEG test. The two constants were chosen on
    `pillars:train`.
    """

    version = "1"

    def annotate(self, pairs: Sequence[tuple[str, str]], *, types: bool) -> list[tuple[Edit, ...]]:
        """Return the edits between each source and target.

        Example:
            >>> PlainAnnotator().annotate([("Hon gå hem nu", "Hon går hem .")], types=True)[0][0]
            Edit(start=1, end=2, correction='går', type='R', alternatives=())
        """
        return [tuple(_edits(source.split(), target.split(), types)) for source, target in pairs]


def _edits(source: list[str], target: list[str], types: bool) -> Iterator[Edit]:
    for _, start, end, left, right in _Merge(source, target).steps():
        old, new = source[start:end], target[left:right]
        yield Edit(start, end, " ".join(new), _type(old, new) if types else "")


def _type(old: list[str], new: list[str]) -> str:
    """Return the type of an edit; as in ERRANT, a last token that differs only in case does not count."""
    if old and new and len(old) + len(new) > 2 and old[-1].lower() == new[-1].lower():
        old, new = old[:-1], new[:-1]
    return "R" if old and new else "U" if old else "M"


class _Merge:
    """Merges the steps from one sentence to another into edits."""

    def __init__(self, source: list[str], target: list[str]) -> None:
        self.source, self.target = source, target
        self.low, self.other_low = ([w.lower() for w in words] for words in (source, target))

    def steps(self) -> list[Step]:
        """Return the edits, from left to right."""
        edits: list[Step] = []
        aligned = break_long_runs(self._aligned())
        for changed, group in groupby(aligned, lambda step: step[0][0] not in "MT"):
            run = list(group)
            edits += self._merged(run) if changed else [step for step in run if step[0] != "M"]
        return edits

    def _aligned(self) -> list[Step]:
        """Return the cheapest alignment."""
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import cdist

        unlike = cdist(self.source, self.target, scorer=Indel.normalized_distance, dtype=np.float64)
        same = np.array(self.low, str)[:, None] == np.array(self.other_low, str)
        substitution = np.where(same, 0.0, _UNLIKE + _CHARACTERS * unlike)
        tables = alignment_tables(self.source, self.target, self.low, self.other_low, substitution)
        return trace_back(tables[1])

    def _merged(self, steps: list[Step]) -> list[Step]:
        """Return neighbouring deletions, insertions and substitutions as edits, by ERRANT's rules."""
        kinds = [step[0] for step in steps]
        if len(steps) < 2:
            return steps
        if len(set(kinds)) == 1 and "S" not in kinds:
            return [_joined(steps)]
        spans = combinations(range(len(steps)), 2)
        for first, last in sorted(spans, key=lambda span: span[0] - span[1]):
            if "S" not in kinds[first : last + 1]:
                continue
            _, start, end, left, right = _joined(steps[first : last + 1])
            low, other_low = self.low[start:end], self.other_low[left:right]
            before, after = steps[:first], steps[last + 1 :]
            if low[-1] == other_low[-1]:
                capital = len(low) == 1 and self.target[left][0].isupper()
                capital |= len(other_low) == 1 and self.source[start][0].isupper()
                if first == 0 and capital:
                    return [_joined(steps[: last + 1]), *self._merged(after)]
                if any(len(words) > 1 and _is_punctuation(words[-2]) for words in (low, other_low)):
                    pair = _joined(steps[last - 1 : last + 1])
                    return [*self._merged(steps[: last - 1]), pair, *self._merged(after)]
            if _spelling(low) == _spelling(other_low):
                joined = _joined(steps[first : last + 1])
                return [*self._merged(before), joined, *self._merged(after)]
            if last == first + 1 and (
                len(low) == len(other_low) == 2
                or (kinds[first] == "S" and _are_alike(low[0], other_low[0]))
                or (kinds[last] == "S" and _are_alike(low[-1], other_low[-1]))
            ):
                return [*self._merged(steps[:last]), *self._merged(steps[last:])]
        return [_joined(steps)]


def _joined(steps: Sequence[Step]) -> Step:
    """Return neighbouring steps as one step."""
    return "X", steps[0][1], steps[-1][2], steps[0][3], steps[-1][4]


def _spelling(words: Sequence[str]) -> str:
    return re.sub("['’-]", "", "".join(words))


def _is_punctuation(word: str) -> bool:
    return all(unicodedata.category(sign)[0] in "PS" for sign in word)


def _are_alike(word: str, other: str) -> bool:
    from rapidfuzz.distance import Indel

    return bool(Indel.normalized_similarity(word, other) > _ALIKE)


def _plugged(plugin: Plugin) -> Annotator:
    """Return the annotator of a plug-in."""
    return plugin.load_value(Annotator)  # type: ignore[type-abstract]


ANNOTATORS: Registry[Annotator] = Registry(
    "annotator", "learnedgec.annotators", {"plain": PlainAnnotator()}, _plugged
)


# -- annotators by name ----------------------------------------------------------------------


def available_annotator() -> str:
    """Return `en_core_web_sm` if it is installed, else `en-ewt-sm`, for edits on which no score depends."""
    return RELEASED if _package_folder(USUAL) is None else USUAL


def default_annotator() -> str:
    """Return `en_core_web_sm` if it is installed, else `en-ewt-sm`, with one warning in a process."""
    annotator = available_annotator()
    if annotator != USUAL:
        _warn_of_other_edits()
    return annotator


@cache
def _warn_of_other_edits() -> None:
    warnings.warn(
        f"the spaCy package {USUAL} is not installed, so edits are made by annotator={RELEASED!r}, and "
        f"scores differ from published ones; run: python -m spacy download {USUAL} (or name an annotator).",
        SetupWarning,
        stacklevel=3,
    )


def registered_annotator(name: str) -> Annotator | None:
    """Return the annotator of this name if it is not a spaCy pipeline, else `None`.

    `plain` is always learnedgec's. A pipeline takes precedence over a plug-in of the same name.

    Raises:
        PluginError: the annotator belongs to another installed package and cannot be loaded.
    """
    if name in ANNOTATORS and (name in ANNOTATORS.builtin or _find_pipeline(name) is None):
        return ANNOTATORS.find(name)
    return None


def _find_pipeline(name: str) -> Path | None:
    """Return the directory of the spaCy pipeline with this name, or `None` if there is none."""
    named = (str(folder / name) for folder in lookup_folders())
    for place in map(local_path, (name, *named)):
        if place is not None and _is_pipeline(place):
            return place
    return _package_folder(name)


def find_annotator(name: str) -> Path:
    """Return the directory of the spaCy pipeline with this name.

    Directories take precedence, then names in the folders of evaluators, then installed packages.

    Raises:
        InputError: the annotator is not a pipeline.
        UnknownNameError: no annotator has this name.
    """
    if name in ANNOTATORS.builtin:
        raise InputError(
            f"the annotator {name} parses nothing, which is needed here; name a spaCy pipeline such as "
            f"{RELEASED}."
        )
    folder = _find_pipeline(name)
    if folder is None:
        hint = (
            f"An annotator is {RELEASED}, plain, a spaCy package such as {USUAL}, or a directory."
        )
        raise UnknownNameError("annotator", name, {RELEASED, *ANNOTATORS} - {name}, hint=hint)
    return folder


def _is_pipeline(path: Path) -> bool:
    """Return whether `spacy.load` can read the directory."""
    return (path / "config.cfg").is_file() and (path / "meta.json").is_file()


def _package_folder(name: str) -> Path | None:
    """Return the directory of an installed spaCy package's pipeline, without importing it."""
    if not name.isidentifier():
        return None
    spec = importlib.util.find_spec(name)
    for place in (spec and spec.submodule_search_locations) or ():
        for path in (Path(place), *sorted(Path(place).glob(f"{name}-*"))):
            if _is_pipeline(path):
                return path
    return None


@lru_cache(maxsize=16)
def _description(path: Path, state: object) -> str:
    """Return the version and the SHA-256 of a pipeline."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")):
        if file.is_file():
            digest.update(f"{file.relative_to(path).as_posix()} {file_digest(file)}\n".encode())
    try:
        release = read_json(path / "meta.json")["version"]
    except (FormatError, KeyError, TypeError):
        release = "unknown"
    return f"{release} (sha256 {digest.hexdigest()[:12]})"


def describe_annotator(name: str) -> dict[str, str]:
    """Return what edits depend on: version and SHA-256 of the pipeline, and versions of tools.

    Raises:
        UnknownNameError: there is no such annotator.
        PluginError: the annotator belongs to another installed package and cannot be loaded.
    """
    if (plugin := registered_annotator(name)) is not None:
        return {"annotator-version": plugin.version}
    path = find_annotator(name)
    return {
        "annotator-version": _description(path, folder_state(path)),
        "errant": version("errant"),
        "spacy": version("spacy"),
    }
