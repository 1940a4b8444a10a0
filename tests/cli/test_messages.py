"""What each command says about input that it cannot use: one sentence on stderr, and exit code 2."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from embedded import SAMPLE_FOLDER

from learnedgec.cli.main import main

SHORT = {
    "SCORE": "score --src src.txt --metric gleu --ref good.txt --hyp",
    "ONE": "score --src src.txt --ref good.txt --hyp good.txt",
    "STREAM": "score --src src.txt --hyp good.txt --metric length --stream",
    "COMPARE": "compare --src src.txt --hyp good.txt",
    "RERANK": "rerank --src src.txt --hyp good.txt",
    "MIX": "tune --benchmark sample --metric 'ensemble(length=0.25, random=0.75)'",
    "TRAIN": "train --config mine.yaml",
    "PLAIN": "--metric \"errant(annotator='plain')\"",
    "ABSENT": "\"quality(model='absent')\"",
}
TEXTS = Path(__file__).with_name("texts")
LINES = Path(__file__).with_name("messages.txt").read_text(encoding="utf-8").splitlines()


@pytest.fixture
def folder(tmp_path: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with files of every kind, without any dataset."""
    shutil.copytree(TEXTS, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEARNEDGEC_MIRROR", "absent")
    for name in ("mine.yaml", "typo.yaml"):
        Path(name).write_text(Path(name).read_text().replace("ENCODER", str(tiny_encoder)))
    Path("latin.txt").write_bytes(b"caf\xe9\n")
    Path("folder").mkdir()
    Path("two").mkdir()
    for name in ("good.txt", "yes.txt"):
        shutil.copy("good.txt", Path("two", name))
    Path("bert").mkdir()
    Path("bert/config.json").write_text('{"model_type": "bert"}')
    Path("bert/pytorch_model.bin").write_bytes(b"no weights")
    for name in ("system.txt", "para.txt"):
        shutil.copy(SAMPLE_FOLDER / "robust" / name, name)
    shutil.copy("para.txt", "total.txt")
    shutil.copy("yes.txt", "all.txt")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("line", [line for line in LINES if line and not line.startswith("#")])
def test_one_sentence_and_exit_code_2(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    command, _, message = line.partition(" | ")
    for name, text in SHORT.items():
        command = command.replace(f"{{{name}}}", text)
    assert main(shlex.split(command)) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert err.startswith(f"learnedgec {command.split()[0]}: ")
    assert (out, err.count("\n")) == ("", 1)
    assert not Path("cases.jsonl").exists()
    assert not Path("report.html").exists()
