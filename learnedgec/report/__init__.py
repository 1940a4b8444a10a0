"""The report: one HTML file in which a team sees what its metrics see.

data         everything that is shown, as one JSON-able value
overview     systems × metrics, with what can be said of their order
sentences    sources, outputs, references and edits, with every score
types        edits by error type and operation
meaning      what a score means, where a reference for it is released
effects      what length and the number of edits do to a score
judgements   a benchmark's meta-evaluation
notices      what a reader should notice before believing a number
provenance   what the numbers come from
page         that value as one HTML file (`templates/`, `assets/`)
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
