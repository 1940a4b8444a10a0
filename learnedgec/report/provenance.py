"""What a report's numbers come from: software, inputs, data and licences, and what a reader should notice."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from learnedgec._version import __version__
from learnedgec.catalog.registry import DATASETS
from learnedgec.metrics.base import Metric
from learnedgec.models.packages import find_evaluator, learned_from

__all__ = ["licences", "software", "text_notices", "unknown_tokens"]

_PACKAGES = ("numpy", "scipy", "torch", "transformers", "tokenizers", "spacy", "errant")

# What a benchmark reads; the sentences of SEEDA and GJG15 are those of CoNLL-2014.
_BENCHMARKS = {
    "seeda-s": ("seeda", "conll14"),
    "seeda-e": ("seeda", "conll14"),
    "gjg15": ("gjg15", "conll14"),
    "gmeg": ("gmeg",),
    "tmu-gfm": ("tmu-gfm",),
    "jfleg": ("jfleg", "gug"),
}


def software() -> dict[str, str]:
    """Return the versions of learnedgec, Python and what scores may depend on, where installed."""
    found = {"learnedgec": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def licences(metrics: Iterable[Metric], benchmark: str = "") -> list[dict[str, str]]:
    """Return what data is shown or was learned from, with its licence as its authors state it.

    Args:
        metrics: whose evaluators have learned from data.
        benchmark: name of the benchmark that is shown, if it is one.

    Returns:
        Mappings of `data`, `role`, `licence` and `about`; what is not in the catalog has no licence here.
    """
    head, *words = benchmark.split(":")
    shown = [*_BENCHMARKS.get(head, ()), *(["reassess"] if "rewrites" in words else [])]
    roles = [("shown", name) for name in shown]
    for name in dict.fromkeys(each for metric in metrics for each in metric.evaluators()):
        roles += [(f"{name} has learned from it", each) for each in learned_from(name)]
    found = []
    for role, name in roles:
        head = name.partition(":")[0]
        entry = DATASETS.find(head) if head in DATASETS else None
        found.append(
            {
                "data": name,
                "role": role,
                "licence": entry.licence if entry else "not stated",
                "about": entry.about if entry else "",
            }
        )
    return found


def text_notices(sources: Sequence[str], systems: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what is unusual about the texts: blank lines, and systems that change nothing."""
    found = []
    blank = sum(not source.strip() for source in sources)
    if blank:
        found.append(f"{_of(blank, len(sources), 'sources')} blank.")
    for name, hypotheses in systems.items():
        blank = sum(not text.strip() for text in hypotheses)
        if blank:
            found.append(f"{name}: {_of(blank, len(sources), 'outputs')} blank.")
        if list(hypotheses) == list(sources):
            found.append(f"{name} is the source, unchanged.")
    return found


def unknown_tokens(metric: Metric, systems: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a sentence for each evaluator of a metric whose tokenizer does not know all of the outputs."""
    found = []
    for name in metric.evaluators():
        from learnedgec.models.loading import load_tokenizer

        tokenizer: Any = load_tokenizer(str(find_evaluator(name)))
        unknown = tokenizer.unk_token_id
        if unknown is None:
            continue
        texts = list(dict.fromkeys(text for each in systems.values() for text in each))
        rows = tokenizer(texts, add_special_tokens=False)["input_ids"]
        tokens = sum(row.count(unknown) for row in rows)
        if tokens:
            lines = sum(unknown in row for row in rows)
            found.append(
                f"{metric.label}: the tokenizer of {name} does not know {tokens:,} tokens in {lines:,} of "
                f"{len(texts):,} distinct outputs, and reads them all alike."
            )
    return found


def _of(number: int, whole: int, what: str) -> str:
    """Return the beginning of a sentence about some of many."""
    return f"{number:,} of {whole:,} {what} {'is' if number == 1 else 'are'}"
