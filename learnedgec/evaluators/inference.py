"""Inference with a transformer, which tokenises texts and runs them in batches of similar length.

Every metric with an encoder or a language model passes its texts (or pairs of texts) to this module. Each
distinct input of all systems is run once. Inputs are sorted by length and packed by a token budget, and each
batch is padded to its longest input. Results do not depend on the batch: in float32 they agree to about 1e-6.
"""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from learnedgec.errors import InputWarning, warn_of_inputs
from learnedgec.evaluators.loading import load_model, load_tokenizer, torch_device
from learnedgec.evaluators.precision import has_bfloat16, model_precision
from learnedgec.runtime.runtime import PROFILE, Runtime, track
from learnedgec.runtime.store import RowStore
from learnedgec.types import Floats, Texts

# A batch with this many tokens keeps a processor busy.
_ENOUGH_TOKENS = 512

# The columns of a tokenised input with one number for each token; padding is 0.
TOKEN_COLUMNS = ("input_ids", "token_type_ids", "capitals", "hypothesis")

# Tokenizers without a maximum length say that it is 10^30.
_UNLIMITED = 1_000_000

Item: TypeAlias = str | tuple[str, str]

Batch: TypeAlias = dict[str, torch.Tensor]


class TruncationWarning(InputWarning):
    """Warning that some inputs were longer than the encoder accepts and were truncated.

    Args:
        message: the warning.
        items: these inputs.
    """

    def __init__(self, message: str, items: Collection[Item] = ()) -> None:
        super().__init__(message)
        self.items = items


def warn_of_truncation(items: Collection[Item], limits: Iterable[float]) -> None:
    """Warn if some inputs were truncated.

    Args:
        items: the inputs.
        limits: the number of tokens to which each input was truncated, or 0.
    """
    cut = {item: int(limit) for item, limit in zip(items, limits, strict=True) if limit}
    if cut:
        limit = next(iter(cut.values()))
        text = (
            f"{len(cut)} of {len(items)} inputs were longer than {limit} tokens and were truncated."
        )
        warn_of_inputs(TruncationWarning(text, [*cut]))


def tokenise(tokenizer: Any, items: Sequence[Item]) -> Mapping[str, list[list[int]]]:
    """Return the columns of `encode`, with one warning if inputs were truncated."""
    columns, limits = encode(tokenizer, items)
    warn_of_truncation(items, limits)
    return columns


def encode(
    tokenizer: Any,
    items: Sequence[Item],
    *,
    max_length: int | None = None,
    special_tokens: bool = True,
    marks: Collection[str] = (),
) -> tuple[Mapping[str, list[list[Any]]], list[int]]:
    """Tokenise texts (or pairs of texts) without padding.

    Args:
        tokenizer: tokenizer of the model.
        items: at least one text, or pair of texts, but not both. `run` removes duplicates first.
        max_length: maximum length of an input in tokens; longer inputs are truncated.
        special_tokens: add [CLS], [SEP] and the like.
        marks: columns that a fast tokenizer adds: for texts `capitals` (`mark_capitals`), for pairs
            `hypothesis` (1 for the tokens of the second text and its end, else 0), for both `offset_mapping`,
            where each token begins and ends in its text. Other names, such as that of the mask, add nothing.

    Returns:
        `input_ids`, from some tokenizers `token_type_ids`, and the marks, one list for each item; and the
        number of tokens to which each item was truncated, or 0.
    """
    # One list of texts, or the lists of the first and of the second texts of pairs.
    sides = (
        [list(items)] if isinstance(items[0], str) else list(map(list, zip(*items, strict=True)))
    )
    unlimited = tokenizer.model_max_length >= _UNLIMITED
    limit = max_length or (None if unlimited else int(tokenizer.model_max_length))
    call = partial(
        tokenizer,
        *sides,
        add_special_tokens=special_tokens,
        return_attention_mask=False,
        return_offsets_mapping=not {"capitals", "offset_mapping"}.isdisjoint(marks),
        verbose=False,
    )
    encoded = call(truncation=limit is not None, max_length=limit)
    limits = [0] * len(items)
    if limit is not None:
        if encoded.encodings is not None:
            cut = [bool(encoding.overflowing) for encoding in encoded.encodings]
        else:
            # Tokenizers that are written in Python do not report what they cut.
            cut = [len(ids) > limit for ids in call()["input_ids"]]
        limits = [limit * is_cut for is_cut in cut]
    columns = dict(encoded)
    if "capitals" in marks:
        columns["capitals"] = list(map(mark_capitals, sides[0], columns["offset_mapping"]))
    if "hypothesis" in marks:
        columns["hypothesis"] = _hypothesis_marks(encoded)
    if "offset_mapping" not in marks:
        columns.pop("offset_mapping", None)
    return columns, limits


