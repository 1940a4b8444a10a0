"""A report as one self-contained HTML file, which needs no network, server or other file.

The file holds styles, scripts and the compressed data. All input (sentences, names, types) is text in it and
never markup: templates escape it, and scripts only write text nodes. A content security policy names the
SHA-256 of the script and of the style block and forbids every other script and every request.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from learnedgec.data.text import write_text
from learnedgec.errors import MissingDependencyError
from learnedgec.runtime.files import PathLike

_HERE = Path(__file__).parent
_STYLES = ("page.css", "explorer.css", "print.css")
_SCRIPTS = (
    "dom.js",
    "charts.js",
    "diff.js",
    "export.js",
    "overview.js",
    "explorer.js",
    "errors.js",
    "judgements.js",
    "main.js",
)


def check_report() -> None:
    """Check that a report can be written, before the metrics are run.

    Raises:
        MissingDependencyError: jinja2 is not installed.
    """
    _environment()


def write_report(path: PathLike, report: Mapping[str, Any]) -> None:
    """Write a report as one HTML file.

    Args:
        path: path of the file, or `-` for standard output.
        report: the content, from `build_report` or `build_benchmark_report`.

    Raises:
        MissingDependencyError: jinja2 is not installed.
        OutputError: the file cannot be written.

    Example:
        >>> import tempfile
        >>> from learnedgec import build_report
        >>> from learnedgec.report import ReportSettings
        >>> settings = ReportSettings(annotator="plain", resamples=100)
        >>> systems = {"ours": ["He goes ."]}
        >>> report = build_report("length", ["He go ."], systems, settings=settings)
        >>> path = Path(tempfile.mkdtemp()) / "report.html"
        >>> write_report(path, report)
        >>> path.read_text().startswith("<!doctype html>")
        True
    """
    write_text(path, render_report(report))


def render_report(report: Mapping[str, Any]) -> str:
    """Return the HTML of a report; equal content gives equal pages.

    Raises:
        MissingDependencyError: jinja2 is not installed.
    """
    script = "(() => {\n'use strict';\n" + _assets(_SCRIPTS) + "})();\n"
    values = {"script": script, "script_digest": _digest(script), "data": _packed(report)}
    return render("page.html", report=report, **values)


def render(template: str, **values: Any) -> str:
    """Return the HTML of a template with the styles of reports.

    Args:
        template: its name.
        values: what it shows.

    Raises:
        MissingDependencyError: jinja2 is not installed.
    """
    style = _assets(_STYLES)
    html: str = (
        _environment()
        .get_template(template)
        .render(style=style, style_digest=_digest(style), **values)
    )
    return html


def _environment() -> Any:
    """Return the environment of the templates, which escapes all values."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise MissingDependencyError("jinja2", "report", "writing a report") from None
    return Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _assets(names: tuple[str, ...]) -> str:
    """Return the content of the files, joined."""
    return "".join((_HERE / "assets" / name).read_text(encoding="utf-8") for name in names)


def _packed(report: Mapping[str, Any]) -> str:
    """Return the data as compressed JSON in base64, without a time stamp."""
    text = json.dumps(report, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=9, mtime=0)).decode()


def _digest(text: str) -> str:
    """Return the hash that names a block in a content security policy."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
