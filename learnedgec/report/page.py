"""A report as one HTML file that needs nothing else: no network, no server, no other file.

The file holds styles, scripts and the data, compressed. Everything that comes from outside (sentences,
names, types) is text in it and never markup: templates escape, and scripts write text nodes alone. A content
security policy that knows the two blocks by their SHA-256 forbids every other script, and every request.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from learnedgec.errors import MissingDependencyError
from learnedgec.execution.writing import PathLike
from learnedgec.formats.text import write_text

__all__ = ["check_report", "render_report", "write_report"]

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
    """Raise now what writing a report would raise after the work.

    Raises:
        MissingDependencyError: jinja2 is not installed.
    """
    _environment()


def write_report(path: PathLike, report: Mapping[str, Any]) -> None:
    """Write a report as one HTML file.

    Args:
        path: the file, or `-` for standard output.
        report: what `build_report` or `build_benchmark_report` returns.

    Raises:
        MissingDependencyError: jinja2 is not installed.
        OutputError: the file cannot be written.
    """
    write_text(path, render_report(report))


def render_report(report: Mapping[str, Any]) -> str:
    """Return the HTML of a report; equal reports have equal pages.

    Raises:
        MissingDependencyError: jinja2 is not installed.
    """
    style = _assets(_STYLES)
    script = "(() => {\n'use strict';\n" + _assets(_SCRIPTS) + "})();\n"
    template = _environment().get_template("page.html")
    page: str = template.render(
        report=report,
        style=style,
        script=script,
        data=_packed(report),
        style_digest=_digest(style),
        script_digest=_digest(script),
    )
    return page


def _environment() -> Any:
    """Return the templates, which escape whatever is put into them."""
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
    """Return the files one after the other."""
    return "".join((_HERE / "assets" / name).read_text(encoding="utf-8") for name in names)


def _packed(report: Mapping[str, Any]) -> str:
    """Return the data as JSON, compressed, in base64, without a time stamp."""
    text = json.dumps(report, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=9, mtime=0)).decode()


def _digest(text: str) -> str:
    """Return what a content security policy knows a block by."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
