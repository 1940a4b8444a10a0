"""System outputs for the sentences of a dataset, and human judgements of these outputs."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from learnedgec.data.catalog.files import dataset_file, sample_folder
from learnedgec.data.catalog.leakage import BEA19_PARTS, of_part
from learnedgec.data.catalog.ratings import read_swedish
from learnedgec.data.catalog.registry import Kind, dataset
from learnedgec.data.m2 import apply_edits, read_m2
from learnedgec.data.records import Columns
from learnedgec.data.tables import NO_RANK, rank_in, read_table, whole_number
from learnedgec.data.text import check_sentence, read_lines, read_text
from learnedgec.errors import FormatError, InputError
from learnedgec.runtime.files import PathLike

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
    """Return each system's hypotheses by its name, parallel to the sources of the dataset.

    Args:
        name: one of

            - `seeda`, `seeda:subset`: 15 systems on CoNLL-2014, and on the 391 sentences that were
              judged, in the same order;
            - `gjg15`: 13 systems on CoNLL-2014. White space is normalised and stripped, because INPUT and
              three systems end their lines in spaces or a carriage return;
            - `cleme`: the same systems, from their edits in CLEME's demonstration;
            - `gmeg:fce`, `gmeg:wiki`: six systems, and the sources with errors added;
            - `attack:conll14`, `attack:bea19-dev`: outputs that attack a metric, each named after its metric;
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
    """Return each system's file by name for the files that match; the `*` stands for the system's name."""
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
    """Read the single systems and then the ensembles, or only one of these sorts."""
    part, _, chosen = part.partition("/")
    return {
        system: tuple(of_part(lines, part))
        for sort in ([chosen] if chosen else _SORTS)
        for system, lines in _outputs("pillars", _PILLARS.format(sort=sort)).items()
    }


@OUTPUTS.reader("swedish")
def _swedish() -> Outputs:
    return {
        name: tuple(output.rating.hypothesis for output in rows)
        for name, rows in read_swedish().items()
    }


@OUTPUTS.reader("sample")
def _sample() -> Outputs:
    files = sorted((sample_folder() / "systems").glob("*.txt"))
    return {file.stem: tuple(read_lines(file)) for file in files}


# -- rankings of outputs ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ranking:
    """One annotator's ranking of some systems' outputs for one sentence.

    Attributes:
        sentence: the number of the source, from 0.
        ranks: system -> rank, in the order of the file. Rank 1 is the best, and equal ranks are a tie.
        annotator: the name of the judge.
    """

    sentence: int
    ranks: Mapping[str, int]
    annotator: str = ""


RANKINGS: Kind[list[Ranking]] = Kind("rankings", "dataset of rankings")


def load_rankings(name: str) -> list[Ranking]:
    """Return the human rankings of a catalog dataset; sentences are numbered as its sources are.

    Args:
        name: one of

            - `seeda:sentence`, `seeda:edit`: 15 systems on CoNLL-2014, ranked as sentences and by their
              edits (Kobayashi et al. 2024);
            - `gjg15`: 13 systems on CoNLL-2014 (Grundkiewicz et al. 2015);
            - `pillars`, or one of its parts: GPT-4's choice among three systems' outputs on BEA-19 dev, for
              the sentences on which they differ (Omelianchuk et al. 2024);
            - `sample`: four systems on the embedded sample.

    Raises:
        UnknownNameError, DataError, PluginError: as for `Kind.load`.
    """
    return RANKINGS.load(name)


