"""The table of datasets, what each of them holds, and the grammar of their names.

    name = dataset [ ":" part ]        gug:train      sts:2012/MSRpar.train
    part = word { "/" word }

A name without a part, or with the first words of one, denotes all parts that begin with them: `robustgec` for
its three domains, `sts:2012` for the five sets of that year. A dataset with its own order, such as
`gug`, is read in that order.

A row of `datasets.json` says where a dataset's files come from; `scripts/add_dataset.py` writes it. Readers
parse the files, one function for each kind of data:

    @PARALLEL.reader("jfleg", ("dev", "test"))
    def _jfleg(part: str) -> Parallel: ...

Other packages add datasets under the entry point group `learnedgec.datasets` (name -> `module:dataset`, a
`Dataset` whose module holds the readers).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from learnedgec.data.records import HUB
from learnedgec.data.text import read_json
from learnedgec.errors import InputError, UnknownNameError
from learnedgec.runtime.plugins import Registry
from learnedgec.runtime.search_paths import local_path
from learnedgec.runtime.writing import PathLike

# Names of files: the name of a dataset has no slash and no suffix before its colon.
_FILE_NAME = re.compile(r"/|\\|\.[A-Za-z]\w*$")

T = TypeVar("T")

# Every kind of data by its name, in the order in which the modules of the catalog define them.
KINDS: dict[str, Kind[Any]] = {}


@dataclass(frozen=True, slots=True)
class File:
    """A file of a dataset.

    Attributes:
        path: path in the repository.
        bytes: size in bytes.
        sha256: SHA-256 in hexadecimal.
    """

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Dataset:
    """A public dataset, with its files at a pinned commit if it has any to download.

    Attributes:
        name: the catalog's name, such as `tmu-gfm`.
        about: a description of one line.
        licence: as its authors state it.
        repository: `owner/name` on GitHub.
        commit: the pinned revision.
        files: path in the repository -> file.
        part_licences: first word of a part -> its licence, if it differs from the dataset's.
    """

    name: str
    about: str
    licence: str
    repository: str = ""
    commit: str = ""
    files: Mapping[str, File] = field(default_factory=dict)
    part_licences: Mapping[str, str] = field(default_factory=dict)

    def licence_of(self, part: str) -> str:
        """Return the licence of a part, which its first word decides, or of the whole dataset (`""`)."""
        return self.part_licences.get(part.partition("/")[0], self.licence)

    @property
    def bytes(self) -> int:
        """The size of all files together."""
        return sum(file.bytes for file in self.files.values())

    @property
    def folder(self) -> str:
        """The dataset's folder in a mirror and in the cache."""
        return f"{self.repository}/{self.commit}"

    def url(self, file: str) -> str:
        """Return the upstream address of one file."""
        return f"https://raw.githubusercontent.com/{self.folder}/{quote(file)}"

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """The names that can be loaded, by kind of data; the whole dataset is first."""
        return {
            kind.name: kind.names_of(self.name)
            for kind in KINDS.values()
            if self.name in kind.readers
        }


def read_datasets(path: PathLike) -> dict[str, Dataset]:
    """Read a table of datasets, as `scripts/add_dataset.py` writes it."""
    table = {}
    for name, row in read_json(path).items():
        files = {file: File(file, **values) for file, values in row["files"].items()}
        table[name] = Dataset(name, **{**row, "files": files})
    return table


_SAMPLE = Dataset(
    "sample",
    "written for this project: 72 sentences with outputs, ratings and rankings, and robustness cases",
    "Apache-2.0",
)

_OWN = {**read_datasets(Path(__file__).with_name("datasets.json")), _SAMPLE.name: _SAMPLE}

DATASETS: Registry[Dataset] = Registry(
    "dataset",
    "learnedgec.datasets",
    dict(sorted(_OWN.items())),
    lambda plugin: plugin.load_value(Dataset),
    hint="`learnedgec data list` lists them.",
)


def dataset(name: str) -> Dataset:
    """Return a dataset by name, without a part.

    Raises:
        UnknownNameError: no dataset has this name; the message suggests the nearest.
        PluginError: it is from another installed package and cannot be loaded.
    """
    return DATASETS.find(name)


@dataclass(frozen=True, slots=True)
class Reader(Generic[T]):
    """The reader of a dataset.

    Attributes:
        read: the function that reads a part.
        parts: the parts that `read` takes; `""` is among them if it can read the whole dataset at once.
    """

    read: Callable[[str], T]
    parts: tuple[str, ...]


