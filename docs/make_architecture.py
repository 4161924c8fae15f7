"""Write docs/rooms.rst (one line a room, and what it imports) and docs/images/flow.svg (the way of the data).

python docs/make_architecture.py
"""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "rooms.rst"
PICTURE = ROOT / "docs" / "images" / "flow.svg"
FACE = "granite_xai"

ROOMS: dict[str, tuple[str, str]] = {
    "base": (
        "",
        "What every room shares: types, errors, options, limits, threads, files, numbers as text",
    ),
    "tables": ("X", "A table comes in: kinds of columns, distinct values, rows in a fixed order"),
    "document": ("", "Charts as plain data: the axis of a feature and marks; their painters"),
    "models": ("F", "A model comes in: the only room that calls it; outputs, targets, workers"),
    "evaluations": (
        "E_S",
        "What the model says about recombined rows: which values, how many, how exactly; trees that are read",
    ),
    "algebra": (
        "F_T ν φ R",
        "Masking, behavior, interaction, influence; disagreement, its moments, objectives",
    ),
    "regions": ("Ω", "Conditions, rules, trees, partitions: text, membership, code, JSON"),
    "inference": ("", "Sampling noise by random signs; estimates with intervals; figures of nodes"),
    "curves": ("G", "One curve per feature and region, and the description they make"),
    "search": ("Ω", "From R to a tree: cuts, tables of sums, growth, looking ahead, other cuts"),
    "fitting": ("", "One fit: settings, plan, search, judgement; path and stability; the result"),
    "results": (
        "",
        "What a fit says about regions, rows and its own values, in words; comparisons, groups of features",
    ),
    "estimator": ("", "Granite: options, fit and methods"),
    "frameworks": ("Ω", "Earlier methods, one file each: clusters, cohorts, the original trees"),
    "partitioners": ("", "Ways to regions for partitioner=, by name"),
    "displays": ("", "Pictures of a fit; one file a kind of picture"),
    "report": ("", "The report: facts, then a page or a text"),
    "saving": ("", "Files: what a fit found as plain content"),
    "cli": ("", "The command granite"),
    "datasets": ("", "Tables and toys to try things on"),
}

# Boxes of the picture: column, row, symbol, rooms, words.
BOXES = [
    (0, 0, "X", "tables", "your table"),
    (0, 1, "F", "models", "your model"),
    (1, 0, "E_S", "evaluations", "answers on\nrecombined rows"),
    (2, 0, "F_T", "algebra", "hidden columns\naveraged"),
    (3, 0, "ν", "algebra", "prediction,\nvariance or loss"),
    (4, 0, "φ", "algebra", "effects of\ncolumns and groups"),
    (4, 1, "R", "algebra, inference", "two explanations\ncompared; its noise"),
    (3, 1, "Ω", "search, regions", "rules with little\ndisagreement"),
    (2, 1, "G", "curves", "one curve a column\nand region"),
    (1, 1, "", "fitting, results", "judged by other rows,\nshown and saved"),
]
ARROWS = [((0, 0), (1, 0)), ((1, 0), (2, 0)), ((2, 0), (3, 0)), ((3, 0), (4, 0)), ((4, 0), (4, 1)), ((4, 1), (3, 1)),
          ((3, 1), (2, 1)), ((2, 1), (1, 1))]  # fmt: skip
_HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {down}" width="{across}"
font-family="sans-serif" font-size="13" text-anchor="middle">"""
_TIP = """<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0L8 4L0 8z" fill="#445"/></marker></defs>"""
WIDTH, HEIGHT, ACROSS, DOWN, MARGIN = 150, 100, 196, 170, 14


