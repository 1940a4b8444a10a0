"""Write TrueSkill's runs on people's judgements, which `learnedgec meta` reads instead of making them.

usage: LEARNEDGEC_MIRROR=… python scripts/benchmark/human_trueskill.py

The file has the runs on SEEDA-S, SEEDA-E and GJG15 with the default resamples and seed: skills alone.
"""

import numpy as np

from learnedgec.analysis.meta.agreement import SHIPPED, human_wins, runs_key
from learnedgec.data.benchmarks import load_benchmark
from learnedgec.stats.resampling import Resampling, multiplicities, resample
from learnedgec.stats.skills import rate_judgements

HOW = Resampling()
made = {}
for name in ("seeda-s", "seeda-e", "gjg15"):
    benchmark = load_benchmark(name)
    size = len(benchmark.sources)
    judged = human_wins(benchmark.comparisons(sorted(benchmark.ranked_systems)), size)
    draws = multiplicities(resample(size, HOW), size)
    wins, ties = (np.tensordot(draws, counts, axes=1) for counts in judged)
    key = runs_key(wins, ties, HOW.resamples, HOW.seed)
    made[key] = rate_judgements(wins, ties, runs=HOW.resamples, seed=HOW.seed, progress=True)
np.savez_compressed(SHIPPED, **made)  # type: ignore[arg-type]
