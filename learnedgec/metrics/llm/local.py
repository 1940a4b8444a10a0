"""Answers of a local causal language model, which fills in the schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from learnedgec.errors import ModelError
from learnedgec.evaluators.chat import (
    Answer,
)
from learnedgec.metrics.llm.answers import HIGHEST, LOWEST
from learnedgec.metrics.llm.requests import Request
from learnedgec.runtime.runtime import Runtime


def ask_local(
    name: str, requests: Sequence[Request], runtime: Runtime
) -> Iterator[tuple[Request, Answer]]:
    """Let a causal language model fill in the schema, one rating of every request at a time."""
    if not requests:
        return
    import torch

    from learnedgec.evaluators.batching import Batch, model_inputs
    from learnedgec.evaluators.inference import run
    from learnedgec.evaluators.loading import load_model, load_tokenizer

    tokenizer = load_tokenizer(name)
    model: Any = load_model(name, runtime, "AutoModelForCausalLM")
    digits = _digits(tokenizer, name)
    head = model.get_output_embeddings()

    def forward(batch: Batch) -> torch.Tensor:
        states = model.base_model(**model_inputs(batch, model)).last_hidden_state
        last = batch["attention_mask"].sum(dim=1) - 1
        return head(states[torch.arange(len(last), device=last.device), last])[:, digits]  # type: ignore[no-any-return]

    templated = bool(tokenizer.chat_template)
    prompts = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": request.prompt}],
            tokenize=False,
            add_generation_prompt=True,
        )
        if templated
        else request.prompt + "\n\n"
        for request in requests
    ]
    texts = ["{" for _ in requests]
    for number in range(1, max(len(request.rows) for request in requests) + 1):
        open_ = [i for i, request in enumerate(requests) if len(request.rows) >= number]
        for i in open_:
            texts[i] += f'"correction{number}":'
        items = [prompts[i] + texts[i] for i in open_]
        _check_fits(tokenizer, model, items, not templated, name)
        logits = run(
            forward,
            tokenizer,
            items,
            runtime,
            max_length=model.config.max_position_embeddings,
            special_tokens=not templated,
            description=f"correction {number}",
        )
        for i, row in zip(open_, logits, strict=True):
            texts[i] += f"{LOWEST + int(row.argmax())}"
            texts[i] += "," if number < len(requests[i].rows) else "}"
    for request, prompt, text in zip(requests, prompts, texts, strict=True):
        yield request, Answer(text, None, len(tokenizer(prompt)["input_ids"]), len(request.rows))


def _digits(tokenizer: Any, name: str) -> list[int]:
    """Return the tokens that write each rating after a colon."""
    written = [
        tokenizer(f":{rating}", add_special_tokens=False)["input_ids"]
        for rating in range(LOWEST, HIGHEST + 1)
    ]
    last = [ids[-1] for ids in written]
    if len({tuple(ids[:-1]) for ids in written}) > 1 or len(set(last)) < len(last):
        raise ModelError(
            f"the tokenizer of {name} does not write the digits 1 to 5 as one token each; "
            "use another model."
        )
    return last


def _check_fits(
    tokenizer: Any, model: Any, items: Sequence[str], special_tokens: bool, name: str
) -> None:
    """Raise unless every prompt fits the model; a truncated prompt would be a different question."""
    encoded = tokenizer(list(items), add_special_tokens=special_tokens, verbose=False)
    longest = max(map(len, encoded["input_ids"]))
    limit = model.config.max_position_embeddings
    if longest > limit:
        raise ModelError(
            f"a prompt has {longest} tokens and {name} reads {limit}; use a smaller group_size or a "
            "model with a longer context."
        )
