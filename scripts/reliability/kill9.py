"""SIGKILL at any moment: nothing is half-written, the next run continues, and nothing is left over.

Each command runs undisturbed; its outputs are the reference. Then it is started again and again and
killed, with all its processes, after a random time. After a kill, a file with a real name is absent or equal
to the reference. A last run goes to the end and gives the reference to the last byte, and no temporary is
left. `tune` instead has exactly the trials that were asked for; a killed one is repeated. A resumed
training's `training.yaml` says that it was resumed.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
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

from trial import ROOT, Trial, main

from learnedgec.evaluators.packages import MANIFEST
from learnedgec.metrics.tuned import read_tuned_file
from learnedgec.runtime.store import Store

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
    """

    name: str
    words: Sequence[str]
    outputs: Sequence[str]
    again: Sequence[str] = ()
    check: Callable[[Path], None] = lambda folder: None
    partly: bool = False


def learnedgec(*words: str) -> list[str]:
    return [sys.executable, "-m", "learnedgec", *words, "--quiet"]


PAIRS = """
import sys
from pathlib import Path
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs.impact import ImpactPairs
from learnedgec.training.pairs import impact
impact._BLOCK = 8
ImpactPairs(corrections=["sample"], encoder=sys.argv[1], edits="m2").made(Path("pairs"), Runtime())
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
trainer: {{max_epochs: 2, accelerator: cpu}}
last: {{every_n_train_steps: 2}}
"""


def check_cache(folder: Path) -> None:
    """Every entry in a store can be read."""
    for path in folder.rglob("store.sqlite"):
        with contextlib.closing(sqlite3.connect(path)) as database:
            keys = [key.hex() for (key,) in database.execute("SELECT key FROM entries")]
        for key in keys:
            assert Store(path.parent).load(key) is not None, f"{key} is damaged"


def check_trials(folder: Path) -> None:
    """The finished study has exactly the trials that were asked for; what was found is whole or absent."""
    if (folder / "e@sample.json").exists():
        read_tuned_file(folder / "e@sample.json")
    if (folder / "done").exists():
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        storage = f"sqlite:///{folder / 'study.db'}"
        (study,) = optuna.get_all_study_names(storage)
        states = [
            trial.state.name
            for trial in optuna.load_study(study_name=study, storage=storage).trials
        ]
        assert len(states) == 12, f"{len(states)} trials and not 12"
        assert set(states) <= {"COMPLETE", "PRUNED"}, f"trials are {set(states)}"


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
        *("--trials", "12", "--validation", "none", "--storage", "study.db"),
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
        Job("tune", tune, [], [*tune, "--overwrite"], check=check_trials),
        Job("train", train, ["out/tiny"], [*train, "--resume"]),
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


def start(words: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    """Start a command as the head of a group of processes."""
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


def finish(words: Sequence[str], folder: Path) -> float:
    """Run a command to its end and return the seconds that it took."""
    started = time.monotonic()
    process = start(words, folder)
    try:
        code = process.wait(_LONGEST)
    finally:
        kill(process)
    message = (folder / "stderr").read_text()
    assert code == 0, f"exit code {code}: {message[-300:]}"
    return time.monotonic() - started


def kill(process: subprocess.Popen[bytes]) -> bool:
    """Kill a group of processes and return whether its head was still alive."""
    landed = process.poll() is None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return landed


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
        self.seconds = finish(self.job.words, whole)
        self.reference = [digest(whole / output) for output in self.job.outputs]
        assert None not in self.reference, "a run that was not killed has no output"

    def run(self) -> None:
        """Kill the job once, or twice, and then let it end."""
        if not self.seconds:
            self.prepare()
        place = self.folder / f"{self.random.randrange(1 << 40):x}"
        place.mkdir()
        words = self.job.words
        landed = 0
        while landed < 2:
            process = start(words, place)
            # Also where this run ends before its kill.
            words = self.job.again or self.job.words
            time.sleep(self.random.uniform(0.1, 1.0) * self.seconds)
            if not kill(process):
                break
            landed += 1
            for output, whole in zip(self.job.outputs, self.reference, strict=True):
                if not self.job.partly:
                    assert digest(place / output) in (None, whole), f"{output} is half-written"
            self.job.check(place)
        TALLY[self.job.name] = TALLY.get(self.job.name, 0) + landed
        finish(words, place)
        (place / "done").touch()
        digests = [digest(place / output) for output in self.job.outputs]
        assert digests == self.reference, f"one of {self.job.outputs} differs in {place}"
        self.job.check(place)
        shutil.rmtree(place)


TALLY: dict[str, int] = {}


def trials(seed: int, folder: Path) -> Iterator[Trial]:
    """Yield attempts at every job in turn, without end."""
    random = Random(seed)
    all_attempts = [Attempts(job, folder / job.name, random) for job in jobs(folder)]
    while True:
        for attempts in all_attempts:
            yield Trial(attempts.job.name, attempts.run)


if __name__ == "__main__":
    import atexit

    atexit.register(
        lambda: print(f"kill9: {sum(TALLY.values())} kills landed: {json.dumps(TALLY)}", flush=True)
    )
    main(
        "kill9",
        "A kill leaves nothing half-written, and the next run continues.",
        trials,
        count=20,
        longest=3 * _LONGEST,
    )
