"""The correction in what a language model writes around it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnedgec import extract_correction, load_benchmark
from learnedgec.applications.reward import reward


@pytest.mark.parametrize(
    ("completion", "text"),
    [
        ("<think>He go?</think>He goes .", "He goes ."),
        ("<think>never ends", ""),
        ("<answer>He went .</answer> no: <answer>He goes .</answer>", "He goes ."),
        ("Here it is:\n```text\nHe goes .\n```\nDone.", "He goes ."),
        ("Corrected sentence: He goes .", "He goes ."),
        ("The corrected version is: \u201cHe goes .\u201d", "He goes ."),
        ("Corrected sentence : He goes .", "He goes ."),
        ("Answer:\nHe goes .", "He goes ."),
        ("The answer is : we need more time .", "The answer is : we need more time ."),
        ("Output : five volts .", "Output : five volts ."),
        ('"He goes ."', "He goes ."),
        ('"Go" , he said , "now"', '"Go" , he said , "now"'),
        ("The answer to this is simple .", "The answer to this is simple ."),
    ],
)
def test_the_correction_in_a_completion(completion: str, text: str) -> None:
    assert extract_correction(completion) == text


@given(st.text(), st.none() | st.text())
def test_extraction_gives_one_line_for_any_text(completion: str, source: str | None) -> None:
    text = extract_correction(completion, source)
    assert text == " ".join(text.split())


SOURCE = "He do not likes to play football with his brother ."
RIGHT = "He does not like to play football with his brother ."


@pytest.mark.parametrize(
    "form",
    [
        "{}",
        "Corrected: {}",
        "The corrected sentence is: {}",
        "Output: {}",
        "Here is the corrected sentence: {}",
        "Here is the corrected sentence:\n{}",
        "Here is the corrected sentence:\n\n{}",
        "Here is the corrected sentence with proper grammar: {}",
        'Here\u2019s the corrected version:\n\n"{}"',
        "Sure! Here is the corrected sentence:\n\n{}",
        "Certainly!\n\nThe corrected version is:\n\n> {}",
        "Sure, the sentence with its grammar corrected:\n\n{}\n\nChanges made:\n- do -> does",
        "**Corrected sentence:** {}",
        "**Corrected sentence**: **{}**",
        "### Corrected sentence\n\n{}",
        "The verb is wrong.\n\nCorrected sentence: {}",
        f"Original: {SOURCE}\nCorrected: {{}}",
        'The correct sentence is "{}"',
        'The corrected sentence is: "{}".',
        "Sure, here you go:\n\n{}",
        "'{}'",
        '{{"corrected_sentence": "{}", "explanation": "do"}}',
        "{}\n\nExplanation: \u201cdo\u201d does not agree with \u201cHe\u201d.",
        "{} Explanation: do should be does.",
        "{}\n\n**Note:** the verb follows its subject.",
        "{}\n\nI changed the verb.",
        "{} (Changed do to does.)",
        "{}\n\n(The verb follows its subject.)",
        "**{}**",
        "`{}`",
        '{{"correction": "{}"}}',
        '```json\n{{"correction": "{}"}}\n```',
        "Corrected: {}\nOriginal: He go home .",
        "{}<|im_end|>",
        "<|start_header_id|>assistant<|end_header_id|>\n\n{}<|eot_id|>",
        "assistant: {}",
        "1. {}",
        "- {}",
    ],
)
def test_what_a_chat_model_writes_around_it_goes(form: str) -> None:
    assert extract_correction(form.format(RIGHT)) == RIGHT
    assert extract_correction(form.format(RIGHT), SOURCE) == RIGHT
    # A reward gives the source to the default, and the completion alone to a function of the user's.
    function = reward("length")
    assert function(completions=[form.format(RIGHT)], source=[SOURCE]) == [11.0]


@pytest.mark.parametrize(
    "form",
    [
        "Corrected: {right}\nOriginal: {source}",
        "Corrected sentence: {right}\n\nOriginal sentence: {source}",
        "Output: {right}\nInput: {source}",
        'Original: "{source}"\nCorrected: "{right}"',
        "{source}\n{right}",
        "Correct: {source}\n{right}",
        "Please correct: {source}\n\n{right}",
        "{right}\n\nChanges:\n- {source}\n+ {right}",
        "Corrected: {right}\n\nThe original sentence was:\n{source}",
    ],
)
def test_an_echo_of_the_source_is_not_the_correction(form: str) -> None:
    completion = form.format(source=SOURCE, right=RIGHT)
    assert extract_correction(completion, SOURCE) == RIGHT
    assert extract_correction(completion) == RIGHT


@pytest.mark.parametrize(
    "form",
    [
        "{source} → {right}",
        "Your sentence should read: {right}",
        "The sentence '{source}' should be:\n{right}",
        "{right}\n\nThe phrase 'do not likes to play football' is wrong.",
        "{source}\n\nCorrected: {right}\n\nIn '{source}', the verb is wrong.",
    ],
)
def test_the_source_shows_what_repeats_it(form: str) -> None:
    assert extract_correction(form.format(source=SOURCE, right=RIGHT), SOURCE) == RIGHT


def test_an_echo_is_the_correction_if_nothing_else_can_be() -> None:
    for form in (
        "{}",
        "Corrected: {}\nOriginal: {}",
        "{}\n\nNo changes are needed.",
        "It is right: {}",
    ):
        assert extract_correction(form.format(SOURCE, SOURCE), SOURCE) == SOURCE
    # An announced rewriting does not earn what doing nothing earns.
    rewritten = "With his brother he dislikes sport ."
    assert extract_correction(f"{SOURCE}\nCorrected: {rewritten}", SOURCE) == rewritten


THOUGHT = f"The sentence is: {SOURCE}\nThe verb is wrong."


@pytest.mark.parametrize(
    "form",
    [
        "{thought}\n</think>\n\n{right}",
        "<reasoning>\n{thought}\n</reasoning>\n{right}",
        "<thinking>{thought}</thinking><reflection>{right}</reflection><output>{right}</output>",
        "[THINK]{thought}[/THINK]{right}",
        "◁think▷{thought}◁/think▷{right}",
        "<seed:think>{thought}</seed:think>{right}",
        "<|channel|>analysis<|message|>{thought}<|end|><|start|>assistant<|channel|>final<|message|>{right}"
        "<|return|>",
        "<|channel>thought\n{thought}<channel|>{right}<turn|>",
        "<|START_THINKING|>{thought}<|END_THINKING|><|START_RESPONSE|>{right}<|END_RESPONSE|>",
        "{right}<end_of_turn>",
        "<start_of_turn>model\n{right}<end_of_turn>",
        "{right}<|im_end|>\n<|im_start|>user\nShe go .",
        "<s> {right} </s>",
        "<pad> {right}<pad>",
        "[/INST] {right}</s>",
        "{right}<｜end▁of▁sentence｜>",
        "<corrected_sentence>{right}</corrected_sentence>",
        "<correction>{right}</correction>\n<explanation>{thought}</explanation>",
        "<answer>{right}</answer>\nI changed the verb.",
    ],
)
def test_thoughts_and_marks_of_any_spelling_go(form: str) -> None:
    completion = form.format(thought=THOUGHT, right=RIGHT)
    assert extract_correction(completion, SOURCE) == RIGHT
    assert extract_correction(completion) == RIGHT


def test_marked_words_lose_their_marks_and_unfinished_thoughts_are_no_answer() -> None:
    for marked in ("He **does** not like it .", "He <b>does</b> not like it ."):
        assert extract_correction(marked) == "He does not like it ."
    for unfinished in (
        "<reasoning>He do",
        "<|channel|>analysis<|message|>He do",
        "He do\n</think>",
    ):
        assert extract_correction(unfinished, "He do .") == ""


@pytest.mark.slow
def test_no_bare_correction_changes(mirror: Path) -> None:
    for name in ("seeda-s", "gmeg"):
        benchmark = load_benchmark(name)
        for texts in benchmark.systems.values():
            for source, text in list(zip(benchmark.sources, texts, strict=True))[::4]:
                if not text.startswith(("-", "*", "•")):  # a sentence that a list has
                    flat = " ".join(text.split())
                    assert extract_correction(text, source) == flat
                    assert extract_correction(text) == flat


@pytest.mark.parametrize(
    "form", ["{}\n\nHope this helps!", "Corrected: {}\nConfidence: high", "I see.\n\n**{}**"]
)
def test_the_source_tells_the_correction_from_other_lines(form: str) -> None:
    assert extract_correction(form.format(RIGHT), SOURCE) == RIGHT


@pytest.mark.parametrize(
    "text",
    [
        "Note that he goes home .",
        "Note: he goes home.",
        "Explanation: he goes home.",
        "He bought: milk and bread.",
        "Here is what he said: go home.",
        "The correct way is : go home .",
        "I think the correct answer is yes: we go.",
        "He asked: is the answer correct?",
        'The correct word is " yes " .',
        "Changes are good .",
        "He went home (changed house) .",
        "I added a note (see below).",
        "( Changed names . )",
        '" He goes home . "',
        'He said "no".',
        '{"a": 1}',
        "{ a }",
        "1 . He goes home .",
        "The assistant: he goes home .",
        "Dear <name> , I like [NAME] .",
        "It is in <unk> , and 3 < 4 > 2 .",
    ],
)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert extract_correction(text) == text
    assert extract_correction(text, text) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Answer: he go.", "Answer: he goes."),
        ('"He go home."', '"He goes home."'),
        ("He go .\nShe go too .", "He goes . She goes too ."),
        ('The correct sentence is "He go."', 'The correct sentence is "He goes."'),
        ("He leaved. Explanation: he is ill.", "He left. Explanation: he is ill."),
        ("It move (changed house)", "It moved (changed house)"),
        ("1. Go home .", "1. Go home ."),
        ("- Come in , he say .", "- Come in , he said ."),
    ],
)
def test_what_the_source_has_stays(source: str, text: str) -> None:
    assert extract_correction(text, source) == text


def test_long_completions_are_read_at_once() -> None:
    for part in ("here is corrected ", "\n", "(changed ", '{"a":', "**"):
        assert len(extract_correction(part * 20_000, SOURCE)) <= 20_000 * len(part)


def test_a_thought_of_one_word_is_a_thought() -> None:
    source, text = "She have went to school .", "She went to school ."
    for completion in (
        f"<think>went</think> Corrected sentence: {text}",
        f"<think>\nwent\n</think>\n{text}",
        f"<|channel|>analysis<|message|>went<|end|><|channel|>final<|message|>{text}<|return|>",
    ):
        assert extract_correction(completion, source) == text
    assert extract_correction("<answer>Stop!</answer> is what I suggest", "Stops !") == "Stop!"