def _hypothesis_marks(encoded: Any) -> list[list[int]]:
    """Return 1 for each token of encoded pairs that belongs to the second text or ends it, 0 for others."""
    marks = []
    for encoding in encoded.encodings:
        sides = encoding.sequence_ids
        start = sides.index(1) if 1 in sides else len(sides) - 1
        marks.append([0] * start + [1] * (len(sides) - start))
    return marks


def word_places(text: str, offsets: Sequence[tuple[int, int]]) -> list[int | None]:
    """Return for each token the place of its word in the text, `None` for special tokens.

    The last token stands for the end of the text if it is special; its place is the number of words.

    Args:
        text: the text, its words separated by white space.
        offsets: start and end of each token in the text, in characters; special tokens have an empty span.

    Example:
        >>> word_places("He goes", [(0, 0), (0, 2), (3, 5), (5, 7), (0, 0)])
        [None, 0, 1, 1, 2]
    """
    starts = [word.start() for word in re.finditer(r"\S+", text)]
    # Some tokenizers count the space before a word as part of it, so the last character counts.
    places = [
        max(bisect_right(starts, end - 1) - 1, 0) if end > start else None for start, end in offsets
    ]
    if offsets and offsets[-1][0] == offsets[-1][1]:
        places[-1] = len(starts)
    return places


_FASTER = "--dtype bfloat16 is about twice as fast on this hardware, and changes the third digit of scores."


def padded_batches(
    tokenizer: Any,
    encoded: Mapping[str, Sequence[Sequence[int]]],
    runtime: Runtime,
    *,
    description: str = "encoding",
) -> Iterator[tuple[list[int], Batch]]:
    """Yield tokenised inputs in batches of similar length on the device.

    Args:
        tokenizer: tokenizer of the model, for its padding token.
        encoded: columns of `encode`.
        runtime: token budget, device and progress bar.
        description: label of the progress bar.

    Yields:
        The positions of the batch's inputs, and the batch: int64 tensors of shape (B, T).
    """
    groups = group_by_length([len(ids) for ids in encoded["input_ids"]], runtime.batch_tokens)
    device = torch_device(runtime)
    weights = [len(group) for group in groups]
    hint = _FASTER if runtime.dtype == "float32" and has_bfloat16(device) else ""
    with PROFILE.timed():
        for group in track(groups, description, weights=weights, show=runtime.progress, hint=hint):
            batch = pad(tokenizer, encoded, group)
            tokens = int(batch["attention_mask"].sum())
            PROFILE.encoded += len(group)
            PROFILE.tokens += tokens
            PROFILE.padding += batch["attention_mask"].numel() - tokens
            yield group, {key: tensor.to(device) for key, tensor in batch.items()}


