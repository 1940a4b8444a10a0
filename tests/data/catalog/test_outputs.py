from __future__ import annotations

from collections.abc import Callable

import pytest

from learnedgec.data.catalog import load_outputs, load_parallel
from learnedgec.errors import InputError

PutDataset = Callable[[str, dict[str, str]], None]


def test_gjg15_outputs_have_single_spaces(put_dataset: PutDataset) -> None:
    folder = "data/original/official_submissions"
    put_dataset("gjg15", {f"{folder}/INPUT": "A  b .  \r\n \r\n", f"{folder}/AMU": "A b .\nC\n"})
    assert load_outputs("gjg15") == {"AMU": ("A b .", "C"), "INPUT": ("A b .", "")}


def test_attack_outputs_are_named_after_the_metric(put_dataset: PutDataset) -> None:
    folder = "experiments/attack_results"
    put_dataset(
        "attack", {f"{folder}/conll14-some.txt": "A .\n", f"{folder}/bea19-dev-some.txt": "B .\n"}
    )
    assert load_outputs("attack:conll14") == {"some": ("A .",)}
    assert load_outputs("attack:bea19-dev") == {"some": ("B .",)}
    assert load_outputs("attack") == {"some": ("A .", "B .")}


def test_parts_with_other_systems_are_not_put_together(put_dataset: PutDataset) -> None:
    folder = "experiments/attack_results"
    put_dataset(
        "attack", {f"{folder}/conll14-some.txt": "A .\n", f"{folder}/bea19-dev-impara.txt": "B .\n"}
    )
    with pytest.raises(InputError, match=r"different systems \(some; impara\); name one part"):
        load_outputs("attack")


def test_single_systems_and_ensembles(put_dataset: PutDataset) -> None:
    lines = "".join(f"{number} .\n" for number in range(360))
    folder = "data/system_preds"
    files = ("single_systems/T5___bea-dev", "ensemble_systems/ens_m3___bea-dev")
    put_dataset(
        "pillars",
        {f"{folder}/{file}.txt": lines for file in files}
        | {f"{folder}/ensemble_systems/NAMES.md": "what they are\n"},
    )
    assert list(load_outputs("pillars")) == ["T5", "ens_m3"]
    assert load_outputs("pillars:test/ensemble") == {
        "ens_m3": tuple(f"{number} ." for number in range(350, 360))
    }
    assert list(load_outputs("pillars:dev/single")) == ["T5"]


def test_the_sample() -> None:
    outputs = load_outputs("sample")
    assert list(outputs) == ["careful", "eager", "strong", "weak"]
    assert {len(texts) for texts in outputs.values()} == {len(load_parallel("sample").sources)}


# -- the real data ----------------------------------------------------------------------------


@pytest.mark.realdata
@pytest.mark.usefixtures("mirror")
@pytest.mark.parametrize(
    ("name", "systems", "sentences"),
    [
        ("seeda", 15, 1312),
        ("seeda:subset", 15, 391),
        ("gjg15", 13, 1312),
        ("cleme", 13, 1312),
        ("gmeg:fce", 7, 968),
        ("gmeg:wiki", 7, 992),
        ("attack:conll14", 4, 1312),
        ("attack:bea19-dev", 4, 4384),
        ("pillars", 15, 4384),
        ("pillars:dev/single", 7, 650),
        ("pillars:test/ensemble", 8, 634),
    ],
)
def test_real_outputs(name: str, systems: int, sentences: int) -> None:
    outputs = load_outputs(name)
    assert len(outputs) == systems
    assert {len(lines) for lines in outputs.values()} == {sentences}


@pytest.mark.realdata
@pytest.mark.usefixtures("mirror")
def test_real_input_is_the_source() -> None:
    sources = load_parallel("conll14").sources
    assert load_outputs("gjg15")["INPUT"] == sources
    assert load_outputs("seeda")["INPUT"] == sources


@pytest.mark.realdata
@pytest.mark.usefixtures("mirror")
def test_real_edits_of_cleme_make_the_outputs_of_gjg15() -> None:
    assert load_outputs("cleme") == load_outputs("gjg15")
    assert load_parallel("cleme").sources == load_parallel("conll14").sources
