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
