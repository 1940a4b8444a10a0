"""What type checkers refuse is refused at run time, and the other way round.

`scripts/check` runs mypy on this file too: an ignored error that does not occur is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import learnedgec
from learnedgec.data.references import References
from learnedgec.errors import InputError
from learnedgec.scoring import score

TEXTS = ["He go home now .", "Yes , it is ."]
REFUSED: list[Callable[[], object]] = [
    lambda: score("gleu", "He go .", TEXTS, TEXTS),  # type: ignore[call-overload]
    lambda: score("gleu", TEXTS, "He goes .", TEXTS),  # type: ignore[call-overload]
    lambda: score("gleu", TEXTS, TEXTS, "He goes ."),  # type: ignore[call-overload]
    lambda: score("gleu", Path("src.txt"), TEXTS, TEXTS),  # type: ignore[call-overload]
    lambda: score("gleu", iter(TEXTS), TEXTS, TEXTS),  # type: ignore[call-overload]
    lambda: score("gleu", set(TEXTS), TEXTS, TEXTS),  # type: ignore[call-overload]
    lambda: score("gleu", TEXTS, [None, "a"], TEXTS),  # type: ignore[list-item]
    lambda: score("gleu", TEXTS, TEXTS, [None, ["a"]]),  # type: ignore[arg-type]
]
TAKEN: list[Callable[[], float]] = [
    lambda: score("gleu", TEXTS, tuple(TEXTS), TEXTS).value,
    lambda: score("gleu", TEXTS, TEXTS, [[text] for text in TEXTS]).value,
    lambda: score("gleu", np.array(TEXTS), TEXTS, tuple((text,) for text in TEXTS)).value,
    lambda: score("gleu", TEXTS, {"x": TEXTS}, References.from_texts(TEXTS))["x"].value,
    lambda: score("gleu", TEXTS, TEXTS, References.from_texts(TEXTS)).value,
    lambda: learnedgec.load_metric("gleu").score(TEXTS, TEXTS, TEXTS).value,
    lambda: learnedgec.load_metric("gleu").score(TEXTS, {"x": TEXTS}, TEXTS)["x"].value,
]


ROWS = [{"source": "a", "hypothesis": "b", "fluency": 1}]
# Run time refuses them before it reads, trains or scores anything.
MISUSED: list[Callable[[], object]] = [
    lambda: learnedgec.train(ROWS),  # type: ignore[call-arg]
    lambda: learnedgec.train(3, output="x"),  # type: ignore[arg-type]
    lambda: learnedgec.train([3], output="x"),  # type: ignore[arg-type]
    lambda: learnedgec.train(ROWS, output="x", epochs=3),  # type: ignore[call-arg]
    lambda: learnedgec.train(ROWS, output="x", bits=3),  # type: ignore[arg-type]
    lambda: learnedgec.tune("gleu", "sample", trial=3),  # type: ignore[call-arg]
    lambda: learnedgec.tune("gleu", "sample", objective="bleu"),  # type: ignore[arg-type]
    lambda: learnedgec.SearchPlan(validation="x"),  # type: ignore[arg-type]
    lambda: learnedgec.reward("length", flor=-1.0),  # type: ignore[call-arg]
    lambda: learnedgec.reward(3),  # type: ignore[arg-type]
    lambda: learnedgec.compare("gleu", TEXTS, {"a": TEXTS}, TEXTS),  # type: ignore[call-arg]
    lambda: learnedgec.edit_confidence("a", TEXTS),  # type: ignore[arg-type]
    lambda: learnedgec.Runtime(dtype="float8"),  # type: ignore[arg-type]
    lambda: learnedgec.References.from_texts("a"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("call", MISUSED)
def test_what_is_misused(
    call: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((learnedgec.LearnedgecError, TypeError)):
        call()


@pytest.mark.parametrize("call", REFUSED)
def test_what_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match="was expected"):
        call()


@pytest.mark.parametrize("call", TAKEN)
def test_what_is_taken(call: Callable[[], float]) -> None:
    assert call() == pytest.approx(1.0)
