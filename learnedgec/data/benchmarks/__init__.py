"""Human judgements of system outputs, in one form (`base`), found by name (`registry`)."""

from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.benchmarks.registry import BenchmarkEntry, load_benchmark
from learnedgec.data.catalog.outputs import Ranking

__all__ = ["Benchmark", "BenchmarkEntry", "Ranking", "load_benchmark"]
