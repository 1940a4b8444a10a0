"""Sentences with human ratings on one or more dimensions, on which learned evaluators train."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from learnedgec.data.catalog.files import dataset_file, sample_folder
from learnedgec.data.catalog.registry import Kind, concatenated, dataset
from learnedgec.data.records import Columns, Rows, is_saved_dataset, name_of, read_records
from learnedgec.data.tables import RowCounts, number_in, rank_in, read_table, whole_number
from learnedgec.data.text import check_lengths, check_sentence, read_json, read_lines
from learnedgec.errors import FormatError
from learnedgec.runtime.files import PathLike

# Columns of a ratings file that are not dimensions.
_TEXT_COLUMNS = ("source", "hypothesis", "system", "group", "id", "index", "annotator", "comment")


@dataclass(frozen=True, slots=True)
class Rating:
    """The human ratings of one hypothesis.

    Attributes:
        source: the sentence before correction; `""` where the dataset has none (GUG).
        hypothesis: the rated sentence.
        values: dimension -> mean rating, on the dataset's own scale.
        system: the system that wrote the hypothesis; several systems are joined by commas, and `""` means
            that it is unknown.
        group: ratings of one group share a source and belong on one side of any split; `""` means that it
            is unknown.
        raters: dimension -> each rater's rating, where known.

    Example:
        >>> rating = load_ratings("sample")[0]
        >>> rating.system, rating.values["meaning"]
        ('source', 4.0)
    """

    source: str
    hypothesis: str
    values: Mapping[str, float]
    system: str = ""
    group: str = ""
    raters: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


def read_ratings(
    table: PathLike | Rows, columns: Columns | None = None, *, as_outputs: bool = False
) -> Iterator[Rating]:
    """Yield the ratings of a dataset, a file, a folder or a table in memory.

    Ratings are read one by one, so a file need not fit into memory.

    A `.csv`, `.tsv`, `.jsonl` or `.parquet` file, or a dataset on the Hugging Face hub (`hf:OWNER/NAME`, see
    `read_records`), has the columns (keys) `hypothesis`, optionally `source`, `system` and `group`, and one
    column for each dimension; `id`, `index`, `annotator` and `comment` are not read. An empty cell, or one
    such as `NA`, means "not rated on this dimension", and a row whose cells are all empty is left out. A cell
    with a list of numbers has one rating per rater; their mean is the rating. In a dimension `rank`, ranks
    start at 1, and -1 means "no rank". Without a `group`, ratings with equal sources form a group.

    A folder has `source.txt`, `systems/NAME.txt` and `ratings.csv`, whose columns are `id` (line number from
    0), `system` (`NAME`, or `source` for the source itself) and one per dimension.

    Args:
        table: a dataset of the catalog (`load_ratings`), a file, a folder, or a table in memory.
        columns: our name of a column -> its name in the table. If it names a dimension, only the dimensions
            that it names are read; several columns of one dimension are the ratings of its raters.
        as_outputs: whether the rows are the outputs of a benchmark: they must have the columns `source` and
            `system`, and rows whose cells are all empty are not left out.

    Raises:
        UnknownNameError: a name of neither a dataset nor an existing path.
        FormatError: a line cannot be used, and the message names it; a column numbers the rows instead of
            rating them; or no row has a rating.
    """
    if table in RATINGS:
        yield from RATINGS.load(str(table))
        return
    if isinstance(table, str):
        RATINGS.expand(table)  # a name that is neither a dataset nor a path is refused
    columns, counts, is_rated = columns or {}, RowCounts(), False
    if (
        isinstance(table, str | os.PathLike)
        and Path(table).is_dir()
        and not is_saved_dataset(table)
    ):
        ratings = _read_folder(Path(table))
    else:
        required = ("source", "hypothesis", "system") if as_outputs else ("hypothesis",)
        records = read_records(table, required, columns)
        ratings = (_rating_of(record, place, columns) for place, record in records)
    for rating in ratings:
        counts.add(rating.values)
        if rating.values or as_outputs:
            is_rated |= bool(rating.values)
            yield rating
    counts.check(name_of(table))
    if not is_rated:
        raise FormatError(f"{name_of(table)}: no row has a rating; numbers were expected.")


RATINGS: Kind[list[Rating]] = Kind(
    "ratings",
    "rated dataset",
    join=concatenated,
    read=lambda path: list(read_ratings(path)),
    hint="A path to a ratings file or folder is also accepted.",
)


def load_ratings(name: str, columns: Columns | None = None) -> list[Rating]:
    """Return the ratings of a catalog dataset, of the embedded sample, or of a file or folder.

    Args:
        name: one of

            - `tmu-gfm`: grammaticality, fluency and meaning, 1 to 4, mean of five raters (Yoshimura
              et al. 2020); a rater's 0 says "cannot be judged" and is not in the mean;
            - `gug`, or one of its own splits `gug:train`, `gug:dev`, `gug:test`: grammaticality, 1 to
              4, mean of one expert and five others (Heilman et al. 2014); its 110 sentences that no rater
              could judge belong to no split and are left out. JFLEG's dev sentences are GUG's test split and
              its test sentences are GUG's dev split, so train on `gug:train` to test on JFLEG;
            - `sts`, or a part such as `sts:2015` or `sts:2012/MSRpar.train`: meaning, 0 to 5; pairs
              without a gold score are left out;
            - `lau`, or one of `lau:none`, `lau:random`, `lau:real`: the acceptability, 1 to 4, of 250
              sentences of Wikipedia, most of them translated into another language and back, without a
              context, in a random context and in their own (Lau et al. 2020); the dimension is `fluency`, as
              in Yoshimura et al. (2020);
            - `swedish`: grammaticality, fluency and meaning, 1 to 4, of five systems' outputs for 192
              Swedish learner sentences (Östling et al. 2024). The value is the rating of the annotator who
              rated everything; a second rated 55 outputs. 0 means the same as in TMU-GFM;
            - `autojqe`, or one of `autojqe:flutec`, `autojqe:tecjl`: the quality of corrections of Japanese
              learner sentences, 1 to 4, mean of three raters (Suzuki et al. 2022); the systems are not
              published. A rater's 0 is not in the mean, and the 154 outputs of 9,108 that two or three raters
              could not judge have no value;
            - `sample`: the three dimensions of TMU-GFM for the embedded sample;
            - a file or folder as for `read_ratings`.
        columns: as for `read_ratings`; datasets of the catalog need none.

    Raises:
        UnknownNameError, DataError, PluginError: as for `Kind.load`.

    Example:
        >>> load_ratings("sample")[0].values
        {'grammaticality': 2.0, 'fluency': 2.0, 'meaning': 4.0}
    """
    return list(read_ratings(name, columns))


def _rating_of(record: Mapping[str, Any], place: str, columns: Columns) -> Rating:
    """Return the rating that one row of a user's table holds."""
    texts = {
        name: check_sentence(record.get(name) or "", place, str(columns.get(name, name)))
        for name in ("source", "hypothesis", "system", "group")
    }
    if record["hypothesis"] is None:
        column = columns.get("hypothesis", "hypothesis")
        raise FormatError(f"{place}: {column!r} is missing; a text was expected.")
    numbers = _numbers(record, place, columns)
    return Rating(
        texts["source"],
        texts["hypothesis"],
        {name: fmean(values) for name, values in numbers.items()},
        texts["system"],
        texts["group"] or texts["source"],
        {name: values for name, values in numbers.items() if isinstance(record[name], list)},
    )


