"""Safeguards of rewards: texts that are no corrections, and what a changed meaning costs."""

from __future__ import annotations

import re

import numpy as np
import pytest

from learnedgec.applications.reward import reward
from learnedgec.applications.safeguards import MeaningPenalty, changed_sentences, is_correction
from learnedgec.data.catalog.outputs import load_outputs


def test_a_changed_meaning_is_charged_beyond_the_slack() -> None:
    function = reward("constant", meaning=MeaningPenalty("length", weight=0.5, slack=1.0))
    texts = ["a b c d", "a b c", "a b", "a b c d e"]
    rewards = function(completions=texts, source=["a b c d"] * 4)
    assert rewards == pytest.approx([0.0, 0.0, -0.5, 0.0])


# Source, a text that says something else, the correction.
CHANGED = {
    "negation": (
        "He have finished his homework .",
        "He has not finished his homework .",
        "He has finished his homework .",
    ),
    "antonym": (
        "She dont like her teacher because he are mean .",
        "She loves her teacher because he is kind .",
        "She does n't like her teacher because he is mean .",
    ),
    "number": (
        "The company lost 500 dollar in last year .",
        "The company lost 900 dollars last year .",
        "The company lost 500 dollars last year .",
    ),
    "name": (
        "Anna have met Peter in Berlin .",
        "Peter has met Anna in Paris .",
        "Anna has met Peter in Berlin .",
    ),
    "tense": (
        "She have went to school yesterday .",
        "She will go to school tomorrow .",
        "She went to school yesterday .",
    ),
    "word": (
        "She have went to school yesterday .",
        "She has gone to the moon yesterday .",
        "She went to school yesterday .",
    ),
    "dropped": (
        "He go to school every days because he like to learn .",
        "He goes to school every day .",
        "He goes to school every day because he likes to learn .",
    ),
    "addition": (
        "He go to school every days .",
        "He goes to school every day with his dog .",
        "He goes to school every day .",
    ),
}


@pytest.mark.parametrize(
    ("source", "text", "changed"),
    [
        ("I have not seen him , so I do not know it .", "I have not seen him , so I know it .", 1),
        ("I have seen him .", "I have n't seen him .", 1),
        ("I do not knows nothing , and he does not .", "I know nothing , and he does .", 1),
        ("I do n't know he is not here .", "I do n't know he is here .", 1),
        ("I never goes there .", "I do not never go there .", 1),
        ("She no like coffee .", "She likes coffee .", 1),
        ("I eat meat or no fish .", "I eat meat or fish .", 1),
        ("I do n't like it . He does .", "I like it . He does n't .", 2),
        ("He dont know , I dosen't either .", "He does n't know , and I do not either .", 0),
        ("There is n't any money and he can't stay .", "There is no money and he cannot stay .", 0),
        ("We want to go into the knot .", "We went into the hotel .", 0),
    ],
)
def test_each_negation_that_a_text_lacks_or_adds_is_charged(
    source: str, text: str, changed: int
) -> None:
    function = reward("constant", meaning=MeaningPenalty("length", weight=0.0, fact=0.5))
    assert function(completions=[text], source=[source]) == [-0.5 * changed]


# Source, what says something else, the correction.
EXCHANGED = [
    ("We should to protect environment .", "We should n't protect it .", "We should protect it ."),
    ("Mary gave John it in May .", "John gave Mary it in May .", "Mary gave it to John in May ."),
    ("It are at 5 pm on Monday .", "It is at 5 pm on Tuesday .", "It is at 5 pm on Monday ."),
    ("It are at 5 pm on Monday .", "It is at 5 am on Monday .", "It is at 5 pm on Monday ."),
    ("I am at home 07:30 in June .", "I am home at 8:30 in June .", "I am home at 7:30 in June ."),
    (
        "They left before it start .",
        "They left after it started .",
        "They left before it started .",
    ),
    ("All student must go .", "Some students must go .", "Every student must go ."),
    ("She always forget it .", "She sometimes forgets it .", "She always forgets it ."),
    ("It are illegal to go .", "It is legal to go .", "It is illegal to go ."),
    ("I dislikes it .", "I like it .", "I dislike it ."),
    ("He are a careless man .", "He is a careful man .", "He is a careless man ."),
    ("I went without hat .", "I went with a hat .", "I went without a hat ."),
    (
        "Infact it are infront of us .",
        "Infact it is not in front .",
        "In fact it is in front of us .",
    ),
    ("he come on tuseday .", "He does not come on Tuesday .", "He comes on Tuesday ."),
    ("They went in May or June .", "They went in May or July .", "They have gone in May or June ."),
]


@pytest.mark.parametrize(("source", "text", "right"), EXCHANGED)
def test_an_exchanged_fact_costs_more_than_a_correction_earns(
    source: str, text: str, right: str
) -> None:
    function = reward("constant", meaning=MeaningPenalty("length", weight=0.0))
    assert function(completions=[text, right, source], source=[source] * 3) == [-12.0, 0.0, 0.0]


