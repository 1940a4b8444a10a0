"""Reports as self-contained HTML files, which need no network, server or other file.

That of a training run has agreement, curves, calibration and the worst examples of the dev part.

The file holds styles, scripts and the compressed data. All input (sentences, names, types) is text in it and
never markup: templates escape it, and scripts only write text nodes. A content security policy names the
SHA-256 of the script and of the style block and forbids every other script and every request.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from learnedgec.data.text import iterate_jsonl, read_json, write_text
from learnedgec.evaluators.package import MANIFEST
from learnedgec.runtime.files import PathLike
from learnedgec.types import Floats

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


def write_report(path: PathLike, report: Mapping[str, Any]) -> None:
    """Write a report as one HTML file.

    Args:
        path: path of the file, or `-` for standard output.
        report: the content, from `build_report` or `build_benchmark_report`.

    Raises:
        OutputError: the file cannot be written.

    Example:
        >>> import tempfile
        >>> from learnedgec import Resampling, build_report
        >>> from learnedgec.report.data import ReportSettings
        >>> settings = ReportSettings(annotator="plain", resampling=Resampling(100))
        >>> systems = {"ours": ["He goes ."]}
        >>> report = build_report("length", ["He go ."], systems, settings=settings)
        >>> path = Path(tempfile.mkdtemp()) / "report.html"
        >>> write_report(path, report)
        >>> path.read_text().startswith("<!doctype html>")
        True
    """
    write_text(path, render_report(report))


def render_report(report: Mapping[str, Any]) -> str:
    """Return the HTML of a report; equal content gives equal pages."""
    script = "(() => {\n'use strict';\n" + _assets(_SCRIPTS) + "})();\n"
    values = {"script": script, "script_digest": _digest(script), "data": _packed(report)}
    return render("page.html", report=report, **values)


def render(template: str, **values: Any) -> str:
    """Return the HTML of a template with the styles of reports.

    Args:
        template: its name.
        values: the values of the template's variables.
    """
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = _assets(_STYLES)
    values |= {"style": style, "style_digest": _digest(style)}
    html: str = environment.get_template(template).render(values)
    return html


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


# -- the report of a training run --------------------------------------------------------------------

# The size of a chart. The margin on the left holds 9.857e-05, also in the larger letters of a phone.
_WIDTH, _HEIGHT, _LEFT, _BELOW = 420, 200, 96, 22

_MAX_ERRORS, _BINS = 20, 8

Series = Mapping[str, Sequence[tuple[float, float]]]


def write_training_report(folder: Path, package: Path) -> Path:
    """Write `report.html` into the folder of a finished run.

    Args:
        folder: the run's folder, with its logs and its predictions on the dev part.
        package: the evaluator's folder.
    """
    # The Trainer takes seconds to import.
    from learnedgec.training.run import read_history

    manifest = read_json(package / MANIFEST)
    rows = list(iterate_jsonl(folder / "dev.jsonl"))
    page = render(
        "training.html",
        manifest=manifest,
        agreement=_agreement(manifest),
        curves=_curves(read_history(folder)),
        heads=[_head(name, rows) for name in dict.fromkeys(row["head"] for row in rows)],
    )
    path = folder / "report.html"
    write_text(path, page)
    return path


def _curves(rows: Sequence[Mapping[str, float]]) -> list[dict[str, Any]]:
    """Return a chart of each value over the steps; those of training and of the dev part are in one."""
    logged = {name for row in rows for name in row} - {"epoch", "step"}
    # Curves of all heads come before those of one head.
    names = sorted(logged, key=lambda name: (name.count("/"), name))
    charts: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for name in names:
        part, _, rest = name.partition("/")
        charts.setdefault(rest.replace("/", " ").replace("_", " "), {})[part] = [
            (row["step"], row[name]) for row in rows if name in row
        ]
    order = sorted(charts, key=lambda title: ("train" in charts[title]) - ("dev" in charts[title]))
    # A run with one head logs its score and its loss twice; equal charts become one, with the head's name.
    distinct = {str(charts[title]): title for title in order}
    return [_chart(title, "step", charts[title]) for title in distinct.values()]


def _agreement(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each part and head: measure, value, 95 % interval, n and sources."""
    return [
        {
            "part": part,
            "head": head,
            "measure": measure,
            "value": figures[measure],
            "n": figures["n"],
            "sources": figures.get("sources"),
        }
        | {end: figures.get(f"{measure}_{end}") for end in ("low", "high")}
        for part, heads in manifest["results"].items()
        for head, figures in heads.items()
        for measure in ("accuracy", "pearson", "spearman")
        if figures.get(measure) is not None
    ]


def _head(name: str, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a head's calibration and the examples on which it is furthest off."""
    rows = [row for row in rows if row["head"] == name]
    rated = [row for row in rows if "rating" in row]
    if rated:
        values = np.array([row["value"] for row in rated])
        ratings = np.array([row["rating"] for row in rated])
        low, high = float(min(values.min(), ratings.min())), float(max(values.max(), ratings.max()))
        series = {"mean rating": _binned(values, ratings), "equal": [(low, low), (high, high)]}
        chart = _chart("Ratings by predicted value", "predicted value", series)
        return {"name": name, "chart": chart, "worst": _worst(rated, abs(values - ratings))}
    high, low = np.array([row["values"] for row in rows]).T
    series = {"in the right order": _binned(abs(high - low), (high > low).astype(float))}
    chart = _chart("Pairs in the right order by difference", "difference of the values", series)
    return {"name": name, "chart": chart, "worst": _worst(rows, low - high)}


def _worst(rows: Sequence[Mapping[str, Any]], errors: Floats) -> list[Mapping[str, Any]]:
    """Return the rows with the largest errors."""
    return [rows[place] for place in np.argsort(-errors, kind="stable")[:_MAX_ERRORS]]


def _binned(by: Floats, values: Floats) -> list[tuple[float, float]]:
    """Return the mean of both in up to eight bins of about equal numbers of values."""
    order = np.argsort(by, kind="stable")
    bins = [part for part in np.array_split(order, _BINS) if len(part)]
    return [(float(by[part].mean()), float(values[part].mean())) for part in bins]


def _chart(title: str, axis: str, series: Series) -> dict[str, Any]:
    """Return a chart for the template: its lines as points within the box, and the ends of both axes."""
    points = np.array([point for line in series.values() for point in line])
    low, high = points.min(axis=0), points.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    box = np.array([_WIDTH - _LEFT - 8, -(_HEIGHT - _BELOW - 10)])
    lines = {
        name: " ".join(
            f"{x:.1f},{y:.1f}"
            for x, y in (np.array(line) - low) / span * box + (_LEFT, _HEIGHT - _BELOW)
        )
        for name, line in series.items()
    }
    size = {"width": _WIDTH, "height": _HEIGHT, "left": _LEFT, "bottom": _HEIGHT - _BELOW}
    return {"title": title, "axis": axis, "lines": lines, "low": low, "high": high, **size}
