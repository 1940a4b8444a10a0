"""The correction in what a language model wrote, a text or a chat that may say something around it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from rapidfuzz.distance import Indel

from learnedgec.errors import InputError

Completion: TypeAlias = str | Sequence[Mapping[str, Any]]
"""The completion of a policy, a text or the messages of a chat."""

_TAGGED = re.compile(r"<(answer|correction|corrected|output)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
# Marks of the speaker and of the end of a message, which some trainers do not remove.
_SPEAKER = re.compile(
    r"<\|[\w ]+\|>(?:assistant(?=\s*\n|<\|))?|</s>|\A\s*assistant:", re.IGNORECASE
)
_FENCED = re.compile(r"```[\w-]*\n(.*?)```", re.DOTALL)
_MARKS = {"**": "**", "*": "*", "`": "`", "'": "'", '"': '"', "“": "”", "«": "»"}

_CORRECTED = r"\b(?:correct(?:ed|ion)?|revised|fixed|improved|edited|answer|output)\b"
_AFTERWARDS = (
    r"(?:explanations?|changes?|corrections|notes?|reasons?|original|changed|replaced|here\ are"
    r"|I\ (?:\w+ed|made))\b"
)
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
    rf"""(?:\n[^\w\n]*(?:\(|{_AFTERWARDS})|(?<=[.!?"”*])\s+explanation:).*\Z
    |\s\((?:{_AFTERWARDS}|(?:corrected|fixed|added|removed)\b)[^()]*\)\Z""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


def extract_correction(completion: str, source: str | None = None) -> str:
    r"""Return the corrected sentence in what a model wrote.

    Thoughts (`<think>…</think>`) and tokens such as `<|im_end|>` are dropped. Of what is left, the last
    `<answer>…</answer>` (or `<correction>`, `<corrected>`, `<output>`) counts, else a fenced block, else
    everything. Then these go:

    - all up to an announcement of the correction, such as `Corrected sentence:`, `Answer:` or
      `Sure! Here is the corrected version:`;
    - remarks after it: a new line that begins with `Explanation`, `Changes`, `Note` or a parenthesis, and
      `(Changed …)`;
    - quotation marks, `**`, JSON and the marker of a list around the whole.

    Line feeds become spaces. Where the source is given, of the texts before and after each of these steps,
    and their lines, that with the most words in common with it counts. So a sentence that itself begins with
    `Answer:` keeps that word, and other remarks go if they have lines of their own.

    Args:
        completion: the text that the model wrote.
        source: the sentence that it was to correct.

    Example:
        >>> extract_correction("<think>go needs an s</think>\nCorrected sentence: \"He goes .\"")
        'He goes .'
        >>> extract_correction("Answer: he goes.", "Answer: he go.")
        'Answer: he goes.'
    """
    text = _SPEAKER.sub("", _THOUGHT.sub(" ", completion))
    tagged = _TAGGED.findall(text)
    if tagged:
        text = tagged[-1][1]
    elif fenced := _FENCED.findall(text):
        text = fenced[-1]
    text = text.strip()
    candidates = [text]
    for start in [label.end() for label in _LABEL.finditer(text)] or [0]:
        announced = text[start:].strip()
        bare = _REMARK.sub("", announced).strip()
        lines = [] if source is None else announced.splitlines()
        candidates += [announced, *map(_unwrapped, lines), bare, _unwrapped(bare)]
    candidates = [" ".join(each.split()) for each in reversed(candidates)]
    if source is None:
        return candidates[0]
    words = source.split()
    return max(candidates, key=lambda each: Indel.normalized_similarity(words, each.split()))


def _unwrapped(text: str) -> str:
    """Return the correction in JSON, and what is in bold letters or quotation marks as a whole."""
    if text.startswith("{"):
        try:
            record = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            return text
        named = [
            key for key in record if re.search(_CORRECTED, key.replace("_", " "), re.IGNORECASE)
        ]
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
    return "".join(part.get("text", "") for part in content or () if isinstance(part, Mapping))
