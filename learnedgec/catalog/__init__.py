"""Public datasets: where they come from (`files`) and how each kind is read; one module per kind."""

from learnedgec.catalog.cases import Case, Pair, load_cases, read_cases, write_cases
from learnedgec.catalog.files import (
    DATASETS,
    Dataset,
    File,
    Status,
    dataset,
    dataset_file,
    fetch,
    verify,
)
from learnedgec.catalog.judgements import Ranking, read_appraise, read_pairs
from learnedgec.catalog.leakage import check_leakage, overlapping
from learnedgec.catalog.outputs import load_outputs
from learnedgec.catalog.parallel import Parallel, load_parallel
from learnedgec.catalog.ratings import Rating, load_ratings, read_ratings
from learnedgec.catalog.sample import sample_folder
from learnedgec.catalog.sentences import load_sentences

__all__ = [
    "DATASETS",
    "Case",
    "Dataset",
    "File",
    "Pair",
    "Parallel",
    "Ranking",
    "Rating",
    "Status",
    "check_leakage",
    "dataset",
    "fetch",
    "load_cases",
    "load_outputs",
    "load_parallel",
    "load_ratings",
    "load_sentences",
    "overlapping",
    "dataset_file",
    "read_appraise",
    "read_cases",
    "read_pairs",
    "read_ratings",
    "sample_folder",
    "verify",
    "write_cases",
]
