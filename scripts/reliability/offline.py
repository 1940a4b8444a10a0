"""Every metric that scores without a network: small models of the tests, and the released evaluator."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trial import ROOT

from learnedgec.data.catalog.files import sample_folder
from learnedgec.data.references import References
from learnedgec.data.text import read_lines
from learnedgec.errors import LearnedgecError
from learnedgec.metrics.contract import Metric
from learnedgec.metrics.registry import METRICS, load_metric

__all__ = ["SOURCES", "SYSTEMS", "gold", "metrics"]

SOURCES = read_lines(sample_folder() / "source.txt")

SYSTEMS = {
    path.stem: read_lines(path) for path in sorted((sample_folder() / "systems").glob("*.txt"))
}


def gold() -> References:
    """Return the sample's references with gold edits."""
    return References.from_m2(sample_folder() / "gold.m2", SOURCES)


def metrics(folder: Path) -> Iterator[tuple[str, Metric]]:
    """Yield the label of each metric that loads here, and the metric; models are written into a folder.

    Learned metrics come twice: with the released evaluator, and with a tiny one.
    """
    os.environ["LEARNEDGEC_CACHE"] = str(folder / "cache")
    sys.path.insert(0, str(ROOT / "tests"))
    tiny: Any = importlib.import_module("tiny")
    tiny_causal: Any = importlib.import_module("tiny_causal")
    evaluator: Any = importlib.import_module("learnedgec.evaluators.evaluator")
    encoder = str(tiny.save_encoder(folder / "encoder"))
    regressor = str(tiny.save_regressor(folder / "regressor"))
    causal = str(tiny_causal.save_causal(folder / "causal"))
    heads = {"preference": evaluator.HeadConfig("pair"), "quality": evaluator.HeadConfig()}
    language_model = {"model": causal, "endpoint": None, "group_size": 1}
    evaluator_package = str(tiny.save_evaluator(folder / "evaluator"))
    ranking = str(tiny.save_evaluator(folder / "ranking", heads=heads))
    small: Mapping[str, Mapping[str, Any]] = {
        "some": {"model": evaluator_package},
        "head": {"model": evaluator_package, "weights": {"fluency": 0.7, "meaning": 0.3}},
        "quality": {"model": ranking},
        "impara": {"quality": regressor, "similarity": encoder},
        "preference": {"model": ranking},
        "bertscore": {"encoder": encoder, "layer": 2},
        "bartscore": {"model": str(tiny.save_sequence_model(folder / "sequence"))},
        "pt-m2": {"encoder": encoder, "layer": 2},
        "pt-errant": {"encoder": encoder, "layer": 2, "annotator": "en-ewt-sm"},
        "errant": {"annotator": "en-ewt-sm"},
        "senterrant": {"annotator": "en-ewt-sm"},
        "uot-errant": {"encoder": encoder, "annotator": "en-ewt-sm"},
        # With a mean length of its own each corpus would weigh the same sentence otherwise.
        "cleme": {"annotator": "en-ewt-sm", "mean_length": 1.8},
        "sentcleme": {"edits": "aligned", "mean_length": 1.8},
        "cleme2": {"annotator": "en-ewt-sm", "encoder": encoder, "layer": 2},
        "sentcleme2": {"edits": "aligned", "weights": "none"},
        "scribendi": {"model": causal},
        "likelihood": {"model": causal},
        "asano": {"model": causal, "ratings": str(sample_folder())},
        "llm-s": language_model,
        "llm-e": language_model,
        "ensemble": {"members": {"gleu": 0.75, "edit-count": 0.25}},
    }
    named = [(name, name, small.get(name, {})) for name in METRICS]
    named += [
        (name, name, {})
        for name in ("some[joint-mpnet-3]", "quality[open-mpnet]", "preference[open-mpnet]")
    ]
    for label, name, parameters in named:
        try:
            metric = load_metric(name, **parameters)
            used = gold().select([0]) if metric.needs_references else None
            metric.score(SOURCES[:1], SOURCES[:1], used)
        except LearnedgecError as error:
            print(f"{label} is left out: {error}", file=sys.stderr)
        else:
            yield label, metric
