"""What a package's card tells its reader to type is typed, and works."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest
import tiny

from learnedgec.cli.main import main
from learnedgec.errors import ConfigError
from learnedgec.models.evaluator import Evaluator, HeadConfig
from learnedgec.training.package import package_path

PAIR = HeadConfig("pair")


@pytest.mark.parametrize(
    ("heads", "sums", "metrics"),
    [
        (tiny.SOME_HEADS, {}, ["some(model='mine')"]),
        (
            {"adequacy": PAIR, "style": HeadConfig()},
            {},
            ["head(model='mine', name='adequacy')", "head(model='mine', name='style')"],
        ),
        ({"fluency": HeadConfig()}, {}, ["head(model='mine', name='fluency')"]),
        ({'it\'s "$HOME"': PAIR}, {}, ["""head(model='mine', name='it\\\'s "$HOME"')"""]),
        (
            {"quality": PAIR, "fluency": HeadConfig()},
            {"preference": {"quality": 1.0, "fluency": 0.5}},
            [
                "impara(quality='mine')",
                "preference(model='mine')",
                "head(model='mine', name='fluency')",
            ],
        ),
    ],
    ids=["some", "own", "part", "quotes", "several"],
)
def test_every_command_on_a_card_runs(
    heads: Mapping[str, HeadConfig],
    sums: Mapping[str, Mapping[str, float]],
    metrics: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    card = tiny.save_evaluator(tmp_path / "checkpoints" / "mine", heads=heads, sums=sums)
    (tmp_path / "SOURCE").write_text("He go home .\n")
    (tmp_path / "OUTPUT").write_text("He goes home .\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LEARNEDGEC_EVALUATORS", raising=False)

    text = (card / "README.md").read_text()
    commands = re.findall("`(learnedgec .*?)`", text, re.DOTALL)
    assert len(commands) == 1
    for command in commands:
        words = shlex.split(command)
        assert main([*words[1:], "--format", "csv", "--quiet"]) == 0
        assert words[words.index("--metric") + 1 :] == metrics
        assert capsys.readouterr().out.count("OUTPUT,") == len(metrics)
    (name,) = re.findall(r'`Evaluator\.load\("(.*?)"\)`', text)
    assert set(Evaluator.load(name).outputs) == {*heads, *sums}


@pytest.mark.parametrize("name", ["", "..", "a/b", "it's", "my evaluator", '"', "-x", "$HOME"])
def test_a_package_has_a_name_that_can_be_typed(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="must be a plain name without slashes"):
        package_path(tmp_path, name)
