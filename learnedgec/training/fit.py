"""Train an evaluator from a configuration to a package: the options, and one run or several seeds."""

from __future__ import annotations

import copy
import inspect
import math
import os
import pkgutil
import re
import shutil
from argparse import SUPPRESS, ArgumentError
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import torch
import yaml
from jsonargparse.typing import PositiveInt
from lightning_fabric.utilities.exceptions import MisconfigurationException
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
from pytorch_lightning.cli import LightningArgumentParser, LightningCLI

from learnedgec.data.configuration import (
    check_arguments,
    unknown_argument,
    unknown_key,
    with_configurations,
    wrong_value,
)
from learnedgec.data.text import write_text
from learnedgec.errors import ConfigError, LearnedgecError, UnknownNameError
from learnedgec.evaluators.evaluator import Evaluator, EvaluatorModel
from learnedgec.evaluators.package import check_package
from learnedgec.evaluators.precision import Bits
from learnedgec.runtime.files import atomic_folder
from learnedgec.runtime.plugins import see_current_folder
from learnedgec.runtime.runtime import Runtime, parallel_map
from learnedgec.training.callbacks import LastCheckpoint
from learnedgec.training.data import TrainingData
from learnedgec.training.evaluate import main_figure
from learnedgec.training.module import EvaluatorModule
from learnedgec.training.pairs import REGISTRY, import_plugins
from learnedgec.training.run import Run, TrainingResult, quiet_lightning, run_folder
from learnedgec.training.start import check_start


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
        run = new_run(arguments, progress=progress, module=module)
        if alone and run.trainer.world_size > 1:
            raise ConfigError(
                "trainer.devices: training from Python uses one device; `learnedgec train` uses several."
            )
        if run.config.seeds > 1:
            return _train_seeds(run, arguments, notify)
        if run.config.average:
            raise ConfigError("average: one seed has no mean; set seeds to 2 or more.")
        return run.complete(notify)


