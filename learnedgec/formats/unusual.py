"""What is unusual about texts that are scored together, and would be taken for the systems' fault."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from learnedgec.formats.references import References

__all__ = ["blank_notices", "token_notices"]

# Lines that are named.
_SHOWN = 5

_AT_WORD, _APART = re.compile(r"\w[.?!]\s*$"), re.compile(r"\s[.?!]\s*$")


def blank_notices(sources: Sequence[str], systems: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a sentence for each system some of whose hypotheses are blank where the source is not.

    Example:
        >>> blank_notices(["He go .", ""], {"ours": ["", ""]})
        ['ours: 1 of 2 hypotheses is blank where the source is not (line 1).']
    """
    found = []
    for name, hypotheses in systems.items():
        pairs = enumerate(zip(sources, hypotheses, strict=True), 1)
        blank = [number for number, (source, text) in pairs if source.strip() and not text.strip()]
        if blank:
            verb, noun = ("is", "line") if len(blank) == 1 else ("are", "lines")
            shown = ", ".join(map(str, blank[:_SHOWN])) + (", …" if len(blank) > _SHOWN else "")
            found.append(
                f"{name}: {len(blank):,} of {len(sources):,} hypotheses {verb} blank where the source is "
                f"not ({noun} {shown})."
            )
    return found


def token_notices(
    sources: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    references: References | None = None,
) -> list[str]:
    """Return a sentence for each text that is cut into tokens where others are not, or one if none is cut.

    What ends most of a text's sentences tells: `school .` in tokens, `school.` in a text as it comes. All are
    compared with the sources, or, where no source ends in a full stop, with the first text that does.

    Example:
        >>> token_notices(["He go home ."], {"ours": ["He goes home ."]})
        []
        >>> notice, = token_notices(["He go home ."], {"llm": ["He goes home."]})
        >>> notice[:71]
        'llm: 100 % of sentences end like "school.", in the sources 0 %; metrics'
    """
    texts: dict[str, Iterable[str]] = {"the sources": sources, **systems}
    if references is not None:
        texts["the references"] = [text for row in references.texts() for text in row]
    shares = {name: share for name, each in texts.items() if (share := _share(each)) is not None}
    if not shares:
        return []
    if min(shares.values()) > 0.5:
        return [
            'no text is cut into tokens (sentences end like "school."), so metrics that compare tokens take '
            "a word and its full stop for one: cut all, as for English, with tokenise='spacy'."
        ]
    first, *others = shares
    return [
        f'{name}: {shares[name]:.0%} of sentences end like "school.", in {first} {shares[first]:.0%}; '
        "metrics compare tokens, and take every such full stop for an edit: cut all alike with "
        "tokenise='spacy'.".replace("%", " %")
        for name in others
        if (shares[name] > 0.5) != (shares[first] > 0.5)
    ]


def _share(texts: Iterable[str]) -> float | None:
    """Return how many of the sentences with a full stop have it at the last word; `None` if none has one."""
    at_word = apart = 0
    for text in texts:
        at_word += bool(_AT_WORD.search(text))
        apart += bool(_APART.search(text))
    return at_word / (at_word + apart) if at_word + apart else None
