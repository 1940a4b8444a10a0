from __future__ import annotations

import json
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from learnedgec.cli.main import main
from learnedgec.data.catalog import (
    RATINGS,
    dataset,
    load_cases,
    load_corrections,
    load_outputs,
    load_parallel,
    load_rankings,
    load_ratings,
    load_sentences,
)
from learnedgec.data.catalog.ratings import read_ratings
from learnedgec.data.catalog.registry import DATASETS, KINDS, Kind, concatenated
from learnedgec.errors import InputError, PluginError, UnknownNameError

InstallPackage = Callable[..., Path]


# -- the table --------------------------------------------------------------------------------


def test_the_table_is_complete_and_sorted() -> None:
    assert list(DATASETS.builtin) == sorted(DATASETS.builtin)
    assert {"conll14", "gjg15", "sample", "seeda", "tmu-gfm"} <= set(DATASETS)
    for name, row in DATASETS.builtin.items():
        assert row.name == name
        assert row.about
        assert row.licence
        assert name == "sample" or (row.files and re.fullmatch(r"[0-9a-f]{40}", row.commit))
        assert list(row.files) == sorted(row.files)
        for file in row.files.values():
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert (file.bytes == 0) == (file.sha256 == sha256().hexdigest())
    page = (Path(__file__).parents[3] / "data" / "README.md").read_text()
    for row in DATASETS.builtin.values():
        for terms in row.terms.values():
            assert terms.says in page or row.terms_of("") is terms
            assert f"]({terms.source})" in page
    for kind in KINDS.values():
        assert set(kind.readers) <= set(DATASETS.builtin)
    assert dataset("gmeg").names == {
        "parallel": ("gmeg", "gmeg:fce", "gmeg:wiki"),
        "outputs": ("gmeg", "gmeg:fce", "gmeg:wiki"),
    }


# -- the grammar ------------------------------------------------------------------------------


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> Kind[list[str]]:
    """Return a kind whose datasets hold the names of their parts."""
    monkeypatch.setattr("learnedgec.data.catalog.registry.KINDS", {})
    kind: Kind[list[str]] = Kind("words", "dataset of words", join=concatenated)
    parts = {"plain": (), "divided": ("b", "a/2", "a/1"), "ordered": ("", "b", "a", "a/1")}
    for name, words in parts.items():
        kind.reader(name, words)(lambda part="": [f"<{part}>"])
    return kind


@pytest.mark.parametrize(
    ("name", "loaded"),
    [
        ("plain", ["<>"]),
        ("divided", ["<b>", "<a/2>", "<a/1>"]),
        ("divided:a", ["<a/2>", "<a/1>"]),
        ("divided:a/1", ["<a/1>"]),
        ("ordered", ["<>"]),
        ("ordered:a", ["<a>"]),
        ("ordered:a/1", ["<a/1>"]),
    ],
)
def test_a_name_stands_for_its_parts(kind: Kind[list[str]], name: str, loaded: list[str]) -> None:
    assert kind.load(name) == loaded
    assert [word for part in kind.expand(name) for word in kind.load(part)] == loaded
    assert name in kind


@pytest.mark.parametrize("name", ["divided:", "divided:c", "divided:a/", "plain:a", "other", ":b"])
def test_other_names_stand_for_nothing(kind: Kind[list[str]], name: str) -> None:
    assert name not in kind
    with pytest.raises(UnknownNameError, match="no dataset of words is named"):
        kind.load(name)


def test_a_path_comes_after_the_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text("hypothesis,fluency\nA .,3\n")
    Path("sample").write_text("hypothesis,fluency\nB .,3\n")
    assert [rating.hypothesis for rating in load_ratings("mine.csv")] == ["A ."]
    assert len(load_ratings("sample")) == 360
    assert RATINGS.expand("mine.csv") == ("mine.csv",)
    # A `Path` is no name.
    Path("lau").write_text("hypothesis,fluency\nC .,3\n")
    assert [rating.hypothesis for rating in read_ratings(Path("lau"))] == ["C ."]


@pytest.mark.parametrize("name", ["absent.csv", "folder/absent", "./absent", "a.b/c:d"])
def test_a_path_that_does_not_exist_is_no_unknown_name(name: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(name)} does not exist; check the path.$"):
        load_ratings(name)


