"""Answers of a local causal language model, which fills in the schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from learnedgec.errors import ModelError
from learnedgec.evaluators.chat import Answer
from learnedgec.evaluators.inference import Batch, model_inputs, run
from learnedgec.evaluators.loading import load_model, load_tokenizer
from learnedgec.metrics.llm import HIGHEST, LOWEST, Request
from learnedgec.runtime.runtime import Runtime


def ask_local(
    name: str, requests: Sequence[Request], runtime: Runtime
) -> Iterator[tuple[Request, Answer]]:
    """Let a causal language model fill in the schema, one rating of every request at a time.

    Args:
        name: the model's hub id or directory.
        requests: the prompts with their schemas.
        runtime: how the model runs.

    Raises:
        ModelError: the tokenizer does not write ratings as one token each, or a prompt is too long.
    """
    tokenizer = load_tokenizer(name)
    model: Any = load_model(name, runtime, "AutoModelForCausalLM")
    digits = _digits(tokenizer, name)
    head = model.get_output_embeddings()
    limit = model.config.max_position_embeddings
    templated = bool(tokenizer.chat_template)

    def forward(batch: Batch) -> torch.Tensor:
        states = model.base_model(**model_inputs(batch, model)).last_hidden_state
        last = batch["attention_mask"].sum(dim=1) - 1
        logits: torch.Tensor = head(states[torch.arange(len(last), device=last.device), last])
        return logits[:, digits]

    prompts = [_in_template(tokenizer, request.prompt) for request in requests]
    texts = ["{" for _ in requests]
    for number in range(max(len(request.rows) for request in requests)):
        unanswered = [i for i, request in enumerate(requests) if len(request.rows) > number]
        for i in unanswered:
            texts[i] += f'"{requests[i].keys[number]}":'
        items = [prompts[i] + texts[i] for i in unanswered]
        encoded = tokenizer(items, add_special_tokens=not templated, verbose=False)["input_ids"]
        # A truncated prompt would be a different question.
        if (longest := max(map(len, encoded))) > limit:
            raise ModelError(
                f"a prompt has {longest} tokens and {name} reads {limit}; use a smaller group_size or a "
                "model with a longer context."
            )
        logits = run(
            forward,
            tokenizer,
            items,
            runtime,
            max_length=limit,
            special_tokens=not templated,
            description=f"correction {number + 1}",
        )
        for i, row in zip(unanswered, logits, strict=True):
            end = "," if number + 1 < len(requests[i].rows) else "}"
            texts[i] += f"{LOWEST + int(row.argmax())}{end}"
    for request, prompt, text in zip(requests, prompts, texts, strict=True):
        yield request, Answer(text, None, len(tokenizer(prompt)["input_ids"]), len(request.rows))


def _in_template(tokenizer: Any, prompt: str) -> str:
    """Return a prompt as the model expects it."""
    if not tokenizer.chat_template:
        return prompt + "\n\n"
    text: str = tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
    )
    return text


def _digits(tokenizer: Any, name: str) -> list[int]:
    """Return the tokens that write each rating after a colon."""
    ratings = [f":{rating}" for rating in range(LOWEST, HIGHEST + 1)]
    tokens = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in ratings]
    last = [ids[-1] for ids in tokens]
    if len({tuple(ids[:-1]) for ids in tokens}) > 1 or len(set(last)) < len(last):
        raise ModelError(
            f"the tokenizer of {name} does not write the digits 1 to 5 as one token each; "
            "use another model."
        )
    return last
