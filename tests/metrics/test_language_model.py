from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from embedded import Sample
from scipy.stats import spearmanr
from tiny_causal import save_causal

from learnedgec.data.catalog import load_ratings
from learnedgec.errors import InputError
from learnedgec.metrics.asano import Asano
from learnedgec.metrics.language_models import token_scores
from learnedgec.metrics.likelihood import Likelihood, as_written
from learnedgec.metrics.scribendi import Scribendi, token_sort_ratio
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import bind_one


def load(folder: Path) -> tuple[Any, Any]:
    from transformers import GPT2LMHeadModel, PreTrainedTokenizerFast

    return (
        GPT2LMHeadModel.from_pretrained(folder).eval(),
        PreTrainedTokenizerFast.from_pretrained(folder),
    )


def literal_logs(model: Any, tokenizer: Any, text: str) -> list[float]:
    """One sentence at a time, one token at a time."""
    ids = tokenizer(tokenizer.bos_token + text)["input_ids"]
    with torch.no_grad():
        logs = model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    return [logs[place - 1, ids[place]].item() for place in range(1, len(ids))]


def literal_distance(first: str, second: str) -> int:
    """Insertions and deletions cost 1, substitutions 2."""
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        before, row = row, [i]
        for j, b in enumerate(second, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (0 if a == b else 2)))
    return row[-1]


def literal_ratio(first: str, second: str) -> float:
    return 1 - literal_distance(first, second) / (len(first) + len(second))


def pairs(sample: Sample) -> tuple[list[str], list[str]]:
    texts = list(sample.systems.values())
    pairs = [(s, h) for lines in texts for s, h in zip(sample.sources, lines, strict=True)]
    pairs += [(s, row[0].text) for s, row in zip(sample.sources, sample.references, strict=True)]
    return [s for s, _ in pairs[:320]], [h for _, h in pairs[:320]]


def test_scribendi_equals_its_definition(tiny_causal: Path, sample: Sample) -> None:
    sources, hypotheses = pairs(sample)
    score = Scribendi(model=str(tiny_causal)).score(sources, hypotheses)
    model, tokenizer = load(tiny_causal)
    perplexities: dict[str, float] = {}

    def perplexity(text: str) -> float:
        if text not in perplexities:
            logs = literal_logs(model, tokenizer, text)
            perplexities[text] = math.exp(-sum(logs) / len(logs)) if logs else math.inf
        return perplexities[text]

    expected = []
    for source, hypothesis in zip(sources, hypotheses, strict=True):
        clean = [re.sub(r"\W", " ", text).lower().split() for text in (source, hypothesis)]
        first, second = (" ".join(sorted(words)) for words in clean)
        if source == hypothesis:
            expected.append(0)
        elif perplexity(source) <= perplexity(hypothesis):
            expected.append(-1)
        else:
            sort = round(100 * literal_ratio(first, second)) / 100 if second else 0.0
            close = max(sort, literal_ratio(source, hypothesis)) >= 0.8
            expected.append(1 if close else -1)
    assert len(sources) >= 300
    assert score.sentences.tolist() == expected
    assert score.value == sum(expected)
    assert set(expected) == {-1, 0, 1}
    details = score.details
    assert (details["better"], details["worse"], details["unchanged"]) == (
        expected.count(1),
        expected.count(-1),
        expected.count(0),
    )
    in_details = score.sentence_details["perplexity"]
    assert in_details == pytest.approx([perplexity(text) for text in hypotheses], rel=1e-4)


def test_likelihood_equals_its_definition(tiny_causal: Path, sample: Sample) -> None:
    hypotheses = [*sample.systems["eager"][:20], ""]
    model, tokenizer = load(tiny_causal)
    logs = [literal_logs(model, tokenizer, text) for text in hypotheses]
    totals = [sum(row) if row else -math.log(model.config.vocab_size) for row in logs]
    counts = {
        "sentence": [1] * len(logs),
        "character": [len(text) for text in hypotheses],
        "token": [len(row) for row in logs],
        "word": [len(text.split()) for text in hypotheses],
    }
    for per, numbers in counts.items():
        metric = Likelihood(str(tiny_causal), per, written=False)  # type: ignore[arg-type]
        score = metric.score(hypotheses, hypotheses)
        expected = [total / max(n, 1) for total, n in zip(totals, numbers, strict=True)]
        assert score.sentences == pytest.approx(expected, rel=1e-4)
        assert score.value == pytest.approx(np.mean(expected), rel=1e-4)
    written = Likelihood(str(tiny_causal)).score(hypotheses, hypotheses)
    plain = [as_written(text) for text in hypotheses]
    again = Likelihood(str(tiny_causal), written=False).score(plain, plain)
    assert written.sentences == pytest.approx(again.sentences)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`` Why ? '' he said", '"Why?" he said'),
        ("It costs $ 5 ( or 6 ) .", "It costs $5 (or 6)."),
        ("the dogs ' tails and John 's", "the dogs' tails and John's"),
        ("an n of 3 : fine ...", "an n of 3: fine..."),
    ],
)
def test_text_as_people_write_it(text: str, expected: str) -> None:
    assert as_written(text) == expected


