"""Measure a report in Chromium: its size, how fast it opens, filters and sorts, and its memory.

    python scripts/benchmark/report.py [--report report.html]
    python scripts/benchmark/report.py --growth [--jobs 2] [--cache DIR]

Without a report, one is made of GJG15: 13 systems, 1,312 sentences, `gleu`, `errant`, `m2` and `edit-count`.
`--growth` makes others with fewer systems and with fewer and more sentences (GJG15's several times over).
Needs the extra `browser` and Chromium (scripts/install_browser).

Milliseconds go, in the page, from the change of a control to the frame that shows its effect: the median of
five for each change, and the largest of these. Seconds to open go from the visit until everything is there,
the median of five. Memory is that of the page's process (`VmRSS`) after all of it, and of its script's heap.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from learnedgec.benchmarks.base import Benchmark
from learnedgec.benchmarks.registry import load_benchmark
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.references import References
from learnedgec.metrics.registry import load_metric
from learnedgec.report.data import ReportSettings, build_report
from learnedgec.report.page import write_report

ANNOTATOR = "en-ewt-sm"
METRICS = ("gleu", f"errant(annotator={ANNOTATOR!r})", "m2", "edit-count")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip

# Change a control of the explorer and wait for the frame that shows what follows.
CHANGE = """async ([label, value]) => {
  const fields = [...document.querySelectorAll('#sentences label.field, #sentences label.check')];
  const field = fields.find((each) => each.textContent.trim().startsWith(label));
  const control = field.querySelector('select, input');
  const begin = performance.now();
  if (control.type === 'checkbox') control.click();
  else {
    control.value = value;
    control.dispatchEvent(new Event(control.matches('select') ? 'change' : 'input'));
  }
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begin;
}"""
SORTS = [("sort by", kind) for kind in ("score", "systems", "metrics", "edits", "length", "number")]
FILTERS = [
    ("search", "the"), ("search", "ther"), ("search", ""), ("error type", "3"), ("error type", ""),
    ("A and B differ", ""), ("the two metrics disagree", ""),
]  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """What was measured of one report."""

    megabytes: float
    opens: float
    sort: float
    filter: float
    memory: float
    heap: float


def measure(path: Path) -> Measured:
    """Open a report in Chromium and measure it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        opens = []
        for _ in range(5):
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            begin = time.perf_counter()
            page.goto(f"{path.resolve().as_uri()}#sentences")
            page.wait_for_selector("html[data-ready]", state="attached")
            opens.append(time.perf_counter() - begin)
            if len(opens) < 5:
                page.close()
        page.evaluate("document.querySelector('details.filters').open = true")
        sort, filtered = (
            max(
                statistics.median(each)
                for each in zip(
                    *([page.evaluate(CHANGE, list(c)) for c in changes] for _ in range(5)),
                    strict=True,
                )
            )
            for changes in (SORTS, FILTERS)
        )
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        counted = {
            each["name"]: each["value"]
            for each in session.send("Performance.getMetrics")["metrics"]
        }
        memory = max(_resident(each["id"]) for each in _processes(browser))
        browser.close()
    return Measured(
        path.stat().st_size / 1e6,
        statistics.median(opens),
        sort,
        filtered,
        memory,
        counted["JSHeapUsedSize"] / 1e6,
    )


def _processes(browser: Any) -> list[dict[str, Any]]:
    """Return the browser's processes that show pages."""
    found = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return [each for each in found if each["type"] == "renderer"]


def _resident(process: int) -> float:
    """Return the megabytes that a process holds in memory."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmRSS"))


def cut(benchmark: Benchmark, systems: int, sentences: int) -> Benchmark:
    """Return the first systems and sentences; past the last sentence the first follows again."""
    whole = benchmark.select(list(benchmark.systems)[:systems])
    numbers = [number % len(whole.sources) for number in range(sentences)]
    assert whole.references is not None
    return replace(
        whole,
        sources=tuple(whole.sources[number] for number in numbers),
        systems={name: tuple(texts[n] for n in numbers) for name, texts in whole.systems.items()},
        references=References(tuple(whole.references[number] for number in numbers)),
        rankings=(),
    )


def reports(
    sizes: Sequence[tuple[int, int]], folder: Path, runtime: Runtime
) -> Iterator[tuple[int, int, Path]]:
    """Write a report for each number of systems and sentences."""
    benchmark = load_benchmark("gjg15")
    metrics = [load_metric(name) for name in METRICS]
    for systems, sentences in sizes:
        part = cut(benchmark, systems, sentences)
        # The number of resamples moves no byte and no millisecond of the page.
        settings = ReportSettings(title="GJG15", annotator=ANNOTATOR, resamples=100)
        report = build_report(
            part.sources, part.systems, metrics, part.references, settings=settings, runtime=runtime
        )
        path = folder / f"{systems}-{sentences}.html"
        write_report(path, report)
        yield systems, sentences, path


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--report", type=Path)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache")
    options = parser.parse_args()
    # The package `errant` is meant, not the script of that name beside this one.
    sys.path = [
        path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent
    ]
    table = Table(
        "systems", "sentences", "MB", "opens, s", "sort, ms", "filter, ms", "memory, MB", "heap, MB"
    )
    sizes = [(13, 1312)]
    if options.growth:
        sizes += [(3, 1312), (6, 1312), (13, 328), (13, 5248), (13, 13120)]
    with tempfile.TemporaryDirectory() as folder:
        runtime = Runtime(jobs=options.jobs, cache_dir=options.cache)
        found: Any = (
            [("", "", options.report)] if options.report else reports(sizes, Path(folder), runtime)
        )
        for systems, sentences, path in found:
            measured = measure(path)
            table.add_row(
                str(systems), str(sentences), f"{measured.megabytes:.2f}", f"{measured.opens:.2f}",
                f"{measured.sort:.0f}", f"{measured.filter:.0f}", f"{measured.memory:.0f}",
                f"{measured.heap:.0f}",
            )  # fmt: skip
            Console(stderr=True).print(table)
    Console().print(table)


if __name__ == "__main__":
    main()
