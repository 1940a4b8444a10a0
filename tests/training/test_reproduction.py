"""`scripts/reproduce_papers.sh` from the first command to the last, with a tiny BERT and the sample."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from embedded import SAMPLE_FOLDER

from learnedgec.analysis import reproduction
from learnedgec.cli.main import main

ROOT = Path(__file__).parents[2]
# Writes its words to a file instead of running.
RECORDER = '#!/bin/sh\nprintf "%s\\n" "${0##*/}" "$@" "" >> commands\n'
# What makes a command small, in place of the papers' data and searches.
SMALL = {
    "train": ["--trainer.limit_train_batches", "2"],
    "tune": ["--trials", "2", "--folds", "2"],
    "meta": ["--resamples", "9"],
    "reproduce": ["--resamples", "9", "--format", "csv"],
}
HEADER = "table,row,column,value,metric,benchmark,human,measure,needs,source\n"
FIGURES = f"""{HEADER}\
1,SOME,r,0.975,"some(weights=(0.01, 0.98, 0.01))",sample,EW,mean pearson,,
1,IMPARA,r,0.9,impara,sample,EW,mean pearson,,
1,GLEU,r,0.9,gleu,sample,EW,mean pearson,,
"""


def commands(folder: Path) -> list[list[str]]:
    """Return the commands that the script types in a folder, on the sample."""
    (folder / "commands").write_text("")
    script = folder / "scripts" / "reproduce_papers.sh"
    subprocess.run([script, "--data.split_seed", "1"], check=True, capture_output=True)
    typed = [block.split("\n") for block in (folder / "commands").read_text().split("\n\n")[:-1]]
    for words in typed:
        for place in range(len(words)):
            if words[place - 1] == "--data.ratings":
                words[place] = "[sample]"
            elif words[place - 1] == "--benchmark":
                words[place] = "sample"
            elif words[place].startswith("some@"):
                words[place] = re.sub("gmeg|gjg15", "sample", words[place])
        words += SMALL[words[1]]
    return typed


@pytest.mark.slow
def test_every_step_runs_and_is_not_repeated(
    tmp_path: Path,
    tiny_encoder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in ("LEARNEDGEC_EVALUATORS", "VENV"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "learnedgec").write_text(RECORDER)
    (tmp_path / ".venv" / "bin" / "learnedgec").chmod(0o755)
    papers = tmp_path / "papers"
    papers.mkdir()
    for paper in ("yoshimura2020", "maeda2022", "goto2025"):
        (papers / f"{paper}.csv").write_text(FIGURES if paper == "yoshimura2020" else HEADER)
    monkeypatch.setattr(reproduction, "included_folder", lambda *_: papers)
    # The tiny encoder and the sample take the place of the study's.
    monkeypatch.setitem(reproduction._STUDIES, "some", (str(tiny_encoder), "sample"))
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "reproduce_papers.sh", tmp_path / "scripts")
    (tmp_path / "configs").mkdir()
    for name in ("some", "some-existing", "impara"):
        text = (ROOT / "configs" / f"{name}.yaml").read_text()
        text = text.replace("bert-base-cased", str(tiny_encoder)).replace(
            "number: 4096", "number: 60"
        )
        (tmp_path / "configs" / f"{name}.yaml").write_text(
            re.sub("max_epochs: .*", "max_epochs: 1", text)
        )
    (tmp_path / "data").mkdir()
    shutil.copy(SAMPLE_FOLDER / "gold.m2", tmp_path / "data" / "conll13.m2")

    typed = commands(tmp_path)
    tables = ["meta"] * 3 + ["reproduce"]
    assert [words[1] for words in typed] == ["train"] * 7 + ["tune"] * 4 + tables
    for _, *words in typed:
        assert main([*words, "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert "head(model='some-existing-meaning', name='meaning')" in printed
    # SOME's row counts as the study's own model; IMPARA's encoder is not the study's.
    assert re.search(r"yoshimura2020,1,SOME,r,0\.975,.*,(met|near|not met),–\n", printed)
    assert re.search(r"yoshimura2020,1,IMPARA,r,0\.9,.*`impara`, not an estimator", printed)
    assert "GLEU,r" not in printed
    for tuned in Path("checkpoints").glob("some@*-sample.json"):
        judged = "gmeg" if "systems" in tuned.name else "gjg15"
        tuned.rename(tuned.with_name(tuned.name.replace("sample", judged)))
    # What is done is not done again; the tables are printed anew.
    assert [words[1] for words in commands(tmp_path)] == tables
