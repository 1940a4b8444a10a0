"""LLM-S: a large language model rates corrected sentences."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from learnedgec.data.catalog.files import cache_folder
from learnedgec.data.references import References
from learnedgec.data.sentences import Sentences, Systems, as_systems
from learnedgec.errors import ModelError, ParameterError
from learnedgec.evaluators.chat import (
    OPENAI,
    Answer,
    AnswerStore,
    Endpoint,
    OutputFormat,
    ask_all,
    check_key,
    find_key,
    import_openai,
)
from learnedgec.metrics.base import Metric
from learnedgec.metrics.engine import as_inputs, distinct_statistics
from learnedgec.metrics.llm.answers import (
    HIGHEST,
    LOWEST,
    ask_until_usable,
    is_usable,
    parse_ratings,
)
from learnedgec.metrics.llm.local import ask_local
from learnedgec.metrics.llm.requests import Request, RequestPlan
from learnedgec.metrics.needs import need_model
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.progress import track
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats

__all__ = [
    "LlmS",
]

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

    With `endpoint=None` the model is a local causal language model (hub id or directory). It answers
    under the schema too: each rating is the most likely of the five digits after the prompt and the
    ratings before it; `output`, `temperature` and `seed` are then ignored.

    Source: Kobayashi et al., "Large Language Models Are State-of-the-Art Evaluator for Grammatical Error
    Correction" (BEA 2024). The prompt's wording is this project's own (the signature has its digest), and the
    source is shown alone; the study also showed the surrounding sentences.

    Attributes:
        model: the model's name at the endpoint, or a hub id or directory where `endpoint` is `None`.
        endpoint: base address of an OpenAI-compatible service, without a key, or `None` for a local model.
        criterion: `overall` quality, `grammaticality`, `fluency` or `meaning` preservation alone.
        group_size: the most corrections that one request shows; 5 in the study.
        output: how the endpoint is told to write JSON: `json-schema`, `json-object` or `text` (by the
            prompt alone).
        temperature: `None` leaves it to the endpoint.
        seed: seed of the first attempt; each retry adds 1; `None` leaves it to the endpoint.
        refused: what to do where the model does not rate: `error`, or the `lowest` rating.

    Example:
        >>> from learnedgec import load_metric
        >>> metric = load_metric("llm-s(criterion='fluency', endpoint='http://localhost:8000/v1')")
        >>> metric.plan(["He go ."], {"a": ["He goes ."], "b": ["He went ."]}).requests
        1
    """

    name: ClassVar[str] = "llm-s"
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
    endpoint: str | None = OPENAI
    criterion: str = "overall"
    group_size: int = 5
    output: OutputFormat = "json-schema"
    temperature: float | None = 0.0
    seed: int | None = 0
    refused: Literal["error", "lowest"] = "error"

    def __post_init__(self) -> None:
        # First, so that no other message shows an address with a key in it.
        if self.endpoint is not None:
            Endpoint(self.endpoint, self.model)
        if self.criterion not in self.criteria:
            raise ParameterError(
                f"{self.name}(criterion={self.criterion!r}): one of "
                f"{', '.join(map(repr, self.criteria))} was expected."
            )
        if not 1 <= self.group_size <= 20:
            raise ParameterError(f"{self}: group_size must be from 1 to 20; the paper's is 5.")

    # -- the contract ----------------------------------------------------------------------------

    def compute_systems(
        self,
        sources: Sequence[str],
        systems: Mapping[str, Sequence[str]],
        references: References | None,
        runtime: Runtime,
    ) -> dict[str, Statistics]:
        """Return the statistics of several systems; see `Metric.compute_systems`.

        Answers, not systems, are cached on disk, because the corrections of a group are rated together.
        """
        return distinct_statistics(self, sources, systems, None, runtime)

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return `rating` float64, `answered` bool, and a row's share of its request's tokens; (N,) each.

        Raises:
            ModelError: the model did not rate every correction.
        """
        requests = self._requests(sources, hypotheses, runtime)
        answers = self._answers(requests, runtime)
        rating = np.full(len(hypotheses), float(LOWEST))
        answered = np.zeros(len(hypotheses), dtype=bool)
        tokens = np.zeros((2, len(hypotheses)))
        reasons = []
        for request, answer in zip(requests, answers, strict=True):
            size = len(request.rows)
            ratings = parse_ratings(answer, size)
            if ratings is None:
                reason = (answer.refusal or "")[
                    :200
                ] or f"not the JSON asked for: {(answer.text or '')[:60]!r}"
                reasons.append((hypotheses[request.rows[0][0]], reason))
            for number, rows in enumerate(request.rows):
                index = list(rows)
                tokens[:, index] = np.array([[answer.prompt_tokens], [answer.completion_tokens]])
                tokens[:, index] /= size
                if ratings is not None:
                    rating[index], answered[index] = ratings[number], True
        if reasons and self.refused == "error":
            raise ModelError(
                f"{self.model} did not rate {np.sum(~answered)} of {len(hypotheses)} corrections, the first "
                f"{reasons[0][0][:60]!r} ({reasons[0][1]}); the other answers are kept. Use "
                "refused='lowest' to count them as the lowest rating, or another model."
            )
        return Statistics(
            {
                "rating": rating,
                "answered": answered,
                "prompt_tokens": tokens[0],
                "completion_tokens": tokens[1],
            }
        )

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return each correction's rating, 1 to 5."""
        rating: Floats = statistics["rating"]
        return rating

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return how many sentences were refused, and the tokens of this system's share of requests."""
        return {
            "refused": float((~statistics["answered"]).sum()),
            "prompt_tokens": float(statistics["prompt_tokens"].sum()),
            "completion_tokens": float(statistics["completion_tokens"].sum()),
        }

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return which sentences were refused."""
        return {"refused": ~statistics["answered"]}

    def check(self, runtime: Runtime) -> None:
        """Raise unless a local model, or the client of the endpoint, is available."""
        if self.endpoint is None:
            need_model(self, "model", self.model)
        else:
            import_openai()

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the prompt's digest, and for a local model its weights' and the precision."""
        prompt = "".join([_PROMPT, self.shown, self.rule, self.criteria[self.criterion]])
        parts: dict[str, str | int | float] = {
            "prompt": hashlib.sha256(prompt.encode()).hexdigest()[:8]
        }
        if self.group_size > 1:
            parts["groups"] = "of all corrections scored together"
        if self.endpoint is None:
            from learnedgec.evaluators.loading import checkpoint_digest
            from learnedgec.evaluators.precision import model_precision

            parts |= {
                "sha256": checkpoint_digest(self.model),
                "dtype": model_precision(runtime),
            }
        return parts

    # -- requests ----------------------------------------------------------------------------------

    def plan(
        self,
        sources: Sentences,
        systems: Systems,
        *,
        runtime: Runtime = Runtime(),
    ) -> RequestPlan:
        """Return the requests that scoring these systems would send, without sending them.

        Example:
            >>> from learnedgec import load_metric
            >>> plan = load_metric("llm-s").plan(["He go ."], {"a": ["He goes ."], "b": ["He went ."]})
            >>> plan.requests
            1
        """
        sources, systems, _ = as_inputs([self], sources, as_systems(systems), None, runtime)
        pairs = dict.fromkeys(
            pair for lines in systems.values() for pair in zip(sources, lines, strict=True)
        )
        requests = self._requests(
            [source for source, _ in pairs], [text for _, text in pairs], runtime
        )
        store = self._store(runtime)
        missing = [request for request in requests if _kept(store, request) is None]
        return RequestPlan(
            requests[0].prompt,
            len(requests),
            len(requests) - len(missing),
            sum(len(request.prompt) for request in missing),
        )

    def _requests(
        self, sources: Sequence[str], hypotheses: Sequence[str], runtime: Runtime
    ) -> list[Request]:
        """Group the distinct corrections of each source; spacing makes no difference."""
        rows: dict[str, dict[str, list[int]]] = {}
        for row, texts in enumerate(zip(sources, hypotheses, strict=True)):
            source, correction = (" ".join(text.split()) for text in texts)
            rows.setdefault(source, {}).setdefault(correction, []).append(row)
        pairs = [(source, text) for source, corrections in rows.items() for text in corrections]
        shown = dict(zip(pairs, self._show(pairs, runtime), strict=True))
        requests = []
        for source, corrections in rows.items():
            # By digest: an order that is neither the systems' nor the alphabet's.
            order = sorted(corrections, key=lambda text: hashlib.sha256(text.encode()).digest())
            parts = -(-len(order) // self.group_size)
            for part in range(parts):
                group = order[part::parts]
                prompt = _PROMPT.format(
                    shown=self.shown,
                    lowest=LOWEST,
                    highest=HIGHEST,
                    criterion=self.criteria[self.criterion],
                    rule=self.rule,
                    source=json.dumps(source, ensure_ascii=False),
                    corrections="\n".join(
                        f"{number}. {shown[source, text]}" for number, text in enumerate(group, 1)
                    ),
                )
                requests.append(Request(prompt, tuple(tuple(corrections[text]) for text in group)))
        return requests

    def _store(self, runtime: Runtime) -> AnswerStore:
        """Return the answers on disk that this metric may use."""
        folder = Path(runtime.cache_dir) if runtime.cache_dir else cache_folder() / "answers"
        if self.endpoint is not None:
            about = [self.endpoint, self.model, self.output, str(self.temperature), str(self.seed)]
        else:
            from learnedgec.evaluators.loading import checkpoint_digest
            from learnedgec.evaluators.precision import model_precision

            about = ["local", checkpoint_digest(self.model), model_precision(runtime)]
        return AnswerStore(folder, *about)

    def _answers(self, requests: Sequence[Request], runtime: Runtime) -> list[Answer]:
        """Return the answer to every request, from disk if it is cached."""
        store = self._store(runtime)
        found: dict[str, Answer] = {}
        missing = []
        for request in requests:
            answer = _kept(store, request)
            if answer is None:
                missing.append(request)
            else:
                found[request.prompt] = answer
        if self.endpoint is None:
            fresh = ask_local(self.model, missing, runtime)
        else:
            if missing:
                check_key(self.endpoint)
            fresh = self._ask_endpoint(missing, runtime)
        show = runtime.progress and bool(missing)
        for request, answer in track(fresh, self.name, total=len(missing), show=show):
            found[request.prompt] = answer
            if is_usable(answer, len(request.rows)):
                store.put(request.prompt, answer)
        return [found[request.prompt] for request in requests]

    def _ask_endpoint(
        self, requests: Sequence[Request], runtime: Runtime
    ) -> Iterator[tuple[Request, Answer]]:
        """Ask the endpoint, several requests at a time."""
        assert self.endpoint is not None
        endpoint = Endpoint(self.endpoint, self.model, find_key(self.endpoint), self.output)

        def ask(request: Request) -> Answer:
            return ask_until_usable(endpoint, request, self.temperature, self.seed)

        return ask_all(ask, requests, runtime.processes)

    def _show(self, pairs: Sequence[tuple[str, str]], runtime: Runtime) -> list[str]:
        """Return each correction of a source as it appears in the prompt."""
        return [json.dumps(correction, ensure_ascii=False) for _, correction in pairs]


def _kept(store: AnswerStore, request: Request) -> Answer | None:
    """Return the answer on disk, if there is one that can be used."""
    answer = store.get(request.prompt)
    return answer if answer is not None and is_usable(answer, len(request.rows)) else None
