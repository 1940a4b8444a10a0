"""Notices about unusual texts, whose effect on scores would otherwise be blamed on the systems.

`text_notices` returns all of them. `texts` are
hypotheses or references by name, with `None` for a reference that is absent.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from learnedgec.data.corpus import Corpus
from learnedgec.data.references import References
from learnedgec.data.sentences import shared_words, words_of
from learnedgec.types import Texts

# The number of sentences that may all be correct without a notice.
_FEW_CORRECT = 9

# The largest number of lines that a notice names.
_SHOWN = 5

# Two sentences with a Dice's coefficient of words below _UNRELATED have hardly a word in common, and below
# _DIFFERENT few words. From _RELATED on, one may be a correction of the other.
_UNRELATED, _DIFFERENT, _RELATED = 0.3, 0.5, 0.6

# Up to this many lines may fit a neighbouring source by chance.
_MAX_BY_CHANCE = 2
# A system may rewrite up to this share of the lines altogether.
_MAX_REWRITTEN = 0.3

# Two ways to write the same, and what a notice says of the texts in the first way.
_FULL_STOPS = (
    re.compile(r"\w[.?!。？！]\s*$"),
    re.compile(r"\s[.?!。？！]\s*$"),
    'of sentences end like "school."',
)
_CONTRACTIONS = (
    re.compile(r"\w['’](?:s|re|ve|ll|d|m)\b|\wn['’]t\b"),
    re.compile(r"\s(?:['’](?:s|re|ve|ll|d|m)|n['’]t)\b"),
    'of contractions are one token, like "don\'t"',
)
_QUOTATION_MARKS = (
    re.compile("[‘’“”]"),
    re.compile("['\"]"),
    "of sentences with quotation marks or apostrophes have curly ones",
)

# Styles (each text is written in one of two ways) -> the advice if texts differ.
_TOKENISE = (
    "metrics compare tokens, and count every such {} as an edit: tokenise all texts alike, if English with "
    "--tokenise spacy (in Python tokenise='spacy')."
)
_STYLES = {
    _FULL_STOPS: _TOKENISE.format("full stop"),
    _CONTRACTIONS: _TOKENISE.format("contraction"),
    _QUOTATION_MARKS: "metrics count every such mark as an edit: write all texts alike.",
}

# A heading, a fence of code, a row of a table, a rule, or a line in bold.
_MARKDOWN = re.compile(r"#{1,6} +\S|```|\|.*\|\s*$|-{3,}\s*$|(\*\*|__)\S.*\S\1\s*$")

_LATIN = re.compile("[A-Za-zªº\u00c0-\u024f\u1e00-\u1eff]")

# Letters of scripts that need no spaces between words. If a text has more of these letters per token than the
# number, it has no spaces. A word of Chinese or Japanese has about 2 letters. A word of Thai, Lao, Burmese or
# Khmer, which write vowels as letters of their own, has about 5.
_SPACELESS = (
    (re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"), 4),
    (re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"), 10),
)


def text_notices(corpus: Corpus, *, by_character: bool = False) -> list[str]:
    """Return one sentence about each thing in the texts that looks like a mistake.

    Args:
        corpus: the texts.
        by_character: whether characters are compared instead of tokens.

    Example:
        >>> text_notices(Corpus.of(["He go .", "Yes ."], {"ours": ["He goes .", ""]}))
        ['ours: 1 of 2 hypotheses is blank where the source is not (line 2).']
    """
    sources, systems, references = corpus.texts
    first = corpus.first
    corrected = _reference_texts(references) if references is not None else {}
    return [
        *source_notices(sources, first),
        *blank_notices(sources, systems, first),
        *blank_reference_notices(sources, references, first),
        *correction_notices(sources, references),
        *misaligned(corpus),
        *form_notices(sources, {**systems, **corrected}),
        *token_notices(sources, systems, references, by_character=by_character),
    ]


def source_notices(sources: Texts, first: int = 1) -> list[str]:
    """Return a notice if sources are blank, and one if they are Markdown; see `text_notices`.

    Example:
        >>> for notice in source_notices(["# My day", "", "He go ."]):
        ...     print(notice)
        the sources: 1 of 3 lines is blank (line 2); each counts as a sentence, so leave out lines ...
        the sources: 1 of 3 lines is Markdown, such as '# My day' (line 1); each counts as a sentence...
    """
    blank = [number for number, text in enumerate(sources, first) if not text.strip()]
    marked = [number for number, text in enumerate(sources, first) if _MARKDOWN.match(text)]
    lines = f"of {len(sources):,} lines"
    notices = []
    if blank:
        notices.append(
            f"the sources: {len(blank):,} {lines} {'is' if len(blank) == 1 else 'are'} blank "
            f"({named_lines(blank)}); each counts as a sentence, so leave out lines between paragraphs in "
            "all files."
        )
    if marked:
        example = sources[marked[0] - first][:40]
        notices.append(
            f"the sources: {len(marked):,} {lines} {'is' if len(marked) == 1 else 'are'} Markdown, such as "
            f"{example!r} ({named_lines(marked)}); each counts as a sentence, so give plain sentences, one "
            "in each line."
        )
    return notices


def misaligned(corpus: Corpus) -> list[str]:
    """Return a notice for each system and annotator whose lines seem to belong to other sources."""
    references = corpus.references
    corrected = _reference_texts(references) if references is not None else {}
    return [
        *alignment_notices(corpus.sources, corpus.systems, first=corpus.first),
        *alignment_notices(corpus.sources, corrected, "references", corpus.first),
    ]


def _reference_texts(references: References) -> dict[str, list[str | None]]:
    """Return each annotator's texts by name, `None` where an annotator has none."""
    annotators = sorted({reference.annotator for row in references for reference in row})
    rows = [{reference.annotator: reference.text for reference in row} for row in references]
    return {
        f"references of annotator {number}" if len(annotators) > 1 else "the references": [
            row.get(number) for row in rows
        ]
        for number in annotators
    }


