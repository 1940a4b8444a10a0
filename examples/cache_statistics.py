"""Run a metric once and keep what it computed; choose device, precision, batch and processes."""

from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from learnedgec import Runtime, rank, read_lines, score
from learnedgec.data.catalog import sample_folder

folder = sample_folder()
sources = read_lines(folder / "source.txt")[:12]
names = ("careful", "strong")
systems = {name: read_lines(folder / "systems" / f"{name}.txt")[:12] for name in names}

with TemporaryDirectory() as cache:
    runtime = Runtime(
        device="cpu",  # auto: a GPU where there is one
        dtype="float32",  # bfloat16 is faster, and moves scores in the third digit
        batch_tokens=2048,  # less where memory is short
        jobs=1,  # processes for metrics that work on edits; 0 is one per core
        cache_dir=cache,  # a lasting folder, for example ~/.cache/my-scores
    )
    start = perf_counter()
    scores = score("quality", sources, systems, runtime=runtime)
    first = perf_counter() - start
    start = perf_counter()
    ranking = rank("quality", sources, systems, runtime=runtime)
    second = perf_counter() - start
    kept = len(list(Path(cache).iterdir()))

print(f"scored {', '.join(f'{name} {result.value:.3f}' for name, result in scores.items())}")
print(f"ranked {', '.join(ranking.systems[number] for number in ranking.order)} from the cache")
print(f"the cache has {kept} entries; {first:.2f} s without it, {second:.2f} s with it")
