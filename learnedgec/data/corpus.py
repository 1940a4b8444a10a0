"""The texts that are scored: sources, systems' outputs and references, checked, tokenised and numbered once.

Public functions, commands and benchmarks make a `Corpus` of the texts that they are given (`Corpus.of`).
Functions behind them take it and trust it: none looks at a text again to see whether it is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias

from learnedgec.data.references import Reference, ReferenceRows, References, as_references
from learnedgec.data.sentences import Sentences, Systems, are_systems, as_sentences, as_systems
from learnedgec.data.text import check_lengths
from learnedgec.data.tokenisation import tokenise, tokenise_references
from learnedgec.errors import InputError
from learnedgec.types import Texts

ONE = "hypotheses"
"""The name of a system that is given without one."""

Tokeniser: TypeAlias = Literal["none", "spacy"]
"""The tokenizer of raw texts; `none` leaves them as they are."""


class Rows(NamedTuple):
    """The distinct rows of a corpus: what systems have in common is there once.

    Attributes:
        sources: the source of each of R rows.
        hypotheses: the hypothesis of each row.
        references: the references of each row; none, if the corpus has none.
        numbers: system -> the number of the row of each of its N hypotheses.
    """

    sources: list[str]
    hypotheses: list[str]
    references: References
    numbers: Mapping[str, list[int]]


@dataclass(frozen=True, eq=False)
class Corpus:
    """N sentences with the outputs of systems and their references, checked.

    Attributes:
        sources: N texts.
        systems: system -> N hypotheses.
        references: references of the sentences, if there are any.
        first: the number of the first sentence in the input, for messages.
        documents: the document of each sentence; empty if the sentences are not of documents.
        language: the two-letter code of the language, such as `sv`; empty if it is not known.

    Example:
        >>> corpus = Corpus.of(["He go ."], {"ours": ["He goes ."], "theirs": ["He goes ."]})
        >>> len(corpus), corpus.rows.hypotheses, corpus.rows.numbers
        (1, ['He goes .'], {'ours': [0], 'theirs': [0]})
    """

    sources: Texts
    systems: Mapping[str, Texts]
    references: References | None = None
    first: int = 1
    documents: tuple[str, ...] = ()
    language: str = ""

    @classmethod
    def of(
        cls,
        sources: Sentences,
        hypotheses: Sentences | Systems,
        references: ReferenceRows | None = None,
        *,
        first: int = 1,
        documents: Sequence[str] = (),
        language: str = "",
    ) -> Corpus:
        """Return what a caller gives as a corpus; no other function checks texts.

        Args:
            sources: N texts.
            hypotheses: each system's N texts, by its name, or one system's, which gets the name `hypotheses`.
            references: `References`, or each sentence's texts.
            first: the number of the first sentence in the input.
            documents: the document of each sentence.
            language: the two-letter code of the language.

        Raises:
            LengthError: sources, hypotheses and references differ in length.
            InputError: there is no sentence, or an item is not a text; the message names the argument and the
                index.
        """
        systems = (
            as_systems(hypotheses)
            if are_systems(hypotheses)
            else {ONE: as_sentences(hypotheses, ONE)}
        )
        texts = as_sentences(sources, "sources")
        known = as_references(references, texts)
        if not texts:
            raise InputError("there is no sentence to score; give at least one source.")
        for system, outputs in systems.items():
            check_lengths(("sources", texts), (system, outputs))
        if known is not None:
            check_lengths(("sources", texts), ("references", known))
        if documents:
            check_lengths(("sources", texts), ("documents", documents))
        return cls(texts, systems, known, first, tuple(documents), language)

    @classmethod
    def joined(cls, corpora: Sequence[Corpus]) -> Corpus:
        """Return the sentences of several corpora of the same systems; either all or none have references."""
        rows = [corpus.references for corpus in corpora if corpus.references is not None]
        return cls(
            list(chain.from_iterable(corpus.sources for corpus in corpora)),
            {
                system: list(chain.from_iterable(corpus.systems[system] for corpus in corpora))
                for system in corpora[0].systems
            },
            References(tuple(chain.from_iterable(rows))) if rows else None,
        )

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def texts(self) -> tuple[Texts, Mapping[str, Texts], References | None]:
        """Sources, systems and references."""
        return self.sources, self.systems, self.references

    def context(self, number: int) -> tuple[str, str]:
        """Return the sources before and after a sentence in its document; empty where there is none.

        Example:
            >>> corpus = Corpus.of(["A", "B", "C"], ["A", "B", "C"], documents=["1", "1", "2"])
            >>> corpus.context(1)
            ('A', '')
        """
        of = dict(enumerate(self.documents))
        before, after = (
            self.sources[n] if n in of and of[n] == of[number] else ""
            for n in (number - 1, number + 1)
        )
        return before, after

    @property
    def annotator(self) -> str | None:
        """The annotator of edits for a language that no pipeline here reads: `plain`; `None` for English."""
        return None if self.language in ("", "en") else "plain"

    def tokenised(self, tokeniser: Tokeniser) -> Corpus:
        """Return the corpus with its texts tokenised."""
        return self if tokeniser == "none" else self._tokenised

    @cached_property
    def _tokenised(self) -> Corpus:
        references = self.references
        return replace(
            self,
            sources=tokenise(self.sources),
            systems={name: tokenise(texts) for name, texts in self.systems.items()},
            references=references and tokenise_references(references, self.sources),
        )

    def of_systems(self, systems: Iterable[str]) -> Corpus:
        """Return the corpus with these systems alone; itself, if they are all."""
        names = list(systems)
        if names == list(self.systems):
            return self
        return replace(self, systems={name: self.systems[name] for name in names})

    @cached_property
    def unreferenced(self) -> Corpus:
        """The corpus without references, whose rows have more in common."""
        return self if self.references is None else replace(self, references=None)

    @cached_property
    def rows(self) -> Rows:
        """The distinct rows, numbered once for all metrics."""
        references = self.references or References(((),) * len(self))
        # References are compared by the number of the first sentence that has the same ones.
        first: dict[tuple[Reference, ...], int] = {}
        same = [first.setdefault(row, number) for number, row in enumerate(references)]
        places: dict[tuple[str, str, int], int] = {}
        numbers = {
            system: [
                places.setdefault(row, len(places))
                for row in zip(self.sources, hypotheses, same, strict=True)
            ]
            for system, hypotheses in self.systems.items()
        }
        return Rows(
            [source for source, _, _ in places],
            [hypothesis for _, hypothesis, _ in places],
            references.select(number for _, _, number in places),
            numbers,
        )

    def outputs(self) -> tuple[list[str], list[int], list[str], list[str]]:
        """Return the system, the number of the sentence from 1, the source and the text of every output."""
        return (
            [name for name in self.systems for _ in self.sources],
            [*range(1, len(self) + 1)] * len(self.systems),
            [*self.sources] * len(self.systems),
            [text for texts in self.systems.values() for text in texts],
        )
