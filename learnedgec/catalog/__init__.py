"""Public datasets: where they come from (`files`) and how each kind is read; one module per kind."""

from learnedgec.catalog.files import DATASETS, Dataset, File, Status, dataset, fetch, path, verify
from learnedgec.catalog.ratings import Rating, load_ratings, read_ratings

__all__ = [
    "DATASETS",
    "Dataset",
    "File",
    "Rating",
    "Status",
    "dataset",
    "fetch",
    "load_ratings",
    "path",
    "read_ratings",
    "verify",
]