def group_by_length(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Return the positions of inputs in groups of similar length that fit a token budget when padded.

    A group of 512 tokens or more also ends before an input that is shorter than nine tenths of its longest
    one. Otherwise a few inputs of very different lengths would be mostly padding.

    Example:
        >>> group_by_length([2, 9, 3, 3], batch_tokens=9)
        [[1], [2, 3, 0]]
    """
    # With the longest inputs first, a lack of memory shows at once, and the progress bar is cautious.
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable")
    starts = [0]
    while starts[-1] < len(order):
        longest = max(int(lengths[order[starts[-1]]]), 1)
        end = starts[-1] + max(batch_tokens // longest, 1)
        similar = starts[-1] + max(math.ceil(_ENOUGH_TOKENS / longest), 1)
        while similar < min(end, len(order)) and 10 * lengths[order[similar]] >= 9 * longest:
            similar += 1
        starts.append(min(end, similar))
    return [order[a:b].tolist() for a, b in itertools.pairwise(starts)]


def pad(tokenizer: Any, encoded: Mapping[str, Any], group: Sequence[int]) -> Batch:
    """Stack tokenised inputs, padded on the right to the longest, with their attention mask.

    Args:
        tokenizer: tokenizer of the model, for its padding token.
        encoded: columns of `encode`.
        group: the places of the inputs to stack.
    """
    longest = max(max(len(encoded["input_ids"][i]) for i in group), 1)
    batch: Batch = {}
    for key in TOKEN_COLUMNS:
        if key in encoded:
            fill = tokenizer.pad_token_id or 0 if key == "input_ids" else 0
            rows = np.full((len(group), longest), fill, dtype=np.int64)
            for row, i in enumerate(group):
                rows[row, : len(encoded[key][i])] = encoded[key][i]
            batch[key] = torch.from_numpy(rows)
    lengths = torch.tensor([len(encoded["input_ids"][i]) for i in group])
    mask = torch.arange(longest)[None] < lengths[:, None]
    batch["attention_mask"] = mask.to(torch.int64)
    return batch


def model_inputs(batch: Mapping[str, torch.Tensor], model: Any) -> Batch:
    """Return the inputs that a model's `forward` accepts; RoBERTa, for example, has no token types."""
    accepted = {"input_ids", "attention_mask"}
    if getattr(model.config, "type_vocab_size", 0) > 1:
        accepted.add("token_type_ids")
    return {key: value for key, value in batch.items() if key in accepted}


def autocast(runtime: Runtime) -> Any:
    """Return the context in which a model other than an evaluator runs at the runtime's precision."""
    enabled = model_precision(runtime) == "bfloat16"
    return torch.autocast(torch_device(runtime).type, dtype=torch.bfloat16, enabled=enabled)


@dataclass(frozen=True, slots=True)
class KnownRows:
    """The rows of a model's outputs that are known already, in memory and on disk.

    Attributes:
        width: K, the length of a row; needed only if rows are stored, or if there may be no items.
        depends_on: everything besides the input on which a row depends; if empty, no row is stored on disk.
        memory: rows of K + 1 numbers by input; gets the new ones. Other threads may add to it.
    """

    width: int = 0
    depends_on: Sequence[str] = ()
    memory: dict[Item, Floats] = field(default_factory=dict)

    def store(self, folder: str | None) -> RowStore | None:
        """Return the rows on disk, if there is a folder for them."""
        if folder is None or not self.depends_on:
            return None
        return RowStore(folder, self.depends_on, self.width + 1)


def run(
    forward: Callable[[Batch], torch.Tensor],
    tokenizer: Any,
    items: Sequence[Item],
    runtime: Runtime,
    known: KnownRows | None = None,
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
        known: the rows that are known; none by default.
        options: `description`, the label of the progress bar, and `max_length`, `special_tokens` and `marks`
            of `encode`.
    """
    known = known or KnownRows()
    memory, store = known.memory, known.store(runtime.cache_dir)
    distinct = list(dict.fromkeys(items))
    new = [item for item in distinct if item not in memory]
    stored = store.load(new) if store and new else {}
    memory.update(stored)
    fresh = [item for item in new if item not in stored]
    PROFILE.inputs += len(distinct)
    PROFILE.remembered += len(distinct) - len(new)
    PROFILE.stored += len(stored)
    if fresh:
        rows = run_distinct(forward, tokenizer, fresh, runtime, **options)
        by_item = dict(zip(fresh, rows, strict=True))
        if store:
            store.save(by_item)
        memory.update(by_item)
    warn_of_truncation(distinct, [memory[item][-1] for item in distinct])
    return np.array([memory[item][:-1] for item in items]) if items else np.empty((0, known.width))


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
) -> TokenStates:
    """Apply `forward` once to each tokenised input, and return the states of all tokens.

    Args:
        forward: function that takes a batch of B inputs padded to T tokens and returns a tensor of shape (B,
            T, H).
        tokenizer: the model's tokenizer.
        inputs: the token IDs of N ≥ 1 inputs, including special tokens.
        runtime: device, precision, token budget and progress bar.
    """
    lengths = torch.tensor([len(ids) for ids in inputs], device=torch_device(runtime))
    starts = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    values: torch.Tensor | None = None
    with torch.inference_mode(), autocast(runtime):
        for positions, batch in padded_batches(tokenizer, {"input_ids": inputs}, runtime):
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
    texts: Texts,
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
        description: label of the progress bar.

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
    """Return the cosine of each row of one matrix with the same row of another, both (N, H), as (N,)."""
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    cosine: Floats = np.sum(first * second, axis=1) / np.maximum(norms, 1e-12)
    return cosine


# -- capitals of words, for encoders that do not see case --------------------------------------------

# Marks of tokens. Only a token that begins a word is marked, because the rest of a word hardly ever changes.
UNMARKED, SMALL, CAPITAL = 0, 1, 2


def mark_capitals(text: str, offsets: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each token whether it begins a word with a capital (2), a small letter (1), or neither (0).

    Args:
        text: the text, its words separated by spaces.
        offsets: start and end of each token in the text, in characters; special tokens have an empty span.

    Example:
        >>> mark_capitals("I am Ann .", [(0, 0), (0, 1), (2, 4), (5, 6), (6, 8), (9, 10), (0, 0)])
        [0, 2, 1, 2, 0, 0, 0]
    """
    marks = []
    for start, end in offsets:
        # Some tokenizers count the space before a word as part of it.
        start += len(text[start:end]) - len(text[start:end].lstrip())
        begins = end > start and (start == 0 or text[start - 1].isspace())
        letter = text[start] if begins else ""
        # Digits, punctuation and scripts without case have no other case.
        marks.append(
            UNMARKED if letter.lower() == letter.upper() else CAPITAL if letter.isupper() else SMALL
        )
    return marks
