"""Answers of a large language model: their schema, and requests repeated until an answer follows it."""

from __future__ import annotations

import json
from typing import Any

from learnedgec.evaluators.chat import (
    Answer,
    Endpoint,
)
from learnedgec.metrics.llm.requests import Request

LOWEST, HIGHEST = 1, 5

# How often a request is sent at most until an answer follows the schema, each time with another seed.
_ASKED = 3


def answer_schema(size: int) -> dict[str, Any]:
    """Return the JSON schema of an answer about `size` corrections."""
    number = {"type": "integer", "enum": list(range(LOWEST, HIGHEST + 1))}
    keys = [f"correction{number}" for number in range(1, size + 1)]
    return {
        "type": "object",
        "properties": dict.fromkeys(keys, number),
        "required": keys,
        "additionalProperties": False,
    }


def parse_ratings(answer: Answer, size: int) -> list[int] | None:
    """Return the ratings in an answer, or `None` unless it is an object of the schema.

    Text around the object is ignored: models often put the object in a code block.
    """
    text = answer.text or ""
    try:
        found = json.loads(text[text.find("{") : text.rfind("}") + 1])
    except (
        ValueError,
        RecursionError,
    ):  # not JSON, a number of thousands of digits, nested too deeply
        return None
    keys = [f"correction{number}" for number in range(1, size + 1)]
    if not isinstance(found, dict) or set(found) != set(keys):
        return None
    ratings = [found[key] for key in keys]
    if any(type(rating) is not int or not LOWEST <= rating <= HIGHEST for rating in ratings):
        return None
    return ratings


def is_usable(answer: Answer, size: int) -> bool:
    """Return whether an answer is a refusal, or follows the schema for `size` corrections."""
    return answer.refusal is not None or parse_ratings(answer, size) is not None


def ask_until_usable(
    endpoint: Endpoint, request: Request, temperature: float | None, seed: int | None
) -> Answer:
    """Ask until an answer follows the schema or is a refusal; return it, or the last one."""
    tokens = [0, 0]
    answer = Answer(None)
    for attempt in range(_ASKED):
        answer = endpoint.ask(
            request.prompt,
            schema=answer_schema(len(request.rows)),
            temperature=temperature,
            seed=None if seed is None else seed + attempt,
        )
        tokens = [tokens[0] + answer.prompt_tokens, tokens[1] + answer.completion_tokens]
        if is_usable(answer, len(request.rows)):
            break
    return Answer(answer.text, answer.refusal, *tokens)
