"""Annotators by name, and the edits that they find between two sentences.

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

The `errant` package compares tokens, finds an alignment in a table of costs, merges edits and types them.
`learnedgec.edits.parsing` fills its table faster and passes it plain Python tokens instead of spaCy's, whose
attributes are slow to access. The edits are the same.

Source: Bryant, Felice and Briscoe, "Automatic Annotation and Evaluation of Error Types for Grammatical Error
Correction" (ACL 2017); alignment: Felice, Bryant and Briscoe (COLING 2016).
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, get_args, runtime_checkable

from learnedgec.data.m2 import Edit
from learnedgec.data.references import References
from learnedgec.data.text import read_json
from learnedgec.edits.alignment import PlainAnnotator
from learnedgec.errors import FormatError, InputError, SetupWarning, UnknownNameError
from learnedgec.runtime.files import file_digest, folder_state, local_path, lookup_folders
from learnedgec.runtime.plugins import Plugin, Registry
from learnedgec.runtime.runtime import Runtime, parallel_map
from learnedgec.types import Texts

# USUAL is the pipeline of most published scores, and RELEASED is part of learnedgec.
USUAL, RELEASED = "en_core_web_sm", "en-ewt-sm"

# The number of sentences annotated together: few enough to keep all processes busy.
_BLOCK = 256


# -- annotators by name ----------------------------------------------------------------------------


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


def _plugged(plugin: Plugin) -> Annotator:
    """Return the annotator of a plug-in."""
    return plugin.load_value(Annotator)  # type: ignore[type-abstract]


ANNOTATORS: Registry[Annotator] = Registry(
    "annotator", "learnedgec.annotators", {"plain": PlainAnnotator()}, _plugged
)


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


# -- their edits -----------------------------------------------------------------------------------

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
    size = _BLOCK
    for source, changed in targets.items():
        if size >= _BLOCK:
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


def tag_sentences(texts: Iterable[str], annotator: str) -> dict[str, tuple[str, ...]]:
    """Return the Penn Treebank tags of the tokens of each distinct text.

    Raises:
        UnknownNameError, ModelError: the annotator does not exist or cannot be loaded.

    Example:
        >>> tag_sentences(["She sleeps well ."], "en-ewt-sm")["She sleeps well ."]
        ('PRP', 'VBZ', 'RB', '.')
    """
    from learnedgec.edits.parsing import load_pipeline, parse_sentences

    parsed = parse_sentences(load_pipeline(find_annotator(annotator).resolve(), False), texts)
    return {text: tuple(token.tag_ for token in sentence) for text, sentence in parsed.items()}


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
