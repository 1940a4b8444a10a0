"""What a notice is given of, and of what not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from embedded import Sample

from learnedgec import AnnotatedSentence, Edit, References
from learnedgec.data.corpus import Corpus
from learnedgec.data.input_warnings import (
    alignment_notices,
    blank_notices,
    blank_reference_notices,
    correction_notices,
    form_notices,
    source_notices,
    style_notices,
    text_notices,
    token_notices,
)


def test_blank_hypotheses_are_counted_where_the_source_is_not() -> None:
    sources = ["a", "b", " ", "c"]
    systems = {"one": ["", "b", "", "c"], "two": ["", " ", "", "\t"], "none": ["a", "b", "", "c"]}
    assert blank_notices(sources, systems) == [
        "one: 1 of 4 hypotheses is blank where the source is not (line 1).",
        "two: 3 of 4 hypotheses are blank where the source is not (lines 1, 2, 4).",
    ]
    (notice,) = blank_notices(["a"] * 9, {"x": [""] * 9})
    assert notice.endswith("(lines 1, 2, 3, 4, 5, …).")


@pytest.mark.parametrize(("words", "found"), [(5, True), (4, False)])
def test_a_line_is_of_a_neighbour_if_it_shares_less_than_half_of_its_words(
    words: int, found: bool
) -> None:
    # Each hypothesis has four words: two are in all sources, and two in the next source alone.
    sources = [f"the man a{n} b{n} c{n}".split()[:words] for n in range(8)]
    shifted = [" ".join(source[:4]) for source in [*sources[1:], sources[0]]]
    notices = alignment_notices([" ".join(source) for source in sources], {"ours": shifted})
    assert [notice[:56] for notice in notices] == (
        ["ours: 7 of 8 hypotheses correct the source of a line nea"] if found else []
    )


def test_references_that_correct_nothing_are_noticed() -> None:
    sources = ["He go ."] * 10
    unmarked = References.from_annotated([AnnotatedSentence("He go .", {0: ()})] * 10)
    for references in (unmarked, References.from_texts(sources)):
        (notice,) = correction_notices(sources, references)
        assert notice.startswith("the references correct none of the 10 sentences, so every edit")
    one = References.from_texts([*sources[1:], "He goes ."])
    detected = References.from_annotated(
        [AnnotatedSentence("He go .", {0: (Edit(1, 2, "go", "UNK"),)})] * 10
    )
    assert correction_notices(sources, one) == correction_notices(sources, detected) == []
    assert correction_notices(sources[1:], References.from_texts(sources[1:])) == []


def test_a_text_that_is_cut_otherwise_is_named() -> None:
    cut, whole = ["I go .", "Yes !", "no"], ["I go.", "Yes!", "no"]
    systems = {
        "cut": cut, "whole": whole, "mixed": ["I go .", "etc.", "Yes ?"], "none": ["a", "b", "c"],
    }  # fmt: skip
    (notice,) = token_notices(cut, systems, References.from_texts(cut))
    assert notice.startswith('whole: 100 % of sentences end like "school.", in the sources 0 %;')
    notices = token_notices(whole, systems, References.from_texts(cut))
    assert [notice.partition(":")[0] for notice in notices] == ["cut", "mixed", "the references"]
    assert token_notices(cut, {"cut": cut, "none": ["a", "b", "c"]}) == []
    (notice,) = token_notices(whole, {"whole": whole}, References.from_texts(whole))
    assert notice.startswith('no text is tokenised (sentences end like "school.")')


@pytest.mark.parametrize("sources", [["a", "b"], []])
def test_sources_without_full_stops_say_nothing(sources: list[str]) -> None:
    assert token_notices(sources, {"a": ["b"] * len(sources)}) == []
    if sources:
        (notice,) = token_notices(sources, {"x": ["a .", "b ."], "y": ["a.", "b."]})
        assert notice.startswith('y: 100 % of sentences end like "school.", in x 0 %;')


STYLED = ["It 's Ann 's idea .", "We do n't know .", "She go home ."] * 4


@pytest.mark.parametrize(
    ("restyle", "notices"),
    [
        (lambda n, text: f"{n}. {text}", ["x: 12 of 12 sentences begin with '1.', unlike"]),
        (lambda n, text: f"{n}\t{text}", ["x: 12 of 12 sentences begin with '1', unlike"]),
        (lambda n, text: f"Corrected: {text}", ["x: 12 of 12 sentences begin with 'Corrected:',"]),
        (
            lambda n, text: f"«{text}»",
            [f"x: 12 of 12 sentences {end} with '{mark}'," for end, mark in (("begin", "«"), ("end", "»"))],
        ),
        (lambda n, text: f"{text} </s>", ["x: 12 of 12 sentences end with '</s>', unlike"]),
        (lambda n, text: text.lower(), ["x: 12 of 12 sentences are in lower case, unlike"]),
        (lambda n, text: text.upper(), ["x: 12 of 12 sentences are in upper case, unlike"]),
        (
            lambda n, text: text.replace(" '", "'").replace(" n'", "n'"),
            ["x: 100 % of contractions are one token, like \"don't\", in the sources 0 %; metrics"],
        ),
        (
            lambda n, text: text.replace("'", "’"),
            ["x: 100 % of sentences with quotation marks or apostrophes have curly ones, in the sou"],
        ),
        # Corrections that all sentences may need.
        (lambda n, text: text, []),
        (lambda n, text: f"{text} !", []),
        (lambda n, text: text if n % 2 else f"Then , {text.lower()}", []),
    ],
)  # fmt: skip
def test_another_style_is_named(restyle: Callable[[int, str], str], notices: list[str]) -> None:
    found = style_notices(STYLED, {"x": [restyle(*row) for row in enumerate(STYLED)]})
    assert len(found) == len(notices)
    for notice, start in zip(found, notices, strict=True):
        assert notice.startswith(start)


def test_capitals_and_full_stops_that_sources_lack_are_corrections() -> None:
    chat = ["i go home", "he are here", "we was there"]
    assert style_notices(chat, {"x": ["I go home .", "He is here .", "We were there ."]}) == []
    # A single sentence tells nothing.
    assert style_notices(["Go home ."], {"x": ["Please , Go home ."]}) == []


SENTENCES = [f"w{n} x{n} y{n} z{n} the ." for n in range(20)]


def test_a_lost_line_and_another_order_are_noticed() -> None:
    # Line 11 is lost, and a blank line at the end makes up for it.
    lost = [*SENTENCES[:10], *SENTENCES[11:], "The end ."]
    assert alignment_notices(SENTENCES, {"good": SENTENCES, "lost": lost}) == [
        "lost: 9 of 20 hypotheses correct the source of a line nearby, not their own (first in line 11): a "
        "line may be lost or added before it."
    ]
    assert alignment_notices(SENTENCES, {"turned": SENTENCES[::-1]}) == [
        "turned: 90 % of the hypotheses share almost no word with their source: they may belong to other "
        "sources, be in another order, or not be corrections."
    ]


def test_rewritten_short_repeated_and_unspaced_sentences_are_not_noticed() -> None:
    # A quarter is rewritten altogether.
    rewritten = [f"quite other words {n}" if n % 4 == 0 else t for n, t in enumerate(SENTENCES)]
    assert alignment_notices(SENTENCES, {"rewriter": rewritten}) == []
    short = ["Yes .", "No .", "Yes ."] * 3
    assert alignment_notices(short, {"x": ["No .", "Yes .", "No ."] * 3}) == []
    unspaced = ["私は学校に行きたいと思っています。"] * 9
    assert alignment_notices(unspaced, {"x": ["私は学校へ行きたいと思います。"] * 9}) == []


def test_the_notices_are_silent_on_the_sample(sample: Sample) -> None:
    systems = {name: texts for name, texts in sample.systems.items() if name != "weak"}
    assert text_notices(Corpus(sample.sources, systems, sample.references)) == []


CHINESE = ["我今天很高兴的去学校。", "他昨天吃三个苹果了。", "我们明天再见面把！"]
THAI = ["ฉันไปโรงเรียนทุกวันกับเพื่อน", "เขาชอบกินข้าวกับแกงเผ็ด"]


@pytest.mark.parametrize("texts", [CHINESE, THAI, ["私は学校に行きたいです。", "はい。"]])
def test_texts_without_spaces_between_words_are_named(texts: list[str]) -> None:
    systems = {"ours": texts}
    (notice,) = token_notices(texts, systems, References.from_texts(texts))
    assert notice.startswith("the sources, ours, the references: there are no spaces between words")
    assert "gleu(unit='char')" in notice
    assert token_notices(texts, systems, by_character=True) == []
    apart = [" ".join(text) for text in texts]
    (notice,) = token_notices(apart, systems, by_character=True)
    assert notice.startswith("ours: there are no spaces between words")


def test_texts_with_spaces_between_words_are_not_named() -> None:
    segmented = ["我 今天 很 高兴 的 去 学校 。", "ฉัน ไป โรงเรียน ทุก วัน กับ เพื่อน 。"]
    assert token_notices(segmented, {"ours": segmented}) == []
    english = ["The word 漢字 means character .", "He go ."]
    assert token_notices(english, {"ours": english}) == []
    korean = ["나는 학교에 갔다 .", "그는 사과를 먹었다 ."]
    assert token_notices(korean, {"ours": korean}) == []


def test_full_stops_of_chinese_and_japanese_count() -> None:
    cut, whole = ["我 去 学校 。", "他 来 吗 ？"], ["我 去 学校。", "他 来 吗？"]
    (notice,) = token_notices(cut, {"ours": whole})
    assert notice.startswith('ours: 100 % of sentences end like "school.", in the sources 0 %;')


def test_another_unicode_form_of_the_same_letters_is_noticed() -> None:
    sources = ["Le caf\u00e9 est bon .", "Il go .", "\u00e9t\u00e9 ."]
    decomposed = ["Le cafe\u0301 est bon .", "Il va .", "e\u0301te\u0301 ."]
    (notice,) = form_notices(sources, {"same": sources, "other": decomposed})
    assert notice.startswith("other: 2 of 3 sentences have letters in another Unicode form than")
    (notice,) = form_notices(decomposed, {"same": decomposed, "other": sources})
    assert notice.startswith("other: 2 of 3 sentences have letters")
    # A text without spaces counts as a whole.
    (notice,) = form_notices(["\u304c\u3044"], {"ours": ["\u304b\u3099\u3044"]})
    assert notice.startswith("ours: 1 of 1 sentences has letters")
    (notice,) = text_notices(Corpus(sources, {}, References.from_texts(decomposed)))
    assert notice.startswith("the references: 2 of 3 sentences have letters")
    # A correction may bring letters, of whatever form, that the source lacks.
    assert form_notices(["Le caf\u00e9 ."], {"ours": ["Le the\u0301 ."]}) == []


def test_references_of_other_sources_are_noticed() -> None:
    corrected = [*SENTENCES[:-1], "w19 x19 y19 z19 a ."]
    assert text_notices(Corpus(SENTENCES, {}, References.from_texts(corrected))) == []
    (notice,) = text_notices(
        Corpus(SENTENCES, {}, References.from_texts(SENTENCES, SENTENCES[::-1]))
    )
    assert notice == (
        "references of annotator 1: 90 % of the references share almost no word with their source: they may "
        "belong to other sources, be in another order, or not be corrections."
    )
    lost = [*SENTENCES[:10], *SENTENCES[11:], None]
    (notice,) = text_notices(Corpus(SENTENCES, {}, References.from_texts(lost)))
    assert notice.startswith(
        "the references: 9 of 20 references correct the source of a line nearby"
    )


def test_blank_references_are_counted_where_the_source_is_not_and_no_edit_explains_them() -> None:
    sources = ["a", "b", " ", "c"]
    (notice,) = blank_reference_notices(
        sources, References.from_texts(sources, ["", " ", "", None])
    )
    assert notice == (
        "the references: 2 of 4 sentences have one that is blank where the source is not (lines 1, 2); it "
        "counts as a correction that deletes the sentence, so give None (in JSON Lines null) for a reference "
        "that is absent."
    )
    deleted = AnnotatedSentence("a", {0: (Edit(0, 1, ""),)})
    assert blank_reference_notices(["a"], References.from_annotated([deleted])) == []
    assert blank_reference_notices(["a"], None) == []


def test_headings_and_blank_lines_are_no_sentences() -> None:
    essay = ["# My day", "", "I go to school .", "```", "| a | b |", "**Evening**", "# 1 choice"]
    notices = source_notices(essay, first=11)
    assert notices == [
        "the sources: 1 of 7 lines is blank (line 12); each counts as a sentence, so leave out lines between "
        "paragraphs in all files.",
        "the sources: 5 of 7 lines are Markdown, such as '# My day' (lines 11, 14, 15, 16, 17); each "
        "counts as a sentence, so give plain sentences, one in each line.",
    ]
    assert text_notices(Corpus(essay, {"ours": essay}))[:2] == source_notices(essay)
    plain = ["- Yes , I do .", "* I think so", "#1 is best", "a | b", "-- He said .", "1. One"]
    assert source_notices(plain) == []
