"""Human judgements of system outputs, in one form (`base`), found by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from learnedgec.data.benchmarks.base import Benchmark, half, read_benchmark
from learnedgec.data.benchmarks.ranked import SEEDA_SETS, gjg15, jfleg, peet, seeda
from learnedgec.data.benchmarks.rated import autojqe, gmeg, of_table, swedish, tmu_gfm
from learnedgec.data.catalog.files import sample_folder
from learnedgec.data.catalog.outputs import Ranking
from learnedgec.data.catalog.registry import DATASETS
from learnedgec.data.records import Columns, Rows
from learnedgec.errors import InputError, UnknownNameError
from learnedgec.runtime.files import check_no_path, local_path
from learnedgec.runtime.plugins import Registry


@dataclass(frozen=True, slots=True)
class BenchmarkEntry:
    """A row of the table: a description of one line, the loader, and its options (keyword -> words).

    Attributes:
        summary: one line about the benchmark.
        load: function that returns the benchmark; its keywords are the options.
        options: values of each option, by keyword.
    """

    summary: str
    load: Callable[..., Benchmark]
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


_REFERENCES = {"references": ("official", "rewrites")}
_SEEDA = {"systems": tuple(SEEDA_SETS), "text": ("subset", "full", "dev", "test"), **_REFERENCES}

BENCHMARKS: Mapping[str, BenchmarkEntry] = {
    "seeda-s": BenchmarkEntry(
        "15 systems on CoNLL-2014 ranked by sentence (Kobayashi et al. 2024)",
        partial(seeda, "sentence"),
        _SEEDA,
    ),
    "seeda-e": BenchmarkEntry(
        "the same systems ranked by their edits", partial(seeda, "edit"), _SEEDA
    ),
    "gjg15": BenchmarkEntry(
        "13 systems on CoNLL-2014 ranked by sentence (Grundkiewicz et al. 2015)",
        gjg15,
        {"systems": ("12", "13"), "split": ("dev10", "test90"), **_REFERENCES},
    ),
    "gmeg": BenchmarkEntry(
        "6 systems and the source in two domains, rated (Napoles et al. 2019)",
        gmeg,
        {"domain": ("dev", "fce", "wiki")},
    ),
    "tmu-gfm": BenchmarkEntry(
        "5 systems rated for grammaticality, fluency and meaning (Yoshimura et al. 2020)", tmu_gfm
    ),
    "jfleg": BenchmarkEntry(
        "pairwise judgements on JFLEG dev; jfleg:FOLDER with the outputs (Napoles et al. 2017)",
        jfleg,
    ),
    "swedish": BenchmarkEntry(
        "5 systems on Swedish learner sentences, rated and post-edited (Östling et al. 2024)",
        swedish,
        {"references": ("corpus", "post-edits")},
    ),
    "autojqe": BenchmarkEntry(
        "rated corrections of Japanese learner sentences (Suzuki et al. 2022)",
        autojqe,
        {"part": ("all", "flutec", "tecjl")},
    ),
    "peet": BenchmarkEntry(
        "outputs on BEA-2019 test, and what an editor still changed in them (PEET)",
        peet,
        {"part": ("all", "gecpd", "gector")},
    ),
    "sample": BenchmarkEntry(
        "4 systems on sentences written for this project, ranked and rated",
        lambda: read_benchmark(sample_folder(), "sample"),
    ),
}


REGISTRY: Registry[BenchmarkEntry] = Registry(
    "benchmark",
    "learnedgec.benchmarks",
    BENCHMARKS,
    lambda plugin: plugin.load_value(BenchmarkEntry),
    hint="The path of a folder or table is also accepted.",
)


def load_benchmark(name: str | Rows, columns: Columns | None = None) -> Benchmark:
    """Return a benchmark by name, or of a table in memory (`of_table`).

    Args:
        name: one of

            - `seeda-s`, `seeda-e`, with any of the words `base` (default), `+fluency`, `+input` or
              `all`; `subset` (default), `full`, `dev` or `test`; `official` (default) or `rewrites`;
            - `gjg15`, with `13` (default) or `12`; `dev10` or `test90`; `official` or `rewrites`;
            - `gmeg:dev`, `gmeg:fce`, `gmeg:wiki`; `tmu-gfm`; `jfleg:FOLDER`;
              `sample`;
            - `swedish`, with `corpus` (default) or `post-edits`; `autojqe`, with `flutec` or `tecjl`; `peet`,
              with `gecpd` or `gector`;
            - the path of a folder in the format of `learnedgec.data.benchmarks.base`, such as a study's
              folder, or of a table of rated or ranked outputs (`of_table`); `PATH:dev` and `PATH:test` are
              halves of its sentences (`half`).
        columns: our name of a column -> its name in a table.

    Raises:
        UnknownNameError: no such benchmark or word; the message names the nearest.
        PluginError: the benchmark is from another installed package and cannot be loaded.
        InputError: two words choose the same thing, the path does not exist or cannot be used, or another
            dataset has the name.
        DataError: the dataset is not available.

    Example:
        >>> benchmark = load_benchmark("sample")
        >>> len(benchmark.sources), len(benchmark.comparisons())
        (72, 351)
    """
    if not isinstance(name, str):
        return of_table(name, columns)
    head, *words = name.split(":")
    folder, part = (name, "") if local_path(name) else name.rpartition(":")[::2]
    path = local_path(folder)
    if head not in REGISTRY and path is not None:
        benchmark = of_table(folder, columns) if path.is_file() else read_benchmark(folder)
        return half(benchmark, part) if part else benchmark
    if head not in REGISTRY:
        check_no_path(head)
        if head != "seeda" and head in DATASETS:
            known = ", ".join(sorted(BENCHMARKS))
            raise InputError(f"{head} is a dataset, but no benchmark; the benchmarks are {known}.")
    if columns:
        raise InputError(f"columns are those of a table, and {name} is not the file of one.")
    head = REGISTRY.spelt(head)
    if head == "jfleg":
        return jfleg(name.partition(":")[2])
    entry = REGISTRY.find(head)
    return entry.load(**_read_words(head, words, entry.options))


def _read_words(
    head: str, words: Sequence[str], options: Mapping[str, tuple[str, ...]]
) -> dict[str, str]:
    """Return the options of a benchmark that the words after its name choose."""
    option_of = {value: key for key, values in options.items() for value in values}
    chosen: dict[str, str] = {}
    for word in words:
        option = option_of.get(word.lower())
        if option is None:
            raise UnknownNameError(f"word of the benchmark {head}", word, option_of)
        if option in chosen:
            name = ":".join([head, *words])
            raise InputError(
                f"{name!r} gives both {chosen[option]!r} and {word!r}; write one of them."
            )
        chosen[option] = word.lower()
    return chosen


def expand_benchmarks(names: list[str]) -> list[str]:
    """Return the names with `seeda` (and its words) written as `seeda-s` and `seeda-e`.

    Example:
        >>> expand_benchmarks(["SEEDA:+fluency", "gjg15"])
        ['seeda-s:+fluency', 'seeda-e:+fluency', 'gjg15']
    """
    expanded = []
    for name in names:
        head, colon, words = name.partition(":")
        heads = ("seeda-s", "seeda-e") if head.lower() == "seeda" else (head,)
        expanded += [head + colon + words for head in heads]
    return expanded


__all__ = ["Benchmark", "BenchmarkEntry", "Ranking", "load_benchmark"]
