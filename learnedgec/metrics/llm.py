"""Metrics for which a large language model rates corrections: LLM-S by sentences, LLM-E by edits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from learnedgec.data.catalog.files import cache_folder
from learnedgec.data.m2 import Edit
from learnedgec.data.references import References
from learnedgec.data.sentences import Sentences, Systems, as_sentences, as_systems
from learnedgec.edits.annotator import describe_annotator, extract_edits
from learnedgec.edits.max_match import reference_edits
from learnedgec.errors import ModelError, ParameterError
from learnedgec.evaluators.chat import (
    OPENAI,
    Answer,
    Asker,
    Endpoint,
    OutputFormat,
    import_openai,
    object_in,
)
from learnedgec.metrics.contract import Metric, RequestPlan, Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.store import Store
from learnedgec.types import Array, Floats, Texts

LOWEST, HIGHEST = 1, 5

_PROMPT = """\
Rate corrections of a sentence that a learner of English wrote.

First read the source sentence, then its corrections{shown}. Give each correction a whole number \
from {lowest} (worst) to {highest} (best) for {criterion}. Corrections that are equally good get the same \
number.{rule}

Source: {source}

Corrections:
{corrections}

Answer with a JSON object that gives every correction its number, and with nothing else: \
{{"correction1": number, …}}"""


class Request(NamedTuple):
    """A prompt, and the rows of the statistics that contain each of its corrections."""

    prompt: str
    rows: list[list[int]]

    @property
    def keys(self) -> list[str]:
        """The key of each correction in the answer's object."""
        return [f"correction{number}" for number in range(1, len(self.rows) + 1)]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of an answer."""
        number = {"type": "integer", "enum": list(range(LOWEST, HIGHEST + 1))}
        return {
            "type": "object",
            "properties": dict.fromkeys(self.keys, number),
            "required": self.keys,
            "additionalProperties": False,
        }

    def ratings(self, answer: Answer) -> list[int] | None:
        """Return the ratings in an answer, or `None` unless it is an object of the schema.

        Text around the object is ignored: models often put the object in a code block.
        """
        content = object_in(answer.text or "")
        if not isinstance(content, dict) or set(content) != set(self.keys):
            return None
        ratings = [content[key] for key in self.keys]
        valid = all(type(rating) is int and LOWEST <= rating <= HIGHEST for rating in ratings)
        return ratings if valid else None

    def accepts(self, answer: Answer) -> bool:
        """Return whether an answer is a refusal or follows the schema."""
        return answer.refusal is not None or self.ratings(answer) is not None


@dataclass(frozen=True)
class LlmS(Metric):
    """LLM-S: a large language model rates corrected sentences from 1 to 5.

    The corrections of one source are rated together, up to `group_size` at a time, so the ratings of a
    group are comparable; **a rating may then depend on the other corrections in its group**. Groups
    are made of all distinct corrections that one call scores, in an order that depends only on their texts,
    in parts of equal size: the order of systems and sentences does not matter, but adding a system can change
    the groups of the others. With `group_size=1` a score depends on source and hypothesis alone.

    Answers must follow a JSON schema. If one does not, the request is repeated, up to three times in all. If
    the model then still has not answered, or refuses, the run ends with an error after all other requests are
    done; with `refused='lowest'` it counts as the lowest rating, and `refused` in the details says how many
    did. Every usable answer or refusal is cached on disk, under `runtime.cache_dir` or in the user's cache
    folder, so an interrupted run continues where it stopped and repeating a run costs nothing. `runtime.jobs`
    is the number of concurrent requests. The API key is read from the environment variable LEARNEDGEC_API_KEY
    or, for OpenAI's own endpoint, OPENAI_API_KEY. Endpoints need the extra `llm`.

    A model on this machine is served by any OpenAI-compatible server, such as vLLM's or llama.cpp's:
    `endpoint='http://localhost:8000/v1'`.

    Source: Kobayashi et al., "Large Language Models Are State-of-the-Art Evaluator for Grammatical Error
    Correction" (BEA 2024). The prompt's wording is this project's own (the signature has its digest), and the
    source is shown alone; the study also showed the surrounding sentences.

    Attributes:
        model: the model's name at the endpoint.
        endpoint: base address of an OpenAI-compatible service, without a key.
        criterion: `overall` quality, `grammaticality`, `fluency` or `meaning` preservation alone.
        group_size: the largest number of corrections in a request; 5 in the study.
        output: the way to ask the endpoint for JSON: `json-schema`, `json-object` or `text` (only by the
            prompt).
        temperature: `None` leaves it to the endpoint.
        seed: seed of the first attempt; each retry adds 1; `None` leaves it to the endpoint.
        refused: the result if the model does not rate: an `error`, or the `lowest` rating.

    Example:
        >>> from learnedgec import load_metric
        >>> metric = load_metric("llm-s(criterion='fluency', endpoint='http://localhost:8000/v1')")
        >>> metric.plan(["He go ."], {"a": ["He goes ."], "b": ["He went ."]}).requests
        1
    """

    name: ClassVar[str] = "llm-s"
    # Answers, not systems, are stored, because the corrections of a group are rated together.
    stores_statistics: ClassVar[bool] = False
    needs_references: ClassVar[bool] = False
    criteria: ClassVar[Mapping[str, str]] = {
        "overall": "its overall quality",
        "grammaticality": "its grammaticality: how free of errors it is",
        "fluency": "its fluency: how natural it sounds",
        "meaning": "how well it keeps the meaning of the source sentence",
    }
    shown: ClassVar[str] = ""
    rule: ClassVar[str] = ""

    model: str = "gpt-4o-mini-2024-07-18"
    endpoint: str = OPENAI
    criterion: str = "overall"
    group_size: int = 5
    output: OutputFormat = "json-schema"
    temperature: float | None = 0.0
    seed: int | None = 0
    refused: Literal["error", "lowest"] = "error"

    def __post_init__(self) -> None:
        # This check is first, so that no other message shows an address with a key in it.
        Endpoint(self.endpoint, self.model)
        if self.criterion not in self.criteria:
            raise ParameterError(
                f"{self.name}(criterion={self.criterion!r}): one of "
                f"{', '.join(map(repr, self.criteria))} was expected."
            )
        if not 1 <= self.group_size <= 20:
            raise ParameterError(f"{self}: group_size must be from 1 to 20; the paper's is 5.")

    # -- the contract ----------------------------------------------------------------------------

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return `rating` float64, `answered` bool, and a row's share of its request's tokens; (N,) each.

        Raises:
            ModelError: the model did not rate every correction.
        """
        requests = self._requests(sources, hypotheses, runtime)
        rating = np.full(len(hypotheses), float(LOWEST))
        answered = np.zeros(len(hypotheses), dtype=bool)
        tokens = np.zeros((2, len(hypotheses)))
        reason = ""
        for request, answer in zip(requests, self._answers(requests, runtime), strict=True):
            rows = [row for corrections in request.rows for row in corrections]
            share = np.array([answer.prompt_tokens, answer.completion_tokens]) / len(request.rows)
            tokens[:, rows] = share[:, None]
            ratings = request.ratings(answer)
            if ratings is None:
                why = answer.refusal or f"not the JSON asked for: {(answer.text or '')[:60]!r}"
                reason = reason or f"{hypotheses[rows[0]][:60]!r} ({why[:200]})"
                continue
            answered[rows] = True
            for number, index in zip(ratings, request.rows, strict=True):
                rating[index] = number
        if reason and self.refused == "error":
            raise ModelError(
                f"{self.model} did not rate {np.sum(~answered)} of {len(hypotheses)} corrections, the first "
                f"{reason}; the other answers are kept. Use refused='lowest' to count them as the lowest "
                "rating, or another model."
            )
        counts = dict(zip(("prompt_tokens", "completion_tokens"), tokens, strict=True))
        return Statistics({"rating": rating, "answered": answered, **counts})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return each correction's rating, 1 to 5."""
        return statistics["rating"]

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the number of refused sentences, and the tokens of this system's share of requests."""
        return {
            "refused": float((~statistics["answered"]).sum()),
            "prompt_tokens": float(statistics["prompt_tokens"].sum()),
            "completion_tokens": float(statistics["completion_tokens"].sum()),
        }

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return whether each sentence was refused."""
        return {"refused": ~statistics["answered"]}

    @property
    def statistics_depend_on_others(self) -> str:
        """Why ratings depend on others: the corrections in a request are rated together."""
        if self.group_size == 1:
            return ""
        return "the corrections of a sentence are rated in groups; give group_size=1"

    def check(self, runtime: Runtime) -> None:
        """Raise unless the annotator and the client of the endpoint are available."""
        import_openai()
        super().check(runtime)

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the prompt's digest, and whether corrections share requests."""
        prompt = "".join([_PROMPT, self.shown, self.rule, self.criteria[self.criterion]])
        parts: dict[str, str | int | float] = {
            "prompt": hashlib.sha256(prompt.encode()).hexdigest()[:8]
        }
        if self.group_size > 1:
            parts["groups"] = "of all corrections scored together"
        return parts

    # -- requests ----------------------------------------------------------------------------------

    def plan(
        self, sources: Sentences, systems: Systems, *, runtime: Runtime = Runtime()
    ) -> RequestPlan:
        """Return the requests that scoring these systems would send, without sending them.

        Example:
            >>> from learnedgec import load_metric
            >>> plan = load_metric("llm-s").plan(["He go ."], {"a": ["He goes ."], "b": ["He went ."]})
            >>> plan.requests
            1
        """
        sources, systems = as_sentences(sources, "sources"), as_systems(systems)
        every = [source for _ in systems for source in sources]
        texts = [text for lines in systems.values() for text in lines]
        requests = self._requests(every, texts, runtime)
        stored = self._asker(runtime).stored(requests)
        lengths = [len(request.prompt) for request in requests if request.prompt not in stored]
        return RequestPlan(requests[0].prompt, len(requests), len(stored), sum(lengths))

    def _requests(self, sources: Texts, hypotheses: Texts, runtime: Runtime) -> list[Request]:
        """Return requests for groups of the distinct corrections of each source, whatever their spacing."""
        rows: dict[str, dict[str, list[int]]] = {}
        for row, texts in enumerate(zip(sources, hypotheses, strict=True)):
            source, correction = (" ".join(text.split()) for text in texts)
            rows.setdefault(source, {}).setdefault(correction, []).append(row)
        pairs = [(source, text) for source, corrections in rows.items() for text in corrections]
        shown = dict(zip(pairs, self._show(pairs, runtime), strict=True))
        requests = []
        for source, corrections in rows.items():
            # The order by digest follows neither the systems nor the alphabet.
            order = sorted(corrections, key=lambda text: hashlib.sha256(text.encode()).digest())
            parts = -(-len(order) // self.group_size)
            for group in (order[part::parts] for part in range(parts)):
                lines = [f"{number}. {shown[source, text]}" for number, text in enumerate(group, 1)]
                prompt = _PROMPT.format(
                    shown=self.shown,
                    lowest=LOWEST,
                    highest=HIGHEST,
                    criterion=self.criteria[self.criterion],
                    rule=self.rule,
                    source=json.dumps(source, ensure_ascii=False),
                    corrections="\n".join(lines),
                )
                requests.append(Request(prompt, [corrections[text] for text in group]))
        return requests

    def _show(self, pairs: Sequence[tuple[str, str]], runtime: Runtime) -> list[str]:
        """Return each correction of a source as it appears in the prompt."""
        return [json.dumps(correction, ensure_ascii=False) for _, correction in pairs]

    # -- answers -----------------------------------------------------------------------------------

    def _asker(self, runtime: Runtime) -> Asker:
        """Return what asks the model, with the answers on disk."""
        store = Store(runtime.cache_dir or cache_folder() / "answers")
        return Asker(self.endpoint, self.model, self.output, self.temperature, self.seed, store)

    def _answers(self, requests: Sequence[Request], runtime: Runtime) -> list[Answer]:
        """Return the answer to every request, which is read from disk if it is cached."""
        return self._asker(runtime).answers(
            requests, at_once=runtime.processes, about=self.name, show=runtime.progress
        )


@dataclass(frozen=True)
class LlmE(LlmS):
    """LLM-E: a large language model rates corrections from 1 to 5 by the edits that make them.

    Like LLM-S (`llm-s`), except for what the model sees of a correction, and for the criteria: `overall`
    quality, the `difficulty` of the corrections, or the `impact` of the edits on the sentence. By default,
    edits come from the shortest token alignment, with neighbouring changes merged, and no parser is needed;
    with an `annotator` they are ERRANT's, as in the study.

    Source: Kobayashi et al., "Large Language Models Are State-of-the-Art Evaluator for Grammatical Error
    Correction" (BEA 2024).

    Attributes:
        criterion: `overall` quality, `difficulty` of the corrections, or `impact` on the sentence.
        annotator: the spaCy pipeline for ERRANT, such as `en-ewt-sm`, or `None` for alignment alone.

    Example:
        >>> from learnedgec import load_metric
        >>> plan = load_metric("llm-e").plan(["He go to home ."], {"a": ["He goes home ."]})
        >>> print(plan.prompt.splitlines()[7])
        1. [go to → goes]
    """

    name: ClassVar[str] = "llm-e"
    shown: ClassVar[str] = (
        ", each shown as the edits that make it: [a → b] replaces a by b, [→ b] inserts b, [a →] deletes a"
    )
    rule: ClassVar[str] = (
        f" A correction without edits gets {HIGHEST} if the source sentence is correct, and {LOWEST} if it "
        "has an error."
    )
    criteria: ClassVar[Mapping[str, str]] = {
        "overall": "the overall quality of its edits",
        "difficulty": "the difficulty of the corrections that its edits make",
        "impact": "the good that its edits do to the sentence",
    }

    annotator: str | None = None

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return what LLM-S depends on, and the annotator."""
        parts = super().describe(runtime)
        return parts | (describe_annotator(self.annotator) if self.annotator else {})

    def _show(self, pairs: Sequence[tuple[str, str]], runtime: Runtime) -> list[str]:
        """Return the edits that make each correction: `[a → b]`, `[→ b]` or `[a →]`."""
        rows: Sequence[Sequence[Edit]]
        if self.annotator is None:
            rows = [reference_edits(*pair) for pair in pairs]
        else:
            rows = extract_edits(pairs, self.annotator, types=False, runtime=runtime)
        texts = []
        for (source, _), edits in zip(pairs, rows, strict=True):
            tokens = source.split()
            sides = [(tokens[edit.start : edit.end], edit.correction.split()) for edit in edits]
            texts.append(" ".join(f"[{' '.join([*old, '→', *new])}]" for old, new in sides))
        return [text or "no edits" for text in texts]
