"""`learnedgec rank` and `compare`: what the transcript of tables does not show."""

from __future__ import annotations

from typing import Any

import pytest

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