def dimensions(record: Mapping[str, Any], place: str) -> dict[str, float]:
    """Return the value of each dimension that is rated in one row of a table.

    Raises:
        FormatError: a cell is neither empty nor a number, or the table has no column for a dimension.
    """
    return {name: value for name, (value,) in _numbers(record, place, {}).items()}


def _numbers(
    record: Mapping[str, Any], place: str, columns: Columns
) -> dict[str, tuple[float, ...]]:
    """Return the numbers in each dimension's cell, which may be a list; empty values are left out."""
    mapped = [name for name in columns if name not in _TEXT_COLUMNS]
    names = mapped or [name for name in record if name not in _TEXT_COLUMNS]
    if not names:
        raise FormatError(f"{place}: no rating; a numeric column for each dimension was expected.")
    numbers: dict[str, tuple[float, ...]] = {}
    for name in names:
        cells = record[name] if isinstance(record[name], list) else [record[name]]
        column = columns.get(name, name)
        labels = [column] * len(cells) if isinstance(column, str) else column
        read = rank_in if name == "rank" else number_in
        values = [read(cell, label, place) for cell, label in zip(cells, labels, strict=True)]
        if known := tuple(value for value in values if value is not None):
            numbers[name] = known
    return numbers


def _read_folder(folder: Path) -> Iterator[Rating]:
    """Read the ratings of a folder in the layout of a benchmark."""
    sources = read_lines(folder / "source.txt")
    systems = {"source": sources}
    for number, system, values in read_rated_lines(folder / "ratings.csv", len(sources)):
        if system not in systems:
            systems[system] = read_lines(folder / "systems" / f"{system}.txt")
            check_lengths(("source.txt", sources), (f"systems/{system}.txt", systems[system]))
        yield Rating(sources[number], systems[system][number], values, system, sources[number])


