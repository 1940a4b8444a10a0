"""Sentences parsed by a spaCy pipeline for English, with tags, parts of speech, lemmas and dependencies.

The name of a pipeline is one of

    en-ewt-sm         the pipeline that is part of learnedgec, in `checkpoints/`
    en_core_web_sm    any installed spaCy package
    a directory       a pipeline that `spacy.load` reads
"""

from __future__ import annotations

import hashlib
import importlib.util
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from learnedgec.data.text import read_json
from learnedgec.edits.annotators import ANNOTATORS, Annotator
from learnedgec.errors import FormatError, InputError, ModelError, UnknownNameError
from learnedgec.runtime.digests import file_digest, folder_state
from learnedgec.runtime.search_paths import local_path, lookup_folders

USUAL = "en_core_web_sm"

RELEASED = "en-ewt-sm"

# Sentences parsed together: enough to keep matrices busy, few enough to keep processes busy.
BLOCK = 256

# -- which pipeline -----------------------------------------------------------------------------


def available_annotator() -> str:
    """Return `en_core_web_sm` if it is installed, else `en-ewt-sm`; for edits that no score depends on."""
    return RELEASED if _package_folder(USUAL) is None else USUAL


def default_annotator() -> str:
    """Return `en_core_web_sm` if it is installed, else `en-ewt-sm` with a warning."""
    if available_annotator() == USUAL:
        return USUAL
    warnings.warn(
        f"the spaCy package {USUAL} is not installed, so edits are made by annotator={RELEASED!r}, and "
        f"scores differ a little from published ones; for those, run: python -m spacy download {USUAL} "
        "(or name an annotator to choose).",
        stacklevel=2,
    )
    return RELEASED


def registered_annotator(name: str) -> Annotator | None:
    """Return the annotator of this name if it is not a spaCy pipeline, else `None`.

    `plain` is always learnedgec's. A pipeline takes precedence over a plug-in of the same name.

    Raises:
        PluginError: it belongs to another installed package and cannot be loaded.
    """
    if name in ANNOTATORS and (name in ANNOTATORS.builtin or _find_pipeline(name) is None):
        return ANNOTATORS.find(name)
    return None


def _find_pipeline(name: str) -> Path | None:
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
    """Return everything that edits depend on: version and SHA-256 of the pipeline, and versions of tools.

    Raises:
        UnknownNameError: there is no such annotator.
        PluginError: it belongs to another installed package and cannot be loaded.
    """
    if (plugin := registered_annotator(name)) is not None:
        return {"annotator-version": plugin.version}
    path = find_annotator(name)
    return {
        "annotator-version": _description(path, folder_state(path)),
        "errant": version("errant"),
        "spacy": version("spacy"),
    }


def load_pipeline(path: Path, types: bool) -> Any:
    """Return the spaCy pipeline without what nothing here reads (cached while its files stay the same).

    Only the classification of types reads dependencies, unless a later component needs them.
    """
    return _load_pipeline(path, types, folder_state(path))


@lru_cache(maxsize=4)
def _load_pipeline(path: Path, types: bool, state: object) -> Any:
    import spacy

    try:
        pipeline = spacy.load(path, exclude=["ner", "senter"])
    except Exception as error:
        raise ModelError(
            f"the annotator {path} cannot be loaded ({error}); name another or install it again."
        ) from None
    # What later components declare that they read; an attribute ruler declares nothing, but has patterns.
    read = [
        str((*pipeline.get_pipe_meta(name).requires, getattr(component, "patterns", ()))).lower()
        for name, component in pipeline.pipeline
    ]
    needed = types or any("dep" in text or "head" in text for text in read)
    if not needed and "parser" in pipeline.pipe_names:
        pipeline.remove_pipe("parser")
    return pipeline


# -- parsed sentences -----------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Token:
    """A parsed token, with the attributes of spaCy's tokens that ERRANT reads, under the same names.

    Attributes:
        text: the token.
        lower_: the token in lower case.
        lemma: its lemma.
        pos: spaCy's ID of its universal part of speech.
        tag_: its Penn Treebank tag.
        dep_: its relation to its head.
        head: the token that it depends on; a root depends on itself.
        dependents: the tokens that depend on it, from left to right.
    """

    text: str
    lower_: str
    lemma: str
    pos: int
    tag_: str
    dep_: str
    head: Token = field(init=False, repr=False)
    dependents: list[Token] = field(default_factory=list, repr=False)

    @property
    def orth(self) -> str:
        """The identity of a token's form."""
        return self.text

    @property
    def lower(self) -> str:
        """The same as `lower_`, because ERRANT only compares it."""
        return self.lower_

    @property
    def children(self) -> Iterator[Token]:
        """An iterator over the dependents, as in spaCy."""
        return iter(self.dependents)


class Sentence(list[Token]):
    """Parsed tokens; a slice is also a `Sentence` and has a `text`."""

    @property
    def text(self) -> str:
        """The tokens, joined by spaces."""
        return " ".join(token.text for token in self)

    def __getitem__(self, index: Any) -> Any:
        item = super().__getitem__(index)
        return Sentence(item) if isinstance(index, slice) else item


def parse_sentences(pipeline: Any, texts: Iterable[str]) -> dict[str, Sentence]:
    """Return the parse of each distinct text, with tokens separated by spaces."""
    from spacy.tokens import Doc

    distinct = list(dict.fromkeys(texts))
    words = [text.split() for text in distinct]
    parsed = {text: Sentence() for text in distinct}
    wordy = [text for text, cut in zip(distinct, words, strict=True) if cut]
    documents = (Doc(pipeline.vocab, cut) for cut in words if cut)
    for text, document in zip(wordy, pipeline.pipe(documents, batch_size=BLOCK), strict=True):
        sentence = Sentence(
            Token(t.text, t.lower_, t.lemma_, t.pos, t.tag_, t.dep_) for t in document
        )
        for token, spacy_token in zip(sentence, document, strict=True):
            token.head = sentence[spacy_token.head.i]
            if token.head is not token:
                token.head.dependents.append(token)
        parsed[text] = sentence
    return parsed


def tag_sentences(texts: Iterable[str], annotator: str) -> dict[str, tuple[str, ...]]:
    """Return the Penn Treebank tags of the tokens of each distinct text.

    Raises:
        UnknownNameError, ModelError: the annotator does not exist or cannot be loaded.

    Example:
        >>> tag_sentences(["She sleeps well ."], "en-ewt-sm")["She sleeps well ."]
        ('PRP', 'VBZ', 'RB', '.')
    """
    parsed = parse_sentences(load_pipeline(find_annotator(annotator).resolve(), False), texts)
    return {text: tuple(token.tag_ for token in sentence) for text, sentence in parsed.items()}