def read_appraise(path: PathLike, *, first: int = 0) -> list[Ranking]:
    """Read the `ranking-item` elements of an Appraise export.

    Systems with the same output share one `translation`, and each of them gets its rank. A rank of -1 means
    that the judge left the rank blank; the item then has no rank for these systems.

    Args:
        path: the XML file.
        first: the `src-id` of the first sentence: 0 in GJG15, 1 in SEEDA.

    Raises:
        FormatError: not XML, or an item without the expected attributes.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "judgements.xml"
        >>> _ = path.write_text(
        ...     '<r><ranking-item src-id="0" user="a"><translation rank="2" system="X Y"/>'
        ...     '<translation rank="1" system="Z"/></ranking-item></r>'
        ... )
        >>> read_appraise(path)
        [Ranking(sentence=0, ranks={'X': 2, 'Y': 2, 'Z': 1}, annotator='a')]
    """
    name = os.fspath(path)
    try:
        root = ElementTree.fromstring(read_text(path))
    except ElementTree.ParseError as error:
        raise FormatError(f"{name}:{error.position[0]}: not XML ({error}).") from None
    rankings = []
    for number, item in enumerate(root.iter("ranking-item"), 1):
        try:
            ranks = {
                system: rank
                for translation in item.iter("translation")
                if (rank := int(translation.attrib["rank"])) != NO_RANK
                for system in translation.attrib["system"].split()
            }
            if min(ranks.values(), default=1) < 1:
                raise ValueError(f"a rank of {min(ranks.values())}, and ranks start at 1")
            rankings.append(
                Ranking(int(item.attrib["src-id"]) - first, ranks, item.attrib.get("user", ""))
            )
        except (KeyError, ValueError) as error:
            raise FormatError(
                f"{name}: ranking-item {number} cannot be read ({error}); the attributes src-id, and "
                "rank and system of each translation, were expected."
            ) from None
    if not rankings:
        raise FormatError(f"{name}: no ranking-item; an Appraise export was expected.")
    return rankings


def read_pairs(path: PathLike, sentences: int) -> list[Ranking]:
    """Read a table of pairs with the columns `id`, `better`, `worse` and `tie` (0 or 1).

    Args:
        path: a CSV file with a header; `id` is the number of the source, from 0. A column `annotator` is
            optional.
        sentences: the number of sources.

    Raises:
        FormatError: a line cannot be used; the message names it.
    """
    rankings = []
    for place, record in read_table(
        path, required=("id", "better", "worse"), known=("tie", "annotator")
    ):
        tie = whole_number(record.get("tie") or "0", 2, f"{place}: 'tie'")
        if record["better"] == record["worse"]:
            raise FormatError(f"{place}: the system {record['better']!r} is paired with itself.")
        rankings.append(
            Ranking(
                whole_number(record["id"], sentences, f"{place}: 'id'"),
                {record["better"]: 1, record["worse"]: 2 - tie},
                record.get("annotator") or "",
            )
        )
    return rankings


@RANKINGS.reader("seeda", ("sentence", "edit"))
def _seeda_rankings(part: str) -> list[Ranking]:
    return read_appraise(dataset_file("seeda", f"data/judgments_{part[:4]}.xml"), first=1)


@RANKINGS.reader("gjg15")
def _gjg15_rankings() -> list[Ranking]:
    return read_appraise(dataset_file("gjg15", "data/judgments.xml"))


_CHOICES = "data/system_preds/ensemble_systems/gpt_rank_on_clust3___bea-dev.txt"
_CHOSEN_FROM = ("Chat-LLaMa-2-13B-FT", "EditScorer", "T5-11B")


@RANKINGS.reader("pillars", BEA19_PARTS)
def _pillars_rankings(part: str) -> list[Ranking]:
    """Read GPT-4's choice among three systems: systems whose output is the chosen text have rank 1."""
    outputs = load_outputs(f"pillars:{part}" if part else "pillars")
    chosen = of_part(read_lines(dataset_file("pillars", _CHOICES)), part)
    rankings = []
    for number, text in enumerate(chosen):
        ranks = {name: 1 if outputs[name][number] == text else 2 for name in _CHOSEN_FROM}
        if set(ranks.values()) == {1, 2}:
            rankings.append(Ranking(number, ranks, "gpt-4"))
    return rankings


@RANKINGS.reader("sample")
def _sample_rankings() -> list[Ranking]:
    folder = sample_folder()
    return read_pairs(folder / "rankings.csv", len(read_lines(folder / "source.txt")))


# -- rows of a user's judgements of several outputs: rankings, and choices of the best or worst one ---


JUDGEMENTS = (
    *("better", "worse", "margin", "tie", "outputs", "ranks", "best", "worst", "origin", "correct"),
)
"""The columns of files of judgements, besides `source` and `group`."""