def read_rated_lines(file: Path, sentences: int) -> Iterator[tuple[int, str, dict[str, float]]]:
    """Yield the sentence's number, the system and the dimensions of each row of a benchmark's ratings."""
    counts = RowCounts()
    for place, record in read_table(file, required=("id", "system")):
        number = whole_number(record["id"], sentences, f"{place}: 'id'")
        values = dimensions(record, place)
        counts.add(values)
        yield number, record["system"], values
    counts.check(str(file))


# -- the datasets -------------------------------------------------------------------------------


def _rated_rows(
    rows: Iterable[tuple[str, Mapping[str, str]]],
    dimensions: Mapping[str, tuple[str, str]],
    hypothesis: str,
    source: str = "",
    system: str = "",
) -> list[Rating]:
    """Return the ratings in the rows of a table; the other arguments name its columns.

    A dimension has two columns: the mean, and all raters' ratings. Ratings of one source are a group.
    """
    return [
        Rating(
            record[source] if source else "",
            record[hypothesis],
            {name: float(record[mean]) for name, (mean, _) in dimensions.items()},
            record[system] if system else "",
            record[source or hypothesis],
            {
                name: tuple(map(float, record[column].split(",")))
                for name, (_, column) in dimensions.items()
            },
        )
        for _, record in rows
    ]


@RATINGS.reader("tmu-gfm")
def _tmu_gfm() -> list[Rating]:
    columns = {
        "grammaticality": ("ave_g", "grammer"),
        "fluency": ("ave_f", "fluency"),
        "meaning": ("ave_m", "meaning"),
    }
    rows = read_table(dataset_file("tmu-gfm", "tmu-gfm-dataset.csv"))
    return _rated_rows(rows, columns, "output", "source", "system")


@RATINGS.reader("lau", ("none", "random", "real"))
def _lau(part: str) -> list[Rating]:
    """Read the ratings of acceptability in one kind of context; a sentence's contexts share its group."""
    rows = read_table(dataset_file("lau", f"human-ratings/context-{part}-ratings.csv"))
    return _rated_rows(rows, {"fluency": ("mean-ratings", "full-ratings")}, "sentence")


@RATINGS.reader("autojqe", ("flutec", "tecjl"))
def _autojqe(part: str) -> list[Rating]:
    """Read autoJQE, in which a mean of 0 says that raters could not judge."""
    rows = read_table(dataset_file("autojqe", f"datasets/human_qe_{part.upper()}.csv"), "\t")
    ratings = _rated_rows(rows, {"quality": ("評価", "個別評価")}, "訂正", "原文")
    return [r if r.values["quality"] else replace(r, values={}) for r in ratings]


