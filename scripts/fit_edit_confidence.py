"""Make `learnedgec/applications/edit_confidence.json`: the weights by which edits of a correction are sure.

    LEARNEDGEC_MIRROR=… python scripts/fit_edit_confidence.py [--sentences 1000]
    LEARNEDGEC_MIRROR=… python scripts/fit_edit_confidence.py --report dev

The first fits them to edits of seven systems on `pillars:train`. The second prints how well they tell edits
apart, and what dropping unsure edits gains, on `pillars:dev` or `pillars:test`. An edit is valid if a
reference of `pillars` or `jelv` for its sentence has it, at the same place with the same correction.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torchmetrics.functional.classification import binary_auroc, binary_calibration_error

import learnedgec
from learnedgec.applications.confidence import (
    TRAITS,
    WEIGHTS,
    JudgedEdits,
    edit_confidence,
    edit_contributions,
    edit_traits,
)
from learnedgec.data.catalog.outputs import load_outputs
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.m2 import Edit
from learnedgec.data.text import write_text
from learnedgec.edits.annotator import RELEASED as ANNOTATOR
from learnedgec.edits.annotator import extract_edits
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.runtime import Runtime
from learnedgec.stats.resampling import Resampling, interval, resample
from learnedgec.training.pairs.referenced import pooled_references

PLACE = Path(__file__).resolve().parents[1] / "learnedgec/applications" / WEIGHTS
SYSTEMS = ("T5-11B", "GECToR-2024", "Chat-LLaMa-2-13B-FT")
TRAIN_SYSTEMS = (*SYSTEMS, "EditScorer", "CTC-Copy", "UL2-20B", "Chat-LLaMa-2-7B-FT")
EVALUATOR, PENALTY = "open-mpnet", 0.2
HEADS = ("detection", "likelihood")
# Rarer types weigh nothing.
LEAST = 30
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7)
RESAMPLES = 200


class Judged(NamedTuple):
    """An edit of a system: its type, its confidence, and whether a reference has it."""

    type: str
    confidence: float
    valid: bool


def main() -> None:
    """Fit, or report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--report", choices=("dev", "test"))
    parser.add_argument("--out", type=Path, default=PLACE)
    options = parser.parse_args()
    if options.report:
        report(options.report)
    else:
        fit(options.sentences, options.out)


def accepted_edits(sources: Sequence[str], part: str) -> list[set[tuple[int, int, str]]]:
    """Return the edits that the references of each source have."""
    references = pooled_references([f"pillars:{part}", f"jelv:{part}"])
    rows = [references[" ".join(source.split())] for source in sources]
    pairs = [(s, reference.text) for s, row in zip(sources, rows, strict=True) for reference in row]
    edits = iter(extract_edits(pairs, ANNOTATOR))
    return [{_key(edit) for _ in row for edit in next(edits)} for row in rows]


def _key(edit: Edit) -> tuple[int, int, str]:
    return edit.start, edit.end, edit.correction


def fit(sentences: int, out: Path) -> None:
    """Fit the weights to edits of `pillars:train`, and write them."""
    sources = list(load_parallel("pillars:train").sources)[:sentences]
    accepted = accepted_edits(sources, "train")
    outputs = load_outputs("pillars:train")
    runtime = Runtime(dtype="auto", progress=True)
    all_sources = sources * len(TRAIN_SYSTEMS)
    hypotheses = [text for system in TRAIN_SYSTEMS for text in outputs[system][:sentences]]
    edits = extract_edits(list(zip(all_sources, hypotheses, strict=True)), ANNOTATOR)
    contributions = edit_contributions(
        Evaluator.load(EVALUATOR), HEADS, all_sources, edits, runtime=runtime
    )
    traits = edit_traits(all_sources, edits)
    flat = [edit.type for row in edits for edit in row]
    types = sorted(name for name, count in Counter(flat).items() if count >= LEAST)
    of_type = np.array([[name == other for other in types] for name in flat], dtype=float)
    valid = [
        _key(edit) in gold
        for row, gold in zip(edits, accepted * len(TRAIN_SYSTEMS), strict=True)
        for edit in row
    ]
    # Units in which a penalty weighs alike.
    units = np.concatenate([contributions.std(axis=0), np.ones(len(types)), traits.std(axis=0)])
    features = np.hstack([contributions, of_type, traits]) / units
    model = LogisticRegression(C=PENALTY, max_iter=3000).fit(features, valid)
    weights = iter(map(_rounded, model.coef_[0] / units))
    content: dict[str, Any] = {
        "evaluator": EVALUATOR,
        "fitted_to": f"{len(valid)} edits of {', '.join(TRAIN_SYSTEMS)} on {sentences} sentences of "
        "pillars:train",
        "intercept": round(float(model.intercept_[0]), 4),
        **{
            part: dict(zip(names, weights, strict=False))
            for part, names in (("heads", HEADS), ("types", types), ("traits", TRAITS))
        },
    }
    write_text(out, json.dumps(content, indent=2) + "\n")
    print(f"{len(valid)} edits, {np.mean(valid):.3f} valid")


