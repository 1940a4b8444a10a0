from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from embedded import Sample

from learnedgec import Resampling
from learnedgec.data.references import References
from learnedgec.data.text import write_lines
from learnedgec.metrics.registry import load_metric
from learnedgec.report.data import ReportSettings, build_report
from learnedgec.report.overview import PreferenceBin, ScoreReference

ANNOTATOR = "en-ewt-sm"
SENTENCES = 40
REFERENCE = ScoreReference(
    metric="edit-count",
    evaluators={},
    benchmark="bench",
    quantiles=np.linspace(0, 10, 101),
    outputs=1000,
    gains=np.array([0.0, 10.0]),
    probabilities=np.array([0.5, 1.0]),
    pairs=900,
    accuracy=0.7,
    bins=(PreferenceBin(0.3, 0.35, 0.3, 0.4, 450), PreferenceBin(0.7, 0.65, 0.6, 0.7, 450)),
)
HOSTILE = "</script><script>document.title = 'taken'</script> <img src=x onerror=alert(1)> & \"quotes\" , 'n"


@pytest.fixture(scope="session")
def case(
    sample: Sample,
    tiny_regressor: Path,
    tiny_encoder: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> SimpleNamespace:
    """Return the sample with a hostile sentence at the end, as files and in memory, and the report on it.

    `inputs` are the files as options of a command.
    """
    folder = tmp_path_factory.mktemp("report")
    sources = [*sample.sources[:SENTENCES], HOSTILE]
    systems = {name: [*texts[:SENTENCES], HOSTILE] for name, texts in sample.systems.items()}
    systems["weak"][-1] = HOSTILE.replace("quotes", "<b>bold</b>")
    systems["weak"][10] = ""
    write_lines(folder / "source.txt", sources)
    for name, texts in systems.items():
        write_lines(folder / f"{name}.txt", texts)
    blocks = (sample.folder / "gold.m2").read_text(encoding="utf-8").split("\n\n")[:SENTENCES]
    blocks.append(f"S {HOSTILE}\nA 2 3|||R:<i>|||<u>|||REQUIRED|||-NONE-|||0\n")
    (folder / "gold.m2").write_text("\n\n".join(blocks), encoding="utf-8")
    references = References.from_m2(folder / "gold.m2", sources)
    names = [f"errant(annotator={ANNOTATOR!r})", "gleu(iterations=5)", "edit-count"]
    metrics = [load_metric(name) for name in names]
    metrics.append(
        load_metric(
            "impara", quality=str(tiny_regressor), similarity=str(tiny_encoder), threshold=0.995
        )
    )
    settings = ReportSettings(
        title="Four systems <b>",
        attribution=(metrics[-1],),
        annotator=ANNOTATOR,
        resampling=Resampling(200),
        command="learnedgec report --title '<script>'",
        files={"a<b>.txt": "0" * 64},
    )
    with pytest.MonkeyPatch.context() as patch:
        # The released references are of a model that takes long to run.
        patch.setattr(
            "learnedgec.report.overview.find_reference",
            lambda metric: REFERENCE if metric.label == "edit-count" else None,
        )
        report = build_report(metrics, sources, systems, references, settings=settings)
    hypotheses = [str(folder / f"{name}.txt") for name in systems]
    return SimpleNamespace(
        folder=folder,
        inputs=["--src", str(folder / "source.txt"), "--hyp", *hypotheses],
        sources=sources,
        systems=systems,
        references=references,
        metrics=metrics,
        report=report,
    )
