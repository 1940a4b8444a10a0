"""What a user sees first: the public names, and an import that costs nothing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import learnedgec
from learnedgec import errors


def loaded_by(statement: str) -> set[str]:
    program = f"import sys; {statement}; print('\\n' + ' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {module.partition(".")[0] for module in done.stdout.splitlines()[-1].split()}


def test_all_names_are_there() -> None:
    for name in learnedgec.__all__:
        assert getattr(learnedgec, name) is not None
    assert dir(learnedgec) == sorted(learnedgec.__all__)


def test_import_and_help_load_nothing_heavy() -> None:
    names = "torch spacy pandas transformers pytorch_lightning sklearn datasets numpy"
    heavy = set(names.split())
    assert not loaded_by("import learnedgec") & heavy
    assert not loaded_by("import learnedgec.metrics") & heavy
    named = "from learnedgec.metrics import Gleu, M2; import learnedgec; learnedgec.score; learnedgec.rank"
    assert not loaded_by(named) & (heavy - {"numpy"})
    helped = "from learnedgec.cli.main import main; main(['--help'])"
    assert not loaded_by(helped) & heavy
    scored = "import learnedgec.cli.score"
    assert not loaded_by(scored) & ((heavy | {"pyarrow"}) - {"numpy"})
    listed = "from learnedgec.cli.main import main; main(['metrics'])"
    assert not loaded_by(listed) & (heavy - {"numpy"})


def test_errors_of_the_library_speak_of_no_flag() -> None:
    package = Path(learnedgec.__file__).parent
    files = [path for path in package.rglob("*.py") if package / "cli" not in path.parents]
    files.remove(package / "tuning" / "sweep.py")  # whose arguments are those of the command line
    raised = [
        (path, node.lineno, constant.value)
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
        for argument in (*node.exc.args, *(k.value for k in node.exc.keywords if k.arg != "flag"))
        for constant in ast.walk(argument)
        if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
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
    types = [value for value in vars(errors).values() if isinstance(value, type)]
    raised = [kind for kind in types if issubclass(kind, Exception)]
    kinds = [kind for kind in raised if not issubclass(kind, Warning)]
    for kind in kinds:
        assert issubclass(kind, errors.LearnedgecError)
        assert kind.__name__ in errors.__doc__
    drawn = [
        line for line in errors.__doc__.splitlines() if "──" in line or "LearnedgecError" in line
    ]
    assert len(drawn) == len(kinds)
