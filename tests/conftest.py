from __future__ import annotations

import gc
import hashlib
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from embedded import Sample, read_sample
from hypothesis import settings

from learnedgec.data.catalog import files
from learnedgec.data.catalog.registry import DATASETS, Dataset, File
from learnedgec.data.text import write_lines
from learnedgec.runtime.runtime import ProgressLines

if TYPE_CHECKING:
    from learnedgec.applications.corpus.reading import CorpusFiles

# Output wraps at this width, also in a pipe; that of whoever runs the tests must not matter.
os.environ.pop("COLUMNS", None)
# Tests compare with values of a processor. Set it to 0 to see what they do on a GPU.
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
# A line of progress comes once a minute, so it would land in the output of any test of a slow run.
ProgressLines._due = float("inf")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option after an intended change of what is printed."""
    about = "write what is printed into the files that show it (the fixture `shows`)"
    parser.addoption("--rewrite", action="store_true", help=about)


@pytest.fixture
def shows(pytestconfig: pytest.Config) -> Callable[[Path, str, str], None]:
    """Return a function that checks that part of a file is what is printed; `--rewrite` makes it so."""

    def check(path: Path, part: str, printed: str) -> None:
        if pytestconfig.getoption("rewrite"):
            text = path.read_text("utf-8")
            path.write_text(text.replace(part, printed, 1), "utf-8")
            return
        assert part == printed, f"after an intended change, --rewrite writes it to {path.name}"

    return check


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest tests first, so that no process ends with one while the other has nothing to do.

    pytest-xdist gives the first half of the tests to one process, which thus has the tests of the released
    evaluators: each of their texts is encoded once.
    """
    items.sort(key=lambda item: "slow" not in item.keywords)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of real data where there is no mirror."""
    if (
        "realdata" in item.keywords
        and not Path(os.environ.get("LEARNEDGEC_MIRROR") or "-").is_dir()
    ):
        pytest.skip("LEARNEDGEC_MIRROR names no folder")


def pytest_collection_finish() -> None:
    """Exempt what imports have made, millions of objects, from later searches for garbage."""
    gc.collect()
    gc.freeze()


# How long an example takes says more about the machine than about the code.
settings.register_profile("learnedgec", deadline=None)
settings.load_profile("learnedgec")


@pytest.fixture
def mirror() -> Path:
    """Return the root of the dataset mirror."""
    return Path(os.environ["LEARNEDGEC_MIRROR"])


@pytest.fixture(scope="session")
def sample() -> Sample:
    return read_sample()


@pytest.fixture
def corpus_files(sample: Sample, tmp_path: Path) -> dict[str, str]:
    """Return files of the sample's sources, a system's hypotheses and its first references."""
    texts = {
        "source": sample.sources,
        "weak": sample.systems["weak"],
        "reference": [row[0].text for row in sample.references],
    }
    for name, lines in texts.items():
        write_lines(tmp_path / f"{name}.txt", lines)
    return {name: str(tmp_path / f"{name}.txt") for name in texts}


@pytest.fixture
def corpus(corpus_files: dict[str, str], tmp_path: Path) -> Iterator[CorpusFiles]:
    """Return these files as a corpus in blocks of ten sentences."""
    from learnedgec.applications.corpus.reading import open_lines

    systems, references = {"weak": corpus_files["weak"]}, [corpus_files["reference"]]
    with open_lines(corpus_files["source"], systems, references, 10, tmp_path) as corpus:
        yield corpus


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a two-layer BERT with random weights."""
    import tiny

    return tiny.save_encoder(tmp_path_factory.mktemp("models") / "encoder")


@pytest.fixture(scope="session")
def tiny_regressor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a two-layer BERT classifier of one label with random weights."""
    import tiny

    return tiny.save_regressor(tmp_path_factory.mktemp("models") / "regressor")


@pytest.fixture(scope="session")
def tiny_evaluator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of an evaluator package with SOME's heads and random weights."""
    import tiny

    return tiny.save_evaluator(tmp_path_factory.mktemp("evaluators") / "tiny")


@pytest.fixture(scope="session")
def tiny_preference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of an evaluator package for ranked pairs, with random weights."""
    import tiny

    from learnedgec.evaluators.evaluator import HeadConfig

    folder = tmp_path_factory.mktemp("evaluators") / "preference"
    return tiny.save_evaluator(
        folder, heads={"preference": HeadConfig("pair"), "quality": HeadConfig()}
    )


@pytest.fixture(scope="session")
def tiny_sequence_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a small BART with random weights."""
    import tiny

    return tiny.save_sequence_model(tmp_path_factory.mktemp("models") / "sequence")


@pytest.fixture(scope="session")
def tiny_causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a two-layer GPT-2 with random weights."""
    import tiny_causal

    return tiny_causal.save_causal(tmp_path_factory.mktemp("models") / "causal")


@pytest.fixture
def install_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Path]]:
    """Return a function that installs a distribution: entry points by group and name, and modules."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    before = set(sys.modules)

    def install(
        name: str, points: Mapping[str, Mapping[str, str]], modules: Mapping[str, str]
    ) -> Path:
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = []
        for group, entries in points.items():
            lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items()), ""]
        (info / "entry_points.txt").write_text("\n".join(lines))
        for path, text in modules.items():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_text(text)
        importlib.invalidate_caches()
        return site

    yield install
    for module in set(sys.modules) - before:
        if str(getattr(sys.modules[module], "__file__", None)).startswith(str(site)):
            del sys.modules[module]
    # Classes are in cycles; a base class must forget those of this test.
    gc.collect()


@pytest.fixture
def put_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, dict[str, str]], None]:
    """Return a function that replaces a catalog dataset by small files in a mirror of its own."""
    root = tmp_path / "mirror"
    monkeypatch.setenv(files.MIRROR_VARIABLE, str(root))

    def put(name: str, contents: dict[str, str]) -> None:
        files = {}
        for path, text in contents.items():
            content = text.encode()
            place = root / "owner" / name / "commit" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
            files[path] = File(path, len(content), hashlib.sha256(content).hexdigest())
        row = Dataset(name, "small", "none", f"owner/{name}", "commit", files)
        monkeypatch.setitem(DATASETS.builtin, name, row)

    return put
