"""The licence of a package follows from the licences of what it has learned from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import tiny
import yaml
from training_files import training_data

from learnedgec.cli.main import main
from learnedgec.data.catalog.licences import check_permissive, licence_lines, weights_licence
from learnedgec.data.catalog.registry import DATASETS
from learnedgec.errors import ConfigError
from learnedgec.evaluators.packages import check_package, manifest_datasets

RELEASED = Path(__file__).parents[2] / "checkpoints" / "joint-mpnet-3"


@pytest.mark.parametrize(
    ("datasets", "expected"),
    [
        (["gug:train", "jfleg:dev", "gug:test"], "CC-BY-NC-SA-4.0"),
        (["robustgec:tem8", "wiki-split:tune"], "CC-BY-SA-4.0 AND MIT"),
        (["tmu-gfm", "gmeg:wiki"], "LicenseRef-none-stated"),
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


# What the configuration of `open-mini` may use, and what it may not.
OPEN = yaml.safe_load((RELEASED.parents[1] / "configs/released/open-mini.yaml").read_text())


def test_the_open_configuration_is_free_and_another_dataset_is_refused() -> None:
    data = training_data(["--config", "released/open-mini"])
    names = data.datasets()
    assert data.annotators() == ["en-ewt-sm"]
    check_permissive(OPEN["model"]["encoder"], names, data.annotators())
    with pytest.raises(ConfigError, match="the licence of other_sm is not known here"):
        check_permissive(OPEN["model"]["encoder"], names, ["other_sm"])
    assert OPEN["licence_policy"] == "permissive"
    for other in ("gug:train", "robustgec:bea19/train"):
        with pytest.raises(ConfigError, match=f"{other} does not allow commercial use"):
            check_permissive(OPEN["model"]["encoder"], [*names, other])


def test_the_licences_of_a_package_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluators", "joint-mpnet-3", "--licences", "--format", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["sentence-transformers/all-mpnet-base-v2"]["licence"] == "Apache-2.0"
    assert rows["gug:train"]["commercial use"] == "no"
    assert rows["robustgec:tem8"]["commercial use"] == "yes"
    assert rows["pillars:train"]["version"] == "1014de0bc90f"
    assert rows["robustgec:tem8"]["url"].startswith("https://")


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
    expected = "CC-BY-NC-SA-4.0 AND LicenseRef-none-stated"
    assert check_package(folder)["license"] == expected
    card = (folder / "README.md").read_text()
    assert f"## Licence\n\n`{expected}`\n" in card
    assert "- `tmu-gfm`: no licence is stated" in card
    assert "- the encoder `tiny`, which the training started from, has a licence as well" in card
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", str(folder.parent))

    def listed() -> dict[str, str]:
        assert main(["evaluators", "--format", "json"]) == 0
        rows = json.loads(capsys.readouterr().out)
        return {row["evaluator"]: row["licence"] for row in rows}

    assert listed()["licensed"] == expected
    # What a package learned before it was continued counts; and older packages do not say it themselves.
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["license"]
    manifest["continued"] = {"name": "x", "sha256": "y", "datasets": ["robustgec:tem8"]}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert listed()["licensed"] == f"{expected} AND MIT"


def test_the_released_evaluator_and_the_wheel_say_what_it_learned_from() -> None:
    manifest = check_package(RELEASED)
    # One file is of no data of its own: pairs of the others, in a language model's order.
    learned = manifest_datasets(manifest)
    datasets = [name for name in learned if name in DATASETS or ":" in name]
    assert len(datasets) == len(learned) - 1
    assert manifest["license"] == weights_licence(datasets)
    card = (RELEASED / "README.md").read_text()
    assert f"`{manifest['license']}`" in card
    assert all(line in card for line in licence_lines(datasets))
    project = (RELEASED.parents[1] / "pyproject.toml").read_text()
    (stated,) = re.findall(r'^license = "(.*)"$', project, re.MULTILINE)
    assert {"Apache-2.0", "CC-BY-SA-4.0", *manifest["license"].split(" AND ")} == set(
        stated.split(" AND ")
    )
    for file in re.findall(r'"([^"]*)"', project.partition("license-files")[2].partition("]")[0]):
        assert (RELEASED.parents[1] / file).is_file()
