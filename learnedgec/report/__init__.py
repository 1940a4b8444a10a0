"""The report: one HTML file with scores, edits and sentences of several systems.

- `data`: the content of a report as one value for JSON
- `overview`: systems × metrics, with the significant differences
- `sentences`: sources, outputs, references and edits, with their scores
- `types`: edits by error type and operation
- `meaning`: explanation of a score, if the package has a reference for its metric
- `effects`: effect of length and of the number of edits on a score
- `judgements`: a benchmark's meta-evaluation
- `notices`: warnings about texts, annotator and metrics
- `provenance`: software, and data with their licences
- `page`: the HTML file (`templates/`, `assets/`)
"""

from learnedgec.report.data import ReportSettings, build_benchmark_report, build_report
from learnedgec.report.page import render_report, write_report

__all__ = [
    "ReportSettings",
    "build_benchmark_report",
    "build_report",
    "render_report",
    "write_report",
]