def blank_notices(sources: Texts, systems: Mapping[str, Texts], first: int = 1) -> list[str]:
    """Return a notice for each system with blank hypotheses where sources are not blank; see `text_notices`.

    Example:
        >>> blank_notices(["He go .", ""], {"ours": ["", ""]})
        ['ours: 1 of 2 hypotheses is blank where the source is not (line 1).']
    """
    notices = []
    for name, hypotheses in systems.items():
        pairs = enumerate(zip(sources, hypotheses, strict=True), first)
        blank = [number for number, (source, text) in pairs if source.strip() and not text.strip()]
        if blank:
            notices.append(
                f"{name}: {len(blank):,} of {len(sources):,} hypotheses {'is' if len(blank) == 1 else 'are'} "
                f"blank where the source is not ({named_lines(blank)})."
            )
    return notices


def blank_reference_notices(
    sources: Texts, references: References | None, first: int = 1
) -> list[str]:
    """Return a notice if references without gold edits are blank where sources are not; see `text_notices`.

    Such a reference deletes the sentence, whereas sacreBLEU takes it for an absent one. Gold edits that
    delete a sentence say what they mean.

    Example:
        >>> references = References.from_texts(["", "Yes ."])
        >>> notice, = blank_reference_notices(["He go .", "Yes ."], references)
        >>> notice[:77]
        'the references: 1 of 2 sentences has one that is blank where the source is no'
    """
    blank = [
        number
        for number, (source, row) in enumerate(zip(sources, references or (), strict=False), first)
        if source.strip() and any(r.edits is None and not r.text.strip() for r in row)
    ]
    if not blank:
        return []
    return [
        f"the references: {len(blank):,} of {len(sources):,} sentences "
        f"{'has' if len(blank) == 1 else 'have'} one that is blank where the source is not "
        f"({named_lines(blank)}); it counts as a correction that deletes the sentence, so give None (in "
        "JSON Lines null) for a reference that is absent."
    ]


def correction_notices(sources: Texts, references: References | None) -> list[str]:
    """Return a notice if references correct nothing in ten or more sentences.

    Example:
        >>> sources = ["He go home ."] * 10
        >>> notice, = correction_notices(sources, References.from_texts(sources))
        >>> notice[:52]
        'the references correct none of the 10 sentences, so '
    """
    if references is None or len(sources) <= _FEW_CORRECT or references.corrects(sources):
        return []
    return [
        f"the references correct none of the {len(sources):,} sentences, so every edit of a system counts as "
        "an error; check that their file has the corrections."
    ]


def named_lines(numbers: Sequence[int]) -> str:
    """Return the first of some line numbers in words.

    Example:
        >>> named_lines([3, 8])
        'lines 3, 8'
    """
    shown = ", ".join(map(str, numbers[:_SHOWN])) + (", …" if len(numbers) > _SHOWN else "")
    return f"line{'' if len(numbers) == 1 else 's'} {shown}"