def _train_seeds(
    first: Run, arguments: Sequence[str], notify: Callable[[str], None] | None
) -> TrainingResult:
    """Train the seeds, `jobs` at a time, and write the package.

    The mean of the weights of runs that differ in their seed is often better than each of them (Wortsman et
    al., "Model soups", ICML 2022).

    Args:
        first: the run of the first seed, with the options.
        arguments: as for `train`.
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
    # The mean of rounded weights is rounded again.
    words = [*arguments, "--bits", "16"] if config.average else list(arguments)
    seeds = range(config.seed_everything, config.seed_everything + config.seeds)
    alone, progress = config.jobs == 1, first.data.progress
    train_seed = partial(
        _train_seed,
        words,
        type(first.module),
        seeds=seeds,
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
    arguments: Sequence[str],
    module: type[EvaluatorModule],
    seed: int,
    *,
    seeds: Sequence[int],
    earlier: Mapping[Path, int],
    threads: int,
    progress: bool,
    notify: Callable[[str], None] | None,
) -> TrainingResult:
    """Train one seed, with its share of the processor's threads.

    Its first checkpoint removes what is left of earlier checkpoints (path -> time) of other seeds.
    """
    torch.set_num_threads(threads)
    if notify:
        notify(f"Seed {seed}, run {seeds.index(seed) + 1} of {len(seeds)}.")
    words = [*arguments, "--seeds=1", f"--seed_everything={seed}", f"--part=seed-{seed}"]
    with quiet_lightning():
        run = new_run(words, progress=progress, module=module)
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


# -- the options of a run ----------------------------------------------------------------------------

_DEFAULTS: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("defaults.yaml").read_text(encoding="utf-8")
)

# The groups of options in the order of the help, each with its heading there.
_GROUPS = {
    "name": "the run",
    "model": "model",
    "data": "data",
    "trainer": "trainer (Lightning's)",
    "best": "best: the checkpoint that becomes the package (Lightning's ModelCheckpoint)",
    "last": "last: the checkpoint to continue from",
    "early_stopping": "early_stopping (Lightning's EarlyStopping)",
}

_USAGE = """learnedgec train --config FILE_OR_NAME [--KEY VALUE ...] [--quiet]
       learnedgec train --init FILE [--for {ratings,pairs,parallel}]"""

_DESCRIPTION = "Train an evaluator from a configuration, each key of which is also an option."


class _ParsedRun(LightningCLI):
    """LightningCLI with the keys of a training run; it parses and builds but does not train."""

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        add = parser.add_argument
        add("--name", type=str, help="name of the package", required=True)
        add("--output", type=str, default="checkpoints", help="folder for the package")
        bits = "bits per weight in the package: 16, or 4 in the encoder's matrices"
        policy = "permissive: refuse data and encoders whose licence forbids commercial use"
        add("--licence-policy", type=Literal["any", "permissive"], default="any", help=policy)
        add("--bits", type=Bits, default=16, help=bits)
        add("--runs", type=str, default="runs", help="folder for logs and resumable checkpoints")
        seeds = (
            "number of seeds, from seed_everything; the median run is packaged, of two the better"
        )
        add("--seeds", type=PositiveInt, default=1, help=seeds)
        add("--jobs", type=PositiveInt, default=1, help="number of seeds trained side by side")
        flags = {
            "average": "package the mean of the seeds' weights in place of the median run",
            "resume": "continue this run from its last checkpoint",
            "overwrite": "start from scratch; replace an evaluator or an unfinished run of this name",
        }
        for flag, text in flags.items():
            add(f"--{flag}", action="store_true", help=text)
        # A seed of several, or a trial of a sweep, has its package beside its checkpoints.
        add("--part", type=str, default="", help=SUPPRESS)
        # Callbacks with separate keys: the best checkpoint, the one to resume from, and early stopping.
        parser.add_lightning_class_args(ModelCheckpoint, "best")
        parser.add_lightning_class_args(LastCheckpoint, "last")
        parser.add_lightning_class_args(EarlyStopping, "early_stopping")
        for group in ("best", "last", "early_stopping"):
            values = _DEFAULTS[group].items()
            parser.set_defaults({f"{group}.{key}": value for key, value in values})
        # Pairs are cached by what they depend on, so that runs with the same pairs share them.
        parser.link_arguments("runs", "data.folder")
        for group in ("best", "last"):
            keys = ("runs", "name", "part")
            parser.link_arguments(keys, f"{group}.dirpath", compute_fn=run_folder)

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        if "--help-all" in args:
            write_text("-", _help(parser))
            raise SystemExit(0)
        try:
            check_arguments(args, parser)
            super().parse_arguments(parser, args)
        except ArgumentError as error:
            if unknown := unknown_key(str(error), parser) or unknown_argument(str(error), parser):
                raise unknown from None
            raise

    def before_instantiate_classes(self) -> None:
        # Loading the model takes long.
        if self.config.licence_policy == "permissive":
            check_start(self.config.model.encoder)


def new_run(
    arguments: Sequence[str], *, progress: bool, module: type[EvaluatorModule] = EvaluatorModule
) -> Run:
    """Return a run with the Trainer, the module and the data that arguments describe.

    Args:
        arguments: the arguments of `learnedgec train`.
        progress: whether progress is shown on stderr.
        module: the class of the module.

    Raises:
        ConfigError: a value is unusable or a key is missing; the message names the key path.
        UnknownNameError: no configuration, key or pair source has such a name.
        argparse.ArgumentError: an unknown flag.
    """
    import_plugins()
    see_current_folder()  # for classes that a configuration names by their import path
    try:
        parsed = _ParsedRun(
            module,
            TrainingData,
            save_config_callback=None,
            trainer_defaults={**_DEFAULTS["trainer"], "enable_progress_bar": progress},
            seed_everything_default=1,
            parser_kwargs={"exit_on_error": False, "prog": "learnedgec train"},
            auto_configure_optimizers=False,
            args=with_configurations(arguments),
            run=False,
        )
    except ArgumentError as error:
        _explain(str(error))
        raise
    except (ValueError, OverflowError, RecursionError, MisconfigurationException) as error:
        raise _cause(error) from None
    parsed.datamodule.progress = progress
    return Run(parsed)


# Required keys and their purpose.
_NEEDED = {
    "name": "give the package a name, such as mine",
    "model.heads": "name the outputs to learn, such as {fluency: {input: hypothesis}}",
}

# The parser's message about an option that a class (of pairs, or of heads) requires or does not have.
_CLASS_OPTION = re.compile(
    r"given class_path '([\w.]+)':\s+"
    r"(?:the following arguments are required: (.+)|Option '([^'.]+).*' is not accepted)"
)


def _explain(message: str) -> None:
    """Raise a clearer error if the parser's message, which lists every type, is about a common mistake.

    Raises:
        UnknownNameError: no pair source or key has the name that was given.
        ConfigError: a key is missing, or has a value of another type or out of range.
    """
    keys = re.findall(r'Parser key "([\w.]+)":', message)
    key = ".".join(keys)
    for name in re.findall(r"'class_path': '(\w+)'", message) if keys[:1] == ["data.pairs"] else ():
        REGISTRY.find(name)
    for needed, purpose in _NEEDED.items():
        absent = rf'arguments are required:.*\b{needed}\b|key "{needed}":.*value: None'
        if re.search(absent, message, re.DOTALL):
            raise ConfigError(f"{needed} is missing; {purpose}.")
    if keys and (option := _CLASS_OPTION.search(message)):
        path, missing, unknown = option.groups()
        kind = path.rpartition(".")[2]
        page = f"{keys[0]}.help" + ("" if kind == "HeadOptions" else f" {kind}")
        hint = f"`learnedgec train --{page}` lists the options."
        if missing:
            raise ConfigError(f"{key}: {missing} is missing; {hint}")
        known = inspect.signature(pkgutil.resolve_name(path)).parameters
        raise UnknownNameError(f"key of {key}", unknown, known, hint=hint)
    if sentence := wrong_value(message):
        raise ConfigError(sentence)


def _cause(error: BaseException) -> LearnedgecError:
    """Return the learnedgec error inside a parser's error, or the error's text as `ConfigError`."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, LearnedgecError):
            return inner
        inner = inner.__cause__ or inner.__context__
    where = (
        "trainer" if isinstance(error, MisconfigurationException) else "an option cannot be read"
    )
    return ConfigError(f"{where}: {error}")


def _help(parser: LightningArgumentParser) -> str:
    """Return every option by group; linked ones, which cannot be set, are left out."""
    parser.usage, parser.description = _USAGE, _DESCRIPTION
    groups = {
        action.dest: group
        for group in parser._action_groups
        for action in group._group_actions
        if action.dest in _GROUPS
    }
    for prefix, heading in _GROUPS.items():
        groups[prefix].title = heading
    parser._action_groups = [groups[prefix] for prefix in _GROUPS]
    return str(parser.format_help())
