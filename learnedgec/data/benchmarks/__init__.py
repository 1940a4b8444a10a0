"""Human judgements of system outputs, in one form (`base`), found by name (`registry`)."""

from learnedgec.data.benchmarks.base import Benchmark, Comparisons
from learnedgec.data.benchmarks.folder import read_benchmark
from learnedgec.data.benchmarks.registry import (
    BENCHMARKS,
    BenchmarkEntry,
    expand_benchmarks,
    load_benchmark,
)
from learnedgec.data.catalog.judgements import Ranking

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "BenchmarkEntry",
    "Comparisons",
    "Ranking",
    "expand_benchmarks",
    "load_benchmark",
    "read_benchmark",
]