_GUG_SPLITS = ("train", "dev", "test")


@RATINGS.reader("gug", ("", *_GUG_SPLITS))
def _gug(part: str) -> list[Rating]:
    """Read GUG, whose first rater is an expert; each sentence is its own group."""
    rows = []
    for place, row in read_table(dataset_file("gug", "gug_annotations.tsv"), "\t"):
        row["raters"] = f"{row['Expert Judgement']},{row['Crowd Flower Judgements'][1:-1]}"
        if row["Dataset"] in ((part,) if part else _GUG_SPLITS):
            rows.append((place, row))
    return _rated_rows(rows, {"grammaticality": ("Average", "raters")}, "Sentence")


_STS = "data/sts/semeval-sts/"


@RATINGS.reader(
    "sts",
    [
        file.removeprefix(_STS).removesuffix(".tsv")
        for file in dataset("sts").files
        if file.endswith(".tsv")
    ],
)
def _sts(part: str) -> list[Rating]:
    """Read a set of semantic textual similarity: unquoted columns of score, first and second sentence."""
    lines = read_lines(dataset_file("sts", f"{_STS}{part}.tsv"))
    return [
        Rating(first, second, {"meaning": float(score)}, part, first)
        for score, first, second in (line.split("\t") for line in lines)
        if score
    ]


_SWEDISH_PARTS = ("balanced_A", "balanced_B", "balanced_C")
# The first annotator rated everything and wrote the post-edits.
_SWEDISH_ANNOTATORS = ("katarina", "robert")
_SWEDISH_DIMENSIONS = {
    "grammaticality": "Grammaticality",
    "fluency": "Fluency",
    "meaning": "Meaning Preservation",
}


class PostEdited(NamedTuple):
    """The rating of an output, the learner corpus's reference, and a correction of the output."""

    rating: Rating
    reference: str
    post_edit: str


def read_swedish() -> dict[str, list[PostEdited]]:
    """Return each system's outputs by its name, in the order of the files.

    Each of the 192 sentences has a reference of the learner corpus (SweLL) and the outputs of five systems.
    One annotator rated every output and corrected it with as few edits as possible; a second annotator rated
    55 of them. The two pilot rounds, which have other systems, are not read. White space becomes single
    spaces.

    Source: Östling, Gillholm, Kurfalı, Mattson and Wirén, "Evaluation of Really Good Grammatical Error
    Correction" (LREC-COLING 2024).
    """
    outputs: dict[str, list[PostEdited]] = {}
    for part in _SWEDISH_PARTS:
        first, second = (
            read_json(dataset_file("swedish", f"annotations/{part}/{name}.json"))["data"]
            for name in _SWEDISH_ANNOTATORS
        )
        for row, second_row in zip(first, second, strict=True):
            for system, output in sorted(row["systems"].items()):
                by_name = output["annotators"] | second_row["systems"][system]["annotators"]
                judgements = [by_name[name] for name in _SWEDISH_ANNOTATORS if name in by_name]
                texts = [row["original"], row["reference"], output["output"]]
                texts.append(judgements[0]["corrected"])
                source, reference, text, post_edit = (" ".join(text.split()) for text in texts)
                raters = {
                    dimension: tuple(float(judgement[column]) for judgement in judgements)
                    for dimension, column in _SWEDISH_DIMENSIONS.items()
                }
                values = {name: ratings[0] for name, ratings in raters.items() if ratings[0]}
                rating = Rating(source, text, values, system, source, raters)
                outputs.setdefault(system, []).append(PostEdited(rating, reference, post_edit))
    return outputs


@RATINGS.reader("swedish")
def _swedish() -> list[Rating]:
    by_sentence = zip(*read_swedish().values(), strict=True)
    return [output.rating for outputs in by_sentence for output in outputs]


@RATINGS.reader("sample")
def _sample() -> list[Rating]:
    return list(read_ratings(sample_folder()))
