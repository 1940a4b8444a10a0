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
    assert configurations()["released/joint-mpnet-3"].is_file()
    # A folder of the name is none, a file is.
    (tmp_path / "some").mkdir()
    (tmp_path / "impara").write_text("name: mine\n")
    assert with_configurations(["--config", "some"]) == ["--config", str(configurations()["some"])]
    assert with_configurations(["--config", "impara"]) == ["--config", "impara"]


def test_a_typo_is_one_sentence() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'some-mini'"):
        with_configurations(["--config", "some-mny"])


@pytest.mark.parametrize(
    ("command", "content", "message"),
    [
        ("score", b"\xff\x00", "my.yaml:1: not UTF-8 (byte 0xff); convert the file to UTF-8."),
        ("score", b"# To do.\n", "my.yaml holds no key; a configuration in YAML was expected."),
        ("train", b"a: b\n c: d\n", "my.yaml:2: not YAML (mapping values are not allowed here)."),
        ("score", b"jbos: 2\n", "no key is named 'jbos'; did you mean 'jobs'?"),
        ("train", b"name: a\nmodel: {haeds: {a: {input: pair}}}\n", "did you mean 'heads'?"),
        ("score", b"jobs: x\n", "jobs is 'x'; a whole number was expected."),
        ("train", b"name: a\ntrainer: {max_steps: x}\n", "'x'; a whole number was expected."),
    ],
)
def test_a_file_that_is_no_configuration_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    content: bytes,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.yaml").write_bytes(content)
    assert main([command, "--config", "my.yaml"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"learnedgec {command}: ")
    assert message in error
    assert error.count("\n") == 1
