"""The base class of pair sources, and the simplest of them: a file of ranked pairs."""

from __future__ import annotations

import hashlib
import inspect
import json
import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from learnedgec._version import __version__
from learnedgec.data.catalog.files import sample_folder
from learnedgec.data.catalog.registry import DATASETS
from learnedgec.data.text import read_json, write_json
from learnedgec.errors import ConfigError, InputError
from learnedgec.runtime.digests import file_digest, folder_digest, key_of
from learnedgec.runtime.plugins import origin
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs.ranked import (
    RankedPair,
    drawn,
    read_ranked_pairs,
    write_ranked_pairs,
)

__all__ = ["PairFile", "PairSource", "check_named", "positive"]


class PairSource(ABC):
    """A source of ranked pairs, which makes the same pairs each time."""

    @abstractmethod
    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs.

        Args:
            folder: folder for intermediate results, so that an interrupted run can continue. Only this source
                uses it.
            runtime: device, processes and progress.
        """

    @abstractmethod
    def datasets(self) -> list[str]:
        """Return the names of the datasets and files that the pairs are made from."""

    def describe(self) -> dict[str, Any]:
        """Return the parameters as plain JSON values, for the manifest.

        By default, these are the attributes that have the names of the class's parameters.
        """
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def digests(self) -> dict[str, str]:
        """Return the current digest or description of everything that the parameters name, by name.

        Pairs are made again when a digest changes, because files can be edited, and models trained again,
        under the same name. A source that uses a model or an annotator adds its digest.
        """
        return {name: _content_digest(name) for name in self.datasets()}

    def check(self) -> None:  # noqa: B027 - most sources are made of datasets that are known to be right
        """Check the user's own files for errors, before their texts are checked for leakage."""

    def material(self) -> Iterator[str]:
        """Yield the texts, besides the pairs, that pairs are made from; they are checked for leakage."""
        yield from ()

    def summary(self, pairs: Sequence[RankedPair]) -> dict[str, Any]:
        """Return a summary of the pairs, for the manifest."""
        return {"pairs": len(pairs)}

    def place(self, folder: Path) -> Path:
        """Return the subfolder for this source with its current `digests` and code."""
        kind = f"{type(self).__module__}.{type(self).__qualname__}"
        about = [kind, self.describe(), self.digests(), __version__, *origin(type(self)).values()]
        text = json.dumps(about, sort_keys=True)
        return folder / hashlib.sha256(text.encode()).hexdigest()[:12]

    def made(self, folder: Path, runtime: Runtime) -> tuple[list[RankedPair], dict[str, Any]]:
        """Return the pairs and their summary; read them if they were made in this folder before.

        Raises:
            ConfigError: the data give no pair.
        """
        place = self.place(folder)
        pairs_file, summary_file = place / "pairs.jsonl", place / "summary.json"
        if not _whole(pairs_file, summary_file):
            place.mkdir(parents=True, exist_ok=True)
            pairs = self.make(place, runtime)
            if not pairs:
                raise ConfigError(
                    f"data.pairs: {type(self).__name__} finds no pair in {', '.join(self.datasets())}; "
                    "name data with corrections that differ from their sources."
                )
            write_ranked_pairs(pairs_file, pairs)
            write_json(summary_file, self.summary(pairs) | {"sha256": file_digest(pairs_file)})
        return read_ranked_pairs(pairs_file), read_json(summary_file)


def _content_digest(name: str) -> str:
    """Return a digest of a dataset's content: of a file, a folder or a dataset of the catalog.

    Raises:
        ConfigError: the name is `-`, standard input, which cannot be read twice.
    """
    if name == "-":
        raise ConfigError("data.pairs: pairs cannot be made from standard input; name a file.")
    dataset, _, rest = name.partition(":")
    files = DATASETS.find(dataset).files.values() if dataset in DATASETS else ()
    digests = [file.sha256 for file in files]
    # A benchmark may be a folder, as in jfleg:FOLDER.
    paths = [Path(name), *([Path(rest)] if rest else [])]
    if dataset == "sample":
        paths.append(sample_folder())
    digests += [file_digest(path) for path in paths if path.is_file()]
    digests += [folder_digest(path) for path in paths if path.is_dir()]
    return key_of(digests)


def _whole(pairs_file: Path, summary_file: Path) -> bool:
    """Return whether the stored pairs are undamaged; damaged pairs are made again."""
    try:
        return bool(read_json(summary_file)["sha256"] == file_digest(pairs_file))
    except (InputError, OSError, KeyError, TypeError):
        return False


def positive(number: int | None, key: str) -> int | None:
    """Return the number, or raise `ConfigError` if it is not positive."""
    if number is not None and number < 1:
        raise ConfigError(f"data.pairs: {key} is {number}; a number of at least 1 was expected.")
    return number


def check_named(**names: Sequence[str]) -> None:
    """Raise `ConfigError` if a parameter that names datasets is empty."""
    for key, datasets in names.items():
        if not datasets:
            raise ConfigError(f"data.pairs: {key} is empty; name a dataset or a file.")


class PairFile(PairSource):
    """Ranked pairs from a JSONL file; see `read_ranked_pairs`.

    Args:
        path: the file.
        number: number of pairs, drawn at random; by default, all.
        seed: seed of the draw.
    """

    def __init__(self, path: str, number: int | None = None, seed: int = 0) -> None:
        self.path = path
        self.number = positive(number, "number")
        self.seed = seed

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs of the file."""
        return drawn(read_ranked_pairs(self.path), self.number, random.Random(self.seed))

    def check(self) -> None:
        """Check that the file can be read as pairs."""
        read_ranked_pairs(self.path)

    def datasets(self) -> list[str]:
        """Return the file."""
        return [self.path]
