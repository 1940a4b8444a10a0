"""Write `learnedgec/metrics/__init__.pyi`: the class of every metric in the registry, for editors and mypy.

python scripts/metric_stubs.py [--check]        --check: write nothing, fail where the file is not up to date
"""

from __future__ import annotations

import sys
from pathlib import Path

from learnedgec.metrics.registry import METRICS

STUB = Path(__file__).parent.parent / "learnedgec" / "metrics" / "__init__.pyi"


def stub() -> str:
    """Return the content of the stub."""
    targets = sorted({tuple(entry.target.split(":")) for entry in METRICS.values()})
    lines = [f"from {module} import {name} as {name}" for module, name in targets]
    return "\n".join(["# Written by scripts/metric_stubs.py from the registry.", "", *lines]) + "\n"


def main() -> None:
    if "--check" not in sys.argv:
        STUB.write_text(stub(), encoding="utf-8")
    elif not STUB.exists() or STUB.read_text(encoding="utf-8") != stub():
        sys.exit(f"{STUB} is not what the registry says; run scripts/metric_stubs.py.")


if __name__ == "__main__":
    main()
