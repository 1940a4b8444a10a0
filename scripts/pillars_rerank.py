"""What choosing among seven systems' outputs gives: the table of docs/results/reranking.md.

    python scripts/pillars_rerank.py --part pillars:dev --by impara some --mbr gleu --work runs/reranking

Seven single systems of 2024 on a part of BEA-19 dev, and what is made of all seven: the best of them by a
metric (`--by`), by minimum Bayes risk (`--mbr`), and by voting about edits, at the threshold with the highest
ERRANT F0.5 on `pillars:train`. Beside them the ensembles of Omelianchuk et al. (2024), of which `ens_m7` is
the majority vote of the same seven. Measured against the gold edits alone, and against all references (the
gold ones and those of `jelv`). Intervals are by bootstrap over sentences; differences are from the single
system that is best by the same measure on the part itself, and their intervals by paired bootstrap.

Statistics are kept in `--work` under their signatures: with a new evaluator only its own rows are computed.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from learnedgec.catalog.outputs import load_outputs
from learnedgec.catalog.parallel import load_parallel
from learnedgec.cli.output import FORMATS, emit, notice
from learnedgec.comparison import compare_systems
from learnedgec.errors import LearnedgecError
from learnedgec.execution import cache
from learnedgec.execution.digests import key_of
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.references import References
from learnedgec.formats.rows import Row
from learnedgec.metrics.errant import Errant
from learnedgec.metrics.gleu import Gleu
from learnedgec.use.candidates import candidates_of_systems
from learnedgec.use.rerank import rerank
from learnedgec.use.voting import count_votes, tune_threshold

TRAIN = "pillars:train"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", default="pillars:dev")
    parser.add_argument("--by", nargs="*", default=["impara", "some", "likelihood"])
    parser.add_argument("--mbr", nargs="*", default=["gleu", "errant(annotator='en-ewt-sm')"])
    parser.add_argument("--no-vote", action="store_true")
    parser.add_argument("--annotator", default="en-ewt-sm")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--gleu-iterations", type=int, default=100)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--work", type=Path, default=Path("runs/reranking"))
    parser.add_argument("--format", choices=FORMATS, default="table")
    parser.add_argument("--out", default="-", help="write the table to this file")
    options = parser.parse_args()
    runtime = Runtime(dtype=options.dtype, cache_dir=str(options.work), progress=True)
    gold = load_parallel(options.part)
    everything = joined(
        gold.references, load_parallel(options.part.replace("pillars", "jelv")).references
    )
    single = load_outputs(f"{options.part}/single")
    sorts = dict.fromkeys(single, "single") | dict.fromkeys(
        ensembles := load_outputs(f"{options.part}/ensemble"), "published ensemble"
    )
    systems: dict[str, Sequence[str]] = {**single, **ensembles}
    candidates = candidates_of_systems(single)
    for name in [*options.by, *(f"mbr({name})" for name in options.mbr)]:
        try:
            found = rerank(gold.sources, candidates, name, runtime=runtime)
        except LearnedgecError as error:
            notice(f"{name} is left out: {error}")
            continue
        systems[name], sorts[name] = found.texts, "best of 7"
    if not options.no_vote:
        threshold = tuned_threshold(options.annotator, options.work, runtime)
        votes = count_votes(gold.sources, candidates, annotator=options.annotator, runtime=runtime)
        # Shares of seven: the threshold says how many more than which number of systems must agree.
        for name, share in ((f"vote({threshold:.3f})", threshold), ("vote(0.500)", 0.5)):
            systems[name], sorts[name] = votes.texts(share), "edit vote"
    emit(
        table(gold.sources, systems, sorts, gold.references, everything, options, runtime),
        options,
        title=f"{options.part}: {len(gold.sources)} sentences",
    )


def joined(first: References, second: References) -> References:
    """Return the references of both, each text of a sentence once."""
    return References(
        tuple(
            tuple({reference.text: reference for reference in (*more, *row)}.values())
            for row, more in zip(first, second, strict=True)
        )
    )


def tuned_threshold(annotator: str, folder: Path, runtime: Runtime) -> float:
    """Return the share of votes with the highest ERRANT F0.5 on the training part."""
    train = load_parallel(TRAIN)
    systems = load_outputs(f"{TRAIN}/single")
    metric = Errant(annotator=annotator)
    key = key_of(
        "threshold", metric.signature(train.references, runtime=runtime), *systems.values()
    )
    if kept := cache.load(folder, key):
        return float(kept[1][0])
    votes = count_votes(
        train.sources, candidates_of_systems(systems), annotator=annotator, runtime=runtime
    )
    search = tune_threshold(votes, train.references, metric, runtime=runtime)
    for threshold, score in search.scores.items():
        notice(f"{TRAIN}: threshold {threshold:.3f}: ERRANT F0.5 {score:.4f}")
    cache.store(folder, key, {}, [search.best])
    return search.best


def table(
    sources: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    sorts: Mapping[str, str],
    gold: References,
    everything: References,
    options: argparse.Namespace,
    runtime: Runtime,
) -> list[Row]:
    """Return a row for each system: its scores, and its differences from the best single system."""
    errant = Errant(annotator=options.annotator)
    scored = {
        "ERRANT F0.5, gold": (errant, gold),
        "ERRANT F0.5, all": (errant, everything),
        # Sentences have up to 24 references: the official 500 draws would take half an hour a part.
        "GLEU, all": (Gleu(iterations=options.gleu_iterations), everything),
    }
    columns: dict[str, dict[str, str]] = {name: {} for name in systems}
    for title, (metric, references) in scored.items():
        statistics = metric.statistics_of_systems(sources, systems, references, runtime=runtime)
        values = {name: metric.aggregate(each) for name, each in statistics.items()}
        best = max((name for name in systems if sorts[name] == "single"), key=values.__getitem__)
        found = compare_systems(metric, statistics, best, resamples=options.resamples)
        columns[best] |= {title: shown(values[best], found[0].baseline_bounds), f"Δ {title}": "–"}
        for each in found:
            difference = shown(each.difference, each.difference_bounds, "+")
            columns[each.system] |= {
                title: shown(each.score, each.bounds),
                f"Δ {title}": difference,
            }
        notice(f"{options.part}: {title} is done")
    return [{"output": name, "kind": sorts[name], **found} for name, found in columns.items()]


def shown(value: float, bounds: tuple[float, float], sign: str = "") -> str:
    """Return a number with its interval."""
    low, high = bounds
    return f"{value:{sign}.4f} [{low:{sign}.4f}, {high:{sign}.4f}]"


if __name__ == "__main__":
    main()
