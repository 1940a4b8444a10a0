"""The docstrings of the API reference: summaries, parameters, errors, and examples of the top level."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import learnedgec
from learnedgec import errors

docstring_parser = pytest.importorskip("docstring_parser", reason="a dependency of jsonargparse")

# As in docs/_extensions/reference.py: commands have pages of their own.
_LEFT_OUT = ("learnedgec.cli", "learnedgec._version")
# From here on a reader cannot guess from the summary what each parameter is.
_MANY = 3
# What needs a hub or much time has its example in a line of text, which is not run.
_EXAMPLE = r">>> |Example: `"
_ERRORS = {name for name in vars(errors) if name.endswith("Error")} - {"LearnedgecError"}


def modules() -> Iterator[Any]:
    """Yield the modules of the API reference."""
    for info in pkgutil.walk_packages(learnedgec.__path__, "learnedgec."):
        if not info.name.startswith(_LEFT_OUT):
            yield importlib.import_module(info.name)


def public() -> dict[str, Any]:
    """Return the public functions and classes by name, each once, where it is defined."""
    return {
        f"{module.__name__}.{name}": value
        for module in modules()
        for name, value in vars(module).items()
        if (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == module.__name__
        and not name.startswith("_")
    }


def callables() -> Iterator[tuple[str, Any]]:
    """Yield the public functions, and the public methods that are not described in a base or a protocol."""
    exported = public()
    protocols = [value for value in exported.values() if getattr(value, "_is_protocol", False)]
    in_protocols = {key for protocol in protocols for key in vars(protocol)}
    for name, value in exported.items():
        if inspect.isfunction(value):
            yield name, value
            continue
        inherited = {key for base in value.__mro__[1:] for key in vars(base)}
        if value not in protocols:
            inherited |= in_protocols
        for key, member in vars(value).items():
            method = getattr(member, "__func__", member)
            if inspect.isfunction(method) and not key.startswith("_") and key not in inherited:
                yield f"{name}.{key}", inspect.unwrap(method)


def parameters(value: Any) -> list[str]:
    """Return the parameters of a function, or those of a class that none of its bases describes."""
    if inspect.isclass(value):
        if inspect.isabstract(value) or getattr(value, "_is_protocol", False):
            return []  # derived classes describe them
        if not {"__init__", "__new__"} & vars(value).keys():
            return []
    inherited = {
        name
        for base in (value.__mro__[1:] if inspect.isclass(value) else ())
        for name in getattr(base, "__annotations__", ())
    }
    return [
        name
        for name in inspect.signature(value).parameters
        if name not in {"self", "cls"} | inherited and not name.startswith("_")
    ]


def described(value: Any) -> set[str]:
    """Return the names of the parameters and attributes that a docstring describes."""
    # From the source, since transformers rewrites docstrings of the models that it exports.
    node = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
    assert isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    texts = [ast.get_docstring(node) or inspect.getdoc(value) or ""]
    if isinstance(node, ast.ClassDef):
        methods = [method for method in node.body if isinstance(method, ast.FunctionDef)]
        texts += [ast.get_docstring(m) or "" for m in methods if m.name == "__init__"]
    text = "\n\n".join(texts)
    parsed = docstring_parser.parse(text, docstring_parser.DocstringStyle.GOOGLE)
    return {name.strip(" *`") for param in parsed.params for name in param.arg_name.split(",")}


def raised(function: Callable[..., Any]) -> set[str]:
    """Return learnedgec's errors that a function itself raises."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    names = [
        call.func.id
        for call in calls
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    ]
    return _ERRORS & set(names)


def test_every_parameter_is_described_and_no_other() -> None:
    top = {getattr(learnedgec, name) for name in learnedgec.__all__ if name != "__version__"}
    lacking, unknown = {}, {}
    for name, value in {**public(), **dict(callables())}.items():
        documented, actual = described(value), parameters(value)
        # A docstring may name the place that describes them.
        elsewhere = re.search(r"; see (`|there)", (value.__doc__ or "").partition("\n")[0])
        if documented or ((value in top or len(actual) >= _MANY) and not elsewhere):
            lacking[name] = [parameter for parameter in actual if parameter not in documented]
        if inspect.isfunction(value):
            unknown[name] = sorted(documented - set(actual))
    assert {name: names for name, names in lacking.items() if names} == {}
    assert {name: names for name, names in unknown.items() if names} == {}


def test_errors_are_named_where_they_are_raised() -> None:
    undocumented = {
        name: sorted(error for error in raised(value) if error not in (value.__doc__ or ""))
        for name, value in callables()
    }
    assert {name: names for name, names in undocumented.items() if names} == {}


def test_the_top_level_has_examples() -> None:
    without = [
        name
        for name in learnedgec.__all__
        if name not in ("__version__", "LearnedgecError")
        and not re.search(_EXAMPLE, getattr(learnedgec, name).__doc__ or "")
    ]
    assert without == []
