from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from learnedgec.cli.main import main

QUICK = ("--annotator", "en-ewt-sm", "--resamples", "20")


def data(path: Path) -> dict[str, Any]:
    """Return the data of a report."""
    packed = path.read_text("utf-8").split('id="data">', 1)[1].split("</script>", 1)[0]
    content: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return content


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "src.txt").write_text("He go home .\nFine .\n")
    (tmp_path / "good.txt").write_text("He goes home .\nFine .\n")
    (tmp_path / "bad.txt").write_text("He go home .\nFines .\n")
    names = [str(tmp_path / f"{name}.txt") for name in ("src", "good", "bad")]
    return ["--src", names[0], "--hyp", *names[1:]]


def test_report_on_files(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.html"
    words = ["report", *files, "--ref", files[3], "--metric", "gleu", "length", "--out", str(out)]
    assert main([*words, "--attribution", "edit-count", "--title", "Mine", *QUICK]) == 0
    report = data(out)
    assert (report["title"], report["systems"]) == ("Mine", ["good", "bad"])
    assert [metric["label"] for metric in report["metrics"]] == ["gleu", "length"]
    assert report["sentences"]["attribution"][0]["metric"] == "edit-count"
    assert report["provenance"]["command"].startswith("learnedgec report --src ")
    assert set(report["provenance"]["files"]) == {files[i] for i in (1, 3, 4)}
    assert all(len(digest) == 64 for digest in report["provenance"]["files"].values())
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"wrote {out} (")
    assert captured.err.endswith(" MB)\n")
    assert main([*words, *QUICK]) == 0
    assert capsys.readouterr().err.endswith(" MB), replacing the previous file\n")


def test_report_on_a_benchmark(tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    words = ["report", "--benchmark", "sample", "--metric", "edit-count", "--out", str(out)]
    assert main([*words, "--human", "EW", "--quiet", *QUICK]) == 0
    report = data(out)
    assert report["benchmark"] == "sample"
    assert [evaluation["human"] for evaluation in report["evaluations"]] == ["EW"]
    assert report["provenance"]["files"] == {}