@dataclass
class JudgementRow:
    """A row of judgements.

    Attributes:
        record: our name of a column -> its cell.
        place: the place of the row, for messages.
        columns: our name of a column -> its name in the file, or several names.
    """

    record: Mapping[str, Any]
    place: str
    columns: Columns

    def label(self, name: str) -> str:
        """Return the file's name of a column."""
        column = self.columns.get(name, name)
        return column if isinstance(column, str) else ", ".join(column)

    def text(self, name: str) -> str:
        """Return the text in a column, which must be there."""
        if name not in self.record:
            raise FormatError(f"{self.place}: the column {self.label(name)!r} is missing.")
        return check_sentence(self.record[name], self.place, self.label(name))

    def optional(self, name: str) -> str:
        """Return the text in a column that may be missing or empty."""
        return check_sentence(self.record.get(name) or "", self.place, self.label(name))

    def error(self, name: str, cell: Any, expected: str) -> FormatError:
        """Return the error about a cell."""
        return FormatError(f"{self.place}: {self.label(name)!r} is {str(cell)[:60]!r}; {expected}.")

    def outputs(self) -> list[str]:
        """Return the judged texts."""
        outputs = self.record.get("outputs")
        if not isinstance(outputs, list) or len(outputs) < 2:
            raise self.error("outputs", outputs, "a list of at least two texts was expected")
        return [check_sentence(text, self.place, self.label("outputs")) for text in outputs]

    def ranks(self, outputs: Sequence[str]) -> list[float]:
        """Return a rank for each output, or NaN if it has none.

        Raises:
            FormatError: a cell cannot be used, or there is no judgement.
        """
        if "ranks" in self.record:
            ranks = self.record["ranks"]
            if not isinstance(ranks, list) or len(ranks) != len(outputs):
                raise self.error("ranks", ranks, f"a list of {len(outputs)} numbers was expected")
            cells = (rank_in(rank, self.label("ranks"), self.place) for rank in ranks)
            return [float("nan") if rank is None else rank for rank in cells]
        if not {"best", "worst"} & self.record.keys():
            raise FormatError(
                f"{self.place}: no judgement of the outputs; the column ranks, best or worst was expected."
            )
        best, worst = (self._chosen(name, outputs) for name in ("best", "worst"))
        return [
            0.0 if place == best else 2.0 if place == worst else 1.0
            for place in range(len(outputs))
        ]

    def rankings(self, outputs: Sequence[str]) -> Iterator[dict[int, int]]:
        """Yield rankings: the place of an output -> its rank from 1. A choice gives a ranking of each pair.

        A choice of the best or the worst output does not rank the others among themselves, an empty cell
        ranks nothing, and equal texts are not ranked.
        """
        ranks = self.ranks(outputs)
        ranked = {place: rank for place, rank in enumerate(ranks) if not math.isnan(rank)}
        if "ranks" in self.record or "tie" in (self.record.get("best"), self.record.get("worst")):
            order = sorted(set(ranked.values()))
            if len(ranked) > 1:
                yield {place: 1 + order.index(rank) for place, rank in ranked.items()}
            return
        for first, second in combinations(ranked, 2):
            if ranks[first] != ranks[second] and outputs[first] != outputs[second]:
                first_is_better = ranks[first] < ranks[second]
                yield {first: 2 - first_is_better, second: 1 + first_is_better}

    def _chosen(self, name: str, outputs: Sequence[str]) -> int | None:
        """Return the place of the best or the worst output, or `None` for a tie."""
        cell = self.record.get(name)
        if cell is None or cell in ("", "tie"):
            return None
        columns = self.columns.get("outputs", ())
        numbers = [str(number) for number in range(1, len(outputs) + 1)]
        for names in ([] if isinstance(columns, str) else columns, numbers, outputs):
            if str(cell) in names:
                return list(names).index(str(cell))
        choices = f"an output's number (1 to {len(outputs)}), column or text, or 'tie'"
        raise self.error(name, cell, f"{choices}, was expected")
