"""`reproduce --train`: from training to the papers' pages, with a tiny BERT and the sample."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from embedded import SAMPLE_FOLDER

from learnedgec.analysis import reproduction
from learnedgec.cli import reproduce
from learnedgec.cli.main import main

ROOT = Path(__file__).parents[2]
HEADER = "table,row,column,value,metric,benchmark,human,measure,needs,source\n"
EXISTING = "MODEL: of the existing data"
FIGURES = f"""{HEADER}\
1,SOME,r,0.975,"some(weights=(0.01, 0.98, 0.01))",sample,EW,mean pearson,,
1,IMPARA,r,0.9,impara,sample,EW,mean pearson,,
1,existing,r,0.9,"head(model='some-existing-fluency', name='fluency')",sample,EW,mean pearson,{EXISTING},
1,fluency,r,0.7,"head(model='some-fluency', name='fluency')",sample,EW,test pearson,{EXISTING},
1,GLEU,r,0.9,gleu,sample,EW,mean pearson,,
"""


@pytest.mark.slow
def test_rows_of_trained_evaluators_count_as_the_study_s_own(
    tmp_path: Path,
    tiny_encoder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", "checkpoints")
    folders = {"papers": tmp_path / "papers", "configs": tmp_path / "configs"}
    for folder in (*folders.values(), tmp_path / "data"):
        folder.mkdir()
    (tmp_path / "papers" / "yoshimura2020.csv").write_text(FIGURES)
    monkeypatch.setattr(reproduction, "included_folder", lambda name, _: folders[name])
    monkeypatch.setattr(
        "learnedgec.data.configuration.included_folder", lambda name, _: folders[name]
    )
    # The tiny encoder and the sample take the place of the study's; IMPARA's stays another.
    monkeypatch.setitem(
        reproduction._STUDIES, "some", (str(tiny_encoder), "paper-random", "sample")
    )
    ratings = {"some": {"fluency": ["sample"], "grammaticality": ["sample"], "meaning": ["sample"]}}
    monkeypatch.setattr(
        reproduce, "_RATINGS", {**ratings, "some-existing": {"fluency": ["sample"]}}
    )
    for name in ("some", "some-existing", "impara"):
        text = (ROOT / "configs" / f"{name}.yaml").read_text()
        text = re.sub("max_epochs: .*", "max_epochs: 1\n  limit_train_batches: 2", text)
        text = text.replace("number: 4096", "number: 60")
        text = text.replace("bert-base-cased", str(tiny_encoder))
        (tmp_path / "configs" / f"{name}.yaml").write_text(text)
    shutil.copy(SAMPLE_FOLDER / "gold.m2", tmp_path / "data" / "conll13.m2")

    words = (
        "reproduce yoshimura2020 --resamples 9 --cache-dir cache --pages pages --format csv --quiet"
    )
    assert main(words.split()) == 0
    printed = capsys.readouterr().out
    assert re.search(r"SOME,r,0\.975,.*`joint-mpnet-3`, not three", printed)
    assert re.search(rf"existing,r,0\.9,,,,,,,needs MODEL,{EXISTING}", printed)
    assert main([*words.split(), "--train"]) == 0
    out, _ = capsys.readouterr()
    assert re.search(r"1,SOME,r,0\.975,.*,(met|not met),\n", out)
    assert re.search(r"1,fluency,r,0\.7,.*,(met|not met),\n", out)
    assert re.search(r"1,IMPARA,r,0\.9,.*`impara`, not an estimator", out)
    assert re.search(r"1,existing,r,0\.9,.*,`some-existing-fluency`\n", out)
    page = Path("pages/yoshimura2020.md").read_text(encoding="utf-8")
    assert re.search(r"\| SOME \| r \| 0\.975 \| .* \| (met|not met) \|", page)
    # What has been trained is not trained again.
    monkeypatch.setattr(reproduce, "run_command", lambda _: pytest.fail("trained again"))
    assert main([*words.split(), "--train"]) == 0


def test_training_that_fails_stops_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "run_command", lambda _: 2)
    assert main(["reproduce", "maeda2022", "--train", "--estimate", "--cache-dir", "cache"]) == 0
    assert "IMPARA is left out: data/conll13.m2 is not there" in capsys.readouterr().err
    (tmp_path / "data").mkdir()
    shutil.copy(SAMPLE_FOLDER / "gold.m2", tmp_path / "data" / "conll13.m2")
    assert main(["reproduce", "maeda2022", "--train", "--cache-dir", "cache"]) == 2
    assert "impara was not trained" in capsys.readouterr().err
