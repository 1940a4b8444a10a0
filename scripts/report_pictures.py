"""Draw the two pictures of docs/report.md: the report of the embedded sample in Chromium.

    python scripts/report_pictures.py [--out docs]

Needs the extras `report` and `browser`, and Chromium (scripts/install_browser).
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

SAMPLE = Path(__file__).parents[1] / "data" / "sample"
METRICS = ("impara", "errant(annotator='en-ewt-sm')", "gleu", "edit-count")
# Chromium in a container has neither a sandbox nor shared memory.
FLAGS = ("--no-sandbox", "--disable-dev-shm-usage")
WIDTH, HEIGHT = 1200, 900


def write_report(path: Path) -> None:
    """Write the report of the sample's systems."""
    command = [
        sys.executable,
        "-c",
        "from learnedgec.cli.main import run; run()",
        "report",
        "--quiet",
    ]
    command += ["--src", str(SAMPLE / "source.txt"), "--gold", str(SAMPLE / "gold.m2")]
    command += ["--hyp", *map(str, sorted((SAMPLE / "systems").glob("*.txt")))]
    command += ["--metric", *METRICS, "--attribution", "impara"]
    command += ["--title", "The embedded sample: four systems", "--out", str(path)]
    subprocess.run(command, check=True)


def draw(report: Path, folder: Path) -> None:
    """Draw the overview in light colours, and a sentence in dark ones."""
    from playwright.sync_api import sync_playwright

    pictures: dict[str, tuple[Literal["light", "dark"], str]] = {
        "report-overview": ("light", "#overview"),
        "report-sentences": ("dark", "#sentences?sentence=9&metric=1&a=1&b=2"),
    }
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name, (scheme, place) in pictures.items():
            page = browser.new_page(
                viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme
            )
            page.goto(f"{report.resolve().as_uri()}{place}")
            page.wait_for_selector("html[data-ready]", state="attached")
            page.screenshot(path=folder / f"{name}.png")
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("docs"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        report = Path(name) / "report.html"
        write_report(report)
        draw(report, options.out)


if __name__ == "__main__":
    main()