@dataclass(eq=False)
class Kind(Generic[T]):
    """A kind of data that datasets hold, such as ratings, and the datasets that hold it.

    Attributes:
        name: for listings, such as `ratings`.
        noun: what messages call a dataset that holds it, such as `rated dataset`.
        join: combines the parts that one name denotes; without it, no name denotes several.
        read: reads a user's file or folder; without it, only datasets can be loaded.
        hint: which files `read` takes, for messages.
        converted: other kinds whose datasets are also of this kind -> the function that converts their
            data; the kind's own readers take precedence.
        readers: dataset -> its reader.

    Example:
        >>> from learnedgec.data.catalog import CASES
        >>> CASES.expand("robustgec")
        ('robustgec:conll14', 'robustgec:bea19', 'robustgec:tem8')
        >>> "robustgec:tem8" in CASES, "jfleg" in CASES
        (True, False)
    """

    name: str
    noun: str
    join: Callable[[Sequence[T]], T] | None = None
    read: Callable[[str], T] | None = None
    hint: str = ""
    converted: Mapping[Kind[Any], Callable[[Any], T]] = field(default_factory=dict)
    readers: dict[str, Reader[T]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        KINDS[self.name] = self

    def reader(
        self, name: str, parts: Iterable[str] = ()
    ) -> Callable[[Callable[..., T]], Callable[..., T]]:
        """Return a decorator for the function that reads a dataset.

        Args:
            name: the dataset.
            parts: its parts; `""` is among them if the function can read the whole dataset at once. The
                function takes a part, or nothing if there are no parts.
        """

        def register(read: Callable[..., T]) -> Callable[..., T]:
            chosen = tuple(parts)
            self.readers[name] = Reader(read if chosen else lambda _: read(), chosen or ("",))
            return read

        return register

    def load(self, name: str) -> T:
        """Return the data that a name denotes.

        Args:
            name: in the grammar above, or a path where this kind is read from files as well.

        Raises:
            UnknownNameError: neither a dataset of this kind nor an existing path.
            InputError: the name is a path that does not exist.
            DataError: a file is not available.
            PluginError: the dataset is from another installed package and cannot be loaded.
        """
        names = self.expand(name)
        reader = self._find(name.partition(":")[0])
        if reader is None:
            assert self.read is not None
            return self.read(name)
        parts = [reader.read(part.partition(":")[2]) for part in names]
        return parts[0] if self.join is None or len(parts) == 1 else self.join(parts)

    def expand(self, name: str) -> tuple[str, ...]:
        """Return the names of the parts that a name denotes, or the name itself if it is read as a whole.

        Raises:
            UnknownNameError: as for `load`.
            InputError: the name is a path that does not exist.
        """
        head, _, part = name.partition(":")
        reader = self._find(head)
        if reader is None and self.read is not None:
            if name == "-" or name.startswith(HUB) or local_path(name) is not None:
                return (name,)
            if _FILE_NAME.search(head):
                raise InputError(f"{name[:200]} does not exist; check the path.")
        if reader is None or name not in self.names_of(head):
            raise self._unknown(name)
        if part in reader.parts:
            return (name,)
        below = [p for p in reader.parts if not part or p.startswith(f"{part}/")]
        # A part that is read as a whole includes those below it.
        tops = [p for p in below if not any(p.startswith(f"{whole}/") for whole in below)]
        return tuple(f"{head}:{top}" for top in tops)

    def names_of(self, name: str) -> tuple[str, ...]:
        """Return every name of a dataset that can be loaded, the whole dataset first if it can be."""
        reader = self._find(name)
        if reader is None:
            return ()
        names = list(reader.parts)
        if self.join is not None:
            words = [part.split("/") for part in names]
            names = ["", *("/".join(w[:end]) for w in words for end in range(1, len(w) + 1))]
        return tuple(dict.fromkeys(f"{name}:{part}" if part else name for part in names))

    def __contains__(self, name: object) -> bool:
        """Return whether a name denotes data of this kind, paths aside."""
        return isinstance(name, str) and name in self.names_of(name.partition(":")[0])

    def _find(self, head: str) -> Reader[T] | None:
        """Return the reader of a dataset, loading the plug-in that it may be."""
        if head not in self.readers and head not in DATASETS.builtin and head in DATASETS:
            DATASETS.find(head)  # Its module registers its readers.
        for kind, convert in self.converted.items():
            if head not in self.readers and head in kind.readers:
                return _converted(kind.readers[head], convert)
        return self.readers.get(head)

    def _unknown(self, name: str) -> UnknownNameError:
        """Return the error for an unknown name, which suggests the nearest name of this kind."""
        head = name.partition(":")[0]
        names = self.names_of(head)
        hint = self.hint
        if not names:
            kinds = [kind.noun for kind in KINDS.values() if kind._find(head) is not None]
            if kinds:
                hint = f"{head} is a {' and a '.join(kinds)}. {hint}".rstrip()
            # This loads plug-ins, whose names are then suggested too.
            list(DATASETS.entries())
            heads = {head for kind in (self, *self.converted) for head in kind.readers}
            names = tuple(n for h in sorted(heads) for n in self.names_of(h) if "/" not in n)
        return UnknownNameError(self.noun, name, names, hint=hint)


def _converted(reader: Reader[Any], convert: Callable[[Any], T]) -> Reader[T]:
    """Return a reader of the converted data."""
    return Reader(lambda part: convert(reader.read(part)), reader.parts)


def concatenated(lists: Sequence[list[T]]) -> list[T]:
    """Return the items of several lists in turn."""
    return [item for items in lists for item in items]
