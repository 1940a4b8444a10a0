"""Whether the trials notice: mends are undone, one by one, in a copy of the project, and a trial must fail.

    python scripts/reliability/mutations.py

Each program first runs on the copy as it is and must find nothing; then, with the same seed, on the copy
with one piece of code as it was before its mend. Ends with 1 if a program finds something in the first or
nothing in the second.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Mutation:
    """A mend that is undone.

    Attributes:
        undone: what no longer holds.
        file: where, from the project's folder.
        mended: the code as it is; stands there once.
        before: as it was.
        program: what must fail, by its name here.
        count: how many trials it makes.
    """

    undone: str
    file: str
    mended: str
    before: str
    program: str
    count: int


MUTATIONS = [
    Mutation(
        "devices, FIFOs and /dev/stdout are written through",
        "learnedgec/execution/writing.py",
        "    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):\n        return True\n",
        "    return False\n",
        "hostile_os",
        40,
    ),
    Mutation(
        "numbers in an endpoint's answer are checked before it is kept",
        "learnedgec/models/chat.py",
        "[count if _is_count(count, _MOST_TOKENS) else 0 for count in found]",
        "[count or 0 for count in found]  # type: ignore",
        "hostile_endpoint",
        150,
    ),
    Mutation(
        "a damaged cache file counts as absent",
        "learnedgec/execution/cache.py",
        "    except Exception:\n",
        "    except (OSError, ValueError, zipfile.BadZipFile):\n",
        "fuzz_stores",
        2000,
    ),
    Mutation(
        "half a character in JSON is refused",
        "learnedgec/formats/text.py",
        "        if _ESCAPED_SURROGATE.search(text):\n",
        "        if False:\n",
        "fuzz_text",
        3000,
    ),
    Mutation(
        "parameters that cannot be evaluated are one sentence",
        "learnedgec/metrics/grammar.py",
        "    except (SyntaxError, ValueError, TypeError, KeyError, RecursionError, MemoryError):\n",
        "    except (SyntaxError, ValueError, KeyError):\n",
        "fuzz_names",
        3000,
    ),
]


def copy(place: Path) -> None:
    """Copy what the programs need; evaluators are large and only read."""
    for name in ("learnedgec", "scripts", "tests", "data", "pyproject.toml", "configs"):
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", ".hypothesis")
            shutil.copytree(ROOT / name, place / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, place)
    (place / "checkpoints").symlink_to(ROOT / "checkpoints")


def run(place: Path, program: str, count: int, seed: int) -> tuple[int, int, int] | str:
    """Return how many trials were made, how many failed, and how many of those by a new input.

    Where the program says nothing of the kind, its last words: `skipped`, or what has ended it.
    """
    done = subprocess.run(
        [
            *(sys.executable, str(place / "scripts" / "reliability" / f"{program}.py")),
            *("--count", str(count), "--seed", str(seed)),
        ],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    told = re.search(r"(\d+) tried, (\d+) failed", done.stdout)
    if told is None:
        return "skipped" if "skipped" in done.stdout else (done.stdout + done.stderr)[-300:]
    failed = re.findall(rf"^{program} FAILED (\S*)", done.stderr, re.MULTILINE)
    new = sum(not label.startswith("corpus/") for label in failed)
    return int(told[1]), int(told[2]), new


def undo(mutation: Mutation, place: Path) -> None:
    """Put the code before a mend in the place of what is there."""
    file = place / mutation.file
    text = file.read_text(encoding="utf-8")
    if text.count(mutation.mended) != 1:
        raise SystemExit(
            f"mutations: {mutation.mended.strip()!r} stands {text.count(mutation.mended)} times in "
            f"{mutation.file}; bring the mutation up to date."
        )
    file.write_text(text.replace(mutation.mended, mutation.before), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="mutations", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--program", nargs="+", help="only those that these programs must notice")
    options = parser.parse_args(arguments)
    survived = 0
    for mutation in MUTATIONS:
        if options.program and mutation.program not in options.program:
            continue
        with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
            copy(Path(folder))
            whole = run(Path(folder), mutation.program, mutation.count, options.seed)
            undo(mutation, Path(folder))
            found = run(Path(folder), mutation.program, mutation.count, options.seed)
        print(f"{mutation.program}, undone: {mutation.undone}", flush=True)
        for state, result in (("mended", whole), ("undone", found)):
            if isinstance(result, str):
                print(f"  {state}: {result}", flush=True)
            else:
                tried, failed, new = result
                print(f"  {state}: {tried} tried, {failed} failed, {new} of them by new inputs")
        if "skipped" in (whole, found):
            continue
        if isinstance(whole, str) or whole[1] or isinstance(found, str) or not found[1]:
            survived += 1
            print("  NOT NOTICED", flush=True)
    sys.exit(1 if survived else 0)


if __name__ == "__main__":
    main()
