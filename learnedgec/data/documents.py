r"""Documents of several sentences, whose outputs and references may have other sentences than the source.

A file holds essays in the layout of MultiGEC-2025, `LANGUAGE-CORPUS-orig|refN-SPLIT.md`:

    ### essay_id = 1
    Full text of an essay, with line breaks.

    ### essay_id = 2
    …

Each line of an essay is divided into tokens and sentences by spaCy's rules for the language, and Markdown's
mark of a heading is left out. In any other file, a line is a sentence, kept as it is, and blank lines divide
documents.

Sentences of a source and of a correction are aligned within their document, and sentences that belong
together become one unit: two if a correction joins them, one if a correction divides it. Units are common to
all texts of a corpus, so outputs that are compared are scored on the same sentences.

Source of the layout: Masciolini et al., "Towards better language representation in Natural Language
Processing: A multilingual dataset for text-level Grammatical Error Correction" (International Journal of
Learner Corpus Research, 2025).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from learnedgec.data.corpus import Corpus
from learnedgec.data.references import References
from learnedgec.data.text import read_text, split_lines
from learnedgec.errors import FormatError, InputError
from learnedgec.runtime.files import PathLike

Documents: TypeAlias = Mapping[str, Sequence[str]]
"""The sentences of each document, by its id."""

_HEADING = re.compile(r"^### essay_id = (.*)$", re.MULTILINE)

_NAME = re.compile(r"([a-z]{2})-.+-(?:orig|ref\d+|hypo\d*)-[a-z]+\.md")

# What makes a line a heading in Markdown is no text.
_MARK = re.compile(r"^#{1,6} ")

# How many sentences of the source may belong to how many of the correction.
_MATCHES = ((1, 1), (1, 2), (2, 1), (1, 3), (3, 1), (1, 4), (4, 1), (2, 2), (1, 0), (0, 1))

# The cost of a sentence boundary within a unit, in characters. Values from 2 to 10 find all units of JFLEG's
# references if tenths of their sentences are joined and divided; above 10, short sentences are left alone.
_JOINED = 5

# How far a match may lie from the diagonal, in sentences beyond the difference of the two lengths.
_REACH = 10


def is_essays(text: str) -> bool:
    """Return whether a file's text, or its first line, begins with the heading of an essay."""
    return _HEADING.match(text.lstrip()) is not None


def language_of(path: PathLike) -> str:
    """Return the language code in a file's name in the layout of MultiGEC-2025; empty in other names.

    Example:
        >>> language_of("swedish/sv-swell-orig-dev.md"), language_of("source.txt")
        ('sv', '')
    """
    match = _NAME.fullmatch(Path(path).name)
    return match[1] if match else ""


