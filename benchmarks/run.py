"""Speed and memory, as ratios within one run: prints one table a section and keeps it as JSON.

python benchmarks/run.py                     every section
python benchmarks/run.py search growth       some of them
python benchmarks/run.py --quick             small sizes, to see that it works
python benchmarks/run.py --jobs 2            our side with two threads; the plain side always has one
python benchmarks/run.py --output FOLDER     somewhere else than results/ beside this file
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np

import evaluations
import growth
import scalability
import search
import workers

SECTIONS = {
    "search": search,
    "evaluations": evaluations,
    "growth": growth,
    "scalability": scalability,
    "workers": workers,
}
"""Modules with a function ``rows(quick, jobs)``, which yields the rows of a table as dicts."""

WIDTH_OF_TEXT = 34
WIDTH_OF_NUMBER = 10


def main() -> None:
    """Measure the chosen sections, row by row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    unknown = set(options.sections) - SECTIONS.keys()
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, NumPy {np.__version__}")
    for name in options.sections or SECTIONS:
        run_section(name, options)


def run_section(name: str, options: argparse.Namespace) -> None:
    """Measure one section; what it has measured so far is always kept, since a run takes minutes."""
    section = SECTIONS[name]
    print(f"\n{name}: {section.__doc__.splitlines()[0]}\n")
    measured: list[dict[str, Any]] = []
    for row in section.rows(options.quick, options.jobs):
        if not measured:
            print(heading_line(row))
        print(row_line(row), flush=True)
        measured.append(row)
        save(measured, options.output / f"{name}.json")


def heading_line(row: dict[str, Any]) -> str:
    """The headings of a table whose first row is this one."""
    headings = [heading.ljust(_width(heading, value)) for heading, value in row.items()]
    return "  ".join(headings)


def row_line(row: dict[str, Any]) -> str:
    """One row of a table."""
    cells = [_cell(value).ljust(_width(heading, value)) for heading, value in row.items()]
    return "  ".join(cells)


def _width(heading: str, value: Any) -> int:
    """Characters of a column."""
    if isinstance(value, str):
        return max(len(heading), WIDTH_OF_TEXT)
    return max(len(heading), WIDTH_OF_NUMBER)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def save(rows: list[dict[str, Any]], path: Path) -> None:
    """Write the rows and the machine they were measured on."""
    machine = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    content = json.dumps({"machine": machine, "rows": rows}, indent=2)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
