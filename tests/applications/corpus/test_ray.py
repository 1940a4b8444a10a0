"""Blocks on a Ray cluster of two workers: equal scores, and nothing lost where one is killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from embedded import Sample
from failing_metrics import Deadly

from learnedgec.applications.corpus.ray import RayBlocks
from learnedgec.applications.corpus.reading import Corpus
from learnedgec.applications.corpus.scoring import score_corpus
from learnedgec.errors import MissingDependencyError
from learnedgec.metrics.registry import load_metric

# Ray Data warns of what it does itself, and leaves files to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",
    "ignore::FutureWarning",
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


@pytest.fixture(scope="module")
def runner() -> Iterator[RayBlocks]:
    pytest.importorskip("ray")
    with RayBlocks(workers=2) as runner:
        yield runner


def test_two_workers_one_of_which_is_killed(
    runner: RayBlocks, corpus: Corpus, sample: Sample, tmp_path: Path
) -> None:
    metrics = [
        load_metric("gleu"),
        load_metric("m2"),
        Deadly(at=sample.sources[25], count=str(tmp_path / "count")),
    ]
    scores = score_corpus(metrics, corpus, tmp_path / "ray", runner=runner, sentences="jsonl")
    assert (tmp_path / "count.deaths").stat().st_size == 1
    expected = score_corpus(metrics, corpus, tmp_path / "alone", sentences="jsonl")
    assert scores == expected
    assert scores.scored == 72
    written = [
        [path.read_text() for path in sorted((tmp_path / run / "sentences").iterdir())]
        for run in ("ray", "alone")
    ]
    assert written[0] == written[1]


def test_a_block_that_kills_every_worker_is_given_up(
    runner: RayBlocks, corpus: Corpus, sample: Sample, tmp_path: Path
) -> None:
    metric = Deadly(at=sample.sources[70], count=str(tmp_path / "count"), times=99)
    scores = score_corpus([metric], corpus, tmp_path / "run", runner=runner, retries=0)
    (failed,) = scores.failed
    assert (failed.first, failed.last) == (71, 72)
    assert failed.error == "its worker was killed in each attempt (1), such as for want of memory"
    assert scores.scored == 70


def test_ray_is_asked_for_where_it_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with (
        pytest.raises(MissingDependencyError, match=r"pip install 'learnedgec\[ray\]'"),
        RayBlocks(),
    ):
        pass