def read_documents(path: PathLike, language: str = "") -> dict[str, list[str]]:
    r"""Return the sentences of each document of a file, by the essay's id or its number from 1.

    Args:
        path: a file of essays or lines.
        language: the two-letter code of the language of essays; without one, rules for any language.

    Raises:
        InputError: the file is missing, unreadable or empty.
        FormatError: two essays have the same id.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "essays.md"
        >>> _ = path.write_text("### essay_id = a7\nHi Ann,\nI is late. Sorry!\n")
        >>> read_documents(path, "en")
        {'a7': ['Hi Ann ,', 'I is late .', 'Sorry !']}
    """
    text = read_text(path)
    name = os.fspath(path)
    if not text.strip():
        raise InputError(f"{name} is empty; at least one document was expected.")
    if not is_essays(text):
        blocks: list[list[str]] = [[]]
        for line in split_lines(text):
            if line.strip():
                blocks[-1].append(line)
            elif blocks[-1]:
                blocks.append([])
        return {str(number): block for number, block in enumerate(filter(None, blocks), 1)}
    documents: dict[str, list[str]] = {}
    headings = list(_HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    for heading, end in zip(headings, ends, strict=True):
        identity = heading[1].strip()
        if identity in documents:
            number = text.count("\n", 0, heading.start()) + 1
            raise FormatError(
                f"{name}:{number}: a second essay has the id {identity!r}; give each essay its own."
            )
        body = text[heading.end() : end]
        documents[identity] = split_sentences(body, language)
    return documents


def split_sentences(text: str, language: str = "") -> list[str]:
    r"""Return the sentences of a text, with spaces between tokens, by spaCy's rules; a line break ends one.

    Args:
        text: the text, untokenised.
        language: the two-letter code of its language; without one, rules for any language.

    Example:
        >>> split_sentences("It is good. Right?\nYes", "en")
        ['It is good .', 'Right ?', 'Yes']
    """
    lines = (_MARK.sub("", line).strip() for line in split_lines(text))
    pipeline = _pipeline(language or "xx")
    return [
        " ".join(token.text for token in sentence if not token.is_space)
        for line in lines
        if line
        for sentence in pipeline(line).sents
    ]


@cache
def _pipeline(language: str) -> Any:
    """Return the tokenizer and the rules of sentences of a language."""
    import spacy

    try:
        pipeline = spacy.blank(language)
    except ImportError:  # spaCy does not know the language, or lacks a package for it.
        pipeline = spacy.blank("xx")
    pipeline.add_pipe("sentencizer")
    return pipeline


def align(source: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Return how many sentences of a source belong to how many of its correction, in their order.

    Of all monotone alignments, this one needs the fewest insertions and deletions of characters between
    sentences that belong together, where each boundary that a correction joins or adds costs five.

    Source: Gale and Church, "A Program for Aligning Sentences in Bilingual Corpora" (Computational
    Linguistics, 1993), with the similarity of characters in place of the lengths.

    Args:
        source: sentences of a document.
        other: sentences of its correction.

    Example:
        >>> align(["He go home .", "He is tired ."], ["He goes home because he is tired ."])
        [(2, 1)]
        >>> align(["He go home he is tired .", "Bye ."], ["He goes home .", "He is tired ."])
        [(1, 2), (1, 0)]
    """
    from rapidfuzz.distance import Indel

    reach = abs(len(source) - len(other)) + _REACH
    # (sentences of the source, of the other) so far -> cost, last match
    best: dict[tuple[int, int], tuple[float, tuple[int, int]]] = {(0, 0): (0.0, (0, 0))}
    for i in range(len(source) + 1):
        centre = round(i * len(other) / max(len(source), 1))
        for j in range(max(0, centre - reach), min(len(other), centre + reach) + 1):
            options = [(best[i, j][0], (0, 0))] if (i, j) in best else []
            for a, b in _MATCHES:
                if (i - a, j - b) in best:
                    texts = (" ".join(source[i - a : i]), " ".join(other[j - b : j]))
                    joined = _JOINED * (max(a - 1, 0) + max(b - 1, 0))
                    cost = best[i - a, j - b][0] + joined + Indel.distance(*texts)
                    options.append((cost, (a, b)))
            if options:
                best[i, j] = min(options)
    matches = []
    i, j = len(source), len(other)
    while i or j:
        a, b = best[i, j][1]
        matches.append((a, b))
        i, j = i - a, j - b
    return matches[::-1]


def _ends(source: Sequence[str], other: Sequence[str]) -> dict[int, int]:
    """Return where units may end: the number of sentences of the source so far -> of the correction.

    An added sentence belongs to the unit before it, or at the beginning to the first.
    """
    ends = {0: 0}
    i = j = 0
    for a, b in align(source, other):
        i, j = i + a, j + b
        ends[i] = j if i else 0
    return ends


def _units(
    source: Sequence[str], others: Sequence[Sequence[str] | None]
) -> list[tuple[str, list[str | None]]]:
    """Return the source of each unit of a document and its texts in the others, `None` where absent."""
    ends = [None if other is None else _ends(source, other) for other in others]
    common = [
        number
        for number in range(len(source) + 1)
        if all(number in each for each in ends if each is not None)
    ]
    return [
        (
            " ".join(source[start:end]),
            [
                None if at is None or other is None else " ".join(other[at[start] : at[end]])
                for at, other in zip(ends, others, strict=True)
            ],
        )
        for start, end in pairwise(common)
    ]


def align_documents(
    sources: Documents,
    systems: Mapping[str, Documents],
    references: Sequence[Documents] = (),
    *,
    language: str = "",
) -> Corpus:
    """Return documents as a corpus of units that all texts have in common, each with its document.

    Args:
        sources: the source documents.
        systems: each system's documents, by its name; as many as there are sources.
        references: each annotator's documents, some of which may be absent.
        language: the two-letter code of the language, if it is known.

    Raises:
        InputError: a system lacks a document, or a text has one that the source lacks.

    Example:
        >>> ours = {"7": ["He goes home because he is tired ."]}
        >>> corpus = align_documents({"7": ["He go home .", "He is tired ."]}, {"ours": ours})
        >>> corpus.sources, corpus.systems["ours"], corpus.documents
        (['He go home . He is tired .'], ['He goes home because he is tired .'], ('7',))
    """
    named = [*systems.items(), *((f"reference {n}", each) for n, each in enumerate(references, 1))]
    for name, documents in named:
        if unknown := [each for each in documents if each not in sources]:
            raise InputError(
                f"{name} has the document {unknown[0]!r}, which the source lacks; give texts of the same "
                "documents."
            )
    for name, documents in systems.items():
        if missing := [each for each in sources if each not in documents]:
            raise InputError(
                f"{name} lacks the document {missing[0]!r} of the source ({len(missing)} of {len(sources)} "
                "are missing); a system's output has all documents, even if one is empty."
            )
    texts: list[str] = []
    others: list[list[str | None]] = []
    of: list[str] = []
    for identity, source in sources.items():
        # A document without a sentence is an empty sentence, so that no text is dropped.
        units = _units(source or [""], [documents.get(identity) for _, documents in named])
        texts += [text for text, _ in units]
        others += [row for _, row in units]
        of += [identity] * len(units)
    columns = list(zip(*others, strict=True))
    outputs = {
        name: [text for text in column if text is not None]
        for name, column in zip(systems, columns, strict=False)
    }
    rows = zip(*columns[len(systems) :], strict=True)
    corrected = References.from_lists(rows) if references else None
    return Corpus.of(texts, outputs, corrected, documents=of, language=language)
