"""What a package's card tells its reader to type is typed, and works."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest
import tiny
from huggingface_hub import ModelCard

from learnedgec.cli.main import main
from learnedgec.evaluators.evaluator import Evaluator, HeadConfig
from learnedgec.evaluators.packages import check_package
from learnedgec.training.card import metadata, with_metadata

PAIR = HeadConfig("pair")


@pytest.mark.parametrize(
    ("heads", "sums", "metrics"),
    [
        (tiny.SOME_HEADS, {}, ["some[mine]"]),
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
                "impara[mine]",
                "preference[mine]",
                "head(model='mine', name='fluency')",
            ],
        ),
        (
            {"quality": HeadConfig("hypothesis", 70.0, 12.0)},
            {},
            ["head(model='mine', name='quality')"],
        ),
    ],
    ids=["some", "own", "part", "quotes", "several", "rated quality"],
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


@pytest.mark.parametrize(
    ("datasets", "licence", "name", "language"),
    [
        (["jfleg:dev"], "cc-by-nc-sa-4.0", None, ["en"]),
        (
            ["gug:train", "tmu-gfm", "swedish"],
            "other",
            "cc-by-nc-sa-4.0-and-licenseref-none-stated-and-licenseref-swedish",
            ["en", "sv"],
        ),
        (["mine.csv"], "other", "licenseref-own-data", None),
    ],
)
def test_a_hub_reads_the_card(
    tmp_path: Path, datasets: list[str], licence: str, name: str | None, language: list[str] | None
) -> None:
    encoder = "answerdotai/ModernBERT-base"
    package = tiny.save_evaluator(tmp_path / "mine", datasets=datasets, encoder=encoder)
    card = ModelCard.load(package / "README.md")
    manifest = check_package(package)
    assert card.data.to_dict() == metadata(manifest)
    assert card.data.license == licence
    assert card.data.license_name == name
    assert card.data.language == language
    assert card.data.base_model == encoder
    assert card.data.library_name == "learnedgec"
    assert card.data.pipeline_tag == "text-classification"
    assert "grammatical-error-correction" in card.data.tags
    named = [dataset.partition(":")[0] for dataset in datasets if dataset != "mine.csv"]
    assert (card.data.datasets or []) == sorted(named)
    assert card.text.lstrip().startswith("# mine\n")
    # What a hub asks of a licence's name.
    assert name is None or re.fullmatch(r"[a-z0-9.-]+", name)
    text = (package / "README.md").read_text()
    assert with_metadata(text, manifest) == text


def test_figures_and_a_base_model_are_named_where_they_are(tmp_path: Path) -> None:
    manifest = check_package(tiny.save_evaluator(tmp_path / "mine", encoder="pkg:mini/model"))
    assert not {"metrics", "base_model"} & metadata(manifest).keys()
    manifest["results"] = {"dev": {"fluency": {"pearson": 0.5, "spearman": 0.4, "n": 9}}}
    assert metadata(manifest)["metrics"] == ["pearsonr", "spearmanr"]
    manifest["results"]["dev"]["quality"] = {"accuracy": 0.8, "n": 9}
    assert metadata(manifest)["metrics"] == ["pearsonr", "spearmanr", "accuracy"]
