"""`learnedgec rank`, `compare` and `rerank`: what the transcript of tables does not show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from learnedgec.data.text import write_jsonl, write_lines
from learnedgec.metrics.m2 import M2
from learnedgec.metrics.statistics import Statistics

INPUT = "--hyp embedded/systems --gold embedded/gold.m2 --resamples 150"


def test_json_of_a_ranking_holds_everything(run: Any) -> None:
    words = "--metric length edit-count --by trueskill --format json"
    rankings = run(f"rank {INPUT} {words}").json["rankings"]
    assert [ranking["metric"] for ranking in rankings] == ["length", "edit-count"]
    ranking = rankings[1]
    names = [row["system"] for row in ranking["systems"]]
    scores = [row["score"] for row in ranking["systems"]]
    assert names[0] == "eager"
    assert scores == sorted(scores, reverse=True)
    for name in ("wins", "p_values", "adjusted_p_values"):
        assert list(ranking[name]) == names
        assert all(list(row) == names for row in ranking[name].values())
    assert "by:trueskill" in ranking["signature"]
    assert "order:sentences, then pairs of careful eager strong weak" in ranking["signature"]


def test_plots_are_written(run: Any) -> None:
    pytest.importorskip("matplotlib")
    run(f"rank {INPUT} --metric length --plot figures")
    kinds = [f"{kind}.{suffix}" for kind in ("intervals", "wins") for suffix in ("pdf", "png")]
    assert sorted(path.name for path in Path("figures").iterdir()) == [
        f"length.mean.{kind}" for kind in kinds
    ]


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


def test_a_comparison_says_what_to_paste_and_what_columns_mean(run: Any) -> None:
    outputs = {"source": ["a", "b", "c"], "base": ["a b", "c", "d"], "same": ["b a", "d", "c"]}
    for name, texts in (outputs | {"better": ["a b c", "c d", "d"]}).items():
        write_lines(f"{name}.txt", texts)
    command = "compare --src source.txt --baseline base.txt --hyp better.txt same.txt"
    lines = run(f"{command} --metric length --resamples 99").err.splitlines()
    assert lines[0].startswith("better scores higher than base by length (2.0000 against 1.3333; ")
    assert lines[1] == "same and base score the same by length (1.3333)."
    assert lines[2] == (
        "Wins, ties and losses count sentences; p is two-sided after Holm's correction for 2 comparisons "
        "with base. Each interval is for a single difference, without that correction: if it excludes 0 "
        "but p is not below 0.05, the difference is not significant after the correction."
    )
    assert lines[3].endswith("|test:paired-bootstrap|resamples:99|seed:0")


@pytest.mark.parametrize("by", ["mbr(gleu)", "mbr(m2)", "vote"])
def test_the_best_texts_alone(run: Any, by: str) -> None:
    write_lines("source.txt", ["He go to school .", "Fine ."])
    write_lines("A.txt", ["He goes to school .", "Fine ."])
    write_lines("B.txt", ["He goes to school .", "Fine !"])
    write_lines("C.txt", ["He went school .", "Fine ."])
    command = "rerank --src source.txt --hyp A.txt B.txt C.txt --annotator en-ewt-sm --quiet --by"
    assert run(command, by).out == "He goes to school .\nFine .\n"


def test_an_nbest_file(run: Any) -> None:
    rows = [
        {"source": "a b", "candidates": ["a c", "a d", "a d"]},
        {"source": "a", "candidates": ["b"]},
    ]
    write_jsonl("nbest.jsonl", rows)
    command = "rerank --nbest nbest.jsonl --by 'mbr(gleu)' --quiet"
    first, second = run(f"{command} --format json").json["sentences"]
    assert [(row["text"], row["chosen"]) for row in (first, second)] == [("a d", 2), ("b", 1)]
    assert first["scores"][1] - first["scores"][0] == pytest.approx(first["margin"])
    assert second["margin"] is None
    run(f"{command} --out best.txt")
    assert Path("best.txt").read_text() == "a d\nb\n"
