"""`learnedgec rank`, `compare` and `rerank`: what the transcript of tables does not show."""

from __future__ import annotations

from typing import Any

import pytest

from learnedgec.data.text import write_lines
from learnedgec.metrics.m2 import M2
from learnedgec.metrics.statistics import Statistics

INPUT = "--hyp embedded/systems --gold embedded/gold.m2 --resamples 150"


@pytest.mark.parametrize("command", ["rank", "compare --baseline careful"])
def test_metrics_share_statistics(run: Any, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []
    compute = M2.compute

    def counted(self: M2, *inputs: Any) -> Statistics:
        computed.append(self.label)
        return compute(self, *inputs)

    monkeypatch.setattr(M2, "compute", counted)
    run(f"{command} {INPUT} --metric m2 sentm2")
    assert computed == ["m2"]


@pytest.mark.parametrize("by", ["mbr(gleu)", "mbr(m2)", "vote"])
def test_the_best_texts_alone(run: Any, by: str) -> None:
    write_lines("source.txt", ["He go to school .", "Fine ."])
    write_lines("A.txt", ["He goes to school .", "Fine ."])
    write_lines("B.txt", ["He goes to school .", "Fine !"])
    write_lines("C.txt", ["He went school .", "Fine ."])
    command = "rerank --src source.txt --hyp A.txt B.txt C.txt --annotator en-ewt-sm --quiet --by"
    assert run(command, by).out == "He goes to school .\nFine .\n"
