"""Figures: that they are drawn, from results of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest
from embedded import SAMPLE_FOLDER

from learnedgec import load_metric, read_lines
from learnedgec.data.catalog import Case
from learnedgec.data.catalog.cases import read_cases
from learnedgec.plotting.robustness import plot_attacks, plot_preferences, plot_systems
from learnedgec.robustness.attacks import evaluate_attacks
from learnedgec.robustness.preferences import evaluate_preferences
from learnedgec.robustness.systems import evaluate_systems


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return read_cases(SAMPLE_FOLDER / "robust" / "para.txt")


def check(files: list[Path], names: list[str]) -> None:
    assert [file.name for file in files] == [f"{n}.{s}" for n in names for s in ("pdf", "png")]
    for file in files:
        start = b"%PDF" if file.suffix == ".pdf" else b"\x89PNG"
        assert file.read_bytes().startswith(start)


def test_systems_and_metrics(cases: list[Case], tmp_path: Path) -> None:
    outputs = read_lines(SAMPLE_FOLDER / "robust" / "system.txt")
    systems = {"system": {"sample": outputs}, "other": {"sample": outputs[::-1]}}
    results = evaluate_systems(load_metric("m2"), {"sample": cases}, systems, resamples=5)
    check(plot_systems(results, tmp_path), ["sample.m2.bounds", "sample.m2.variants"])
    metrics = [load_metric("length"), load_metric("constant")]
    preferences = evaluate_preferences(metrics, {"sample": cases}, resamples=5)
    drawn = ["sample.metrics", "sample.preferences"]
    check(plot_preferences(preferences, tmp_path), drawn)


def test_attacks(tmp_path: Path) -> None:
    metrics = [load_metric("length"), load_metric("edit-count")]
    attacks = {"x": ["a b", "a"], "y": ["b", "a"]}
    results = evaluate_attacks(metrics, ["a", "a"], attacks, {"o": ["a", "b"]}, resamples=5)
    check(plot_attacks(results, tmp_path), ["attacks"])
