"""Write the stubs that show editors and mypy which classes and functions are loaded on first use.

They are `learnedgec/__init__.pyi`, and from the registry `learnedgec/metrics/__init__.pyi`.

python scripts/stubs.py [--check]        --check: write nothing, fail where a stub is not up to date
"""

from __future__ import annotations

import sys
from pathlib import Path

import learnedgec
from learnedgec.metrics.registry import METRICS

FOLDER = Path(learnedgec.__file__).parent


def stub(places: set[tuple[str, str]]) -> str:
    """Return the content of a stub with these names, each as its module and itself."""
    lines = [f"from {module} import {name} as {name}" for module, name in sorted(places)]
    return "\n".join(["# Written by scripts/stubs.py.", "", *lines]) + "\n"


def main() -> None:
    """Write or check both stubs."""
    package = {
        (f"learnedgec.{module}", name)
        for module, names in vars(learnedgec)["_NAMES"].items()
        for name in names
    }
    package |= {
        ("learnedgec._version", "__version__"),
        ("learnedgec.errors", "LearnedgecError"),
    }
    metrics = {
        (module, name) for module, _, name in (target.partition(":") for target in METRICS.values())
    }
    stubs = {FOLDER / "__init__.pyi": package, FOLDER / "metrics" / "__init__.pyi": metrics}
    for path, places in stubs.items():
        if "--check" not in sys.argv:
            path.write_text(stub(places), encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != stub(places):
            sys.exit(f"{path} is out of date; run scripts/stubs.py.")


if __name__ == "__main__":
    main()
