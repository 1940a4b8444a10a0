"""Edits with their confidence, and text without unsure ones: in Python and on the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch

from learnedgec import Evaluator, edit_confidence
from learnedgec.applications.confidence import JudgedEdits, edit_contributions, word_log_odds
from learnedgec.cli.main import main
from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.errors import InputError, LengthError, TextWarning
from learnedgec.evaluators.evaluator import HeadConfig
from learnedgec.evaluators.inference import word_places
from learnedgec.runtime.runtime import Runtime

ANNOTATOR = "en-ewt-sm"
SOURCES = ["She go home .", "They likes the dogs", "Fine ."]
HYPOTHESES = ["She goes home .", "They like dogs .", "Fine ."]


def test_a_head_says_what_an_edit_changes_alone_and_one_that_reads_words_whether_they_are_right(
    tmp_path: Path,
) -> None:
    heads = {"wrong": HeadConfig("pair", reads="tokens"), "fluency": HeadConfig()}
    evaluator = Evaluator.load(str(tiny.save_evaluator(tmp_path / "words", heads=heads)))
    # Their order does not matter.
    edits = [[Edit(4, 5, "dogs ?"), Edit(1, 1, "has a"), Edit(2, 3, "")], [], [Edit(3, 3, ".")]]
    sources = ["She go house the dog .", "He", "He goes home"]
    texts = ["She has a go the dogs ? .", "He", "He goes home ."]
    assert [apply_edits(*row) for row in zip(sources, edits, strict=True)] == texts
    contributions = edit_contributions(evaluator, ["fluency", "wrong"], sources, edits)
    first, _, last = word_log_odds(evaluator, sources, texts, "wrong")
    # "dogs ?"; "has a"; the word after the deletion, "the"; ".".
    expected = [first[5:7].mean(), first[1:3].mean(), first[4], last[3]]
    assert contributions[:, 1] == pytest.approx([-value for value in expected])
    alone = [(source, edit) for source, row in zip(sources, edits, strict=True) for edit in row]
    with_edit, without = (
        evaluator.predict([source for source, _ in alone], chosen, ["fluency"])["fluency"]
        for chosen in (
            [apply_edits(source, [edit]) for source, edit in alone],
            [source for source, _ in alone],
        )
    )
    assert contributions[:, 0] == pytest.approx(with_edit - without, abs=1e-5)
    assert edit_contributions(evaluator, ["fluency", "wrong"], [], []).shape == (0, 2)


def test_only_texts_with_edits_and_single_edits_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads = {"wrong": HeadConfig(reads="tokens"), "fluency": HeadConfig()}
    evaluator = Evaluator.load(str(tiny.save_evaluator(tmp_path / "few", heads=heads)))
    read: list[int] = []
    encode = evaluator.model.encode

    def counted(batch: Any, *others: Any) -> Any:
        read.append(len(batch["input_ids"]))
        return encode(batch, *others)

    monkeypatch.setattr(evaluator.model, "encode", counted)
    edits = [[Edit(1, 2, "goes"), Edit(2, 3, "house"), Edit(3, 3, "!")], []]
    edit_contributions(evaluator, ["wrong", "fluency"], ["She go home", "Fine ."], edits)
    # The text with all edits; the source, and the three with one edit.
    assert sum(read) == 1 + 4


def test_a_head_of_a_lower_layer_reads_what_it_reads_in_the_whole_encoder(tmp_path: Path) -> None:
    heads = {"wrong": HeadConfig(reads="tokens", layer=1)}
    evaluator = Evaluator.load(str(tiny.save_evaluator(tmp_path / "lower", heads=heads)))
    (row,) = word_log_odds(evaluator, ["He go ."], ["He goes ."], "wrong")
    inputs = evaluator.tokenizer(["He goes ."], return_tensors="pt")
    with torch.inference_mode():
        logits = evaluator.model.token_logits(evaluator.model.encode(inputs, "hypothesis"), "wrong")
    words = word_places(
        "He goes .", evaluator.tokenizer("He goes .", return_offsets_mapping=True)["offset_mapping"]
    )
    expected = [
        np.mean([v for w, v in zip(words, logits[0].tolist(), strict=True) if w == place])
        for place in range(4)
    ]
    assert row == pytest.approx(expected, abs=1e-5)


def test_an_edit_that_corrects_is_surer_than_one_that_does_not() -> None:
    sources = ["She go home every day .", "He is tall boy .", "They was late ."]
    right = ["She goes home every day .", "He is a tall boy .", "They were late ."]
    wrong = ["She going home every day .", "He is an tall boy .", "They being late ."]
    confidences = [
        [edits[0][1] for edits in edit_confidence(sources, texts, annotator=ANNOTATOR).edits]
        for texts in (right, wrong)
    ]
    for sure, unsure in zip(*confidences, strict=True):
        assert sure > unsure


def test_edits_at_or_below_the_threshold_are_left_out() -> None:
    exact = Runtime(dtype="float32")
    judged = edit_confidence(SOURCES, HYPOTHESES, annotator=ANNOTATOR, runtime=exact)
    assert judged.sources == tuple(SOURCES)
    assert judged.texts(0.0) == HYPOTHESES
    assert judged.texts(1.0) == SOURCES
    assert judged.edits[2] == ()
    ((_, threshold),) = judged.edits[0]
    assert judged.texts(threshold)[0] == SOURCES[0]
    assert judged.texts(threshold - 1e-6)[0] == HYPOTHESES[0]
    alone = edit_confidence(SOURCES[1:2], HYPOTHESES[1:2], annotator=ANNOTATOR, runtime=exact)
    assert [confidence for _, confidence in alone.edits[0]] == pytest.approx(
        [confidence for _, confidence in judged.edits[1]], abs=1e-5
    )
    with pytest.raises(InputError, match="there is no sentence to score"):
        edit_confidence([], [], annotator=ANNOTATOR)
    untokenised = ["She goes home.", "He is tall.", "It rains.", "We eat.", "They go."]
    with pytest.warns(TextWarning, match="no text is tokenised"):
        edit_confidence(untokenised, untokenised, annotator=ANNOTATOR)
    with pytest.raises(LengthError):
        edit_confidence(SOURCES, HYPOTHESES[:1])
    with pytest.raises(InputError, match=r"^hypotheses is the text 'She goes home \.'"):
        edit_confidence(SOURCES, HYPOTHESES[0])
    for threshold in (60, -0.1, float("nan")):
        with pytest.raises(
            InputError, match=r"the threshold is .*, but confidences are from 0 to 1"
        ):
            judged.texts(threshold)


def test_a_threshold_saves_texts_and_changes_no_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = SOURCES + SOURCES[:2], [*HYPOTHESES, "She going home .", "They likes likes the dogs"]

    def confidences(threshold: float | None) -> list[float]:
        judged = edit_confidence(*texts, annotator=ANNOTATOR, threshold=threshold)
        return [confidence for row in judged.edits for _, confidence in row]

    whole = confidences(None)
    predict, read = Evaluator.predict, [0]

    def counted(evaluator: Evaluator, sources: list[str], *others: Any, **options: Any) -> Any:
        read[0] += len(sources) // 2
        return predict(evaluator, sources, *others, **options)

    monkeypatch.setattr(Evaluator, "predict", counted)
    for threshold, edits in ((0.0, 0), (0.5, 5), (min(whole), 1), (1.0, 0)):
        read[0] = 0
        found = confidences(threshold)
        assert [value > threshold for value in found] == [value > threshold for value in whole]
        # Each edit that is read alone is read beside its source, and has the confidence that it has without.
        assert read[0] == edits
        assert (
            sum(
                value == pytest.approx(had, abs=1e-5)
                for value, had in zip(found, whole, strict=True)
            )
            == edits
        )


def test_confidence_is_in_bfloat16_where_the_hardware_has_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def confidence(**options: Any) -> float:
        texts = SOURCES[:1], HYPOTHESES[:1]
        return edit_confidence(*texts, annotator=ANNOTATOR, **options).edits[0][0][1]

    half, full = (confidence(runtime=Runtime(dtype=dtype)) for dtype in ("bfloat16", "float32"))
    assert half == pytest.approx(full, abs=0.02)
    assert half != full
    for has, expected in (("1", half), ("0", full)):
        monkeypatch.setenv("LEARNEDGEC_BFLOAT16", has)
        assert confidence() == expected
        for name, lines in (("source.txt", SOURCES), ("ours.txt", HYPOTHESES)):
            (tmp_path / name).write_text(f"{lines[0]}\n")
        files = ["--src", str(tmp_path / "source.txt"), "--hyp", str(tmp_path / "ours.txt")]
        command = ["edits", *files, "--annotator", ANNOTATOR, "--confidence", "--format", "json"]
        assert main(command) == 0
        (row,) = json.loads(capsys.readouterr().out)["rows"]
        assert row["confidence"] == pytest.approx(expected, abs=1e-4)


def test_what_cannot_be_a_correction_is_undone() -> None:
    source = "He go to school because he like to learn ."
    # A blank line, a truncated sentence, and a truncated one with a good edit.
    hypotheses = ["", "He go to school .", "He goes to school ."]
    judged = edit_confidence([source] * 3, hypotheses, annotator=ANNOTATOR)
    assert judged.texts(0.0) == [source, source, "He goes to school because he like to learn ."]
    # Each edit alone is possible, but not all of them together.
    edits = tuple((Edit(n, n + 1, ""), 0.9) for n in range(len(source.split())))
    assert JudgedEdits((source,), (edits,)).texts(0.5) == [source]


@pytest.mark.parametrize(
    ("source", "edits", "text"),
    [
        # "party" moves, so neither of its edits stays.
        (
            "He is the man who I met him in the party of Laura .",
            ((4, 5, "", 0.75), (7, 12, "at", 0.0), (13, 13, "'s party", 0.603)),
            "He is the man I met him in the party of Laura .",
        ),
        (
            "He is the man who I met him in the party of Laura .",
            ((4, 5, "", 0.75), (7, 12, "at", 0.7), (13, 13, "'s party", 0.603)),
            "He is the man I met at Laura 's party .",
        ),
        # A word that moves to the front changes its case.
        (
            "I go there Yesterday",
            ((0, 0, "yesterday", 0.9), (3, 4, "", 0.5)),
            "I go there Yesterday",
        ),
        # The three edits are a chain: "well" and then "soon" move.
        (
            "He well sees soon it now .",
            ((1, 2, "", 0.9), (3, 4, "well", 0.8), (5, 5, "soon", 0.1)),
            "He well sees soon it now .",
        ),
        # A word that moves is misspelt in the source, or changes its form.
        (
            "We do n't need necessarialy to pay .",
            ((3, 3, "necessarily", 0.55), (4, 5, "", 0.9)),
            "We do n't need necessarialy to pay .",
        ),
        (
            "He fell deeply in a hole",
            ((2, 3, "", 0.9), (5, 5, "deep", 0.1)),
            "He fell deeply in a hole",
        ),
        # Each misspelt word is corrected where it is.
        (
            "My languaje is not at all the languaje of birds",
            ((1, 2, "language", 0.9), (7, 8, "language", 0.1)),
            "My language is not at all the languaje of birds",
        ),
        # Articles and punctuation do not move, and a word that its edit keeps has not disappeared.
        (
            "The dog , he sees cat",
            ((0, 1, "", 0.1), (2, 3, "", 0.1), (6, 6, ", the", 0.9)),
            "The dog , he sees cat , the",
        ),
        (
            "He see dog of you",
            ((1, 3, "sees dog", 0.1), (5, 5, "dog", 0.9)),
            "He see dog of you dog",
        ),
    ],
)
def test_edits_that_move_a_word_stay_or_go_together(
    source: str, edits: tuple[tuple[int, int, str, float], ...], text: str
) -> None:
    row = tuple((Edit(start, end, correction), sure) for start, end, correction, sure in edits)
    assert JudgedEdits((source,), (row,)).texts(0.6) == [text]


@pytest.mark.parametrize(
    ("source", "edits", "text"),
    [
        # "Despite" needs "the rain", and "in" needs "learning".
        (
            "Although it was raining , we went out .",
            ((0, 1, "Despite", "R:PREP", 0.68), (1, 4, "the rain", "R:OTHER", 0.09)),
            "Although it was raining , we went out .",
        ),
        (
            "She is interested to learn English .",
            ((3, 4, "in", "R:PART", 0.5), (4, 5, "learning", "R:VERB:FORM", 0.7)),
            "She is interested to learn English .",
        ),
        (
            "She is interested to learn English .",
            ((3, 4, "in", "R:PART", 0.7), (4, 5, "learning", "R:VERB:FORM", 0.7)),
            "She is interested in learning English .",
        ),
        # Both change the same verb.
        (
            "He is always keep asking me .",
            ((1, 2, "", "U:VERB:TENSE", 0.9), (3, 4, "keeps", "R:VERB:SVA", 0.5)),
            "He is always keep asking me .",
        ),
        (
            "He suggested me to go there .",
            ((2, 3, "I", "R:PRON", 0.7), (3, 4, "", "U:VERB:FORM", 0.4)),
            "He suggested me to go there .",
        ),
        # These are independent.
        (
            "There is many people who likes football .",
            ((1, 2, "are", "R:VERB:SVA", 0.9), (6, 7, "the football", "M:DET", 0.3)),
            "There are many people who likes football .",
        ),
    ],
)
def test_edits_that_need_each_other_stay_or_go_together(
    source: str, edits: tuple[tuple[int, int, str, str, float], ...], text: str
) -> None:
    row = tuple((Edit(start, end, new, kind), sure) for start, end, new, kind, sure in edits)
    assert JudgedEdits((source,), (row,)).texts(0.6) == [text]


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "source.txt", tmp_path / "system.txt"]
    for file, lines in zip(files, (SOURCES, HYPOTHESES), strict=True):
        file.write_text("\n".join(lines) + "\n")
    inputs = ["--src", str(files[0]), "--hyp", str(files[1]), "--annotator", ANNOTATOR]
    assert main(["edits", *inputs, "--confidence", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    judged = edit_confidence(SOURCES, HYPOTHESES, annotator=ANNOTATOR)
    assert [float(row["confidence"]) for row in rows] == pytest.approx(
        [confidence for edits in judged.edits for _, confidence in edits], abs=1e-4
    )
    assert list(rows[0].values())[:7] == ["system", "1", "1", "2", "go", "goes", "R:VERB:SVA"]
    for keep, texts in (("0", HYPOTHESES), ("1", SOURCES), ("0.5", judged.texts(0.5))):
        assert main(["filter", *inputs, "--keep", keep]) == 0
        assert capsys.readouterr().out.splitlines() == texts
    sure = files[1].with_name("sure.txt")
    for keep, undone, stayed in (("0", 0, (2, 0, 0)), ("1", len(rows), (0, 0, 2))):
        assert main(["filter", *inputs, "--keep", keep, "--out", str(sure)]) == 0
        assert capsys.readouterr().err.splitlines()[-1] == (
            f"undid {undone} of {len(rows)} edits: {undone} with a confidence of {keep} or less. Of 2 "
            f"sentences with edits ({len(SOURCES)} in all), {stayed[0]} keep all of them, {stayed[1]} some "
            f"and {stayed[2]} none; wrote {sure}"
        )
    files[1].write_text("She goes home.\nThey like dogs.\nFine.\n")
    assert main(["filter", *inputs, "--keep", "0", "--tokenise", "spacy"]) == 0
    assert capsys.readouterr().out.splitlines() == HYPOTHESES
