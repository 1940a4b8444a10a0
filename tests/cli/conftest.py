from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from embedded import SAMPLE_FOLDER

from learnedgec.cli.main import main
from learnedgec.data.catalog.files import CACHE_VARIABLE


@pytest.fixture(autouse=True)
def nothing_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no notice count as said today, and each test remember its own."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))


class Printed(NamedTuple):
    """What a command has printed on stdout and on stderr."""

    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, str]]:
        """The rows of a result in CSV."""
        return list(csv.DictReader(self.out.splitlines()))

    @property
    def json(self) -> Any:
        """A result in JSON."""
        return json.loads(self.out)


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Printed]:
    """Return a function that runs a command in a folder that holds the sample as `embedded`.

    The command is one text, with further words as arguments of their own; `code` is the expected exit code.
    """
    monkeypatch.chdir(tmp_path)
    Path("embedded").symlink_to(SAMPLE_FOLDER)

    def call(command: str, *words: object, code: int = 0) -> Printed:
        ended = main([*shlex.split(command), *map(str, words)])
        printed = Printed(*capsys.readouterr())
        assert ended == code, printed.err
        return printed

    return call


CONFIG = """
name: mine
model:
  encoder: {encoder}
  heads:
    fluency: {{input: hypothesis}}
data:
  ratings: [mine.csv]
trainer: {{max_epochs: 3, accelerator: cpu}}
last: {{every_n_train_steps: 1}}
"""


@pytest.fixture
def train(run: Callable[..., Printed], tiny_encoder: Path) -> Callable[..., Printed]:
    """Return `run`, in a folder with the configuration mine.yaml and the ratings mine.csv."""
    rows = [f"he go {n} .,he goes {n} .,{n % 4},{n % 3}" for n in range(30)]
    lines = ["source,hypothesis,fluency,meaning", *rows, "he go .,he goes .,,"]
    Path("mine.csv").write_text("\n".join(lines) + "\n")
    Path("mine.yaml").write_text(CONFIG.format(encoder=tiny_encoder))
    return run
