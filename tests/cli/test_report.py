from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

QUICK = "--annotator en-ewt-sm --resamples 20"


def data() -> Any:
    """Return the data of the report that was written."""
    packed = Path("report.html").read_text("utf-8").split('id="data">', 1)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed.split("</script>", 1)[0])))


def test_report_on_files(run: Any) -> None:
    Path("src.txt").write_text("He go home .\nFine .\n")
    Path("systems").mkdir()
    Path("systems/good.txt").write_text("He goes home .\nFine .\n")
    Path("systems/bad.txt").write_text("He go home .\nFines .\n")
    command = (
        "report --src src.txt --hyp systems --ref systems/good.txt --baseline good "
        f"--metric gleu length {QUICK}"
    )
    out, err = run(f"{command} --attribution edit-count --title Mine")
    report = data()
    assert (report["title"], report["systems"]) == ("Mine", ["good", "bad"])
    assert [metric["label"] for metric in report["metrics"]] == ["gleu", "length"]
    assert report["sentences"]["attribution"][0]["metric"] == "edit-count"
    assert report["provenance"]["command"].startswith("learnedgec report --src ")
    files = report["provenance"]["files"]
    assert set(files) == {"src.txt", "systems/good.txt", "systems/bad.txt"}
    assert all(len(digest) == 64 for digest in files.values())
    assert out == ""
    assert err.splitlines()[-1].startswith("wrote report.html (")
    assert err.endswith(" MB)\n")
    written = Path("report.html").read_bytes()
    message = "report.html exists; choose another name, or replace it with --overwrite."
    assert message in run(command, code=2).err
    assert Path("report.html").read_bytes() == written
    run(f"{command} --overwrite")
    assert data()["title"] != "Mine"


def test_report_on_a_benchmark(run: Any) -> None:
    run(f"report --benchmark sample --metric edit-count --human EW --quiet {QUICK}")
    report = data()
    assert report["benchmark"] == "sample"
    assert [evaluation["human"] for evaluation in report["evaluations"]] == ["EW"]
    assert report["provenance"]["files"] == {}


def test_a_report_on_essays_knows_their_documents(run: Any) -> None:
    source, ours = (f"embedded/essays/de-sample-{name}-dev.md" for name in ("orig", "hypo1"))
    run(f"report --documents --src {source} --hyp {ours} --metric edit-count")
    report = data()
    assert report["sentences"]["documents"] == ["a1"] * 3 + ["a2"] * 3
    # No pipeline here reads German, so edits are found without one.
    software = json.dumps(report["provenance"]["software"])
    assert "en-ewt-sm" not in software
    assert "en_core_web_sm" not in software
