"""What training takes: processor time and peak memory, and how the loss falls, in several settings.

    python scripts/benchmark/training.py configs/some-mini.yaml [--steps 60] [--settings float32 bfloat16]
    python scripts/benchmark/training.py CONFIGURATION [--frozen 2] [--batch-tokens 1024] -- --KEY VALUE …

The first steps of a configuration are taken from the same seed in float32; in bfloat16; then with batches by
tokens too; and with the lowest layers frozen too. Each setting runs in a process of its own, whose peak
memory is that of everything: interpreter, data, model, optimizer, activations. What follows `--` goes to
`learnedgec train`. Losses are means of ten steps.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

# Steps whose time does not count: kernels are chosen and memory is taken.
WARM = 2
# Steps whose losses make a mean.
TOGETHER = 10


def measure(arguments: list[str]) -> dict[str, Any]:
    """Take the first steps of a training run, and return what they took."""
    # `errant.py` beside this script is not the package of that name.
    sys.path.pop(0)
    import pytorch_lightning as lightning

    from learnedgec.training.options import parse

    losses: list[float] = []
    marks: list[resource.struct_rusage] = []

    class Watch(lightning.Callback):
        def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
            losses.append(float(trainer.callback_metrics["train/loss"]))
            if len(losses) >= WARM:
                marks.append(resource.getrusage(resource.RUSAGE_SELF))

    with tempfile.TemporaryDirectory() as folder:
        watched = ["--name", "watched", "--runs", folder, "--output", folder]
        parsed = parse([*arguments, *watched], progress=False)
        trainer: Any = parsed.trainer
        trainer.limit_val_batches = 0
        trainer.callbacks = [Watch()]
        trainer.fit(parsed.model, parsed.datamodule)
    steps = len(marks) - 1
    return {
        "user": (marks[-1].ru_utime - marks[0].ru_utime) / steps,
        "system": (marks[-1].ru_stime - marks[0].ru_stime) / steps,
        "memory": marks[-1].ru_maxrss / 1024,
        "losses": losses,
    }


def in_process(arguments: list[str], threads: int) -> dict[str, Any]:
    """Measure in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--job"],
        input=json.dumps(arguments),
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": str(threads)},
    )
    if done.returncode:
        raise SystemExit(done.stderr.strip())
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def settings(options: argparse.Namespace) -> Mapping[str, list[str]]:
    """Return the arguments of each setting."""
    half = ["--trainer.precision", "bf16-mixed"]
    tokens = ["--data.batch_tokens", str(options.batch_tokens)]
    frozen = ["--model.frozen_layers", str(options.frozen)]
    return {
        "float32": [],
        "bfloat16": half,
        "bfloat16, tokens": [*half, *tokens],
        "bfloat16, tokens, frozen": [*half, *tokens, *frozen],
        "float32, tokens": tokens,
    }


def main() -> None:
    if sys.argv[1:] == ["--job"]:
        print(json.dumps(measure(json.load(sys.stdin))))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("configuration")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch-tokens", type=int, default=1024)
    parser.add_argument("--frozen", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--settings", nargs="+", help="all by default")
    # Not by the parser: it takes no options of another program.
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:end])
    base = ["--config", options.configuration, "--trainer.max_steps", str(options.steps)]
    base += ["--trainer.accelerator", "cpu", *sys.argv[end + 1 :]]
    table = Table(
        title=f"{options.steps} steps of {options.configuration}, {options.threads} threads"
    )
    for column in ("", "user s", "system s", "peak MiB", f"loss, means of {TOGETHER} steps"):
        table.add_column(column, justify="right")
    for name, more in settings(options).items():
        if options.settings and name not in options.settings:
            continue
        found = in_process([*base, *more], options.threads)
        losses = found["losses"]
        means = [
            f"{statistics.mean(losses[start : start + TOGETHER]):.3f}"
            for start in range(0, len(losses), TOGETHER)
        ]
        row = (
            name,
            f"{found['user']:.2f}",
            f"{found['system']:.2f}",
            f"{found['memory']:.0f}",
            " ".join(means),
        )
        print("\t".join(row), file=sys.stderr, flush=True)
        table.add_row(*row)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
