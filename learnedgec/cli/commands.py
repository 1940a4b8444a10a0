"""The commands, with a line about each, and the function that runs one."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

COMMANDS = {
    "score": "score system outputs with any metric",
    "rank": "rank systems, with intervals and significance",
    "compare": "compare systems with a baseline, with intervals and tests",
    "meta": "meta-evaluate metrics against human judgements",
    "judge": "collect human judgements, on a page in the browser",
    "reproduce": "set published figures of papers beside ours",
    "report": "write an HTML report: scores, sentences, edits, error types",
    "robust": "evaluate robustness to changes of unrelated context, and to attacks",
    "train": "fine-tune an evaluator from a configuration",
    "sweep": "train with many settings, and keep the best",
    "tune": "tune a metric's parameters on human judgements",
    "rerank": "choose the best of several corrections",
    "serve": "serve metrics over HTTP",
    "references": "write a reference for each output, by a language model",
    "edits": "extract the edits between texts, or apply those of an M2 file",
    "filter": "drop the edits of a correction that are not sure",
    "data": "list, download and verify the public datasets",
    "metrics": "list the metrics, or explain one",
    "evaluators": "list the trained evaluators, or print a model card",
}
"""Each command, with one line about it; its module is imported only when it runs."""

SUBCOMMANDS = {
    "data": {
        "list": "list the contents, size and licence of each dataset",
        "fetch": "download datasets into the cache",
        "verify": "verify local files against the checksums of the catalog",
        "write": "write the texts of a dataset into a folder",
    },
    "evaluators": {
        "fetch": "get released evaluators that the installation lacks",
        "push": "upload an evaluator to a hub",
        "pull": "fetch an evaluator from a hub",
    },
    "robust": {
        "systems": "evaluate whether a system's corrections stay the same when only the context changes",
        "metrics": "evaluate whether a metric prefers the correction in every context",
        "attack": "evaluate whether a metric prefers adversarial texts",
        "perturb": "write variants of a parallel corpus in which only the context differs",
        "cases": "describe sets of cases: their sentences, edits and changes of the context",
    },
}
"""The commands that some commands have."""

GROUPS = {
    "data": "List, download and verify the public datasets of the catalog, and write their texts.",
    "robust": "Evaluate robustness to changes of the context, and to attacks.",
}
"""The commands that do nothing without one of their own, with what these do."""


def find_command(name: str) -> Callable[[Sequence[str]], int | None]:
    """Return the function that runs a command, such as `run_robust_attack` of `robust attack`."""
    first = name.partition(" ")[0]
    module = importlib.import_module(f"learnedgec.cli.{first}")
    command: Callable[[Sequence[str]], int | None] = getattr(
        module, f"run_{name.replace(' ', '_')}"
    )
    return command
