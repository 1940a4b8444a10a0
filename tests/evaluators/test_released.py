"""The released evaluators: what they score, what they are made of, what they say, how large they are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from embedded import SAMPLE_FOLDER

from learnedgec import load_metric
from learnedgec.data.catalog.ratings import load_ratings
from learnedgec.data.catalog.registry import check_permissive
from learnedgec.data.text import read_lines, read_text
from learnedgec.errors import ModelError
from learnedgec.evaluators import RATED, RELEASED
from learnedgec.evaluators.locations import open_package
from learnedgec.evaluators.package import check_package, manifest_datasets, manifest_tools
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.package import reading_metrics

CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"
METRICS = ("some", "quality", "preference", f"quality[{RATED}]", f"preference[{RATED}]")
# Scores of the systems on the sample's first sentences. The changelog names each change that moves them.
SENTENCES = 24
SCORES = {
    "some": {"careful": 0.788875, "eager": 0.844479, "strong": 0.853206, "weak": 0.686588},
    "quality": {"careful": 0.668432, "eager": 0.714485, "strong": 0.735743, "weak": 0.536803},
    "preference": {"careful": 0.48535, "eager": 0.607954, "strong": 0.772604, "weak": -0.092021},
    f"quality[{RATED}]": {
        "careful": 0.752098,
        "eager": 0.866846,
        "strong": 0.880899,
        "weak": 0.416595,
    },
    f"preference[{RATED}]": {
        "careful": 1.250117,
        "eager": 2.164046,
        "strong": 2.186865,
        "weak": -0.211361,
    },
}


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Runtime:
    """Return a runtime that keeps what evaluators compute; several metrics use the same outputs."""
    return Runtime(cache_dir=str(tmp_path_factory.mktemp("cache")))


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
def test_scores_of_the_sample_stay(name: str, runtime: Runtime) -> None:
    sources = read_lines(SAMPLE_FOLDER / "source.txt")[:SENTENCES]
    systems = {
        system: read_lines(SAMPLE_FOLDER / "systems" / f"{system}.txt")[:SENTENCES]
        for system in SCORES[name]
    }
    scores = load_metric(name).score(sources, systems, runtime=runtime)
    for system, expected in SCORES[name].items():
        assert scores[system].value == pytest.approx(expected, abs=1e-4)
    metric, _, package = name.rstrip("]").partition("[")
    package = package or (RATED if name == "some" else RELEASED)
    assert f"{metric}[{package}]" in scores["strong"].signature
    assert f"sha256:{open_package(str(CHECKPOINTS / package)).digest}" in scores["strong"].signature


@pytest.mark.parametrize("name", METRICS)
def test_corrected_capitals_score(name: str, runtime: Runtime) -> None:
    source = "i live in london with my friend peter ."
    texts = [
        "I live in London with my friend Peter .",
        source,
        "I Live in London with my friend Peter .",
    ]
    scores = load_metric(name).score([source] * 3, texts, runtime=runtime).sentences
    assert scores[0] > scores[2] > scores[1]


# The examples of the READMEs of gotutiyan/SOME (.772, .952) and gotutiyan/IMPARA (.162, .812).
@pytest.mark.parametrize(
    ("name", "sources", "hypotheses"),
    [
        (
            "some",
            ["This is a sample sentence .", "This is an another sample sentene ."],
            ["This a is sample sentence .", "This is another sample sentence ."],
        ),
        (
            "quality",
            ["This is a sentence .", "This is another sentence ."],
            ["This a is sentence .", "This is another sentence ."],
        ),
    ],
)
def test_examples_of_readmes_are_in_their_order(
    name: str, sources: list[str], hypotheses: list[str], runtime: Runtime
) -> None:
    worse, better = load_metric(name).score(sources, hypotheses, runtime=runtime).sentences
    assert worse < better - 0.15


@pytest.mark.realdata
def test_ratings_of_the_example_of_tmu_gfm(runtime: Runtime) -> None:
    # The example of the data card of Yoshimura et al. (2020): 3.4, 3.4 and 3.6 of 1 to 4.
    rating = next(
        r
        for r in load_ratings("tmu-gfm")
        if r.source.startswith("Afterall there") and r.hypothesis.startswith("After all")
    )
    texts = [rating.hypothesis, "There will being battle and the human mentality technology ."]
    details = (
        load_metric("some").score([rating.source] * 2, texts, runtime=runtime).sentence_details
    )
    for dimension, mean in {"grammaticality": 3.4, "fluency": 3.4, "meaning": 3.6}.items():
        good, bad = details[dimension]
        assert good == pytest.approx((mean - 1) / 3, abs=0.1)
        assert bad < good - 0.15


@pytest.mark.parametrize(
    ("name", "outputs"),
    [
        (RATED, {"grammaticality", "fluency", "meaning", "quality", "preference"}),
        (RELEASED, {"likelihood", "meaning", "impara", "quality", "preference"}),
    ],
)
def test_manifest_and_card_say_what_it_is(name: str, outputs: set[str]) -> None:
    manifest = check_package(CHECKPOINTS / name)
    assert manifest["data"]["check_leakage"]
    assert {*manifest["heads"], *manifest["sums"]} >= outputs
    assert manifest["bits"] == 4
    datasets = manifest_datasets(manifest)
    assert not [name for name in datasets if "conll14" in name or name in ("seeda", "gjg15")]
    card = read_text(CHECKPOINTS / name / "README.md")
    # The whole names, which mean the same whatever metrics read without brackets. The cards are as released,
    # with the names of heads of then.
    [written] = re.findall("--metric ([^`]+)`", card)
    named, read = map(shlex.split, (written, reading_metrics(manifest)))
    assert list(map(load_metric, named)) == list(map(load_metric, read))
    assert {f"quality[{name}]", f"preference[{name}]"} <= {*named}
    assert "a share of 0.25 or less (`threshold`)" in card


@pytest.mark.parametrize(
    ("folders", "most"),
    [
        (("en-ewt-sm", RELEASED), 68e6),  # the wheel
        (("en-ewt-sm", RELEASED, RATED), 114e6),  # a clone
    ],
)
def test_downloads_stay_small(folders: tuple[str, ...], most: float) -> None:
    files = [file for folder in folders for file in (CHECKPOINTS / folder).rglob("*")]
    assert sum(file.stat().st_size for file in files if file.is_file()) < most


# -- the evaluator in the wheel ---------------------------------------


def test_one_dataset_that_it_is_made_of_may_not_be_used_commercially() -> None:
    manifest = check_package(CHECKPOINTS / RELEASED)
    assert manifest["license"] == "Apache-2.0 AND CC-BY-SA-4.0 AND LicenseRef-robustgec AND MIT"
    assert not manifest["data"]["ratings"]
    tools = manifest_tools(manifest)
    assert tools == ("en-ewt-sm", "HuggingFaceTB/SmolLM2-135M-Instruct")
    # The authors of these exam questions promise research purposes only, under a repository's MIT licence.
    free = [name for name in manifest_datasets(manifest) if name != "robustgec:tem8"]
    check_permissive(manifest["encoder"], free, tools)


@pytest.mark.parametrize("metric", ["quality", "preference"])
def test_corrections_score_above_mistakes(metric: str) -> None:
    source = "She have lived in this city since five years ."
    texts = [
        "She has lived in this city for five years .",
        "She have live on this city since five year .",
    ]
    good, bad = load_metric(metric).score([source] * 2, texts).sentences
    assert good > bad + 0.1


def test_some_reads_heads_that_it_lacks() -> None:
    with pytest.raises(ModelError, match="but not grammaticality, which this metric reads"):
        load_metric("some[open-mpnet]").check(Runtime())


@pytest.mark.parametrize(
    ("source", "right", "wrong"),
    [
        ("He are not happy with it .", "He is not happy with it .", "He is happy with it ."),
        ("She lose 500 dollar .", "She lost 500 dollars .", "She lost 900 dollars ."),
        ("Anna have met her friend .", "Anna has met her friend .", "Anna has met her enemy ."),
    ],
)
def test_a_change_of_the_meaning_scores_below(source: str, right: str, wrong: str) -> None:
    good, bad = load_metric("preference").score([source] * 2, [right, wrong]).sentences
    assert good > bad