def test_not_may_be_written_in_full() -> None:
    sources = ["She isnt happy .", "i dont think so .", "He do n't likes coffee ."]
    full = ["She is not happy .", "I do not think so .", "He does not like coffee ."]
    short = ["She is n't happy .", "I don't think so .", "He does n't like coffee ."]
    earned = np.reshape(reward()(completions=full + short, source=sources * 2), (2, -1))
    assert (earned > 0).all()
    assert earned[0] == pytest.approx(earned[1], abs=1.5)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("I do not buy nothing .", "I did not buy anything ."),
        ("I do not buy nothing .", "I bought nothing ."),
        ("She never says nothing to nobody .", "She never says anything to anybody ."),
        ("I can not see nobody in the street .", "I can not see anybody in the street ."),
        ("He has not no money .", "He has no money ."),
        ("Nobody never came .", "Nobody came ."),
        ("Nobody don't knows it .", "Nobody knows it ."),
        ("No I do not like .", "No , I do not like it ."),
        ("i want to know if you can come or no .", "I want to know whether you can come ."),
        ("I ask whether he come .", "I ask whether or not he comes ."),
    ],
)
def test_a_double_negative_of_the_source_may_be_one(source: str, text: str) -> None:
    function = reward("constant", meaning=MeaningPenalty("length", weight=0.0))
    assert function(completions=[text, source], source=[source] * 2) == [0.0, 0.0]


def test_a_lost_negation_beside_another_one_costs_more_than_a_correction_earns() -> None:
    source = "I have not seen him for years , so I do not knows where he lives ."
    right = source.replace("knows", "know")
    earned, lost = reward()(completions=[right, right.replace("do not ", "")], source=[source] * 2)
    assert earned > 0 > lost


def test_by_default_a_changed_meaning_earns_less_than_the_correction() -> None:
    sources, changed, right = zip(*CHANGED.values(), strict=True)
    rewards = reward()(completions=[*changed, *right], source=sources * 2)
    pairs = dict(zip(CHANGED, np.reshape(rewards, (2, -1)).T.tolist(), strict=True))
    assert {kind: pair for kind, pair in pairs.items() if not 0 < pair[1] > pair[0]} == {}
    # By the metric alone, none of them wins, since its guard charges for a lost meaning.
    plain = reward("quality")(completions=[*changed, *right], source=sources * 2)
    assert (np.array(plain[:8]) > np.array(plain[8:])).sum() == 0


def test_a_lost_negation_costs_as_much_as_a_small_correction_earns() -> None:
    """These sentences had no part in the choice of the penalty."""
    right = [
        "I do not think that this is a good idea .",
        "We have never been to Spain .",
        "You must not open the window at night .",
        "My brother does not eat meat .",
    ]
    negated = [re.sub(" not| never", "", text) for text in right]
    wrong = [
        "I do not think that this are a good idea .",
        "We have never be to Spain .",
        "You must not open window at night .",
        "My brother does not eats meat .",
    ]
    function = reward()
    alone = np.array(function(completions=negated, source=right))
    assert (alone < -0.5).all()
    earned, both = np.reshape(function(completions=right + negated, source=wrong * 2), (2, -1))
    assert (earned > 0).all()
    assert (earned - both > 0.5 * earned).all()


def test_a_short_sentence_more_or_less_in_a_long_text_is_no_correction() -> None:
    first, last = "She like tea in the morning very much .", "Her brother do not drink it at all ."
    source = f"{first} I love it . {last}"
    corrected = source.replace("like", "likes").replace("do not", "does not")
    texts = [
        corrected,
        corrected.replace(" .", " . That is all .", 1),
        f"Thank you . {corrected}",
        f"{corrected} I love her !",
        corrected.replace("I love it . ", ""),
        # A sentence that was run on is divided, and an end that was missing is added.
        corrected.replace("very much . I", "very much , and I"),
        corrected.replace("tea in", "tea . She drinks it in"),
    ]
    assert is_correction([source] * 7, texts).tolist() == [True, *[False] * 4, True, False]
    assert is_correction(["He is late he is tired"], ["He is late . He is tired ."]).all()


def test_a_changed_meaning_is_charged_sentence_by_sentence() -> None:
    source = "He go home . It is late ! I am tired"
    assert changed_sentences(source, source) == []
    assert changed_sentences(source, "") == [(source, "")]
    assert changed_sentences(source, "He goes home . It is late ! I was tired .") == [
        ("He go home .", "He goes home ."),
        ("I am tired", "I was tired ."),
    ]
    assert changed_sentences("It is late .", "It is late . Bye .") == [
        ("It is late .", "It is late . Bye ."),
    ]
    # A word less is free in each sentence.
    penalised = reward("constant", meaning=MeaningPenalty("length", weight=0.5, slack=1))
    texts = [
        "He home . It late !",
        "He home . It is !",
        "He . It is late !",
        "He go home . It is late !",
    ]
    earned = penalised(completions=texts, source=["He go home . It is late !"] * 4)
    assert earned == pytest.approx([0.0, 0.0, -0.5, 0.0])


def test_a_negation_costs_as_much_in_a_long_text() -> None:
    right, wrong = "He has finished his homework .", "He has not finished his homework ."
    around = (
        "My sister likes the small shop near the old station . We often walk there in the evening ."
    )
    texts = [right, wrong, f"{around} {right}", f"{around} {wrong}"]
    sources = [text.replace("has", "have").replace(" not", "") for text in texts]
    alone, changed, long, long_changed = reward()(completions=texts, source=sources)
    assert alone - changed > 1
    assert long - long_changed == pytest.approx(alone - changed, abs=0.5)


@pytest.mark.realdata
def test_attacks_on_metrics_are_no_corrections_and_honest_outputs_are() -> None:
    outputs = {**load_outputs("attack:conll14"), **load_outputs("seeda")}
    sources = outputs["INPUT"]
    shares = {name: is_correction(sources, texts).mean() for name, texts in outputs.items()}
    assert {name for name, share in shares.items() if share < 0.1} == {"impara", "some", "llmsent"}
    honest = {name: share for name, share in shares.items() if share > 0.98}
    # The attack on Scribendi changes a word or two; experts' rewritings are free.
    assert honest.keys() == shares.keys() - {"impara", "some", "llmsent", "REF-F"}
