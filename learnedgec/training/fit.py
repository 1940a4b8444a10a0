"""Train an evaluator from a configuration to a package: one run, or the median or mean of several seeds."""

from __future__ import annotations

import copy
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean

import torch

from learnedgec.errors import ConfigError
from learnedgec.evaluators.evaluator import Evaluator, EvaluatorModel
from learnedgec.evaluators.packages import check_package
from learnedgec.runtime.files import atomic_folder
from learnedgec.runtime.runtime import Runtime, parallel_map
from learnedgec.training.evaluate import main_figure
from learnedgec.training.module import EvaluatorModule
from learnedgec.training.options import parse
from learnedgec.training.run import Run, TrainingResult, quiet_lightning


def train(
    arguments: Sequence[str],
    *,
    progress: bool = True,
    notify: Callable[[str], None] | None = None,
    module: type[EvaluatorModule] = EvaluatorModule,
    alone: bool = False,
) -> TrainingResult | None:
    """Train an evaluator as `learnedgec train` does, and return after its package is written.

    Args:
        arguments: as on the command line: `["--config", "some-mini", …]`.
        progress: show progress bars on stderr.
        notify: called before the first epoch with a line about continued heads, the data and the device.
        module: the `LightningModule`; the arguments of a subclass are further keys under `model`.
        alone: refuse several processes.

    Returns:
        The package and its results. With several processes, all but the first return `None`.

    Raises:
        ConfigError: an unusable value; the message names the key path.
        UnknownNameError: an unknown key; the message suggests the nearest.
        LearnedgecError: the data, the encoder or the output cannot be used.
    """
    # oneDNN keeps a compiled kernel for each shape, 1,024 of them. Batches have many shapes, and the kernels
    # of a 9-layer encoder took a gigabyte in 200 steps; with 64 the steps are as fast.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")

    with quiet_lightning():
        run = Run(parse(arguments, progress=progress, module=module))
        if alone and run.trainer.world_size > 1:
            raise ConfigError(
                "trainer.devices: training from Python uses one device; `learnedgec train` uses several."
            )
        if run.config.seeds > 1:
            return _train_seeds(run, arguments, progress=progress, notify=notify, module=module)
        if run.config.average:
            raise ConfigError("average: one seed has no mean; set seeds to 2 or more.")
        return run.complete(notify)


def _train_seeds(
    first: Run,
    arguments: Sequence[str],
    *,
    progress: bool,
    notify: Callable[[str], None] | None,
    module: type[EvaluatorModule],
) -> TrainingResult:
    """Train the seeds, `jobs` at a time, and write the package.

    The mean of the weights of runs that differ in their seed is often better than each of them (Wortsman et
    al., "Model soups", ICML 2022).

    Args:
        first: the run of the first seed, with the options.
        arguments: as for `train`.
        progress: show progress bars on stderr.
        notify: called before each seed, if there is one at a time.
        module: the `LightningModule`.

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
    if config.overwrite and not config.resume:
        for old in Path(config.runs, config.name).glob("seed-*/*.ckpt"):
            old.unlink()
    if config.jobs > 1:
        first.data.load()  # pairs are made once, before processes share them
    # The mean of rounded weights is rounded again.
    words = [*arguments, "--bits", "16"] if config.average else list(arguments)
    seeds = range(config.seed_everything, config.seed_everything + config.seeds)
    alone = config.jobs == 1
    train_seed = partial(
        _train_seed,
        words,
        module,
        seeds=seeds,
        threads=max(1, torch.get_num_threads() // config.jobs),
        progress=progress and alone,
        notify=notify if alone else None,
    )
    runtime = Runtime(jobs=config.jobs, progress=progress and not alone)
    results = parallel_map(train_seed, seeds, "seeds", runtime, chunk_size=1)
    figures = {seed: result.results for seed, result in zip(seeds, results, strict=True)}
    if config.average:
        folders = [result.package for result in results]
        mean = first.write(_mean(folders), [check_package(folder) for folder in folders])
        return replace(mean, seeds=figures)

    def dev_score(result: TrainingResult) -> float:
        return fmean(main_figure(head)[1] or 0.0 for head in result.results["dev"].values())

    median = sorted(results, key=dev_score)[(len(results) - 1) // 2]
    with atomic_folder(first.package) as folder:
        shutil.copytree(median.package, folder, dirs_exist_ok=True)
    return replace(median, package=first.package, seeds=figures)


def _train_seed(
    arguments: Sequence[str],
    module: type[EvaluatorModule],
    seed: int,
    *,
    seeds: Sequence[int],
    threads: int,
    progress: bool,
    notify: Callable[[str], None] | None,
) -> TrainingResult:
    """Train one seed, with its share of the processor's threads."""
    torch.set_num_threads(threads)
    if notify:
        notify(f"Seed {seed}, run {seeds.index(seed) + 1} of {len(seeds)}.")
    words = [*arguments, "--seeds=1", f"--seed_everything={seed}", f"--part=seed-{seed}"]
    with quiet_lightning():
        result = Run(parse(words, progress=progress, module=module)).complete(notify)
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