@pytest.mark.parametrize(
    ("load", "name", "message"),
    [
        (load_parallel, "jfleg:tets", "no parallel dataset is named 'jfleg:tets'; did you mean"),
        (load_outputs, "seda", "no set of outputs is named 'seda'; did you mean 'seeda'?"),
        (load_cases, "robustgec:tem", "did you mean 'robustgec:tem8'? A file is also accepted."),
        (load_corrections, "jfleg:dve", "did you mean 'jfleg:dev'?"),
        (load_ratings, "tmu-gmf", "no rated dataset is named 'tmu-gmf'; did you mean 'tmu-gfm'?"),
        (load_sentences, "jfleg:dev", "jfleg is a parallel dataset."),
        (load_rankings, "seeda", "did you mean 'seeda:"),
        (load_ratings, "cleme", "cleme is a set of outputs and a parallel dataset."),
    ],
)  # fmt: skip
def test_unknown_names_suggest(load: Callable[[str], object], name: str, message: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        load(name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


# -- datasets of other packages ---------------------------------------------------------------

PLUGIN = """
from learnedgec.data.catalog import RATINGS, SENTENCES, Dataset, Rating

COLOURS = Dataset("colours", "sentences about colours", "CC0")

@RATINGS.reader("colours", ("warm", "cold"))
def read(part):
    return [Rating("", f"It is {part} .", {"fluency": 3.0})]
"""


@pytest.fixture
def colours(install_package: InstallPackage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package with a dataset that works and one that does not."""
    for kind in KINDS.values():
        monkeypatch.setattr(kind, "readers", dict(kind.readers))
    points = {
        "colours": "colourful.data:COLOURS",
        "broken": "colourful.missing:BROKEN",
    }
    install_package("colourful", {"learnedgec.datasets": points}, {"colourful/data.py": PLUGIN})


@pytest.mark.usefixtures("colours")
def test_a_dataset_of_another_package_is_loaded_and_listed_by_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = [rating.hypothesis for rating in load_ratings("colours")]
    assert texts == ["It is warm .", "It is cold ."]
    assert main(["data", "list", "--format", "json"]) == 0
    captured = capsys.readouterr()
    datasets = json.loads(captured.out)["datasets"]
    assert datasets["colours"]["names"] == {"ratings": ["colours", "colours:warm", "colours:cold"]}
    assert set(DATASETS.builtin) | {"colours"} == set(datasets)
    (notice,) = captured.err.splitlines()
    assert notice.startswith(
        "the dataset 'broken' of the installed package colourful cannot be used"
    )


@pytest.mark.usefixtures("colours")
@pytest.mark.parametrize(
    ("load", "name", "error", "message"),
    [
        (load_ratings, "colors", UnknownNameError, "did you mean 'colours'"),
        (load_ratings, "colours:warn", UnknownNameError, "did you mean 'colours:warm'"),
        (load_cases, "colours", UnknownNameError, "colours is a rated dataset"),
        (load_ratings, "broken:dev", PluginError, "'broken' of the installed package colourful"),
    ],
)
def test_what_cannot_be_loaded_of_other_packages(
    load: Callable[[str], object], name: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        load(name)


def test_the_dataset_of_the_guide_is_loaded(
    install_package: InstallPackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in KINDS.values():
        monkeypatch.setattr(kind, "readers", dict(kind.readers))
    guide = (Path(__file__).parents[3] / "docs" / "how-to" / "new-dataset.md").read_text()
    *_, module = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    path = "acceptability_corpus/cola_public/raw/in_domain_dev.tsv"
    content = b'b_82\t0\t*\t"He go.\nb_82\t1\t\tHe went.\n'
    file = {"bytes": len(content), "sha256": sha256(content).hexdigest()}
    row = {
        "about": "CoLA",
        "licence": "none stated",
        "repository": "o/r",
        "commit": "c",
        "files": {path: file},
    }
    (tmp_path / "mirror/o/r/c" / path).parent.mkdir(parents=True)
    (tmp_path / "mirror/o/r/c" / path).write_bytes(content)
    monkeypatch.setenv("LEARNEDGEC_MIRROR", str(tmp_path / "mirror"))
    modules = {
        "cola_data/__init__.py": module,
        "cola_data/datasets.json": json.dumps({"cola": row}),
    }
    install_package("cola_data", {"learnedgec.datasets": {"cola": "cola_data:COLA"}}, modules)
    ratings = load_ratings("cola:dev")
    assert [(r.hypothesis, r.values) for r in ratings] == [
        ('"He go.', {"fluency": 0.0}),
        ("He went.", {"fluency": 1.0}),
    ]
