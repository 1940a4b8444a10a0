"""Human rankings of system outputs: the XML of Appraise (GJG15, SEEDA) and tables of pairs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

from learnedgec.data.catalog.files import dataset_file, sample_folder
from learnedgec.data.catalog.leakage import BEA19_PARTS, of_part
from learnedgec.data.catalog.outputs import load_outputs
from learnedgec.data.catalog.registry import Kind
from learnedgec.data.tables import NO_RANK, read_table, whole_number
from learnedgec.data.text import read_lines, read_text
from learnedgec.errors import FormatError
from learnedgec.runtime.writing import PathLike


@dataclass(frozen=True, slots=True)
class Ranking:
    """One annotator's ranking of some systems' outputs for one sentence.

    Attributes:
        sentence: the number of the source, from 0.
        ranks: system -> rank, 1 the best, equal ranks a tie; in the order in which the file lists them.
        annotator: who judged.
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
            - `pillars`, or one of its parts: which of three systems' outputs on BEA-19 dev GPT-4 chose
              (Omelianchuk et al. 2024), where they differ;
            - `sample`: four systems on the embedded sample.

    Raises:
        UnknownNameError, DataError, PluginError: as for `Kind.load`.
    """
    return RANKINGS.load(name)


def read_appraise(path: PathLike, *, first: int = 0) -> list[Ranking]:
    """Read the `ranking-item` elements of an Appraise export.

    Systems with the same output share one `translation`; each of them gets its rank. A rank of -1 means that
    the judge left it blank, so the systems have no rank in this item.

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
        path: a CSV file with a header; `id` is the number of the source, from 0. An `annotator`
            column is read where there is one.
        sentences: how many sources there are.

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
def _seeda(part: str) -> list[Ranking]:
    return read_appraise(dataset_file("seeda", f"data/judgments_{part[:4]}.xml"), first=1)


@RANKINGS.reader("gjg15")
def _gjg15() -> list[Ranking]:
    return read_appraise(dataset_file("gjg15", "data/judgments.xml"))


_CHOICES = "data/system_preds/ensemble_systems/gpt_rank_on_clust3___bea-dev.txt"
_CHOSEN_FROM = ("Chat-LLaMa-2-13B-FT", "EditScorer", "T5-11B")


@RANKINGS.reader("pillars", BEA19_PARTS)
def _pillars(part: str) -> list[Ranking]:
    """Read GPT-4's choice among three systems: those whose output is the chosen text have rank 1."""
    outputs = load_outputs(f"pillars:{part}" if part else "pillars")
    chosen = of_part(read_lines(dataset_file("pillars", _CHOICES)), part)
    rankings = []
    for number, text in enumerate(chosen):
        ranks = {name: 1 if outputs[name][number] == text else 2 for name in _CHOSEN_FROM}
        if set(ranks.values()) == {1, 2}:
            rankings.append(Ranking(number, ranks, "gpt-4"))
    return rankings


@RANKINGS.reader("sample")
def _sample() -> list[Ranking]:
    folder = sample_folder()
    return read_pairs(folder / "rankings.csv", len(read_lines(folder / "source.txt")))
