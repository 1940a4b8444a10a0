"""Draw `robustness.svg`, `reliability.svg` and `lab/judging.svg` of docs from the tables of docs/lab.

python scripts/lab/pictures.py [FOLDER]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from learnedgec.plotting import COLOURS, GREY, MARKERS, label_rows, new_figure, style

DOCS = Path(__file__).parents[2] / "docs"
WIDTH = 5.2  # inches; a phone shows the text at two thirds


def main(folder: Path = DOCS) -> None:
    with style():
        import matplotlib

        # The same tables make the same file.
        matplotlib.rcParams["svg.hashsalt"] = "learnedgec"
        figures = {
            "robustness": robustness(),
            "reliability": reliability(),
            "lab/judging": judging(),
        }
        for name, figure in figures.items():
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})


def read_table(page: str, first: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of the table whose header begins with these cells."""
    lines = iter((DOCS / "lab" / page).read_text(encoding="utf-8").splitlines())
    header = next(line for line in lines if line.startswith(f"| {first} |"))
    next(lines)
    rows = []
    while (line := next(lines, "")).startswith("|"):
        rows.append(_cells(line))
    return _cells(header), rows


def robustness() -> Any:
    """Draw how often each metric prefers each attack."""
    header, released = read_table("joint-mpnet-3.md", "metric | attack on IMPARA")
    _, others = read_table("robustness.md", "attack preferred")
    # The small evaluators of the second table are older than the released one and its gate.
    rows = released + [row for row in others if "-mini" not in row[0]]
    figure, axis = new_figure(WIDTH, 3.6)
    for number, attack in enumerate(header[1:]):
        for place, row in enumerate(rows):
            value, *ends = map(float, re.findall(r"\d*\.\d+", row[number + 1]))
            height = place + 0.16 * (number - 1.5)
            axis.plot(ends, (height, height), color=COLOURS[number], linewidth=1.2)
            axis.plot(
                value,
                height,
                MARKERS[number],
                color=COLOURS[number],
                markersize=3.5,
                label=attack if place == 0 else None,
            )
    label_rows(axis, [row[0].replace("`", "") for row in rows])
    axis.axvline(0.5, color=GREY, linewidth=0.6, linestyle=":")
    axis.set_xlim(-0.02, 1.02)
    axis.set_xlabel("share of comparisons that the attack wins, with 95 % interval")
    figure.legend(loc="outside upper center", ncols=2)
    return figure


def reliability() -> Any:
    """Draw what each interval and each test should do, and what it did in simulations."""
    _, rows = read_table("levels.md", "command | what")
    figure, axes = new_figure(WIDTH, 5.4, 2)
    panels = {
        "0.95": ("Intervals that hold the truth", (0.85, 1.005)),
        "0.05": ("Tests that find a difference between equals", (-0.005, 0.4)),
    }
    for axis, (nominal, (title, limits)) in zip(axes, panels.items(), strict=True):
        drawn = [row for row in rows if row[2] == nominal]
        groups = list(dict.fromkeys(map(_group, drawn)))
        for row in drawn:
            seen, count = float(row[3]), float(row[4].replace(",", ""))
            members = [other for other in drawn if _group(other) == _group(row)]
            shift = 0.6 * ((members.index(row) + 0.5) / len(members) - 0.5)
            reach = 1.96 * np.sqrt(max(seen * (1 - seen), 0.5 / count) / count)
            place = groups.index(_group(row)) + shift
            axis.plot((seen - reach, seen + reach), (place, place), color=GREY, linewidth=0.6)
            axis.plot(seen, place, "o", color=COLOURS[0], markersize=3)
        axis.axvline(float(nominal), color=COLOURS[1], linewidth=1, linestyle="--")
        label_rows(axis, groups)
        axis.set_title(f"{title}: nominally {nominal}")
        axis.set_xlim(*limits)
        axis.set_xlabel("share of simulations, with its own 95 % interval")
    return figure


def judging() -> Any:
    """Draw the correlation with the ranking by all judgements over the number of judgements."""
    header, rows = read_table("judging.md", "judgements")
    counts = [int(cell.replace(",", "")) for cell in header[1:]]
    figure, axes = new_figure(WIDTH, 2.4, 1, 2, sharey=True)
    for row in rows:
        benchmark, order = row[0].split(", ")
        axis = axes[int(benchmark == "GJG15")]
        values = [float(cell) if cell else np.nan for cell in row[1:]]
        number = int(order == "informative")
        look = {"color": COLOURS[number], "marker": MARKERS[number], "markersize": 3.5}
        axis.plot(counts[: len(values)], values, label=order, **look)
        axis.set_title(benchmark)
        axis.set_xscale("log", base=2)
        axis.set_xticks(counts, header[1:])
        axis.axhline(0.95, color=GREY, linewidth=0.6, linestyle=":")
        axis.tick_params(axis="x", labelsize=6)
        axis.set_xlabel("judgements")
    axes[0].set_ylabel("mean correlation with the ranking\nby all judgements (Spearman)")
    axes[1].legend(loc="lower right")
    return figure


def _group(row: list[str]) -> str:
    """Return the command of a row, and over what its intervals are."""
    command = row[0].replace("`", "").split(",")[0]
    if "--tests" in command:
        test = {"perm_both": "PERM-BOTH", "perm_systems": "PERM-SYS"}.get(
            command.split()[-1], "Williams"
        )
        return f"{test}, favoured systems" if row[1].endswith("favour systems") else test
    over = re.search("over (sentences|systems)", row[1])
    return f"meta, {over[0]}" if over else command.removesuffix(" TS").removesuffix(" EW")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("| \n").split(" | ")]


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
