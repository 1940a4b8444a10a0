"""The nearest correct version of each output, as a language model at an endpoint writes it.

The number of edits from an output to it is a post-edit distance (`hter`). As a reference of a metric that
compares edits, it is a closest gold: edits that no annotator thought of are not errors there. The versions
are written to files once, and metrics read the files.

Source of the idea: human-targeted references, Snover et al., "A Study of Translation Edit Rate with Targeted
Human Annotation" (AMTA 2006), here by a model. A model's version is no human's: people should check some.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from learnedgec._version import __version__
from learnedgec.data.catalog.files import cache_folder
from learnedgec.data.corpus import Corpus
from learnedgec.data.text import write_json, write_jsonl
from learnedgec.errors import ModelError
from learnedgec.evaluators.chat import OPENAI, Answer, Asker, Endpoint, OutputFormat, object_in
from learnedgec.runtime.files import PathLike
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.store import Store

RECORD = "references.json"
"""The file that tells how references were made, and what they cost."""

PROMPT = """\
A sentence that a learner wrote was corrected. Make the correction entirely correct, with the meaning of \
the source sentence, and change as little of the correction as possible. Keep its words wherever they are \
right, and keep spaces between tokens and punctuation as they are. If nothing is wrong, repeat it.

Source: {source}

Correction: {correction}

Answer with a JSON object, and with nothing else: {{"sentence": "the correct version"}}"""


@dataclass(frozen=True)
class _Output:
    """An output whose nearest correct version is asked for."""

    source: str
    text: str

    schema: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {"sentence": {"type": "string"}},
        "required": ["sentence"],
        "additionalProperties": False,
    }

    @property
    def prompt(self) -> str:
        """The user's message."""
        source, text = (json.dumps(each, ensure_ascii=False) for each in (self.source, self.text))
        return PROMPT.format(source=source, correction=text)

    def version(self, answer: Answer) -> str | None:
        """Return the sentence in an answer, with single spaces between tokens; `None` if there is none."""
        content = object_in(answer.text or "")
        sentence = content.get("sentence") if isinstance(content, dict) else None
        return " ".join(sentence.split()) if isinstance(sentence, str) else None

    def accepts(self, answer: Answer) -> bool:
        """Return whether an answer has a sentence; an empty one only for an empty output."""
        return bool(self.version(answer)) or (self.version(answer) == "" and not self.text)


@dataclass(frozen=True)
class Corrector:
    """The model that writes references.

    Attributes:
        model: the model's name at the endpoint.
        endpoint: base address of an OpenAI-compatible service, without a key.
        output: the way to ask the endpoint for JSON: json-schema, json-object or text (only by the prompt).
    """

    model: str = "gpt-4o-mini-2024-07-18"
    endpoint: str = OPENAI
    output: OutputFormat = "json-schema"

    def __post_init__(self) -> None:
        # This check is first, so that no other message shows an address with a key in it.
        Endpoint(self.endpoint, self.model)


def write_references(
    folder: PathLike, corpus: Corpus, corrector: Corrector, *, runtime: Runtime = Runtime()
) -> dict[str, Any]:
    """Write the nearest correct version of each output, one file of JSON Lines for each system.

    The file of a system, `NAME.jsonl`, is a table of `source`, `hypothesis` and `references`, which
    `--jsonl` reads. Equal outputs of a sentence are asked for once. Each answer is kept on disk as it
    arrives, so after an interruption only what is missing is asked for. `references.json` has the model, the
    prompt, and the tokens read and written.

    Args:
        folder: the folder of the files.
        corpus: the sources and the outputs of systems.
        corrector: the model.
        runtime: the number of requests at a time (`jobs`), and the folder of the answers.

    Returns:
        The content of `references.json`.

    Raises:
        ModelError: the endpoint failed, or the model gave no sentence for some output; nothing is written.
        MissingDependencyError: `openai` is not installed (extra `llm`).
    """
    rows = {
        system: [_Output(*pair) for pair in zip(corpus.sources, texts, strict=True)]
        for system, texts in corpus.systems.items()
    }
    outputs = list(dict.fromkeys(output for of_system in rows.values() for output in of_system))
    store = Store(runtime.cache_dir or cache_folder() / "answers")
    asker = Asker(corrector.endpoint, corrector.model, corrector.output, 0.0, 0, store)
    given = asker.answers(
        outputs, at_once=runtime.processes, about="references", show=runtime.progress
    )
    answers = dict(zip(outputs, given, strict=True))
    failed = [output for output, answer in answers.items() if not output.accepts(answer)]
    if failed:
        answer = answers[failed[0]]
        why = answer.refusal or f"not the JSON asked for: {(answer.text or '')[:60]!r}"
        raise ModelError(
            f"{corrector.model} did not correct {len(failed)} of {len(outputs)} outputs, the first "
            f"{failed[0].text[:60]!r} ({why[:200]}); the other answers are kept: run this again, or use "
            "another model."
        )
    record = {
        "model": corrector.model,
        "endpoint": corrector.endpoint,
        "output": corrector.output,
        "temperature": asker.temperature,
        "seed": asker.seed,
        "prompt": PROMPT,
        "outputs": len(outputs),
        "prompt_tokens": sum(answer.prompt_tokens for answer in answers.values()),
        "completion_tokens": sum(answer.completion_tokens for answer in answers.values()),
        "learnedgec": __version__,
    }
    for system, of_system in rows.items():
        write_jsonl(
            # Two files with the same name are told apart by their paths.
            Path(folder) / f"{system.strip('/').replace('/', '-')}.jsonl",
            (
                {
                    "source": output.source,
                    "hypothesis": output.text,
                    "references": [output.version(answers[output])],
                }
                for output in of_system
            ),
        )
    # The record comes last: where it is, all files are whole.
    write_json(Path(folder) / RECORD, record)
    return record
