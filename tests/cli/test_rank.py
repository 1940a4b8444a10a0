"""`learnedgec rank` and `compare`: what the transcript of tables does not show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from learnedgec.metrics.base import Statistics
from learnedgec.metrics.m2 import M2

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


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
@pytest.mark.parametrize("command", ["rank", "compare"])
def test_the_baseline_may_be_named_by_another_path_or_link(
    run: Any, command: str, link: Callable[[Path, Path], None]
) -> None:
    careful = Path("careful.txt")
    careful.write_bytes(Path("embedded/systems/careful.txt").read_bytes())
    link(Path("old.txt"), careful.absolute())
    systems = "--hyp embedded/systems/strong.txt embedded/systems/eager.txt"
    rest = "--gold embedded/gold.m2 --resamples 150 --metric m2 --format csv"
    alone = run(f"{command} --baseline careful.txt {systems} {rest}")
    Path("folder").mkdir()
    for again in ("old.txt", "folder/../careful.txt"):
        assert run(f"{command} --baseline careful.txt {systems} {again} {rest}") == alone
    printed = run(
        f"score {systems} careful.txt old.txt {rest}".replace("--resamples 150", ""), code=2
    )
    assert (
        "old.txt was given twice as a system's output, by its own name and as careful.txt"
        in printed.err
    )
