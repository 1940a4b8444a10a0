"""A study of three systems on sentences that differ everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from studies import SOURCES, SYSTEMS, Make

from learnedgec.judging.records import StudySettings
from learnedgec.judging.study import Study


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that makes a study with some settings."""

    def make_study(folder: str = "study", **settings: Any) -> Study:
        given = {"sentences": 24, "raters": 2, "annotator": "plain", **settings}
        return Study.create(tmp_path / folder, SOURCES, SYSTEMS, settings=StudySettings(**given))

    return make_study