def rooms() -> list[str]:
    """The rooms of the package, first to last: the layers of pyproject.toml from the ground up."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [room.strip(" ()") for layer in reversed(layers) for room in layer.split("|")]


def imports() -> dict[str, set[str]]:
    """The rooms that each room imports at run time."""
    graph = grimp.build_graph(FACE, exclude_type_checking_imports=True, cache_dir=None)
    found: dict[str, set[str]] = {
        room.partition(".")[2]: set() for room in graph.find_children(FACE)
    }
    for module in graph.modules - {FACE}:
        own = module.split(".")[1]
        others = {
            name.split(".")[1]
            for name in graph.find_modules_directly_imported_by(module)
            if "." in name
        }
        found[own] |= others - {own}
    return found


def page() -> str:
    """The table of rooms."""
    known, order = imports(), rooms()
    lines = [
        ".. Written by docs/make_architecture.py; change it there.",
        "",
        ".. list-table::",
        "   :header-rows: 1",
    ]
    lines += [
        "   :widths: 14 6 44 36",
        "",
        "   * - room",
        "     -",
        "     - what lives there",
        "     - imports",
    ]
    for room in (room for room in order if room in known):
        symbol, words = ROOMS[room]
        used = ", ".join(other for other in order if other in known[room])
        lines += [
            f"   * - ``{room}``",
            f"     - {symbol}".rstrip(),
            f"     - {words}",
            f"     - {used}".rstrip(),
        ]
    return "\n".join(lines) + "\n"


def picture() -> str:
    """The way of the data, as an SVG with a ground of its own, so that it reads on light and dark pages."""
    across, down = 4 * ACROSS + WIDTH + 2 * MARGIN, DOWN + HEIGHT + 2 * MARGIN
    parts = [
        _HEAD.format(across=across, down=down),
        "<title>From a table and a model to regions and their explanations</title>",
        _TIP,
        f'<rect width="{across}" height="{down}" rx="8" fill="#fbfbfd"/>',
        *(_arrow(start, end) for start, end in ARROWS),
        _line(*_point(0, 1, 1, 0.3), *_point(1, 0, 0, 0.85)),
        _line(*_point(3, 1, 0.3, 0), *_point(2, 0, 0.7, 1), dashed=True),
        _text(
            3.3 * ACROSS + WIDTH / 2 + MARGIN,
            MARGIN + HEIGHT + 38,
            "candidate regions, in batches",
            "#667",
        ),
        *(_box(*box) for box in BOXES),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _point(column: int, row: int, x: float, y: float) -> tuple[float, float]:
    """A place on the edge of a box, in shares of its sides."""
    return MARGIN + column * ACROSS + x * WIDTH, MARGIN + row * DOWN + y * HEIGHT


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    x, y = end[0] - start[0], end[1] - start[1]
    return _line(*_point(*start, (1 + x) / 2, (1 + y) / 2), *_point(*end, (1 - x) / 2, (1 - y) / 2))


def _line(x1: float, y1: float, x2: float, y2: float, dashed: bool = False) -> str:
    style = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="#445" fill="none" marker-end="url(#tip)"{style}/>'


def _box(column: int, row: int, symbol: str, names: str, words: str) -> str:
    left, top = _point(column, row, 0, 0)
    middle = left + WIDTH / 2
    frame = f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#fff" stroke="#89a"/>'
    head = _symbol(middle, top + 28, symbol) if symbol else ""
    first = top + (48 if symbol else 38)
    lines = [
        _text(middle, first + 18 * (i + 1), line, "#445")
        for i, line in enumerate(words.split("\n"))
    ]
    return "\n".join([frame, head, _text(middle, first, names, "#111", "bold"), *lines])


def _symbol(x: float, y: float, symbol: str) -> str:
    letter, _, index = symbol.partition("_")
    below = f'<tspan font-size="13" dy="5">{index}</tspan>' if index else ""
    return f'<text x="{x}" y="{y}" font-size="20" font-style="italic" fill="#05668d">{escape(letter)}{below}</text>'


def _text(x: float, y: float, words: str, color: str, weight: str = "normal") -> str:
    return f'<text x="{x}" y="{y}" fill="{color}" font-weight="{weight}">{escape(words)}</text>'


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    PICTURE.write_text(picture(), encoding="utf-8", newline="\n")
