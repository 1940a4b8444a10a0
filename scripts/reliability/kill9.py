"""A signal at any moment: nothing is half-written, the next run continues, and nothing is left over.

Each command runs undisturbed; its outputs are the reference. Then it is started again and again and
killed, with all its processes, after a random time. After a kill, a file with a real name is absent or equal
to the reference. A last run goes to the end and gives the reference to the last byte, and no temporary is
left. `tune` instead has exactly the trials that were asked for; a killed one is repeated. A training gets
SIGINT and SIGTERM as well, which cost it no step; SIGKILL costs at most an epoch. These two run in a forked
process that has their imports, so that signals come while they work. `--only train` tries this job alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import torch
from trial import ROOT, Trial, main

from learnedgec.cli import main as cli
from learnedgec.evaluators.package import MANIFEST
from learnedgec.metrics.tuned import read_tuned_file
from learnedgec.runtime.store import Store
from learnedgec.training.module import EvaluatorModule

SAMPLE = ROOT / "data" / "sample"

# Seconds that an undisturbed run may take.
_LONGEST = 600.0


@dataclass(frozen=True)
class Job:
    """A command that is killed.

    Attributes:
        name: what it is.
        words: the command, which runs in the job's folder.
        outputs: the files and folders in it that are promised, whole or absent.
        again: the command after a kill, if it differs.
        check: a check of the folder after every kill and at the end.
        partly: whether an output is a folder that fills file by file.
        forks: whether it runs in a process that has the imports already.
        trains: whether it is a training, whose steps are counted.
    """

    name: str
    words: Sequence[str]
    outputs: Sequence[str]
    again: Sequence[str] = ()
    check: Callable[[Path], None] = lambda folder: None
    partly: bool = False
    forks: bool = False
    trains: bool = False

    @property
    def signals(self) -> list[signal.Signals]:
        """What ends it."""
        gentle = [signal.SIGINT, signal.SIGTERM] if self.trains else []
        return [*gentle, signal.SIGKILL]


def learnedgec(*words: str) -> list[str]:
    return [sys.executable, "-m", "learnedgec", *words, "--quiet"]


PAIRS = """
import sys
from pathlib import Path
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs.corrections import ImpactPairs
from learnedgec.training.pairs import corrections
corrections._BLOCK = 8
ImpactPairs(corrections=["sample"], encoder=sys.argv[1], edits="m2").load(Path("pairs"), Runtime())
"""

TRAIN = """
seed_everything: 3
model:
  encoder: {encoder}
  learning_rate: 5.0e-3
  heads:
    grammaticality: {{input: hypothesis}}
    meaning: {{input: pair}}
data:
  ratings: [{ratings}]
  split: paper-random
  batch_size: 16
