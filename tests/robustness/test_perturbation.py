"""Variants made by `perturb`: one word of the context, the same in source and target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from embedded import Sample

from learnedgec.data.catalog import Case
from learnedgec.data.text import read_lines
from learnedgec.edits.max_match import reference_edits
from learnedgec.errors import InputError, LengthError, ModelError
from learnedgec.evaluators.loading import load_model, load_tokenizer
from learnedgec.robustness.perturbation import ACTIONS, Action, Changes, perturb
from learnedgec.runtime.runtime import Runtime


@pytest.fixture(scope="module")
def targets(sample: Sample) -> list[str]:
    return read_lines(sample.folder / "ref0.txt")


def made_by(case: Case, variant: int) -> Action:
    """Check one variant against its original, and return what was done."""
    original, changed = case.original, case.variants[variant]
    source, target = original.source.split(), original.target.split()
    (edit,) = reference_edits(original.source, changed.source)
    (other,) = reference_edits(original.target, changed.target)
    assert edit.correction == other.correction
    assert source[edit.start : edit.end] == target[other.start : other.end]
    assert edit.end - edit.start <= 1
    assert len(edit.correction.split()) <= 1
    for error in reference_edits(original.source, original.target):
        touched = range(error.start - 1, error.end + 1)
        assert not set(range(edit.start, edit.end)) & set(touched)
        if edit.start == edit.end:
            assert not {edit.start - 1, edit.start} <= set(touched)
            assert not error.start < edit.start < error.end
    # Both have the same corrections.
    before, after = (
        [
            (pair.source.split()[e.start : e.end], e.correction)
            for e in reference_edits(pair.source, pair.target)
        ]
        for pair in (original, changed)
    )
    assert before == after
    if edit.start == edit.end:
        return "insert"
    return "substitute" if edit.correction else "delete"


def check(cases: Sequence[Case]) -> set[Action]:
    return {made_by(case, number) for case in cases for number in range(len(case.variants))}


def test_one_word_of_the_context_changes_alike_on_both_sides(
    sample: Sample, targets: list[str]
) -> None:
    cases = perturb(sample.sources, targets, Changes(variants=4))
    assert check(cases) == set(ACTIONS)
    assert sum(len(case.variants) for case in cases) > 200
    assert [case.original.source for case in cases] == list(sample.sources)
    assert [case.original.target for case in cases] == targets
    for case in cases:
        assert len({case.original, *case.variants}) == 1 + len(case.variants) <= 5
    assert perturb(sample.sources, targets, Changes(variants=4)) == cases
    assert perturb(sample.sources, targets, Changes(variants=4, seed=1)) != cases
    # Short and empty sentences have no variants.
    assert [case.variants for case in perturb(["", "Yes .", "a"], ["", "Yes .", ""])] == [()] * 3


@pytest.mark.parametrize("action", ACTIONS)
def test_only_the_actions_asked_for(sample: Sample, targets: list[str], action: Action) -> None:
    cases = perturb(sample.sources[:40], targets[:40], Changes(variants=2, actions=[action]))
    assert check(cases) == {action}


def test_an_stays_before_a_vowel() -> None:
    texts = [f"We saw {what} dog ." for what in ("an old", "a young", "an awful", "a big")]
    cases = perturb(texts, texts, Changes(actions=["substitute"], variants=5))
    words = {v.target.split()[3] for case in cases[::2] for v in case.variants}
    assert words == {"old", "awful"}
    texts = ["We saw an old dog .", "We saw an old animal ."] * 2
    deleted = perturb(texts, texts, Changes(actions=["delete"]))
    assert [len(case.variants) for case in deleted] == [0, 1, 0, 1]


def test_what_cannot_be() -> None:
    with pytest.raises(LengthError, match="sources has 2 sentences but targets has 1"):
        perturb(["a", "b"], ["a"])
    with pytest.raises(InputError, match="0 variants by substitute, insert, delete"):
        perturb(["a"], ["a"], Changes(variants=0))
    with pytest.raises(InputError, match="1 variants by shuffle"):
        perturb(["a"], ["a"], Changes(variants=1, actions=["shuffle"]))  # type: ignore[list-item]


@pytest.fixture(scope="module")
def tiny_masked_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    import tiny
    from transformers import BertForMaskedLM

    torch.manual_seed(0)
    tokenizer = tiny.tokenizer()
    model = BertForMaskedLM(tiny.configuration(len(tokenizer)))
    return str(tiny._save(tmp_path_factory.mktemp("models") / "masked", model, tokenizer))


def test_no_word_is_inserted_next_to_an_error(tiny_masked_model: str) -> None:
    (case,) = perturb(
        ["went home ."],
        ["I went home ."],
        Changes(variants=2, actions=["insert"]),
        encoder=tiny_masked_model,
    )
    assert len(case.variants) == 2
    assert {variant.source.split()[0] for variant in case.variants} == {"went"}


def test_the_paper_s_procedure(sample: Sample, targets: list[str], tiny_masked_model: str) -> None:
    sources, targets = list(sample.sources[:40]), targets[:40]
    cases = perturb(sources, targets, encoder=tiny_masked_model)
    done = Counter[str]()
    model = load_model(tiny_masked_model, Runtime(), "AutoModelForMaskedLM")
    tokenizer = load_tokenizer(tiny_masked_model)
    words = {n: t for t, n in tokenizer.get_vocab().items() if t.isalpha()}
    for case in cases:
        source, target = case.original.source.split(), case.original.target.split()
        errors = reference_edits(case.original.source, case.original.target)
        for variant in case.variants:
            (edit,) = reference_edits(case.original.source, variant.source)
            (other,) = reference_edits(case.original.target, variant.target)
            assert edit.correction == other.correction
            assert source[edit.start : edit.end] == target[other.start : other.end]
            assert all(edit.end <= e.start or e.end <= edit.start for e in errors)
            if edit.start == edit.end:
                assert edit.correction in words.values()
            elif edit.correction:
                # The most probable word of the vocabulary in the correction, other than the word itself.
                text = [*target[: other.start], "[MASK]", *target[other.end :]]
                inputs = tokenizer(" ".join(text), return_tensors="pt")
                with torch.inference_mode():
                    (logits,) = model(**inputs).logits[inputs["input_ids"] == 4]
                best = sorted(words, key=lambda number: -logits[number])
                expected = [words[n] for n in best[:2] if words[n] != target[other.start].lower()]
                assert edit.correction == expected[0]
            done[
                "insert" if edit.start == edit.end else "delete" if not edit.correction else "sub"
            ] += 1
    # The actions are equally probable; deleting one of two equal words, or inserting one, may coincide.
    total = done.total()
    assert total > 150
    assert all(0.2 < done[action] / total < 0.5 for action in ("insert", "delete", "sub"))


def test_an_encoder_without_the_head_is_refused(tiny_encoder: Path) -> None:
    actions: list[Action] = ["substitute"]
    with pytest.raises(ModelError, match=r"lacks the weights cls\.predictions"):
        perturb(["a b"], ["a b"], Changes(actions=actions), encoder=str(tiny_encoder))
