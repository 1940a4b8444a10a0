"""Train an evaluator by its settings: one run, or several seeds."""

from __future__ import annotations

import copy
import math
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean

import torch

from learnedgec.errors import ConfigError
from learnedgec.evaluators.evaluator import Evaluator, EvaluatorModel
from learnedgec.evaluators.package import check_package
from learnedgec.runtime.files import atomic_folder
from learnedgec.runtime.runtime import Runtime, parallel_map
from learnedgec.training.evaluate import main_figure
from learnedgec.training.run import Run, TrainingResult, quiet_lightning
from learnedgec.training.settings import Settings


def train(
    settings: Settings,
    *,
    progress: bool = True,
    notify: Callable[[str], None] | None = None,
    alone: bool = False,
) -> TrainingResult | None:
    """Train an evaluator, and return after its package is written.

    Args:
        settings: what the training is (`read_settings`).
        progress: show progress bars on stderr.
        notify: called before the first epoch with a line about continued heads, the data and the device.
        alone: refuse several processes.

    Returns:
        The package and its results. With several processes, all but the first return `None`.

    Raises:
        ConfigError: an unusable value; the message names the key path.
        LearnedgecError: the data, the encoder or the output cannot be used.
        KeyboardInterrupt: Ctrl-C or SIGTERM. The current step is completed and kept in a checkpoint, from
            which `resume=True` continues, and no package is written.
    """
    # oneDNN keeps a compiled kernel for each shape, 1,024 of them. Batches have many shapes, and the kernels
    # of a 9-layer encoder took a gigabyte in 200 steps; with 64 the steps are as fast.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")

    with quiet_lightning():
        run = Run(settings, progress=progress)
        if alone and run.trainer.world_size > 1:
            raise ConfigError(
                "trainer.devices: training from Python uses one device; `learnedgec train` uses several."
            )
        if run.config.seeds > 1:
            return _train_seeds(run, notify)
        if run.config.average:
            raise ConfigError("average: one seed has no mean; set seeds to 2 or more.")
        return run.complete(notify)


def _train_seeds(first: Run, notify: Callable[[str], None] | None) -> TrainingResult:
    """Train the seeds, `jobs` at a time, and write the package.

    The mean of the weights of runs that differ in their seed is often better than each of them (Wortsman et
    al., "Model soups", ICML 2022).

    Args:
        first: the run of the first seed, with the settings.
        notify: called before each seed, if there is one at a time.

    Raises:
        ConfigError: the options do not suit several seeds, or the package exists.
    """
    config = first.config
    if first.trainer.world_size > 1:
        raise ConfigError(
            f"seeds is {config.seeds}, and there are {first.trainer.world_size} devices; train several seeds "
            "with trainer.devices: 1, or each by a command of its own with another seed_everything."
        )
    first.check_free(first.package.is_dir() and not config.resume)
    # The checkpoints of an earlier training, which another may resume until this one has its first.
    earlier = {}
    if config.overwrite and not config.resume:
        found = Path(config.runs, config.name).glob("seed-*/*.ckpt")
        earlier = {path: path.stat().st_mtime_ns for path in found}
    if config.jobs > 1:
        first.data.load()  # pairs are made once, before processes share them
    seeds = range(config.seed_everything, config.seed_everything + config.seeds)
    alone, progress = config.jobs == 1, first.data.progress
    train_seed = partial(
        _train_seed,
        first.settings,
        earlier=earlier,
        threads=max(1, torch.get_num_threads() // config.jobs),
        progress=progress and alone,
        notify=notify if alone else None,
    )
    runtime = Runtime(jobs=config.jobs, progress=progress and not alone)
    results = parallel_map(train_seed, seeds, "seeds", runtime, chunk_size=1)
    figures = {seed: result.results for seed, result in zip(seeds, results, strict=True)}
    return replace(_write_joint(first, results), seeds=figures)


def _write_joint(first: Run, results: Sequence[TrainingResult]) -> TrainingResult:
    """Write the package of several seeds: their mean, or the run in the middle by dev score.

    Of an even number of runs, it is the better of the two in the middle.
    """
    if first.config.average:
        folders = [result.package for result in results]
        return first.write(_mean(folders), [check_package(folder) for folder in folders])

    def dev_score(result: TrainingResult) -> float:
        values = [main_figure(head)[1] for head in result.results["dev"].values()]
        known = [value for value in values if value is not None]
        return fmean(known) if known else -math.inf

    # Of an even number of runs, two are in the middle.
    chosen = sorted(results, key=dev_score)[len(results) // 2]
    with atomic_folder(first.package) as folder:
        shutil.copytree(chosen.package, folder, dirs_exist_ok=True)
    return replace(chosen, package=first.package)


def _train_seed(
    settings: Settings,
    seed: int,
    *,
    earlier: Mapping[Path, int],
    threads: int,
    progress: bool,
    notify: Callable[[str], None] | None,
) -> TrainingResult:
    """Train one of the seeds, with its share of the processor's threads.

    Its first checkpoint removes what is left of earlier checkpoints (path -> time) of other seeds.
    """
    torch.set_num_threads(threads)
    several = settings.values
    if notify:
        number = seed - several.seed_everything + 1
        notify(f"Seed {seed}, run {number} of {several.seeds}.")
    # The mean of rounded weights is rounded again.
    bits = 16 if several.average else several.bits
    own = settings.but(seeds=1, average=False, bits=bits, seed_everything=seed, part=f"seed-{seed}")
    with quiet_lightning():
        run = Run(own, progress=progress)
        begun = run.last_checkpoint.on_first

        def on_first() -> None:
            begun()
            for path, written in earlier.items():
                with suppress(FileNotFoundError):
                    if path.parent != run.folder and path.stat().st_mtime_ns == written:
                        path.unlink()

        run.last_checkpoint.on_first = on_first
        result = run.complete(notify)
    assert result is not None  # there is one device
    return result


def _mean(folders: Sequence[Path]) -> EvaluatorModel:
    """Return the mean of packages of one architecture."""
    cpu = Runtime(device="cpu")
    members = [Evaluator.load(str(folder), runtime=cpu).model for folder in folders]
    states = [member.state_dict() for member in members]
    model = EvaluatorModel(copy.deepcopy(members[0].config))
    model.load_state_dict(
        {key: torch.stack([state[key].double() for state in states]).mean(0) for key in states[0]}
    )
    return model
