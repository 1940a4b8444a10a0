"""Tuned metrics: a metric under its own name, with the record of how its parameters were found.

`learnedgec tune` writes one file `NAME.json`, such as `some@jfleg.json`:

    {"metric": "some(…, weights=(0.01, 0.98, 0.01))", "tuned_on_test": false, "study": {…}}

`load_metric("some@jfleg")` reads it from the folders in which evaluators are looked up:
`$LEARNEDGEC_EVALUATORS`, `./checkpoints`, and learnedgec's own. Every result of the metric shows this name.
The name of a metric that was tuned on test data ends in `+test`.
"""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from learnedgec.data.text import read_json, write_json
from learnedgec.errors import ConfigError, FormatError, UnknownNameError
from learnedgec.runtime.files import lookup_folders

# The suffix of the name of a metric that was tuned on test data.
TEST_MARK = "+test"

TUNED_MARK = "*"
"""What marks, in a table, a value on sentences that chose the metric's parameters."""

TRAINED_MARK = "†"
"""What marks, in a table, a value on the data that a metric was trained on."""

_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class TunedMetric:
    """The content of a tuned metric's file.

    Attributes:
        metric: the printed name of the metric that was found.
        study: the benchmark, objective, trials, values on held-out folds and so on by which it was found.
        tuned_on_test: whether it was tuned on test data. If so, only the held-out folds are evidence there.
    """

    metric: str
    study: Mapping[str, Any]
    tuned_on_test: bool = False

    @property
    def summary(self) -> str:
        """A description of the tuned metric in one line."""
        base = self.metric.partition("(")[0]
        words = f"{base} tuned for {self.study.get('objective')} on {self.study.get('benchmark')}"
        return f"{words}, which is test data" if self.tuned_on_test else words


def list_tuned() -> dict[str, Path]:
    """Return every tuned metric that can be loaded by name, and its file."""
    files: dict[str, Path] = {}
    for folder in lookup_folders():
        if folder.is_dir():
            for path in sorted(folder.glob(f"*@*{_SUFFIX}")):
                files.setdefault(path.name.removesuffix(_SUFFIX), path)
    return files


def read_tuned(name: str) -> TunedMetric:
    """Return a tuned metric by name, with a warning if it was tuned on test data.

    Raises:
        UnknownNameError: no tuned metric has this name; the message suggests the nearest.
        FormatError: its file is damaged, or it was tuned on test data and its name does not say so.
    """
    files = list_tuned()
    if name not in files:
        folders = (
            ", ".join(str(folder) for folder in lookup_folders() if folder.is_dir()) or "no folder"
        )
        hint = (
            f"Looked in {folders}; name another folder in LEARNEDGEC_EVALUATORS, or tune the metric "
            "(`learnedgec tune`)."
        )
        raise UnknownNameError("tuned metric", name, files, hint=hint)
    path = files[name]
    tuned = read_tuned_file(path)
    if tuned.tuned_on_test and not name.endswith(TEST_MARK):
        raise FormatError(
            f"{path}:1: this metric was tuned on test data, and its name must say so; rename the file to "
            f"{name}{TEST_MARK}{_SUFFIX}."
        )
    if tuned.tuned_on_test:
        warnings.warn(
            f"{name} was tuned on test data ({tuned.study.get('benchmark')}); only its held-out folds are "
            "evidence there.",
            stacklevel=2,
        )
    return tuned


def read_tuned_file(path: Path) -> TunedMetric:
    """Return the content of a tuned metric's file.

    Raises:
        FormatError: the file is damaged.
    """
    content = read_json(path)
    try:
        tuned = TunedMetric(content["metric"], content["study"], bool(content["tuned_on_test"]))
        if not (isinstance(tuned.metric, str) and isinstance(tuned.study, dict)):
            raise TypeError("its metric must be a name, and its study must be an object")
        if "@" in tuned.metric.partition("(")[0]:
            raise TypeError("its metric must be one with its parameters, and not a tuned one")
    except (KeyError, TypeError) as error:
        raise FormatError(
            f"{path}:1: not a tuned metric ({error}); write it again with `learnedgec tune`."
        ) from None
    return tuned


def tuned_on(names: Iterable[str]) -> frozenset[bytes]:
    """Return the hashes of the sentences that tuned metrics were tuned on.

    Files of earlier versions of learnedgec hold no hashes.
    """
    files = list_tuned()
    studies = [read_tuned_file(files[name]).study for name in names if name in files]
    return frozenset(bytes.fromhex(key) for study in studies for key in study.get("sentences", ()))


def tuned_file(folder: Path, name: str) -> Path:
    """Return the path of a tuned metric's file in a folder."""
    return folder / f"{name}{_SUFFIX}"


def write_tuned(folder: Path, name: str, tuned: TunedMetric) -> Path:
    """Write a tuned metric's file and return its path.

    Args:
        folder: folder in which the file is written.
        name: name of the tuned metric, such as `some@jfleg`.
        tuned: metric, weights and provenance.

    Raises:
        OutputError: the folder cannot be written.
    """
    path = tuned_file(folder, name)
    write_json(path, dataclasses.asdict(tuned))
    return path


def tuned_name(
    metric: str, benchmark: str, name: str = "", *, objective: str = "", on_test: bool = False
) -> str:
    """Return the name of a tuned metric: `METRIC@BENCHMARK`, or the given name.

    The objective follows as `+OBJECTIVE`. A given word becomes `METRIC@WORD`, and a
    given name gets `+BENCHMARK` unless it names the benchmark. If the tuning data are test data, every name
    gets `+test`, so that every table shows it.

    Args:
        metric: the name of the metric to tune.
        benchmark: the tuning data's name, as the user wrote it.
        name: the name of the tuned metric, if one is given.
        objective: the agreement that was maximised; empty for the default.
        on_test: whether the tuning data are test data.

    Raises:
        ConfigError: no metric can have the given name.

    Example:
        >>> tuned_name("length", "gjg15:dev10")
        'length@gjg15-dev10'
        >>> tuned_name("length", "sample", objective="pearson")
        'length@sample+pearson'
    """
    if name and not re.fullmatch(r"([A-Za-z][\w.+-]*@)?[\w.+-]+", name):
        raise ConfigError(
            f"name: {name!r} cannot be the name of the tuned metric, by which it is found; write "
            "METRIC@WORD, or WORD, with letters, digits and ._+- such as some@mine."
        )
    head = benchmark.partition(":")[0]
    if head.lower() == "jfleg":
        benchmark = head
    # The name of a folder such as `.` comes from its full path; `folder` replaces one without usable letters.
    words = next(filter(None, map(_words, (Path(benchmark), Path(benchmark).absolute()))), "folder")
    if name and "@" not in name:
        name = f"{metric}@{name}"
    if not name:
        name = f"{metric}@{words}"
        name += f"+{objective}" if objective else ""
    elif words not in name and _words(Path(head)) not in name.partition("@")[2]:
        name += f"+{words}"
    return name + TEST_MARK if on_test and not name.endswith(TEST_MARK) else name


def _words(place: Path) -> str:
    """Return the last part of a benchmark's name or path, without a table's suffix, as a metric's word."""
    name = re.sub(r"\.(csv|tsv|jsonl|parquet)(\.gz)?(?=:|$)", "", place.name)
    return re.sub("[^A-Za-z0-9_.+]+", "-", name).strip("-.")