def alignment_notices(
    sources: Texts,
    texts: Mapping[str, Sequence[str | None]],
    kind: str = "hypotheses",
    first: int = 1,
) -> list[str]:
    """Return a notice for each system or annotator whose lines belong to other sources; see `text_notices`.

    A hypothesis that shares few words with its source (Dice's coefficient below .5) is compared with the
    sources one and two lines before and after it. If three or more hypotheses correct one of those sources
    (.6 or more), the output has lost or gained a line. If more than 30 % do not, and share hardly any words
    with their source (below .3), they may belong to another file or be in another order. A sentence that is
    rewritten shares few words with any source.

    Example:
        >>> sources = ["a b c d", "e f g h", "i j k l", "m n o p"]
        >>> notice, = alignment_notices(sources, {"ours": ["e f g h", "i j k l", "m n o p", "q"]})
        >>> notice[:77]
        'ours: 3 of 4 hypotheses correct the source of a line nearby, not their own (f'
    """
    notices = []
    words = [words_of(source) for source in sources]
    for name, corrections in texts.items():
        nearby, unrelated = [], 0
        for place, (source, text) in enumerate(zip(sources, corrections, strict=True)):
            if text is None or text == source or len(words[place]) < 3 or not text.strip():
                continue
            text_words = words_of(text)
            shared = shared_words(text_words, words[place])
            around = [*words[max(place - 2, 0) : place], *words[place + 1 : place + 3]]
            if shared >= _DIFFERENT:
                continue
            if any(len(near) > 2 and shared_words(text_words, near) >= _RELATED for near in around):
                nearby.append(place)
            else:
                unrelated += shared < _UNRELATED
        if unrelated > max(_MAX_BY_CHANCE, len(nearby), _MAX_REWRITTEN * len(sources)):
            share = f"{unrelated / len(sources):.0%}".replace("%", " %")
            notices.append(
                f"{name}: {share} of the {kind} share almost no word with their source: they may belong "
                "to other sources, be in another order, or not be corrections."
            )
        elif len(nearby) > _MAX_BY_CHANCE:
            notices.append(
                f"{name}: {len(nearby):,} of {len(sources):,} {kind} correct the source of a line "
                f"nearby, not their own (first in line {first + nearby[0]:,}): a line may be lost or added "
                "before it."
            )
    return notices


def form_notices(sources: Texts, texts: Mapping[str, Sequence[str | None]]) -> list[str]:
    """Return a notice for each text that writes letters of the sources in another Unicode form.

    For example, é is one code point in the form NFC and two in NFD.

    Example:
        >>> notice, = form_notices(["\u00e0 ."], {"ours": ["a\u0300 ."]})
        >>> notice[:73]
        'ours: 1 of 1 sentences has letters in another Unicode form than the sourc'
    """
    notices = []
    for name, sentences in texts.items():
        pairs = zip(sources, sentences, strict=True)
        if other := sum(
            text is not None and _in_other_form(source, text) for source, text in pairs
        ):
            notices.append(
                f"{name}: {other:,} of {len(sources):,} sentences {'has' if other == 1 else 'have'} letters "
                "in another Unicode form than the source (they look alike, as é in NFC and in NFD); metrics "
                "count them as edits, so normalise all texts to one form."
            )
    return notices


def _in_other_form(source: str, text: str) -> bool:
    """Return whether a word of the source is in the text with other code points for the same letters."""
    if source.isascii() or text.isascii():
        return False
    normal = [unicodedata.is_normalized("NFC", sentence) for sentence in (source, text)]
    if all(normal):
        return False
    words = set(source.split())
    if len(words) < 2:
        return normal[0] != normal[1]
    composed = {unicodedata.normalize("NFC", word) for word in words}
    return any(unicodedata.normalize("NFC", word) in composed for word in set(text.split()) - words)


def token_notices(
    sources: Texts,
    systems: Mapping[str, Texts],
    references: References | None = None,
    *,
    by_character: bool = False,
) -> list[str]:
    """Return a notice for each text that is tokenised unlike the others; see `text_notices`.

    If no text is tokenised, there is one notice.

    The end of most sentences shows it: `school .` in a tokenised text, `school.` in a raw text
    (`style_notices`). A text in Chinese or another language that needs no spaces between words, and has none,
    has a notice of its own.

    Example:
        >>> notice, = token_notices(["He go home ."], {"llm": ["He goes home."]})
        >>> notice[:71]
        'llm: 100 % of sentences end like "school.", in the sources 0 %; metrics'
    """
    texts: dict[str, Sequence[str | None]] = {"the sources": sources, **systems}
    if references is not None:
        texts |= _reference_texts(references)
    unspaced = [name for name, sentences in texts.items() if is_unspaced(filter(None, sentences))]
    if unspaced and len(unspaced) == len(texts) and by_character:
        return []
    if unspaced:
        return [
            f"{', '.join(unspaced)}: there are no spaces between words, so each sentence is one token of "
            "metrics that compare tokens; compare characters, as gleu(unit='char') does, or segment all "
            "texts into words."
        ]
    shares = [raw_share(filter(None, sentences)) for sentences in texts.values()]
    if min((share for share in shares if share is not None), default=0) > 0.5:
        return [
            'no text is tokenised (sentences end like "school."), so metrics that compare tokens treat a '
            "word and its full stop as one token: tokenise all texts, if English with --tokenise "
            "spacy (in Python tokenise='spacy')."
        ]
    return style_notices(sources, {name: texts[name] for name in texts if name != "the sources"})


