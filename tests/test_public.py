"""What a user sees first: the public names, and an import that costs nothing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import learnedgec
from learnedgec import errors


def loaded_by(statement: str) -> set[str]:
    program = f"import sys; {statement}; print('\\n' + ' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {module.partition(".")[0] for module in done.stdout.splitlines()[-1].split()}


def test_all_names_are_there_and_sorted() -> None:
    for name in learnedgec.__all__:
        assert getattr(learnedgec, name) is not None
    assert set(learnedgec.__all__) >= set(learnedgec._HOME)
    assert dir(learnedgec) == learnedgec.__all__


def test_import_and_help_load_nothing_heavy() -> None:
    heavy = {
        "torch",
        "spacy",
        "pandas",
        "transformers",
        "pytorch_lightning",
        "sklearn",
        "datasets",
        "numpy",
    }
    assert not loaded_by("import learnedgec") & heavy
    assert not loaded_by("import learnedgec.metrics") & heavy
    named = "from learnedgec.metrics import Gleu, M2; import learnedgec; learnedgec.score; learnedgec.rank"
    assert not loaded_by(named) & (heavy - {"numpy"})
    helped = "from learnedgec.cli.main import main; main(['--help'])"
    assert not loaded_by(helped) & heavy
    listed = "from learnedgec.cli.main import main; main(['metrics'])"
    assert not loaded_by(listed) & (heavy - {"numpy"})


def test_errors_of_the_library_speak_of_no_flag() -> None:
    package = Path(learnedgec.__file__).parent
    files = [path for path in package.rglob("*.py") if package / "cli" not in path.parents]
    raised = [
        (path, node.lineno, each.value)
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise)
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]
    assert len(raised) > 100
    flag = re.compile(r"(?<![\w-])--\w")
    # How to train an evaluator is a command, from wherever it is looked for.
    assert [
        (path.name, line, text)
        for path, line, text in raised
        if flag.search(text) and "`learnedgec train --config" not in text
    ] == []


def test_every_error_stands_in_the_tree() -> None:
    assert errors.__doc__
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), errors.LearnedgecError)
        assert name in errors.__doc__
    drawn = [
        line for line in errors.__doc__.splitlines() if "──" in line or "LearnedgecError" in line
    ]
    assert len(drawn) == len(errors.__all__)


def public_types(module: Path) -> set[str]:
    """Return the classes and the names of types that a module defines for others."""
    found = set()
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in found if name[0].isupper() and not name.isupper()}


def test_no_two_public_types_have_one_name() -> None:
    package = Path(learnedgec.__file__).parent
    homes = defaultdict(list)
    for module in sorted(package.rglob("*.py")):
        for name in public_types(module):
            homes[name].append(module.relative_to(package).as_posix())
    assert len(homes) > 100
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}


def test_long_modules_say_why_they_are_whole() -> None:
    package = Path(learnedgec.__file__).parent
    for module in sorted(package.rglob("*.py")):
        text = module.read_text()
        if text.count("\n") > 400:
            assert "\nOne file, though long: " in (ast.get_docstring(ast.parse(text)) or ""), module
