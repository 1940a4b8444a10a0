"""Texts of a study that tests share: three different outputs of every sentence, by four systems."""

from __future__ import annotations

from collections.abc import Callable

from learnedgec.judging.study import Study

SOURCES = [f"He go to place {number} ." for number in range(24)]
SYSTEMS = {
    "good": [f"He goes to place {number} ." for number in range(24)],
    "twin": [f"He goes to place {number} ." for number in range(24)],
    "fair": [f"He go to the place {number} ." for number in range(24)],
    "poor": [f"Go he to place {number} ." for number in range(24)],
}
Make = Callable[..., Study]
