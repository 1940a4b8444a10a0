"""Convert UD English EWT to spaCy's binary format, with the dependency labels ERRANT looks for.

Reading is spaCy's own CoNLL-U converter, one document a sentence; XPOS becomes `tag_`, UPOS `pos_`.
ERRANT's rules were written for the labels of the CLEAR style (`auxpass`, `acomp`, `prt`, ...), so UD
relations are renamed where the counterpart is well defined, and copulas become heads, as that style has them.
Prepositions stay below their nouns: only their labels change.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from spacy.tokens import Doc, DocBin, Token
from spacy.training.converters.conllu_to_docs import conllu_to_docs

RENAMED = {
    "acl:relcl": "relcl",
    "advcl:relcl": "relcl",
    "aux:pass": "auxpass",
    "cc:preconj": "preconj",
    "compound:prt": "prt",
    "csubj:outer": "csubj",
    "csubj:pass": "csubjpass",
    "det:predet": "predet",
    "discourse": "intj",
    "iobj": "dative",
    "nmod": "pobj",
    "nmod:desc": "compound",
    "nmod:poss": "poss",
    "nmod:unmarked": "npadvmod",
    "nsubj:outer": "nsubj",
    "nsubj:pass": "nsubjpass",
    "obj": "dobj",
    "obl": "pobj",
    "obl:agent": "pobj",
    "obl:unmarked": "npadvmod",
}
NOMINAL = {"NOUN", "PROPN", "PRON", "NUM", "SYM", "DET"}
NEGATIONS = {"not", "n't", "nt", "n’t"}
# Before a subjectless -ing form these are prepositions; other subordinators (`while`) are marks.
GERUND_PREPOSITIONS = frozenset(
    {"about", "after", "against", "at", "before", "besides", "by", "despite", "for", "from"}
    | {"in", "into", "of", "on", "since", "through", "to", "towards", "upon", "with", "without"}
)
# What follows the copula when it takes over its predicate's place, wherever it stands ...
CLAUSAL = {"advcl", "csubj", "dislocated", "expl", "nsubj", "parataxis", "punct", "vocative"}
# ... and what follows it only from its left.
CLAUSAL_LEFT = {"advmod", "aux", "cc", "discourse", "mark", "obl"}


def relation(token: Token) -> str:
    """The UD relation of a token without its subtype."""
    return token.dep_.split(":")[0]


def children(token: Token, *relations: str) -> list[Token]:
    """The children of a token that have one of these relations, subtypes included."""
    return [child for child in token.children if relation(child) in relations]


def predicate_label(token: Token) -> str:
    """The label of a predicate below its copula."""
    if children(token, "case"):
        return "pobj"
    if token.pos_ == "ADJ":
        return "acomp"
    if token.pos_ in NOMINAL:
        return "attr"
    return "advmod" if token.pos_ == "ADV" else "ccomp"


def is_gerund_preposition(token: Token) -> bool:
    """Whether a UD mark introduces a subjectless -ing form as a preposition would (`by doing`)."""
    head = token.head
    return (
        relation(token) == "mark"
        and token.text.lower() in GERUND_PREPOSITIONS
        and head.tag_ == "VBG"
        and not children(head, "nsubj", "csubj")
    )


def label(token: Token) -> str:
    """The label of a token whose place in the tree does not change."""
    dep, head = token.dep_, token.head
    if dep == "case" and token.tag_ != "POS":
        return "agent" if head.dep_ == "obl:agent" and token.text.lower() == "by" else "prep"
    if dep == "mark" and token.tag_ == "TO":
        return "aux"
    if dep == "advmod" and token.text.lower() in NEGATIONS:
        return "neg"
    if is_gerund_preposition(token):
        return "prep"
    if dep in {"advcl", "acl"} and any(map(is_gerund_preposition, token.children)):
        return "pcomp"
    if dep == "xcomp" and not children(token, "cop") and not children(head, "obj"):
        if token.pos_ == "ADJ":
            return "acomp"
        if token.pos_ in NOMINAL:
            return "attr"
    return RENAMED.get(dep, dep)


def moves_to_copula(child: Token, predicate: Token, copula: Token) -> bool:
    """Whether a dependent of the predicate belongs to the clause, so to its copula."""
    kind = relation(child)
    if kind in CLAUSAL or child.text.lower() in NEGATIONS:
        return True
    if kind == "conj":
        return child.pos_ == "VERB" or bool(children(child, "cop", "nsubj"))
    return kind in CLAUSAL_LEFT and child.i < min(copula.i, predicate.i)


def convert(doc: Doc) -> Doc:
    """The sentence with ERRANT's labels, its copulas as heads."""
    heads = [token.head.i for token in doc]
    deps = [label(token) for token in doc]
    copulas = {}
    for token in doc:
        children = [child for child in token.children if child.dep_ == "cop"]
        if children:
            copulas[token.i] = children[0].i
    for predicate, copula in copulas.items():
        for child in doc[predicate].children:
            if child.i != copula and moves_to_copula(child, doc[predicate], doc[copula]):
                heads[copulas.get(child.i, child.i)] = copula
    for predicate, copula in copulas.items():
        above = heads[copula] if heads[copula] != predicate else doc[predicate].head.i
        heads[copula] = copula if above == predicate else above
        deps[copula] = deps[predicate]
        heads[predicate], deps[predicate] = copula, predicate_label(doc[predicate])
    for i, head in enumerate(heads):
        if head == i:
            deps[i] = "ROOT"
    return Doc(
        doc.vocab,
        words=[token.text for token in doc],
        tags=[token.tag_ for token in doc],
        pos=[token.pos_ for token in doc],
        morphs=[str(token.morph) for token in doc],
        lemmas=[token.lemma_ for token in doc],
        heads=heads,
        deps=deps,
    )


def read(path: Path) -> Iterator[Doc]:
    """The converted sentences of a CoNLL-U file."""
    text = path.read_text(encoding="utf-8")
    for doc in conllu_to_docs(text, n_sents=1, no_print=True):  # type: ignore[no-untyped-call]
        yield convert(doc)


def main() -> None:
    """Convert one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("conllu", type=Path)
    parser.add_argument("output", type=Path, help="the .spacy file to write")
    args = parser.parse_args()
    docs = list(read(args.conllu))
    attributes = ["ORTH", "TAG", "POS", "LEMMA", "HEAD", "DEP"]  # no features: UPOS is enough
    args.output.parent.mkdir(parents=True, exist_ok=True)
    DocBin(attrs=attributes, docs=docs).to_disk(args.output)
    print(f"{args.output}: {len(docs)} sentences, {sum(map(len, docs))} tokens")


if __name__ == "__main__":
    main()
