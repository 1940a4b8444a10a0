"""The annotator's lemmatizer: spaCy's English rules and word lists, corrected by the treebank.

spaCy's rule lemmatizer is what ERRANT was written with. It looks a form up in lists of exceptions and of
known words, and needs to know which forms are base forms; here the tags say that. Wherever the
rules disagree with the lemma that the treebank gives most often to a form, the treebank's lemma becomes
an exception. Typing errors of the treebank are left out: an error must not share its correction's lemma.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import cast

from spacy.lang.en.lemmatizer import EnglishLemmatizer
from spacy.language import Language
from spacy.lookups import Lookups, load_lookups
from spacy.pipeline.attributeruler import AttributeRuler
from spacy.tokens import Doc

FEATURES = {
    "NN": "Number=Sing",
    "NNS": "Number=Plur",
    "NNP": "Number=Sing",
    "NNPS": "Number=Plur",
    "VB": "VerbForm=Inf",
    "VBD": "Tense=Past|VerbForm=Fin",
    "VBG": "Aspect=Prog|Tense=Pres|VerbForm=Part",
    "VBN": "Aspect=Perf|Tense=Past|VerbForm=Part",
    "VBP": "Tense=Pres|VerbForm=Fin",
    "VBZ": "Number=Sing|Person=3|Tense=Pres|VerbForm=Fin",
    "JJ": "Degree=Pos",
    "JJR": "Degree=Cmp",
    "JJS": "Degree=Sup",
    "RBR": "Degree=Cmp",
    "RBS": "Degree=Sup",
}
# Present forms that are not base forms, though their tag says so.
IRREGULAR_PRESENT = {
    "am": "Number=Sing|Person=1|Tense=Pres|VerbForm=Fin",
    "'m": "Number=Sing|Person=1|Tense=Pres|VerbForm=Fin",
    "are": "Number=Plur|Tense=Pres|VerbForm=Fin",
    "'re": "Number=Plur|Tense=Pres|VerbForm=Fin",
    "'ve": "Number=Plur|Tense=Pres|VerbForm=Fin",
}
# Parts of speech that spaCy has no rules for: their lemma is the lower-case form.
UNINFLECTED = ("adp", "adv", "aux", "cconj", "det", "intj", "part", "pron", "sconj")


def word_tables() -> Lookups:
    """The rules and word lists of spaCy, without the entries that no single token can match."""
    tables = load_lookups("en", ["lemma_rules", "lemma_exc", "lemma_index"])
    result = Lookups()
    index = tables.get_table("lemma_index")
    result.add_table(
        "lemma_index",
        {pos: sorted(word for word in words if word.isalpha()) for pos, words in index.items()},
    )
    result.add_table(
        "lemma_exc", {pos: dict(v) for pos, v in tables.get_table("lemma_exc").items()}
    )
    rules = {pos: list(v) for pos, v in tables.get_table("lemma_rules").items()}
    rules.update({pos: [["", ""]] for pos in UNINFLECTED})
    result.add_table("lemma_rules", rules)
    return result


def add_lemmatizer(nlp: Language, treebank: Iterable[Doc]) -> None:
    """Add the tag-to-feature ruler and the lemmatizer, with the treebank's exceptions, to a pipeline.

    `treebank`: the training sentences, with UPOS, XPOS, features and lemmas.
    """
    ruler = cast(AttributeRuler, nlp.add_pipe("attribute_ruler"))
    for tag, morph in FEATURES.items():
        ruler.add([[{"TAG": tag}]], {"MORPH": morph})
    for form, morph in IRREGULAR_PRESENT.items():
        ruler.add([[{"TAG": "VBP", "LOWER": form}]], {"MORPH": morph})
    lemmatizer = cast(EnglishLemmatizer, nlp.add_pipe("lemmatizer", config={"mode": "rule"}))
    lookups = word_tables()
    lemmatizer.initialize(lookups=lookups)

    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    predicted: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for gold in treebank:
        doc = Doc(
            nlp.vocab,
            words=[token.text for token in gold],
            tags=[token.tag_ for token in gold],
            pos=[token.pos_ for token in gold],
        )
        doc = lemmatizer(ruler(doc))
        for token, truth in zip(doc, gold, strict=True):
            if "Yes" in truth.morph.get("Typo", []) or not truth.lemma_.strip():
                continue
            if lemmatizer.is_base_form(token):
                continue
            key = (token.pos_.lower(), token.lower_)
            counts[key][truth.lemma_] += 1
            predicted[key][token.lemma_] += 1
    exceptions = lookups.get_table("lemma_exc")
    for (pos, form), lemmas in sorted(counts.items()):
        lemma = lemmas.most_common(1)[0][0]
        if set(predicted[pos, form]) != {lemma}:
            exceptions.setdefault(pos, {})[form] = [lemma]
    lemmatizer.cache.clear()
