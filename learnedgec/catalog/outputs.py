"""What systems made of a dataset's sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import PurePosixPath

from learnedgec.catalog.files import dataset, dataset_file
from learnedgec.errors import UnknownNameError
from learnedgec.formats.text import read_lines

__all__ = ["OUTPUTS", "load_outputs"]

Outputs = dict[str, tuple[str, ...]]


def load_outputs(name: str) -> Outputs:
    """Return system -> hypotheses, parallel to the sources of the dataset, by name of the system.

    Args:
        name: one of

            - `seeda`, `seeda:subset`: 15 systems on CoNLL-2014, and on the 391 sentences that were
              judged, in the same order;
            - `gjg15`: 13 systems on CoNLL-2014. Runs of white space are one space here, and none is
              left at either end: INPUT and three systems end their lines in spaces or a carriage return;
            - `gmeg:fce`, `gmeg:wiki`: six systems, and the sources with errors added;
            - `attack:conll14`, `attack:bea19-dev`: outputs that attack a metric, named after the metric.

    Raises:
        UnknownNameError: no such outputs.
        DataError: the dataset cannot be had.
    """
    if name not in OUTPUTS:
        raise UnknownNameError("set of outputs", name, OUTPUTS)
    return OUTPUTS[name]()


def _folder(name: str, folder: str, names: tuple[str, ...] = (), prefix: str = "") -> Outputs:
    """Read the files of a folder whose names start with `prefix`; the rest of the stem is the system."""
    found = {}
    for file in dataset(name).files:
        system = PurePosixPath(file).name.removesuffix(".txt")
        if PurePosixPath(file).parent != PurePosixPath(folder) or not system.startswith(prefix):
            continue
        if not names or system in names:
            found[system.removeprefix(prefix)] = tuple(read_lines(dataset_file(name, file)))
    return dict(sorted(found.items()))


def _gjg15() -> Outputs:
    outputs = _folder("gjg15", "data/original/official_submissions")
    return {
        system: tuple(" ".join(line.split()) for line in lines) for system, lines in outputs.items()
    }


_GMEG = ("amu", "lstm", "lstm-r", "marian", "nus", "source+error", "transformer")

OUTPUTS: Mapping[str, Callable[[], Outputs]] = {
    "seeda": partial(_folder, "seeda", "outputs/all"),
    "seeda:subset": partial(_folder, "seeda", "outputs/subset"),
    "gjg15": _gjg15,
    **{f"gmeg:{d}": partial(_folder, "gmeg", f"data/dev/{d}", _GMEG) for d in ("fce", "wiki")},
    **{
        f"attack:{d}": partial(_folder, "attack", "experiments/attack_results", prefix=f"{d}-")
        for d in ("conll14", "bea19-dev")
    },
}
