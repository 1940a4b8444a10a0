"""The correction in what a language model wrote around it.

The rules go by structure. Marks divide a completion into texts, and a label announces what follows it. What
comes last counts. Where the source is known, a text that repeats it gives way to one that changes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

from rapidfuzz.distance import Indel

from learnedgec.applications.safeguards import is_correction, tokens_of
from learnedgec.errors import InputError

Completion: TypeAlias = str | Sequence[Mapping[str, Any]]
"""The completion of a policy, a text or the messages of a chat."""


def completed_text(completion: Completion, place: str) -> str:
    """Return a completion's text: itself, or the content of a chat's last message.

    Raises:
        InputError: it is neither; the message names the place.
    """
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Sequence) and not completion:
        return ""
    last = completion[-1] if isinstance(completion, Sequence) else None
    if not isinstance(last, Mapping):
        raise InputError(
            f"{place} is {str(completion)[:60]!r}; a text, or a list of messages such as "
            "[{'role': 'assistant', 'content': TEXT}], was expected."
        )
    content = last.get("content")
    if isinstance(content, str):
        return content
    # The content may be a list of parts, and only some of them are texts.
    return "".join(part.get("text") or "" for part in content or () if isinstance(part, Mapping))


def extract_correction(completion: str, source: str | None = None) -> str:
    r"""Return the corrected sentence in what a model wrote.

    Special tokens (`<|im_end|>`), tags (`<answer>`) and tags in square brackets (`[INST]`) divide a
    completion into texts. Thoughts go: all before `</think>` or another end of thoughts, and all after a
    beginning without an end. Of the other texts, the last in a tag named for a correction or an answer
    counts, else the last outside of pairs of tags, else the last. Then these go:

    - all but the last fenced block;
    - all up to an announcement of the correction, such as `Corrected sentence:`, `Answer:` or
      `Sure! Here is the corrected version:`;
    - remarks after it: a new line that begins with `Explanation`, `Changes`, `Original:` or a parenthesis,
      and `(Changed …)`;
    - a line that a later line repeats with changes;
    - quotation marks, `**`, JSON and the marker of a list.

    Line feeds become spaces. Where the source is given, marks and announcements that the source has stay, and
    every text, line and part after a colon or an arrow is a candidate. Candidates that may be a correction
    (`is_correction`) and do not repeat the source come first, and what was announced comes before what was
    not. Of these, that with the most words in common with the source counts.

    Where the model's tokenizer has a `response_template`, transformers knows exactly what is a thought: give
    this function the content of `tokenizer.parse_response(text, prefix=prompt)`.

    Args:
        completion: the text that the model wrote.
        source: the sentence that it was to correct.

    Example:
        >>> extract_correction("<think>go needs an s</think>\nCorrected sentence: \"He goes .\"")
        'He goes .'
        >>> extract_correction("Corrected: He goes .\nOriginal: He go .", "He go .")
        'He goes .'
        >>> extract_correction("Answer: he goes.", "Answer: he go.")
        'Answer: he goes.'
    """
    answers = _answers(completion, source or "")
    if source is not None:
        return _closest(
            [each for answer in reversed(answers) for each in _candidates(answer, source)], source
        )
    if not answers:
        return ""
    text = answers[-1].text
    for label in _LABEL.finditer(answers[-1].text):
        text = answers[-1].text[label.end() :]
    return _flat(_unwrapped(_last_version(_REMARK.sub("", text.strip()).strip())))


# -- marks, and the texts between them -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a completion that may be the correction, and whether a tag or a label announces it."""

    text: str
    announced: bool


# Special tokens, whose names one or two bars enclose; tags; tags in square brackets.
_MARK = re.compile(
    r"<[|｜]([^<>|｜\n]{1,40})[|｜]?>|<([^<>|｜\n]{1,40})[|｜]>|[<◁](/?[A-Za-z][\w:-]*)[>▷]|\[(/?[A-Z][A-Z_]+)\]"
)
_END = re.compile(r"/|end", re.IGNORECASE)
_THOUGHT = re.compile(r"think|thought|reason|reflect|analysis|scratch", re.IGNORECASE)
_CORRECTED = r"\b(?:correct(?:ed|ion)?|revised|fixed|improved|edited|answer|output)\b"
# Tags such as <b>went</b>, with text before and after them in their line.
_INLINE = re.compile(r"(?<=\S )<([A-Za-z]\w*)>([^<>\n]*)</\1>(?=[ .,])")
_OTHERS = re.compile("user|system|tool")
_FENCED = re.compile(r"```[\w-]*\n(.*?)```", re.DOTALL)
_STRONG = re.compile(r"\*\*(?=\S)([^*\n]+)(?<=\S)\*\*")


