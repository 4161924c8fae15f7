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


def main() -> None:
    """Measure the sections asked for, line by line."""
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
        print(f"\n{name}: {SECTIONS[name].__doc__.splitlines()[0]}\n")
        lines: list[dict[str, Any]] = []
        for line in SECTIONS[name].rows(options.quick, options.jobs):
            lines.append(line)
            print(text(line, head=len(lines) == 1), flush=True)
            save(
                lines, options.output / f"{name}.json"
            )  # what is known so far: a run takes minutes


def text(line: dict[str, Any], head: bool) -> str:
    """One line of a table, under its head."""
    widths = {
        key: max(len(key), 34 if isinstance(value, str) else 10) for key, value in line.items()
    }
    cells = "  ".join(_cell(value).ljust(widths[key]) for key, value in line.items())
    return (
        "  ".join(key.ljust(width) for key, width in widths.items()) + "\n" if head else ""
    ) + cells


def _cell(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "NO", None: "-"}[value]
    return (
        f"{value:.4g}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )


def save(lines: list[dict[str, Any]], path: Path) -> None:
    """Write the lines and the machine they were measured on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    written = json.dumps({"machine": machine, "rows": lines}, indent=2)
    path.write_text(written + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
