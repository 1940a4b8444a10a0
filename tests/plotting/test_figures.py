"""Figures: the files, what they show, and what happens without matplotlib."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from embedded import Sample

from learnedgec import Resampling
from learnedgec.analysis.meta.evaluation import evaluate
from learnedgec.analysis.meta.measures import Protocol
from learnedgec.analysis.meta.results import Evaluation
from learnedgec.analysis.ranking import SystemRanking, rank_systems
from learnedgec.data.benchmarks import load_benchmark
from learnedgec.errors import MissingDependencyError
from learnedgec.metrics.registry import load_metric
from learnedgec.plotting import check_plotting, figures, style
from learnedgec.plotting.figures import plot_evaluation, plot_ranking
from learnedgec.scoring import bind_one

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    metrics = [load_metric("gleu(iterations=1)"), load_metric("green")]
    return evaluate(
        metrics, load_benchmark("sample"), Protocol(resampling=Resampling(20), window=3), human="EW"
    )


@pytest.fixture(scope="module")
def ranking(sample: Sample) -> SystemRanking:
    metric = load_metric("gleu(iterations=1)")
    statistics = bind_one(metric).statistics(sample.sources, sample.systems, sample.references)
    return rank_systems(metric, statistics, resampling=Resampling(50))


def test_an_evaluation_writes_its_figures_twice(evaluation: Evaluation, tmp_path: Path) -> None:
    files = plot_evaluation(evaluation, tmp_path / "new")
    stems = ["scatter", "intervals", "ranks", "windows", "best", "wins"]
    assert [path.name for path in files] == [
        f"sample.EW.mean.{stem}.{suffix}" for stem in stems for suffix in ("pdf", "png")
    ]
    for path in files:
        assert path.read_bytes()[:4] in (b"%PDF", b"\x89PNG")


def test_names_do_not_cover_each_other(evaluation: Evaluation) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with style():
        figure = figures._scatter(evaluation, evaluation.metrics[:2])
    renderer = FigureCanvasAgg(figure).get_renderer()
    for axis in figure.axes:
        boxes = np.array([text.get_window_extent(renderer).get_points() for text in axis.texts])
        for place, box in enumerate(boxes):
            # A few pixels² may be shared where a name is wider than estimated.
            assert (figures._overlaps(box, boxes[place + 1 :]) < 30).all()


def test_ranks_and_best_systems_are_drawn_where_they_are(evaluation: Evaluation) -> None:
    with style():
        ranks = figures._ranks(evaluation, evaluation.metrics[:2])
        best = figures._curves(evaluation, evaluation.metrics[:2], "best")
    best_first = [evaluation.systems[number] for number in evaluation.order]
    left = {text.get_text(): text.get_position()[1] for text in ranks.axes[0].texts[::2]}
    assert left == {system: place for place, system in enumerate(best_first, 1)}
    (axis, _) = best.axes
    assert [label.get_text() for label in axis.get_xticklabels()] == ["4"]
    assert axis.lines[1].get_ydata() == pytest.approx(evaluation.metrics[0].best["pearson"].values)


def test_matrix_prints_every_known_share() -> None:
    wins = np.array([[np.nan, 0.75, np.nan], [0.25, np.nan, 0.5], [np.nan, 0.5, np.nan]])
    with style():
        figure = figures._wins(["a", "b", "c"], wins, [0, 1, 2], "won")
    assert [text.get_text() for text in figure.axes[0].texts] == ["75", "25", "50", "50"]


def test_without_matplotlib_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, ranking: SystemRanking, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"learnedgec\[plot\]"):
        check_plotting(tmp_path)
    with pytest.raises(MissingDependencyError, match="matplotlib"):
        plot_ranking(ranking, tmp_path)