def _answers(completion: str, source: str) -> list[_Part]:
    """Return the texts between marks that are no thoughts, the likeliest answer last."""
    text = _INLINE.sub(r"\2", completion) if "</" not in source else completion
    marks = [mark for mark in _MARK.finditer(text) if mark.group() not in source and _divides(mark)]
    marked = [(mark[mark.lastindex or 0], mark.span()) for mark in marks]
    marked.append(("", (len(text), len(text))))
    found: list[tuple[bool, bool, str]] = []
    names: list[str] = []  # the marks, and the words between or after them, that introduce a text
    start = 0
    for mark, (end, beyond) in marked:
        part, start = text[start:end].strip(), beyond
        paired = bool(names) and mark == f"/{names[-1]}"
        if names and not paired and (word := re.match(r"(\w+)[ \t]*\n", part)):
            names.append(word[1])  # a speaker, or the name of a channel, on a line of its own
            part = part[word.end() :].strip()
        # A word between two marks, of which the second ends nothing, is the name of what follows.
        opens = bool(mark) and not _END.match(mark) and bool(text[beyond:].strip())
        if names and opens and re.fullmatch(r"\w+", part):
            names.append(part)
        elif part:
            thought = any(_THOUGHT.search(name) and not _END.match(name) for name in names)
            if not thought and not any(map(_OTHERS.fullmatch, names)):
                found.append((paired and _is_for_corrections(names[-1]), not paired, part))
            names = []
        if _END.match(mark) and _THOUGHT.search(mark):
            found.clear()
            names = []
        names.append(mark)
    found.sort(key=lambda each: each[:2])
    return [_Part(_without_style(part, source), announced) for announced, _, part in found]


def _is_for_corrections(name: str) -> bool:
    """Return whether a tag or a key announces a correction."""
    return bool(re.search(_CORRECTED, name.replace("_", " "), re.IGNORECASE))


def _without_style(text: str, source: str) -> str:
    """Return the last fenced block of a text, or the text, without bold letters and its speaker."""
    text = ([text, *_FENCED.findall(text)])[-1]
    if "**" not in source:
        text = _STRONG.sub(r"\1", text)
    if not source.lower().startswith("assistant:"):
        text = re.sub(r"\A\s*assistant:", "", text, flags=re.IGNORECASE)
    return text.strip()


def _divides(mark: re.Match[str]) -> bool:
    """Return whether a mark begins or ends a text; a tag without an end, such as `<unk>`, is a word."""
    tag, (start, end), text = mark[3] or mark[4], mark.span(), mark.string
    if tag is None or tag.startswith("/") or f"{mark[0][0]}/{mark[0][1:]}" in text[end:]:
        return True
    starts = start == 0 or text[start - 1] == "\n"
    ends = end == len(text) or text[end] == "\n"
    return starts or (ends and not text[start - 1].isspace())


# -- labels, remarks and lines ---------------------------------------------------------------------

