"""Requests to a large language model, and the plan of how many a run sends."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "RequestPlan",
]


@dataclass(frozen=True, slots=True)
class RequestPlan:
    """The requests that a run would send.

    Attributes:
        prompt: the first request's prompt.
        requests: how many requests there are in all.
        kept: how many of them have an answer on disk.
        characters: the length of all prompts that are still to be sent.
    """

    prompt: str
    requests: int
    kept: int
    characters: int


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt, and the rows of the statistics that contain each of its corrections."""

    prompt: str
    rows: tuple[tuple[int, ...], ...]
