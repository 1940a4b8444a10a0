"""Tables of metrics, datasets, benchmarks, pair sources or annotators, which packages can extend.

A package adds a name by an entry point, for example in its pyproject.toml:

    [project.entry-points."learnedgec.metrics"]
    my-metric = "my_package.metric:MyMetric"

The name is then listed, suggested and loaded like learnedgec's own. The module is imported when the name is
used or listed. A plug-in that cannot be loaded raises a `PluginError`; the others stay usable.
"""

from __future__ import annotations

import importlib
import inspect
import marshal
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, distributions, entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

from learnedgec.errors import BadNameError, PluginError, UnknownNameError
from learnedgec.runtime.files import file_digest, key_of

T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point of an installed package.

    Attributes:
        kind: kind of thing in the table, such as `metric`.
        point: the entry point, with name, group and `module:attribute`.
    """

    kind: str
    point: EntryPoint

    @property
    def name(self) -> str:
        """The name in the table."""
        return self.point.name

    def load_value(self, kind: type[S]) -> S:
        """Import the plug-in, which must be an instance of `kind`; raise `PluginError` otherwise."""
        value = self._load()
        if not isinstance(value, kind):
            raise self.error(f"{self.point.value} is not of the type {kind.__name__}")
        return value

    def load_class(self, base: type[S]) -> type[S]:
        """Import the plug-in, which must be a subclass of `base`; raise `PluginError` otherwise."""
        value = self._load()
        if not (isinstance(value, type) and issubclass(value, base)):
            raise self.error(f"{self.point.value} is not a subclass of {base.__name__}")
        return value

    def error(self, reason: str) -> PluginError:
        """Return the error for a plug-in that cannot be used, with the reason."""
        assert self.point.dist is not None  # Every installed entry point has a distribution.
        return PluginError(
            f"the {self.kind} {self.name!r} of the installed package {self.point.dist.name} cannot be used: "
            f"{reason}; update or uninstall the package."
        )

    def _load(self) -> Any:
        try:
            return self.point.load()
        except Exception as error:
            # Any error that a third-party module raises when it is imported.
            cause = _cause(error)
            raise self.error(f"{self.point.value} cannot be imported ({cause})") from error


@dataclass(eq=False)
class Registry(Generic[T]):
    """A table with the entries of learnedgec and of installed packages.

    An entry of learnedgec takes precedence over a plug-in of the same name. Iteration yields all names,
    learnedgec's own first.

    Attributes:
        kind: kind of thing in the table for messages, such as `metric`.
        group: entry point group, such as `learnedgec.metrics`.
        builtin: learnedgec's own entries.
        adapt: function that loads a plug-in and returns its entry, or raises `PluginError`.
        hint: end of the message about an unknown name.

    Example:
        >>> registry = Registry("colour", "example.colours", {"red": 1}, lambda plugin: 0)
        >>> registry.find("red"), "blue" in registry, list(registry)
        (1, False, ['red'])
    """

    kind: str
    group: str
    builtin: Mapping[str, T]
    adapt: Callable[[Plugin], T]
    hint: str = ""

    def find(self, name: str) -> T:
        """Return the entry with a name.

        Raises:
            UnknownNameError: no entry has this name; the message suggests the nearest name.
            PluginError: it is a plug-in that cannot be loaded.
        """
        if name in self.builtin:
            return self.builtin[name]
        plugins = self.plugins()
        if name not in plugins:
            raise UnknownNameError(self.kind, name, [*self.builtin, *plugins], hint=self.hint)
        return self.adapt(plugins[name])

    def spelt(self, name: str) -> str:
        """Return a name in the spelling of the table, ignoring capitals, hyphens and underscores.

        A name that is in the table, or that matches no name or several names, is returned unchanged.

        Example:
            >>> Registry("colour", "example.colours", {"dark-red": 1}, lambda plugin: 0).spelt("DarkRed")
            'dark-red'
        """
        if name in self:
            return name
        alike = [entry for entry in self if _letters(entry) == _letters(name)]
        return alike[0] if len(alike) == 1 else name

    def plugins(self) -> dict[str, Plugin]:
        """Return the plug-ins of installed packages by name, without importing them."""
        places = tuple((place, _changed(place)) for place in sys.path)
        return {
            point.name: Plugin(self.kind, point)
            for point in _points(self.group, places)
            if point.name not in self.builtin
        }

    def entries(self) -> Iterator[tuple[str, T | PluginError]]:
        """Yield every name with its entry, or with the error if a plug-in cannot be loaded."""
        yield from self.builtin.items()
        for name, plugin in self.plugins().items():
            try:
                yield name, self.adapt(plugin)
            except PluginError as error:
                yield name, error

    def __contains__(self, name: object) -> bool:
        return name in self.builtin or name in self.plugins()

    def __iter__(self) -> Iterator[str]:
        yield from self.builtin
        yield from self.plugins()


def see_current_folder() -> None:
    """Add the current folder, which the import path of an installed script lacks, to its end.

    At the front, a file in the folder would hide the module of the same name of any library.
    """
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)


def import_class(path: str, base: type[S]) -> type[S]:
    """Import the class `module:Class` from an installed package or from a module in the current folder.

    An installed module comes first.

    Raises:
        BadNameError: the module cannot be imported, or it has no such subclass of `base`.

    Example:
        >>> import_class("learnedgec.errors:InputError", Exception)
        <class 'learnedgec.errors.InputError'>
    """
    see_current_folder()
    module_name, _, attribute = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    # A third-party module may raise any error when it is imported, or even end the program.
    except (Exception, SystemExit) as error:
        raise BadNameError(
            f"{path}: the module {module_name} cannot be imported ({_cause(error)}); MODULE:CLASS was "
            "expected, with a module in the current folder or of an installed package."
        ) from error
    place = getattr(module, "__file__", None) or module_name
    kind = getattr(module, attribute, None)
    if not (isinstance(kind, type) and issubclass(kind, base)):
        raise BadNameError(f"{path}: {place} has no subclass of {base.__name__} named {attribute}.")
    if missing := sorted(getattr(kind, "__abstractmethods__", ())):
        raise BadNameError(
            f"{path}: {attribute} in {place} lacks {', '.join(missing)}; define the missing methods."
        )
    return kind


def origin(kind: type) -> dict[str, str]:
    """Return what identifies the code of a class from outside learnedgec; it is empty for learnedgec's own.

    `package` is the installed package with its version, if it adds to one of learnedgec's tables. `code` has
    12 digits of a SHA-256: that of the files that define the class and its bases outside learnedgec and the
    standard library, or that of the methods of a class that has no file, as in a notebook. Modules that these
    files import are not read.

    Example:
        >>> from learnedgec.metrics.gleu import Gleu
        >>> origin(Gleu)
        {}
    """
    # The versions of learnedgec and of the standard library are known.
    known = {"learnedgec", *sys.stdlib_module_names}
    outside = [base for base in kind.__mro__ if base.__module__.partition(".")[0] not in known]
    if not outside:
        return {}
    modules = {base.__module__.partition(".")[0] for base in outside}
    packages = {
        f"{distribution.name}=={distribution.version}"
        for distribution in distributions()
        for point in distribution.entry_points
        if point.group.startswith("learnedgec.") and point.module.partition(".")[0] in modules
    }
    package = {"package": "+".join(sorted(packages))} if packages else {}
    return package | {"code": key_of([_code_digest(base) for base in outside])[:12]}


@lru_cache(maxsize=32)
def _points(group: str, places: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group by name.

    All installed packages are read, which takes long, so they are read once for the same places of packages.
    """
    return tuple(sorted(entry_points(group=group), key=lambda point: point.name))


def _changed(place: str) -> int:
    """Return when a package was last installed or removed in a place of the import path."""
    try:
        return Path(place).stat().st_mtime_ns
    except OSError:
        return 0


def _code_digest(kind: type) -> str:
    """Return a digest of the file that defines a class, or of its methods if there is none."""
    file = Path(getattr(sys.modules.get(kind.__module__), "__file__", None) or "")
    if file.is_file():
        return file_digest(file)
    codes = (
        getattr(inspect.unwrap(getattr(member, "__func__", member)), "__code__", None)
        for member in vars(kind).values()
    )
    return key_of([marshal.dumps(code).hex() for code in codes if code is not None])


def _letters(name: str) -> str:
    return re.sub("[-_]", "", name).lower()


def _cause(error: BaseException) -> str:
    """Return an error's message as one line."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
