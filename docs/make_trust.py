"""Write docs/trust_figures.rst: how often the printed figures hold, from experiments/results/chance.json.

python docs/make_trust.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "trust_figures.rst"
FIGURES = ROOT / "experiments" / "results" / "chance.json"

TITLES = {
    "size": "Regions in noise: percent of additive samples in which any region was found.",
    "coverage": "Default fits of 600 rows or more, judged on held-out rows: bias, and how often 95% intervals hold the truth.",
    "small tables": "Small tables, where figures are cross-validated: bias, and how often the interval of the overall share holds.",
}


def list_table(title: str, lines: list[dict[str, Any]]) -> list[str]:
    """A table of reStructuredText with a line for each dict."""
    text = [f"**{title}**", "", ".. list-table::", "   :header-rows: 1", ""]
    rows = [list(lines[0]), *(list(line.values()) for line in lines)]
    for row in rows:
        cells = [str(cell).replace("-", "−") if _is_signed(cell) else str(cell) for cell in row]
        text.append(f"   * - {cells[0]}")
        text += [f"     - {cell}" for cell in cells[1:]]
    return [*text, ""]


def _is_signed(cell: Any) -> bool:
    return isinstance(cell, str) and cell.startswith("-")


def page() -> str:
    """All tables of the experiment."""
    tables = json.loads(FIGURES.read_text(encoding="utf-8"))["data"]
    text = [
        ".. Written by docs/make_trust.py from experiments/results/chance.json; change it there.",
        "",
    ]
    for name, title in TITLES.items():
        text += list_table(title, tables[name])
    return "\n".join(text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