def test_long_texts_are_read_in_overlapping_windows(tmp_path: Path) -> None:
    short = save_causal(tmp_path / "short", positions=16)
    model, tokenizer = load(short)
    texts = [" ".join(["a man goes home ."] * n) for n in (1, 2, 3, 8)] + [""]
    for score, text in zip(token_scores(str(short), texts, Runtime()), texts, strict=True):
        ids = [tokenizer.bos_token_id, *tokenizer(text)["input_ids"]]
        expected = []
        for place in range(1, len(ids)):
            # Windows begin at 0, 8, 16, …; a token is scored in the first that reaches it.
            begin = max(0, -(-(place - 15) // 8) * 8)
            window = torch.tensor([ids[begin:place]])
            with torch.no_grad():
                logs = model(window).logits[0, -1].double().log_softmax(-1)
            expected.append(logs[ids[place]].item())
        assert score.ids.tolist() == ids[1:]
        assert score.logs == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("new york mets", "Mets, New York!", 1.0),
        ("", "", 1.0),
        ("!", "?", 1.0),
        ("a", "!", 0.0),
        # 2 of 7 characters differ: 5/7 = 0.714…
        ("abc", "abcd", 0.86),
        ("caf\u00e9", "caf", 1.0),
        ("don't", "don t", 1.0),
    ],
)
def test_token_sort_ratio(first: str, second: str, expected: float) -> None:
    assert token_sort_ratio(first, second) == pytest.approx(expected)


def test_empty_sentences(tiny_causal: Path) -> None:
    metric = Scribendi(model=str(tiny_causal))
    # To nothing, from nothing, and nothing at all.
    assert metric.score(["a b", "", ""], ["", "a b", ""]).sentences.tolist() == [-1, -1, 0]


@pytest.fixture(scope="module")
def asano(tiny_causal: Path, sample: Sample) -> Asano:
    return Asano(model=str(tiny_causal), ratings=str(sample.folder))


def test_asano_learns_grammaticality_and_sums(asano: Asano, sample: Sample) -> None:
    ratings = load_ratings(str(sample.folder))
    score = asano.score([r.source for r in ratings], [r.hypothesis for r in ratings])
    parts = score.sentence_details
    human = [rating.values["grammaticality"] for rating in ratings]
    assert spearmanr(parts["grammaticality"], human)[0] > 0.55
    assert 0 <= parts["grammaticality"].min() <= parts["grammaticality"].max() <= 1
    expected = 0.07 * parts["grammaticality"] + 0.83 * parts["fluency"] + 0.10 * parts["meaning"]
    assert score.sentences == pytest.approx(expected)
    assert score.value == pytest.approx(expected.mean())


def test_fluency_equals_its_definition(asano: Asano, sample: Sample, tiny_causal: Path) -> None:
    model, tokenizer = load(tiny_causal)
    ratings = [r.hypothesis for r in load_ratings(str(sample.folder)) if r.hypothesis.split()]
    counts: dict[int, int] = {}
    for text in ratings:
        for number in tokenizer(text)["input_ids"]:
            counts[number] = counts.get(number, 0) + 1
    total = sum(counts.values()) + len(counts) + 1
    hypotheses = sample.systems["strong"][:10]
    expected = []
    for text in hypotheses:
        ids = tokenizer(text)["input_ids"]
        unigrams = [math.log((counts.get(number, 0) + 1) / total) for number in ids]
        logs = literal_logs(model, tokenizer, text)
        expected.append((sum(logs) - sum(unigrams)) / len(ids))
    fluency = asano.score(sample.sources[:10], hypotheses).sentence_details["fluency"]
    assert fluency == pytest.approx(expected, abs=1e-4)


def test_an_empty_hypothesis_is_worth_nothing(asano: Asano) -> None:
    score = asano.score(["He go home .", "He go home ."], ["", " "])
    for part in score.sentence_details.values():
        assert part.tolist() == [0.0, 0.0]


def test_asano_signature_names_what_it_learned_from(asano: Asano, tmp_path: Path) -> None:
    signature = bind_one(asano).signature()
    assert re.search(r"\|sha256:[0-9a-f]{12}\|ratings:[0-9a-f]{12}\|meteor:exact\+stem", signature)
    other = tmp_path / "ratings.csv"
    other.write_text("hypothesis,grammaticality\nHe go .,2\nHe goes .,4\n")
    assert (
        signature.split("|")[2]
        != bind_one(Asano(asano.model, str(other))).signature().split("|")[2]
    )


def test_ratings_without_grammaticality_are_refused(asano: Asano, tmp_path: Path) -> None:
    other = tmp_path / "ratings.csv"
    other.write_text("hypothesis,fluency\nHe go .,2\nHe goes .,4\n")
    with pytest.raises(InputError, match="0 sentences rated for grammaticality"):
        Asano(asano.model, str(other)).score(["a"], ["b"])
