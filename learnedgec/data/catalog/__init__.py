"""Public datasets: their table (`registry`), their local files (`files`), and a reader for each kind."""

from learnedgec.data.catalog.files import dataset_file, sample_folder
from learnedgec.data.catalog.leakage import overlapping
from learnedgec.data.catalog.outputs import (
    OUTPUTS,
    RANKINGS,
    Ranking,
    load_outputs,
    load_rankings,
)
from learnedgec.data.catalog.parallel import (
    PARALLEL,
    Parallel,
    load_corrections,
    load_parallel,
)
from learnedgec.data.catalog.ratings import RATINGS, Rating, load_ratings
from learnedgec.data.catalog.registry import Dataset, File, dataset
from learnedgec.data.catalog.sentences import (
    CASES,
    SENTENCES,
    Case,
    Labelled,
    Pair,
    load_cases,
    load_labelled,
    load_sentences,
)

__all__ = [
    "CASES",
    "Case",
    "Dataset",
    "File",
    "Labelled",
    "OUTPUTS",
    "PARALLEL",
    "Pair",
    "Parallel",
    "RANKINGS",
    "RATINGS",
    "Ranking",
    "Rating",
    "SENTENCES",
    "dataset",
    "dataset_file",
    "load_cases",
    "load_corrections",
    "load_labelled",
    "load_outputs",
    "load_parallel",
    "load_rankings",
    "load_ratings",
    "load_sentences",
    "overlapping",
    "sample_folder",
]