def _rounded(weight: float) -> float:
    return float(f"{weight:.4g}")


def report(part: str) -> None:
    """Print AUC, calibration and the curves of filtering on a part of BEA-19 dev."""
    data, outputs = load_parallel(f"pillars:{part}"), load_outputs(f"pillars:{part}")
    accepted = accepted_edits(data.sources, part)
    runtime = Runtime(dtype="auto", progress=True)
    judged = {
        system: edit_confidence(data.sources, outputs[system], annotator=ANNOTATOR, runtime=runtime)
        for system in SYSTEMS
    }
    rows = {
        system: [
            [Judged(edit.type, sure, _key(edit) in gold) for edit, sure in edits]
            for edits, gold in zip(weighted.edits, accepted, strict=True)
        ]
        for system, weighted in judged.items()
    }
    together = [
        [row for edits in of_sentence for row in edits]
        for of_sentence in zip(*rows.values(), strict=True)
    ]
    flat = [row for sentence in together for row in sentence]
    kinds = Counter(row.type.partition(":")[2] for row in flat)
    print("| edits of | n | valid | AUC | ECE |\n| --- | --- | --- | --- | --- |")
    for name, sentences in {**rows, "all": together}.items():
        print_figures(name, sentences)
    for kind in sorted(kind for kind, count in kinds.items() if count >= 60):
        of_kind = [[r for r in rows if r.type.partition(":")[2] == kind] for rows in together]
        print_figures(kind, of_kind)
    print("\n| confidence | edits | valid |\n| --- | --- | --- |")
    for low in np.arange(0, 1, 0.1):
        within = [row.valid for row in flat if low <= row.confidence < low + 0.1]
        if within:
            print(f"| {low:.1f} to {low + 0.1:.1f} | {len(within)} | {np.mean(within):.3f} |")
    for system, weighted in judged.items():
        print_filtered(system, outputs[system], weighted, data.references)


def print_figures(name: str, sentences: Sequence[Sequence[Judged]]) -> None:
    """Print a row of a table: AUC and expected calibration error, with 95 % intervals over sentences."""
    rows = [row for sentence in sentences for row in sentence]
    cells = [name, str(len(rows)), f"{np.mean([row.valid for row in rows]):.3f}"]
    draws = resample(len(sentences), Resampling(RESAMPLES))
    figures: list[Callable[..., torch.Tensor]] = [binary_auroc, binary_calibration_error]
    for figure in figures:
        values = [
            float(figure(*_tensors([row for place in draw for row in sentences[place]])))
            for draw in draws
        ]
        low, high = interval(np.array(values))
        cells.append(f"{float(figure(*_tensors(rows))):.3f} [{low:.3f}, {high:.3f}]")
    print(f"| {' | '.join(cells)} |")


def _tensors(rows: Sequence[Judged]) -> tuple[torch.Tensor, torch.Tensor]:
    confidences, valid = [row.confidence for row in rows], [int(row.valid) for row in rows]
    return torch.tensor(confidences), torch.tensor(valid)


def print_filtered(
    system: str, outputs: Sequence[str], judged: JudgedEdits, references: Any
) -> None:
    """Print ERRANT's precision, recall and F0.5 of a system without its unsure edits, by threshold."""
    texts = {"all edits": list(outputs)}
    texts |= {f"above {threshold}": judged.texts(threshold) for threshold in THRESHOLDS}
    metric = load_metric(f"errant(annotator={ANNOTATOR!r})")
    scores = learnedgec.score(metric, list(judged.sources), texts, references)
    draws = resample(len(judged.sources), Resampling(RESAMPLES))
    samples = {
        name: metric.aggregate_many(score.statistics, draws) for name, score in scores.items()
    }
    print(f"\n| {system} | precision | recall | F0.5 | gain |\n| --- | --- | --- | --- | --- |")
    for name, score in scores.items():
        low, high = interval(samples[name] - samples["all edits"])
        gain = score.value - scores["all edits"].value
        print(
            f"| {name} | {score.details['precision']:.3f} | {score.details['recall']:.3f} | "
            f"{score.value:.4f} | {gain:+.4f} [{low:+.4f}, {high:+.4f}] |"
        )


if __name__ == "__main__":
    main()