trainer: {{max_epochs: 3, accelerator: cpu}}
"""
# Steps in an epoch: 288 ratings in batches of 16.
_EPOCH = 18


def check_cache(folder: Path) -> None:
    """Every entry in a store can be read."""
    for path in folder.rglob("store.sqlite"):
        with contextlib.closing(sqlite3.connect(path)) as database:
            keys = [key.hex() for (key,) in database.execute("SELECT key FROM entries")]
        for key in keys:
            assert Store(path.parent).load(key) is not None, f"{key} is damaged"


def check_tuned(folder: Path) -> None:
    """What was found is whole or absent."""
    if (folder / "e@sample.json").exists():
        read_tuned_file(folder / "e@sample.json")
    check_cache(folder)


def jobs(folder: Path) -> list[Job]:
    """Return what is killed; models and settings are written into a folder."""
    sys.path.insert(0, str(ROOT / "tests"))
    tiny: Any = importlib.import_module("tiny")
    encoder = tiny.save_encoder(folder / "encoder")
    config = folder / "train.yaml"
    config.write_text(TRAIN.format(encoder=encoder, ratings=SAMPLE))
    systems = sorted(map(str, (SAMPLE / "systems").glob("*.txt")))
    score = learnedgec(
        *("score", "--src", str(SAMPLE / "source.txt"), "--gold", str(SAMPLE / "gold.m2")),
        *("--hyp", *systems, "--metric", "gleu", "m2", "green", "--cache-dir", "cache"),
        *("--format", "json", "--out", "scores.json"),
    )
    perturb = learnedgec(
        *("robust", "perturb", "--src", str(SAMPLE / "source.txt")),
        *("--ref", str(SAMPLE / "ref0.txt"), "--out", "cases.jsonl"),
    )
    tune = learnedgec(
        *("tune", "--metric", "ensemble(gleu=0.5, length=0.5)", "--benchmark", "sample"),
        *("--trials", "12", "--validation", "none"),
        *("--output", ".", "--name", "e@sample", "--cache-dir", "cache"),
    )
    train = learnedgec(
        *("train", "--config", str(config), "--name", "tiny", "--output", "out", "--runs", "runs"),
    )
    return [
        Job("score", score, ["scores.json"], check=check_cache),
        Job("perturb", perturb, ["cases.jsonl"]),
        # Blocks are finished one by one: an unfinished run has some of them.
        Job("pairs", [sys.executable, "-c", PAIRS, str(encoder)], ["pairs"], partly=True),
        Job("tune", tune, [], [*tune, "--overwrite"], check=check_tuned, forks=True),
        Job("train", train, ["out/tiny"], [*train, "--resume"], forks=True, trains=True),
    ]


def digest(path: Path) -> str | None:
    """Return a digest of a file or of a folder's files, temporaries left out; `None` where there is none."""
    if path.name == MANIFEST:
        manifest = json.loads(path.read_text())
        del manifest["files"]["training.yaml"]
        return json.dumps(manifest)
    if path.name == "training.yaml":
        return path.read_text().replace("resume: true", "resume: false")
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    files = sorted(
        file for file in path.rglob("*") if file.is_file() and not file.name.startswith(".")
    )
    if not files:
        return None
    parts = [f"{file.relative_to(path)} {digest(file)}" for file in files]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


