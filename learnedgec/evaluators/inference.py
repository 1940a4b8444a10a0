"""Inference with a transformer.

Every metric with an encoder or a language model passes its texts (or pairs of texts) to this module. Each
distinct input of all systems is run once, in batches of similar length. Results do not depend on the batch:
in float32 they agree to about 1e-6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from learnedgec.evaluators.batching import (
    Batch,
    Item,
    encode,
    model_inputs,
    padded_batches,
    warn_of_truncation,
)
from learnedgec.evaluators.loading import load_model, load_tokenizer, torch_device
from learnedgec.evaluators.precision import model_precision
from learnedgec.runtime.profile import PROFILE
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.store import RowStore
from learnedgec.types import Floats


def autocast(runtime: Runtime) -> Any:
    """Return the context in which a model other than an evaluator runs at the runtime's precision."""
    enabled = model_precision(runtime) == "bfloat16"
    return torch.autocast(torch_device(runtime).type, dtype=torch.bfloat16, enabled=enabled)


def run(
    forward: Callable[[Batch], torch.Tensor],
    tokenizer: Any,
    items: Sequence[Item],
    runtime: Runtime,
    *,
    width: int = 0,
    memory: dict[Item, Floats] | None = None,
    depends_on: Sequence[str] = (),
    **options: Any,
) -> Floats:
    """Return a row of float64 for each text or pair, (N, K), applying `forward` once to every distinct one.

    Only inputs neither in memory nor on disk are encoded. A cache folder keeps the rows for later runs. In
    memory and on disk each row has one more number: the tokens to which the input was truncated, or 0. So
    the warning about truncated inputs is repeated for stored rows.

    Args:
        forward: function that takes a batch of B inputs and returns a tensor of shape (B, K).
        tokenizer: the model's tokenizer.
        items: N texts or pairs.
        runtime: device, precision, token budget, progress bar and cache folder.
        width: K, the length of a row; needed only if rows are stored, or if there may be no items.
        memory: rows of K + 1 numbers by input; gets the new ones. Other threads may add to it.
        depends_on: what a row depends on besides its input; if empty, no row is stored on disk.
        options: `description`, what the progress bar says, and `max_length`, `special_tokens` and `marks` of
            `encode`.
    """
    memory = {} if memory is None else memory
    store: RowStore | None = None
    if runtime.cache_dir is not None and depends_on:
        store = RowStore(runtime.cache_dir, depends_on, width + 1)
    distinct = list(dict.fromkeys(items))
    rows = {item: memory[item] for item in distinct if item in memory}
    new = [item for item in distinct if item not in rows]
    stored = store.load(new) if store and new else {}
    fresh = [item for item in new if item not in stored]
    PROFILE.asked += len(distinct)
    PROFILE.remembered += len(distinct) - len(new)
    PROFILE.stored += len(stored)
    if fresh:
        encoded = run_distinct(forward, tokenizer, fresh, runtime, **options)
        by_item = dict(zip(fresh, encoded, strict=True))
        if store:
            store.save(by_item)
        stored |= by_item
    memory.update(stored)
    rows |= stored
    warn_of_truncation(rows[item][-1] for item in distinct)
    return np.array([rows[item][:-1] for item in items]) if items else np.empty((0, width))


def run_distinct(
    forward: Callable[[Batch], torch.Tensor],
    tokenizer: Any,
    items: Sequence[Item],
    runtime: Runtime,
    *,
    description: str = "encoding",
    **options: Any,
) -> Floats:
    """Return a row of K + 1 numbers for each distinct item; see `run`.

    Items with equal tokens share a row, so that their rows are equal to the last digit: texts may differ in
    spaces or, for many models, in case.
    """
    encoded, limits = encode(tokenizer, items, **options)
    numbers: dict[tuple[tuple[int, ...], ...], int] = {}
    inputs = zip(*(map(tuple, encoded[key]) for key in encoded), strict=True)
    row_of = [numbers.setdefault(tokens, len(numbers)) for tokens in inputs]
    distinct = dict(zip(encoded, zip(*numbers, strict=True), strict=True))
    order: list[int] = []
    outputs: list[npt.NDArray[np.float32]] = []
    with torch.inference_mode(), autocast(runtime):
        for positions, batch in padded_batches(
            tokenizer, distinct, runtime, description=description
        ):
            order += positions
            outputs.append(forward(batch).float().cpu().numpy())
    rows = np.concatenate(outputs)[np.argsort(order)][row_of]
    return np.column_stack([rows.astype(np.float64), limits])


@dataclass(frozen=True, slots=True)
class TokenStates:
    """The token states of N inputs, concatenated without padding, on the device.

    Attributes:
        values: float32 (T, H), where T is the number of tokens in all inputs.
        starts: int64 (N + 1,), the first row of each input; the last element is T.
    """

    values: torch.Tensor
    starts: torch.Tensor

    def index(
        self, rows: Sequence[int] | npt.NDArray[np.intp]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the positions of the tokens of some inputs, padded to the longest, and their mask.

        Returns:
            int64 (B, L), indices into `values` (arbitrary where padded), and bool (B, L).
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
    """Apply `forward` once to each tokenised input, and return the states of all tokens.

    Args:
        forward: function that takes a batch of B inputs padded to T tokens and returns a tensor of shape (B,
            T, H).
        tokenizer: the model's tokenizer.
        inputs: the token IDs of N ≥ 1 inputs, including special tokens.
        runtime: device, precision, token budget and progress bar.
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
    """Return the mean over unmasked tokens: (B, T, H) and (B, T) to (B, H)."""
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)


def sentence_vectors(
    name: str,
    texts: Sequence[str],
    runtime: Runtime,
    *,
    max_length: int | None = None,
    description: str = "encoding",
) -> Floats:
    """Return the mean of a pretrained encoder's last states over all tokens of each text.

    Args:
        name: name of the encoder, which is not fine-tuned.
        texts: N texts. Texts with equal tokens are encoded once, so their vectors are identical. The mean
            includes [CLS] and [SEP].
        runtime: device, precision, batches and progress bar.
        max_length: maximum length of a text in tokens; longer texts are truncated.
        description: what the progress bar says.

    Returns:
        float64 (N, H).
    """
    model = load_model(name, runtime)
    if not texts:
        return np.empty((0, int(model.config.hidden_size)))

    def forward(batch: Batch) -> torch.Tensor:
        return mean_pool(
            model(**model_inputs(batch, model)).last_hidden_state, batch["attention_mask"]
        )

    return run(
        forward,
        load_tokenizer(name),
        list(texts),
        runtime,
        max_length=max_length,
        description=description,
    )


def cosines(first: Floats, second: Floats) -> Floats:
    """Return the cosine of each row of one matrix with that of another, both (N, H), as (N,)."""
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    cosine: Floats = np.sum(first * second, axis=1) / np.maximum(norms, 1e-12)
    return cosine
