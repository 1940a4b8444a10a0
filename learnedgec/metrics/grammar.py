"""The grammar of metrics' names.

    metric     = name [ "[" evaluator "]" ] [ "(" parameter { "," parameter } ")" ]
    parameter  = key "=" literal                 a Python literal: 0.5, 4, 'text', True, None, (1, 2)
    key        = identifier | metric | text      of an ensemble: gleu=0.5, m2(beta=1.0)=0.5, 'some@jfleg'=0.5

An evaluator is the name of a trained package that the metric reads: `some[joint-mpnet-3]`. It stands for the
parameter of that metric which names the package.

A name has at most 10,000 characters. The registry knows which names and parameters exist.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from learnedgec.errors import BadNameError

# The name of an evaluator that can stand in brackets.
EVALUATOR = re.compile(r"\w[\w.+-]*")

# The longest name, in characters.
LONGEST = 10_000


_NAME = re.compile(
    r"\s*([A-Za-z][\w.@+-]*|[A-Za-z_][\w.]*:[A-Za-z_][\w.]*)"
    rf"(?:\[({EVALUATOR.pattern})\])?\s*(\(.*\))?\s*",
    re.DOTALL,
)
# What matters for the end of a key: quoted texts, which are skipped as a whole, and single signs.
_SIGN = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[()\[\]{},=]""", re.DOTALL)


def split_name(name: str) -> tuple[str, str | None, dict[str, Any]]:
    """Return the base name, the evaluator in brackets and the parameters of a metric's name.

    Raises:
        BadNameError: the name does not follow the grammar.

    Example:
        >>> split_name("ensemble(gleu=0.5, m2(beta=1.0)=0.5)")
        ('ensemble', None, {'gleu': 0.5, 'm2(beta=1.0)': 0.5})
        >>> split_name("impara[mine](threshold=0.9)")
        ('impara', 'mine', {'threshold': 0.9})
    """
    if len(name) > LONGEST:
        raise BadNameError(
            f"the name {shown(name)} has {len(name)} characters; at most {LONGEST} were expected."
        )
    match = _NAME.fullmatch(name)
    if match is None:
        raise BadNameError(
            f"{shown(name)!r} is not a metric; one name such as gleu or m2(beta=1.0) was expected."
        )
    base, evaluator, arguments = match.groups()
    return base, evaluator, _parse_arguments(base, arguments or "()")


def _parse_arguments(name: str, arguments: str) -> dict[str, Any]:
    """Return the keyword arguments of a name such as `(beta=0.5, scorer='bertscore')`."""
    try:
        # Each key, which may be a metric's name, is replaced by a valid Python keyword argument.
        keys, text = _without_keys(f"_{arguments}")
        call = ast.parse(text, mode="eval").body
        # One call and nothing else: not the call of a call, and no comment after it.
        if (
            not isinstance(call, ast.Call)
            or not isinstance(call.func, ast.Name)
            or call.args
            or ast.get_source_segment(text, call) != text
        ):
            raise ValueError
        values = [(keyword.arg, ast.literal_eval(keyword.value)) for keyword in call.keywords]
        pairs = [(key and keys[key], value) for key, value in values]
    # The parser runs out of memory or stack on input that is nested too deeply.
    except (SyntaxError, ValueError, TypeError, KeyError, RecursionError, MemoryError):
        raise BadNameError(
            f"the parameters of {shown(name + arguments)} cannot be read; write them as "
            f"{shown(name)}(parameter=value, …) with texts in quotes."
        ) from None
    parameters: dict[str, Any] = {}
    for key, value in pairs:
        if key is None or key in parameters:
            raise BadNameError(
                f"{shown(name + arguments)} gives the parameter {shown(str(key))!r} twice or unnamed."
            )
        parameters[key] = value
    return parameters


def _without_keys(text: str) -> tuple[dict[str, str], str]:
    """Return the keys of `_(key=value, …)` by placeholder, and the text with these placeholders.

    Raises:
        ValueError: a key is neither an identifier, nor a metric's name, nor a text in quotes.
    """
    keys: dict[str, str] = {}
    pieces, depth, done, start = [], 0, 0, -1
    for match in _SIGN.finditer(text):
        sign, at = match[0], match.start()
        if sign in "([{":
            depth += 1
            start = at + 1 if depth == 1 else start
        elif sign in ")]}":
            depth -= 1
        elif depth == 1 and sign == ",":
            start = at + 1
        elif depth == 1 and sign == "=" and start >= 0:
            key = text[start:at].strip()
            if key[:1] in ("'", '"'):
                key = str(ast.literal_eval(key))
            elif not (key.isidentifier() or _NAME.fullmatch(key)):
                raise ValueError(key)
            word = f"key{len(keys)}"
            keys[word] = key
            pieces += [text[done:start], word]
            done, start = at, -1
    return keys, "".join([*pieces, text[done:]])


def shown(text: str) -> str:
    """Return a text, shortened if it is too long for a message."""
    return text if len(text) <= 200 else f"{text[:200]}…"
