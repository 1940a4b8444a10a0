"""JFLEG with the outputs of your own systems."""

from __future__ import annotations

from pathlib import Path

from learnedgec.data.benchmarks.base import Benchmark, Ranking
from learnedgec.data.benchmarks.folder import read_outputs
from learnedgec.data.catalog.files import dataset_file
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.tables import read_table
from learnedgec.data.text import check_lengths
from learnedgec.errors import FormatError, InputError
from learnedgec.runtime.writing import PathLike

__all__ = [
    "jfleg",
]


def jfleg(outputs: PathLike) -> Benchmark:
    """Return JFLEG dev with the pairwise judgements of Napoles et al. (2017).

    The judged outputs are not public. The folder `outputs` holds those that you have, 754 lines each:
    `AMU.txt`, `CAMB.txt`, `NMT.txt`, `NUS.txt`, `turk.txt`; `orig`, the source, needs no file. Judgements of
    the others remain in `rankings`, and a notice names them.

    The judgements number sentences by their GUG `Id`; JFLEG dev is the GUG test split in order.

    Raises:
        InputError: the folder has none of the judged outputs.
        FormatError: the judgements name an unknown sentence.
    """
    data = load_parallel("jfleg:dev")
    order = [
        record["Id"]
        for _, record in read_table(dataset_file("gug", "gug_annotations.tsv"), "\t")
        if record["Dataset"] == "test"
    ]
    number = {identity: position for position, identity in enumerate(order)}
    check_lengths(("JFLEG dev", data.sources), ("the GUG test split", order))
    rankings = []
    for place, record in read_table(dataset_file("jfleg", "EACL_exp/mturk/pairwise.csv")):
        if record["srcIndex"] not in number:
            raise FormatError(
                f"{place}: srcIndex {record['srcIndex']} is not in the GUG test split."
            )
        ranks = {record[f"system{side}Id"]: int(record[f"system{side}rank"]) for side in (1, 2)}
        rankings.append(Ranking(number[record["srcIndex"]], ranks, record["judgeId"]))
    judged = {name for ranking in rankings for name in ranking.ranks}
    given = read_outputs(Path(outputs), data.sources)
    if not judged & set(given):
        raise InputError(
            f"{outputs} has no output of a system that was judged on JFLEG; add one of "
            f"{', '.join(f'{name}.txt' for name in sorted(judged - {'orig'}))}."
        )
    systems = {"orig": data.sources, **{n: text for n, text in given.items() if n in judged}}
    missing = sorted(judged - set(systems))
    benchmark = Benchmark(
        name=f"jfleg:{outputs}",
        sources=data.sources,
        systems=systems,
        references=data.references,
        rankings=tuple(rankings),
        notices=(f"no output of {', '.join(missing)} was given.",) if missing else (),
    )
    return benchmark.exclude_own_references()