class Forked:
    """A command in a process with this one's imports, with the methods of `Popen` that are needed here."""

    def __init__(self, words: Sequence[str], folder: Path) -> None:
        context = multiprocessing.get_context("fork")
        self.process = context.Process(target=run_forked, args=(words, folder))
        self.process.start()
        self.pid = self.process.pid or 0

    def poll(self) -> int | None:
        """Return the exit code, `None` while it runs."""
        return self.process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code after the end."""
        self.process.join(timeout)
        if self.process.exitcode is None:
            raise TimeoutError(f"it did not end within {timeout} s")
        return self.process.exitcode


def run_forked(words: Sequence[str], folder: Path) -> None:
    """Run a command in a folder; a training writes how many steps are done before each of its steps there."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    os.chdir(folder)
    for stream, name in ((1, os.devnull), (2, "stderr")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    number = os.open("steps", os.O_WRONLY | os.O_CREAT)
    step = EvaluatorModule.training_step

    def counted(module: EvaluatorModule, batch: Any, index: int) -> Any:
        os.pwrite(number, f"{module.global_step:6}".encode(), 0)
        return step(module, batch, index)

    with patch.object(EvaluatorModule, "training_step", counted):
        sys.exit(cli.main(words[3:]))


def start(job: Job, words: Sequence[str], folder: Path) -> Forked | subprocess.Popen[bytes]:
    """Start a command as the head of a group of processes."""
    if job.forks:
        return Forked(words, folder)
    with (folder / "stderr").open("wb") as log:
        return subprocess.Popen(
            words,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )


def finish(job: Job, words: Sequence[str], folder: Path) -> float:
    """Run a command to its end and return the seconds that it took."""
    started = time.monotonic()
    process = start(job, words, folder)
    try:
        code = process.wait(_LONGEST)
    finally:
        end(process, signal.SIGKILL)
    message = (folder / "stderr").read_text()
    # It may have been killed after its last act.
    assert code == 0 or "is finished, and there is nothing" in message, (
        f"exit code {code}: {message[-300:]}"
    )
    return time.monotonic() - started


def end(process: Forked | subprocess.Popen[bytes], number: signal.Signals) -> bool:
    """Send a group of processes a signal, and return whether its head was still alive."""
    landed = process.poll() is None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
        if number != signal.SIGKILL:
            process.wait(_LONGEST)
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return landed


def steps_lost(folder: Path, number: signal.Signals) -> int:
    """Return how many steps of an interrupted training its last checkpoint lacks, if those are few enough."""
    done = int((folder / "steps").read_text() or 0) if (folder / "steps").exists() else 0
    last = folder / "runs" / "tiny" / "last.ckpt"
    kept = torch.load(last, weights_only=True)["global_step"] if last.exists() else 0
    lost = max(0, done - int(kept))
    most = _EPOCH if number == signal.SIGKILL else 0
    assert lost <= most, f"{number.name} after {done} steps left a checkpoint of {kept}"
    return lost


class Attempts:
    """A job with its reference: killed some times, and then finished."""

    def __init__(self, job: Job, folder: Path, random: Random) -> None:
        self.job, self.folder, self.random = job, folder, random
        self.reference: list[str | None] = []
        self.seconds = 0.0

    def prepare(self) -> None:
        """Run the job undisturbed."""
        whole = self.folder / "whole"
        whole.mkdir(parents=True)
        self.seconds = finish(self.job, self.job.words, whole)
        self.reference = [digest(whole / output) for output in self.job.outputs]
        assert None not in self.reference, "a run that was not killed has no output"

    def run(self) -> None:
        """Kill the job once, or twice, and then let it end."""
        if not self.seconds:
            self.prepare()
        place = self.folder / f"{self.random.randrange(1 << 40):x}"
        place.mkdir()
        words = self.job.words
        landed, ended = 0, False
        while landed < 2 and not ended:
            process = start(self.job, words, place)
            # Also where this run ends before its kill.
            words = self.job.again or self.job.words
            time.sleep(self.random.uniform(0.1, 1.0) * self.seconds)
            number = self.random.choice(self.job.signals)
            ended = not end(process, number)
            if ended:
                break
            landed += 1
            name = self.job.name + (f" {number.name}" if self.job.trains else "")
            TALLY.setdefault(name, []).append(steps_lost(place, number) if self.job.trains else 0)
            for output, whole in zip(self.job.outputs, self.reference, strict=True):
                if not self.job.partly:
                    assert digest(place / output) in (None, whole), f"{output} is half-written"
            self.job.check(place)
        finish(self.job, words, place)
        (place / "done").touch()
        digests = [digest(place / output) for output in self.job.outputs]
        assert digests == self.reference, f"one of {self.job.outputs} differs in {place}"
        self.job.check(place)
        shutil.rmtree(place)


# What was interrupted -> the steps that each interruption cost.
TALLY: dict[str, list[int]] = {}


def trials(seed: int, folder: Path, only: str = "") -> Iterator[Trial]:
    """Yield attempts at every job in turn, without end."""
    random = Random(seed)
    all_attempts = [
        Attempts(job, folder / job.name, random) for job in jobs(folder) if only in ("", job.name)
    ]
    while True:
        for attempts in all_attempts:
            yield Trial(attempts.job.name, attempts.run)


def report() -> None:
    """Print how many signals landed, and the steps that they cost."""
    for name, lost in TALLY.items():
        cost = f", steps lost: mean {sum(lost) / len(lost):.1f}, most {max(lost)}"
        print(f"kill9: {name}: {len(lost)} landed{cost * name.startswith('train')}", flush=True)


if __name__ == "__main__":
    import atexit

    atexit.register(report)
    main(
        "kill9",
        "A kill leaves nothing half-written, and the next run continues.",
        trials,
        count=20,
        longest=3 * _LONGEST,
    )