_AFTERWARDS = (
    r"(?:explanations?|changes?|corrections|notes?|reasons?|original|changed|replaced|here\ are"
    r"|I\ (?:\w+ed|made))\b"
)
_ORIGINAL = r"(?:(?:the|your)\ )?(?:original|input|source)\b[^\n:]{0,40}:"
# A label begins a line, and no space precedes its colon: a tokenised sentence may itself say "The answer
# is : ...".
_LABEL = re.compile(
    rf"""^[*\#>\ ]*(?:(?:sure|certainly|of\ course|okay|yes)\b[^\w\n]*)?
    (?:here(?:['’]s|\ is)\b[^:\n]{{,80}}?{_CORRECTED}[^:\n]{{,80}}?
    |here\ you\ go\b
    |(?:(?:the|a|my|your|final|grammatically)\ )*{_CORRECTED}
    (?:\ (?:sentence|text|version|answer|is|would|be))*
    |(?!{_AFTERWARDS})[^\n]{{,80}}{_CORRECTED}[^\n]{{,80}}?(?=:\**\s*\n))\**\ ?
    (?:(?:(?<=\S)|(?<=sentence\ )|(?<=text\ )|(?<=version\ )):(?:\*\*(?=\s))?
    |(?=\s*\n)|(?=["“«]\S[^"“”«»]*["”»]\.?$))\s*(?:>\ )?""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_REMARK = re.compile(
    rf"""(?:\n[^\w\n]*(?:\(|{_ORIGINAL}|{_AFTERWARDS})|(?<=[.!?"”*])\s+explanation:).*\Z
    |\s\((?:{_AFTERWARDS}|(?:corrected|fixed|added|removed)\b)[^()]*\)\Z""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_ARROW = re.compile(r"\s(?:→|->|=>)\s")
_MARKS = {"**": "**", "*": "*", "`": "`", "'": "'", '"': '"', "“": "”", "«": "»"}
# Two versions of one sentence share more of their characters than two sentences do.
_MIN_ALIKE = 0.75
_MIN_SHARED = 0.25


def _last_version(text: str) -> str:
    """Return the last of the lines that repeat an earlier one with changes, or the text if none does."""
    lines = [line for line in text.splitlines() if line.strip()]
    versions = [
        line
        for earlier, line in pairwise(lines)
        if max(
            Indel.normalized_similarity(each, line)
            for each in (earlier, earlier.partition(": ")[2])
        )
        >= _MIN_ALIKE
    ]
    return versions[-1] if versions else text


def _candidates(answer: _Part, source: str) -> Iterator[_Part]:
    """Yield the parts of an answer, those that its structure prefers first."""
    whole = answer.text
    known = source.casefold()
    labels = [
        label for label in _LABEL.finditer(whole) if label.group().strip().casefold() not in known
    ]
    starts = [label.span() for label in labels] or [(0, 0)]
    ends = [start for start, _ in starts[1:]] + [len(whole)]
    announced = answer.announced or bool(labels)
    for (start, inside), end in reversed(list(zip(starts, ends, strict=True))):
        section = whole[inside:end].strip()
        bare = _REMARK.sub("", section).strip()
        for text in (_unwrapped(bare), bare, *_pieces(section, known), section, whole[start:end]):
            yield _Part(text, announced)
    for text in (*_pieces(whole, known), whole):
        yield _Part(text, answer.announced)


def _pieces(text: str, known: str = "") -> Iterator[str]:
    """Yield each line, what stands beside an arrow, and what follows a label that is not known."""
    for line in text.splitlines():
        label, _, labelled = line.partition(": ")
        new = not label.endswith(" ") and label.strip().casefold() not in known
        for part in dict.fromkeys((line, labelled if new else "", *_ARROW.split(line))):
            if part.strip():
                yield _unwrapped(part.strip())


def _closest(candidates: Sequence[_Part], source: str) -> str:
    """Return the candidate that is most likely the correction of a source; see `extract_correction`."""
    announced: dict[str, bool] = {}
    for candidate in candidates:
        announced[candidate.text] = announced.get(candidate.text, False) or candidate.announced
    parts = list(announced)
    texts = list(map(_flat, parts))
    if len(set(texts)) < 2:
        return "".join(texts[:1])
    words = tokens_of(source)
    similar = [Indel.normalized_similarity(words, tokens_of(text)) for text in texts]
    fits = is_correction([source] * len(texts), texts)

    def order(place: int) -> tuple[bool, bool, float]:
        repeats = any(tokens_of(part) == words for part in _pieces(parts[place]))
        # An announcement of something else, such as "none", has hardly a word of the source.
        called = announced[parts[place]] and similar[place] >= _MIN_SHARED
        return bool(fits[place]) and not repeats, called, similar[place]

    return texts[max(range(len(texts)), key=order)]


def _flat(text: str) -> str:
    return " ".join(text.split())


def _unwrapped(text: str) -> str:
    """Return the correction in JSON, and what is in bold letters or quotation marks as a whole."""
    if text.startswith("{"):
        try:
            record = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            return text
        named = list(filter(_is_for_corrections, record))
        values = [record[key] for key in named or record]
        if len(values) == 1 and isinstance(values[0], str):
            text = values[0].strip()
    text = re.sub(
        r"""\A(["“«][^"“”«»]*["”»])\.\Z""", r"\1", re.sub(r"\A(?:[-*•]|1[.)]) +", "", text)
    )
    for opening, closing in _MARKS.items():
        inside = text.removeprefix(opening).removesuffix(closing)
        whole = len(inside) + len(opening + closing) == len(text)
        # A tokenised text has a space after a quotation mark of its own.
        if whole and opening not in inside and not inside.startswith(" "):
            text = inside.strip()
    return text
