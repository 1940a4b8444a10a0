"""`scripts/reproduce_papers.sh` from the first command to the last, with a tiny BERT and the sample."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from embedded import SAMPLE_FOLDER

from learnedgec.cli.main import main

ROOT = Path(__file__).parents[2]
# Writes its words to a file instead of running.
RECORDER = '#!/bin/sh\nprintf "%s\\n" "${0##*/}" "$@" "" >> commands\n'
# What makes a command small, in place of the papers' data and searches.
SMALL = {
    "train": ["--trainer.limit_train_batches", "2"],
    "tune": ["--trials", "2", "--folds", "2"],
    "meta": ["--resamples", "9"],
    "scripts/published.py": ["--resamples", "9", "--figures", "figures.csv"],
}
FIGURES = """paper,table,row,column,value,metric,benchmark,human,measure,read
Yoshimura et al. (2020),1,SOME,r,0.975,"some(weights=(0.01, 0.98, 0.01))",sample,EW,mean pearson,
Maeda et al. (2022),1,IMPARA,r,0.9,impara,sample,EW,mean pearson,
Goto et al. (2025),1,GLEU,r,0.9,gleu,sample,EW,mean pearson,
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
    for program in ("learnedgec", "python"):
        (tmp_path / ".venv" / "bin" / program).write_text(RECORDER)
        (tmp_path / ".venv" / "bin" / program).chmod(0o755)
    (tmp_path / "figures.csv").write_text(FIGURES)
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
    tables = ["meta"] * 3 + ["scripts/published.py"]
    assert [words[1] for words in typed] == ["train"] * 7 + ["tune"] * 4 + tables
    for _, *words in typed[:-1]:
        assert main([*words, "--quiet"]) == 0
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    importlib.import_module("published").main(typed[-1][2:])
    printed = capsys.readouterr().out
    assert "head(model='some-existing-meaning', name='meaning')" in printed
    assert re.search(r"\| SOME \| r \| \.975 \| -?\.\d+ ", printed)
    assert re.search(r"\| IMPARA \| r \| \.900 \| -?\.\d+ ", printed)
    assert "| GLEU |" not in printed
    for tuned in Path("checkpoints").glob("some@*-sample.json"):
        judged = "gmeg" if "systems" in tuned.name else "gjg15"
        tuned.rename(tuned.with_name(tuned.name.replace("sample", judged)))
    # What is done is not done again; the tables are printed anew.
    assert [words[1] for words in commands(tmp_path)] == tables