def style_notices(sources: Texts, texts: Mapping[str, Sequence[str | None]]) -> list[str]:
    """Return a notice for each text that is written in another style than the sources; see `text_notices`.

    The styles of tokens and quotation marks (`_STYLES`) are compared with the sources' styles or, if the
    sources show none, with the first text that does. A system may also mark most sentences, as with a
    number, or have no capitals where the sources do.

    Example:
        >>> sources = ["He go .", "She go .", "It go ."]
        >>> notice, = style_notices(sources, {"llm": [f"Corrected: {text}" for text in sources]})
        >>> notice[:47]
        "llm: 3 of 3 sentences begin with 'Corrected:', "
    """
    notices = []
    for style, advice in _STYLES.items():
        named = {"the sources": sources, **texts}
        measured = {name: _share(filter(None, named[name]), style) for name in named}
        shares = {name: share for name, share in measured.items() if share is not None}
        first = next(iter(shares), "")
        notices += [
            f"{name}: {share:.0%} {style[2]}, in {first} {shares[first]:.0%}; {advice}".replace(
                "%", " %"
            )
            for name, share in shares.items()
            if (share > 0.5) != (shares[first] > 0.5)
        ]
    for name, sentences in texts.items():
        pairs = zip(sources, sentences, strict=True)
        marks = Counter(mark for source, text in pairs if text for mark in _marks(source, text))
        notices += [
            f"{name}: {count:,} of {len(sources):,} sentences {mark}, unlike their sources; metrics count "
            "this as an edit of each: write all texts alike."
            for mark, count in marks.items()
            if count > max(_MAX_BY_CHANCE, len(sources) / 2)
        ]
    return notices


def _marks(source: str, text: str) -> list[str]:
    """Return what a text has before the first and after the last word of its source, and its case."""
    marks = [
        f"are in {case} case"
        for case, is_in in (("lower", str.islower), ("upper", str.isupper))
        if is_in(text) and not is_in(source)
    ]
    words = source.split()
    if not words:
        return marks
    before, starts, _ = text.partition(words[0])
    _, ends, after = text.rpartition(words[-1])
    if starts and before.strip() and not before[-1].isalnum():
        marks.append(f"begin with {re.sub(r'[0-9]+', '1', before.strip())!r}")
    # A system may add the full stop of each sentence.
    if ends and after.strip(" .?!。？！") and not after[0].isalnum():
        marks.append(f"end with {after.strip()!r}")
    return marks


def is_unspaced(texts: Iterable[str]) -> bool:
    """Return whether texts in a script that needs no spaces between words have none.

    Example:
        >>> is_unspaced(["我今天很高兴。"]), is_unspaced(["我 今天 很 高兴 。"])
        (True, False)
    """
    tokens = [token for text in texts if not text.isascii() for token in text.split()]
    for letters, most in _SPACELESS:
        counts = [count for token in tokens if (count := len(letters.findall(token)))]
        if sum(counts) > most * len(counts):
            return True
    return False


def is_latin(texts: Iterable[str]) -> bool:
    """Return whether at least half of the letters are Latin.

    Example:
        >>> is_latin(["Elle a été là ."]), is_latin(["Она была там ."])
        (True, False)
    """
    letters = latin = 0
    for text in texts:
        letters += sum(map(str.isalpha, text))
        latin += len(_LATIN.findall(text))
    return 2 * latin >= letters


def raw_share(texts: Iterable[str]) -> float | None:
    """Return the share of raw full stops, such as `school.`, among final ones; `None` if there are none."""
    return _share(texts, _FULL_STOPS)


def _share(
    texts: Iterable[str], style: tuple[re.Pattern[str], re.Pattern[str], str]
) -> float | None:
    """Return the share of a style among texts in this or the other one, if these are more than a tenth."""
    texts = list(texts)
    one = other = 0
    for text in texts:
        one += bool(style[0].search(text))
        other += bool(style[1].search(text))
    return one / (one + other) if one + other > len(texts) / 10 else None
