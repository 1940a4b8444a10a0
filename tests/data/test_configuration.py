"""The included configurations, found by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from learnedgec.cli.main import main
from learnedgec.data.configuration import configurations, with_configurations
from learnedgec.errors import UnknownNameError


def test_a_name_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = configurations()["some-mini"]
    assert path.name == "some-mini.yaml"
    given = with_configurations(["--config", "some-mini", "--name", "x"])
    assert given == ["--config", str(path), "--name", "x"]
    for other in ("name: x", ""):
        assert with_configurations(["--config", other]) == ["--config", other]
    with pytest.raises(
        UnknownNameError, match=r"no file or configuration is named 'no/such\.yaml'"
    ):
        with_configurations(["--config", "no/such.yaml"])
    assert with_configurations(["--config=some-mini"]) == [f"--config={path}"]
    assert configurations()["released/joint-mini"].is_file()
    # A folder of the name is none, a file is.
    (tmp_path / "some").mkdir()
    (tmp_path / "impara").write_text("name: mine\n")
    assert with_configurations(["--config", "some"]) == ["--config", str(configurations()["some"])]
    assert with_configurations(["--config", "impara"]) == ["--config", "impara"]


def test_a_typo_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'some-mini'"):
        with_configurations(["--config", "some-mny"])
    for command in ("train", "tune"):
        assert main([command, "--config", "tune-sme"]) == 2
        error = capsys.readouterr().err
        assert "no file or configuration is named 'tune-sme'; did you mean 'tune-some'?" in error


@pytest.mark.parametrize("command", ["score", "train"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("binary.yaml", "binary.yaml:1: not UTF-8 (byte 0xff); convert the file to UTF-8."),
        ("notes.yaml", "notes.yaml holds no key; a configuration in YAML was expected."),
        ("folder", "no file or configuration is named 'folder'"),
        ("broken.yaml", "broken.yaml:2: not YAML (mapping values are not allowed here)."),
        ("typo.yaml", "'; did you mean '"),
        ("wrong.yaml", "'x'; a whole number was expected."),
    ],
)
def test_a_file_that_is_no_configuration_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    name: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\x00")
    (tmp_path / "notes.yaml").write_text("# To do.\n\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "broken.yaml").write_text("name: a\n  model: b\n")
    typo = {"score": "jbos: 2\n", "train": "name: a\nmodel: {haeds: {a: {input: pair}}}\n"}
    (tmp_path / "typo.yaml").write_text(typo[command])
    wrong = {"score": "jobs: x\n", "train": "name: a\ntrainer: {max_steps: x}\n"}
    (tmp_path / "wrong.yaml").write_text(wrong[command])
    assert main([command, "--config", name]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"learnedgec {command}: ")
    assert message in error
    assert error.count("\n") == 1
