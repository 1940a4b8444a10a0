from __future__ import annotations

from pathlib import Path

import pytest
from annotated import references_of
from max_match_oracle import f_score

from learnedgec.data.m2 import Edit
from learnedgec.data.references import References
from learnedgec.metrics.gotoscorer import GoldChunk, GotoScorer, chunk_difficulties, gold_chunks
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import bind_one

SOURCE = "he go to a school on foots"
GOLD = (Edit(1, 2, "goes"), Edit(3, 4, ""), Edit(6, 7, "foot", alternatives=("feet",)))
REFERENCES = references_of(SOURCE, GOLD)
SYSTEMS = {
    # all three right
    "best": ["he goes to school on foot"],
    # one right by the alternative, one tried and wrong, one left
    "fair": ["he gone to a school on feet"],
    # nothing right; a token and a gap changed that should not be
    "poor": ["he go to a big school by foots"],
    # nothing done
    "none": [SOURCE],
}


def test_chunks_are_gold_edits_then_other_tokens_then_other_gaps() -> None:
    gold = ((0, 1, ("A",)), (2, 2, ("x",)), (2, 4, ("y",)))
    assert list(gold_chunks((("a", "b", "c", "d", "e"), gold))) == [
        GoldChunk(0, 1, 0),
        GoldChunk(2, 2, 1),
        GoldChunk(2, 4, 2),
        GoldChunk(1, 2),
        GoldChunk(4, 5),
        GoldChunk(0, 0),
        GoldChunk(1, 1),
        GoldChunk(4, 4),
        GoldChunk(5, 5),
    ]
    assert gold_chunks(((), ())) == (GoldChunk(0, 0),)


@pytest.mark.parametrize(
    ("chunk", "edit", "touched"),
    [
        (GoldChunk(1, 3, 0), (2, 4), True),
        (GoldChunk(1, 3, 0), (2, 2), True),
        (GoldChunk(1, 3, 0), (1, 1), False),
        (GoldChunk(2, 2, 0), (2, 2), True),
        (GoldChunk(2, 2, 0), (1, 3), True),
        (GoldChunk(2, 2, 0), (2, 3), False),
        (GoldChunk(2, 2), (1, 3), False),
        (GoldChunk(2, 2), (2, 2), True),
        (GoldChunk(2, 3), (2, 2), False),
        (GoldChunk(2, 3), (0, 9), True),
    ],
)
def test_what_an_edit_touches(chunk: GoldChunk, edit: tuple[int, int], touched: bool) -> None:
    assert chunk.touched_by({"start": edit[0], "end": edit[1]}) is touched


def test_weights_worked_out_by_hand() -> None:
    counted = GotoScorer().unweighted.score([SOURCE], SYSTEMS, REFERENCES)
    learned = chunk_difficulties(
        [SOURCE], {name: score.statistics for name, score in counted.items()}
    )
    ((annotated, weights),) = learned.items()
    by_chunk = dict(zip(gold_chunks(annotated), weights, strict=True))
    # 1 of 4 systems has "goes", 1 deleted "a", 2 have "foot" or "feet".
    assert by_chunk.pop(GoldChunk(1, 2, 0)) == 0.75
    assert by_chunk.pop(GoldChunk(3, 4, 1)) == 0.75
    assert by_chunk.pop(GoldChunk(6, 7, 2)) == 0.5
    # "poor" alone inserts before "school" and changes "on".
    assert by_chunk.pop(GoldChunk(4, 4)) == 0.25
    assert by_chunk.pop(GoldChunk(5, 6)) == 0.25
    assert set(by_chunk.values()) == {0.0}


def test_scores_worked_out_by_hand() -> None:
    scores = GotoScorer().score([SOURCE], SYSTEMS, REFERENCES)
    expected = {
        # TP, TP + FP, TP + FN
        "best": (2.0, 2.0, 2.0),
        "fair": (0.5, 0.5 + 0.75, 0.5 + 1.5),
        "poor": (0.0, 0.5, 2.0),
        "none": (0.0, 0.0, 2.0),
    }
    for name, counts in expected.items():
        details = scores[name].details
        assert tuple(details[key] for key in ("tp", "proposed", "gold")) == counts
        assert scores[name].value == pytest.approx(f_score(*counts, 0.5))
    (record,) = scores["fair"].statistics.records[0]
    assert [edit["weight"] for edit in record["gold"]] == [0.75, 0.75, 0.5]
    assert "weights:of all systems scored together" in scores["fair"].signature


def test_one_system_alone_is_warned_of() -> None:
    for systems in ({"fair": SYSTEMS["fair"]}, {"fair": SYSTEMS["fair"], "same": SYSTEMS["fair"]}):
        with pytest.warns(UserWarning, match="gotoscorer: .* score it with others"):
            GotoScorer().score([SOURCE], systems, REFERENCES)


def test_each_annotator_has_weights_of_its_own() -> None:
    references = References.from_texts(["he goes"], ["he went"])
    systems = {"a": ["he goes"], "b": ["he went"], "c": ["he goes"], "d": ["he go"]}
    scores = GotoScorer().score(["he go"], systems, references)
    statistics = scores["a"].statistics
    # "goes" fails for 2 of 4, "went" for 3 of 4.
    assert statistics["gold"].tolist() == [[0.5, 0.75]]
    assert statistics["tp"].tolist() == [[0.5, 0.0]]
    assert [scores[name].value for name in "abcd"] == [1.0, 1.0, 1.0, 0.0]
    assert scores["b"].sentence_details["annotator"].tolist() == [1]


def test_edits_may_be_those_of_errant() -> None:
    # M2 joins neighbouring changes into one edit, ERRANT keeps these apart.
    references = References.from_texts(["He goes home ."])
    systems = {"both": ["He goes home ."], "one": ["He goes hme ."]}
    joined, apart = GotoScorer(), GotoScorer(annotator="en-ewt-sm")
    for metric, proposed in ((joined, 0.5), (apart, 0.0)):
        scores = metric.score(["He go hme ."], systems, references)
        assert scores["both"].value == 1.0
        # Joined, "one" is wrong in the only edit; apart, its right one is made by both and weighs nothing.
        details = scores["one"].details
        assert (details["tp"], details["proposed"], details["gold"]) == (0.0, proposed, 0.5)
    assert "|annotator-version:" in bind_one(apart).signature(references)


def test_statistics_are_cached_without_weights(tmp_path: Path) -> None:
    runtime = Runtime(cache_dir=str(tmp_path))
    systems = {"a": ["he goes"], "b": ["he go"]}
    references = References.from_texts(["he goes"])
    fresh = GotoScorer().score(["he go"], systems, references)
    for _ in range(2):
        cached = GotoScorer().score(["he go"], systems, references, runtime=runtime)
        assert cached["a"].details == fresh["a"].details
    # Another company, other weights.
    others = {"a": ["he goes"], "b": ["she goes"]}
    alone = GotoScorer().score(["he go"], others, references, runtime=runtime)
    assert alone["a"].details["gold"] == 0.0
