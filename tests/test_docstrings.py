"""The docstrings of the API reference: parameters, attributes, errors, and examples of the top level.

Ruff checks that a docstring which describes parameters describes each of them.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import docstring_parser

import learnedgec
from learnedgec import errors

PACKAGE = Path(learnedgec.__file__).parent
ERRORS = {name for name in vars(errors) if name.endswith("Error")} - {"LearnedgecError"}
# From here on a reader cannot guess from the summary what each parameter is.
MANY = 3


def definitions() -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef]]:
    """Yield public classes, functions and methods with their names, but not those of commands.

    A method with the name of another one is described in a base class or a protocol.
    """
    paths = [path for path in PACKAGE.rglob("*.py") if PACKAGE / "cli" not in path.parents]
    trees = {str(path.relative_to(PACKAGE)): ast.parse(path.read_text("utf-8")) for path in paths}
    classes = [node for t in trees.values() for node in t.body if isinstance(node, ast.ClassDef)]
    names = Counter(node.name for kind in classes for node in functions(kind))
    for module, tree in trees.items():
        public = {getattr(node, "name", "_"): node for node in tree.body}
        for node in (node for name, node in public.items() if not name.startswith("_")):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield f"{module}.{node.name}", node
            if isinstance(node, ast.ClassDef):
                for method in functions(node):
                    if not method.name.startswith("_") and names[method.name] == 1:
                        yield f"{module}.{node.name}.{method.name}", method


def functions(kind: ast.ClassDef) -> list[ast.FunctionDef]:
    return [node for node in kind.body if isinstance(node, ast.FunctionDef)]


def parameters(node: ast.ClassDef | ast.FunctionDef) -> set[str]:
    """Return the parameters of a function, or the fields of a dataclass."""
    if isinstance(node, ast.FunctionDef):
        arguments = node.args
        more = [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
        named = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        names = [each.arg for each in (*named, *more)]
    else:
        dataclass = any("dataclass" in ast.unparse(each) for each in node.decorator_list)
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign) and dataclass]
        names = [
            ast.unparse(each.target)
            for each in fields
            if "ClassVar" not in ast.unparse(each.annotation)
        ]
    return {name for name in names if not name.startswith("_")} - {"self", "cls"}


def test_parameters_and_attributes_are_described_and_no_other() -> None:
    wrong = {}
    for name, node in definitions():
        text = ast.get_docstring(node) or ""
        parsed = docstring_parser.parse(text, docstring_parser.DocstringStyle.GOOGLE)
        described = {
            word.strip(" *`") for each in parsed.params for word in each.arg_name.split(",")
        }
        actual = parameters(node)
        # A docstring may name the place that describes them.
        elsewhere = re.search(r"; see (`|there)", text.partition("\n")[0])
        missing = (
            actual - described if described or (len(actual) >= MANY and not elsewhere) else set()
        )
        unknown = described - actual if isinstance(node, ast.FunctionDef) else set()
        if missing or unknown:
            wrong[name] = sorted(missing), sorted(unknown)
    assert wrong == {}


def test_errors_are_named_where_they_are_raised() -> None:
    undocumented = {}
    for name, node in definitions():
        if isinstance(node, ast.FunctionDef):
            calls = [each.exc for each in ast.walk(node) if isinstance(each, ast.Raise)]
            raised = {ast.unparse(call.func) for call in calls if isinstance(call, ast.Call)}
            text = ast.get_docstring(node) or ""
            undocumented[name] = {e for e in raised & ERRORS if e not in text}
    assert {name: names for name, names in undocumented.items() if names} == {}


def test_the_top_level_has_examples() -> None:
    # What needs a hub or much time has its example in a line of text, which is not run.
    names = {*learnedgec.__all__} - {"__version__", "LearnedgecError"}
    docs = {name: getattr(learnedgec, name).__doc__ or "" for name in names}
    assert [name for name, text in docs.items() if not re.search(r">>> |Example: `", text)] == []
