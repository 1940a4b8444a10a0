"""Tables that installed packages can extend: metrics, datasets, benchmarks, pair sources, annotators.

A package adds a name by an entry point, for example in its pyproject.toml:

    [project.entry-points."learnedgec.metrics"]
    my-metric = "my_package.metric:MyMetric"

The name is then listed, suggested and loaded like learnedgec's own. The module is imported when the name is
used or listed. A plug-in that cannot be loaded raises a `PluginError`; the others stay usable.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import marshal
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, EntryPoint, distributions
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, TypeVar

from learnedgec.errors import BadNameError, PluginError, UnknownNameError
from learnedgec.execution.digests import file_digest, key_of
from learnedgec.execution.lookup import local_path

__all__ = ["Plugin", "Registry", "import_class", "origin", "see_current_folder"]

# Of an import path, in characters.
_LONGEST = 200

T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point of an installed package.

    Attributes:
        what: kind of thing in the table, such as `metric`.
        point: the entry point, with name, group and `module:attribute`.
        packages: name of the installed package; several names if packages define it differently.
    """

    what: str
    point: EntryPoint
    packages: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name in the table."""
        return self.point.name

    def load_value(self, kind: type[S]) -> S:
        """Import the plug-in, which must be an instance of `kind`; raise `PluginError` otherwise."""
        found = self._load()
        if not isinstance(found, kind):
            raise self.error(f"{self.point.value} is not of the type {kind.__name__}")
        return found

    def load_class(self, base: type[S]) -> type[S]:
        """Import the plug-in, which must be a subclass of `base`; raise `PluginError` otherwise."""
        found = self._load()
        if not (isinstance(found, type) and issubclass(found, base)):
            raise self.error(f"{self.point.value} is not a subclass of {base.__name__}")
        return found

    def summary(self, loaded: object) -> str:
        """Return one line about the loaded plug-in: the first line of its docstring, or its package."""
        line = inspect.cleandoc(loaded.__doc__ or "").partition("\n")[0].rstrip(".")
        return line or f"from {' and '.join(self.packages)}"

    def error(self, reason: str) -> PluginError:
        """Return the error for a plug-in that cannot be used, with the reason."""
        return PluginError(
            f"the {self.what} {self.name!r} of the installed package {' and '.join(self.packages)} cannot "
            f"be used: {reason}; update or uninstall the package."
        )

    def _load(self) -> Any:
        if len(self.packages) > 1:
            raise self.error("each defines this name")
        try:
            return self.point.load()
        except Exception as error:
            # Any error that a third-party module raises when it is imported.
            cause = _cause(error)
            raise self.error(f"{self.point.value} cannot be imported ({cause})") from error


class Registry(Generic[T]):
    """A table with learnedgec's own entries and those of installed packages.

    An entry of learnedgec takes precedence over a plug-in of the same name. Iteration yields all names,
    learnedgec's own first.

    Example:
        >>> registry = Registry("colour", "example.colours", {"red": 1}, lambda plugin: 0)
        >>> registry.find("red"), "blue" in registry, list(registry)
        (1, False, ['red'])
    """

    def __init__(
        self,
        what: str,
        group: str,
        own: Mapping[str, T],
        adapt: Callable[[Plugin], T],
        *,
        hint: str = "",
    ) -> None:
        """Describe the table.

        Args:
            what: kind of thing in the table for messages, such as `metric`.
            group: entry point group, such as `learnedgec.metrics`.
            own: learnedgec's own entries.
            adapt: function that loads a plug-in and returns its entry, or raises `PluginError`.
            hint: end of the message about an unknown name.
        """
        self.what, self.group, self.own, self.hint = what, group, own, hint
        self._adapt = adapt

    def find(self, name: str) -> T:
        """Return the entry with a name.

        Raises:
            UnknownNameError: no entry has this name; the message suggests the nearest name.
            PluginError: it is a plug-in that cannot be loaded.
        """
        if name in self.own:
            return self.own[name]
        plugins = self.plugins()
        if name not in plugins:
            raise UnknownNameError(self.what, name, [*self.own, *plugins], hint=self.hint)
        return self._adapt(plugins[name])

    def spelt(self, name: str) -> str:
        """Return a name in the spelling of the table, ignoring capitals, hyphens and underscores.

        A name that is in the table, or that matches no name or several names, is returned unchanged.

        Example:
            >>> Registry("colour", "example.colours", {"dark-red": 1}, lambda plugin: 0).spelt("DarkRed")
            'dark-red'
        """
        if name in self:
            return name
        alike = [known for known in self if _letters(known) == _letters(name)]
        return alike[0] if len(alike) == 1 else name

    def plugins(self) -> dict[str, Plugin]:
        """Return the plug-ins of installed packages by name, without importing them."""
        found: dict[str, Plugin] = {}
        for distribution, point in _entry_points(lambda group: group == self.group):
            package = distribution.metadata["Name"]
            known = found.get(point.name)
            if known is None:
                found[point.name] = Plugin(self.what, point, (package,))
            elif known.point.value != point.value:
                found[point.name] = Plugin(self.what, point, (*known.packages, package))
        return {name: found[name] for name in sorted(found) if name not in self.own}

    def entries(self) -> Iterator[tuple[str, T | PluginError]]:
        """Yield every name with its entry, or with the error if a plug-in cannot be loaded."""
        yield from self.own.items()
        for name, plugin in self.plugins().items():
            try:
                yield name, self._adapt(plugin)
            except PluginError as error:
                yield name, error

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self.plugins()

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from self.plugins()


def see_current_folder() -> None:
    """Add the current folder to the end of the import path, which an installed script does not have there.

    In front, a file with the name of any library's module would be imported in its place.
    """
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)


def import_class(path: str, base: type[S]) -> type[S]:
    """Import the class `module:Class` from an installed package or from a module in the current folder.

    An installed module comes first; a warning says so where the current folder has another of its name.

    Raises:
        BadNameError: the module cannot be imported, or it has no such subclass of `base`.

    Example:
        >>> import_class("learnedgec.errors:InputError", Exception)
        <class 'learnedgec.errors.InputError'>
    """
    if len(path) > _LONGEST:
        raise BadNameError(
            f"{path[:_LONGEST]}… is not an import path: it has {len(path)} characters."
        )
    see_current_folder()
    module_name, _, attribute = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    # Anything that a third-party module does when it is imported, such as to end the program.
    except (Exception, SystemExit) as error:
        raise BadNameError(
            f"{path}: the module {module_name} cannot be imported ({_cause(error)}); MODULE:CLASS was "
            "expected, with a module in the current folder or of an installed package."
        ) from error
    place = getattr(module, "__file__", None) or module_name
    _warn_of_another(module_name, place)
    try:
        found = attrgetter(attribute)(module)
    except AttributeError:
        raise BadNameError(
            f"{path}: {place} has no {attribute}; name a class that it has."
        ) from None
    if not (isinstance(found, type) and issubclass(found, base)):
        raise BadNameError(f"{path}: {attribute} in {place} is not a subclass of {base.__name__}.")
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        raise BadNameError(
            f"{path}: {attribute} in {place} lacks {', '.join(missing)}; define the missing methods."
        )
    return found


@cache
def _warn_of_another(module: str, place: str) -> None:
    """Warn, once, where the current folder has a module of the name of one imported from elsewhere."""
    path = Path.cwd().joinpath(*module.split("."))
    for own in (path.with_suffix(".py"), path / "__init__.py"):
        if own.is_file() and own.resolve() != Path(place).resolve():
            warnings.warn(
                f"{module} is imported from {place} and not from {own}, since installed modules come first; "
                "rename this file, or install its folder with `pip install -e .`.",
                stacklevel=3,
            )


def origin(kind: type) -> dict[str, str]:
    """Return what identifies the code of a class from outside learnedgec; nothing for a class of its own.

    `package` is the installed package with its version, if it adds to one of learnedgec's tables. `code` is
    a SHA-256, of 12 digits: of the file that defines the class and of those of its bases outside learnedgec
    and the standard library, or of the methods of a class that has no file, as in a notebook. Modules that
    these import are not read.

    Example:
        >>> from learnedgec.metrics.gleu import Gleu
        >>> origin(Gleu)
        {}
    """
    outside = [each for each in kind.__mro__ if not _is_own(each)]
    if not outside:
        return {}
    modules = {each.__module__.partition(".")[0] for each in outside}
    packages = {
        f"{distribution.metadata['Name']}=={distribution.version}"
        for distribution, point in _entry_points(lambda group: group.startswith("learnedgec."))
        if point.module.partition(".")[0] in modules
    }
    found = {"package": "+".join(sorted(packages))} if packages else {}
    return found | {"code": key_of([_code_digest(each) for each in outside])[:12]}


def _is_own(kind: type) -> bool:
    """Return whether a class is learnedgec's or the standard library's, whose versions are known."""
    top = kind.__module__.partition(".")[0]
    return top == "learnedgec" or top in sys.stdlib_module_names


def _code_digest(kind: type) -> str:
    """Return a digest of the file that defines a class, or of its methods if there is none."""
    file = Path(getattr(sys.modules.get(kind.__module__), "__file__", None) or "")
    if file.is_file():
        return file_digest(file)
    codes = (
        getattr(inspect.unwrap(getattr(each, "__func__", each)), "__code__", None)
        for each in vars(kind).values()
    )
    return key_of([marshal.dumps(code).hex() for code in codes if code is not None])


def check_no_module(name: str) -> None:
    """Raise `BadNameError` if a name is that of a Python file, where a class in the file is needed.

    Raises:
        BadNameError: the current folder has such a file; the message names its classes.
    """
    path = local_path(name if name.endswith(".py") else f"{name}.py")
    if path is None or not path.is_file():
        return
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        body = []
    classes = [each.name for each in body if isinstance(each, ast.ClassDef)]
    written = " or ".join(f"{path.stem}:{each}" for each in classes[:3] or ["Class"])
    raise BadNameError(
        f"{name} is a Python file, and a class in it was expected; write {written}"
        + ("." if classes else ", with the name of that class.")
    )


def _letters(name: str) -> str:
    return re.sub("[-_]", "", name).lower()


def _cause(error: BaseException) -> str:
    """Return an error's message as one line."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _entry_points(wanted: Callable[[str], bool]) -> Iterator[tuple[Distribution, EntryPoint]]:
    """Yield the entry points of the wanted groups, each with its distribution."""
    for distribution in distributions():
        try:
            points = [point for point in distribution.entry_points if wanted(point.group)]
        except Exception:
            # A damaged installation of something else; pip reports it.
            continue
        for point in points:
            yield distribution, point
