"""The provenance of a report's numbers (software, data and licences), and caveats for the reader.

Every function of notices returns a list of sentences, which is empty if there is nothing to report.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from learnedgec._version import __version__
from learnedgec.data.catalog.registry import DATASETS
from learnedgec.data.input_warnings import named_lines
from learnedgec.data.references import References
from learnedgec.data.sentences import changed_sentences
from learnedgec.edits.annotators import RELEASED, USUAL, describe_annotator
from learnedgec.metrics.bound import BoundMetric, input_notices

_PACKAGES = ("numpy", "scipy", "torch", "transformers", "tokenizers", "spacy", "errant")

# The datasets of a benchmark besides that of its name; SEEDA and GJG15 have CoNLL-2014's sentences.
_BENCHMARKS = {
    "seeda-s": ("seeda", "conll14"),
    "seeda-e": ("seeda", "conll14"),
    "gjg15": ("gjg15", "conll14"),
    "jfleg": ("jfleg", "gug"),
}


def software(annotator: str) -> dict[str, str]:
    """Return the versions of learnedgec, Python, the packages that scores may depend on and the annotator."""
    versions = {"learnedgec": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions | {f"annotator {annotator}": describe_annotator(annotator)["annotator-version"]}


def licences(metrics: Iterable[BoundMetric], benchmark: str = "") -> list[dict[str, str]]:
    """Return the data that are shown or were trained on, with the licences that their authors state.

    Args:
        metrics: the metrics, whose evaluators were trained on data.
        benchmark: name of the benchmark, if the report shows one.

    Returns:
        Mappings with `data`, `role`, `licence` and `about`; data that are not in the catalog have no licence.
    """
    head, *words = benchmark.split(":")
    datasets = _BENCHMARKS.get(head, (head,) if head in DATASETS else ())
    shown = [*datasets, *(["reassess"] if "rewrites" in words else [])]
    roles = [("shown", name) for name in shown]
    for package in dict.fromkeys(package for metric in metrics for package in metric.packages):
        roles += [(f"{package.name} has learned from it", data) for data in package.datasets]
    rows = []
    for role, data in roles:
        rows.append({"data": data, "role": role, "licence": "not stated", "about": ""})
        if (name := data.partition(":")[0]) in DATASETS:
            entry = DATASETS.find(name)
            rows[-1] |= {"licence": entry.licence, "about": entry.about}
    return rows


# -- notices -----------------------------------------------------------------------------------------


def text_notices(
    metrics: Sequence[BoundMetric],
    sources: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    references: References | None = None,
) -> list[str]:
    """Return notices about unusual texts: blank sources, systems that change nothing, and `input_notices`.

    Args:
        metrics: one or more metrics.
        sources: N sentences.
        systems: system -> N hypotheses.
        references: references of the sentences, if there are any.
    """
    blank = sum(not source.strip() for source in sources)
    return [
        *([f"Blank sources: {blank:,} of {len(sources):,}."] if blank else []),
        *(
            f"{name} equals the source: it changes nothing."
            for name, hypotheses in systems.items()
            if not any(changed_sentences(sources, hypotheses))
        ),
        *input_notices(metrics, sources, systems, references, metrics[0].runtime),
    ]


def annotator_notices(annotator: str, metrics: Sequence[BoundMetric]) -> list[str]:
    """Return a notice if edits are found by the annotator that is part of learnedgec.

    Args:
        annotator: annotator of the edits that the report shows.
        metrics: the metrics, which may have other annotators.
    """
    members = [
        part
        for metric in metrics
        for part in (metric.metric, *getattr(metric.metric, "metrics", ()))
    ]
    found = [member for member in members if getattr(member, "annotator", None) == RELEASED]
    if not found and annotator != RELEASED:
        return []
    names = ", ".join(dict.fromkeys(member.name for member in found))
    what = f"scores of {names}" if names else "counts of edits"
    return [
        f"The annotator {RELEASED} finds the edits, so {what} differ slightly from published ones, which use "
        f"spaCy's {USUAL}."
    ]


def gate_notices(described: Mapping[BoundMetric, Mapping[str, Any]]) -> list[str]:
    """Return a notice for each metric whose gate rejected some outputs."""
    return [
        f"{metric.label}: outputs that are too different from their source and get a low score (gate): "
        f"{len(lines):,} ({named_lines(sorted(set(lines)))})."
        for metric, scores in described.items()
        if (lines := [line for row in scores.get("rejected", ()) for line in _lines_where(row)])
    ]


def warning_notice(
    about: str, warning: Warning, sources: Sequence[str], systems: Mapping[str, Sequence[str]]
) -> str:
    """Return a warning as a notice that names what computed, and the lines whose inputs were truncated.

    Args:
        about: what computed when the warning came; may be empty.
        warning: the warning.
        sources: N sentences.
        systems: system -> N hypotheses.
    """
    notice = f"{about}: {warning}" if about else str(warning)
    cut = set(getattr(warning, "items", ()))
    rows = zip(sources, *systems.values(), strict=True)
    touched = [
        any(text in cut or (source, text) in cut for text in (source, *texts))
        for source, *texts in rows
    ]
    lines = _lines_where(touched)
    return f"{notice.removesuffix('.')} ({named_lines(lines)})." if lines else notice


def precision_notice(signatures: Sequence[str]) -> list[str]:
    """Return a notice if an evaluator computed in bfloat16."""
    if not any("dtype:bfloat16" in signature for signature in signatures):
        return []
    return [
        "Evaluators computed in bfloat16, which moves a system's score by .003 at most; with --dtype float32 "
        "it is what `learnedgec score` gives."
    ]


def _lines_where(marks: Iterable[Any]) -> list[int]:
    """Return the numbers of lines that are marked, from 1."""
    return [number for number, mark in enumerate(marks, 1) if mark]


def unknown_tokens(metric: BoundMetric, systems: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a notice for each evaluator whose tokenizer has no token for parts of the outputs."""
    notices = []
    texts = list(dict.fromkeys(text for hypotheses in systems.values() for text in hypotheses))
    for package in metric.packages:
        from learnedgec.evaluators.loading import load_tokenizer

        tokenizer: Any = load_tokenizer(str(package.path))
        unknown = tokenizer.unk_token_id
        if unknown is None:
            continue
        rows = tokenizer(texts, add_special_tokens=False)["input_ids"]
        if tokens := sum(row.count(unknown) for row in rows):
            strange = {text for text, row in zip(texts, rows, strict=True) if unknown in row}
            outputs = zip(*systems.values(), strict=True)
            lines = _lines_where(not strange.isdisjoint(row) for row in outputs)
            notices.append(
                f"{metric.label}: the tokenizer of {package.name} has no entry for {tokens:,} tokens in "
                f"{len(strange):,} of {len(texts):,} distinct outputs ({named_lines(lines)}); all of them "
                "look the same to the model."
            )
    return notices
