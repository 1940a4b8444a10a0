"""Draw `docs/architecture.svg` from the import graph: which part of the package knows which.

    python scripts/architecture.py

Rows are the layers of the import contract in `pyproject.toml`. An arrow from A to B says that A imports B. An
arrow that others imply is left out: where A imports B and B imports C, A may import C as well.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import grimp

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "architecture.svg"
PACKAGE = "learnedgec"

# Pixels.
_WIDTH, _BOX, _HEIGHT, _ROW = 940, 124, 34, 78


def read_layers() -> list[list[str]]:
    """Return the parts of the package by layer, the highest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [[part.strip() for part in row.split("|")] for row in layers]


def read_imports(parts: Sequence[str]) -> dict[str, set[str]]:
    """Return which parts each part imports, its type annotations aside."""
    graph = grimp.build_graph(PACKAGE, exclude_type_checking_imports=True, cache_dir=None)
    edges: dict[str, set[str]] = {part: set() for part in parts}
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            above, below = (name.split(".")[1:2] for name in (module, imported))
            if above != below and above and below and {*above, *below} <= edges.keys():
                edges[above[0]].add(below[0])
    return edges


def without_implied(imports: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """Return the imports that no chain of others implies, in order.

    Example:
        >>> without_implied({"a": {"b", "c"}, "b": {"c"}, "c": set()})
        [('a', 'b'), ('b', 'c')]
    """

    def reached(part: str) -> set[str]:
        direct = imports[part]
        return direct.union(*(reached(other) for other in direct))

    return sorted(
        (part, other)
        for part, direct in imports.items()
        for other in direct
        if not any(other in reached(between) for between in direct - {other})
    )


def draw(layers: Sequence[Sequence[str]], arrows: Sequence[tuple[str, str]]) -> str:
    """Return an SVG: a box for each part, a row for each layer, an arrow for each import."""
    middle = {}
    for row, parts in enumerate(layers):
        for column, part in enumerate(parts):
            middle[part] = (_WIDTH * (column + 1) / (len(parts) + 1), _ROW * row + 10 + _HEIGHT / 2)
    height = _ROW * (len(layers) - 1) + _HEIGHT + 20
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        'font-size="14" text-anchor="middle" role="img">',
        f"<title>The parts of {PACKAGE} and their imports</title>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0 8 4 0 8z" fill="#5b6b7f"/></marker></defs>',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for above, below in arrows:
        (x, y), (other_x, other_y) = middle[above], middle[below]
        start, end = y + _HEIGHT / 2, other_y - _HEIGHT / 2
        bend = (start + end) / 2
        lines.append(
            f'<path d="M{x:.0f} {start:.0f}C{x:.0f} {bend:.0f} {other_x:.0f} {bend:.0f} {other_x:.0f} '
            f'{end:.0f}" fill="none" stroke="#5b6b7f" stroke-opacity="0.7" marker-end="url(#head)"/>'
        )
    for part, (x, y) in middle.items():
        lines.append(
            f'<rect x="{x - _BOX / 2:.0f}" y="{y - _HEIGHT / 2:.0f}" width="{_BOX}" height="{_HEIGHT}" '
            f'rx="5" fill="#e8f0f8" stroke="#2f5f8f"/><text x="{x:.0f}" y="{y + 5:.0f}">{part}</text>'
        )
    return "\n".join([*lines, "</svg>", ""])


def picture() -> str:
    """Return the picture of the package as it is."""
    layers = read_layers()
    imports = read_imports([part for row in layers for part in row])
    return draw(layers, without_implied(imports))


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
