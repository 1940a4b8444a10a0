"""System outputs for the sentences of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from learnedgec.data.catalog.files import dataset_file, sample_folder
from learnedgec.data.catalog.leakage import BEA19_PARTS, of_part
from learnedgec.data.catalog.registry import Kind, dataset
from learnedgec.data.catalog.swedish import read_swedish
from learnedgec.data.m2 import apply_edits, read_m2
from learnedgec.data.text import read_lines
from learnedgec.errors import InputError

Outputs = dict[str, tuple[str, ...]]


def _joined(parts: Sequence[Outputs]) -> Outputs:
    """Return the outputs of the same systems, one part after the other."""
    for part in parts:
        if part.keys() != parts[0].keys():
            raise InputError(
                f"the parts have outputs of different systems ({', '.join(parts[0])}; {', '.join(part)}); "
                "name one part."
            )
    return {system: tuple(text for part in parts for text in part[system]) for system in parts[0]}


OUTPUTS: Kind[Outputs] = Kind("outputs", "set of outputs", join=_joined)


def load_outputs(name: str) -> Outputs:
    """Return system -> hypotheses, parallel to the sources of the dataset, by name of the system.

    Args:
        name: one of

            - `seeda`, `seeda:subset`: 15 systems on CoNLL-2014, and on the 391 sentences that were
              judged, in the same order;
            - `gjg15`: 13 systems on CoNLL-2014. White space is normalised and stripped, because INPUT and
              three systems end their lines in spaces or a carriage return;
            - `cleme`: the same systems, from their edits in CLEME's demonstration;
            - `gmeg:fce`, `gmeg:wiki`: six systems, and the sources with errors added;
            - `attack:conll14`, `attack:bea19-dev`: outputs that attack a metric, named after the metric;
            - `pillars`, or one of `pillars:train`, `pillars:dev`, `pillars:test`: seven systems and then
              eight ensembles of systems on BEA-19 dev (Omelianchuk et al. 2024), or on a part of it
              (`learnedgec.data.catalog.leakage`); `/single` or `/ensemble` after the part chooses one kind;
            - `swedish`: five systems on 192 Swedish learner sentences, under the names that the files give
              them (`granska`, `mm`, `mt`, `mw`, `s2`);
            - `sample`: four systems on the embedded sample.

    Raises:
        UnknownNameError, DataError, PluginError: as for `Kind.load`.
    """
    return OUTPUTS.load(name)


def _files(name: str, pattern: str) -> dict[str, Path]:
    """Return system -> file for the files that match; a system's name stands in place of the `*`."""
    start, end = pattern.split("*")
    systems = {
        file.removeprefix(start).removesuffix(end): dataset_file(name, file)
        for file in dataset(name).files
        if file.startswith(start) and file.endswith(end)
    }
    return dict(sorted(systems.items()))


def _outputs(name: str, pattern: str) -> Outputs:
    return {system: tuple(read_lines(file)) for system, file in _files(name, pattern).items()}


@OUTPUTS.reader("seeda", ("", "subset"))
def _seeda(part: str) -> Outputs:
    return _outputs("seeda", f"outputs/{part or 'all'}/*.txt")


@OUTPUTS.reader("gjg15")
def _gjg15() -> Outputs:
    outputs = _outputs("gjg15", "data/original/official_submissions/*")
    return {
        name: tuple(" ".join(line.split()) for line in lines) for name, lines in outputs.items()
    }


@OUTPUTS.reader("cleme")
def _cleme() -> Outputs:
    return {
        name: tuple(apply_edits(b.source, b.annotations.get(0, ())) for b in read_m2(file))
        for name, file in _files("cleme", "demo/examples/conll14-*.errant").items()
    }


_GMEG = ("amu", "lstm", "lstm-r", "marian", "nus", "source+error", "transformer")


@OUTPUTS.reader("gmeg", ("fce", "wiki"))
def _gmeg(part: str) -> Outputs:
    files = {system: dataset_file("gmeg", f"data/dev/{part}/{system}") for system in _GMEG}
    return {system: tuple(read_lines(file)) for system, file in files.items()}


@OUTPUTS.reader("attack", ("conll14", "bea19-dev"))
def _attack(part: str) -> Outputs:
    return _outputs("attack", f"experiments/attack_results/{part}-*.txt")


_SORTS = ("single", "ensemble")
_PILLARS = "data/system_preds/{sort}_systems/*___bea-dev.txt"


@OUTPUTS.reader(
    "pillars", (*BEA19_PARTS, *(f"{part}/{sort}" for part in BEA19_PARTS[1:] for sort in _SORTS))
)
def _pillars(part: str) -> Outputs:
    """Read the single systems and then the ensembles, or one sort."""
    part, _, chosen = part.partition("/")
    return {
        system: tuple(of_part(lines, part))
        for sort in ([chosen] if chosen else _SORTS)
        for system, lines in _outputs("pillars", _PILLARS.format(sort=sort)).items()
    }


@OUTPUTS.reader("swedish")
def _swedish() -> Outputs:
    return {name: tuple(output.text for output in rows) for name, rows in read_swedish().items()}


@OUTPUTS.reader("sample")
def _sample() -> Outputs:
    files = sorted((sample_folder() / "systems").glob("*.txt"))
    return {file.stem: tuple(read_lines(file)) for file in files}
